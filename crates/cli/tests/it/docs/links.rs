//! Links between pages: each leads to a file and a heading that exist, and the index leads to every page.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::{Page, pages, pages_below, top};

/// The text without what is in backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("code")
}

/// The targets of the links of a page.
fn targets(page: &Page) -> Vec<String> {
    let mut targets = Vec::new();
    for line in page.parts().1 {
        for link in without_code(line).split("](").skip(1) {
            targets.push(link.split(')').next().unwrap().to_owned());
        }
    }
    targets
}

/// The anchors of the headings of a page, as GitHub makes them.
fn anchors(page: &Page) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for heading in page.parts().1.into_iter().filter(|line| line.starts_with('#')) {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let heading: String = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let again = (1..).map(|number| format!("{heading}-{number}"));
        let free = std::iter::once(heading.clone()).chain(again).find(|anchor| !anchors.contains(anchor));
        anchors.extend(free);
    }
    anchors
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{} leads out", path.display()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_exist() {
    let pages = pages();
    let (mut wrong, mut found) = (Vec::new(), 0);
    for page in &pages {
        for target in targets(page) {
            if target.starts_with("https://") {
                continue;
            }
            found += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = match path {
                "" => page.path.clone(),
                path => plain(&page.path.parent().unwrap().join(path)),
            };
            let has_anchor = |text| anchors(&Page { path: path.clone(), text }).contains(anchor);
            let target_text = || std::fs::read_to_string(top().join(&path));
            let is_there = top().join(&path).exists();
            if !is_there || !(anchor.is_empty() || target_text().is_ok_and(has_anchor)) {
                wrong.push(format!("{}: {target}", page.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "these links lead nowhere:\n{}", wrong.join("\n"));
    assert!(found > 100, "{found}");
}

#[test]
fn the_index_leads_to_every_page() {
    let docs = pages_below("docs");
    let index = docs.iter().find(|page| page.path == Path::new("docs/README.md")).unwrap();
    let linked: BTreeSet<PathBuf> =
        targets(index).iter().map(|target| plain(&Path::new("docs").join(target))).collect();
    let missing: Vec<String> = docs
        .iter()
        .filter(|page| page.path != index.path && !linked.contains(&page.path))
        .map(Page::name)
        .collect();
    assert!(missing.is_empty(), "docs/README.md has no link to: {}", missing.join(", "));
}

#[test]
fn every_path_of_the_repository_that_a_page_names_exists() {
    const FOLDERS: [&str; 7] =
        ["crates/", "docs/", "conformance/", "interop/", "benches/", "examples/", ".ci/"];
    let (mut wrong, mut found) = (Vec::new(), 0);
    for page in pages().iter().filter(|page| page.path != Path::new("CHANGELOG.md")) {
        for line in page.parts().1 {
            for code in line.split('`').skip(1).step_by(2) {
                let path = code.split([' ', '#']).next().unwrap();
                let is_path = FOLDERS.iter().any(|folder| path.starts_with(folder));
                if is_path && !path.contains(['*', '<', '{', '…']) {
                    found += 1;
                    if !top().join(path).exists() {
                        wrong.push(format!("{}: {path}", page.name()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "these paths do not exist:\n{}", wrong.join("\n"));
    assert!(found > 50, "{found}");
}
