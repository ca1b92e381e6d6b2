//! Parses the output of git: lists of files, and objects with a header line each.

use super::{GitEntry, is_id};

/// Reads `mode type id\tpath`.
pub(super) fn tree_entry(line: &[u8]) -> Option<GitEntry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (front, path) = line.split_at_checked(tab)?;
    let mut words = std::str::from_utf8(front).ok()?.split(' ');
    let mode = u32::from_str_radix(words.next()?, 8).ok()?;
    let id = words.nth(1).filter(|id| is_id(id))?.to_owned();
    Some(GitEntry { mode, id, path: path.get(1..)?.to_vec() })
}

/// The header of an object.
pub(super) enum Header {
    Missing,
    Object { id: String, kind: String, size: u64 },
}

/// Reads `id type size` or `name missing`; none when it is neither.
pub(super) fn next_header(rest: &mut &[u8]) -> Option<Header> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, behind) = rest.split_at_checked(end)?;
    *rest = behind.get(1..)?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (id, kind, size) = (words.next()?, words.next()?, words.next());
    match (kind, size) {
        ("missing" | "ambiguous", None) => Some(Header::Missing),
        (kind, Some(size)) if is_id(id) => {
            let (id, kind) = (id.to_owned(), kind.to_owned());
            Some(Header::Object { id, kind, size: size.parse().ok()? })
        }
        _ => None,
    }
}

/// Reads the bytes of an object and the line end after them.
pub(super) fn next_bytes(rest: &mut &[u8], size: u64) -> Option<Vec<u8>> {
    let (bytes, behind) = rest.split_at_checked(usize::try_from(size).ok()?)?;
    *rest = behind.strip_prefix(b"\n")?;
    Some(bytes.to_vec())
}
