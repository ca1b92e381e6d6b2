//! [`Given`]: what a client gets of an installed skill.

use crate::fs::dir::Folder;
use crate::install::apply::{Order, Orders, state};
use crate::install::change::Action;
use crate::install::error::InstallError;
use crate::install::prepare::Prepared;
use crate::install::records::{InstallTarget, LockedSkill};
use crate::install::target::{State, read_tree};
use crate::install::tree::SkillTree;

/// What a client gets of an installed skill.
pub(super) enum Given {
    Link,
    Copy(SkillTree),
    /// Nothing: the skill is not installed, or it has edits and its files are not in the store.
    Nothing(Action),
}

/// The skills that clients can get: those that are being installed, and those that are installed.
pub(super) struct Installed<'i> {
    pub(super) orders: &'i [Order],
    pub(super) place: &'i InstallTarget,
    pub(super) dir: Option<Folder>,
    pub(super) how: &'i Orders<'i>,
}

impl Installed<'_> {
    /// A copy has the files of the lock, never those of an edited skill. A link needs a target.
    pub(super) fn give(&self, locked: &LockedSkill, copies: bool) -> Result<Given, InstallError> {
        // By its name too: another skill may have the same files.
        let is_it = |new: &Prepared| new.locked.name == locked.name && new.locked.digest == locked.digest;
        let ordered = self.orders.iter().find_map(|order| match order {
            Order::Install(new) if is_it(new) => Some(&new.tree),
            _ => None,
        });
        if let Some(tree) = ordered {
            return Ok(if copies { Given::Copy(tree.clone()) } else { Given::Link });
        }
        let there = self.dir.as_ref().map(|dir| state(dir, &locked.name)).transpose()?.flatten();
        if !copies && there.is_some() {
            return Ok(Given::Link);
        }
        let own = || read_tree(&self.place.skill(&locked.name)).ok();
        let tree = match &there {
            Some(State::Tree(digest)) if Some(*digest) == locked.digest => own(),
            Some(_) if copies => locked.digest.and_then(self.how.stored),
            _ => None,
        };
        Ok(match (tree, there) {
            (Some(tree), _) if Some(tree.digest()) == locked.digest => Given::Copy(tree),
            (_, None) => Given::Nothing(Action::NotInstalled),
            _ => Given::Nothing(Action::Kept),
        })
    }
}
