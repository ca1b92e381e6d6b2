//! A project and a home with skills in them, and the command run there.

use std::ffi::OsStr;
use std::process::{Command, Output};

use serde_json::Value;

use crate::Place;

/// Skills of a project and of its user: offered, shadowed, broken and turned off.
pub(crate) fn shelf() -> Place {
    Place::with(&[
        (".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files.\n---\nRead.\n"),
        (".claude/skills/pdf/scripts/read.sh", "echo\n"),
        (".claude/skills/loud/SKILL.md", "---\nname: loud\ndescription: Use when: loud\n---\n"),
        (".claude/skills/torn/SKILL.md", "---\nname: torn\nname: again\ndescription: d\n---\n"),
        (".claude/skills/draft/SKILL.md", "---\nname: draft\ndescription: Not ready.\n---\n"),
        ("home/.claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: The user's own.\n---\n"),
        ("home/.codex/skills/mail/SKILL.md", "---\nname: mail\ndescription: Writes letters.\n---\n"),
        ("prowess.toml", "[skills]\ndisable = [\"draft\"]\n"),
    ])
}

/// The command with a user's folders inside the place.
pub(crate) fn command(place: &Place) -> Command {
    let mut command = place.command();
    for (name, folder) in [
        ("HOME", "home"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_STATE_HOME", "state"),
    ] {
        command.env(name, place.path().join(folder));
    }
    command
}

pub(crate) fn output<S: AsRef<OsStr>>(place: &Place, args: &[S]) -> Output {
    command(place).args(args).output().unwrap()
}

pub(crate) fn run<S: AsRef<OsStr>>(place: &Place, args: &[S]) -> String {
    place.transcript(&output(place, args))
}

pub(crate) fn json_of(place: &Place, args: &[&str]) -> Value {
    serde_json::from_slice(&output(place, args).stdout).unwrap()
}

/// The clients that read the project's `.claude/skills`, as they are shown.
pub(crate) fn readers(place: &Place) -> String {
    let why = json_of(place, &["why", "--json", "pdf"]);
    let names: Vec<&str> = why["candidates"][0]["readers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    names.join(", ")
}
