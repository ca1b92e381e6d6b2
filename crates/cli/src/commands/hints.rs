//! Hints of the command line. Each command in them can be copied and run.

use std::io;
use std::path::{Path, PathBuf};

use prowess::advice::{self, HintAction};
use prowess::env::{self, Environment};
use prowess::install::InstallErrorKind;
use prowess::internal::{ConfigEditError, ConnectionError, Denied, EditedFileError, closed, denied};
use prowess::library::clients;
use prowess::registry::trust::Approvals;
use prowess::{ConfigError, RegistryError, SourceError, SourceErrorKind, SpecialFile};

use super::shown;
use crate::error::Hint;
use crate::ui::Text;
use crate::ui::command::{check_command, command_for, trust_command, word};

/// The hint for approvals that are damaged.
pub(crate) const MOVE_APPROVALS: &str =
    "restore it from a copy, or move it away: then nothing is trusted until you trust it again";

/// A name beside a file or folder that nothing has: with this ending, and a number if it must be.
pub(crate) fn free_name(path: &Path, ending: &str) -> Option<PathBuf> {
    let names = (1_u32..=100).map(|number| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 1 { format!(".{ending}") } else { format!(".{ending}-{number}") });
        PathBuf::from(name)
    });
    names.into_iter().find(|name| name.symlink_metadata().is_err())
}

/// What makes a file or folder readable for this user: in words, and the command if this user can do it.
pub(crate) fn making_readable(path: &Path) -> (&'static str, Option<String>) {
    match closed(path) {
        Some(Denied::Owner { .. }) => {
            ("it belongs to another user: have its owner make it readable for this user", None)
        }
        Some(Denied::Mode(closed)) => {
            let command = word(&closed).map(|closed| format!("chmod u+rX {closed}"));
            ("make it readable for this user", command)
        }
        None => ("make it readable for this user", None),
    }
}

/// What to do about a SKILL.md that could not be read.
pub(crate) fn of_skill_file(error: &SourceError) -> Hint {
    match &error.kind {
        SourceErrorKind::NotRegular { found: SpecialFile::Fifo } => {
            "put a regular file in its place, or pipe the text into: prowess check -".into()
        }
        _ => of_source(error),
    }
}

/// What to do about an error of a source.
pub(crate) fn of_source(error: &SourceError) -> Hint {
    hint(error, None)
}

/// What to do about an error of a configuration.
pub(crate) fn of_config(error: &ConfigError) -> Hint {
    match error {
        // Nothing else than a file is read as a configuration.
        ConfigError::Read(read) if matches!(read.kind, SourceErrorKind::NotRegular { .. }) => {
            "put a regular file in its place".into()
        }
        ConfigError::Read(read) => hint(read, error.path().parent()),
        other => of(&other.hint(), "", None),
    }
}

/// What to do about an error of a registry; `by_option` says that an option decides about duplicates.
pub(crate) fn of_registry(error: &RegistryError, by_option: bool) -> Hint {
    match error {
        RegistryError::Duplicate(_) if by_option => "rename one of them, or leave out --duplicates".into(),
        RegistryError::Duplicate(_) => {
            let first = Text::from("rename one of them, or let the first one win");
            first.with("prowess config unset skills.duplicates").into()
        }
        RegistryError::Source(error) => of_source(error),
        other => of(&other.hint(), "", None),
    }
}

/// The user's folder of state.
fn state() -> Option<PathBuf> {
    Some(Environment::current().xdg("XDG_STATE_HOME", ".local/state")?.join("prowess"))
}

/// What to do where this user may not read or write a file of Prowess itself; none when that is not known.
pub(crate) fn of_denied(file: &Path) -> Option<Text> {
    let (words, command) = match denied(&state()?, file)? {
        Denied::Owner { path, .. } if path.extension().is_some_and(|end| end == "lock") => (
            "it belongs to another user, and is only a lock: remove it".to_owned(),
            word(&path).map(|path| format!("rm -f {path}")),
        ),
        // What root wrote is believed where it can be read.
        Denied::Owner { path, owner: 0, user } => (
            format!("{} belongs to root, who can make it yours", shown(&path)),
            word(&path).map(|path| format!("chown -R {user} {path}")),
        ),
        // What another user wrote must not become what this one believes.
        Denied::Owner { path, .. } => (
            format!(
                "{} belongs to another user: run the command as that user, or move it away",
                shown(&path)
            ),
            word(&path)
                .zip(free_name(&path, "other-user").and_then(|free| word(&free)))
                .map(|(path, free)| format!("mv {path} {free}")),
        ),
        Denied::Mode(path) => (
            "make it readable and writable for this user".to_owned(),
            word(&path).map(|path| format!("chmod u+rwX {path}")),
        ),
    };
    Some(match command {
        Some(command) => Text::from(words).with(command),
        None => words.into(),
    })
}

/// What to do about a record of connections that is not believed.
pub(crate) fn of_disbelieved(file: &Path) -> Text {
    let words = "look at it; then let no other user write it and its folder (chmod go-w), or move it away";
    of_denied(file).unwrap_or_else(|| words.into())
}

/// Whether approvals of this user are of no use. Those of a newer version are.
pub(crate) fn is_damaged(approvals: &SourceErrorKind) -> bool {
    use SourceErrorKind as Kind;
    matches!(approvals, Kind::Damaged { .. } | Kind::Folder | Kind::NotRegular { .. })
}

/// What to do on a full disk, if fetched skills are on it; `hint` says it without them.
pub(crate) fn of_full_disk(path: &Path, hint: &advice::Hint) -> Option<Text> {
    let store = Environment::current().xdg("XDG_CACHE_HOME", ".cache")?.join("prowess/store");
    let disk = path.ancestors().find_map(disk_of);
    let store = word(&store).filter(|_| disk.is_some() && disk_of(&store) == disk)?;
    let lost =
        "fetched skills can be deleted, and then one whose source has changed or is gone cannot be restored";
    Some(Text::from(format!("{hint}; {lost}")).colon(format!("rm -rf {store}")))
}

/// The number of the disk that a path is on, if it exists and the system numbers them.
fn disk_of(path: &Path) -> Option<u64> {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::dev(&path.metadata().ok()?).into();
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// What to do about an error of a file of Prowess itself; none when that is not known.
fn of_own_file(error: &SourceError) -> Option<Hint> {
    use SourceErrorKind as Kinds;
    let file = Path::new(error.at.path()?);
    match &error.kind {
        Kinds::Io(cause) | Kinds::Unwritable(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
            of_denied(file).map(Hint::from)
        }
        kind if is_damaged(kind) && *file == Approvals::file(&Environment::current())? => {
            Some(MOVE_APPROVALS.into())
        }
        _ => None,
    }
}

/// What to do about an error of a source. The project is the one around `from`, or around the current folder.
fn hint(error: &SourceError, from: Option<&Path>) -> Hint {
    if let Some(hint) = of_own_file(error) {
        return hint;
    }
    match &error.kind {
        SourceErrorKind::Config(error) => of_config(error),
        SourceErrorKind::Entry { error, .. } => hint(error, from),
        SourceErrorKind::Install(unknown) if unknown.kind() == InstallErrorKind::NotFound => {
            let add = command_for("add", &error.at.text(), "");
            Text::from("install it").with(add).words("; or write ./ before it, if it is a folder").into()
        }
        _ => {
            // A link of a folder that was named is in the project of that folder.
            let link = error.at.path().map(Path::new).filter(|at| at.is_symlink()).and_then(Path::parent);
            of(&error.hint(), "", from.or(link))
        }
    }
}

/// A hint of the library, with the command or option for its action. The options repeat where skills were looked for; the
/// project is the one around `from`, or around the current folder.
pub(crate) fn of(hint: &advice::Hint, options: &str, from: Option<&Path>) -> Hint {
    let (before, action, after) = hint.parts();
    let text = Text::from(before);
    let Some(action) = action else { return text.into() };
    let text = text.and(of_action(action, options, from)).words(after);
    Hint { text, action: Some(action.code()) }
}

fn of_action(action: &HintAction, options: &str, from: Option<&Path>) -> Text {
    let command = |verb, key| command_for(verb, key, options);
    // The folder is named, since the command may run below it.
    let trust = || {
        let from = from.map_or_else(|| env::absolute(Path::new(".")), Path::to_owned);
        Text::from("trust the project's folder").with(trust_command(clients::project(&from)))
    };
    match action {
        HintAction::RunAgain => "run the command again".into(),
        HintAction::ListKeys => Text::from("list the keys").with("prowess config"),
        HintAction::ListRules => Text::from("list the rules").with("prowess rule"),
        HintAction::ListSkills => Text::from("list the skills").with(format!("prowess list{options}")),
        HintAction::ListInstalled { elsewhere } => {
            let what = if *elsewhere { "see all that is" } else { "list what is installed" };
            Text::from(what).with("prowess list --installed")
        }
        HintAction::Sync { user } => {
            Text::from("install it").with(if *user { "prowess sync --user" } else { "prowess sync" })
        }
        HintAction::Rename => "give one of them another name: with --as NAME, or by its key in skills.toml".into(),
        HintAction::NameSkill => "name the skill that you want: --skill NAME".into(),
        HintAction::CorrectYaml => Text::from("see the error").with("prowess check"),
        HintAction::Check { key, location, profile } => {
            // A skill in an archive or on another machine has no file that could be checked.
            match location.path().filter(|path| Path::new(path).is_file()) {
                Some(file) => Text::from("see every problem").with(check_command(file, *profile)),
                None => Text::from(SAME_NAME).with(command("why", key)),
            }
        }
        HintAction::Why { key } => Text::from(SAME_NAME).with(command("why", key)),
        HintAction::Trust { key } => {
            Text::from("look at it").with(command("show", key)).words("; then trust it").with(command("trust", key))
        }
        HintAction::LeaveOptionOut => "run the command without that option".into(),
        HintAction::TrustProject => trust(),
        HintAction::TrustLargeProject => trust().words("; or name the folders you want with --in"),
        HintAction::TrustProjectOfSkill => Text::from("trust its whole project").with("prowess trust"),
        HintAction::NameServer => "name it in your own prowess.toml, or with --in".into(),
        HintAction::NameFolder => "name it with --in, which has no limit".into(),
        HintAction::LookDeeper => {
            "look deeper with --depth or with depth in [scan] of prowess.toml, or give a folder nearer to the skills"
                .into()
        }
    }
}

/// What `why` shows besides.
const SAME_NAME: &str = "see all skills of this name";

/// What to do about something in words of the library, with their commands.
pub(crate) fn all_of(hints: &[advice::Hint]) -> Text {
    Text::join(hints.iter().map(|hint| of(hint, "", None).text), "; ")
}

/// What to do when a configuration of a client, by its name on the command line, was not changed.
pub(crate) fn of_connection(error: &ConnectionError, client: &str) -> Hint {
    use ConnectionError as Error;
    let words: &str = match error {
        Error::File(error) if error.is_too_large() => &format!(
            "nothing was changed; use the client's own command that adds a server, or change the file yourself, by the \
             text of: prowess serve --print-config {client}"
        ),
        Error::File(EditedFileError::Outside(out)) if !out.into_git => {
            "connect for yourself, without --project; nothing was changed"
        }
        Error::File(error) => return of(&error.hint(), "", None),
        Error::Edit { source: ConfigEditError::Invalid { .. }, .. } => {
            "correct the file, then run the command again; nothing was changed"
        }
        Error::Edit { .. } => &format!(
            "nothing was changed; change the file yourself, by the text of: prowess serve --print-config {client}"
        ),
        Error::NotOurs { removes: true, .. } => {
            "look at the entry; --overwrite removes it, although Prowess did not write it"
        }
        Error::Shared { removes: true, client, .. } => &format!(
            "remove it for both with --overwrite, or disconnect the other client with: prowess disconnect {client} \
             --project"
        ),
        Error::Shared { .. } => "serve every skill to both with --all, or take its place with --overwrite",
        Error::Members { removes: true, .. } | Error::Comment { removes: true, .. } => {
            "look at the entry; --overwrite removes it whole"
        }
        Error::NotOurs { .. } | Error::Members { .. } | Error::Comment { .. } => {
            "look at the entry; --overwrite takes its place"
        }
        Error::Write(error) => error.hint(),
        Error::Records { source, .. } if source.kind() == io::ErrorKind::Unsupported => {
            "use that version of prowess, or a newer one; nothing was changed"
        }
        Error::Records { file, source } if source.kind() == io::ErrorKind::PermissionDenied => {
            return of_disbelieved(file).words("; nothing was changed").into();
        }
        Error::Records { .. } => {
            "move the file away: disconnect then removes the entry and nothing else; nothing was changed"
        }
        Error::Record { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
            "use a folder whose path is UTF-8; nothing was changed"
        }
        Error::Record { source, .. }
            if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) =>
        {
            "make room on the disk, then run the command again; nothing was changed"
        }
        Error::Record { .. } => "check that you may write to the folder; nothing was changed",
        Error::RecordLeft { .. } => "the record does no harm; check that you may write to the folder",
        Error::Homeless => "set HOME or XDG_STATE_HOME",
    };
    words.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_of_the_library_gets_its_command_among_the_words_of_the_hint() {
        let hint = advice::Hint::from(HintAction::ListKeys).before("did you mean x? ");
        let hint = of(&hint, "", None);
        assert_eq!(hint.to_string(), "did you mean x? list the keys with: prowess config");
        assert_eq!(hint.action, Some("list-keys"));
        assert_eq!(hint.text.command_at_end().1.as_deref(), Some("prowess config"));
        let busy = SourceErrorKind::Busy.at("x");
        assert_eq!(of_source(&busy).to_string(), "wait until it is done, then run the command again");
    }

    #[test]
    fn records_of_connections_that_cannot_be_used_are_said_with_what_to_do() {
        let hint = |kind| {
            let (file, source) = (PathBuf::from("x"), io::Error::from(kind));
            of_connection(&ConnectionError::Records { file, source }, "cursor").to_string()
        };
        assert!(hint(io::ErrorKind::InvalidData).starts_with("move the file away"));
        assert!(hint(io::ErrorKind::Unsupported).starts_with("use that version of prowess"));
        let (file, source) = (PathBuf::from("x"), io::Error::from(io::ErrorKind::InvalidInput));
        assert!(
            of_connection(&ConnectionError::Record { file, source }, "cursor").to_string().contains("UTF-8")
        );
    }
}
