//! Edits of configuration files: a key of `prowess.toml`, and one entry in the configuration of another program.

pub(crate) mod entry;
mod file;
mod json;
mod json_edit;
#[cfg(feature = "install")]
mod key;
pub(crate) mod lines;
mod toml;
mod yaml;

pub use self::entry::{ConfigChange, ConfigEditError, ConfigFormat, EntryPath};
pub use self::file::EditedFileError;
pub(crate) use self::file::{EditedFile, TRIES, changed_meanwhile, is_missing};
#[cfg(feature = "install")]
pub use self::key::{ConfigEditor, ConfigSet, ConfigSetError};
pub use self::toml::written as toml_value;
#[cfg(feature = "install")]
pub(crate) use self::toml::{header as toml_header, written_key};
pub(crate) use self::toml::{number, of_value as of_toml};
