//! Standard input, within a limit.

#[cfg(unix)]
use std::fs::File;
use std::io::{self, BufRead as _, Read as _};

use crate::error::CommandError;

/// Reads standard input, at most one byte more than `limit`.
pub(crate) fn read_input(limit: usize) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(limit as u64 + 1).read_to_end(&mut bytes);
    match read {
        Ok(0) if is_nothing() => Err(CommandError::no_input()),
        Ok(_) => Ok(bytes),
        Err(error) => Err(CommandError::reading_input(&error)),
    }
}

/// Whether standard input is the null device, which also takes the place of a closed one. An empty file or pipe is text.
#[cfg(unix)]
fn is_nothing() -> bool {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::MetadataExt as _;
    let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from).and_then(|file| file.metadata());
    let null = std::fs::metadata("/dev/null");
    matches!((stdin, null), (Ok(stdin), Ok(null)) if stdin.rdev() != 0 && stdin.rdev() == null.rdev())
}

#[cfg(not(unix))]
fn is_nothing() -> bool {
    false
}

/// One line of standard input, without its end; `None` at the end of the input. Of a line longer than `limit`, only one
/// byte more than the limit is kept, so that the caller sees that it was cut.
pub(crate) fn read_line(limit: usize) -> Result<Option<Vec<u8>>, CommandError> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    let mut seen = false;
    loop {
        let buffer = input.fill_buf().map_err(|error| CommandError::reading_input(&error))?;
        if buffer.is_empty() {
            return Ok(seen.then_some(line));
        }
        seen = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or(buffer);
        let room = (limit + 1).saturating_sub(line.len()).min(part.len());
        line.extend_from_slice(part.get(..room).unwrap_or(part));
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}
