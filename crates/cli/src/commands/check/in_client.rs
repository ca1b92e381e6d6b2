//! The skills that `prowess check --client` is about.

use std::cell::LazyCell;
use std::path::PathBuf;

use prowess::Standing;
use prowess::library::views::Reach;

use crate::args::Places;
use crate::commands::{seen, shown};
use crate::error::{CommandError, Failure};
use crate::explain::copies::Copy;
use crate::explain::needed::Needed;
use crate::explain::provenance::read_origins;
use crate::explain::report::NotSeen;
use crate::explain::unread::{failures, say_unverified};
use crate::report::Unlisted;
use crate::ui::Ui;

/// The skills in the folders of a client.
#[derive(Default)]
pub(super) struct InClient {
    pub(super) files: Vec<PathBuf>,
    /// Those that the client does not list.
    pub(super) unlisted: Vec<Unlisted>,
    /// What could not be read.
    pub(super) failures: Vec<Failure>,
}

impl InClient {
    pub(super) fn of(id: &str, ui: &mut Ui) -> Result<Self, CommandError> {
        let places = Places { clients: vec![id.to_owned()], ..Places::default() };
        let (registry, _) = seen(&places, Reach::Everywhere)?;
        let Some(client) = registry.client() else { return Ok(Self::default()) };
        say_unverified([client], ui);
        let (mut files, mut unlisted) = (Vec::new(), Vec::new());
        let catalog = registry.catalog();
        let needed = LazyCell::new(|| (Needed::of(Some(client), &catalog), read_origins()));
        for (skill, standing) in catalog.all() {
            let Some(path) = registry.file_of(skill) else { continue };
            // The same file is listed by another path, and is checked there.
            if matches!(standing, Standing::Unseen { code: "same-file", .. }) {
                continue;
            }
            let mut why = NotSeen::of(standing, Some(client), "it");
            if let (Standing::Shadowed { by }, Some(NotSeen { fix, .. })) = (standing, &mut why) {
                let copy = Copy::of(skill, by, &catalog, &registry);
                let (needed, origins) = &*needed;
                let hint = needed.hint(skill, by, copy.as_ref(), (&catalog, origins), &client.reads());
                *fix = hint.to_string();
            }
            let (client, name) = (client.id, client.name);
            unlisted.extend(why.map(|why| Unlisted { client, name, path: shown(&path), why }));
            files.push(path);
        }
        Ok(Self { files, unlisted, failures: failures(&registry) })
    }
}
