//! Writes `docs/project/conformance.md` from the vectors, and fails when it is out of date.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use prowess_core::Preset;
use serde_json::Value;

use super::five_systems::recorded;
use super::vectors::{Reading, Verdict, list, load, root, text, word};

const SYSTEMS: [(&str, &str); 8] = [
    ("drover strict", "drover-strict"),
    ("drover lenient", "drover-lenient"),
    ("fizeau", "fizeau"),
    ("PromptKit", "promptkit"),
    ("deuz", "deuz"),
    ("zerodep", "zerodep"),
    ("zerodep validate", "zerodep-validate"),
    ("skills-ref", "skills-ref-validate"),
];

const INTRODUCTION: &str = "\
# Conformance

This page is written by a test from the vectors in [`conformance/`](../../conformance/README.md). To change it, change \
the vectors, then run `PROWESS_UPDATE_DOCS=1 cargo test -p prowess --test it`.

Skill loaders disagree about the same files. For 68 small files we recorded what five skill libraries and the \
reference validator do, and hold Prowess to it:

- what any of them loads with a name and a description, the profile `lenient` loads with the same name, description, \
tools and metadata; every exception is listed below with its reason
- what their strict modes reject for a reason in the specification, the profile `spec` rejects with a code for it

fizeau, PromptKit, deuz and skills-ref were run. The rows of drover and zerodep are approximate; take them as read \
from their source. The versions are in [`conformance/README.md`](../../conformance/README.md).
";

#[test]
fn the_conformance_page_is_up_to_date() {
    let page = page();
    let file = root().join("docs/project/conformance.md");
    if std::env::var_os("PROWESS_UPDATE_DOCS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == page,
        "docs/project/conformance.md is out of date; run PROWESS_UPDATE_DOCS=1 cargo test -p prowess --test it"
    );
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    five_systems(&mut page);
    skills_ref(&mut page);
    page
}

fn five_systems(page: &mut String) {
    let cases = load("five-systems/cases.json");
    let differences = load("five-systems/differences.json");
    let strict = load("five-systems/strict.json");
    page.push_str(
        "\n## Five systems and skills-ref\n\n`yes`: it loads, with the number of issues it reports. `empty`: it loads \
         without a name or a description. `no`: it refuses. skills-ref and zerodep validate only say yes or no. For \
         `lenient` and `spec`, the codes behind the word are errors after `no` and warnings or remarks after `yes`. \
         A star marks a difference that is explained below the table.\n\n| case | what it holds |",
    );
    for (title, _) in SYSTEMS {
        let _ = write!(page, " {title} |");
    }
    page.push_str(" `lenient` | `spec` |\n|");
    page.push_str(&" --- |".repeat(SYSTEMS.len() + 4));
    page.push('\n');
    let results: Vec<Value> = SYSTEMS.iter().map(|(_, system)| recorded(system)).collect();
    for case in list(&cases["cases"]) {
        let id = word(&case["id"]);
        let _ = write!(page, "| {id} | {} |", cell(word(&case["pins"])));
        for ((_, system), results) in SYSTEMS.iter().zip(&results) {
            let differs = list(&differences["differences"])
                .iter()
                .any(|difference| difference["case"] == id && difference["system"] == *system);
            let _ = write!(page, " {}{} |", theirs(&results[id]), if differs { " *" } else { "" });
        }
        let reading = Reading::of(case);
        for preset in [Preset::Lenient, Preset::Spec] {
            let _ = write!(page, " {} |", ours(&reading.verdict(preset)));
        }
        page.push('\n');
    }
    let strict_modes = ["drover strict", "zerodep validate"];
    let readers = SYSTEMS.iter().zip(&results).filter(|((title, _), _)| !strict_modes.contains(title));
    let readers: Vec<&Value> = readers.map(|(_, results)| results).collect();
    let agree = |case: &&Value| {
        let loads = |results: &&&Value| theirs(&results[word(&case["id"])]).starts_with("yes");
        [0, readers.len()].contains(&readers.iter().filter(loads).count())
    };
    let cases = list(&cases["cases"]);
    let _ = writeln!(
        page,
        "\nWithout the two strict modes, these are {} readers. They agree about whether a file loads for {} of {} files.",
        readers.len(),
        cases.iter().filter(agree).count(),
        cases.len()
    );
    page.push_str(
        "\n### Where Prowess differs\n\nOne line for each value that differs, and for each refusal.\n\n",
    );
    let mut reasons: BTreeMap<(usize, &str, &str), Vec<&str>> = BTreeMap::new();
    for (order, difference) in list(&differences["differences"]).iter().enumerate() {
        let (case, what) = (word(&difference["case"]), word(&difference["what"]));
        let reason = word(&difference["reason"]);
        let known = reasons.iter_mut().find(|((at, ..), _)| {
            let first = &differences["differences"][*at];
            first["case"] == case && first["what"] == what && first["reason"] == reason
        });
        match known {
            Some((_, systems)) => systems.push(word(&difference["system"])),
            None => drop(reasons.insert((order, case, what), vec![word(&difference["system"])])),
        }
    }
    page.push_str("| case | what | system | reason |\n| --- | --- | --- | --- |\n");
    for ((order, case, what), systems) in reasons {
        let reason = word(&differences["differences"][order]["reason"]);
        let _ = writeln!(page, "| {case} | {what} | {} | {} |", systems.join(", "), cell(reason));
    }
    page.push_str(
        "\n### What a strict mode rejects and `spec` does not\n\nThe reason is not in the specification.\n\n\
         | case | rejected by | why `spec` accepts it |\n| --- | --- | --- |\n",
    );
    for row in list(&strict["not_in_the_specification"]) {
        let systems: Vec<&str> = list(&row["systems"]).iter().map(word).collect();
        let (case, reason) = (word(&row["case"]), word(&row["reason"]));
        let _ = writeln!(page, "| {case} | {} | {} |", systems.join(", "), cell(reason));
    }
}

fn skills_ref(page: &mut String) {
    let official = load("skills-ref/official.json");
    let probes = load("skills-ref/probes.json");
    let differences = load("skills-ref/differences.json");
    let _ = write!(
        page,
        "\n## The profile `skills-ref`\n\nThe reference validator's own tests pin 40 cases, and all of them hold: {} in \
         the profile `skills-ref`, {} as renderings, and {} on real folders.\n",
        list(&official["cases"]).len(),
        list(&official["rendered"]).len(),
        list(&official["folders"]).len(),
    );
    let verdicts = list(&differences["differences"]).iter().filter(|row| row["what"] == "verdict").count();
    let count = list(&probes["cases"]).len();
    let _ = write!(
        page,
        "\nBeyond its tests, skills-ref was run on {count} probes. The verdict is the same for {}. These are all the \
         differences, in the verdict and in the values:\n\n| probe | what | reason |\n| --- | --- | --- |\n",
        count - verdicts,
    );
    for row in list(&differences["differences"]) {
        let (probe, what) = (word(&row["probe"]), word(&row["what"]));
        let _ = writeln!(page, "| {} | {what} | {} |", cell(probe), cell(word(&row["reason"])));
    }
}

/// What a system did, in a word.
fn theirs(result: &Value) -> String {
    if result["ok"] == false {
        return "no".to_owned();
    }
    let blank = |value: &Value| !value.is_null() && text(value).trim().is_empty();
    let word = if blank(&result["name"]) || blank(&result["description"]) { "empty" } else { "yes" };
    match list(&result["issues"]).len() {
        0 => word.to_owned(),
        issues => format!("{word}, {issues}"),
    }
}

/// What a profile says, in a word and its codes.
fn ours(verdict: &Verdict) -> String {
    let codes: Vec<String> = if verdict.loads() {
        verdict.warnings.iter().chain(&verdict.infos).map(|code| format!("`{code}`")).collect()
    } else {
        verdict.errors.iter().map(|code| format!("`{code}`")).collect()
    };
    let word = if verdict.loads() { "yes" } else { "no" };
    if codes.is_empty() { word.to_owned() } else { format!("{word}: {}", codes.join(", ")) }
}

/// Text inside a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
