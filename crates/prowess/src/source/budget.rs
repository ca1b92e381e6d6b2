//! [`ProjectLimits`]: the limits of everything in an untrusted project together.
//!
//! Each folder, file and archive has limits of its own. A repository can have many of them, and its configuration can
//! name one place under many prefixes, so the sum has a limit too. Everything beyond it is not read, which is reported
//! once.

use std::sync::Mutex;

use prowess_core::{Location, with_methods};

use crate::error::{SourceError, SourceErrorKind};
use crate::internal::locked;

/// The limits of an untrusted project: of one list of all its sources together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectLimits {
    /// The number of skills.
    pub skills: usize,
    /// The number of entries of folders.
    pub entries: usize,
    /// The bytes that are kept of each skill: its frontmatter, or its line of a JSONL file.
    pub listed_bytes: u64,
    /// The other bytes that are read: the files of archives, and the skills that a strict host or a plugin judges.
    pub read_bytes: u64,
}

with_methods! { ProjectLimits:
    with_skills skills: usize;
    with_entries entries: usize;
    with_listed_bytes listed_bytes: u64;
    with_read_bytes read_bytes: u64;
}

impl Default for ProjectLimits {
    fn default() -> Self {
        Self { skills: 10_000, entries: 200_000, listed_bytes: 16 << 20, read_bytes: 32 << 20 }
    }
}

/// The remaining limits. The sources of a project share one budget, and it is reset for each list.
#[derive(Debug)]
pub(crate) struct ProjectBudget {
    limits: ProjectLimits,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    skills: usize,
    entries: usize,
    listed_bytes: u64,
    read_bytes: u64,
    /// The limit that was exceeded first, and where.
    over: Option<(&'static str, u64, Location)>,
}

/// Something that a budget is spent on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    /// A skill, and the bytes that are kept of it.
    Skill(usize),
    /// Entries of a folder.
    Entries(usize),
    /// The bytes of a file that lists skills.
    Listed(u64),
    /// Other bytes that are read.
    Read(u64),
}

impl ProjectBudget {
    /// A budget of which nothing is spent.
    pub(crate) fn new(limits: ProjectLimits) -> Self {
        Self { limits, spent: Mutex::default() }
    }

    /// Resets it for another list.
    pub(crate) fn reset(&self) {
        *locked(&self.spent) = Spent::default();
    }

    /// Spends a cost at a place; an error when it exceeds the budget, and from then on always.
    pub(crate) fn spend(&self, cost: Cost, at: impl FnOnce() -> Location) -> Result<(), SourceError> {
        let spent = &mut *locked(&self.spent);
        match cost {
            Cost::Skill(bytes) => {
                spent.skills = spent.skills.saturating_add(1);
                spent.listed_bytes = spent.listed_bytes.saturating_add(bytes as u64);
            }
            Cost::Entries(entries) => spent.entries = spent.entries.saturating_add(entries),
            Cost::Listed(bytes) => spent.listed_bytes = spent.listed_bytes.saturating_add(bytes),
            Cost::Read(bytes) => spent.read_bytes = spent.read_bytes.saturating_add(bytes),
        }
        if spent.over.is_none() {
            let ProjectLimits { skills, entries, listed_bytes, read_bytes } = self.limits;
            spent.over = [
                (spent.skills as u64, skills as u64, "skills"),
                (spent.entries as u64, entries as u64, "entries of folders"),
                (spent.listed_bytes, listed_bytes, "bytes that describe skills"),
                (spent.read_bytes, read_bytes, "bytes to unpack and judge"),
            ]
            .into_iter()
            .find(|(spent, limit, _)| spent > limit)
            .map(|(_, limit, what)| (what, limit, at()));
        }
        spent.problem().map_or(Ok(()), Err)
    }

    /// The error for the limit that was exceeded, if one was.
    pub(crate) fn problem(&self) -> Option<SourceError> {
        locked(&self.spent).problem()
    }
}

impl Spent {
    fn problem(&self) -> Option<SourceError> {
        let (what, limit, at) = self.over.clone()?;
        Some(SourceErrorKind::ProjectTooLarge { what, limit }.at_location(at))
    }
}

/// Spends a cost, if there is a budget.
pub(crate) fn spend(
    budget: Option<&ProjectBudget>,
    cost: Cost,
    at: impl FnOnce() -> Location,
) -> Result<(), SourceError> {
    budget.map_or(Ok(()), |budget| budget.spend(cost, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_is_used_up_stays_so_until_it_begins_anew() {
        let budget = ProjectBudget::new(ProjectLimits { skills: 2, ..ProjectLimits::default() });
        let spend = |at: &str| budget.spend(Cost::Skill(1), || at.into()).is_ok();
        assert!(spend("a") && spend("b") && !spend("c") && !spend("d"));
        assert!(budget.spend(Cost::Read(0), || "e".into()).is_err());
        let problem = budget.problem().unwrap();
        assert!(matches!(problem.kind, SourceErrorKind::ProjectTooLarge { what: "skills", limit: 2 }));
        assert_eq!(problem.at, "c");
        budget.reset();
        assert!(budget.problem().is_none() && spend("a"));
    }
}
