//! Installing skills: from a folder or a git repository into the folders that agents read, with records, so that the
//! same bytes can be installed again and every change is noticed.
//!
//! An installation has two parts. The first fetches and checks everything, and changes nothing. The second takes a
//! lock, stages the files, writes a journal, swaps folders and records the changes. If it is killed at any time, each
//! skill is old or new, and the next command completes the installation.

mod change;
mod compare;
mod error;
mod fetch;
mod installed;
mod installer;
mod plan;
mod prepare;
pub(crate) mod preview;
mod protected;
mod records;
mod settle;
mod sources;
mod spec;
mod store;
mod sync;
mod target;
mod tree;

pub use change::{Action, Change, Changes, ClientAction, ClientChange, Edits, LeftAlone};
pub use compare::FileChange;
pub use error::{InstallError, InstallErrorKind, InstallLimit, Relock};
pub use fetch::git::{FetchedRef, Git, GitEntry, GitObject, GitVersion};
pub use fetch::{Available, AvailableSkill, InstallSource, SkippedSkill};
pub(crate) use installed::{InstalledNames, named, users_own};
pub use installed::{ClientDifference, ClientState, InstalledOrigin, InstalledSkill, InstalledState, Origins, upstream_name};
pub use installer::{InstallFolders, InstallOptions, Installer, Progress};
pub use plan::Loss;
pub use prepare::Prepared;
pub use preview::{HiddenComment, HiddenText, NestedSkill, Preview, RunText};
pub use records::{
    InstallScope, LOCK_FILE, LinkMode, LockedSkill, Requested, SKILLS_FILE, SKILLS_FOLDER, SkillsLock,
    SkillsToml, Upstream, WantedSkill,
};
pub use sources::{PrivateSource, SyncSource};
pub use settle::{Leftover, LeftoverKind};
pub use spec::{InstallPlace, InstallSpec, SkillRef, is_local_path};
pub use sync::{SyncOptions, SyncPlan};
pub use tree::{InstallLimits, SkillTree};
