//! What `search`, `list` and `why` say about one client and about several, where names, costs and options meet.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use crate::Place;
use crate::shelf::{json_of, run};

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
}

fn place(skills: &[(&str, &str, &str)]) -> Place {
    let place = Place::with(&[]);
    for (folder, name, description) in skills {
        place.write(&format!("{folder}/SKILL.md"), skill(name, description).as_bytes());
    }
    place
}

/// Two skills under one name, both of which Codex lists.
fn twins() -> Place {
    place(&[
        ("home/.agents/skills/u1", "u1", "User copy about apples."),
        (".agents/skills/u1", "u1", "Project copy about oranges."),
        (".agents/skills/u2", "u2", "Something about pears."),
    ])
}

#[test]
fn a_search_finds_the_one_of_two_skills_with_one_name_that_fits() {
    let place = twins();
    for (query, path, trusted) in
        [("apples", "home/.agents/skills/u1", true), ("oranges", "/.agents/skills/u1", false)]
    {
        let found = json_of(&place, &["search", query, "--client", "codex", "--json"]);
        let hits = found["hits"].as_array().unwrap();
        assert_eq!(hits.len(), 1, "{found:#}");
        let place = hits[0]["path"].as_str().unwrap();
        assert!(place.ends_with(&format!("{path}/SKILL.md")), "{place}");
        assert_eq!((hits[0]["trusted"].as_bool(), hits[0]["key"].as_str()), (Some(trusted), Some("u1")));
        assert!(hits[0]["description"].as_str().unwrap().contains(query));
    }
    let prompt = run(&place, &["prompt", "--client", "codex", "--query", "apples"]);
    assert!(prompt.contains("apples") && !prompt.contains("oranges"), "{prompt}");
}

#[test]
fn the_cost_of_a_client_is_what_its_prompt_has() {
    let place = place(&[
        (".claude/skills/c1", "c1", "Does the first thing when asked."),
        ("home/.claude/skills/c2", "c2", "Does the second thing when asked."),
        (".agents/skills/a1", "a1", "Does another thing when asked."),
    ]);
    place.write(
        "home/.agents/skills/hid/SKILL.md",
        b"---\nname: hid\ndescription: Hidden in some.\ndisable-model-invocation: true\n---\n",
    );
    for client in ["claude-code", "codex"] {
        let listed = json_of(&place, &["list", "--client", client, "--cost", "--json"]);
        let prompt = json_of(&place, &["prompt", "--client", client, "--json"]);
        let doctor = json_of(&place, &["doctor", "--json"]);
        let used = prompt["report"]["used"].as_u64();
        assert!(used > Some(0), "{prompt:#}");
        assert_eq!(listed["summary"]["prompt_tokens"].as_u64(), used, "{client}");
        let of_doctor = doctor["clients"].as_array().unwrap().iter().find(|row| row["client"] == client);
        if let Some(row) = of_doctor {
            assert_eq!(row["tokens"].as_u64(), used, "{client}");
        }
        for row in listed["skills"].as_array().unwrap() {
            let in_prompt = prompt["skills"].as_array().unwrap().contains(&row["key"]);
            assert_eq!(row["cost"]["catalog"].as_u64() > Some(0), in_prompt, "{client}: {row:#}");
        }
    }
}

#[test]
fn the_column_of_costs_adds_up_to_the_total() {
    let place = place(&[
        ("home/.claude/skills/one", "one", "Does the first thing when asked."),
        (".claude/skills/two", "two", "Does the second thing when asked."),
    ]);
    assert_snapshot!(run(&place, &["list", "--cost"]), @"
    exit 0
    --- stdout
    prompt   used   files  tokens, about
        27      2       0  one  Does the first thing when asked.
        26      2       0  two  not trusted: Does the second thing when asked.

    2 skills, about 36 tokens in every prompt (skills 27, around them 9, without 26 not trusted); 1 not trusted: prowess trust
    ");
    let text = run(&place, &["prompt"]);
    assert!(text.contains("1 skill not trusted and left out"), "{text}");
}

#[test]
fn a_prompt_says_which_skills_only_a_user_may_start() {
    let place = place(&[("home/.claude/skills/one", "one", "Does the first thing when asked.")]);
    place.write(
        "home/.claude/skills/hid/SKILL.md",
        b"---\nname: hid\ndescription: Hidden.\ndisable-model-invocation: true\n---\n",
    );
    assert!(run(&place, &["prompt"]).contains("left out 1 skill that only a user may start"));
}

#[test]
fn several_clients_refuse_or_apply_every_option() {
    let place = place(&[
        ("home/.agents/skills/one", "one", "Does the first thing when asked."),
        ("home/.agents/skills/two", "two", "Does the second thing when asked."),
    ]);
    let several = |more: &[&'static str]| {
        let args: Vec<&str> = ["list", "--client", "codex,gemini-cli"].iter().chain(more).copied().collect();
        run(&place, &args)
    };
    for option in [&["--cost"][..], &["--sort", "cost"]] {
        let said = several(option);
        assert!(said.starts_with("exit 2") && said.contains("for the list of one client"), "{said}");
    }
    for option in [&["--only", "one"][..], &["--except", "two"], &["--filter", "one"], &["--folder", "one"]] {
        let said = several(option);
        assert!(said.contains("1 skill: Codex 1, Gemini CLI 1"), "{option:?}: {said}");
    }
    for option in
        ["--client=codex", "--only=x", "--except=x", "--filter=x", "--folder=x", "--tools=x", "--strict=spec"]
    {
        let said = run(&place, &["list", "--installed", option]);
        assert!(said.starts_with("exit 2") && said.contains("cannot be used with"), "{option}: {said}");
    }
}

#[test]
fn a_skill_that_two_clients_reach_through_a_link_is_one_row() {
    let place = place(&[("home/.agents/skills/one", "one", "Does the first thing when asked.")]);
    std::fs::create_dir_all(place.path().join("home/.claude/skills")).unwrap();
    symlink("../../.agents/skills/one", place.path().join("home/.claude/skills/one")).unwrap();
    assert_snapshot!(run(&place, &["list", "--client", "codex,claude-code"]), @"
    exit 0
    --- stdout
    one  codex, claude-code

    1 skill: Codex 1, Claude Code 1
    ");
}

#[test]
fn why_does_not_say_that_a_client_reads_what_it_does_not_list() {
    let place = Place::with(&[]);
    place.write("home/.agents/skills/low/skill.md", skill("low", "In lower case.").as_bytes());
    let said = run(&place, &["why", "low", "--client", "codex"]);
    assert!(said.contains("Codex does not list it") && !said.contains("read by"), "{said}");
    assert!(run(&place, &["why", "low"]).contains("clients that look there: "));
}

#[test]
fn why_ends_with_one_when_the_budget_of_a_client_has_no_room() {
    let place = place(&[
        ("home/.agents/skills/u1", "u1", "Does the first thing when asked."),
        ("home/.agents/skills/u3", "u3", "Does the third thing when asked."),
    ]);
    let said = run(&place, &["why", "u3", "--client", "codex", "--budget", "8"]);
    assert!(said.starts_with("exit 1") && said.contains("in its prompt: no"), "{said}");
    let said = run(&place, &["why", "u3", "--client", "codex", "--query", "first"]);
    assert!(said.starts_with("exit 0") && said.contains("in its prompt: yes, whatever the query"), "{said}");
    let said = run(&place, &["prompt", "--client", "codex", "--budget", "30"]);
    assert!(!said.contains("2 %"), "{said}");
}

#[test]
fn a_link_out_of_an_untrusted_project_is_only_a_warning_beside_an_answer() {
    let place = place(&[("home/.claude/skills/mine", "mine", "Does my own thing.")]);
    std::fs::create_dir_all(place.path().join(".claude/skills")).unwrap();
    symlink("/etc", place.path().join(".claude/skills/etc")).unwrap();
    for args in [
        &["cat", "mine"][..],
        &["activate", "mine"],
        &["show", "mine"],
        &["tools"],
        &["prompt"],
        &["search", "thing"],
    ] {
        let said = run(&place, args);
        assert!(said.starts_with("exit 0") && said.contains("warning: "), "{args:?}: {said}");
    }
    assert!(run(&place, &["search", "nothing-like-this"]).starts_with("exit 2"));
}

#[test]
fn an_empty_name_of_a_client_is_refused_and_spaces_are_not_part_of_one() {
    let place = place(&[("home/.agents/skills/one", "one", "Does the first thing when asked.")]);
    let said = run(&place, &["list", "--client", "codex,"]);
    assert!(said.starts_with("exit 2") && said.contains("name a client, such as codex"), "{said}");
    assert!(run(&place, &["list", "--client", "codex, gemini-cli"]).starts_with("exit 0"));
}

#[test]
fn a_skill_that_several_folders_link_to_has_the_path_of_each_client() {
    let place = place(&[("home/.agents/skills/linked", "linked", "Does it when asked.")]);
    let claude = place.path().join("home/.claude/skills");
    std::fs::create_dir_all(&claude).unwrap();
    symlink("../../.agents/skills/linked", claude.join("linked")).unwrap();
    std::fs::create_dir_all(place.path().join("home/.codex")).unwrap();
    let listed = json_of(&place, &["list", "--client", "installed", "--json"]);
    let skill = &listed["skills"][0];
    for seen in skill["seen_by"].as_array().unwrap() {
        let path = seen.get("path").unwrap_or(&skill["path"]).as_str().unwrap();
        let folder = if seen["client"] == "claude-code" { ".claude" } else { ".agents" };
        assert!(path.contains(&format!("/home/{folder}/skills/linked")), "{seen}: {path}");
    }
}

#[test]
fn the_reason_why_a_client_does_not_see_a_skill_is_apart_from_its_description() {
    let place = Place::with(&[("home/.agents/skills/lower/skill.md", &skill("lower", "Lower case file."))]);
    let said = run(&place, &["list", "--all", "--client", "codex"]);
    assert!(said.contains("lower  not seen: its file is not named SKILL.md in this case\n"), "{said}");
}
