//! The main API over real folders: a host in a few lines, for every interface, while the folders change.

use std::path::Path;
use std::process::Command;

use prowess::fs::walk::OnError;
use prowess::session::{Filter, Options, OriginRule, Policy, SessionState};
use prowess::{
    Chat, Dialect, Duplicates, Entry, MemorySource, Profile, RegistryError, Scope, Skill, Skills,
    SkillsBuilder, SkillsError, SourceError, SourceErrorKind, SourceSpec,
};
use serde_json::{Value, json};

use crate::trees::{skill, tree, write};

fn send_and_sync<T: Send + Sync>(_: &T) {}

/// A call of `load_skill` as an interface sends it.
pub(crate) fn load(dialect: Dialect, name: &str) -> Value {
    call(dialect, "load_skill", &json!({"name": name}))
}

pub(crate) fn call(dialect: Dialect, tool: &str, arguments: &Value) -> Value {
    match dialect {
        Dialect::Anthropic => json!({"type": "tool_use", "id": "t1", "name": tool, "input": arguments}),
        Dialect::OpenAi => json!({
            "id": "t1",
            "type": "function",
            "function": {"name": tool, "arguments": arguments.to_string()},
        }),
        Dialect::Gemini => json!({"functionCall": {"id": "t1", "name": tool, "args": arguments}}),
        _ => json!({"name": tool, "arguments": arguments}),
    }
}

pub(crate) fn loads(chat: &mut Chat, name: &str) -> String {
    chat.answer(Dialect::Mcp, &load(Dialect::Mcp, name)).unwrap().to_string()
}

#[test]
fn a_host_in_five_lines_works_in_every_interface() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("b/SKILL.md", &skill("b"))]);
    for &dialect in Dialect::ALL {
        let skills = Skills::open([folder.path()]).unwrap();
        let mut chat = skills.chat("chat-1");
        let system = chat.prompt().unwrap();
        assert!(system.contains("- a: Does a.") && system.contains("load_skill"), "{system}");
        let tools = chat.tools(dialect).to_string();
        assert!(tools.contains("load_skill") && tools.contains("read_skill_resource"), "{tools}");
        let answer = chat.answer(dialect, &load(dialect, "a")).unwrap().to_string();
        assert!(answer.contains("Body of a."), "{answer}");
        if dialect != Dialect::Mcp {
            assert!(answer.contains("t1"), "the answer names the call: {answer}");
        }
        assert_eq!(chat.active(), ["a"]);
    }
}

#[test]
fn every_call_of_a_message_is_answered_in_its_order() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("b/SKILL.md", &skill("b"))]);
    for &dialect in Dialect::ALL {
        let mut chat = Skills::open([folder.path()]).unwrap().chat("chat-1");
        let calls = json!([
            load(dialect, "b"),
            call(dialect, "bash", &json!({})),
            {"type": "text", "text": "and"},
            load(dialect, "a"),
        ]);
        let answers = chat.answer_all(dialect, &calls);
        assert_eq!(answers.len(), 2, "{answers:?}");
        assert!(answers[0].to_string().contains("Body of b."));
        assert!(answers[1].to_string().contains("Body of a."));
    }
}

#[test]
fn a_running_chat_sees_what_a_refresh_found() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let skills = Skills::open([folder.path()]).unwrap();
    let mut chat = skills.chat("chat-1");
    loads(&mut chat, "a");
    write(folder.path(), "b/SKILL.md", &skill("b"));
    assert!(!chat.prompt().unwrap().contains("- b:"));
    assert_eq!(skills.refresh().unwrap().added, ["b"]);
    assert!(chat.prompt().unwrap().contains("- b: Does b."));
    assert!(chat.tools(Dialect::OpenAi).to_string().contains("\"b\""));
    assert!(loads(&mut chat, "b").contains("Body of b."));
    assert!(chat.prompt_for("does b").unwrap().contains("- b: Does b."));
    assert_eq!(skills.search("does b").unwrap()[0].key, "b");

    std::fs::remove_dir_all(folder.path().join("a")).unwrap();
    skills.refresh().unwrap();
    assert_eq!(chat.changes().deactivated, ["a"]);
    assert_eq!(chat.active(), ["b"]);
    assert!(chat.changes().deactivated.is_empty(), "a change is reported once");
    assert!(loads(&mut chat, "a").contains("no such skill"));
}

#[test]
fn a_change_of_an_active_skill_is_reported_once_whatever_else_changes() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("b/SKILL.md", &skill("b"))]);
    let skills = Skills::open([folder.path()]).unwrap();
    let mut chat = skills.chat("chat-1");
    loads(&mut chat, "a");
    loads(&mut chat, "b");
    let rewrite = |name: &str, body: &str| {
        let text = format!("---\nname: {name}\ndescription: Does {name}, {body}.\n---\n{body}\n");
        write(folder.path(), &format!("{name}/SKILL.md"), &text);
        skills.refresh().unwrap();
    };
    rewrite("a", "once");
    assert_eq!(chat.changes().changed, ["a"]);
    rewrite("b", "once");
    assert_eq!(chat.changes().changed, ["b"], "a was reported already");
    rewrite("a", "twice");
    rewrite("b", "twice");
    assert_eq!(chat.changes().changed, ["a", "b"], "both changed again");
    assert!(chat.changes().changed.is_empty());
}

#[cfg(all(target_os = "linux", feature = "watch"))]
#[test]
fn a_watched_folder_is_followed_without_a_refresh() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let skills = Skills::open([folder.path()]).unwrap();
    let mut chat = skills.chat("chat-1");
    let (told, changes) = std::sync::mpsc::channel();
    skills.watch(prowess::watch::WatchOptions::default(), move |change| _ = told.send(change)).unwrap();
    write(folder.path(), "b/SKILL.md", &skill("b"));
    // A folder may be seen before its file is written, so the first change need not be the one.
    while skills.get("b").is_err() {
        changes.recv().unwrap().unwrap();
    }
    assert!(chat.prompt().unwrap().contains("- b: Does b."));
    drop((chat, skills));
    // The thread ends with the last handle, and with it the sender.
    while changes.recv().is_ok() {}
}

#[test]
fn clones_and_chats_work_in_several_threads() {
    let folder = tree(&[("alpha/SKILL.md", &skill("alpha")), ("beta/SKILL.md", &skill("beta"))]);
    let skills = Skills::open([folder.path()]).unwrap();
    send_and_sync(&skills);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let skills = skills.clone();
            scope.spawn(move || {
                let mut chat = skills.chat(format!("chat-{number}"));
                for round in 0..20 {
                    if round % 5 == number {
                        skills.refresh().unwrap();
                    }
                    let name = if round % 2 == 0 { "alpha" } else { "beta" };
                    assert!(loads(&mut chat, name).contains(&format!("Body of {name}.")));
                    assert_eq!(skills.search(name).unwrap()[0].key, name);
                }
            });
        }
    });
    // A chat may move to another thread.
    let mut chat = skills.chat("moved");
    std::thread::spawn(move || assert!(chat.prompt().unwrap().contains("- alpha:"))).join().unwrap();
}

#[test]
fn a_stored_chat_is_restored_with_the_skills_of_today() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("b/SKILL.md", &skill("b"))]);
    let stored = {
        let mut chat = Skills::open([folder.path()]).unwrap().chat("chat-1");
        loads(&mut chat, "a");
        loads(&mut chat, "b");
        serde_json::to_string(chat.state()).unwrap()
    };
    std::fs::remove_dir_all(folder.path().join("b")).unwrap();
    let skills = Skills::open([folder.path()]).unwrap();
    let chat = skills.restore(SessionState::from_json(&stored).unwrap()).unwrap();
    assert_eq!((chat.active(), chat.session().id()), (vec!["a"], "chat-1"));
    let other = stored.replacen("\"version\":", "\"version\":9", 1);
    assert!(SessionState::from_json(&other).is_err());
}

#[test]
fn the_skills_of_a_user_without_any_are_none() {
    let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    in_home(home.path(), project.path(), "main_api::has_no_skills");
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn has_no_skills() {
    if std::env::var_os("PROWESS_ALONE").is_none() {
        return;
    }
    let skills = Skills::of_user().unwrap();
    assert!(skills.catalog().list().is_empty() && skills.problems().is_empty());
    let mut chat = skills.chat("chat-1");
    assert_eq!((chat.prompt().unwrap(), chat.tools(Dialect::Anthropic)), (String::new(), json!([])));
}

#[test]
fn the_skills_of_a_user_come_with_the_users_configuration_and_approvals() {
    let home = tree(&[
        (".agents/skills/a/SKILL.md", &skill("a")),
        (".agents/skills/off/SKILL.md", &skill("off")),
        (".config/prowess/prowess.toml", "[skills]\ndisable = [\"off\"]\n\n[session]\nplain = true\n"),
    ]);
    let project = tree(&[(".agents/skills/b/SKILL.md", &skill("b")), (".git/HEAD", "")]);
    in_home(home.path(), project.path(), "main_api::has_own_skills");
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn has_own_skills() {
    if std::env::var_os("PROWESS_ALONE").is_none() {
        return;
    }
    let skills = Skills::of_user().unwrap();
    let mut chat = skills.chat("chat-1");
    let prompt = chat.prompt().unwrap();
    assert!(prompt.contains("- a:") && !prompt.contains("- off:"), "{prompt}");
    assert!(!prompt.contains("- b:"), "a project is not trusted by itself: {prompt}");
    let text = chat.activate("a", "").text;
    assert_eq!(text, "Body of a.", "activations are plain");
}

/// Runs one of the functions above in a process whose home is `home`.
pub(crate) fn in_home(home: &Path, project: &Path, function: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", function, "--ignored", "--nocapture"]);
    for name in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "USERPROFILE"] {
        command.env_remove(name);
    }
    let output = command.current_dir(project).env("HOME", home).env("PROWESS_ALONE", "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    said.into_owned()
}

#[test]
fn a_folder_that_is_missing_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let error = Skills::open([folder.path().join("nowhere")]).unwrap_err();
    assert!(
        matches!(error, SkillsError::Source(SourceError { kind: SourceErrorKind::Missing, .. })),
        "{error:?}"
    );
    assert!(error.to_string().contains("nowhere"), "{error}");
    assert!(error.hint().to_string().contains("check the spelling"), "{}", error.hint());
}

#[test]
fn a_source_that_cannot_be_listed_is_reported_unless_none_can_be() {
    let folder = tree(&[("good/skill/SKILL.md", &skill("skill"))]);
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let opened = |names: &[&str], on_error| {
        let specs = names.iter().map(|name| SourceSpec::parse(&place(name)).unwrap());
        let builder = specs.fold(Skills::builder(), SkillsBuilder::with_source);
        builder.with_source_errors(on_error).build()
    };
    let skills = opened(&["none", "good"], OnError::Report).unwrap();
    let registry = skills.registry();
    assert_eq!((registry.catalog().len(), registry.problems().len(), registry.unlisted().len()), (1, 1, 1));
    assert!(registry.unlisted()[0].to_string().contains("none"));
    assert!(matches!(opened(&["none", "good"], OnError::Fail), Err(SkillsError::Source(_))));
    assert!(matches!(opened(&["none", "gone"], OnError::Report), Err(SkillsError::Source(_))));

    // What was listed stays while no source can be listed, unless a skill is registered.
    std::fs::remove_dir_all(folder.path().join("good")).unwrap();
    assert!(matches!(registry.refresh(), Err(RegistryError::Source(_))));
    assert_eq!(registry.catalog().len(), 1);
    let own = Skill::new(Entry::builder("own", "Is there.").build().unwrap(), "Body.");
    let delta = registry.register(&own, false).unwrap();
    assert_eq!((delta.added, delta.removed), (vec!["own".to_owned()], vec!["skill".to_owned()]));
    assert_eq!(registry.unlisted().len(), 2);
}

#[test]
fn a_builder_sets_sources_profile_policy_and_duplicates() {
    let folder = tree(&[
        ("a/SKILL.md", &skill("a")),
        ("b/SKILL.md", "---\nname: other\ndescription: In a folder of another name.\n---\n"),
    ]);
    let memory = MemorySource::new("host");
    memory.insert("a", skill("a").replace("Does a.", "Does a in memory."), Scope::Explicit);
    memory.insert("c", skill("c"), Scope::Explicit);
    let own = Entry::builder("d", "Does d, whatever comes.").build().unwrap();
    let skills = Skills::builder()
        .with_source(SourceSpec::dir(folder.path()))
        .with_layer(memory)
        .with_skill(Skill::new(own, "Body of d."))
        .with_profile(Profile::spec())
        .with_duplicates(Duplicates::Last)
        .with_policy(Policy::default().with_deny(["c"]))
        .build()
        .unwrap();
    let mut chat = skills.chat("chat-1");
    let prompt = chat.prompt().unwrap();
    assert!(prompt.contains("Does a in memory.") && prompt.contains("- d: Does d"), "{prompt}");
    assert!(!prompt.contains("other") && !prompt.contains("- c:"), "{prompt}");
    assert!(loads(&mut chat, "d").contains("Body of d."));
    assert!(loads(&mut chat, "c").contains("no such skill"));
    assert!(
        skills.search("does c").unwrap().iter().all(|hit| hit.key != "c"),
        "a search has the same policy"
    );
}

#[test]
fn a_skill_that_must_be_approved_is_given_when_the_host_says_yes() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("b/SKILL.md", &skill("b"))]);
    let rule = OriginRule::usual(Scope::Explicit).with_approve(true);
    let policy = Policy::default().with_origin(Scope::Explicit, rule);
    let build = || Skills::builder().with_source(SourceSpec::dir(folder.path())).with_policy(policy.clone());
    let mut asked = build()
        .with_approval(|skill, digest| skill.entry.key == "a" && digest.to_string().starts_with("sha256:"));
    asked = asked.with_options(Options::default());
    let mut chat = asked.build().unwrap().chat("chat-1");
    assert!(loads(&mut chat, "a").contains("Body of a."));
    assert!(loads(&mut chat, "b").contains("not-approved"));
    let mut without_approval = build().build().unwrap().chat("chat-2");
    assert!(loads(&mut without_approval, "a").contains("not-approved"));
}

#[test]
fn a_user_starts_skills_by_name_and_with_a_slash() {
    let folder = tree(&[("a/SKILL.md", "---\nname: a\ndescription: Does a.\n---\nDo $ARGUMENTS.\n")]);
    let mut chat = Skills::open([folder.path()]).unwrap().chat("chat-1");
    assert!(chat.activate("a", "it now").text.contains("Do it now."));
    let started = chat.user_message("/a once more");
    assert!(started.len() == 1 && started[0].text.contains("Do once more."), "{started:?}");
    assert!(chat.user_message("no command").is_empty());
    // The parts are there for the rest.
    assert_eq!(chat.session_mut().set_filter("none".parse::<Filter>().unwrap()), ["a"]);
    assert_eq!(chat.tools(Dialect::Gemini), json!([]));
}

#[test]
fn skills_that_are_active_from_the_start_are_in_the_prompt() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let mut spec = SourceSpec::dir(folder.path());
    spec.preload = true;
    let mut chat = Skills::builder().with_source(spec).build().unwrap().chat("chat-1");
    assert_eq!(chat.active(), ["a"]);
    assert!(chat.prompt().unwrap().contains("Body of a."));
}

#[test]
fn one_skill_has_its_text_its_files_and_every_form() {
    let folder = tree(&[
        ("a/SKILL.md", &skill("a")),
        ("a/scripts/run.sh", "echo run\n"),
        ("a/references/more.md", "More </skill_content>.\n"),
        ("a/assets/logo.png", "\u{0}png"),
    ]);
    let path = folder.path().join("a");
    let loaded = Skill::load(&path).unwrap();
    let found = Skills::open([folder.path()]).unwrap().get("a").unwrap();
    for skill in [&loaded, &found] {
        assert_eq!((skill.entry().name.as_str(), skill.body()), ("a", "Body of a."));
        assert_eq!(skill.describe(), "a: Does a.");
        assert_eq!(skill.path(), Some(path.join("SKILL.md").as_path()));
        let one = |paths: Vec<prowess::RelPath>| {
            paths.iter().map(|path| path.as_str().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(one(skill.scripts().unwrap()), "scripts/run.sh");
        assert_eq!(one(skill.references().unwrap()), "references/more.md");
        assert_eq!(one(skill.assets().unwrap()), "assets/logo.png");
        assert_eq!(skill.files().unwrap().files.len(), 4);
        let prompt = skill.to_prompt().unwrap();
        assert!(
            prompt.contains("<file>scripts/run.sh</file>") && prompt.contains("Skill directory: "),
            "{prompt}"
        );
        let inline = Options::default().with_inline_resources(true).with_show_folders(false);
        let prompt = skill.to_prompt_with(&inline).unwrap();
        assert!(prompt.contains("echo run") && !prompt.contains("Skill directory: "), "{prompt}");
        assert!(prompt.contains("<file>assets/logo.png</file>"), "what is not text is named: {prompt}");
        assert_eq!(prompt.matches("</skill_content>").count(), 1, "no file closes the wrapper: {prompt}");
        assert_eq!(skill.to_json()["instructions"], "Body of a.");
        assert_eq!(Skill::parse(&skill.to_markdown()).unwrap().body(), "Body of a.");
    }
    let text = Skill::parse(&skill("t")).unwrap();
    assert!(text.path().is_none() && text.files().unwrap().files.is_empty());
    assert!(text.to_prompt().unwrap().contains("Body of t."));
    assert!(Skill::parse_judged("---\nname: T T\ndescription: d\n---\n", &Profile::spec()).is_err());
}

#[cfg(unix)]
#[test]
fn no_file_of_a_loaded_skill_is_read_outside_of_it() {
    let folder = tree(&[("secret", "canary"), ("a/SKILL.md", &skill("a"))]);
    std::os::unix::fs::symlink(folder.path().join("secret"), folder.path().join("a/link.md")).unwrap();
    let skill = Skill::load(folder.path().join("a")).unwrap();
    let path = prowess::RelPath::parse("link.md").unwrap();
    assert!(skill.read(&path, prowess::source::Slice::first(99)).is_err());
    let inline = Options::default().with_inline_resources(true);
    assert!(!skill.to_prompt_with(&inline).unwrap_or_default().contains("canary"));
}

#[test]
fn a_description_with_line_breaks_and_hidden_characters_is_described_in_one_line() {
    let text = "---\nname: a\ndescription: \"one\\ntwo\\u202Ethree\"\n---\n";
    let line = Skill::parse(text).unwrap().describe();
    assert!(line.starts_with("a: one two") && !line.contains(['\n', '\u{202e}']), "{line}");
}
