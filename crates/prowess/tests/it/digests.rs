//! Digests of skills: nothing too large is read, the work can be ended, and no cache decides what is trusted.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use prowess::fs::walk::FileName;
use prowess::registry::digests::{DigestLimits, Digests, of_bytes};
use prowess::registry::trust::{Approvals, Trust};
use prowess::source::Slice;
use prowess::{
    DirSource, Layer, Registry, RelPath, ScanOptions, Scope, SourceError, SourceErrorKind, TooLarge,
};

use crate::trees::{registry, skill, tree, write};

/// Makes a file of terabytes that takes no room on the disk.
fn make_huge(path: &Path) {
    let file = File::create(path).unwrap();
    // Some file systems have smaller files.
    assert!([8 << 40, 1 << 40, 200 << 30].iter().any(|size| file.set_len(*size).is_ok()));
}

/// A registry where a project's skills need an approval.
fn project(folder: &Path, approvals: &Approvals) -> Registry {
    let source = DirSource::new(folder, ScanOptions::default()).with_scope(Scope::Project);
    let mut registry = Registry::new();
    registry.add(source).set_trust(Trust::in_approved(approvals.clone()));
    registry.refresh().unwrap();
    registry
}

/// What approves every skill of a project as it is now.
fn approve_all(folder: &Path) -> Approvals {
    let registry = project(folder, &Approvals::default());
    let mut approvals = Approvals::default();
    for candidate in registry.catalog().iter() {
        approvals.trust_skill(candidate, registry.approvable(candidate).unwrap());
    }
    approvals
}

#[test]
fn a_file_of_terabytes_is_never_read_for_a_digest_and_never_approved() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/note.md", "note"), ("b/SKILL.md", &skill("b"))]);
    let approvals = approve_all(folder.path());
    assert!(project(folder.path(), &approvals).get("a").unwrap().is_usable());
    make_huge(&folder.path().join("a/huge.bin"));
    let changed = project(folder.path(), &approvals);
    assert!(!changed.get("a").unwrap().is_usable() && changed.get("b").unwrap().is_usable());
    let candidate = changed.get("a").unwrap();
    let note = RelPath::parse("note.md").unwrap();
    for result in [
        changed.manifest_of(&candidate).map(drop),
        changed.manifest_within(&candidate, &DigestLimits::publishing()).map(drop),
        changed.approvable(&candidate).map(drop),
        changed.digest_of(&candidate).map(drop),
        changed.read_with_digest_of(&candidate, &note, Slice::first(10)).map(drop),
    ] {
        assert!(
            matches!(result, Err(SourceError { kind: SourceErrorKind::TooLarge { .. }, .. })),
            "{result:?}"
        );
    }
    // What needs no digest is there all the same.
    assert_eq!(changed.files("a").unwrap().files.len(), 3);
    assert_eq!(changed.read_bytes("a", "huge.bin", Slice::first(10)).unwrap().bytes, [0; 10]);
    let refused = changed.read_resource("a", "huge.bin", Slice::first(10), TooLarge::Refuse);
    assert!(matches!(refused, Err(SourceError { kind: SourceErrorKind::TooLarge { .. }, .. })));
}

#[test]
fn limits_are_of_files_of_one_file_and_of_all_together() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/x", "0123456789"), ("a/y", "0123456789")]);
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    let candidate = registry.get("a").unwrap();
    let within = |limits: DigestLimits| registry.manifest_within(&candidate, &limits).map(|_| ());
    let size = skill("a").len() as u64;
    let limits = DigestLimits::publishing();
    assert!(within(limits.clone().with_files(3).with_file_bytes(size).with_bytes(size + 20)).is_ok());
    let files = within(limits.clone().with_files(2));
    assert!(
        matches!(
            files,
            Err(SourceError {
                kind: SourceErrorKind::TooMany { what: prowess::Counted::Files, limit: 2, .. },
                ..
            })
        ),
        "{files:?}"
    );
    let file = within(limits.clone().with_file_bytes(9));
    assert!(
        matches!(file, Err(SourceError { kind: SourceErrorKind::TooLarge { limit: 9, .. }, .. })),
        "{file:?}"
    );
    let all = within(limits.clone().with_bytes(size + 19));
    assert!(
        matches!(all, Err(SourceError { kind: SourceErrorKind::TooLarge { size: found, .. }, .. }) if found == size + 20),
        "{all:?}"
    );

    let late = within(limits.clone().with_deadline(Some(Instant::now())));
    assert!(matches!(late, Err(SourceError { kind: SourceErrorKind::Stopped, .. })), "{late:?}");
    let stop = Arc::new(AtomicBool::new(false));
    assert!(within(limits.clone().with_stop(Some(Arc::clone(&stop)))).is_ok());
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(
        within(limits.with_stop(Some(stop))),
        Err(SourceError { kind: SourceErrorKind::Stopped, .. })
    ));
}

#[test]
fn an_approval_has_the_limits_that_the_host_sets() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/x", "0123456789")]);
    let mut registry = registry(&[folder.path()]);
    registry.set_digest_limits(DigestLimits::approving().with_files(1));
    registry.refresh().unwrap();
    let refused = registry.approvable(&registry.get("a").unwrap());
    assert!(matches!(refused, Err(SourceError { kind: SourceErrorKind::TooMany { .. }, .. })), "{refused:?}");
}

/// A cache file with a valid checksum, as anyone can write it.
fn forge(file: &Path, entries: &[(&Path, &[u8])]) {
    let mut body = Vec::new();
    for (path, bytes) in entries {
        let at = fs::metadata(path).unwrap();
        let time = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
        let path = path.as_os_str().as_encoded_bytes();
        body.extend(u32::try_from(path.len()).unwrap().to_le_bytes());
        body.extend(path);
        let (modified, changed) = (time(at.mtime(), at.mtime_nsec()), time(at.ctime(), at.ctime_nsec()));
        for number in [changed.cast_unsigned(), at.len(), modified.cast_unsigned(), at.ino(), at.dev()] {
            body.extend(number.to_le_bytes());
        }
        body.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
        body.extend(*bytes);
    }
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let (words, rest) = body.as_chunks::<8>();
    let sum = words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| step(hash, u64::from_le_bytes(*word)));
    let sum = rest.iter().fold(step(sum, body.len() as u64), |hash, byte| step(hash, u64::from(*byte)));
    let mut bytes = b"prowess index 3\n".to_vec();
    bytes.extend(sum.to_le_bytes());
    bytes.extend(body);
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_forged_cache_of_digests_approves_nothing() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/run.sh", "echo good")]);
    let approvals = approve_all(folder.path());
    write(folder.path(), "a/run.sh", "echo evil");
    let (script, cache) = (folder.path().join("a/run.sh"), tempfile::tempdir().unwrap());
    let file = cache.path().join("digests");
    forge(&file, &[(&script, of_bytes(b"echo good").to_string().as_bytes())]);
    let with = |trust: Option<Trust>| {
        let source = DirSource::new(folder.path(), ScanOptions::default()).with_scope(Scope::Project);
        let mut registry = Registry::new();
        registry.add(source.with_digests(Arc::new(Digests::load(Some(file.clone())))));
        if let Some(trust) = trust {
            registry.set_trust(trust);
        }
        registry.refresh().unwrap();
        registry
    };
    // The forgery is as good as it can be: a list of digests, where nothing is trusted because of it, shows it.
    let registry = with(None);
    let candidate = registry.get("a").unwrap();
    let listed = registry.manifest_within(&candidate, &DigestLimits::publishing()).unwrap();
    let script = listed.get(&RelPath::parse("run.sh").unwrap()).unwrap();
    assert_eq!(script.digest, Some(of_bytes(b"echo good")));
    let registry = with(Some(Trust::in_approved(approvals)));
    let candidate = registry.get("a").unwrap();
    assert!(!candidate.is_usable(), "a changed script is not approved");
    let now = approve_all(folder.path()).skills[0].digest.unwrap();
    assert_eq!((registry.approvable(&candidate).unwrap(), registry.digest("a").unwrap()), (now, now));
}

#[test]
fn a_wrong_digest_that_is_remembered_is_corrected_by_a_look_at_the_bytes() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/note.md", "true")]);
    let (note, cache) = (folder.path().join("a/note.md"), tempfile::tempdir().unwrap());
    let file = cache.path().join("digests");
    forge(&file, &[(&note, of_bytes(b"false").to_string().as_bytes())]);
    let open = || {
        let digests = Arc::new(Digests::load(Some(file.clone())));
        let mut registry = Registry::new();
        registry.add(DirSource::new(folder.path(), ScanOptions::default()).with_digests(digests));
        registry.refresh().unwrap();
        registry
    };
    let listed = |registry: &Registry, limits: DigestLimits| {
        let candidate = registry.get("a").unwrap();
        let files = registry.manifest_within(&candidate, &limits).unwrap();
        files.get(&RelPath::parse("note.md").unwrap()).unwrap().digest
    };
    let registry = open();
    assert_eq!(listed(&registry, DigestLimits::publishing()), Some(of_bytes(b"false")));
    assert_eq!(listed(&registry, DigestLimits::approving()), Some(of_bytes(b"true")));
    assert_eq!(listed(&registry, DigestLimits::publishing()), Some(of_bytes(b"true")));
    drop(registry);
    assert_eq!(listed(&open(), DigestLimits::publishing()), Some(of_bytes(b"true")), "and stays so");
}

#[test]
fn what_is_said_of_an_approved_skill_is_made_of_the_bytes_that_were_digested() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let approvals = approve_all(folder.path());
    let cache = tempfile::tempdir().unwrap();
    let index = cache.path().join("index");
    let evil = b"---\nname: a\ndescription: EVIL\nallowed-tools: Bash\n---\n";
    forge(&index, &[(&folder.path().join("a/SKILL.md"), evil)]);
    let source = DirSource::new(folder.path(), ScanOptions::default()).with_scope(Scope::Project);
    let mut registry = Registry::new();
    registry.add(source.with_cache(Some(index))).set_trust(Trust::in_approved(approvals));
    registry.refresh().unwrap();
    let candidate = registry.get("a").unwrap();
    assert!(candidate.is_usable());
    assert_eq!(candidate.entry.description, "Does a.");
    assert!(candidate.entry.allowed_tools.is_none());
}

#[test]
fn of_a_skill_that_was_approved_only_the_approved_bytes_are_read() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/note.md", "good"), ("a/more.md", "more")]);
    let approvals = approve_all(folder.path());
    let registry = project(folder.path(), &approvals);
    let note = || registry.read_bytes("a", "note.md", Slice { offset: 1, limit: 2 });
    assert_eq!(note().unwrap().bytes, b"oo");
    write(folder.path(), "a/note.md", "evil");
    assert!(matches!(note(), Err(SourceError { kind: SourceErrorKind::Changed, .. })));
    write(folder.path(), "a/note.md", "good, and more");
    assert!(matches!(note(), Err(SourceError { kind: SourceErrorKind::Changed, .. })));
    write(folder.path(), "a/new.md", "new");
    assert!(matches!(
        registry.read_bytes("a", "new.md", Slice::first(9)),
        Err(SourceError { kind: SourceErrorKind::Missing, .. })
    ));
    assert_eq!(registry.document("a").unwrap().body(), "Body of a.");
    write(folder.path(), "a/SKILL.md", &skill("a").replace("Body", "Evil"));
    assert!(matches!(registry.document("a"), Err(SourceError { kind: SourceErrorKind::Changed, .. })));
}

#[test]
fn a_candidate_is_read_by_itself_when_its_key_means_another_skill_by_now() {
    let (one, two) = (tree(&[("x/SKILL.md", &skill("a"))]), tree(&[]));
    let registry = registry(&[two.path(), one.path()]);
    registry.refresh().unwrap();
    let first = registry.get("a").unwrap();
    write(two.path(), "y/SKILL.md", &skill("a").replace("Body", "Other body"));
    registry.refresh().unwrap();
    assert_eq!(registry.document("a").unwrap().body(), "Other body of a.");
    assert_eq!(registry.document_of(&first).unwrap().body(), "Body of a.");
    let own = RelPath::parse("SKILL.md").unwrap();
    let (chunk, digest) = registry.read_with_digest_of(&first, &own, Slice::first(9999)).unwrap();
    assert_eq!(chunk.bytes, skill("a").as_bytes());
    assert_eq!(digest, registry.digest_of(&first).unwrap());
    assert_ne!(digest, registry.digest("a").unwrap());
    let resource = registry.read_resource_of(&first, "SKILL.md", Slice::first(9999), TooLarge::Page).unwrap();
    assert_eq!(resource.size, skill("a").len() as u64);
}

#[test]
fn a_skill_file_beside_an_own_file_of_another_name_has_a_digest_of_its_own() {
    let folder = tree(&[("a/AGENT.md", &skill("a")), ("a/SKILL.md", "one")]);
    let options = ScanOptions::unbounded().with_file_name(FileName::Exact("AGENT.md".to_owned()));
    let mut registry = Registry::new();
    registry.add(DirSource::new(folder.path(), options));
    registry.refresh().unwrap();
    let candidate = registry.get("a").unwrap();
    let digests = || {
        let files = registry.manifest_of(&candidate).unwrap().files;
        files.into_iter().map(|file| (file.path.to_string(), file.digest.unwrap())).collect::<Vec<_>>()
    };
    let expected = [("AGENT.md", skill("a")), ("SKILL.md", "one".to_owned())];
    assert_eq!(digests(), expected.map(|(path, text)| (path.to_owned(), of_bytes(text.as_bytes()))));
    let before = registry.approvable(&candidate).unwrap();
    write(folder.path(), "a/SKILL.md", "two");
    assert_ne!(registry.approvable(&candidate).unwrap(), before);
    // Asked for by that name, the skill's own file is meant.
    let own = registry.read_bytes("a", "SKILL.md", Slice::first(9_999)).unwrap();
    assert_eq!(own.bytes, skill("a").as_bytes());
}

#[test]
fn the_digest_of_a_layer_that_asks_for_approvals_is_of_the_bytes_too() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let mut registry = Registry::new();
    registry.add(
        Layer::from(DirSource::new(folder.path(), ScanOptions::unbounded())).with_approval_required(true),
    );
    registry.refresh().unwrap();
    let candidate = registry.get("a").unwrap();
    assert_eq!(registry.digest_of(&candidate).unwrap(), registry.approvable(&candidate).unwrap());
}

#[test]
fn bytes_that_change_in_mapped_memory_are_never_taken_for_approved() {
    const PROGRAM: &str = "import mmap, sys
file = open(sys.argv[1], 'r+b')
mapped = mmap.mmap(file.fileno(), 0)
at = mapped.find(b'Does')
for line in sys.stdin:
    mapped[at:at + 4] = line.strip().encode()
    print('done', flush=True)
";
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let approvals = approve_all(folder.path());
    let place = folder.path().join("a/SKILL.md");
    let child = Command::new("python3")
        .args(["-c", PROGRAM])
        .arg(&place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        let _ = writeln!(std::io::stderr(), "skipped: mapping memory needs python3");
        return;
    };
    let (mut say, mut done) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut put = |word: &str| {
        writeln!(say, "{word}").unwrap();
        done.read_line(&mut String::new()).unwrap();
    };
    let cache = tempfile::tempdir().unwrap();
    let source = DirSource::new(folder.path(), ScanOptions::default()).with_scope(Scope::Project);
    let digests = Arc::new(Digests::load(Some(cache.path().join("digests"))));
    let mut registry = Registry::new();
    registry.add(source.with_digests(digests).with_cache(Some(cache.path().join("index"))));
    registry.set_trust(Trust::in_approved(approvals));
    // The first change makes the memory differ from the disk; what follows need not touch the times of the file.
    put("EVIL");
    let changed = Instant::now();
    // Long enough for the state to be remembered.
    while changed.elapsed() < Duration::from_millis(60) {
        std::thread::yield_now();
    }
    for word in ["EVIL", "Does", "EVIL", "Does"] {
        put(word);
        registry.refresh().unwrap();
        let candidate = registry.get("a").unwrap();
        let _ = registry.manifest_within(&candidate, &DigestLimits::publishing());
        assert_eq!(candidate.is_usable(), word == "Does", "{word}");
        if candidate.is_usable() {
            assert_eq!(candidate.entry.description, "Does a.");
            assert!(registry.document_of(&candidate).is_ok());
            put("EVIL");
            assert!(matches!(
                registry.document_of(&candidate),
                Err(SourceError { kind: SourceErrorKind::Changed, .. })
            ));
        }
    }
    drop(say);
    child.wait().unwrap();
}
