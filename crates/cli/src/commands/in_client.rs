//! The skills that `prowess check --client` is about.

use std::path::PathBuf;

use prowess::Standing;
use prowess::library::views::Reach;

use super::{seen, shown};
use crate::args::Places;
use crate::error::CommandError;

/// The skills in the folders of a client.
pub(super) struct InClient {
    pub(super) files: Vec<PathBuf>,
    /// The messages about skills that the client does not list.
    pub(super) unseen: Vec<String>,
}

impl InClient {
    pub(super) fn of(id: &str) -> Result<Self, CommandError> {
        let places = Places { clients: vec![id.to_owned()], ..Places::default() };
        let (registry, _) = seen(&places, Reach::Everywhere)?;
        let name = registry.client().map_or(id, |client| client.name);
        let (mut files, mut unseen) = (Vec::new(), Vec::new());
        for (skill, standing) in registry.catalog().all() {
            let Some(path) = skill.entry.origin.location.path().map(PathBuf::from) else { continue };
            if let Standing::Unseen { code, reason, fix } = standing {
                // The same file is listed by another path, and is checked there.
                if *code == "same-file" {
                    continue;
                }
                unseen.push(format!("{name} does not list {}: {reason}; {fix}", shown(&path)));
            }
            files.push(path);
        }
        Ok(Self { files, unseen })
    }
}
