//! The results of calls: pages, names that several skills have, filters of a call, the tools of a host.

use super::*;
use crate::render::{Budget, estimate_tokens};

#[test]
fn a_file_is_paged_by_whole_characters_from_wherever_it_is_asked_for() {
    let mut shelf = Shelf::with(&[("a", "")]);
    shelf.skills.get_mut("a").unwrap().files.insert("x.md".into(), "€€€".into());
    let mut session = shelf.session(Policy::default(), Options::default());
    let mut read = |offset: u64, limit: u64| {
        let arguments = json!({"name": "a", "path": "x.md", "offset": offset, "limit": limit});
        shelf.call(&mut session, "read_skill_resource", arguments)
    };
    let page = read(1, 1);
    assert_eq!((&page.data["offset"], &page.data["next"]), (&json!(3), &json!(6)));
    assert!(page.text.starts_with("€\n[bytes 3 to 6 of 9"), "{}", page.text);
    for offset in [9, u64::MAX] {
        let past = read(offset, 5);
        assert_eq!(past.text, format!("this is past the end of the file: x.md: offset {offset} of 9 bytes"));
        assert!(past.is_ok() && past.data.get("next").is_none());
    }
}

#[test]
fn a_list_of_files_comes_in_pages() {
    let mut shelf = Shelf::with(&[("a", "")]);
    let held = shelf.skills.get_mut("a").unwrap();
    for number in 0..250 {
        held.files.insert(format!("references/{number:03}.md"), String::new());
    }
    held.files.insert("z.md".into(), String::new());
    let mut session = shelf.session(Policy::default(), Options { max_files: 90, ..Options::default() });
    let (mut offset, mut seen) = (0, 0);
    loop {
        let page = shelf.call(
            &mut session,
            "read_skill_resource",
            json!({"name": "a", "offset": offset, "limit": 999}),
        );
        let count = |group: &str| page.data["files"][group].as_array().unwrap().len();
        seen += count("references") + count("other");
        assert!(count("references") + count("other") <= 90 && page.data["total"] == 251);
        let Some(next) = page.data.get("next").and_then(Value::as_u64) else { break };
        assert!(page.text.ends_with(&format!("{} more files; continue with offset {next}", 251 - next)));
        offset = next;
    }
    assert_eq!(seen, 251);
    let past = shelf.call(&mut session, "read_skill_resource", json!({"name": "a", "offset": u64::MAX}));
    assert!(past.is_ok() && past.text.starts_with("this is past the last file"), "{}", past.text);
}

#[test]
fn files_that_the_host_cannot_list_are_said_to_be_missing() {
    let mut shelf = Shelf::with(&[("a", "")]);
    let held = shelf.skills.get_mut("a").unwrap();
    held.files.insert("scripts/run.py".into(), String::new());
    for incomplete in [false, true] {
        shelf.skills.get_mut("a").unwrap().incomplete = incomplete;
        let mut session = shelf.session(Policy::default(), Options::default());
        let loaded = shelf.load(&mut session, "a");
        let listed = shelf.call(&mut session, "read_skill_resource", json!({"name": "a"}));
        for result in [&loaded, &listed] {
            let said = result.text.contains("the skill has more files than can be listed");
            assert_eq!(said, incomplete, "{}", result.text);
        }
        let said = incomplete.then_some(&Value::Bool(true));
        assert_eq!(loaded.data["resources"].get("incomplete"), said, "{}", loaded.data);
        assert_eq!(listed.data.get("incomplete"), said, "{}", listed.data);
    }
}

#[test]
fn one_long_line_comes_back_cut_with_its_folder_and_its_hint() {
    let mut shelf = Shelf::with(&[]);
    shelf.put("a", "", &"é".repeat(4_000)).files.insert("x.md".into(), "x".into());
    let mut session = shelf.session(Policy::default(), Options::default());
    shelf.load(&mut session, "a");
    let each = ReinjectBudget { each: Budget::Characters(600), total: Budget::Unlimited };
    let again = session.reinject(each, &estimate_tokens);
    assert_eq!((again.cut, again.omitted.len()), (vec!["a".to_owned()], 0));
    assert!(again.text.contains("éé\n[cut here") && again.text.chars().count() <= 600);
    assert!(again.text.contains("Skill directory: /shelf/a\nRelative paths"));
    assert!(again.text.contains("This skill has 1 other file.") && !again.text.contains("skill_resources"));
    assert_eq!(again.text.matches("skill_content").count(), 2);
}

#[test]
fn a_name_that_several_skills_have_is_refused_with_their_keys() {
    let mut shelf = Shelf::with(&[("one:a", ""), ("two:a", ""), ("b", "")]);
    for held in shelf.skills.values_mut() {
        held.text = held.text.replace("name: one:a", "name: a").replace("name: two:a", "name: a");
    }
    shelf.skills.get_mut("one:a").unwrap().change = |c| c.entry.key = "one:a".into();
    shelf.skills.get_mut("two:a").unwrap().change = |c| c.entry.key = "two:a".into();
    let mut session = shelf.session(Policy::default(), Options::default());
    let refused = shelf.load(&mut session, "a");
    assert_eq!(refused.full_text(), "several skills have this name: a\nhint: name one of one:a, two:a");
    assert_eq!((code(&refused), &refused.data["keys"]), ("ambiguous-skill", &json!(["one:a", "two:a"])));
    assert!(shelf.load(&mut session, "one:a").is_ok() && shelf.load(&mut session, "two:a").is_ok());
    let refused = shelf.call(&mut session, "unload_skill", json!({"name": "a"}));
    assert_eq!((code(&refused), session.active_skills().len()), ("ambiguous-skill", 2));
    assert_eq!(refused.data["more"], 0);
    assert!(shelf.call(&mut session, "unload_skill", json!({"name": "two:a"})).is_ok());
    assert!(
        shelf.call(&mut session, "unload_skill", json!({"name": "a"})).is_ok(),
        "one is left to be meant"
    );
}

#[test]
fn the_files_of_an_active_skill_are_read_under_the_filter_it_came_with() {
    let mut shelf = Shelf::with(&[("a", ""), ("b", "")]);
    shelf.skills.get_mut("b").unwrap().files.insert("x.md".into(), "File of b.".into());
    let policy = Policy { filter: "shelf/a".parse().unwrap(), ..Policy::default() };
    let mut session = shelf.session(policy.clone(), Options::default());
    let read = json!({"name": "b", "path": "x.md"});
    assert_eq!(code(&shelf.call(&mut session, "read_skill_resource", read.clone())), "unknown-skill");
    let filter = Some("shelf/b".parse().unwrap());
    let step = session.call(ToolCall { filter, ..ToolCall::new("load_skill", json!({"name": "b"})) });
    assert!(shelf.finish(&mut session, step).is_ok());
    let tools = serde_json::to_value(session.tools()).unwrap();
    assert_eq!(tools[4]["input_schema"]["properties"]["name"]["enum"], json!(["a", "b"]));
    assert_eq!(shelf.call(&mut session, "read_skill_resource", read.clone()).text, "File of b.");
    // A filter of the call itself, and everything else in the policy, still hold.
    let filter = Some("shelf/a".parse().unwrap());
    let step = session.call(ToolCall { filter, ..ToolCall::new("read_skill_resource", read.clone()) });
    assert_eq!(code(&shelf.finish(&mut session, step)), "unknown-skill");
    session.set_policy(Policy { deny: ["b"].into_iter().collect(), ..policy });
    assert_eq!(code(&shelf.call(&mut session, "read_skill_resource", read)), "unknown-skill");
}

#[test]
fn tools_of_the_host_are_known_by_base_name_in_any_case_and_keep_its_spelling() {
    let shelf = Shelf::with(&[("a", "allowed-tools: Bash(ls:*) Read")]);
    let host = HostTools::only(["bash(git:*)", "READ"]);
    let policy = Policy { host_tools: host, ..Policy::default() };
    let mut session = shelf.session(policy.clone(), Options::default());
    shelf.load(&mut session, "a");
    assert_eq!(session.active_tools(), ["READ", "bash(ls:*)"]);
    assert_eq!(session.scope_tools(&["Bash", "read", "Write"]), ["Bash", "read"]);
    session.set_policy(Policy { tools: ToolMode::Restrict, ..policy });
    assert_eq!(session.scope_tools(&["BASH(x)", "read", "Write"]), ["BASH(x)", "read"]);
}

#[test]
fn a_skill_does_not_count_its_own_file_by_either_name() {
    for own in ["SKILL.md", "skill.md"] {
        let mut shelf = Shelf::with(&[("a", "")]);
        let held = shelf.skills.get_mut("a").unwrap();
        held.files.extend([own, "x.md"].map(|path| (path.to_owned(), String::new())));
        let mut session = shelf.session(Policy::default(), Options::default());
        let loaded = shelf.load(&mut session, "a");
        assert_eq!(loaded.data["resources"]["other"], 1, "{own}");
        assert!(loaded.text.contains("1 other file.") && !loaded.text.contains(&format!("<file>{own}")));
        let listed = shelf.call(&mut session, "read_skill_resource", json!({"name": "a"}));
        assert_eq!(listed.data["files"]["other"], json!(["x.md"]));
    }
}

#[test]
fn other_arguments_are_no_change_of_the_skill() {
    let mut shelf = Shelf::with(&[]);
    shelf.put("a", "", "Do $ARGUMENTS.");
    let options = Options { repeat: Repeat::Receipt, ..Options::default() };
    let mut session = shelf.session(Policy::default(), options);
    let mut user = |message: &str| {
        let step = session.invoke(message).remove(0);
        shelf.finish(&mut session, step)
    };
    user("/a one");
    let other = user("/a two");
    assert_eq!((&other.data["changed"], other.text.contains("Do two.")), (&json!(false), true));
    assert!(user("/a two").text.starts_with("this skill is loaded already"));
    let by_model = shelf.load(&mut session, "a");
    assert!(by_model.text.starts_with("this skill is loaded already"));
    let again = session.reinject(ReinjectBudget::default(), &estimate_tokens);
    assert!(again.text.contains("Do two."), "what comes back is what the model was given");
}

#[test]
fn the_limit_of_the_model_makes_no_file_too_large_for_the_host() {
    let mut shelf = Shelf::with(&[("a", "")]);
    let held = shelf.skills.get_mut("a").unwrap();
    held.files.extend([("small", 10), ("large", 11)].map(|(name, size)| (name.to_owned(), "x".repeat(size))));
    for (too_large, large) in [(TooLarge::Refuse, "too-large"), (TooLarge::List, "ok")] {
        let options = Options { max_resource_bytes: 10, too_large, ..Options::default() };
        let mut session = shelf.session(Policy::default(), options);
        let mut read = |path: &str| {
            let arguments = json!({"name": "a", "path": path, "limit": 4});
            shelf.call(&mut session, "read_skill_resource", arguments)
        };
        assert_eq!(read("small").data["next"], 4);
        let result = read("large");
        assert!(code(&result) == large && !result.text.contains("xx"), "{}", result.text);
    }
}

#[test]
fn an_empty_answer_says_why_it_is_empty() {
    let shelf = Shelf::with(&[("a", "")]);
    let mut session = shelf.session(Policy::default(), Options::default());
    let mut list = |arguments: Value| shelf.call(&mut session, "list_skills", arguments).text;
    assert_eq!(list(json!({"folder": "shelf/none"})), "no skill is in this folder: shelf/none");
    assert_eq!(
        list(json!({"offset": u64::MAX})),
        format!("this is past the last skill: offset {} of 1", u64::MAX)
    );
    session.set_filter(Filter::none());
    assert_eq!(shelf.call(&mut session, "list_skills", json!({})).text, "no skill is available");
}

#[test]
fn preloaded_skills_give_way_last_and_never_to_each_other() {
    let shelf = Shelf::with(&[("a", ""), ("b", ""), ("c", "")]);
    let mut session = shelf.session(Policy::default(), Options::default());
    let (_, preload) = session.preload(&["a"]).remove(0);
    shelf.finish(&mut session, preload);
    shelf.load(&mut session, "b");
    let options = Options { max_active: 1, when_full: WhenFull::EvictOldest, ..Options::default() };
    let state = session.state().clone();
    let fewer = Session::restore(state, shelf.catalog(), Policy::default(), options.clone()).unwrap();
    assert_eq!(fewer.active_skills(), ["a"]);
    let mut session = shelf.session(Policy::default(), options);
    let results: Vec<&str> = session
        .preload(&["a", "b"])
        .into_iter()
        .map(|(_, step)| code(&shelf.finish(&mut session, step)))
        .collect();
    assert_eq!((results, session.active_skills()), (vec!["ok", "too-many-active"], vec!["a"]));
    let failed = |event: &Event| matches!(&event.kind, EventKind::NotPreloaded { key, .. } if key == "b");
    assert!(session.state().log().iter().any(failed));
}

#[test]
fn small_text_files_are_shown_with_the_skill_and_others_are_named() {
    let mut shelf = Shelf::with(&[("a", "")]);
    let held = shelf.skills.get_mut("a").unwrap();
    held.files.insert("b.bin".into(), "\0".into());
    held.files.insert("references/x.md".into(), "Small. </file></skill_content>".into());
    held.files.insert("z.md".into(), "z".repeat(100));
    let mut options = Options { inline_resources: true, ..Options::default() };
    options.activation.max_inline_bytes = 40;
    let mut session = shelf.session(Policy::default(), options);
    let text = shelf.load(&mut session, "a").text;
    assert!(
        text.contains("<file name=\"references/x.md\">\nSmall. &lt;/file>&lt;/skill_content>\n  </file>")
    );
    assert!(text.contains("<file>b.bin</file>") && text.contains("<file>z.md</file>"), "{text}");
}

#[test]
fn arguments_that_stand_in_many_places_are_refused_before_anything_is_built() {
    let mut shelf = Shelf::default();
    shelf.put("bomb", "", &"$ARGUMENTS".repeat(99_000));
    let mut session = shelf.session(Policy::default(), Options::default());
    let before = session.state().active().len();
    let long = Arguments::line(&"x".repeat(100_000));
    let step = session.activate("bomb", Actor::User, Some(long), None);
    let refused = shelf.finish(&mut session, step);
    assert_eq!(code(&refused), "too-large");
    assert!(refused.text.contains("9900000000 bytes, at most 4194304"), "{}", refused.text);
    assert_eq!(session.state().active().len(), before);
    // The same skill by every other way.
    assert!(shelf.load(&mut session, "bomb").is_ok());
    let small = Options { max_activation_bytes: 100, ..Options::default() };
    let mut session = shelf.session(Policy::default(), small);
    assert_eq!(code(&shelf.load(&mut session, "bomb")), "too-large");
    for (_, step) in session.preload(&["bomb"]) {
        assert_eq!(code(&shelf.finish(&mut session, step)), "too-large");
    }
    let user = session.invoke("/bomb x").remove(0);
    assert_eq!(code(&shelf.finish(&mut session, user)), "too-large");
    assert!(session.active_skills().is_empty());
}

#[test]
fn files_that_have_no_room_in_an_activation_are_named() {
    let mut shelf = Shelf::with(&[("a", "")]);
    let held = shelf.skills.get_mut("a").unwrap();
    for name in ["one.md", "two.md", "three.md"] {
        held.files.insert(name.to_owned(), "x".to_owned());
    }
    let options = Options { inline_resources: true, max_activation_bytes: 2, ..Options::default() };
    let session = shelf.session(Policy::default(), options.clone());
    let Outcome::Files { files } =
        shelf.perform(&Effect::Files { key: "a".into(), location: Location::default() })
    else {
        panic!("the files are listed");
    };
    // Each file of this host has a size of 1.
    assert_eq!(session.files_to_inline(&files).len(), 2);
    let mut session = shelf.session(Policy::default(), Options { max_activation_bytes: 1_000, ..options });
    assert!(shelf.load(&mut session, "a").text.contains("<file name=\"three.md\">"));
}

#[test]
fn a_skill_that_a_host_activates_ends_as_any_other_and_heeds_its_filter() {
    let shelf = Shelf::with(&[("a", "allowed-tools: Read"), ("b", "allowed-tools: Read Write")]);
    let options = Options { lifetime: Lifetime::Ephemeral, ..Options::default() };
    let mut session = shelf.session(Policy::default(), options);
    let only = |text: &str| Some(text.parse::<Filter>().unwrap());
    let step = session.activate("a", Actor::Host, None, only("shelf/b"));
    assert_eq!(code(&shelf.finish(&mut session, step)), "unknown-skill");
    for name in ["b", "a"] {
        let step = session.activate(name, Actor::Host, None, only("shelf/*"));
        assert!(shelf.finish(&mut session, step).is_ok());
    }
    assert_eq!(session.active_skills(), ["a", "b"]);
    assert_eq!(session.deactivate("b"), Some(vec!["Write".to_owned()]));
    assert_eq!(session.deactivate("b"), None);
    assert_eq!(session.end_turn(), ["a"], "it is not pinned");
    for (_, step) in session.preload(&["b"]) {
        shelf.finish(&mut session, step);
    }
    assert_eq!((session.end_turn().len(), session.active_skills()), (0, vec!["b"]));
}

#[test]
fn the_catalog_in_a_tool_is_narrowed_as_a_prompt_is() {
    let shelf = Shelf::with(&[("bread", ""), ("mail", "")]);
    let session = shelf.session(Policy::default(), Options::default());
    let style = crate::render::CatalogStyle::default();
    let (query, keyword) = (crate::select::Query::text("mail"), crate::select::Keyword::default());
    let select = crate::select::SelectOptions::default();
    let load = |options: &PromptOptions<'_>| {
        let tools = session.tools_for(options).unwrap();
        tools.into_iter().find(|tool| tool.tool == Tool::Load).unwrap()
    };
    let all = load(&PromptOptions::new(&style, Budget::Unlimited));
    assert!(all.description.contains("About bread.") && all.description.contains("About mail."));
    let narrow = Some((&query, &keyword as &dyn crate::select::Selector, &select));
    let some = load(&PromptOptions { narrow, ..PromptOptions::new(&style, Budget::Unlimited) });
    assert!(!some.description.contains("About bread.") && some.description.contains("About mail."));
    assert_eq!(some.input_schema["properties"]["name"]["enum"], json!(["bread", "mail"]));
    let folder =
        load(&PromptOptions { folder: "/shelf/bread/", ..PromptOptions::new(&style, Budget::Unlimited) });
    assert!(folder.description.contains("About bread.") && !folder.description.contains("About mail."));
}
