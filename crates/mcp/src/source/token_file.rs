//! The token that is sent to a server, from a file.

use std::path::Path;

use prowess::{SourceError, SourceErrorKind};

/// The maximum size of a token file, in bytes.
const MAX_TOKEN: usize = 4096;

/// The token in a file.
pub(super) fn token(file: &Path) -> Result<String, SourceError> {
    let bytes = prowess::fs::read::read_small(file, MAX_TOKEN)?;
    let text = String::from_utf8_lossy(&bytes);
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let reason = "a token is visible characters without spaces".to_owned();
        return Err(SourceErrorKind::Damaged { reason }.at(file));
    }
    Ok(token.to_owned())
}
