//! How far the folders of clients are walked, so that each client finds what it would, and the limits of that.

use std::path::Path;

use prowess_core::client::{Fact, Facts, Reads};
use prowess_core::path::MAX_DEPTH;
use prowess_core::with_methods;

use super::super::own_once;
use crate::env::Environment;
use crate::fs::walk::{FileName, ScanOptions};
use crate::library::clients::{Client, Root};
use crate::source::Policies;

/// How far the folders of clients are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// As far as any of the clients does.
    Clients,
    /// Everywhere, so that it can be explained why a client does not list a skill.
    Everywhere,
}

/// The limits of a walk through one folder of a client. They are limits of Prowess: clients have none that is known, so
/// they are larger than any usual home needs. Reaching one is always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientLimits {
    /// The number of folders.
    pub folders: usize,
    /// The number of entries of folders.
    pub entries: usize,
    /// The number of folders that are only reachable through links.
    pub linked_folders: usize,
    /// The number of entries inside skills, such as the packages that a skill brings along.
    pub entries_in_skills: usize,
}

with_methods! { ClientLimits:
    with_folders folders: usize;
    with_entries entries: usize;
    with_linked_folders linked_folders: usize;
    with_entries_in_skills entries_in_skills: usize;
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { folders: 100_000, entries: 1_000_000, linked_folders: 20_000, entries_in_skills: 1_000_000 }
    }
}

/// How the folders of clients are walked.
#[derive(Clone, Copy, Debug)]
pub(in crate::library) struct Looking {
    pub(in crate::library) reach: Reach,
    pub(in crate::library) limits: ClientLimits,
}

/// A folder of some clients, and how it is walked so that each of them finds what it would.
pub(in crate::library) struct SightedRoot {
    pub(in crate::library) root: Root,
    pub(in crate::library) scan: ScanOptions,
    pub(in crate::library) policies: Policies,
}

impl SightedRoot {
    pub(super) fn new(root: Root, rows: &[Reads], looking: Looking) -> Self {
        Self { root, scan: scan(rows, looking), policies: policies(rows) }
    }

    /// The folders of one client, in its order.
    pub(in crate::library) fn of(
        client: &Client,
        from: &Path,
        environment: &Environment,
        looking: Looking,
    ) -> Vec<Self> {
        let reads = client.reads();
        let roots = own_once(client.roots(from, environment));
        roots.into_iter().map(|root| Self::new(root, &[reads], looking)).collect()
    }
}

/// The facts of a file that is not named SKILL.md.
const OTHER_NAME: Facts = Facts::of(&[Fact::OtherFileName, Fact::OtherSpelling]);

/// The options of a walk that finds everything that clients with these rows find.
fn scan(rows: &[Reads], Looking { reach, limits }: Looking) -> ScanOptions {
    let everywhere = reach == Reach::Everywhere;
    let accepted = |fact: Fact| everywhere || rows.iter().any(|row| row.depth > 1 && !row.refuses.has(fact));
    let hidden = everywhere || rows.iter().any(|row| !row.refuses.has(Fact::HiddenFolder));
    let any_case = everywhere || rows.iter().any(|row| row.refuses.common(OTHER_NAME).is_empty());
    let depth = rows.iter().map(|row| usize::from(row.depth)).max().unwrap_or(0);
    ScanOptions {
        max_depth: if everywhere { MAX_DEPTH } else { depth.min(MAX_DEPTH) },
        // A depth limit of the client is not a problem.
        report_deeper: false,
        max_folders: limits.folders,
        max_entries: limits.entries,
        max_outside: limits.linked_folders,
        max_inside: limits.entries_in_skills,
        skip_hidden: !(hidden || accepted(Fact::BelowHidden)),
        skip_modules: !accepted(Fact::InModules),
        repeat_linked: true,
        exact_insides: true,
        file_name: if any_case { FileName::AnyCase("SKILL.md".to_owned()) } else { FileName::Either },
        ..ScanOptions::default()
    }
}

/// Whether one of the clients reads the files beside a SKILL.md that restrict how it may use the skill.
fn policies(rows: &[Reads]) -> Policies {
    let read = rows.iter().any(|row| row.facts().has(Fact::NotImplicit));
    if read { Policies::Read } else { Policies::Leave }
}
