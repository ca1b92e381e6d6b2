//! A hidden skill on every route: nothing of it is seen, and a refusal is that of an unknown name.

use super::*;
use crate::catalog::{Obstacle, TurnedOffBy};
use crate::render::{Budget, CatalogStyle, Shape, estimate_tokens};
use crate::select::{All, Query, SelectOptions};

/// Words that only the hidden skill contains.
const MARKS: [&str; 4] = ["About secret", "Body of secret", "hush.md", "hushed"];

fn shelf(fields: &str) -> Shelf {
    let mut shelf = Shelf::with(&[("open", ""), ("other", "")]);
    shelf.put("secret", fields, "Body of secret.").files.insert("hush.md".into(), "hushed".into());
    shelf
}

/// A way to hide a skill: its name, the skills, the policy.
fn hidings() -> Vec<(&'static str, Shelf, Policy)> {
    let open = Policy::default;
    let mut untrusted = shelf("");
    untrusted.skills.get_mut("secret").unwrap().change = |c| c.obstacle = Some(Obstacle::Untrusted);
    let mut disabled = shelf("");
    disabled.skills.get_mut("secret").unwrap().change =
        |c| c.obstacle = Some(Obstacle::Disabled { by: TurnedOffBy::List("me".into()) });
    let mut remote = shelf("");
    remote.skills.get_mut("secret").unwrap().change = |c| c.entry.origin.scope = Scope::Remote;
    let unseen = OriginRule { visible: false, ..OriginRule::usual(Scope::Remote) };
    vec![
        ("filter", shelf(""), Policy { filter: "shelf/o*".parse().unwrap(), ..open() }),
        ("none", shelf(""), Policy { filter: Filter::none(), ..open() }),
        ("deny", shelf(""), Policy { deny: ["secret"].into_iter().collect(), ..open() }),
        ("allow", shelf(""), Policy { allow: Some(["other", "open"].into_iter().collect()), ..open() }),
        ("untrusted", untrusted, open()),
        ("disabled", disabled, open()),
        ("origin", remote, Policy { origins: [(Scope::Remote, unseen)].into(), ..open() }),
        ("model-off", shelf("disable-model-invocation: true"), open()),
    ]
}

fn assert_silent(route: &str, text: &str) {
    for mark in MARKS {
        assert!(!text.contains(mark), "{route} reveals the hidden skill: {text}");
    }
}

#[test]
fn no_route_leads_to_a_hidden_skill() {
    for (hiding, shelf, policy) in hidings() {
        let catalog = (CatalogStyle::new(Shape::Plain), Budget::Unlimited);
        let options = Options { catalog_in_tool: Some(catalog), ..Options::default() };
        let mut session = shelf.session(policy, options);
        let style = CatalogStyle::default();
        let mut ask = PromptOptions::new(&style, Budget::Unlimited);
        assert_silent(hiding, &session.prompt(&ask).unwrap().text);
        let (query, narrow) = (Query::text("secret"), SelectOptions::default());
        ask.narrow = Some((&query, &All, &narrow));
        assert_silent(hiding, &session.prompt(&ask).unwrap().text);
        ask.folder = "shelf/secret";
        assert_silent(hiding, &session.prompt(&ask).unwrap().text);
        let tools = serde_json::to_string(&session.tools()).unwrap();
        assert!(!tools.contains("secret"), "{hiding}: {tools}");
        for (tool, arguments) in [
            ("list_skills", json!({})),
            ("list_skills", json!({"folder": "shelf/secret"})),
            ("search_skills", json!({"query": "secret"})),
            ("load_skill", json!({"name": "secret"})),
            ("unload_skill", json!({"name": "secret"})),
            ("read_skill_resource", json!({"name": "secret"})),
            ("read_skill_resource", json!({"name": "secret", "path": "hush.md"})),
            ("read_skill_resource", json!({"name": "secret", "path": "SKILL.md"})),
            ("run_skill_script", json!({"name": "secret", "path": "hush.md"})),
        ] {
            let result = shelf.call(&mut session, tool, arguments.clone());
            let said = serde_json::to_string(&result).unwrap();
            assert_silent(hiding, &said);
            // The same words as for an unknown name.
            let mut absent = arguments.clone();
            if arguments.get("name").is_some() {
                absent["name"] = "absent".into();
                let absent = serde_json::to_string(&shelf.call(&mut session, tool, absent)).unwrap();
                assert_eq!(said.replace("secret", "absent"), absent, "{hiding} {tool}");
                assert!(!result.is_ok());
            }
        }
        assert!(session.active_skills().is_empty(), "{hiding}");
        assert_eq!(session.reinject(ReinjectBudget::default(), &estimate_tokens).text, "");
    }
}

#[test]
fn a_filter_of_the_call_replaces_the_glob_and_nothing_else() {
    for (hiding, shelf, policy) in hidings() {
        let mut session = shelf.session(policy, Options::default());
        let call = ToolCall {
            filter: Some(Filter::all()),
            ..ToolCall::new("load_skill", json!({"name": "secret"}))
        };
        let step = session.call(call);
        let result = shelf.finish(&mut session, step);
        assert_eq!(result.is_ok(), matches!(hiding, "filter" | "none"), "{hiding}: {}", result.text);
    }
    let shelf = shelf("");
    let mut session = shelf.session(Policy::default(), Options::default());
    let filter = Some("shelf/o*".parse().unwrap());
    for tool in ["load_skill", "read_skill_resource"] {
        let call = ToolCall { filter: filter.clone(), ..ToolCall::new(tool, json!({"name": "secret"})) };
        let step = session.call(call);
        assert_eq!(code(&shelf.finish(&mut session, step)), "unknown-skill");
    }
}

#[test]
fn what_is_hidden_between_call_and_resume_stays_hidden() {
    for (hiding, hidden, policy) in hidings() {
        for tool in ["load_skill", "read_skill_resource", "search_skills"] {
            let open = shelf("");
            let mut session = open.session(Policy::default(), Options::default());
            let arguments = match tool {
                "search_skills" => json!({"query": "secret"}),
                "load_skill" => json!({"name": "secret"}),
                _ => json!({"name": "secret", "path": "hush.md"}),
            };
            let step = session.call(ToolCall::new(tool, arguments));
            session.set_policy(policy.clone());
            session.set_catalog(hidden.catalog());
            let said = serde_json::to_string(&open.finish(&mut session, step)).unwrap();
            assert_silent(hiding, &said);
            assert!(session.active_skills().is_empty(), "{hiding}");
        }
    }
}

#[test]
fn a_file_that_says_so_by_now_hides_its_skill() {
    let mut shelf = shelf("");
    let mut session = shelf.session(Policy::default(), Options::default());
    shelf.put("secret", "disable-model-invocation: true", "Body of secret.");
    let result = shelf.load(&mut session, "secret");
    assert_eq!(code(&result), "unknown-skill");
    assert_silent("reading", &result.full_text());
}

#[test]
fn a_user_and_a_host_may_start_what_the_model_may_not() {
    let shelf = shelf("disable-model-invocation: true\nallowed-tools: Read");
    let mut session = shelf.session(Policy::default(), Options::default());
    let step = session.invoke("/secret now").remove(0);
    assert!(shelf.finish(&mut session, step).is_ok());
    // Its files are open to the model then, and it can put the skill away.
    let file = shelf.call(&mut session, "read_skill_resource", json!({"name": "secret", "path": "hush.md"}));
    assert_eq!(file.text, "hushed");
    assert_eq!(session.active_tools(), ["Read"]);
    assert!(shelf.call(&mut session, "unload_skill", json!({"name": "secret"})).is_ok());
    assert_eq!(code(&shelf.load(&mut session, "secret")), "unknown-skill");
    let (name, step) = session.preload(&["secret"]).remove(0);
    assert!(shelf.finish(&mut session, step).is_ok() && name == "secret");
    // And the other way round.
    let model_only = self::shelf("user-invocable: false");
    let mut session = model_only.session(Policy::default(), Options::default());
    let step = session.invoke("/secret").remove(0);
    assert_eq!(code(&model_only.finish(&mut session, step)), "not-invocable");
    assert!(model_only.load(&mut session, "secret").is_ok());
}

#[test]
fn a_person_is_told_why_a_skill_is_not_offered_and_a_model_is_not() {
    let mut shelf = shelf("");
    shelf.skills.get_mut("secret").unwrap().change =
        |c| c.obstacle = Some(Obstacle::Disabled { by: TurnedOffBy::List("prowess.toml".into()) });
    let mut session = shelf.session(Policy::default(), Options::default());
    let step = session.activate("secret", Actor::User, None, None);
    let told = shelf.finish(&mut session, step);
    assert_eq!(
        (code(&told), &*told.full_text()),
        ("unknown-skill", "this skill is turned off: secret: by prowess.toml\nhint: turn it on again there")
    );
    let refused = shelf.load(&mut session, "secret");
    assert_eq!(refused.full_text(), "there is no such skill: secret\nhint: the skills are open, other");
}

#[test]
fn neither_schemas_nor_lists_carry_hidden_text() {
    let sly = "pdf\u{e0069}\u{e0067}";
    let shelf = Shelf::with(&[("a", ""), (sly, "")]);
    let mut session = shelf.session(Policy::default(), Options::default());
    let tools = serde_json::to_string(&session.tools()).unwrap();
    assert!(tools.contains("\"a\"") && !tools.contains('\u{e0069}'), "{tools}");
    let Step::Done(listed) = session.call(ToolCall::new("list_skills", json!({}))) else {
        panic!("no effect")
    };
    let rows = listed.data["skills"].as_array().unwrap();
    assert!(rows.iter().all(|row| !row["description"].as_str().unwrap().contains('\u{e0069}')), "{rows:?}");
}
