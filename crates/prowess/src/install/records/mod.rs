//! The records of installed skills: `skills.toml` and `skills.lock` of a project or a user, and what the user fetched.

mod fetch_log;
mod install_target;
mod requested;
mod skills_lock;
mod skills_toml;
mod upstream;
mod wanted;

pub(crate) use fetch_log::FetchLog;
pub use install_target::{InstallScope, SKILLS_FOLDER};
pub(crate) use install_target::{InstallTarget, Records};
pub use requested::Requested;
pub use skills_lock::{LOCK_FILE, LockedSkill, SkillsLock};
pub(crate) use skills_lock::{check_folder_name, folder_key, with_line_ends_of};
pub use skills_toml::{LinkMode, SKILLS_FILE, SkillsToml, WantedSkill};
pub use upstream::Upstream;
pub(crate) use wanted::{fits, is_meant, not_locked, org_of, record, relative, spec_of};
