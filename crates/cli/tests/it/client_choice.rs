//! Which skills are left out by name, with a client and without.

use serde_json::json;

use crate::shelf::{json_of, output, run};
use crate::{Place, code};

#[test]
fn what_only_and_except_leave_out_is_on_no_route() {
    left_out_on_every_route("");
}

#[test]
fn what_only_and_except_leave_out_is_on_no_route_if_the_settings_turn_it_off_too() {
    left_out_on_every_route("[skills]\ndisable = [\"dog\"]\nenable = [\"cat\"]\n");
}

fn left_out_on_every_route(config: &str) {
    // Neither loads in Prowess, and Claude Code lists both.
    let place = Place::with(&[
        ("config/prowess/prowess.toml", config),
        ("home/.claude/skills/cat/SKILL.md", "# Purrs\n"),
        ("home/.claude/skills/dog/SKILL.md", "# Barks\n"),
        ("home/.claude/skills/hen/SKILL.md", "---\nname: hen\ndescription: Lays eggs.\n---\n"),
    ]);
    for choice in
        [["--only", "c*"].as_slice(), &["--except", "dog,hen"], &["--except", "d*", "--except", "hen"]]
    {
        for client in [[].as_slice(), &["--client", "claude-code"], &["--client", "claude-code,codex"]] {
            let routes: &[&[&str]] = &[
                &["list", "--json"],
                &["list"],
                &["search", "dog barks hen eggs"],
                &["search", "--json", "dog barks hen eggs"],
                &["prompt"],
                &["prompt", "--query", "dog"],
                &["tools"],
                &["try", "dog barks hen eggs"],
            ];
            for route in routes {
                let several = client.iter().any(|id| id.contains(','));
                if several && route[0] != "list" {
                    continue;
                }
                let output = output(&place, &[*route, client, choice].concat());
                // The task and the option are repeated.
                let said = String::from_utf8_lossy(&output.stdout).replace("dog barks hen eggs", "");
                let said =
                    said.replace("dog, barks, hen, eggs", "").replace("dog,hen", "").replace("d*,hen", "");
                assert!(
                    !said.contains("dog") && !said.contains("hen"),
                    "{route:?} {client:?} {choice:?}: {said}"
                );
            }
            for name in ["dog", "hen"] {
                let why = output(&place, &[&["why", name], client, choice].concat());
                let said = String::from_utf8_lossy(&why.stdout);
                assert!(code(&why) == 1 && said.contains("turned off") && said.contains(choice[0]), "{said}");
            }
        }
    }
    let list = json_of(&place, &["list", "--json", "--client", "claude-code", "--only", "c*"]);
    assert_eq!((&list["skills"][0]["name"], &list["summary"]["left_out"]), (&json!("cat"), &json!(2)));
}

#[test]
fn a_skill_that_does_not_load_can_be_turned_off() {
    let place = Place::with(&[
        ("home/.claude/skills/dog/SKILL.md", "# Barks\n"),
        ("config/prowess/prowess.toml", "[skills]\ndisable = [\"dog\"]\n"),
    ]);
    let why = run(&place, &["why", "dog"]);
    assert!(why.contains("turned off by: [DIR]/config/prowess/prowess.toml"), "{why}");
    // Claude Code does not read our configuration.
    let list = run(&place, &["list", "--client", "claude-code"]);
    assert!(list.contains("dog  turned off in prowess"), "{list}");
    let search = run(&place, &["search", "dog", "--client", "claude-code"]);
    assert!(search.contains("turned off in prowess") && !search.contains("not trusted"), "{search}");
}
