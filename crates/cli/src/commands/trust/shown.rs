//! What is shown before it is trusted: the skills with their files, scripts, tools and hooks, and the settings that would
//! have an effect.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use prowess::install::{Origins, Preview};
use prowess::internal::{preview_of_found, toml_value};
use prowess::{Candidate, Catalog, Digest, Manifest, Registry};
use serde_json::{Value, json};

use super::folder::FolderLook;
use crate::commands::install::preview_lines;
use crate::error::CommandError;
use crate::explain::provenance::{Provenance, read_origins};
use crate::report::json::VERSION;
use crate::ui::{HINT, clean, count, few, number};

/// The most bytes of skills that are read for one preview.
pub(super) const MAX_BYTES: u64 = 256 << 20;

/// The most skills that are seen at a glance; more of them end with a summary.
const MAX_AT_A_GLANCE: usize = 10;
/// The most places that were not looked into and have a line of their own: more would hide what comes before them.
const MAX_UNSEEN: usize = 30;
/// The most names of skills in a part of the summary.
const MAX_NAMED: usize = 8;
/// The most names of files of one skill on another machine.
const MAX_FILES: usize = 30;

/// A part of the summary: what some skills can do, and whether one can.
type Can = (&'static str, fn(&Preview) -> bool);

/// Whether a skill can do more than tell.
fn is_loud(preview: &Preview) -> bool {
    let has_files = [&preview.executables, &preview.tools, &preview.loaded_by_others];
    let runs = preview.hooks || preview.commands || !preview.runs.is_empty();
    let hides = !preview.hidden.is_empty() || !preview.comments.is_empty();
    runs || hides || has_files.iter().any(|names| !names.is_empty())
}

/// Skills with what they could do, and what else trust would change.
#[derive(Default)]
pub(super) struct TrustPreview {
    pub(super) skills: Vec<ShownSkill>,
    /// The settings that would have an effect.
    pub(super) settings: Vec<Setting>,
    /// What would be read besides: sites, and places outside of the folder.
    pub(super) reads: Vec<String>,
    /// What is trusted too, and was not looked into.
    pub(super) unseen: Vec<String>,
    pub(super) is_folder: bool,
}

/// A skill with what it could do.
pub(super) struct ShownSkill {
    key: String,
    location: String,
    /// The digest that is trusted; none where a folder is.
    digest: Option<Digest>,
    /// The files of a skill on another machine. What can be said of it is in the list of its source alone, so that all of
    /// it is shown.
    remote_files: Option<Vec<String>>,
    /// Where the lock says that it is from, if its files are not those of the lock.
    not_as_locked: Option<String>,
    preview: Preview,
}

impl ShownSkill {
    /// What the source of a skill on another machine lists, in lines.
    fn listed(&self) -> String {
        let Some(files) = &self.remote_files else { return String::new() };
        let mut text = String::new();
        let mut line = |title: &str, what: &str| {
            let _ = writeln!(text, "  {HINT}{title}{HINT:#}  {}", clean(what));
        };
        line("description", &self.preview.description);
        let more = if files.len() > MAX_FILES { "; --json has all of them" } else { "" };
        line("files", &format!("{}{more}", few(files, MAX_FILES)));
        if let Some(digest) = &self.digest {
            line("digest", &digest.to_string());
        }
        text
    }
}

/// A setting in a file of the project.
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) file: PathBuf,
}

impl TrustPreview {
    /// Skills that are trusted with these digests.
    pub(super) fn of_skills(
        digests: &[(&Candidate, Digest)],
        registry: &Registry,
        catalog: &Catalog,
    ) -> Self {
        let (names, mut left, origins) = (names(catalog), MAX_BYTES, read_origins());
        let shown = digests.iter().map(|(skill, digest)| ShownSkill {
            digest: Some(*digest),
            ..previewed(skill, registry, &names, &origins, &mut left)
        });
        Self { skills: shown.collect(), ..Self::default() }
    }

    /// Everything in a folder that trust in it covers.
    pub(super) fn of_folder(folder: &Path) -> Result<Self, CommandError> {
        FolderLook::at(folder)
    }

    /// Whether trust would change nothing now.
    pub(super) fn is_empty(&self) -> bool {
        let Self { skills, settings, reads, unseen, .. } = self;
        skills.is_empty() && settings.is_empty() && reads.is_empty() && unseen.is_empty()
    }

    /// In lines, as before an installation.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Of many, those that can do more than tell come last, next to the question.
        let many = self.skills.len() > MAX_AT_A_GLANCE;
        let (loud, quiet): (Vec<_>, Vec<_>) =
            self.skills.iter().partition(|skill| many && is_loud(&skill.preview));
        for skill in quiet.into_iter().chain(loud) {
            let lines = preview_lines(&skill.key, &skill.preview);
            let (name, rest) = lines.split_once('\n').unwrap_or((&lines, ""));
            let _ = writeln!(text, "{name}\n  {HINT}at{HINT:#}  {}", clean(&skill.location));
            if let Some(source) = &skill.not_as_locked {
                let source = clean(source);
                let line = format!(
                    "the lock says it is from{HINT:#}  {source}; its files are not those of the lock"
                );
                let _ = writeln!(text, "  {HINT}{line}");
            }
            text.push_str(&skill.listed());
            text.push_str(rest);
        }
        if self.is_folder && self.skills.is_empty() {
            text.push_str("no skills are found there now\n");
        }
        let mut line = |title: &str, what: &str| {
            let _ = writeln!(text, "{HINT}{title}{HINT:#}  {}", clean(what));
        };
        for Setting { key, value, file } in &self.settings {
            line("takes effect", &format!("{key} = {} in {}", toml_value(value), file.display()));
        }
        for place in &self.reads {
            line("will also be read", place);
        }
        for unseen in self.unseen.iter().take(MAX_UNSEEN) {
            line("not looked into", unseen);
        }
        if let Some(more @ 1..) = self.unseen.len().checked_sub(MAX_UNSEEN) {
            line("not looked into", &format!("and {} more; --json has all of them", number(more as u64)));
        }
        if many {
            text.push_str(&self.summary());
        }
        text
    }

    /// How many skills there are, and which can do more than tell.
    fn summary(&self) -> String {
        let mut text = count(self.skills.len(), "skill");
        let kinds: [Can; 4] = [
            ("hooks or commands in", |preview| preview.hooks || preview.commands || !preview.runs.is_empty()),
            ("files that can be run in", |preview| !preview.executables.is_empty()),
            ("tools asked for by", |preview| !preview.tools.is_empty()),
            ("hidden text in", |preview| !preview.hidden.is_empty() || !preview.comments.is_empty()),
        ];
        for (what, can) in kinds {
            let able = self.skills.iter().filter(|skill| can(&skill.preview));
            let names: Vec<&str> = able.map(|skill| &*skill.key).collect();
            if let [_, ..] = names.as_slice() {
                let shown = few(&names, MAX_NAMED);
                let _ = write!(text, "; {what} {}: {}", number(names.len() as u64), clean(&shown));
            }
        }
        text + "\n"
    }

    /// As JSON, with what was done or would be.
    pub(super) fn json(&self, member: &str, said: &str) -> Value {
        let skill =
            |ShownSkill { key, location, digest, remote_files, not_as_locked, preview }: &ShownSkill| {
                let mut shown = json!({"name": key, "location": location, "preview": preview});
                if let Some(shown) = shown.as_object_mut() {
                    let files = remote_files.as_ref().map(|files| json!(files));
                    shown.extend(digest.map(|digest| ("digest".to_owned(), json!(digest))));
                    shown.extend(files.map(|files| ("files".to_owned(), files)));
                    shown.extend(not_as_locked.as_ref().map(|_| ("edited".to_owned(), json!(true))));
                }
                shown
            };
        let previews: Vec<Value> = self.skills.iter().map(skill).collect();
        let mut settings: Vec<&str> = self.settings.iter().map(|setting| setting.key.as_str()).collect();
        settings.dedup();
        let effect = |Setting { key, value, file }: &Setting| json!({"key": key, "value": value, "file": file.to_string_lossy()});
        json!({
            "version": VERSION,
            member: said,
            "previews": previews,
            "settings": settings,
            "takes_effect": self.settings.iter().map(effect).collect::<Vec<Value>>(),
            "reads": self.reads,
            "unseen": self.unseen,
        })
    }
}

pub(super) fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.all().map(|(skill, _)| skill.entry.key.as_str()).collect()
}

pub(super) fn previewed(
    skill: &Candidate,
    registry: &Registry,
    names: &[&str],
    origins: &Origins,
    left: &mut u64,
) -> ShownSkill {
    let is_remote = skill.wants_approval || registry.is_remote(skill);
    let files = is_remote.then(|| registry.files_of(skill).ok()).flatten();
    let paths = |files: Manifest| files.files.iter().map(|file| file.path.as_str().to_owned()).collect();
    ShownSkill {
        key: skill.entry.key.clone(),
        location: skill.entry.origin.location.to_string(),
        digest: None,
        remote_files: files.map(paths),
        not_as_locked: Provenance::of_differing(skill, origins),
        preview: preview_of_found(registry, skill, names, left),
    }
}
