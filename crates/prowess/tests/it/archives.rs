//! Packed skills: what ordinary tools pack is read, and every attack by an archive is refused.

use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use prowess::archive::{ArchiveError, ArchiveLimits, Files, unpack};
use prowess::source::Slice;
use prowess::{ArchiveSource, Registry, SourceError, SourceErrorKind, TooLarge};

use crate::conformance::vectors::{list, load, text};
use crate::trees::{keys, skill};

struct ZipEntry<'a> {
    name: &'a [u8],
    bytes: &'a [u8],
    mode: u32,
    deflated: bool,
    descriptor: bool,
    /// The name in the entry itself, when it is another than in the directory.
    local_name: Option<&'a [u8]>,
    /// The size the directory speaks of, when it is another than the true one.
    said_size: Option<u32>,
    extra: &'a [u8],
    /// Whether the mark is missing that says that names are UTF-8.
    unmarked: bool,
}

fn file<'a>(name: &'a str, bytes: &'a [u8]) -> ZipEntry<'a> {
    ZipEntry {
        name: name.as_bytes(),
        bytes,
        mode: 0o100_644,
        deflated: true,
        descriptor: false,
        local_name: None,
        said_size: None,
        extra: &[],
        unmarked: false,
    }
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip(entries: &[ZipEntry<'_>]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = u32::try_from(out.len()).unwrap();
        let packed = if entry.deflated { deflate(entry.bytes) } else { entry.bytes.to_vec() };
        let method: u16 = if entry.deflated { 8 } else { 0 };
        let utf8 = if entry.unmarked { 0 } else { 1 << 11 };
        let flags: u16 = if entry.descriptor { 8 } else { 0 } | utf8;
        let (sum, length) = (crc(entry.bytes), u32::try_from(packed.len()).unwrap());
        let size = entry.said_size.unwrap_or_else(|| u32::try_from(entry.bytes.len()).unwrap());
        let sizes = |out: &mut Vec<u8>, zero: bool| {
            for number in [sum, length, size] {
                out.extend_from_slice(&(if zero { 0 } else { number }).to_le_bytes());
            }
        };
        let numbers = |out: &mut Vec<u8>, numbers: &[u16]| {
            for number in numbers {
                out.extend_from_slice(&number.to_le_bytes());
            }
        };
        let local = entry.local_name.unwrap_or(entry.name);
        out.extend_from_slice(b"PK\x03\x04");
        numbers(&mut out, &[20, flags, method, 0, 0]);
        sizes(&mut out, entry.descriptor);
        numbers(&mut out, &[u16::try_from(local.len()).unwrap(), u16::try_from(entry.extra.len()).unwrap()]);
        out.extend_from_slice(local);
        out.extend_from_slice(entry.extra);
        out.extend_from_slice(&packed);
        if entry.descriptor {
            out.extend_from_slice(b"PK\x07\x08");
            sizes(&mut out, false);
        }
        directory.extend_from_slice(b"PK\x01\x02");
        numbers(&mut directory, &[0x0314, 20, flags, method, 0, 0]);
        sizes(&mut directory, false);
        numbers(&mut directory, &[u16::try_from(entry.name.len()).unwrap(), 0, 0, 0, 0]);
        directory.extend_from_slice(&(entry.mode << 16).to_le_bytes());
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(entry.name);
    }
    let start = u32::try_from(out.len()).unwrap();
    out.extend_from_slice(&directory);
    out.extend_from_slice(&end_record(entries.len(), directory.len(), start));
    out
}

fn end_record(count: usize, size: usize, start: u32) -> Vec<u8> {
    let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
    let count = u16::try_from(count).unwrap().to_le_bytes();
    end.extend_from_slice(&[count, count].concat());
    end.extend_from_slice(&u32::try_from(size).unwrap().to_le_bytes());
    end.extend_from_slice(&start.to_le_bytes());
    end.extend_from_slice(&[0, 0]);
    end
}

/// One header of a tar file and its contents.
fn tar_entry(name: &[u8], kind: u8, bytes: &[u8], said_size: usize) -> Vec<u8> {
    let mut block = [0u8; 512];
    block[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
    block[100..108].copy_from_slice(b"0000755\0");
    block[124..136].copy_from_slice(format!("{said_size:011o}\0").as_bytes());
    block[148..156].copy_from_slice(b"        ");
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut out = block.to_vec();
    out.extend_from_slice(bytes);
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    gzip(&[entries.concat(), vec![0; 1024]].concat())
}

fn plain(name: &[u8], bytes: &[u8]) -> Vec<u8> {
    tar_entry(name, b'0', bytes, bytes.len())
}

fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let text: String = records
        .iter()
        .map(|(key, value)| {
            let rest = format!(" {key}={value}\n");
            // The length counts its own digits; short records have two.
            format!("{}{rest}", rest.len() + 2)
        })
        .collect();
    tar_entry(b"pax", b'x', text.as_bytes(), text.len())
}

fn opened(bytes: &[u8]) -> Result<Files, ArchiveError> {
    unpack(bytes, &ArchiveLimits::default())
}

fn refused(bytes: &[u8]) -> String {
    match opened(bytes) {
        Ok(files) => panic!("unpacked: {:?}", files.keys().collect::<Vec<_>>()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_ordinary_tools_pack_is_read() {
    // By the zip module of Python: a skill in its folder, with an entry for a folder and a script.
    let by_python = include_bytes!("fixtures/by-python.zip");
    let files = opened(by_python).unwrap();
    let names: Vec<&str> = files.keys().map(prowess::RelPath::as_str).collect();
    assert_eq!(names, ["pdf/SKILL.md", "pdf/scripts/x.sh"]);
    assert!(files.values().nth(1).unwrap().executable && !files.values().next().unwrap().executable);

    let streamed = ZipEntry { descriptor: true, ..file("a/SKILL.md", b"x") };
    let stored = ZipEntry { deflated: false, ..file("a/b", b"yy") };
    assert_eq!(opened(&zip(&[streamed, stored])).unwrap().len(), 2);

    // Packed from inside a folder, with a long name and the marks of git.
    let long = format!("{}/x.md", "d".repeat(120));
    let bytes = tar(&[
        tar_entry(b"pax_global_header", b'g', b"16 comment=abcd\n", 16),
        tar_entry(b"./", b'5', b"", 0),
        plain(b"./SKILL.md", b"x"),
        pax(&[("mtime", "1.5"), ("path", "references/x.md")]),
        plain(b"short", b"yy"),
        tar_entry(b"././@LongLink", b'L', format!("{long}\0").as_bytes(), long.len() + 1),
        plain(&long.as_bytes()[..100], b"zzz"),
    ]);
    let names: Vec<String> = opened(&bytes).unwrap().keys().map(ToString::to_string).collect();
    assert_eq!(names, ["SKILL.md", &long, "references/x.md"]);

    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(1);
    header.set_mode(0o644);
    builder.append_data(&mut header, "SKILL.md", &b"x"[..]).unwrap();
    assert_eq!(opened(&gzip(&builder.into_inner().unwrap())).unwrap().len(), 1);
}

#[test]
fn no_path_that_is_refused_elsewhere_comes_in_by_an_archive() {
    let vectors = load("paths.json");
    let mut count = 0;
    for case in list(&vectors["cases"]) {
        if case["strict"]["rule"].is_null() {
            continue;
        }
        let path = text(&case["path"]);
        if path.len() > 4_096 || path.ends_with('/') {
            continue;
        }
        let shown = refused(&zip(&[file(&path, b"x")]));
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
        // A leading `./` is what packing from inside writes; what remains is held to the same rules.
        if !path.starts_with("./") && path != "." && !path.is_empty() && !path.contains('\0') {
            let bytes = path.as_bytes();
            let long = tar_entry(b"long", b'L', &[bytes, b"\0"].concat(), bytes.len() + 1);
            refused(&tar(&[long, plain(b"x", b"x")]));
        }
        count += 1;
    }
    assert!(count >= 30, "{count}");
}

#[test]
fn links_and_special_files_are_refused() {
    for mode in [0o120_777, 0o010_644, 0o020_644, 0o060_644, 0o140_755] {
        let entry = ZipEntry { mode, ..file("a/evil", b"/etc/passwd") };
        let error = refused(&zip(&[file("a/SKILL.md", b"x"), entry]));
        assert!(error.contains("a/evil"), "{error}");
    }
    for kind in *b"12346 7SKVMN" {
        let error = refused(&tar(&[plain(b"SKILL.md", b"x"), tar_entry(b"evil", kind, b"", 0)]));
        assert!(error.contains("evil"), "{kind}: {error}");
    }
    // A mode may be anything; only the right to execute is kept.
    let entry = ZipEntry { mode: 0o106_777, ..file("SKILL.md", b"x") };
    assert!(opened(&zip(&[entry])).unwrap().values().all(|file| file.executable));
}

#[test]
fn one_archive_has_one_reading() {
    let a = || file("SKILL.md", b"x");
    refused(&zip(&[a(), a()]));
    refused(&zip(&[a(), file("skill.MD", b"y")]));
    refused(&zip(&[file("a", b"x"), file("a/b", b"y")]));
    refused(&zip(&[file("caf\u{e9}", b"x"), file("cafe\u{301}", b"y")]));
    refused(&zip(&[ZipEntry { local_name: Some(b"OTHER.md"), ..a() }]));
    refused(&zip(&[ZipEntry { said_size: Some(2), ..a() }]));
    refused(&zip(&[ZipEntry { extra: b"\x75\x70\x01\0x", ..a() }]));
    let mut unmarked = zip(&[ZipEntry { unmarked: true, ..file("caf\u{e9}", b"x") }]);
    assert_eq!(opened(&unmarked).unwrap().len(), 1, "Info-ZIP on Unix writes UTF-8 and no mark");
    let directory = unmarked.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    unmarked[directory + 5] = 0;
    assert!(refused(&unmarked).contains("caf\u{e9}: the name in the zip file is not marked as UTF-8"));
    assert!(opened(&zip(&[ZipEntry { extra: b"\x75\x70\x0d\0\x01\0\0\0\0SKILL.md", ..a() }])).is_ok());
    let good = zip(&[a()]);
    refused(&[b"prefix".as_slice(), &good].concat());
    refused(&[&good, b"trailing".as_slice()].concat());
    refused(&[&good[..good.len() - 22], b"gap".as_slice(), &good[good.len() - 22..]].concat());
    // A second end record, in the comment of the first or before it.
    let mut commented = good.clone();
    let at = commented.len() - 2;
    commented[at] = 22;
    commented.extend_from_slice(&end_record(0, 0, 0));
    refused(&commented);
    refused(&[&good, good.as_slice()].concat());
    // Two entries of the directory that lie at one place.
    let mut overlapping = zip(&[file("a", b"x"), file("b", b"x")]);
    let second = overlapping.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    overlapping[second + 42..second + 46].copy_from_slice(&[0; 4]);
    refused(&overlapping);
    for length in 0..good.len() {
        refused(&good[..length]);
    }

    refused(&tar(&[plain(b"a", b"x"), plain(b"a", b"y")]));
    refused(&tar(&[plain(b"./a", b"x"), plain(b"a", b"y")]));
    refused(&tar(&[pax(&[("size", "100")]), plain(b"a", b"x")]));
    refused(&tar(&[pax(&[("path", "b")]), pax(&[("path", "c")]), plain(b"a", b"x")]));
    refused(&tar(&[tar_entry(b"pax", b'x', b"99 path=x\n", 10), plain(b"a", b"x")]));
    refused(&tar(&[tar_entry(b"l", b'L', b"a\0b\0", 4), plain(b"a", b"x")]));
    refused(&tar(&[tar_entry(b"l", b'L', b"", 0), plain(b"a", b"x")]));
    refused(&tar(&[pax(&[("path", "b")])]));
    refused(&tar(&[pax(&[("GNU.sparse.name", "b")]), plain(b"a", b"x")]));
    refused(&tar(&[tar_entry(b"g", b'g', b"10 path=x\n", 10), plain(b"a", b"x")]));
    refused(&tar(&[tar_entry(b"a", b'0', b"x", 4096)]));
    refused(&gzip(&[plain(b"a", b"x"), vec![0; 1024], plain(b"b", b"y"), vec![0; 1024]].concat()));
    let good = tar(&[plain(b"a", b"x")]);
    refused(&[&good, good.as_slice()].concat());
    refused(&[&good, b"trailing".as_slice()].concat());
    refused(&gzip(&plain(b"a", b"x")));
    let mut damaged = plain(b"a", b"x");
    damaged[0] = b'b';
    refused(&tar(&[damaged]));
    for length in 0..good.len() {
        refused(&good[..length]);
    }
}

#[test]
fn bombs_are_defused_before_they_are_large() {
    let zeros = vec![0; 9 << 20];
    assert!(refused(&zip(&[file("a", &zeros)])).contains("times as many bytes"));
    assert!(refused(&tar(&[plain(b"a", &zeros)])).contains("times as many bytes"));
    let large = vec![0; (10 << 20) + 1];
    assert!(refused(&zip(&[file("a", &large)])).contains("bytes of a file"));
    let said = ZipEntry { said_size: Some(1), ..file("a", &zeros) };
    assert!(refused(&zip(&[said])).contains("its size is not the one in its header"));
    let names: Vec<String> = (0..1_001).map(|number| number.to_string()).collect();
    let many: Vec<ZipEntry<'_>> = names.iter().map(|name| file(name, b"")).collect();
    assert!(refused(&zip(&many)).contains("entries, at most 1000"));
    let many: Vec<Vec<u8>> = names.iter().map(|name| plain(name.as_bytes(), b"")).collect();
    assert!(refused(&tar(&many)).contains("entries, at most 1000"));
    // A tail of zeros without end is a bomb as well.
    assert!(refused(&gzip(&[plain(b"a", b"x"), vec![0; 30 << 20]].concat())).contains("over a limit"));
    let deep = format!("{}x", "d/".repeat(16));
    assert!(refused(&zip(&[file(&deep, b"x")])).contains("folders deep, at most 16"));
    let small = ArchiveLimits::default().with_packed_bytes(10);
    assert!(unpack(&zip(&[file("a", b"x")]), &small).is_err());
    // An archive in an archive stays a file.
    let nested = zip(&[file("SKILL.md", b"x"), file("inner.zip", &zip(&[file("../evil", b"x")]))]);
    assert_eq!(opened(&nested).unwrap().len(), 2);
}

#[test]
fn a_packed_skill_is_a_skill_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tools.skill");
    let (one, two, inner) = (skill("one"), skill("two"), skill("inner"));
    let bytes = zip(&[
        file("one/SKILL.md", one.as_bytes()),
        file("one/references/x.md", b"more"),
        file("one/nested/SKILL.md", inner.as_bytes()),
        file("group/two/skill.md", two.as_bytes()),
        file("broken/SKILL.md", b"no frontmatter"),
        file("README.md", b"outside of every skill"),
    ]);
    fs::write(&path, bytes).unwrap();
    let mut registry = Registry::new();
    registry.add(ArchiveSource::new(&path));
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["inner", "one", "two"], "a skill inside a skill is one too");
    assert_eq!(registry.catalog().why("broken").len(), 1);
    assert_eq!(registry.get("two").unwrap().virtual_path, "group/two");
    assert_eq!(registry.document("two").unwrap().body(), "Body of two.");
    let files: Vec<String> =
        registry.files("one").unwrap().files.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(files, ["SKILL.md", "nested/SKILL.md", "references/x.md"]);
    let read = |path: &str| registry.read_resource("one", path, Slice::first(99), TooLarge::Refuse);
    assert!(read("references/x.md").is_ok());
    assert!(read("../README.md").is_err() && read("README.md").is_err());
    assert!(registry.manifest_of(&registry.get("one").unwrap()).is_ok());

    fs::write(&path, tar(&[plain(b"SKILL.md", one.as_bytes())])).unwrap();
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["one"], "what it is packed with is told by its bytes");
    assert_eq!(registry.get("one").unwrap().virtual_path, "tools");
    fs::write(&path, b"not packed at all").unwrap();
    let error = registry.refresh().unwrap_err().to_string();
    assert!(error.contains("tools.skill: it is neither a zip nor a gzip file"), "{error}");
    fs::write(&path, zip(&[file("README.md", b"x")])).unwrap();
    let none = registry.refresh();
    assert!(matches!(
        none,
        Err(prowess::RegistryError::Source(SourceError { kind: SourceErrorKind::NoSkill, .. }))
    ));
}
