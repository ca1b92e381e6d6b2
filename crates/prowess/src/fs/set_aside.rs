//! [`set_aside_name`]: where a file of the state goes that cannot be used, so that it is never overwritten.

use std::path::{Path, PathBuf};

/// The name for a file that cannot be used: with a longer ending, and free unless very many are.
pub(crate) fn set_aside_name(file: &Path) -> PathBuf {
    let first = first_set_aside_name(file);
    let numbered = (2_u32..10_000).map(|number| {
        let mut name = first.clone().into_os_string();
        name.push(format!("-{number}"));
        PathBuf::from(name)
    });
    let mut names = std::iter::once(first.clone()).chain(numbered);
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or(first)
}

/// The name of the first file that is set aside.
pub(crate) fn first_set_aside_name(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-set-aside");
    name.into()
}
