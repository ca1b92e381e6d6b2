//! Items that the crates of this project share. They are not part of the public API: any of them may change in any
//! release.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use prowess_core::internal::*;
pub use prowess_core::with_methods;

pub use crate::error::{escape_control, plain_cause, shown_address};
pub use crate::fs::atomic::{WriteError, abandoned, make_folder, replace_where, sweep};
#[cfg(feature = "install")]
pub use crate::fs::exact::ExactDifference;
pub use crate::fs::inside::{LeadsOut, is_inside, leads_out};
pub use crate::fs::location::file_of;
pub use crate::fs::mounts::first_mount;
pub use crate::fs::own::{Denied, StateNote, close_roots, closed, denied, state_notes};
pub use crate::fs::parsed::ParsedLimits;
pub use crate::fs::removal::remove_tree;
pub use crate::fs::sandbox::is_forbidden;
#[cfg(feature = "install")]
pub use crate::install::preview::{preview_of_found, preview_of_text};
pub use crate::library::below::Below;
pub use crate::library::builtin::builtin_names;
pub use crate::library::caches::{StaleCache, Staleness, stale_caches};
pub use crate::library::clients::meant::client_meant;
#[cfg(feature = "edit")]
pub use crate::library::connections::{
    Connection, ConnectionError, PlannedConnection, serves_all, unread_connections,
};
pub use crate::library::scaffold::{ScaffoldPart, scaffold};
#[cfg(feature = "http")]
pub use crate::net::address::{is_exposed, is_fetchable};
#[cfg(feature = "http")]
pub use crate::net::client::{HttpAnswer, body_failed};
#[cfg(feature = "http")]
pub use crate::net::public::PublicHosts;
pub use crate::process::ProcessError;
pub use crate::process::child_process::ChildProcess;
#[cfg(feature = "edit")]
pub use crate::settings::edit::{ConfigChange, ConfigEditError, ConfigFormat, EditedFileError, EntryPath};
#[cfg(feature = "edit")]
pub use crate::settings::edit::{ConfigEditor, ConfigSet, ConfigSetError};
pub use crate::settings::key_path::{KeyPath, UnknownKey, config_keys};
pub use crate::settings::keys::{
    CONFIG_TABLES, ConfigDefault, ConfigKey, ConfigKind, ConfigTable, InProject,
};
pub use crate::settings::resolve::{
    ConfigFile, ConfigOrigin, ConfigSetting, EffectiveSettings, OptionValue, WhyUnused, config_of_user,
    value_in_toml,
};
pub use crate::settings::values::written as toml_value;

/// Whether no source of a registry could be listed at its last refresh.
pub fn none_listed(registry: &crate::Registry) -> bool {
    registry.lists_nothing()
}

/// Whether the source of a skill could not be listed at all at the last refresh of a registry, by its label: after a
/// reload, another registry has the source.
pub fn is_unlisted(registry: &crate::Registry, skill: &crate::Candidate) -> bool {
    registry.is_unlisted(skill)
}

/// Locks a mutex. A panic elsewhere cannot have left the value half changed, because every change is one step.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for reading. See [`locked`].
pub(crate) fn read_locked<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for writing. See [`locked`].
pub(crate) fn write_locked<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
