//! Files of a skill for whoever asks: in groups, in part, as text or base64.

use serde::{Deserialize, Serialize};

use crate::manifest::{FileEntry, FileKind, Manifest};
use crate::path::RelPath;

/// How many bytes of a resource are read unless a host says otherwise.
pub const DEFAULT_LIMIT: usize = 64 * 1024;

/// What a file larger than the limit gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TooLarge {
    /// An error.
    #[default]
    Refuse,
    /// Its size and no contents.
    List,
    /// Its first bytes.
    Truncate,
    /// Its first bytes and where the next ones begin.
    Page,
}

/// A file is larger than the limit, and that was to be an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file is too large: {size} bytes, at most {limit}")]
pub struct OverLimit {
    /// Its size in bytes.
    pub size: u64,
    /// The limit.
    pub limit: u64,
}

/// A resource as read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resource {
    /// Its path in the skill.
    pub path: RelPath,
    /// The size of the whole file.
    pub size: u64,
    /// The first byte of the contents.
    pub offset: u64,
    /// The contents: text, or base64 of bytes that are none; nothing when only its size was wanted.
    #[serde(flatten)]
    pub contents: Contents,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The contents of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Contents {
    /// Text.
    Text(String),
    /// Base64 of bytes that are no text.
    Base64(String),
    /// None were read.
    Omitted,
}

impl Resource {
    /// What a host gets of a file of this `size`, from the bytes that were read of it at `offset`.
    pub fn of(
        path: &RelPath,
        mut bytes: Vec<u8>,
        size: u64,
        offset: u64,
        limit: usize,
        too_large: TooLarge,
    ) -> Result<Self, OverLimit> {
        let larger = size.saturating_sub(offset) > limit as u64;
        let resource = |contents, next| Self { path: path.clone(), size, offset, contents, next };
        if larger && too_large == TooLarge::Refuse {
            return Err(OverLimit { size, limit: limit as u64 });
        }
        if larger && too_large == TooLarge::List {
            return Ok(resource(Contents::Omitted, None));
        }
        bytes.truncate(limit);
        if larger {
            // A page of text ends between two characters.
            let cut = match std::str::from_utf8(&bytes) {
                Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
                _ => bytes.len(),
            };
            bytes.truncate(cut);
        }
        let end = offset + bytes.len() as u64;
        let next = (too_large == TooLarge::Page && end < size && !bytes.is_empty()).then_some(end);
        let contents = match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Contents::Text(text),
            Ok(text) => Contents::Base64(base64(text.as_bytes())),
            Err(error) => Contents::Base64(base64(error.as_bytes())),
        };
        Ok(resource(contents, next))
    }
}

/// The files of a skill in groups, each sorted; SKILL.md is in none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Groups {
    /// Below `scripts/`.
    pub scripts: Vec<RelPath>,
    /// Below `references/`.
    pub references: Vec<RelPath>,
    /// Below `assets/`.
    pub assets: Vec<RelPath>,
    /// Everything else.
    pub other: Vec<RelPath>,
}

impl Groups {
    /// Groups the files of a skill; `all` levels, or only those directly in a group's folder.
    pub fn of(files: &Manifest, all: bool) -> Self {
        let mut groups = Self::default();
        // Of the two names of a skill's own file the first that is there is that file.
        let own = ["SKILL.md", "skill.md"];
        let own = own.iter().find(|name| files.files.iter().any(|file| file.path.as_str() == **name));
        let others = files.files.iter().filter(|file| Some(&file.path.as_str()) != own);
        for FileEntry { path, kind, .. } in others {
            let depth = path.components().count();
            let level = if *kind == FileKind::Other { 1 } else { 2 };
            if !all && depth > level {
                continue;
            }
            let group = match kind {
                FileKind::Script => &mut groups.scripts,
                FileKind::Reference => &mut groups.references,
                FileKind::Asset => &mut groups.assets,
                FileKind::Other => &mut groups.other,
            };
            group.push(path.clone());
        }
        groups
    }
}

/// Base64 with padding, as JSON protocols want it.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word =
            group.iter().fold(0u32, |word, byte| (word << 8) | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let at = (word >> (18 - 6 * place)) & 63;
            let letter = LETTERS.get(at as usize).copied().unwrap_or(b'=');
            text.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        let texts: Vec<String> =
            [&b""[..], b"f", b"fo", b"foo", b"foob", b"\xff\xff\xfe"].iter().map(|b| base64(b)).collect();
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "///+"]);
    }

    #[test]
    fn a_page_of_text_ends_between_two_characters() {
        let path = RelPath::parse("a.md").unwrap();
        let page = |limit| Resource::of(&path, "aé".into(), 3, 0, limit, TooLarge::Page).unwrap();
        assert_eq!((page(2).contents, page(2).next), (Contents::Text("a".into()), Some(1)));
        assert_eq!((page(3).contents, page(3).next), (Contents::Text("aé".into()), None));
        let refused = Resource::of(&path, "aé".into(), 3, 0, 2, TooLarge::Refuse);
        assert_eq!(refused, Err(OverLimit { size: 3, limit: 2 }));
    }
}
