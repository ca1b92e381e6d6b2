//! Documents made to crash, hang or exhaust a reader: each is read in a process of its own, whose memory is measured.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use prowess_core::{Origin, Preset, Profile, Severity, parse};

use crate::data;

/// What a document may cost beyond its own size.
const MAX_EXTRA_KIB: u64 = 16 * 1024;

#[test]
fn hostile_documents_are_read_in_bounded_memory_and_explained() {
    let folder = tempfile::tempdir().unwrap();
    let mut documents: Vec<(String, String)> = large_documents();
    for entry in fs::read_dir(data::repository("conformance/hostile-yaml")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        documents.push((name, String::from_utf8(fs::read(&path).unwrap()).unwrap()));
    }
    documents.sort();
    assert!(documents.len() >= 50);
    for (name, yaml) in &documents {
        for (form, text) in [("fenced", format!("---\n{yaml}\n---\nbody\n")), ("bare", yaml.clone())] {
            let file = folder.path().join(format!("{name}-{form}.md"));
            fs::write(&file, text).unwrap();
            read_in_a_child(&file);
            fs::remove_file(&file).unwrap();
        }
    }
}

fn read_in_a_child(file: &Path) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hostile::child", "--ignored", "--nocapture", "--test-threads=1"])
        .env("PROWESS_HOSTILE_FILE", file)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{}: {output}{}", file.display(), String::from_utf8_lossy(&child.stderr));
    if let Some(extra) = output.lines().find_map(|line| line.strip_prefix("extra KiB: ")) {
        let extra: u64 = extra.parse().unwrap();
        assert!(extra <= MAX_EXTRA_KIB, "{}: {extra} KiB above the input", file.display());
    } else {
        // Straight to standard error: what a passing test prints is otherwise not shown.
        let _ = writeln!(std::io::stderr(), "skipped: memory is not measured on this system");
    }
}

/// Not a test by itself: reads one file and prints how much memory that took.
#[test]
#[ignore = "run by the test above, in a process of its own"]
fn child() {
    let Some(file) = std::env::var_os("PROWESS_HOSTILE_FILE") else { return };
    let bytes = fs::read(&file).unwrap();
    // Writing 5 resets the peak, so that only what follows counts.
    let measured = fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = peak_kib();
    let document = parse(&bytes);
    let at = Origin::at("demo/SKILL.md");
    for &preset in Preset::ALL {
        Profile::new(preset).check(&document, None, &at);
    }
    let problems = Profile::lenient().check(&document, None, &at);
    assert_eq!(
        document.skill(&at).is_none(),
        problems.iter().any(|problem| problem.severity == Severity::Error)
    );
    for problem in &problems {
        if let Some(span) = problem.span {
            assert!(span.slice(document.text()).is_some(), "{}", problem.code);
        }
    }
    if let (true, Some(before), Some(after)) = (measured, before, peak_kib()) {
        println!("\nextra KiB: {}", after.saturating_sub(before));
    }
}

fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse().ok())
}

/// Documents that are too large to be kept as files.
fn large_documents() -> Vec<(String, String)> {
    let numbered = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let documents: Vec<(&str, String)> = vec![
        (
            "02-quadratic-alias",
            format!("a: &a {}\nb: [{}]\n", "x".repeat(80_000), vec!["*a"; 20_000].join(", ")),
        ),
        (
            "02b-aliases-without-anchors",
            format!("name: x\ndescription: y\n{}", numbered(6_500, &|n| format!("k{n}: *x\n"))),
        ),
        ("03-flow-nest-100k", format!("a: {}\n", "[".repeat(100_000))),
        ("04-flow-nest-100k-closed", format!("a: {}{}\n", "[".repeat(100_000), "]".repeat(100_000))),
        ("06-block-seq-nest-50k", format!("a:\n{}x\n", "- ".repeat(50_000))),
        ("06b-block-seq-nest-30k", format!("a:\n{}x\n", "- ".repeat(30_000))),
        ("07-block-map-nest-3000", numbered(3000, &|n| format!("{}a:\n", " ".repeat(n)))),
        ("07b-block-map-nest-300", numbered(300, &|n| format!("{}a:\n", " ".repeat(n)))),
        ("08-huge-scalar-50MB", format!("name: x\ndescription: {}\n", "y".repeat(50_000_000))),
        ("09-100k-keys", numbered(100_000, &|n| format!("k{n}: v\n"))),
        ("09b-9k-keys", numbered(4_900, &|n| format!("k{n}: v\n"))),
        ("29-qmark-storm", format!("{}\n", "? ".repeat(20_000))),
        ("38-doc-sep-storm", "---\na\n".repeat(75_000)),
        ("39-comment-storm", format!("name: x\n{}", "# c\n".repeat(200_000))),
        ("39b-comment-storm-16k", format!("name: x\n{}", "# c\n".repeat(16_000))),
        ("40-flow-colon-storm", format!("a: {{{}\n", ":".repeat(100_000))),
        ("40b-flow-colon-storm-60k", format!("a: {{{}\n", ":".repeat(60_000))),
        ("41-amp-storm", numbered(40_000, &|n| format!("k{n}: &a{n} v\n"))),
        ("42-merge-bomb", {
            let rest = numbered(999, &|n| format!("a{}: &a{}\n  <<: [*a{n}, *a{n}]\n", n + 1, n + 1));
            format!("a0: &a0 {{x: 1}}\n{rest}")
        }),
        // Broken on every line: the repair has all the work there is.
        ("51-repair-storm", numbered(4_000, &|n| format!("k{n}: a: b\n"))),
        ("52-repair-deep", numbered(250, &|n| format!("{}k: a: b\n", " ".repeat(n)))),
        ("53-repair-quotes", format!("description: \"{}\n", "\"a ".repeat(20_000))),
        ("54-repair-items", format!("tags:\n{}", "  - @x: y: z\n".repeat(4_000))),
        ("55-repair-nested-items", format!("a: [\n{}", "- ".repeat(30_000))),
        // A fix for every line, in one profile or another.
        ("57-flow-values", numbered(3_000, &|n| format!("k{n}: [a]\n"))),
        (
            "58-metadata-lists",
            format!("name: t\ndescription: d\nmetadata:\n{}", numbered(2_400, &|n| format!("  k{n}: [a]\n"))),
        ),
        ("56-tabs", format!("a:\n{}b: c\n", "\t".repeat(60_000))),
    ];
    documents.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}
