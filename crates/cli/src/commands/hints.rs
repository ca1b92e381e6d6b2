//! Hints of the command line. Each command in them can be copied and run.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use prowess::advice::{self, HintAction};
use prowess::env::Environment;
use prowess::install::{InstallErrorKind, InstallScope, Origins};
use prowess::internal::{
    ConfigEditError, ConnectionError, Denied, EditedFileError, closed, denied, escape_control,
};
use prowess::library::clients;
use prowess::path::Glob;
use prowess::registry::trust::Approvals;
use prowess::source::spec::Place;
use prowess::{
    Candidate, ConfigError, Location, Preset, Registry, Scope, SourceError, SourceErrorKind, SpecialFile,
};

use super::install::scope_option;
use super::shown;
use crate::args::{Places, Scan};
use crate::error::Hint;
use crate::explain::provenance::are_line_ends;
use crate::explain::trust::never;
use crate::ui::{Text, clean, count};

/// The hint for approvals that are damaged.
pub(crate) const MOVE_APPROVALS: &str =
    "restore it from a copy, or move it away: then nothing is trusted until you trust it again";

/// The maximum number of folders in one line.
const MAX_FOLDERS: usize = 3;

impl Places {
    /// The options that say where to look for skills, as text after a command. Without them, the command would look
    /// elsewhere.
    pub(crate) fn options(&self) -> String {
        let sources = self.sources.iter().map(|source| match source.place {
            Place::Dir(_) | Place::Plugin(_) | Place::Archive(_) | Place::Jsonl(_) | Place::Inline { .. } => {
                ("--in", source.to_string())
            }
            // An address or the arguments of a program may hold secrets, which messages do not repeat.
            _ => ("--in", "SPEC".to_owned()),
        });
        let client = self.clients.iter().map(|client| ("--client", client.clone()));
        let globs = |option, globs: &[Glob]| {
            let globs: Vec<String> = globs.iter().map(ToString::to_string).collect();
            (!globs.is_empty()).then(|| (option, globs.join(",")))
        };
        let Scan { only, except, strict, .. } = &self.scan;
        let strict = strict.map(|profile| ("--strict", profile.name().to_owned()));
        let chosen = globs("--only", only).into_iter().chain(globs("--except", except)).chain(strict);
        sources
            .chain(client)
            .chain(chosen)
            .map(|(option, value)| format!(" {option}{}", value_of(&value)))
            .collect()
    }
}

/// The value of an option, with the separator before it.
pub(crate) fn value_of(value: &str) -> String {
    match shell_word(value).strip_prefix("-- ") {
        Some(word) => format!("={word}"),
        None => format!(" {}", shell_word(value)),
    }
}

/// A text as one word of a shell, so that a command that contains it can be copied and run.
pub(crate) fn shell_word(text: &str) -> String {
    let word = quoted_word(text);
    if text.starts_with('-') { format!("-- {word}") } else { word }
}

/// A text in quotes, unless it is a plain word: for prose beside a command, so that a line that is copied whole runs
/// nothing of it.
pub(crate) fn quoted_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '/' | '@');
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", escape_control(text).replace('\'', r"'\''"))
}

/// A command about a skill. The options, each after a space, repeat where the skill was looked for.
pub(crate) fn command_for(verb: &str, name: &str, options: &str) -> String {
    let word = shell_word(name);
    // After `--`, nothing is an option.
    if name.starts_with('-') {
        format!("prowess {verb}{options} {word}")
    } else {
        format!("prowess {verb} {word}{options}")
    }
}

/// The command that shows every problem of a SKILL.md, by the profile that found it broken.
pub(crate) fn check_command(path: &str, profile: Option<Preset>) -> String {
    let options = profile.map(|profile| format!(" --profile {}", profile.name())).unwrap_or_default();
    command_for("check", path, &options)
}

/// A path as one word of a shell. `None` if it is not UTF-8, or if a terminal cannot show it as it is: then no command can
/// name it.
pub(crate) fn word(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let shown = clean(text);
    matches!(shown, Cow::Borrowed(_)).then(|| shell_word(text))
}

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
        _ => of(&error.hint(), "", from),
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

/// The command that trusts a folder.
pub(crate) fn trust_command(folder: &Path) -> String {
    if folder == env::absolute(Path::new(".")) {
        return "prowess trust".to_owned();
    }
    format!("prowess trust {}", shell_word(&folder.to_string_lossy()))
}

/// What to do about skills that are not trusted.
pub(crate) struct TrustHint {
    /// The commands that trust them, if any can be trusted.
    pub(crate) trust: Option<Text>,
    /// How many can never be trusted.
    pub(crate) never: usize,
    /// The command that says why, if there are such.
    pub(crate) why: Option<String>,
}

impl TrustHint {
    /// All of it.
    pub(crate) fn text(self) -> Text {
        Text::join(self.trust.into_iter().chain(self.why.map(|why| Text::default().command(why))), ", ")
    }
}

/// The hint for skills that are not trusted.
pub(crate) fn trust_hint<'c>(
    skills: impl IntoIterator<Item = &'c Candidate>,
    registry: &Registry,
    origins: &Origins,
    places: &Places,
) -> TrustHint {
    let (never, skills): (Vec<&Candidate>, Vec<&Candidate>) =
        skills.into_iter().partition(|skill| never(skill, registry).is_some());
    let name = match never.as_slice() {
        [skill] => &*skill.entry.key,
        _ => "NAME",
    };
    TrustHint {
        trust: (!skills.is_empty()).then(|| trust_commands(skills, registry, origins, places)),
        never: never.len(),
        why: (!never.is_empty()).then(|| command_for("why", name, &places.options())),
    }
}

/// The commands that trust these skills: their folders and their servers, each once. A skill that changed since it was
/// trusted is trusted by its name: trust in its folder would accept everything in there.
fn trust_commands(skills: Vec<&Candidate>, registry: &Registry, origins: &Origins, places: &Places) -> Text {
    let (of_servers, of_projects): (Vec<&Candidate>, Vec<&Candidate>) =
        skills.into_iter().partition(|skill| skill.wants_approval);
    let (changed, new): (Vec<&Candidate>, Vec<&Candidate>) =
        of_projects.into_iter().partition(|skill| registry.changed_since_approval(skill));
    let is_installed = |skill: &&Candidate| origins.of(skill).or_else(|| origins.around(skill)).is_some();
    // The lock names exactly their files, so `sync` accepts no more than these.
    let (locked, new): (Vec<&Candidate>, Vec<&Candidate>) = new.into_iter().partition(is_installed);
    let mut folders: Vec<PathBuf> = new.into_iter().map(folder_to_trust).collect();
    let servers: BTreeSet<&str> = of_servers.iter().filter_map(|skill| label_of(skill)).collect();
    if folders.is_empty() && changed.is_empty() && locked.is_empty() && servers.is_empty() {
        return Text::default().command(format!("prowess trust NAME{}", places.options()));
    }
    folders.sort();
    folders.dedup();
    let is_own = |skill: &&Candidate| skill.entry.origin.scope == Scope::User;
    let (own, of_project): (Vec<&Candidate>, Vec<&Candidate>) = locked.into_iter().partition(is_own);
    let accepted = [(of_project, InstallScope::Project), (own, InstallScope::User)];
    let accept = |(skills, scope): (Vec<&Candidate>, _)| accept_command(&skills, scope, (origins, places));
    let command = |command: String| Text::default().command(command);
    let mut commands: Vec<Text> = accepted.into_iter().filter_map(accept).map(command).collect();
    commands.extend(folders.iter().take(MAX_FOLDERS).map(|folder| command(trust_command(folder))));
    if folders.len() > MAX_FOLDERS {
        commands.push(format!("and {}", count(folders.len() - MAX_FOLDERS, "more folder")).into());
    }
    // One that `remove --keep` left is not installed, so nothing restores it.
    let (installed, others): (Vec<&Candidate>, Vec<&Candidate>) = changed.into_iter().partition(is_installed);
    commands.extend(accept_or_restore(&installed, origins, places));
    commands.extend(accept_or_restore(&others, origins, places));
    let options = places.options();
    commands.extend(servers.iter().take(MAX_FOLDERS).map(|label| command(server_command(label, &options))));
    if servers.len() > MAX_FOLDERS {
        commands.push(format!("and {}", count(servers.len() - MAX_FOLDERS, "more server")).into());
    }
    Text::join(commands, ", ")
}

/// The command that accepts installed skills as they are in the lock, none if there are none: one by its name if it has
/// these files, and else `sync`, which accepts no more than the lock names.
pub(crate) fn accept_command(
    skills: &[&Candidate],
    scope: InstallScope,
    (origins, places): (&Origins, &Places),
) -> Option<String> {
    let is_as_locked = |skill: &Candidate| {
        let origin = origins.of(skill).or_else(|| origins.around(skill));
        origin.is_some_and(|it| origins.is_edited(it) == Some(false) && !origins.is_other_version(it))
    };
    match skills {
        [] => None,
        [skill] if is_as_locked(skill) => Some(command_for("trust", &skill.entry.key, &places.options())),
        _ => Some(format!("prowess sync{}", scope_option(scope))),
    }
}

/// The command that trusts the skills of an MCP server with their current files.
pub(crate) fn server_command(label: &str, options: &str) -> String {
    format!("prowess trust --server{}{options}", value_of(label))
}

/// The label of the MCP server that a skill is of.
pub(crate) fn label_of(skill: &Candidate) -> Option<&str> {
    match &skill.entry.origin.location {
        Location::Mcp { label, .. } => Some(label),
        _ => None,
    }
}

/// What to do about skills that changed since they were trusted: restore the installed ones, or trust one by its name.
fn accept_or_restore(changed: &[&Candidate], origins: &Origins, places: &Places) -> Option<Text> {
    let name = match changed {
        [] => return None,
        [skill] => &*skill.entry.key,
        _ => "NAME",
    };
    let installed: Vec<_> =
        changed.iter().filter_map(|skill| origins.of(skill).or_else(|| origins.around(skill))).collect();
    let mut scopes: Vec<InstallScope> = installed.iter().map(|origin| origin.scope).collect();
    scopes.sort();
    scopes.dedup();
    let accept = command_for("trust", name, &places.options());
    // A lock that names other files than the user accepted restores nothing.
    if !installed.iter().all(|origin| origins.restores_accepted(origin)) {
        let show = command_for("show", name, &places.options());
        let text = Text::from("the lock changed too, so look at it with ").command(show);
        return Some(text.words(", then ").command(accept));
    }
    // Other line ends are no edits that could be lost.
    let overwrite =
        if installed.iter().all(|origin| are_line_ends(&origins.edits(origin).unwrap_or_default())) {
            ""
        } else {
            " --overwrite"
        };
    let restore = scopes.into_iter().map(|scope| format!("prowess sync{overwrite}{}", scope_option(scope)));
    Some(Text::join(restore.chain([accept]).map(|command| Text::default().command(command)), " or "))
}

/// The folder to trust for a skill: the folder of the project, or for a source outside of it that source itself.
pub(crate) fn folder_to_trust(skill: &Candidate) -> PathBuf {
    let location = &*skill.entry.origin.location.text();
    let location = Path::new(location);
    let here = env::absolute(Path::new("."));
    let source = Path::new(&*skill.source);
    // The skills of an archive or a JSON Lines file are trusted by the folder of that file.
    let around = [Some(clients::project(&here)), Some(source), source.parent()];
    let found = around.into_iter().flatten().find(|folder| folder.is_dir() && location.starts_with(folder));
    found.or(location.parent()).unwrap_or(location).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_a_shell_is_quoted_where_it_must_be() {
        assert_eq!(shell_word("team:pdf-tools"), "team:pdf-tools");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word("-x"), "-- '-x'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(command_for("why", "pdf", " --in team"), "prowess why pdf --in team");
        assert_eq!(command_for("why", "-x", " --in team"), "prowess why --in team -- '-x'");
    }

    #[test]
    fn a_path_that_cannot_be_shown_is_in_no_command() {
        assert_eq!(word(Path::new("/a/b c")).as_deref(), Some("'/a/b c'"));
        assert_eq!(word(Path::new("/a/\u{1b}[2J")), None);
        assert_eq!(word(Path::new("/a/\u{202e}b")), None);
    }

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
