//! What clients list: the rows of the table against what the clients themselves answered.

mod home;
mod page;
mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use prowess::library::clients::client;
use prowess_core::client::Same;
use serde_json::Value;

use home::{Home, SCENES, texts, vectors};

/// The clients that must agree in every name.
const EXACT: [&str; 5] = ["claude-code", "codex", "gemini-cli", "github-copilot", "opencode"];

#[test]
fn the_rows_of_clients_agree_with_what_the_clients_listed() {
    let home = Home::new();
    let (observed, differences) = (vectors("observed.json"), vectors("differences.json"));
    let mut expected = BTreeSet::new();
    for difference in differences["differences"].as_array().unwrap() {
        let client = difference["client"].as_str().unwrap();
        assert!(!EXACT.contains(&client) && !difference["reason"].as_str().unwrap().is_empty());
        expected.extend(texts(&difference["names"]).into_iter().map(|name| (client, name)));
    }
    let mut by_home: BTreeMap<_, Vec<&Value>> = BTreeMap::new();
    for seen in observed["observations"].as_array().unwrap() {
        let folders = (seen["project"].as_str().unwrap(), seen["user"].as_str().unwrap());
        by_home.entry((folders, texts(&seen["without"]))).or_default().push(seen);
    }
    let mut different = BTreeSet::new();
    let mut score = Score::default();
    for (((project, user), without), observations) in by_home {
        home.shape(project, user, &without);
        for seen in observations {
            let id = seen["client"].as_str().unwrap();
            let reads = client(id).unwrap().reads();
            assert_eq!(reads.checked.unwrap().version, seen["version"], "{id}");
            for (scene, folder) in SCENES {
                let names = home.names(client(id).unwrap(), folder, seen["asked"] == "prompt");
                let ours: BTreeSet<&str> = names.keys().map(String::as_str).collect();
                let mut theirs: BTreeSet<&str> = texts(&seen["scenes"][scene]).into_iter().collect();
                theirs.extend(texts(&seen["everywhere"]));
                score.add(id, scene, &ours, &theirs);
                let other = ours.symmetric_difference(&theirs).map(|name| (id, (*name).to_owned()));
                different.extend(other);
                let winners = seen["of_several"][scene].as_object().filter(|_| reads.same != Same::Unstable);
                for (name, winner) in winners.into_iter().flatten() {
                    let mut ours: Vec<&str> = names[name].iter().map(String::as_str).collect();
                    let mut theirs = texts(winner);
                    ours.sort_unstable();
                    theirs.sort_unstable();
                    assert_eq!(ours, theirs, "{id} in {scene}: {name}");
                }
            }
        }
        home.plain(project, user);
    }
    println!("{}", score.table());
    let different: BTreeSet<(&str, &str)> = different.iter().map(|(id, name)| (*id, name.as_str())).collect();
    assert_eq!(different, expected, "\n{}", score.table());
}

/// How many names are the same, for each client.
#[derive(Default)]
struct Score<'s> {
    counts: BTreeMap<&'s str, (usize, usize)>,
    lines: String,
}

impl<'s> Score<'s> {
    fn add(&mut self, id: &'s str, scene: &str, ours: &BTreeSet<&str>, theirs: &BTreeSet<&str>) {
        let (both, all) = (ours.intersection(theirs).count(), ours.union(theirs).count());
        let (common, total) = self.counts.entry(id).or_default();
        (*common, *total) = (*common + both, *total + all);
        if both != all {
            let only =
                |one: &BTreeSet<&str>, other| one.difference(other).copied().collect::<Vec<_>>().join(" ");
            let (client, here) = (only(theirs, ours), only(ours, theirs));
            let _ = writeln!(self.lines, "{id} {scene}: only the client: {client}; only here: {here}");
        }
    }

    fn table(&self) -> String {
        let percent = |common: usize, total: usize| {
            let hundredths = common * 10_000 / total.max(1);
            format!("{common}/{total} = {}.{:02} %", hundredths / 100, hundredths % 100)
        };
        let row =
            |(id, (common, total)): (&&str, &(usize, usize))| format!("{id}: {}", percent(*common, *total));
        let rows: Vec<String> = self.counts.iter().map(row).collect();
        let sum = self.counts.values().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        format!("{}{}\nall: {}", self.lines, rows.join("\n"), percent(sum.0, sum.1))
    }
}
