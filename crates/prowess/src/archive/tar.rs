//! Reads tar files in gzip, strictly: one gzip stream, headers that agree with each other, and nothing after the end.

use std::io::Read;

use flate2::bufread::GzDecoder;

use super::{ArchiveError, PackedFile, Unpacking};
use crate::error::escape_control;

const BLOCK: usize = 512;

/// The maximum length of a name or a list of attributes before an entry.
const MAX_EXTENSION: u64 = 64 * 1024;

pub(super) fn unpack(bytes: &[u8], into: &mut Unpacking) -> Result<(), ArchiveError> {
    let mut reader = GzDecoder::new(bytes);
    let mut pending = Pending::default();
    loop {
        let block = block(&mut reader)?;
        if block.iter().all(|byte| *byte == 0) {
            end(&mut reader, into)?;
            break;
        }
        let header = Header::read(&block)?;
        into.count()?;
        into.spend(BLOCK as u64)?;
        match header.kind {
            b'x' => pending.attributes(&extension(&mut reader, &header, into)?)?,
            b'g' => global(&extension(&mut reader, &header, into)?)?,
            b'L' => pending.long_name(&extension(&mut reader, &header, into)?)?,
            _ => entry(&mut reader, &header, std::mem::take(&mut pending), into)?,
        }
    }
    if pending != Pending::default() {
        return Err(ArchiveError::malformed("attributes of the tar file belong to no entry"));
    }
    if !reader.into_inner().is_empty() {
        return Err(ArchiveError::malformed("something follows the end of the gzip stream"));
    }
    Ok(())
}

fn failed(error: &std::io::Error) -> ArchiveError {
    ArchiveError::malformed(format!("the gzip stream is damaged: {error}"))
}

fn block(reader: &mut impl Read) -> Result<[u8; BLOCK], ArchiveError> {
    let mut block = [0; BLOCK];
    reader.read_exact(&mut block).map_err(|error| failed(&error))?;
    Ok(block)
}

/// After the first empty block there must be at least one more, and nothing but zeros.
fn end(reader: &mut impl Read, into: &mut Unpacking) -> Result<(), ArchiveError> {
    let mut buffer = [0; 8192];
    let mut seen = 0;
    loop {
        let got = reader.read(&mut buffer).map_err(|error| failed(&error))?;
        if got == 0 {
            break;
        }
        seen += got;
        into.spend(got as u64)?;
        if buffer.get(..got).is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0)) {
            return Err(ArchiveError::malformed("something follows the end of the tar file"));
        }
    }
    if seen < BLOCK {
        return Err(ArchiveError::malformed("the tar file is cut off"));
    }
    Ok(())
}

/// A header.
struct Header {
    name: Vec<u8>,
    size: u64,
    kind: u8,
    executable: bool,
}

impl Header {
    fn read(block: &[u8; BLOCK]) -> Result<Self, ArchiveError> {
        let field = |from: usize, length: usize| block.get(from..from + length).unwrap_or(&[]);
        let sum = octal(field(148, 8))?;
        let bytes = block.iter().enumerate();
        let counted: u64 =
            bytes.map(|(at, byte)| u64::from(if (148..156).contains(&at) { b' ' } else { *byte })).sum();
        if sum != counted {
            return Err(ArchiveError::malformed("a header of the tar file is damaged"));
        }
        let mut name = text(field(0, 100)).to_vec();
        let prefix = text(field(345, 155));
        // Only this format has a prefix. Others store times there.
        if field(257, 6) == b"ustar\0" && !prefix.is_empty() {
            name = [prefix, b"/", &name].concat();
        }
        let kind = block.get(156).copied().unwrap_or(0);
        let mode = octal(field(100, 8))?;
        Ok(Self { name, size: octal(field(124, 12))?, kind, executable: mode & 0o100 != 0 })
    }
}

/// The bytes before the first zero.
fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or(&[])
}

fn octal(field: &[u8]) -> Result<u64, ArchiveError> {
    let bad = || ArchiveError::malformed("a number in the tar file is not understood");
    let digits = text(field).trim_ascii();
    let digits = std::str::from_utf8(digits).map_err(|_| bad())?;
    if digits.is_empty() {
        return Ok(0);
    }
    if !digits.bytes().all(|byte| (b'0'..=b'7').contains(&byte)) {
        return Err(bad());
    }
    u64::from_str_radix(digits, 8).map_err(|_| bad())
}

/// Headers that precede an entry and describe it.
#[derive(Default, PartialEq, Eq)]
struct Pending {
    name: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Pending {
    fn set_name(&mut self, name: &[u8]) -> Result<(), ArchiveError> {
        if name.is_empty() || name.contains(&0) {
            return Err(ArchiveError::malformed("a long name in the tar file is not understood"));
        }
        if self.name.replace(name.to_vec()).is_some() {
            return Err(ArchiveError::malformed("an entry of the tar file has two names"));
        }
        Ok(())
    }

    fn long_name(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        self.set_name(bytes.strip_suffix(b"\0").unwrap_or(bytes))
    }

    fn attributes(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        for (key, value) in records(bytes)? {
            match key {
                b"path" => self.set_name(value)?,
                b"size" => {
                    let size = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
                    let size = size
                        .ok_or_else(|| ArchiveError::malformed("a size in the tar file is not a number"))?;
                    self.size = Some(size);
                }
                // Other readers make a different file of such an entry.
                key if key.starts_with(b"GNU.sparse") => {
                    return Err(ArchiveError::malformed("the tar file holds a file with holes"));
                }
                // Times, owners and others. Links are refused by their kind.
                _ => {}
            }
        }
        Ok(())
    }
}

/// Global attributes may contain anything that does not change which entries there are.
fn global(bytes: &[u8]) -> Result<(), ArchiveError> {
    for (key, _) in records(bytes)? {
        if matches!(key, b"path" | b"size" | b"linkpath") {
            return Err(ArchiveError::malformed("the tar file has one name or size for all its entries"));
        }
    }
    Ok(())
}

/// The key and the value of an attribute.
type Record<'a> = (&'a [u8], &'a [u8]);

/// The records of attributes, each `length key=value`.
fn records(mut bytes: &[u8]) -> Result<Vec<Record<'_>>, ArchiveError> {
    let bad = || ArchiveError::malformed("attributes of the tar file are not understood");
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let blank = bytes.iter().position(|byte| *byte == b' ').ok_or_else(bad)?;
        let digits =
            bytes.get(..blank).and_then(|digits| std::str::from_utf8(digits).ok()).ok_or_else(bad)?;
        let length: usize = digits.parse().map_err(|_| bad())?;
        let record =
            bytes.get(blank + 1..length).and_then(|record| record.strip_suffix(b"\n")).ok_or_else(bad)?;
        let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(bad)?;
        let (key, value) = record.split_at_checked(equals).ok_or_else(bad)?;
        records.push((key, value.get(1..).unwrap_or(&[])));
        bytes = bytes.get(length..).unwrap_or(&[]);
    }
    Ok(records)
}

/// The contents of an entry that describes another.
fn extension(reader: &mut impl Read, header: &Header, into: &mut Unpacking) -> Result<Vec<u8>, ArchiveError> {
    if header.size > MAX_EXTENSION {
        return Err(ArchiveError::TooMuch {
            what: "bytes of attributes in the tar file",
            limit: MAX_EXTENSION,
        });
    }
    into.spend(header.size)?;
    let mut bytes = Vec::new();
    reader.take(header.size).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    padding(reader, header.size)?;
    if bytes.len() as u64 == header.size {
        Ok(bytes)
    } else {
        Err(ArchiveError::malformed("the tar file is cut off"))
    }
}

fn padding(reader: &mut impl Read, size: u64) -> Result<(), ArchiveError> {
    let rest = usize::try_from(size % BLOCK as u64).unwrap_or(0);
    let mut block = [0; BLOCK];
    let padding = block.get_mut(..(BLOCK - rest) % BLOCK).unwrap_or(&mut []);
    reader.read_exact(padding).map_err(|error| failed(&error))
}

fn entry(
    reader: &mut impl Read,
    header: &Header,
    pending: Pending,
    into: &mut Unpacking,
) -> Result<(), ArchiveError> {
    let name = pending.name.as_deref().unwrap_or(&header.name);
    let shown = String::from_utf8_lossy(name).into_owned();
    if pending.size.is_some_and(|size| size != header.size) {
        let reason = format!("{}: the tar file has two sizes for it", escape_control(&shown));
        return Err(ArchiveError::malformed(reason));
    }
    // Packing a folder from inside puts `./` before each name. Two names that become the same are refused later.
    let name = name.strip_prefix(b"./").unwrap_or(name);
    match header.kind {
        b'0' | 0 if !name.ends_with(b"/") => {
            let path = into.path(name)?;
            // The reader stops at the size by itself: the rest belongs to the next entry.
            let bytes = into.read(&mut reader.take(header.size), header.size, &shown)?;
            padding(reader, header.size)?;
            into.add_file(path, PackedFile { bytes, executable: header.executable })
        }
        b'5' | b'0' | 0 if header.size == 0 => match name.strip_suffix(b"/").unwrap_or(name) {
            b"" | b"." => Ok(()),
            name => into.add_folder(name),
        },
        b'1' | b'2' => Err(ArchiveError::Link { entry: escape_control(&shown) }),
        _ => Err(ArchiveError::Special { entry: escape_control(&shown) }),
    }
}
