//! Servers that are programs: they cannot be started, make noise, do not stay, or would not go.

use std::sync::mpsc;
use std::time::Duration;

use prowess::RelPath;
use prowess::source::{Slice, Source as _};
use prowess_mcp::McpLimits;
use serde_json::json;

use crate::liar::{Reply, source};
use crate::support::LONG;
use crate::transports::{complaint, patient, short, story};

/// A program of the shell as a server.
fn shell(script: &str) -> prowess_mcp::McpSource {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    prowess_mcp::McpSource::new("far", &prowess::source::spec::Server::started(argv)).unwrap()
}

/// The lines of a server that answers so many requests: to discover, to list, then to read what it listed.
fn script(before: &str, count: usize) -> String {
    let story = story();
    let answers = [
        ("server/discover", json!({})),
        ("skills/list", json!({})),
        ("resources/read", json!({"uri": "skill://pdf/SKILL.md"})),
    ];
    let lines = answers.iter().take(count).enumerate().map(|(id, (method, params))| {
        let Reply::Result(result) = story.answer(method, params) else { panic!() };
        let line = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        format!("read -r line; printf '%s\\n' '{line}'; ")
    });
    format!("{before}; {}", lines.collect::<String>())
}

#[test]
fn noise_on_the_pipe_is_passed_over() {
    let far = shell(&script("echo starting up...; echo; echo '{\"x\": [1'; echo '[]'; echo oops >&2", 3));
    let skill = far.list().unwrap().candidates.remove(0);
    let path = RelPath::parse("SKILL.md").unwrap();
    assert!(far.read(&skill, &path, Slice::first(9)).is_ok());
}

#[test]
fn noise_and_complaints_are_shown_when_there_is_nothing_else() {
    let far = shell("printf 'hello\\033[31m\\n'; read -r line; echo 'no such\\tfile' >&2; exit 3");
    let text = complaint(&far.list().unwrap_err());
    assert!(
        text.starts_with(
            "connecting to sh: the program ended; it wrote what is no message: hello\\u{1b}[31m; it says: no such"
        ),
        "{text}"
    );
    let far = shell("echo hello; cat >/dev/null").within(short());
    let text = complaint(&far.list().unwrap_err());
    assert_eq!(
        text,
        "connecting to sh: there was no answer within 2000 ms; it wrote what is no message: hello"
    );
}

#[test]
fn a_program_that_cannot_run_or_does_not_stay_is_named() {
    let text = complaint(&source("mcp=/no/such/program --x").list().unwrap_err());
    assert!(text.starts_with("connecting to /no/such/program: it could not be started: "), "{text}");
    assert_eq!(complaint(&shell("exit 0").list().unwrap_err()), "connecting to sh: the program ended");
    // It ends after the handshake, and after the list.
    let text = complaint(&shell(&script(":", 1)).list().unwrap_err());
    assert_eq!(text, "skills/list: the program ended");
}

#[test]
fn a_program_that_ended_is_started_again_when_it_is_next_needed() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let far = shell(&script(&format!("echo start >> '{}'", starts.display()), 2));
    assert_eq!(far.list().unwrap().candidates.len(), 1);
    // The end of the first one may not have been noticed yet; then that list fails, and the next one starts anew.
    assert!((0..100).any(|_| far.list().is_ok()));
    assert!(std::fs::read_to_string(&starts).unwrap().lines().count() >= 2);
}

#[test]
fn a_message_with_too_many_values_ends_the_connection() {
    let far = shell("printf '[%s0]\\n' \"$(yes 0, | head -n 100 | tr -d '\\n')\"; cat")
        .within(McpLimits { answer_values: 100, ..McpLimits::default() });
    assert_eq!(complaint(&far.list().unwrap_err()), "connecting to sh: its answer has more than 100 values");
}

#[test]
fn a_line_without_end_is_cut() {
    let far = shell("yes | tr -d '\\n'").within(patient());
    assert_eq!(
        complaint(&far.list().unwrap_err()),
        "connecting to sh: it wrote a line of more than 10000 bytes"
    );
}

/// A pipe that whoever runs a script holds open, the line for that script, and what tells when nobody holds it.
fn alive(folder: &std::path::Path) -> (String, mpsc::Receiver<()>) {
    let fifo = folder.join("alive");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let line = format!("exec 9>'{}'", fifo.display());
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::fs::File::open(fifo).unwrap(), &mut bytes).unwrap();
        tell.send(())
    });
    (line, told)
}

#[test]
fn the_program_and_all_it_started_end_with_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let (line, gone) = alive(folder.path());
    // Neither would end by itself.
    let before = format!("{line}; sleep 600 & trap '' TERM");
    let far = shell(&format!("{} sleep 600", script(&before, 2)));
    assert_eq!(far.list().unwrap().candidates.len(), 1);
    assert!(gone.try_recv().is_err());
    drop(far);
    gone.recv_timeout(LONG).unwrap();
}

#[test]
fn a_program_that_hangs_is_ended_and_then_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (line, gone) = alive(folder.path());
    let starts = folder.path().join("starts");
    let before = format!("{line}; echo start >> '{}'", starts.display());
    let far = shell(&format!("{} sleep 600", script(&before, 1)))
        .within(McpLimits { rest: Duration::from_secs(3600), ..short() });
    // More than a pipe holds, so that whoever writes it is stuck.
    let error = far.get(&format!("skill://{}/SKILL.md", "x".repeat(1 << 20))).unwrap_err();
    assert!(complaint(&error).ends_with("there was no answer within 2000 ms"), "{error}");
    gone.recv_timeout(LONG).unwrap();
    for _ in 0..3 {
        let text = complaint(&far.list().unwrap_err());
        assert_eq!(text, "skills/list: it did not answer a moment ago, and is left alone for 3600000 ms");
    }
    assert_eq!(std::fs::read_to_string(starts).unwrap().lines().count(), 1);
}

#[test]
fn a_program_that_dies_after_the_handshake_gives_its_reason() {
    let far = shell(&format!("{}read -r line; echo 'disk full' >&2; exit 1", script(":", 1)));
    assert_eq!(complaint(&far.list().unwrap_err()), "skills/list: the program ended; it says: disk full");
}

/// A line that answers nothing, and would be many times its size as a value.
const NOTE: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":[1,1,1,1,1,1,1,1,1,1,1,1]}}"#;

#[test]
fn a_program_that_talks_without_end_and_answers_nothing_is_given_up() {
    let flood = format!("read -r line; while :; do echo '{NOTE}'; done");
    for flood in [flood, script(":", 1) + "while echo noise; do :; done"] {
        let text = complaint(&shell(&flood).within(patient()).list().unwrap_err());
        assert!(text.contains("it wrote more than 10000 bytes that answer nothing"), "{text}");
    }
}

#[test]
fn what_a_program_says_between_answers_is_not_counted_against_it() {
    // Before each answer there is nearly as much as would be too much.
    let notes = format!(
        "notes() {{ for _ in 1 2 3 4 5; do for _ in 1 2 3 4 5 6 7 8 9; do echo '{NOTE}'; done; done; }}"
    );
    let script = script(&notes, 3).replace("; printf", "; notes; printf");
    let far = shell(&script).within(patient());
    let skill = far.list().unwrap().candidates.remove(0);
    assert!(far.read(&skill, &RelPath::parse("SKILL.md").unwrap(), Slice::first(9)).is_ok());
}
