//! The index of a registry: it finds the same for every way of building it, and it reads only what changed.

use std::fs;
use std::path::{Path, PathBuf};

use prowess::registry::trust::{Approvals, Trust};
use prowess::render::{Budget, CatalogStyle, Shape, estimate_tokens, render_within};
use prowess::search::{Refreshed, SearchIndex, gather};
use prowess::select::{Bm25, Hit, Query, SelectOptions, Settings, Texts, search};
use prowess::{DirSource, Entry, Origin, Registry, ScanOptions, Scope, Skill, parse};

const QUERIES: [&str; 6] =
    ["fill the form", "zebra", "review code and deploy images", "revew", "表单", "skill 7 of the pdf forms"];

struct Shelf {
    folder: tempfile::TempDir,
}

impl Shelf {
    fn new(count: usize) -> Self {
        let shelf = Self { folder: tempfile::tempdir().unwrap() };
        (0..count).for_each(|number| shelf.write(number, "plain"));
        shelf
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("skills")
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache/terms")
    }

    fn write(&self, number: usize, word: &str) {
        let kinds = ["fill forms", "review code", "deploy images", "填写 表单"];
        let (kind, other) = (kinds[number % 4], kinds[number / 4 % 4]);
        let folder = self.root().join(format!("s{number}"));
        fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "---\nname: s{number}\ndescription: Skills that {kind} for {word} people.\n---\nUse {other} when {kind}; {word} {number}.\n"
        );
        fs::write(folder.join("SKILL.md"), text).unwrap();
    }

    fn registry(&self) -> Registry {
        let mut registry = Registry::new();
        registry.add(DirSource::new(self.root(), ScanOptions::unbounded()));
        registry.refresh().unwrap();
        registry
    }
}

fn answers(index: &SearchIndex, registry: &Registry) -> Vec<Vec<Hit>> {
    let catalog = registry.catalog();
    let options = SelectOptions::default().with_top_k(None);
    let answer = |text: &&str| search(index, &Query::text(*text), &catalog.list(), &options).unwrap();
    QUERIES.iter().map(answer).collect()
}

/// Refreshes until what changed a moment ago has settled.
fn settle(index: &mut SearchIndex, registry: &mut Registry) {
    loop {
        registry.refresh().unwrap();
        if index.refresh(registry).analysed == 0 {
            return;
        }
    }
}

#[test]
fn cold_refreshed_and_remembered_indexes_find_the_same_bits() {
    let shelf = Shelf::new(40);
    let mut registry = shelf.registry();
    let mut kept = SearchIndex::open(&registry, Some(shelf.cache()));
    settle(&mut kept, &mut registry);
    let mut seed = 7_usize;
    for round in 0..12 {
        let cold = SearchIndex::open(&registry, None);
        let expected = answers(&cold, &registry);
        assert!(expected.iter().any(|hits| hits.len() > 3), "round {round}");
        assert_eq!(answers(&kept, &registry), expected, "refreshed, round {round}");
        assert_eq!(kept.selector().postings(), cold.selector().postings(), "round {round}");
        let remembered = SearchIndex::open(&registry, Some(shelf.cache()));
        assert_eq!(answers(&remembered, &registry), expected, "remembered, round {round}");
        for _ in 0..round % 5 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = (seed >> 33) % 60;
            if seed.is_multiple_of(3) {
                let _ = fs::remove_dir_all(shelf.root().join(format!("s{number}")));
            } else {
                shelf.write(number, ["zebra", "revue", "quiet"][round % 3]);
            }
        }
        registry.refresh().unwrap();
        kept.refresh(&registry);
        if round % 2 == 0 {
            settle(&mut kept, &mut registry);
        }
    }
}

#[test]
fn a_refresh_reads_what_changed_and_nothing_else() {
    let shelf = Shelf::new(5);
    let mut registry = shelf.registry();
    let mut index = SearchIndex::open(&registry, Some(shelf.cache()));
    settle(&mut index, &mut registry);
    let mut remembered = SearchIndex::open(&registry, Some(shelf.cache()));
    assert_eq!(remembered.refresh(&registry), Refreshed { analysed: 0, kept: 5, removed: 0 });
    shelf.write(5, "new");
    shelf.write(1, "other");
    fs::remove_dir_all(shelf.root().join("s0")).unwrap();
    registry.refresh().unwrap();
    assert_eq!(remembered.refresh(&registry), Refreshed { analysed: 2, kept: 3, removed: 1 });
    assert_eq!(remembered.len(), 5);
}

#[test]
fn names_and_descriptions_are_found_before_bodies_are_read() {
    let shelf = Shelf::new(3);
    shelf.write(1, "zebra");
    let registry = shelf.registry();
    let mut index = SearchIndex::heads(&registry);
    let catalog = registry.catalog();
    let find = |index: &SearchIndex, text: &str| {
        let hits = search(index, &Query::text(text), &catalog.list(), &SelectOptions::default()).unwrap();
        hits.into_iter().map(|hit| hit.key).collect::<Vec<_>>()
    };
    assert_eq!((find(&index, "zebra"), find(&index, "use")), (vec!["s1".to_owned()], Vec::new()));
    assert_eq!(find(&index, "2"), [""; 0]);
    index.refresh(&registry);
    assert_eq!(find(&index, "2"), ["s2"]);
    assert_eq!(answers(&index, &registry), answers(&SearchIndex::open(&registry, None), &registry));
}

#[test]
fn a_body_counts_once_its_skill_is_trusted() {
    let shelf = Shelf::new(2);
    shelf.write(1, "zebra");
    let mut registry = Registry::new();
    let source = DirSource::new(shelf.root(), ScanOptions::unbounded()).with_scope(Scope::Project);
    registry.add(source).set_trust(Trust::in_approved(Approvals::default()));
    registry.refresh().unwrap();
    let mut index = SearchIndex::open(&registry, Some(shelf.cache()));
    let fields = |index: &SearchIndex| index.selector().search("zebra", 5, None)[0].why.len();
    assert_eq!(fields(&index), 1, "the description alone");
    let mut approvals = Approvals::default();
    approvals.folders.push(shelf.root().canonicalize().unwrap());
    registry.set_trust(Trust::in_approved(approvals));
    registry.refresh().unwrap();
    assert_eq!(index.refresh(&registry).analysed, 2);
    assert_eq!(fields(&index), 2, "the body too");
}

#[test]
fn a_registered_skill_is_found_as_it_is_now() {
    let shelf = Shelf::new(1);
    let registry = shelf.registry();
    let mut index = SearchIndex::open(&registry, Some(shelf.cache()));
    for word in ["giraffe", "lion"] {
        let text = format!("---\nname: zoo\ndescription: Feeds a {word}.\n---\nOnce a day, {word}.\n");
        registry.register(&Skill::parse(&text).unwrap(), true).unwrap();
        index.refresh(&registry);
        assert_eq!(index.selector().search(word, 5, None)[0].key, "zoo");
    }
    assert!(index.selector().search("giraffe", 5, None).is_empty());
    registry.unregister("zoo").unwrap();
    assert_eq!(index.refresh(&registry).removed, 1);
    assert!(index.selector().search("lion", 5, None).is_empty());
}

#[test]
fn a_damaged_old_or_foreign_file_is_as_good_as_none() {
    let shelf = Shelf::new(6);
    let mut registry = shelf.registry();
    let mut index = SearchIndex::open(&registry, Some(shelf.cache()));
    settle(&mut index, &mut registry);
    let expected = answers(&index, &registry);
    let whole = fs::read(shelf.cache()).unwrap();
    let check = |bytes: &[u8], file: &Path| {
        fs::write(file, bytes).unwrap();
        let index = SearchIndex::open(&registry, Some(file.to_owned()));
        assert_eq!(answers(&index, &registry), expected);
    };
    for at in (0..whole.len()).step_by(13) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x20;
        check(&damaged, &shelf.cache());
    }
    for length in [0, 1, 15, 16, 24, 60, whole.len() / 2, whole.len() - 1] {
        check(&whole[..length], &shelf.cache());
    }
    check(&[&whole[..], &[0]].concat(), &shelf.cache());
    check(b"prowess terms 0\n", &shelf.cache());
    check(&[b"prowess terms 2\n".as_slice(), &[0xff; 400]].concat(), &shelf.cache());
    // What another folder left there is sound and of no use.
    let other = Shelf::new(9);
    let mut others = other.registry();
    let mut theirs = SearchIndex::open(&others, Some(other.cache()));
    settle(&mut theirs, &mut others);
    check(&fs::read(other.cache()).unwrap(), &shelf.cache());
    // A folder in its place cannot be written, and is no reason to fail.
    fs::remove_file(shelf.cache()).unwrap();
    fs::create_dir(shelf.cache()).unwrap();
    assert_eq!(answers(&SearchIndex::open(&registry, Some(shelf.cache())), &registry), expected);
}

#[test]
fn a_hundred_thousand_skills_are_searched_and_shown_within_a_budget() {
    let count = 100_000;
    let name = |number: usize| format!("skill-{number:05}");
    let about = |number: usize| format!("Handles case{} of kind{} things.", number, number % 100);
    let postings = gather(count, 2, |at, reader| {
        reader.add(&Texts { name: &name(at), about: vec![&about(at)], body: Some("Do it.") });
    });
    let index = Bm25::new((0..count).map(name).collect(), postings, Settings::default());
    let hits = index.search("case77777", 5, None);
    assert_eq!((hits.len(), hits[0].key.as_str()), (5, "skill-77777"));
    assert_eq!(index.search("kind42 things", usize::MAX, None).len(), count, "everything has things");
    for odd in ["", "x", "🦓", "\u{0}\u{7}", &"things ".repeat(15_000)] {
        assert!(index.search(odd, 5, None).len() <= 5);
    }
    let blank = parse(b"").entry(&Origin::text("<test>"));
    let entries: Vec<Entry> = (0..count)
        .map(|number| {
            let mut entry = blank.clone();
            (entry.key, entry.name, entry.description) = (name(number), name(number), about(number));
            entry
        })
        .collect();
    let shown: Vec<&Entry> = entries.iter().collect();
    let style = CatalogStyle::new(Shape::Compact);
    let catalog = render_within(&shown, &style, Budget::two_percent(200_000), &estimate_tokens);
    assert!(catalog.report.within && catalog.report.included > 500);
    assert_eq!(catalog.report.included + catalog.report.omitted.len(), count);
}
