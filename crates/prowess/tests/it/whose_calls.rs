//! Which calls of a model a chat answers, and which are for the host.

use prowess::session::{Options, Tool};
use prowess::{Dialect, Skills, SourceSpec};
use serde_json::{Value, json};

use crate::main_api::{call, load, loads};
use crate::trees::{skill, tree};

#[test]
fn a_call_that_is_not_ours_gets_no_answer() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let mut chat = Skills::open([folder.path()]).unwrap().chat("chat-1");
    for &dialect in Dialect::ALL {
        assert_eq!(chat.answer(dialect, &call(dialect, "bash", &json!({"command": "ls"}))), None);
        assert_eq!(chat.answer(dialect, &json!({"type": "text", "text": "hello"})), None);
        assert_eq!(chat.answer(dialect, &Value::Null), None);
    }
    assert!(chat.session().state().log().len() <= 1, "nothing happened in the session");
}

#[test]
fn a_tool_of_the_host_may_have_a_name_that_is_not_offered() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let skills = Skills::open([folder.path()]).unwrap();
    let runs = |dialect| call(dialect, "run_skill_script", &json!({"name": "a", "path": "scripts/x.sh"}));
    let lists = |dialect| call(dialect, "list_skills", &json!({}));
    for &dialect in Dialect::ALL {
        let mut chat = skills.chat("chat-1");
        assert!(!chat.tools(dialect).to_string().contains("run_skill_script"));
        assert_eq!(chat.answer(dialect, &runs(dialect)), None);
        assert!(chat.answer_all(dialect, &json!([runs(dialect)])).is_empty());
        assert!(chat.answer(dialect, &lists(dialect)).is_some());

        let options = Options::default().with_tools([Tool::Load].into());
        let only_loads = Skills::builder()
            .with_options(options)
            .with_source(SourceSpec::dir(folder.path()))
            .build()
            .unwrap();
        assert_eq!(only_loads.chat("chat-1").answer(dialect, &lists(dialect)), None);
    }
    let options = Options::default().with_naming("promptkit".parse().unwrap());
    let skills =
        Skills::builder().with_options(options).with_source(SourceSpec::dir(folder.path())).build().unwrap();
    let unknown = json!({"name": "skill__unheard_of", "arguments": {}});
    assert!(skills.chat("chat-1").answer(Dialect::Mcp, &unknown).is_some(), "the namespace is ours");
}

#[test]
fn a_tool_that_a_refresh_withdrew_is_still_answered() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let skills = Skills::open([folder.path()]).unwrap();
    let mut chat = skills.chat("chat-1");
    assert_ne!(chat.tools(Dialect::Mcp), json!([]));
    std::fs::remove_dir_all(folder.path().join("a")).unwrap();
    skills.refresh().unwrap();
    assert_eq!(chat.tools(Dialect::Mcp), json!([]));
    assert!(loads(&mut chat, "a").contains("no such skill"), "the model was offered load_skill");
}

#[test]
fn a_call_that_the_interface_performs_itself_gets_no_answer() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let mut chat = Skills::open([folder.path()]).unwrap().chat("chat-1");
    let mut own = load(Dialect::Anthropic, "a");
    own["type"] = "mcp_tool_use".into();
    assert_eq!(chat.answer(Dialect::Anthropic, &own), None);
    assert!(chat.answer_all(Dialect::Anthropic, &json!({"content": [own]})).is_empty());
}
