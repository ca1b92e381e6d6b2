//! The contents of files for a model: in groups, in pages, as text or base64.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, PAD};
use serde::{Deserialize, Serialize};

use crate::files::manifest::{FileEntry, FileKind, Manifest, is_generated};
use crate::path::RelPath;
use crate::span::boundary;

/// The number of bytes of a resource that are read by default.
pub const DEFAULT_LIMIT: usize = 64 * 1024;

/// The number of bytes that are read beyond a page, so that it can begin and end with whole characters.
pub const MARGIN: usize = 7;

/// What is returned for a file that is larger than the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TooLarge {
    /// An error.
    #[default]
    Refuse,
    /// Its size and no contents.
    List,
    /// Its first bytes, marked as cut, with the place where the rest begins.
    Truncate,
    /// A page of it, with the place where the next one begins.
    Page,
}

/// A file is larger than the limit, and [`TooLarge::Refuse`] was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file is too large: {size} bytes, at most {limit}")]
#[non_exhaustive]
pub struct OverLimit {
    /// Its size in bytes.
    pub size: u64,
    /// The limit.
    pub limit: u64,
}

/// A file of a skill, or a part of it, as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Resource {
    /// Its path in the skill.
    pub path: RelPath,
    /// The size of the whole file.
    pub size: u64,
    /// The first byte of the contents.
    pub offset: u64,
    /// The contents: text, or base64 of bytes that are not text; omitted when only the size was wanted.
    #[serde(flatten)]
    pub contents: Contents,
    /// Where the next page or the part that was cut begins, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The contents of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Contents {
    /// Text.
    Text(String),
    /// Base64 of bytes that are not text.
    Base64(String),
    /// None were read.
    Omitted,
}

impl Resource {
    /// A page of a file of this `size`. `bytes` are the bytes at `offset`: those of the page and [`MARGIN`] more.
    ///
    /// A page of text consists of whole characters, at least one. When `offset` is inside a character, the page begins
    /// with the next one, and [`Resource::offset`] is its place.
    pub fn of(
        path: &RelPath,
        mut bytes: Vec<u8>,
        size: u64,
        offset: u64,
        limit: usize,
        too_large: TooLarge,
    ) -> Result<Self, OverLimit> {
        let larger = size.saturating_sub(offset) > limit as u64;
        if larger && too_large == TooLarge::Refuse {
            return Err(OverLimit { size, limit: limit as u64 });
        }
        if larger && too_large == TooLarge::List {
            return Ok(Self { path: path.clone(), size, offset, contents: Contents::Omitted, next: None });
        }
        let ends = offset.saturating_add(bytes.len() as u64) >= size;
        let (start, contents, length) = match text_page(&bytes, limit, offset > 0, ends) {
            Some((skipped, text)) => (skipped, Contents::Text(text.to_owned()), text.len()),
            None => {
                bytes.truncate(limit);
                (0, Contents::Base64(base64(&bytes)), bytes.len())
            }
        };
        let offset = offset.saturating_add(start as u64);
        let end = offset.saturating_add(length as u64);
        let more = matches!(too_large, TooLarge::Page | TooLarge::Truncate) && end < size && length > 0;
        let next = more.then_some(end);
        Ok(Self { path: path.clone(), size, offset, contents, next })
    }
}

/// The whole characters of a page, and the number of bytes before the first of them; none when it is not text.
/// `inside` says that other bytes precede, `ends` that none follow.
fn text_page(bytes: &[u8], limit: usize, inside: bool, ends: bool) -> Option<(usize, &str)> {
    let continues = |byte: &&u8| **byte & 0xC0 == 0x80;
    let skipped = if inside { bytes.iter().take(3).take_while(continues).count() } else { 0 };
    let rest = bytes.get(skipped..)?;
    let whole = match std::str::from_utf8(rest) {
        Ok(text) => text,
        // The last character may continue after the bytes that were read, and the bytes after the page may be anything.
        Err(error) if error.error_len().is_none() && !ends || error.valid_up_to() >= limit => {
            std::str::from_utf8(rest.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let first = whole.chars().next().map_or(0, char::len_utf8);
    let page = whole.get(..boundary(whole, limit).max(first))?;
    // Bytes without a single whole character are not text.
    (!page.contains('\0') && (!page.is_empty() || bytes.is_empty())).then_some((skipped, page))
}

/// The files of a skill in groups, each sorted, without SKILL.md.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
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
        let generated = |file: &&FileEntry| file.path.components().any(is_generated);
        let own = files.others().filter(|file| !generated(file));
        for FileEntry { path, kind, .. } in own.chain(files.others().filter(generated)) {
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

    /// The groups in their order, each with its name.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &[RelPath])> {
        let groups = [
            ("scripts", &self.scripts),
            ("references", &self.references),
            ("assets", &self.assets),
            ("other", &self.other),
        ];
        groups.into_iter().map(|(name, paths)| (name, paths.as_slice()))
    }

    /// Keeps `limit` files after the first `offset`, counted over all groups in their order.
    pub fn page(&mut self, offset: usize, limit: usize) {
        let (mut before, mut left) = (offset, limit);
        for group in [&mut self.scripts, &mut self.references, &mut self.assets, &mut self.other] {
            let passed = before.min(group.len());
            before -= passed;
            group.drain(..passed);
            group.truncate(left);
            left -= group.len();
        }
    }
}

/// Standard base64 with padding. Bits after the last byte are ignored, as other decoders do.
const BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, PAD.with_decode_allow_trailing_bits(true));

/// Base64 with padding, as JSON protocols want it.
pub fn base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// The bytes of base64 with padding; none when the text is anything else.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_goes_both_ways() {
        for bytes in [&b""[..], b"f", b"fo", b"foo", b"foob", b"\xff\xff\xfe", &[0; 100]] {
            assert_eq!(from_base64(&base64(bytes)).as_deref(), Some(bytes));
        }
        for text in ["Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9 ", "Zm9v\n", "Zm9-", "é==="] {
            assert_eq!(from_base64(text), None, "{text}");
        }
        assert_eq!(from_base64("Zh==").as_deref(), Some(&b"f"[..]));
    }

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
        let from = |text: &str, offset: usize, limit| {
            let bytes = text.as_bytes()[offset..].to_vec();
            let page = Resource::of(&path, bytes, text.len() as u64, offset as u64, limit, TooLarge::Page);
            page.map(|page| (page.offset, page.contents, page.next)).unwrap()
        };
        // From inside a character, and with less room than one needs.
        assert_eq!(from("€€a", 1, 3), (3, Contents::Text("€".into()), Some(6)));
        assert_eq!(from("€€a", 0, 1), (0, Contents::Text("€".into()), Some(3)));
        assert_eq!(from("€€a", 4, 9), (6, Contents::Text("a".into()), None));
        assert_eq!(from("€", 2, 9), (2, Contents::Base64("rA==".into()), None));
        assert_eq!((page(2).contents, page(2).next), (Contents::Text("a".into()), Some(1)));
        assert_eq!((page(3).contents, page(3).next), (Contents::Text("aé".into()), None));
        let refused = Resource::of(&path, "aé".into(), 3, 0, 2, TooLarge::Refuse);
        assert_eq!(refused, Err(OverLimit { size: 3, limit: 2 }));
    }
}
