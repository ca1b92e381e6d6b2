//! Reads zip files, strictly: every byte belongs to exactly one entry or to the directory, and both agree.

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::{ArchiveError, PackedFile, Unpacking};
use crate::error::escape_control;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;

/// The length of the record at the end, without its comment.
const END_BYTES: usize = 22;

/// A flag: the sizes and the checksum follow the data.
const FLAG_DESCRIPTOR: u16 = 1 << 3;
/// A flag: the name is UTF-8. Without it, readers disagree about characters outside ASCII.
const FLAG_UTF8: u16 = 1 << 11;
/// The flags that are accepted: these two, and the level of compression.
const FLAGS_KNOWN: u16 = 0b110 | FLAG_DESCRIPTOR | FLAG_UTF8;

/// The extra field with a second name of an entry.
const EXTRA_UNICODE_PATH: u16 = 0x7075;

/// An entry as the directory describes it.
struct Entry<'a> {
    name: &'a [u8],
    flags: u16,
    method: u16,
    sum: u32,
    packed: u32,
    size: u32,
    mode: Option<u32>,
    offset: u32,
}

/// Reads little-endian numbers one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ArchiveError> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| ArchiveError::malformed("a zip record is cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, ArchiveError> {
        let bytes = self.take(2)?;
        Ok(bytes.try_into().map_or(0, u16::from_le_bytes))
    }

    fn u32(&mut self) -> Result<u32, ArchiveError> {
        let bytes = self.take(4)?;
        Ok(bytes.try_into().map_or(0, u32::from_le_bytes))
    }
}

pub(super) fn unpack(bytes: &[u8], into: &mut Unpacking) -> Result<(), ArchiveError> {
    let (directory, start) = directory(bytes)?;
    let mut entries = Vec::new();
    let mut fields = Fields(directory.bytes);
    for _ in 0..directory.count {
        into.count()?;
        entries.push(central(&mut fields)?);
    }
    if !fields.0.is_empty() {
        return Err(ArchiveError::malformed("the zip directory is longer than its entries"));
    }
    // The entries follow each other from the first byte to the directory: none overlaps, and nothing is hidden between
    // them.
    entries.sort_by_key(|entry| entry.offset);
    let mut at = 0;
    for entry in &entries {
        if entry.offset as usize != at {
            return Err(ArchiveError::malformed(
                "entries of the zip file overlap, or there is something between them",
            ));
        }
        at += one(bytes.get(at..start).unwrap_or(&[]), entry, into)?;
    }
    if at != start {
        return Err(ArchiveError::malformed(
            "there is something between the entries of the zip file and its directory",
        ));
    }
    Ok(())
}

struct Directory<'a> {
    bytes: &'a [u8],
    count: u16,
}

/// The directory and its offset, from the record at the end of the file.
fn directory(bytes: &[u8]) -> Result<(Directory<'_>, usize), ArchiveError> {
    let magic = END.to_le_bytes();
    let lowest = bytes.len().saturating_sub(END_BYTES + usize::from(u16::MAX));
    let tail = bytes.get(lowest..).unwrap_or(&[]);
    // The last candidate counts. A comment may contain the bytes of another one, which is refused below.
    let last = tail.windows(4).rposition(|window| window == magic).map(|at| lowest + at);
    let end = last.ok_or_else(|| ArchiveError::malformed("the zip file has no end record"))?;
    let mut fields = Fields(bytes.get(end + 4..).unwrap_or(&[]));
    let (disk, directory_disk) = (fields.u16()?, fields.u16()?);
    let (count, total) = (fields.u16()?, fields.u16()?);
    let (size, offset) = (fields.u32()? as usize, fields.u32()? as usize);
    let comment = usize::from(fields.u16()?);
    if fields.0.len() != comment {
        return Err(ArchiveError::malformed("something follows the end of the zip file"));
    }
    if disk != 0 || directory_disk != 0 || count != total || count == u16::MAX {
        return Err(ArchiveError::malformed("the zip file has several parts, or too many entries"));
    }
    if offset.checked_add(size) != Some(end) {
        return Err(ArchiveError::malformed("the directory of the zip file is not where it should be"));
    }
    // A reader that searches from the end may take an earlier record whose comment would contain this one.
    let inside = bytes.get(offset.max(lowest)..end).unwrap_or(&[]);
    if inside.windows(4).any(|window| window == magic) {
        return Err(ArchiveError::malformed("the zip file has more than one end record"));
    }
    let bytes = bytes.get(offset..end).unwrap_or(&[]);
    Ok((Directory { bytes, count }, offset))
}

fn central<'a>(fields: &mut Fields<'a>) -> Result<Entry<'a>, ArchiveError> {
    if fields.u32()? != CENTRAL {
        return Err(ArchiveError::malformed("an entry of the zip directory is missing"));
    }
    let made_by = fields.u16()?;
    fields.take(2)?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.take(4)?;
    let (sum, packed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
    let disk = fields.u16()?;
    fields.take(2)?;
    let attributes = fields.u32()?;
    let offset = fields.u32()?;
    let name = fields.take(usize::from(name))?;
    refuse_second_name(fields.take(usize::from(extra))?, name)?;
    fields.take(usize::from(comment))?;
    // Programs on Unix write the bytes of the name without the flag. Other systems may use any code page.
    let unix = matches!(made_by >> 8, 3 | 19);
    if !name.is_ascii() && flags & FLAG_UTF8 == 0 && !(unix && std::str::from_utf8(name).is_ok()) {
        let shown = escape_control(&String::from_utf8_lossy(name));
        return Err(ArchiveError::malformed(format!(
            "{shown}: the name in the zip file is not marked as UTF-8"
        )));
    }
    if disk != 0 || [packed, size, offset].contains(&u32::MAX) {
        return Err(ArchiveError::malformed("the zip file has several parts, or is too large"));
    }
    // Only Unix systems store the kind of a file.
    let mode = unix.then_some(attributes >> 16).filter(|mode| *mode != 0);
    Ok(Entry { name, flags, method, sum, packed, size, mode, offset })
}

/// An entry may repeat its name in an extra field, but not with a different one.
fn refuse_second_name(extra: &[u8], name: &[u8]) -> Result<(), ArchiveError> {
    let mut fields = Fields(extra);
    while fields.0.len() >= 4 {
        let (kind, length) = (fields.u16()?, fields.u16()?);
        let value = fields.take(usize::from(length))?;
        // A version and a checksum precede the name.
        if kind == EXTRA_UNICODE_PATH && value.get(5..) != Some(name) {
            return Err(ArchiveError::malformed("an entry of the zip file has two names"));
        }
    }
    Ok(())
}

/// Unpacks the entry at the start of these bytes. Returns its length.
fn one(bytes: &[u8], entry: &Entry<'_>, into: &mut Unpacking) -> Result<usize, ArchiveError> {
    let shown = escape_control(&String::from_utf8_lossy(entry.name));
    let bad = |reason: &str| Err(ArchiveError::malformed(format!("{shown}: {reason}")));
    let mut fields = Fields(bytes);
    if fields.u32()? != LOCAL {
        return bad("the zip file holds no such entry");
    }
    fields.take(2)?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.take(4)?;
    let (sum, packed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (name, extra) = (fields.u16()?, fields.u16()?);
    let name = fields.take(usize::from(name))?;
    refuse_second_name(fields.take(usize::from(extra))?, name)?;
    let later = flags & FLAG_DESCRIPTOR != 0;
    let said = (sum, packed, size);
    let same = said == (entry.sum, entry.packed, entry.size) || (later && said == (0, 0, 0));
    if flags != entry.flags || method != entry.method || name != entry.name || !same {
        return bad("the zip file and its directory contradict each other");
    }
    if flags & !FLAGS_KNOWN != 0 {
        return bad("it is encrypted, or packed in a way that is not read");
    }
    let data = fields.take(entry.packed as usize)?;
    if later {
        let start = fields.0;
        let signed = fields.u32()? == DESCRIPTOR;
        if !signed {
            fields.0 = start;
        }
        if (fields.u32()?, fields.u32()?, fields.u32()?) != (entry.sum, entry.packed, entry.size) {
            return bad("the zip file and its directory contradict each other");
        }
    }
    contents(data, entry, into)?;
    Ok(bytes.len() - fields.0.len())
}

fn contents(data: &[u8], entry: &Entry<'_>, into: &mut Unpacking) -> Result<(), ArchiveError> {
    let shown = String::from_utf8_lossy(entry.name).into_owned();
    let bad = |reason: &str| Err(ArchiveError::malformed(format!("{}: {reason}", escape_control(&shown))));
    let kind = entry.mode.map_or(0, |mode| mode & 0o170_000);
    let folder = entry.name.strip_suffix(b"/");
    match kind {
        0o120_000 => return Err(ArchiveError::Link { entry: escape_control(&shown) }),
        0 => {}
        0o040_000 if folder.is_some() => {}
        0o100_000 if folder.is_none() => {}
        _ => return Err(ArchiveError::Special { entry: escape_control(&shown) }),
    }
    if let Some(folder) = folder {
        if entry.size != 0 {
            return bad("it is a folder and holds bytes");
        }
        return into.add_folder(folder);
    }
    let path = into.path(entry.name)?;
    let bytes = match entry.method {
        0 if entry.packed == entry.size => into.read(&mut { data }, u64::from(entry.size), &shown)?,
        8 => {
            let mut decoder = DeflateDecoder::new(data);
            let bytes = into.read(&mut decoder, u64::from(entry.size), &shown)?;
            if decoder.total_in() != data.len() as u64 {
                return bad("it continues after its end");
            }
            bytes
        }
        _ => return bad("it is packed in a way that is not read"),
    };
    let mut crc = Crc::new();
    crc.update(&bytes);
    if crc.sum() != entry.sum {
        return bad("its bytes are damaged");
    }
    let executable = entry.mode.is_some_and(|mode| mode & 0o100 != 0);
    into.add_file(path, PackedFile { bytes, executable })
}
