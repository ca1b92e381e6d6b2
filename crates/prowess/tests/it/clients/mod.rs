//! What clients list: the rows of the table against what the clients themselves answered.

mod home;
mod homes;
mod page;
mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use prowess::library::clients::client;
use prowess_core::client::Same;
use serde_json::Value;

use crate::data;
use home::{Home, SCENES, texts, vectors};

/// The clients that must agree in every name.
const EXACT: [&str; 5] = ["claude-code", "codex", "gemini-cli", "github-copilot", "opencode"];

/// What a client answered, and where the shapes were.
struct Answer {
    client: String,
    prompt: bool,
    project: String,
    user: String,
    without: Vec<String>,
    /// The names of each scene.
    scenes: BTreeMap<String, BTreeSet<String>>,
    /// Which of several skills with one name it took, by scene.
    winners: Value,
}

fn owned(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}

/// What the clients answered, as recorded in this repository.
fn recorded() -> Vec<Answer> {
    let answer = |seen: &Value| {
        let everywhere = texts(&seen["everywhere"]);
        let names = |scene: &str| owned([everywhere.clone(), texts(&seen["scenes"][scene])].concat());
        let text = |member: &str| seen[member].as_str().unwrap().to_owned();
        let reads = client(&text("client")).unwrap().reads();
        assert_eq!(reads.checked.unwrap().version, seen["version"], "{}", seen["client"]);
        Answer {
            client: text("client"),
            prompt: seen["asked"] == "prompt",
            project: text("project"),
            user: text("user"),
            without: owned(texts(&seen["without"])),
            scenes: SCENES.map(|(scene, _)| (scene.to_owned(), names(scene).into_iter().collect())).into(),
            winners: seen["of_several"].clone(),
        }
    };
    vectors("observed.json")["observations"].as_array().unwrap().iter().map(answer).collect()
}

/// Compares the rows with what clients answered, and prints the share of each. The names that differ must be those of
/// which the reason is known.
fn compare(answers: Vec<Answer>) -> Score {
    let home = Home::new();
    let differences = vectors("differences.json");
    let mut expected = BTreeSet::new();
    for difference in differences["differences"].as_array().unwrap() {
        let client = difference["client"].as_str().unwrap();
        assert!(!EXACT.contains(&client) && !difference["reason"].as_str().unwrap().is_empty());
        expected
            .extend(texts(&difference["names"]).into_iter().map(|name| (client.to_owned(), name.to_owned())));
    }
    let mut by_home: BTreeMap<_, Vec<Answer>> = BTreeMap::new();
    for answer in answers {
        let folders = (answer.project.clone(), answer.user.clone(), answer.without.clone());
        by_home.entry(folders).or_default().push(answer);
    }
    let mut different = BTreeSet::new();
    let mut score = Score::default();
    for ((project, user, without), answers) in by_home {
        let without: Vec<&str> = without.iter().map(String::as_str).collect();
        home.shape(&project, &user, &without);
        for answer in answers {
            let id = answer.client.as_str();
            let reads = client(id).unwrap().reads();
            for (scene, folder) in SCENES {
                let names = home.names(client(id).unwrap(), folder, answer.prompt);
                let ours: BTreeSet<&str> = names.keys().map(String::as_str).collect();
                let theirs: BTreeSet<&str> = answer.scenes[scene].iter().map(String::as_str).collect();
                score.add(id, scene, &ours, &theirs);
                let other =
                    ours.symmetric_difference(&theirs).map(|name| (id.to_owned(), (*name).to_owned()));
                different.extend(other);
                let winners = answer.winners[scene].as_object().filter(|_| reads.same != Same::Unstable);
                for (name, winner) in winners.into_iter().flatten() {
                    let mut ours: Vec<&str> = names[name].iter().map(String::as_str).collect();
                    let mut theirs = texts(winner);
                    ours.sort_unstable();
                    theirs.sort_unstable();
                    assert_eq!(ours, theirs, "{id} in {scene}: {name}");
                }
            }
        }
        home.plain(&project, &user);
    }
    println!("{}", score.table());
    assert_eq!(different, expected, "\n{}", score.table());
    score
}

#[test]
fn the_rows_of_clients_agree_with_what_the_clients_listed() {
    compare(recorded());
}

#[test]
fn the_rows_of_clients_agree_with_answers_from_elsewhere() {
    let Some(folder) = data::external("the comparison with answers of clients from elsewhere") else {
        return;
    };
    let file = std::fs::File::open(folder.join("clients/observed.json.gz")).unwrap();
    let answers: Value = serde_json::from_reader(flate2::read::GzDecoder::new(file)).unwrap();
    let mut recorded = recorded();
    let mut compared = Vec::new();
    for (asker, answer) in answers.as_object().unwrap() {
        let id = answer["client"].as_str().unwrap();
        // Clients that were asked in two ways have a second asker for the prompt.
        let ways = recorded.iter().filter(|own| own.client == id).count();
        let prompt = asker.ends_with("_prompt");
        let at = recorded.iter().position(|own| own.client == id && (ways == 1 || own.prompt == prompt));
        let mut answered = recorded.remove(at.unwrap_or_else(|| panic!("{asker} is not recorded here")));
        // What a client lists in an empty home is its own.
        let listed = |scene: &str| answer["scenes"][scene].as_array().into_iter().flatten();
        let name = |skill: &Value| skill["name"].as_str().unwrap().to_owned();
        let own: BTreeSet<String> = listed("empty").map(name).collect();
        for (scene, names) in &mut answered.scenes {
            let shown = listed(scene).filter(|skill| skill["builtin"] != true && skill["hidden"] != true);
            *names = shown.map(name).filter(|name| !own.contains(name)).collect();
        }
        answered.winners = Value::Null;
        compared.push(answered);
    }
    assert!(recorded.is_empty(), "every way of asking is in both");
    let score = compare(compared);
    let (common, total) = score.sum();
    assert!(common * 100 >= total * 92, "{common} of {total}");
}

/// How many names are the same, for each client.
#[derive(Default)]
struct Score {
    counts: BTreeMap<String, (usize, usize)>,
    lines: String,
}

impl Score {
    fn add(&mut self, id: &str, scene: &str, ours: &BTreeSet<&str>, theirs: &BTreeSet<&str>) {
        let (both, all) = (ours.intersection(theirs).count(), ours.union(theirs).count());
        let (common, total) = self.counts.entry(id.to_owned()).or_default();
        (*common, *total) = (*common + both, *total + all);
        if both != all {
            let only =
                |one: &BTreeSet<&str>, other| one.difference(other).copied().collect::<Vec<_>>().join(" ");
            let (client, here) = (only(theirs, ours), only(ours, theirs));
            let _ = writeln!(self.lines, "{id} {scene}: only the client: {client}; only here: {here}");
        }
    }

    fn sum(&self) -> (usize, usize) {
        self.counts.values().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
    }

    fn table(&self) -> String {
        let percent = |common: usize, total: usize| {
            let hundredths = common * 10_000 / total.max(1);
            format!("{common}/{total} = {}.{:02} %", hundredths / 100, hundredths % 100)
        };
        let row =
            |(id, (common, total)): (&String, &(usize, usize))| format!("{id}: {}", percent(*common, *total));
        let rows: Vec<String> = self.counts.iter().map(row).collect();
        let sum = self.sum();
        format!("{}{}\nall: {}", self.lines, rows.join("\n"), percent(sum.0, sum.1))
    }
}
