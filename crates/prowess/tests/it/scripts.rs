//! Scripts of skills that a host runs for a model.

use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prowess::session::{Options, Policy, Tool, ToolCall, ToolResult, Untrusted};
use prowess::{Candidate, Chat, DirSource, Layer, RelPath, ScanOptions, Skills, SkillsBuilder};
use serde_json::json;

use crate::trees::{skill, tree, write};

fn run(chat: &mut Chat, path: &str, args: &[&str]) -> ToolResult {
    chat.call(ToolCall::new("run_skill_script", json!({"name": "a", "path": path, "args": args})))
}

/// The skills of a folder, for a host that runs scripts.
fn builder(folder: &Path, approve: bool) -> SkillsBuilder {
    let source = DirSource::new(folder, ScanOptions::default());
    let policy = Policy::default().with_run(true).with_untrusted(Untrusted::Ask);
    Skills::builder()
        .with_layer(Layer::from(source).with_approval_required(approve))
        .with_policy(policy)
        .with_options(Options::default().with_tools([Tool::Load, Tool::Run].into()))
}

/// Runs a script with `sh`, as a host may do it, and counts.
fn counting(
    count: &Arc<AtomicUsize>,
) -> impl Fn(&Candidate, &RelPath, &[String]) -> io::Result<(Option<i32>, String)> + use<> {
    let count = Arc::clone(count);
    move |skill, path, args| {
        count.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(skill.entry.origin.location.path().unwrap()).parent().unwrap();
        let done = Command::new("sh").arg(folder.join(path.as_str())).args(args).output()?;
        Ok((done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned()))
    }
}

#[test]
fn a_script_is_run_and_the_model_reads_its_output() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/scripts/run.sh", "echo \"swept $1\"; exit 3\n")]);
    let count = Arc::default();
    let skills = builder(folder.path(), false).with_run(counting(&count)).build().unwrap();
    let result = run(&mut skills.chat("chat-1"), "scripts/run.sh", &["the desk"]);
    assert_eq!(result.text, "swept the desk\n");
    assert!(!result.is_ok() && result.data["code"] == 3, "{}", result.data);
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn only_a_regular_file_of_the_skill_is_run() {
    let folder =
        tree(&[("a/SKILL.md", &skill("a")), ("a/scripts/run.sh", "echo ran\n"), ("out.sh", "echo out\n")]);
    symlink(folder.path().join("out.sh"), folder.path().join("a/scripts/link.sh")).unwrap();
    let count = Arc::default();
    let skills = builder(folder.path(), false).with_run(counting(&count)).build().unwrap();
    let mut chat = skills.chat("chat-1");
    for path in ["scripts/none.sh", "scripts", "scripts/link.sh", "../out.sh", "/bin/true", ""] {
        assert!(!run(&mut chat, path, &[]).is_ok(), "{path}");
    }
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[test]
fn an_approved_script_is_run_only_while_no_file_of_its_skill_has_changed() {
    let folder =
        tree(&[("a/SKILL.md", &skill("a")), ("a/scripts/run.sh", "echo ran\n"), ("a/data.txt", "1")]);
    let count = Arc::default();
    let skills =
        builder(folder.path(), true).with_approval(|_, _| true).with_run(counting(&count)).build().unwrap();
    let mut chat = skills.chat("chat-1");
    let result = run(&mut chat, "scripts/run.sh", &[]);
    assert!(result.is_ok() && result.text == "ran\n", "{}", result.text);
    // What the script reads counts as much as the script.
    write(folder.path(), "a/data.txt", "2");
    let result = run(&mut chat, "scripts/run.sh", &[]);
    assert!(!result.is_ok(), "{}", result.text);
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn without_a_function_or_after_its_error_the_model_reads_that_nothing_was_run() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/scripts/run.sh", "echo ran\n")]);
    let fails =
        |_: &Candidate, _: &RelPath, _: &[String]| Err(io::Error::other("no sandbox at /secret/path"));
    for builder in [builder(folder.path(), false), builder(folder.path(), false).with_run(fails)] {
        let result = run(&mut builder.build().unwrap().chat("chat-1"), "scripts/run.sh", &[]);
        assert!(!result.is_ok() && result.text.contains("could not be run"), "{}", result.text);
        assert!(!result.text.contains("secret"), "{}", result.text);
    }
}
