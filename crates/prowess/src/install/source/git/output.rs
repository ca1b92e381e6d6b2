//! Parses the output of git: lists of files, and objects with a header line each. An object is compared with its id: the
//! cache of fetched repositories is a folder like any other, and git does not compare what it reads from there.

use super::{GitEntry, is_id};
use crate::registry::digests;

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

/// Whether an object of a kind, such as `blob`, has this id: its SHA-1, or its SHA-256 if the id is long.
pub(super) fn is_id_of(id: &str, kind: &str, bytes: &[u8]) -> bool {
    let mut message = format!("{kind} {}\0", bytes.len()).into_bytes();
    message.extend_from_slice(bytes);
    if id.len() == 64 {
        return format!("{:x}", digests::of_bytes(&message)) == id;
    }
    let hash: String = sha1(message).iter().map(|word| format!("{word:08x}")).collect();
    hash == id
}

/// SHA-1 (RFC 3174), which protects nothing by itself: a skill is identified by SHA-256. Written here, since nothing else
/// needs it.
#[expect(clippy::indexing_slicing, reason = "both indexes are below 80")]
#[expect(clippy::many_single_char_names, reason = "the names of the standard")]
fn sha1(mut message: Vec<u8>) -> [u32; 5] {
    let bits = (message.len() as u64).wrapping_mul(8);
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend_from_slice(&bits.to_be_bytes());
    let mut state = [0x6745_2301_u32, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0];
    for block in message.chunks_exact(64) {
        let mut words = [0_u32; 80];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes(bytes.try_into().unwrap_or_default());
        }
        for at in 16..80 {
            words[at] = (words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (at, word) in words.iter().enumerate() {
            let (mixed, constant) = match at {
                0..20 => ((b & c) | (!b & d), 0x5A82_7999),
                20..40 => (b ^ c ^ d, 0x6ED9_EBA1),
                40..60 => ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC),
                _ => (b ^ c ^ d, 0xCA62_C1D6_u32),
            };
            let next = a.rotate_left(5).wrapping_add(mixed).wrapping_add(e);
            let next = next.wrapping_add(*word).wrapping_add(constant);
            (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
        }
        for (sum, add) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(add);
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        let empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        assert!(
            is_id_of(empty, "blob", b"") && !is_id_of(empty, "tree", b"") && !is_id_of(empty, "blob", b"x")
        );
        assert!(is_id_of("4b825dc642cb6eb9a060e54bf8d69288fbee4904", "tree", b""));
        assert!(is_id_of("ce013625030ba8dba906f756967f9e9ca394464a", "blob", b"hello\n"));
        // Around the end of a block.
        for (length, id) in [
            (54, "60704cd2c753c0419b5d235cbf244ec4c696cded"),
            (55, "d1985ddc2983785702b9a90effd5aff2f7cfdca4"),
            (56, "1f973e890f52da1f22fa7e5620a628bc4ee74cb3"),
            (64, "71b7a71962774fa5c721e1163f935cb61a0e09e6"),
            (1000, "a50be72b20f0e3f078d252e8e56b11b4bec67509"),
        ] {
            assert!(is_id_of(id, "blob", &vec![b'a'; length]), "{length}");
        }
        let long = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813";
        assert!(is_id_of(long, "blob", b""));
    }
}
