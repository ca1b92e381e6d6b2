//! The page of clients, made of their rows.

use std::fmt::Write as _;

use prowess::library::clients::{CLIENTS, Client};
use prowess_core::client::{Climb, Cuts, Fact, Facts, Rewrite};

use crate::data;

#[test]
fn the_page_of_clients_is_current() {
    data::assert_current("docs/reference/clients.md", &page());
}

fn page() -> String {
    let mut text = String::from(
        "# Clients\n\nThis page is generated from the table of clients; `PROWESS_UPDATE_DOCS=1 cargo test --workspace` \
         writes it. `prowess list --client CLIENT` lists what a client lists, and `prowess why NAME --client CLIENT` says \
         why it does or does not. [What clients see](../use/clients.md) explains common surprises.\n\n\
         ## Compared with the clients\n\nEach row was compared with what that version lists on the same skills.\n",
    );
    let (compared, others): (Vec<&Client>, Vec<&Client>) =
        CLIENTS.iter().partition(|client| client.reads.is_some());
    for client in compared {
        section(&mut text, client);
    }
    text.push_str(
        "\n## Folders only, not verified\n\nOf these clients, only the folders into which skills are installed are known. \
         They are taken to read as Prowess does.\n\n| `--client` | client | project | user |\n| --- | --- | --- | --- |\n",
    );
    for client in others {
        let (project, user) = (folders(client.project), folders(client.user));
        let _ = writeln!(text, "| `{}` | {} | {project} | {user} |", client.id, client.name);
    }
    text.push_str(
        "\n## What clients differ about\n\n| code | what is so | what to do |\n| --- | --- | --- |\n",
    );
    for fact in Fact::ALL {
        let _ = writeln!(text, "| `{}` | {} | {} |", fact.code(), fact.what(), fact.fix());
    }
    text
}

fn folders(paths: &[&str]) -> String {
    let code = |path: &&str| format!("`{path}`");
    if paths.is_empty() { "none".to_owned() } else { paths.iter().map(code).collect::<Vec<_>>().join(", ") }
}

fn codes(facts: Facts) -> String {
    let codes: Vec<String> = facts.iter().map(|fact| format!("`{}`", fact.code())).collect();
    if codes.is_empty() { "nothing".to_owned() } else { codes.join(", ") }
}

fn section(text: &mut String, client: &Client) {
    let reads = client.reads();
    let checked = reads.checked.unwrap();
    let _ = write!(
        text,
        "\n### {}\n\n`--client {}`, compared with version {} on {}.\n\n| | |\n| --- | --- |\n",
        client.name, client.id, checked.version, checked.on
    );
    let mut row = |what: &str, said: &str| {
        let _ = writeln!(text, "| {what} | {said} |");
    };
    let mut climbs: Vec<(Climb, Vec<&str>)> = Vec::new();
    for place in reads.project {
        match climbs.iter_mut().find(|(climb, _)| *climb == place.climb) {
            Some((_, paths)) => paths.push(place.path),
            None => climbs.push((place.climb, vec![place.path])),
        }
    }
    let project: Vec<String> =
        climbs.iter().map(|(climb, paths)| format!("{} ({})", folders(paths), climb.words())).collect();
    row("project", &if project.is_empty() { "none".to_owned() } else { project.join("; ") });
    row("user", &folders(reads.user));
    if !reads.admin.is_empty() {
        row("administrator", &folders(reads.admin));
    }
    row("first", if reads.user_first { "the user's" } else { "the project's" });
    row("depth", &if reads.depth > 8 { "any".to_owned() } else { reads.depth.to_string() });
    row("passes over", &codes(reads.refuses));
    row("lists, but not to its model", &codes(reads.hides));
    let name = match (reads.by_folder, reads.folder_if.is_empty()) {
        (true, _) => "that of the folder".to_owned(),
        (false, true) => "that in the file, else that of the folder".to_owned(),
        (false, false) => format!("that in the file; that of the folder with {}", codes(reads.folder_if)),
    };
    let rewrite = match reads.rewrite {
        Rewrite::Slug => ", in lower case with hyphens for all but letters and digits".to_owned(),
        Rewrite::Hyphens(" ") => ", with hyphens for spaces".to_owned(),
        Rewrite::Hyphens(characters) => {
            format!(", with hyphens for each of `{}`", characters.replace('|', "\\|"))
        }
        Rewrite::Cut(most) => format!(", its first {most} characters"),
        _ => String::new(),
    };
    row("name", &format!("{name}{rewrite}"));
    let case = if reads.ignores_case { ", ignoring case" } else { "" };
    row("of several with one name", &format!("{}{case}", reads.same.words()));
    if reads.cuts != Cuts::UNKNOWN {
        row("prompt", &reads.cuts.words());
    }
    row("runs hooks of a skill", &reads.runs.hooks.words());
    row("runs `` !`command` `` of a skill", &reads.runs.commands.words());
    row("how that is known", reads.runs.evidence);
    if reads.main_checkout {
        row("git worktree", "reads the main checkout too");
    }
}
