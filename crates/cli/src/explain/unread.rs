//! What could not be read: in words, as JSON, and in the exit code.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess::client::Fact;
use prowess::env::{self, Environment};
use prowess::library::clients::{self, Client};
use prowess::library::views::Views;
use prowess::{Registry, SourceError, SourceErrorKind};
use serde::Serialize;

use crate::Outcome;
use crate::args::Places;
use crate::commands::confined::approvals;
use crate::error::Failure;
use crate::explain::left_out;
use crate::ui::Ui;

/// A registry, and the clients that read its folders.
#[derive(Clone, Copy)]
pub(crate) struct Scanned<'r> {
    registry: &'r Registry,
    views: Option<&'r Views>,
}

impl<'r> From<&'r Registry> for Scanned<'r> {
    fn from(registry: &'r Registry) -> Self {
        Self { registry, views: None }
    }
}

impl<'r> From<&'r Views> for Scanned<'r> {
    fn from(views: &'r Views) -> Self {
        Self { registry: views.registry(), views: Some(views) }
    }
}

impl Scanned<'_> {
    /// The clients that are asked about and look where a problem is.
    fn clients(self, problem: &SourceError) -> Vec<&'static Client> {
        match (self.views, problem.at.path()) {
            (Some(views), Some(path)) => views.readers_of(Path::new(path)),
            _ => self.registry.client().into_iter().collect(),
        }
    }

    /// What could not be read and matters. A link that no client follows does not.
    fn problems(self) -> Vec<Arc<SourceError>> {
        let mut problems = self.registry.problems();
        let is_root = |problem: &SourceError| self.registry.labels().any(|label| problem.at == *label);
        let is_followed = |problem: &SourceError| {
            let clients = self.clients(problem);
            clients.is_empty() || clients.iter().any(|client| follows(client))
        };
        problems.retain(|problem| {
            let link = matches!(problem.kind, SourceErrorKind::OutsideProject) && !is_root(problem);
            !link || is_followed(problem)
        });
        problems
    }
}

/// Whether a client follows links to folders.
fn follows(client: &Client) -> bool {
    !client.reads().refuses.has(Fact::LinkedFolder)
}

/// Reports what could not be read, and what is not known about the client whose view a registry has.
pub(crate) fn say_problems<'r>(read: impl Into<Scanned<'r>>, ui: &mut Ui) {
    say(read.into(), is_of_another_user, ui);
}

/// Reports what could not be read, for a command that can answer without it: what is a matter of a project that is not
/// trusted is a warning.
pub(crate) fn say_beside(registry: &Registry, places: &Places, ui: &mut Ui) {
    let project = UntrustedProject::of(places);
    say(registry.into(), |problem| project.has(problem), ui);
}

fn say(read: Scanned<'_>, is_minor: impl Fn(&SourceError) -> bool, ui: &mut Ui) {
    for problem in read.problems() {
        let failure = failure(&problem, read);
        if is_minor(&problem) { ui.warning(&failure) } else { ui.failure(&failure) }
    }
    if let Some(client) = read.registry.client() {
        say_unverified([client], ui);
    }
    left_out::say_without_effect(&read.registry.catalog(), ui);
}

/// What could not be read, in words.
pub(crate) fn failures<'r>(read: impl Into<Scanned<'r>>) -> Vec<Failure> {
    let read = read.into();
    read.problems().iter().map(|problem| failure(problem, read)).collect()
}

/// Says of which clients only the folders are known.
pub(crate) fn say_unverified(clients: impl IntoIterator<Item = &'static Client>, ui: &mut Ui) {
    let unverified = clients.into_iter().filter(|client| client.reads().checked.is_none());
    let names: Vec<&str> = unverified.map(|client| client.name).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        ui.note(&format!("{names}: folders only, not verified; taken to read as Prowess does"));
    }
}

/// A problem in words. What a client does and what Prowess withholds are told apart.
pub(crate) fn failure<'r>(problem: &SourceError, read: impl Into<Scanned<'r>>) -> Failure {
    let failure = Failure::from(problem);
    let names = |is_meant: &dyn Fn(&Client) -> bool| -> Vec<&'static str> {
        let clients = read.into().clients(problem);
        clients.iter().filter(|client| is_meant(client)).map(|client| client.name).collect()
    };
    match &problem.kind {
        SourceErrorKind::OutsideProject => match names(&follows).as_slice() {
            [] => failure,
            [name] => failure.with_cause(format!("{name} follows links; {NOT_FOLLOWED}")),
            names => failure.with_cause(format!("{} follow links; {NOT_FOLLOWED}", names.join(", "))),
        },
        SourceErrorKind::TooMany { .. } => match names(&|_| true).as_slice() {
            [] => failure,
            names => failure.with_cause(format!(
                "this is a limit of Prowess, so {} may list skills that are not listed here",
                names.join(", ")
            )),
        },
        _ => failure,
    }
}

const NOT_FOLLOWED: &str = "Prowess does not, out of a project that is not trusted";

/// The outcome of a command that opened the library: what could not be read may be what the user asked for.
pub(crate) fn ended<'r>(outcome: Outcome, read: impl Into<Scanned<'r>>) -> Outcome {
    if read.into().problems().iter().all(|problem| is_of_another_user(problem)) {
        outcome
    } else {
        Outcome::Incomplete
    }
}

/// Whether a problem is a configuration that another user wrote above the folders of this one, in `/tmp` perhaps. It does
/// not count, and must not decide how a command ends.
fn is_of_another_user(problem: &SourceError) -> bool {
    matches!(problem.kind, SourceErrorKind::OtherOwner)
}

/// The folders of a project that is not trusted. What it names or has in them could not take the place of another skill,
/// so it must not make a command fail that answers without it.
struct UntrustedProject(Option<PathBuf>);

impl UntrustedProject {
    /// The project around the current folder, unless its folders were named or the user's home is in it.
    fn of(places: &Places) -> Self {
        let project = clients::project(&env::absolute(Path::new("."))).to_owned();
        let is_own = || {
            !places.sources.is_empty()
                || approvals().folder_of(&project).is_some()
                || Environment::current().has_home_in(&project)
        };
        Self((!is_own()).then_some(project))
    }

    /// Whether a problem is a matter of the project.
    fn has(&self, problem: &SourceError) -> bool {
        let of_project = matches!(
            problem.kind,
            SourceErrorKind::OutsideProject
                | SourceErrorKind::SiteOfProject
                | SourceErrorKind::ServerOfProject
                | SourceErrorKind::ProjectTooLarge { .. }
        );
        let is_in =
            |project: &PathBuf| problem.at.path().is_some_and(|at| Path::new(at).starts_with(project));
        of_project || is_of_another_user(problem) || self.0.as_ref().is_some_and(is_in)
    }
}

/// The outcome of a command that answered what it was asked.
pub(crate) fn answered(registry: &Registry, places: &Places) -> Outcome {
    let project = UntrustedProject::of(places);
    let problems = Scanned::from(registry).problems();
    let matters = problems.iter().any(|problem| !project.has(problem));
    if matters { Outcome::Incomplete } else { Outcome::Fine }
}

/// A file or folder that could not be read.
#[derive(PartialEq, Eq, Serialize)]
pub(crate) struct Unread {
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    hint: String,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'static str>,
}

impl Unread {
    /// Everything that could not be read at the last refresh.
    pub(crate) fn all<'r>(read: impl Into<Scanned<'r>>) -> Vec<Self> {
        let read = read.into();
        let of = |problem: &Arc<SourceError>| Self {
            cause: failure(problem, read).causes.into_iter().next(),
            ..Self::of(problem)
        };
        read.problems().iter().map(of).collect()
    }

    /// One of them.
    pub(crate) fn of(error: &SourceError) -> Self {
        let failure = Failure::from(error);
        Self {
            error: error.to_string(),
            cause: error.source().map(ToString::to_string),
            hint: failure.hint().to_string(),
            code: failure.code,
            action: failure.action(),
        }
    }
}
