//! Where an installed skill came from, in the output of `list`, `why` and `trust`.

use std::path::Path;

use prowess::env::{self, Environment};
use prowess::install::{
    FileChange, InstallFolders, InstalledOrigin, Installer, Origins, Requested, Upstream,
};
use prowess::{Candidate, Digest, Location};
use serde::Serialize;

use crate::commands::install::{report, verify};
use crate::ui::{Text, Ui, count};

/// How many other folders of an accepted skill are named.
const MAX_ELSEWHERE: usize = 3;
/// How many changed files are named.
const MAX_CHANGES: usize = 5;

/// Where an installed skill came from.
#[derive(Serialize)]
pub(crate) struct Provenance<'o> {
    #[serde(skip)]
    origin: &'o InstalledOrigin,
    /// Whether it is inside of the installed skill.
    #[serde(skip)]
    inside: bool,
    scope: &'static str,
    source: &'o Upstream,
    source_path: Option<&'o str>,
    requested: Option<&'o Requested>,
    commit: Option<&'o str>,
    digest: Option<Digest>,
    /// Whether this user fetched these files from there. If not, only the lock says so.
    fetched: bool,
    /// Whether its files differ from the lock, if they were compared and could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited: Option<bool>,
    /// Whether they are those of another version that was installed here before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    other_version: bool,
    /// Other folders in which the user accepted the same files, if they are not accepted here.
    #[serde(skip)]
    accepted_in: Vec<String>,
    /// The files that differ, if that is known.
    #[serde(skip)]
    changes: Vec<(String, FileChange)>,
}

/// The entries in the locks of the project and of the user. A lock that cannot be read is a note, never a failure.
pub(crate) fn origins(ui: &mut Ui) -> Origins {
    let origins = read_origins();
    for error in origins.unread() {
        ui.note(&format!("it is not known where some skills came from: {}", error.full_message()));
    }
    origins
}

/// The entries in the locks of the project and of the user, as far as they can be read.
pub(crate) fn read_origins() -> Origins {
    let environment = Environment::current();
    origins_of(&InstallFolders::project_of(&env::absolute(Path::new(".")), &environment))
}

/// The entries in the locks of another project and of the user, as far as they can be read.
pub(crate) fn origins_of(project: &Path) -> Origins {
    let installer = Installer::of_user(Environment::current(), project);
    installer.map(|installer| installer.origins()).unwrap_or_default()
}

/// Whether files differ, and only in their line ends.
pub(crate) fn are_line_ends(changes: &[(String, FileChange)]) -> bool {
    !changes.is_empty() && changes.iter().all(|(_, change)| *change == FileChange::LineEnds)
}

/// Whether a skill is a copy that Prowess made of the installed skill which shadows it.
pub(crate) fn is_own_copy(skill: &Candidate, by: &Location, origins: &Origins) -> bool {
    let here = origins.of_file(&skill.entry.origin.location);
    here.zip(origins.of_file(by)).is_some_and(|(here, by)| here.path == by.path)
}

impl<'o> Provenance<'o> {
    /// Where a skill came from, by the lock alone; none when it was not installed.
    fn of(skill: &Candidate, origins: &'o Origins) -> Option<Self> {
        let (origin, inside) = match origins.of(skill) {
            Some(origin) => (origin, false),
            None => (origins.around(skill)?, true),
        };
        let locked = &origin.locked;
        Some(Self {
            origin,
            inside,
            scope: origin.scope.word(),
            source: &locked.source,
            source_path: locked.path.as_ref().map(prowess::RelPath::as_str),
            requested: locked.requested.as_ref(),
            commit: locked.commit.as_deref(),
            digest: locked.digest,
            fetched: origin.fetched,
            edited: None,
            other_version: false,
            accepted_in: Vec::new(),
            changes: Vec::new(),
        })
    }

    /// Where a skill came from. It is not said to be from where the user fetched other files. The files are read only where
    /// no approval says what they are.
    pub(crate) fn listed(skill: &Candidate, origins: &'o Origins) -> Option<Self> {
        let found = Self::of(skill, origins)?;
        let is_approved = !found.inside && skill.approved.is_some() && skill.approved == found.digest;
        if !found.fetched || is_approved || origins.is_as_locked(found.origin) == Some(true) {
            return Some(found);
        }
        Some(Self { fetched: false, edited: origins.is_edited(found.origin), ..found })
    }

    /// Where the lock says that a skill is from which has not the files of the lock; none of any other skill.
    pub(crate) fn of_differing(skill: &Candidate, origins: &'o Origins) -> Option<String> {
        let origin = Self::of(skill, origins)?.origin;
        let place = (origin.scope, origin.path.as_path());
        (origins.is_as_locked(origin) != Some(true)).then(|| report::origin(&origin.locked, place, true))
    }

    /// Where a skill came from, and whether its files are edited. This reads all of them.
    pub(crate) fn compared(skill: &Candidate, origins: &'o Origins) -> Option<Self> {
        let found = Self::of(skill, origins)?;
        let origin = found.origin;
        let edited = origins.is_edited(origin);
        let changes = edited.filter(|edited| *edited).and_then(|_| origins.edits(origin)).unwrap_or_default();
        let accepted_in = origins.accepted_in(origin);
        let other_version = edited == Some(false) && origins.is_other_version(origin);
        let fetched = found.fetched && origins.is_as_locked(origin) == Some(true);
        Some(Self { fetched, edited, other_version, accepted_in, changes, ..found })
    }

    /// In one line.
    pub(crate) fn short(&self) -> String {
        let InstalledOrigin { locked, path, scope, fetched, .. } = self.origin;
        let origin = report::origin(locked, (*scope, path), *fetched);
        if *fetched == self.fetched {
            return origin;
        }
        format!("{origin}, says the lock; its files are not those of the lock")
    }

    /// In lines.
    pub(crate) fn lines(&self) -> Vec<Text> {
        let title = if self.fetched { "installed from" } else { "the lock says it is from" };
        let InstalledOrigin { locked, path, scope, .. } = self.origin;
        // The commit has a line of its own.
        let place = match locked.commit {
            Some(_) => locked.place(),
            None => locked.origin_from(&env::absolute(Path::new(".")), *scope, path),
        };
        let mut lines = vec![Text::from(format!("{title}: {place}"))];
        lines.extend(self.inside.then(|| format!("inside of: {}", path.display()).into()));
        lines.extend(self.requested.map(|requested| format!("requested: {requested}").into()));
        lines.extend(self.commit.map(|commit| format!("commit: {commit}").into()));
        let user = if self.scope == "user" { " --user" } else { "" };
        if !self.origin.fetched {
            let not = Text::from("not fetched: you have not fetched it from there; do it");
            lines.push(not.with(format!("prowess sync --fetch-only{user}")));
        }
        let sync = format!("prowess sync{user}");
        if self.other_version {
            let what = "another version: its files are those that you installed before, not those of skills.lock; \
                        restore them";
            lines.push(Text::from(what).with(sync));
        } else if self.edited == Some(false) && !self.accepted_in.is_empty() {
            let mut folders = self.accepted_in.clone();
            let more = folders.split_off(folders.len().min(MAX_ELSEWHERE)).len();
            let more = if more == 0 { String::new() } else { format!(" and {}", count(more, "more folder")) };
            let folders = folders.join(", ") + &more;
            let what = format!(
                "accepted elsewhere: you accepted these files in {folders}; trust does not move with a project; accept \
                 them here"
            );
            lines.push(Text::from(what).with(sync));
        } else if are_line_ends(&self.changes) {
            lines.push(Text::from("other line ends, perhaps written by git; restore them").with(sync));
        } else if self.edited == Some(true) {
            let edited = Text::from("edited: its files are not those of skills.lock; see which");
            lines.push(edited.with(format!("prowess verify{user}")));
            let shown = self.changes.iter().take(MAX_CHANGES);
            lines.extend(shown.map(|(path, change)| format!("{}: {path}", verify::word(*change)).into()));
        }
        lines
    }
}
