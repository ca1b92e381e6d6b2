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

/// The same command as a user whom permissions bind: root becomes a user without rights, who gets all files of the place.
/// None where that is not possible.
pub(crate) fn bound_by_permissions(place: &Place, own: &Command) -> Option<Command> {
    let done = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    let is_root = Command::new("id").arg("-u").output().ok()?.stdout == b"0\n";
    let mut other = Command::new(if is_root { OsStr::new("/usr/bin/setpriv") } else { own.get_program() });
    if is_root {
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
        other.arg(own.get_program());
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(place.path(), mode).ok()?;
        let given = done(Command::new("chown").args(["-hR", "65534:65534"]).arg(place.path()));
        if !given || !done(Command::new(other.get_program()).args(other.get_args()).arg("--version")) {
            crate::skipped("setpriv cannot run here");
            return None;
        }
    }
    let variables = own.get_envs().filter_map(|(name, value)| Some((name, value?)));
    other.args(own.get_args()).env_clear().envs(variables).stdin(std::process::Stdio::null());
    other.current_dir(own.get_current_dir()?);
    Some(other)
}

/// Runs the command as [`bound_by_permissions`] says.
pub(crate) fn run_bound(place: &Place, args: &[&str]) -> Option<String> {
    let mut own = command(place);
    own.args(args);
    bound_by_permissions(place, &own).map(|mut command| place.transcript(&command.output().unwrap()))
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
