//! Tests that a list of a folder is the same on any number of threads.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::DirSource;
use crate::fs::file_cache::FileCache;
use crate::fs::walk::{FileName, OnError, ScanOptions};
use crate::source::Source as _;
use crate::source::budget::{ProjectBudget, ProjectLimits};

/// An entry of a tree: paths are made of the letters of a text.
#[derive(Clone, Debug)]
enum Thing {
    Skill(String),
    Broken(String),
    Folder(String),
    /// A link to a folder.
    Link(String, String),
    /// A SKILL.md that is a link to that of another folder.
    LinkedFile(String, String),
}

fn make(root: &Path, things: &[Thing]) {
    let at = |letters: &str| {
        letters.chars().fold(root.to_owned(), |path, letter| path.join(format!("s-{letter}")))
    };
    for thing in things {
        // A thing whose place is taken is left out.
        let _ = match thing {
            Thing::Skill(place) => write(&at(place), "---\nname: s-a\ndescription: Does it.\n---\n"),
            Thing::Broken(place) => write(&at(place), "---\nname: [\n"),
            Thing::Folder(place) => fs::create_dir_all(at(place)),
            Thing::Link(place, to) => fs::create_dir_all(at(place).parent().unwrap_or(root))
                .and_then(|()| symlink(at(to), at(place))),
            Thing::LinkedFile(place, to) => fs::create_dir_all(at(place))
                .and_then(|()| symlink(at(to).join("SKILL.md"), at(place).join("SKILL.md"))),
        };
    }
}

fn write(folder: &Path, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("SKILL.md"), text)
}

fn things() -> impl Strategy<Value = Vec<Thing>> {
    let place = || "[a-h]{1,3}";
    let thing = prop_oneof![
        8 => place().prop_map(Thing::Skill),
        1 => place().prop_map(Thing::Broken),
        2 => place().prop_map(Thing::Folder),
        1 => (place(), "[a-h]{0,2}").prop_map(|(place, to)| Thing::Link(place, to)),
        1 => (place(), place()).prop_map(|(place, to)| Thing::LinkedFile(place, to)),
    ];
    proptest::collection::vec(thing, 0..60)
}

/// A number that is often small and often without effect.
fn limit() -> impl Strategy<Value = usize> {
    prop_oneof![1 => 0..30usize, 2 => Just(1_000)]
}

fn options() -> impl Strategy<Value = ScanOptions> {
    let on_error = prop_oneof![
        1 => Just(OnError::Fail), 3 => Just(OnError::Report), 1 => Just(OnError::Ignore)
    ];
    let file_name = prop_oneof![
        3 => Just(FileName::Either),
        1 => Just(FileName::Exact("SKILL.md".into())),
        1 => Just(FileName::AnyCase("skill.MD".into())),
    ];
    let limits = (0..5usize, limit(), limit(), limit(), limit());
    (limits, any::<bool>(), on_error, file_name).prop_map(
        |(
            (max_depth, max_folders, max_entries, max_outside, max_inside),
            stop_at_skill,
            on_error,
            file_name,
        )| {
            ScanOptions {
                max_depth,
                max_folders,
                max_entries,
                max_outside,
                stop_at_skill,
                max_inside,
                file_name,
                on_error,
                ..ScanOptions::default()
            }
        },
    )
}

/// All that a list says.
fn listed(root: &Path, options: &ScanOptions, threads: usize, limits: Option<ProjectLimits>) -> String {
    let options = ScanOptions { threads: Some(threads), ..options.clone() };
    let budget = limits.map(|limits| Arc::new(ProjectBudget::new(limits)));
    let source = DirSource::new(root, options).spending(budget.clone());
    format!("{:#?}\n{:?}", source.list(), budget.map(|budget| budget.problem()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_list_is_the_same_on_any_number_of_threads(
        things in things(),
        options in options(),
        skills in limit(),
        entries in limit(),
        project in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), &things);
        let limits = project.then(|| ProjectLimits { skills, entries, ..ProjectLimits::default() });
        let within = project.then(|| folder.path().to_owned());
        let options = ScanOptions { within, ..options };
        let one = listed(folder.path(), &options, 1, limits);
        for threads in [2, 4] {
            prop_assert_eq!(&listed(folder.path(), &options, threads, limits), &one, "{} threads", threads);
        }
    }
}

#[test]
fn what_is_known_is_taken_from_the_index_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (root, index) = (folder.path().join("skills"), folder.path().join("index"));
    let things: Vec<Thing> = ('a'..='z').map(|letter| Thing::Skill(letter.to_string())).collect();
    make(&root, &things);
    let list = |threads: usize| {
        let options = ScanOptions { threads: Some(threads), ..ScanOptions::default() };
        let source = DirSource::new(&root, options).with_cache(Some(index.clone()));
        format!("{:#?}", source.list().unwrap())
    };
    let one = list(1);
    // What changed a moment ago may change again unseen, and is not remembered at first.
    while FileCache::load(&index).len() < things.len() {
        list(2);
    }
    for threads in [1, 2, 4] {
        assert!(list(threads) == one, "{threads} threads");
    }
}
