//! A folder lists the same whether its frontmatter is cached or read: without a cache, while the cache is filled, and
//! from it.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use prowess::source::Policies;
use prowess::{DirSource, Found, ScanOptions, Source as _};

use crate::conformance::vectors::{list, load, root, word};
use crate::data;

/// A skill whose file is the newest of a folder: as soon as it is cached, so are all others that can be.
const LAST: &str = "---\nname: last\ndescription: Is written last.\n---\n# Last\n\nDo it.\n";

/// Writes the documents and compares the lists of their folder, those with the facts for clients included.
fn compare(documents: &[(String, Vec<u8>)]) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let skills = folder.path().join("skills");
    for (name, bytes) in documents {
        write(&skills.join(name), bytes);
    }
    let last = skills.join("zz-last");
    write(&last, LAST.as_bytes());
    for policies in [None, Some(Policies::Leave)] {
        let cache = folder.path().join(format!("cache-{policies:?}"));
        let listed = |cache: Option<&Path>| {
            let source =
                DirSource::new(&skills, ScanOptions::default()).with_cache(cache.map(Path::to_owned));
            let source = match policies {
                Some(policies) => source.with_sightings(policies),
                None => source,
            };
            source.list().unwrap().skills
        };
        let uncached = listed(None);
        let same = |found: Vec<Box<Found>>, which: &str| {
            prop_assert_eq!(found.len(), uncached.len(), "{}", which);
            for (found, read) in found.iter().zip(&uncached) {
                let (found, read) = (format!("{found:#?}"), format!("{read:#?}"));
                prop_assert_eq!(found, read, "{}", which);
            }
            Ok(())
        };
        same(listed(Some(&cache)), "while the cache is filled")?;
        // A file that changed a moment ago is not cached yet.
        while !holds(&cache, &last) {
            same(listed(Some(&cache)), "while the cache is filled")?;
        }
        same(listed(Some(&cache)), "from the cache")?;
    }
    Ok(())
}

fn write(folder: &Path, bytes: &[u8]) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("SKILL.md"), bytes).unwrap();
}

fn holds(cache: &Path, folder: &Path) -> bool {
    let bytes = fs::read(cache).unwrap_or_default();
    let path = folder.join("SKILL.md");
    let path = path.as_os_str().as_encoded_bytes();
    bytes.windows(path.len()).any(|window| window == path)
}

#[test]
fn every_vector_and_hostile_document_lists_the_same_from_the_cache() {
    let mut documents = Vec::new();
    for entry in fs::read_dir(root().join("conformance/documents")).unwrap() {
        let group = entry.unwrap().file_name().into_string().unwrap();
        let vectors = load(&format!("documents/{group}"));
        for case in list(&vectors["cases"]) {
            if let Some(input) = case["input"].as_str() {
                documents.push((format!("{group}-{}", word(&case["id"])), input.as_bytes().to_vec()));
            }
        }
    }
    assert!(documents.len() > 100, "{} vectors", documents.len());
    for entry in fs::read_dir(root().join("conformance/hostile-yaml")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let yaml = fs::read(&path).unwrap();
        for (form, after) in [("fenced", "\n---\nbody\n"), ("open", "\n\n# Title\n\nDo it.\n"), ("end", "")] {
            let bytes = [b"---\n".as_slice(), &yaml, after.as_bytes()].concat();
            documents.push((format!("{name}-{form}"), bytes));
        }
    }
    compare(&documents).unwrap();
}

#[test]
fn real_skills_list_the_same_from_the_cache() {
    let Some(folder) = data::external("the corpus") else { return };
    let mut files = data::unpack(folder.join("hard-cases/hard.tar.zst"));
    let natural = data::unpack(folder.join("corpus/natural.tar.zst"));
    files.extend(natural.into_iter().step_by(10));
    let named = |(at, (_, bytes)): (usize, (String, Vec<u8>))| (format!("s{at}"), bytes);
    let documents: Vec<(String, Vec<u8>)> = files.into_iter().enumerate().map(named).collect();
    assert!(documents.len() > 500, "{} files", documents.len());
    compare(&documents).unwrap();
}

/// Documents with every kind of fence and line end, some as long as a part that is read at once, or as the limit.
fn document() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "name: demo",
        "description: Does it. Use when x.",
        "description: Use when: asked",
        "description: |",
        "description: \"open",
        "  indented text",
        "license: MIT",
        "- item",
        "",
        "# comment",
        "Note: this may be the body",
        "prose that is no YAML",
        "allowed-tools: [Read, Write]",
        "----",
        " ---",
        "...",
        "---# Title",
        "é\u{2028}",
        "\t",
    ]);
    let lines = prop::collection::vec(line, 0..12);
    let close = prop::sample::select(vec!["---", "---", "", "----", " ---", "...", "---# Title", "--- "]);
    let body = prop::collection::vec(
        prop::sample::select(vec!["# Title", "", "Do it.", "---", "key: value", "- item", "  code", "\t"]),
        0..8,
    );
    // Near the first part that is read, a doubled one, and the largest frontmatter.
    let length = prop_oneof![
        6 => Just(0usize),
        2 => 1_900..2_100usize,
        1 => 3_900..4_200usize,
        1 => 65_300..65_800usize,
    ];
    let blank = prop_oneof![4 => Just(0usize), 1 => 200..300usize, 1 => 1_900..2_200usize];
    let ends = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::sample::select(vec!["", "\n", "<!-- x -->\n", "text\n"]),
    );
    (lines, close, body, length, blank, ends).prop_map(
        |(lines, close, body, length, blank, (bom, crlf, last_end, before))| {
            let mut text = format!("{before}---\nname: demo\ndescription: Does it.\n");
            if length > 0 {
                text += &["license: ", &"é".repeat(length / 2), "\n"].concat();
            }
            text += &lines.join("\n");
            text += "\n";
            if !close.is_empty() {
                text += &[close, "\n"].concat();
            }
            text += &body.join("\n");
            text += &"\n".repeat(blank);
            if last_end {
                text += "\n";
            }
            let text = if crlf { text.replace('\n', "\r\n") } else { text };
            if bom { format!("\u{feff}{text}") } else { text }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_document_lists_the_same_from_the_cache(documents in prop::collection::vec(document(), 64..65)) {
        let named = |(at, text): (usize, String)| (format!("s{at}"), text.into_bytes());
        compare(&documents.into_iter().enumerate().map(named).collect::<Vec<_>>())?;
    }
}
