//! A skill that may not be used does not exist, by any route.

use prowess::catalog::TurnedOffBy;
use prowess::path::Glob;
use prowess::registry::Disabled;
use prowess::registry::trust::{Approvals, Trust};
use prowess::session::{Filter, Policy};
use prowess::{DirSource, Registry, ScanOptions, Scope};
use prowess_mcp::ServeOptions;
use serde_json::{Value, json};

use crate::support::{PipeClient, library, registry, served, skill};

#[tokio::test]
async fn a_skill_that_may_not_be_used_is_on_no_route() {
    let root = library();
    let project = tempfile::tempdir().unwrap();
    skill(project.path(), "theirs", "");
    for sessionless in [false, true] {
        let mut registry = Registry::new();
        registry
            .add(DirSource::new(root.path(), ScanOptions::unbounded()).with_scope(Scope::User))
            .add(DirSource::new(project.path(), ScanOptions::unbounded()).with_scope(Scope::Project))
            .disable([Disabled::new(Glob::parse("staff").unwrap(), TurnedOffBy::List("test".to_owned()))])
            .set_trust(Trust::in_approved(Approvals::default()));
        // Long names only: beta is too short.
        let filter: Filter = "?????*".parse().unwrap();
        let options = ServeOptions::default().with_policy(Policy::default().with_filter(filter));
        let mut client = PipeClient::initialized(served(registry, options), sessionless).await;
        // One is not trusted, one turned off, one filtered.
        for name in ["theirs", "staff", "beta"] {
            let uri = format!("skill://{name}/SKILL.md");
            for method in ["skills/list", "resources/list", "tools/list", "prompts/list"] {
                let response = client.result(method, json!({})).await.to_string();
                assert!(response.contains("alpha") && !response.contains(name), "{method}: {response}");
            }
            for method in ["skills/get", "resources/read"] {
                assert_eq!(client.error(method, json!({"uri": uri})).await, -32602);
            }
            assert_eq!(
                client.error("resources/directory/read", json!({"uri": format!("skill://{name}")})).await,
                -32602
            );
            assert_eq!(client.error("prompts/get", json!({"name": name})).await, -32602);
            for call in [
                json!({"name": "load_skill", "arguments": {"name": name}}),
                json!({"name": "read_skill_resource", "arguments": {"name": name, "path": "SKILL.md"}}),
            ] {
                let refused = client.result("tools/call", call).await;
                assert_eq!(refused["structuredContent"]["reason"], "unknown-skill", "{refused}");
            }
            for call in [
                json!({"name": "list_skills"}),
                json!({"name": "search_skills", "arguments": {"query": name}}),
            ] {
                let response = client.result("tools/call", call).await;
                assert!(
                    !response["structuredContent"].to_string().contains(&format!("\"{name}\"")),
                    "{response}"
                );
            }
            let argument = json!({"name": "name", "value": name});
            let wanted = json!({"ref": {"type": "ref/resource", "uri": "skill://{name}/{+path}"}, "argument": argument});
            assert_eq!(client.result("completion/complete", wanted).await["completion"]["values"], json!([]));
            if !sessionless {
                assert_eq!(client.error("resources/subscribe", json!({"uri": uri})).await, -32602);
            }
        }
    }
}

#[tokio::test]
async fn revoked_trust_takes_effect_at_once() {
    let (root, home) = (library(), tempfile::tempdir().unwrap());
    let file = home.path().join("trust.json");
    let trust = |folder: Option<&std::path::Path>| {
        let mut approvals = Approvals::default();
        if let Some(folder) = folder {
            approvals.trust_folder(folder.to_owned());
        }
        approvals.save(&file).unwrap();
        approvals
    };
    let mut registry = Registry::new();
    registry
        .add(DirSource::new(root.path(), ScanOptions::unbounded()).with_scope(Scope::Project))
        .set_trust(Trust::in_approved(trust(Some(root.path()))));
    let options = ServeOptions::default().with_approvals(Some(file.clone()));
    let mut client = PipeClient::initialized(served(registry, options), false).await;
    let uri = json!({"uri": "skill://alpha/SKILL.md"});
    assert!(client.result("resources/read", uri.clone()).await["contents"].is_array());
    trust(None);
    client.until("resources/read", uri.clone(), |response| response["error"]["code"] == -32602).await;
    trust(Some(root.path()));
    client.until("resources/read", uri, |response| response["result"]["contents"].is_array()).await;
}

#[tokio::test]
async fn a_skill_that_a_system_takes_for_a_repository_is_not_published() {
    let root = library();
    for (name, files) in [
        ("bare", &["HEAD", "config", "objects/x", "refs/x"][..]),
        ("nested", &["assets/Head", "assets/Objects/x", "assets/refs/x"]),
        ("other", &[".hg/hgrc"]),
    ] {
        skill(root.path(), name, "");
        for file in files {
            let file = root.path().join(name).join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "x").unwrap();
        }
    }
    let mut registry = Registry::new();
    registry.add(DirSource::new(root.path(), ScanOptions::unbounded()).with_scope(Scope::User));
    let mut client = PipeClient::initialized(served(registry, ServeOptions::default()), true).await;
    for method in ["skills/list", "resources/list"] {
        let listed = client.result(method, json!({})).await.to_string();
        assert!(listed.contains("alpha"), "{listed}");
        for name in ["skill://bare", "skill://nested", "skill://other"] {
            assert!(!listed.contains(name), "{method}: {listed}");
        }
    }
    for uri in ["skill://bare/SKILL.md", "skill://nested/assets/Head", "skill://other/.hg/hgrc"] {
        assert_eq!(client.error("resources/read", json!({"uri": uri})).await, -32602, "{uri}");
    }
}

#[tokio::test]
async fn hidden_characters_are_visible_in_every_list_but_those_of_verbatim_content() {
    let root = tempfile::tempdir().unwrap();
    let text = "---\nname: odd\ndescription: \"About\\u202E odd\\u200B.\"\n---\nDo it.\n";
    std::fs::create_dir(root.path().join("odd")).unwrap();
    std::fs::write(root.path().join("odd/SKILL.md"), text).unwrap();
    let mut registry = Registry::new();
    registry.add(DirSource::new(root.path(), ScanOptions::unbounded()));
    let mut client = PipeClient::initialized(served(registry, ServeOptions::default()), false).await;
    let hides = |text: &str| text.contains(['\u{202e}', '\u{200b}']);
    for method in ["resources/list", "tools/list", "prompts/list"] {
        let response = client.result(method, json!({})).await.to_string();
        assert!(!hides(&response), "{method}: {response}");
    }
    let listed = client.result("resources/list", json!({})).await;
    assert_eq!(listed["resources"][0]["description"], "About\\u{202e} odd\\u{200b}.");
    for (tool, arguments) in [
        ("list_skills", json!({})),
        ("search_skills", json!({"query": "odd"})),
        ("load_skill", json!({"name": "odd"})),
    ] {
        let response =
            client.result("tools/call", json!({"name": tool, "arguments": arguments})).await.to_string();
        assert!(response.contains("odd") && !hides(&response), "{tool}: {response}");
    }
    // The frontmatter and the files are verbatim: clients compare them with their digests.
    let listed = client.result("skills/list", json!({})).await.to_string();
    assert!(hides(&listed), "{listed}");
    let read = client.result("resources/read", json!({"uri": "skill://odd/SKILL.md"})).await.to_string();
    assert!(read.contains("u202E"), "{read}");
}

#[tokio::test]
async fn names_with_hidden_characters_are_shown_escaped_and_work_as_shown() {
    let root = tempfile::tempdir().unwrap();
    let text = "---\nname: \"pdf\\U000E0069\"\ndescription: Fills forms.\nargument-hint: \"a\\u2800b\"\narguments: \
                [\"file\\U000E0069\"]\nallowed-tools: \"Read\\U000E0069\"\n---\nFill $0.\n";
    std::fs::create_dir(root.path().join("pdf")).unwrap();
    std::fs::write(root.path().join("pdf/SKILL.md"), text).unwrap();
    let mut registry = Registry::new();
    registry.add(DirSource::new(root.path(), ScanOptions::unbounded()));
    let mut client = PipeClient::initialized(served(registry, ServeOptions::default()), false).await;
    let hides = |text: &str| text.contains(['\u{e0069}', '\u{2800}']);
    let shown = "pdf\\u{e0069}";

    let prompts = client.result("prompts/list", json!({})).await;
    assert!(!hides(&prompts.to_string()), "{prompts}");
    let prompt = &prompts["prompts"][0];
    assert_eq!((&prompt["name"], &prompt["arguments"][0]["name"]), (&json!(shown), &json!("file\\u{e0069}")));
    let got = json!({"name": shown, "arguments": {"file\\u{e0069}": "a.pdf"}});
    let got = client.result("prompts/get", got).await.to_string();
    assert!(got.contains("Fill a.pdf.") && !hides(&got), "{got}");

    for (tool, arguments, member) in [
        ("list_skills", json!({}), "/skills/0/name"),
        ("search_skills", json!({"query": "forms"}), "/skills/0/name"),
        ("load_skill", json!({"name": shown}), "/skill"),
        ("unload_skill", json!({"name": shown}), "/skill"),
    ] {
        let response = client.result("tools/call", json!({"name": tool, "arguments": arguments})).await;
        assert_eq!(response["structuredContent"].pointer(member), Some(&json!(shown)), "{tool}: {response}");
        assert!(!hides(&response.to_string()), "{tool}: {response}");
    }
    // The text of a list and the hint of an error have other escapes.
    let list = json!({"name": "list_skills", "arguments": {}});
    let list = client.result("tools/call", list).await["content"][0]["text"].as_str().unwrap().to_owned();
    let (in_list, _) = list.split_once("- ").unwrap().1.split_once(": ").unwrap();
    assert_eq!(in_list, "&quot;pdf&#xE0069;&quot;");
    let wrong = json!({"name": "load_skill", "arguments": {"name": "pdx"}});
    let wrong = client.result("tools/call", wrong).await["content"][0]["text"].as_str().unwrap().to_owned();
    let in_hint = wrong.split_once("the skills are ").unwrap().1;
    for shown in [in_list, in_hint] {
        for (tool, more) in [
            ("load_skill", json!({})),
            ("read_skill_resource", json!({"path": "SKILL.md"})),
            ("unload_skill", json!({})),
        ] {
            let mut arguments = more;
            arguments["name"] = shown.into();
            let called = client.result("tools/call", json!({"name": tool, "arguments": arguments})).await;
            assert_eq!(called["isError"], false, "{tool} {shown}: {called}");
        }
        let got = client.result("prompts/get", json!({"name": shown})).await;
        assert!(got["messages"].is_array(), "{shown}: {got}");
    }
    for (method, params) in [
        ("resources/read", json!({"uri": "skill://no\u{2800}\u{e0069}/SKILL.md"})),
        ("prompts/list", json!({"cursor": "no\u{2800}\u{e0069}"})),
        ("prompts/get", json!({"name": "no\u{2800}\u{e0069}"})),
        ("no\u{2800}\u{e0069}", json!({})),
    ] {
        let response = client.request(method, params).await;
        assert!(response["error"].is_object() && !hides(&response.to_string()), "{method}: {response}");
    }
}

#[tokio::test]
async fn a_line_feed_in_a_name_is_shown_as_other_control_characters_and_the_name_works() {
    let source = prowess::MemorySource::new("memory");
    let text = "---\nname: \"a\\nb\\e\"\ndescription: d\n---\nDo it.\n";
    source.insert("a\nb\u{1b}", text, Scope::User);
    let mut registry = Registry::new();
    registry.add(source);
    let mut client = PipeClient::initialized(served(registry, ServeOptions::default()), false).await;
    let shown = "a\\nb\\u{1b}";
    let prompts = client.result("prompts/list", json!({})).await;
    assert_eq!(prompts["prompts"][0]["name"], shown, "{prompts}");
    let got = client.result("prompts/get", json!({"name": shown})).await;
    assert!(got.to_string().contains("Do it."), "{got}");
    for (tool, arguments, member) in [
        ("list_skills", json!({}), "/skills/0/name"),
        ("load_skill", json!({"name": shown}), "/skill"),
        ("unload_skill", json!({"name": shown}), "/skill"),
    ] {
        let response = client.result("tools/call", json!({"name": tool, "arguments": arguments})).await;
        assert_eq!(response["structuredContent"].pointer(member), Some(&json!(shown)), "{tool}: {response}");
    }
}

#[tokio::test]
async fn a_cut_name_that_several_prompts_have_is_refused() {
    let (root, long) = (tempfile::tempdir().unwrap(), "x".repeat(120));
    for last in ["a", "b"] {
        skill(root.path(), &format!("{long}{last}"), "");
    }
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), false).await;
    let cut = format!("{}…", "x".repeat(99));
    let refused = client.request("prompts/get", json!({"name": cut})).await;
    let said = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(said.starts_with("several prompts have this name: xxx"), "{said}");
    // The hint names each in full, so that one of them works.
    let load = |name: &str| json!({"name": "load_skill", "arguments": {"name": name}});
    let refused = client.result("tools/call", load(&cut)).await.to_string();
    assert!(refused.contains(&format!("name one of {long}a, {long}b")), "{refused}");
    let loaded = client.result("tools/call", load(&format!("{long}a"))).await;
    assert!(loaded["isError"] == false && loaded.to_string().contains(&format!("Do {long}a.")), "{loaded}");
    let whole = client.result("prompts/get", json!({"name": format!("{long}b")})).await;
    assert!(whole.to_string().contains(&format!("Do {long}b.")), "{whole}");
}

#[tokio::test]
async fn a_name_that_is_spelled_as_another_one_is_shown_does_not_take_its_place() {
    let source = prowess::MemorySource::new("memory");
    for (key, name) in
        [("a\u{202e}b", r"a\u202Eb"), (r"a\u{202e}b", r"a\\u{202e}b"), ("c\u{202e}", r"c\u202E")]
    {
        source.insert(key, format!("---\nname: \"{name}\"\ndescription: d\n---\nDo it.\n"), Scope::User);
    }
    let mut registry = Registry::new();
    registry.add(source);
    let mut client = PipeClient::initialized(served(registry, ServeOptions::default()), false).await;
    let (forged, shown) = (r"a\u{202e}b", json!([r"a\u{202e}b", r"c\u{202e}"]));
    for (tool, more) in [
        ("load_skill", json!({})),
        ("read_skill_resource", json!({"path": "SKILL.md"})),
        ("unload_skill", json!({})),
    ] {
        let mut arguments = more;
        arguments["name"] = forged.into();
        let called = client.result("tools/call", json!({"name": tool, "arguments": arguments})).await;
        assert_eq!(called["isError"], true, "{tool}: {called}");
        let reason = if tool == "unload_skill" { "not-active" } else { "ambiguous-skill" };
        assert_eq!(called["structuredContent"]["reason"], reason, "{tool}: {called}");
    }
    let got = client.request("prompts/get", json!({"name": forged})).await;
    assert!(got["error"]["message"].as_str().unwrap().starts_with("several prompts have this name"), "{got}");
    // Each spelling is listed once.
    let prompts = client.result("prompts/list", json!({})).await;
    let names: Value =
        prompts["prompts"].as_array().unwrap().iter().map(|prompt| prompt["name"].clone()).collect();
    assert_eq!(names, shown);
    for tool in client.result("tools/list", json!({})).await["tools"].as_array().unwrap() {
        let property = &tool["inputSchema"]["properties"]["name"];
        assert!(property.is_null() || property["enum"] == shown, "{tool}");
    }
    let loaded =
        client.result("tools/call", json!({"name": "load_skill", "arguments": {"name": r"c\u{202e}"}})).await;
    assert_eq!(loaded["isError"], false, "{loaded}");
}
