//! Commands that hints name: each can be copied and run where it is read.

use std::path::{Path, PathBuf};

use prowess::fs::location::path_of;
use prowess::library::clients;
use prowess::source::spec::Place;
use prowess::{Candidate, env, shell_word};

use crate::args::Places;
use crate::ui::count;

/// The most folders that one line names.
const MAX_FOLDERS: usize = 3;

impl Places {
    /// The options that say where skills are looked for, as they follow a command: without them it would look elsewhere.
    pub(super) fn options(&self) -> String {
        let sources = self.sources.iter().map(|source| match source.place {
            // An address or the arguments of a program may hold secrets, which messages do not repeat.
            Place::Url { .. } | Place::Mcp(_) => ("--in", "SPEC".to_owned()),
            _ => ("--in", source.to_string()),
        });
        let client = self.client.iter().map(|client| ("--client", client.clone()));
        sources.chain(client).map(|(option, value)| format!(" {option}{}", value_of(&value))).collect()
    }
}

/// The value of an option, with what stands before it.
fn value_of(value: &str) -> String {
    match shell_word(value).strip_prefix("-- ") {
        Some(word) => format!("={word}"),
        None => format!(" {}", shell_word(value)),
    }
}

/// The command that trusts a folder.
pub(crate) fn trust_command(folder: &Path) -> String {
    if folder == env::absolute(Path::new(".")) {
        return "prowess trust".to_owned();
    }
    format!("prowess trust {}", shell_word(&folder.to_string_lossy()))
}

/// The commands that trust these skills: their folders, each once. A skill of a server is trusted by its name, and trust
/// in a folder has nothing to do with it.
pub(super) fn trust_hint<'c>(skills: impl IntoIterator<Item = &'c Candidate>, places: &Places) -> String {
    let of_projects = skills.into_iter().filter(|skill| !skill.wants_approval);
    let mut folders: Vec<PathBuf> = of_projects.map(folder_to_trust).collect();
    if folders.is_empty() {
        return format!("prowess trust NAME{}", places.options());
    }
    folders.sort();
    folders.dedup();
    let mut commands: Vec<String> =
        folders.iter().take(MAX_FOLDERS).map(|folder| trust_command(folder)).collect();
    if folders.len() > MAX_FOLDERS {
        commands.push(format!("and {}", count(folders.len() - MAX_FOLDERS, "more folder")));
    }
    commands.join(", ")
}

/// The folder that makes a skill trusted: that of the project, or for what the project names elsewhere the place itself.
fn folder_to_trust(skill: &Candidate) -> PathBuf {
    let location = &path_of(&skill.entry.origin.location);
    let here = env::absolute(Path::new("."));
    let source = Path::new(&*skill.source);
    // An archive or a file of lines is no folder, and the skills in it lie in the folder around it.
    let around = [Some(clients::project(&here)), Some(source), source.parent()];
    let found = around.into_iter().flatten().find(|folder| folder.is_dir() && location.starts_with(folder));
    found.or(location.parent()).unwrap_or(location).to_owned()
}
