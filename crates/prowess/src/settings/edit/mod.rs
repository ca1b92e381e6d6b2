//! Edits of configuration files: a key of `prowess.toml`, and one entry in the configuration of another program.

pub(crate) mod entry;
mod file;
mod json;
mod json_edit;
mod key;
mod lines;
mod toml;
mod yaml;

pub use self::entry::{ConfigChange, ConfigEditError, ConfigFormat, EntryPath};
pub use self::file::EditedFileError;
pub(crate) use self::file::{EditedFile, TRIES, changed_meanwhile, is_missing};
pub use self::key::{ConfigEditor, ConfigSet, ConfigSetError};
#[cfg(feature = "install")]
pub(crate) use self::toml::{edit as edit_toml, without_key};
