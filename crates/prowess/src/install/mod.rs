//! Installing skills: from a folder or a git repository into the folders that agents read, with records, so that the
//! same bytes can be installed again and every change is noticed.
//!
//! An installation has two parts. The first fetches and checks everything, and changes nothing. The second takes a
//! lock, stages the files, writes a journal, swaps folders and records the changes. If it is killed at any time, each
//! skill is old or new, and the next command completes the installation.

mod apply;
mod error;
mod installer;
mod plan;
pub(crate) mod preview;
mod records;
mod source;
mod spec;
mod store;
mod verify;

pub use apply::settle::{Leftover, LeftoverKind};
pub use error::{InstallError, InstallErrorKind, InstallLimit, Relock};
pub use installer::{InstallFolders, InstallOptions, Installer, Progress};
pub use plan::Loss;
pub use plan::change::{Action, Change, Changes, ClientAction, ClientChange, Edits, LeftAlone};
pub use plan::prepare::Prepared;
pub use plan::sources::{PrivateSource, SyncSource};
pub use plan::sync::{SyncOptions, SyncPlan};
pub use preview::{HiddenComment, HiddenText, NestedSkill, Preview, RunText};
pub use records::{
    InstallScope, LOCK_FILE, LinkMode, LockedSkill, Requested, SKILLS_FILE, SKILLS_FOLDER, SkillsLock,
    SkillsToml, Upstream, WantedSkill,
};
pub use source::git::{FetchedRef, Git, GitEntry, GitObject, GitVersion};
pub use source::tree::{InstallLimits, SkillTree};
pub use source::{Available, AvailableSkill, InstallSource, SkippedSkill};
pub use spec::{InstallPlace, InstallSpec, SkillRef, is_local_path};
pub use verify::compare::FileChange;
pub use verify::{
    ClientDifference, ClientState, InstalledOrigin, InstalledSkill, InstalledState, Origins, upstream_name,
};
pub(crate) use verify::{InstalledNames, named, users_own};
