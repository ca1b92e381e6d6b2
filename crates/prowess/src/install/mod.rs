//! Installing skills: from a folder or a git repository to the folders that agents read, recorded so that the same bytes
//! can be installed again and every change is noticed.
//!
//! An installation has two parts. The first fetches and checks everything, and changes nothing. The second takes a lock,
//! stages the files, writes a journal, swaps folders and records what was done; killed at any instant, it leaves the old
//! state or the new one for each skill, and the next command completes it.

mod error;
mod fetch;
mod reference;
mod skills_lock;
mod skills_toml;
mod spec;
mod store;
mod target;
mod tree;

pub use error::{InstallError, InstallErrorKind};
pub use reference::{SkillRef, is_local_path};
pub use skills_lock::{LOCK_FILE, LockedSkill, SkillsLock};
pub use skills_toml::{LinkMode, SKILLS_FILE, SkillsToml, WantedSkill};
pub use spec::{InstallPlace, InstallSpec};
pub use tree::{FileChange, InstallLimits, SkillTree};
