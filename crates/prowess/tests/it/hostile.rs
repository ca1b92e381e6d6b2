//! Documents made to crash, hang or exhaust a reader: each is read, judged by every profile and explained, and what that
//! allocates is counted.

use std::fs;

use prowess_core::{FixMode, Origin, Preset, Profile, Severity, fix, parse};
use prowess_testing::allocated;

use crate::data;

/// The most bytes that are held at once for a document, its text included: up to 1 MiB of that is read.
const MAX_PEAK: usize = 8 << 20;
/// The most bytes that are allocated for a document by all profiles together, those that are freed again included.
const MAX_TOTAL: usize = 1 << 30;
/// The stack that is enough for every document, however deep: half of what a thread has by default.
const STACK: usize = 1 << 20;

#[test]
fn hostile_documents_are_read_in_bounded_memory_and_explained() {
    let reader = std::thread::Builder::new().stack_size(STACK).spawn(read_hostile_documents);
    reader.unwrap().join().unwrap();
}

fn read_hostile_documents() {
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
            let ((), counted) = allocated(|| read_and_explain(text.as_bytes()));
            assert!(counted.peak <= MAX_PEAK && counted.total <= MAX_TOTAL, "{name}, {form}: {counted:?}");
        }
    }
}

#[test]
fn thousands_of_fixes_cost_no_copy_of_the_document_each() {
    let at = Origin::at("demo/SKILL.md");
    let document = |fields: usize| {
        let lines: String = (0..fields).map(|n| format!("k{n:04}: [a]\n")).collect();
        parse(format!("---\nname: demo\ndescription: d\n{lines}---\nbody\n").as_bytes())
    };
    let profile = Profile::new(Preset::SkillsRef);
    let counted = |fields: usize| {
        let document = document(fields);
        let (problems, checked) = allocated(|| profile.check(&document, None, &at));
        assert_eq!(problems.iter().filter(|problem| problem.fix.is_some()).count(), fields);
        let (fixed, fixing) = allocated(|| fix(&document, None, &at, &profile, FixMode::All));
        assert_eq!(fixed.applied.len(), fields);
        (checked.total, fixing.total)
    };
    let (some, many) = (counted(300), counted(3_000));
    assert!(many.0 < some.0 * 12 && many.1 < some.1 * 12, "{some:?} {many:?}");
    assert!(many.0 < 64 << 20, "{many:?}");
}

fn read_and_explain(bytes: &[u8]) {
    let document = parse(bytes);
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
