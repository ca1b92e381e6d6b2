//! Servers that are child processes: they do not start, write noise, exit early, or hang.

use std::sync::mpsc;
use std::time::Duration;

use prowess::RelPath;
use prowess::source::{Slice, Source as _};
use prowess_mcp::McpLimits;
use serde_json::json;

use crate::source_http_errors::{TWO_MEMBERS, content, error_text, short, small_limits};
use crate::support::{LONG, until};
use prowess_mcp::testing::{Reply, source};

/// A source for a shell script.
fn shell(script: &str) -> prowess_mcp::McpSource {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    prowess_mcp::McpSource::new("far", &prowess::source::spec::Server::started(argv)).unwrap()
}

/// A script that responds to `count` requests: discover, list, then read.
fn script(before: &str, count: usize) -> String {
    let content = content();
    let responses = [
        ("server/discover", json!({})),
        ("skills/list", json!({})),
        ("resources/read", json!({"uri": "skill://pdf/SKILL.md"})),
    ];
    let lines = responses.iter().take(count).enumerate().map(|(id, (method, params))| {
        let Reply::Result(result) = content.reply(method, params) else { panic!() };
        let line = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        format!("read -r line; printf '%s\\n' '{line}'; ")
    });
    format!("{before}; {}", lines.collect::<String>())
}

#[test]
fn output_that_is_not_a_message_is_ignored() {
    let remote = shell(&script("echo starting up...; echo; echo '{\"x\": [1'; echo '[]'; echo oops >&2", 3));
    let skill = remote.list().unwrap().skills.remove(0);
    let path = RelPath::parse("SKILL.md").unwrap();
    assert!(remote.read(skill.source_skill(), &path, Slice::first(9)).is_ok());
}

#[test]
fn an_error_contains_other_output_of_the_process() {
    let remote = shell("printf 'hello\\033[31m\\n'; read -r line; echo 'no such\\tfile' >&2; exit 3");
    let text = error_text(&remote.list().unwrap_err());
    assert!(
        text.starts_with(
            "connecting to sh: the program ended; it also wrote: hello\\u{1b}[31m; it says: no such"
        ),
        "{text}"
    );
    // On a busy machine, the time may be over before the shell has begun.
    until(
        || {
            let remote = shell("echo hello; cat >/dev/null").with_limits(short());
            error_text(&remote.list().unwrap_err())
        },
        |text| text == "connecting to sh: there was no answer within 300 ms; it also wrote: hello",
    );
}

#[test]
fn an_error_names_a_program_that_does_not_start_or_exits() {
    let text = error_text(&source("mcp=/no/such/program --x").list().unwrap_err());
    assert!(text.starts_with("connecting to /no/such/program: it could not be started: "), "{text}");
    assert_eq!(error_text(&shell("exit 0").list().unwrap_err()), "connecting to sh: the program ended");
    // It ends after the handshake.
    let text = error_text(&shell(&script(":", 1)).list().unwrap_err());
    assert_eq!(text, "skills/list: the program ended");
}

#[test]
fn a_process_that_ended_is_started_again_on_the_next_request() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let remote = shell(&script(&format!("echo start >> '{}'", starts.display()), 2));
    assert_eq!(remote.list().unwrap().skills.len(), 1);
    // The end of the first process may not be noticed yet; then one list fails, and the next one starts it again.
    assert!((0..100).any(|_| remote.list().is_ok()));
    assert!(std::fs::read_to_string(&starts).unwrap().lines().count() >= 2);
}

#[test]
fn a_message_with_too_many_values_ends_the_connection() {
    let remote = shell("printf '[%s0]\\n' \"$(yes 0, | head -n 100 | tr -d '\\n')\"; cat")
        .with_limits(McpLimits::default().with_answer_values(100));
    assert_eq!(
        error_text(&remote.list().unwrap_err()),
        "connecting to sh: its answer has more than 100 values"
    );
}

#[test]
fn a_response_with_two_members_of_one_name_ends_its_request_at_once() {
    for (response, member) in TWO_MEMBERS {
        // It goes on running, and answers nothing else.
        let remote = shell(&format!("{}read -r line; printf '%s\\n' '{response}'; cat", script(":", 1)));
        let text = error_text(&remote.list().unwrap_err());
        let wanted = format!("skills/list: its answer is ambiguous: the member {member} appears twice");
        assert!(text.starts_with(&wanted), "{text}");
    }
    // So does one that is no response to its request.
    let shape = r#"printf '%s\n' '{"jsonrpc":"2.0","id":0,"result":7}'; cat"#;
    let text = error_text(&shell(&format!("read -r line; {shape}")).list().unwrap_err());
    assert_eq!(text, "connecting to sh: it does not answer what was asked");
}

#[test]
fn an_endless_line_is_an_error() {
    let remote = shell("yes | tr -d '\\n'").with_limits(small_limits());
    assert_eq!(
        error_text(&remote.list().unwrap_err()),
        "connecting to sh: it wrote a line of more than 10000 bytes"
    );
}

/// A shell line that keeps a FIFO open while its script runs, and a receiver that reports when the FIFO is closed.
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
fn the_process_and_its_children_end_with_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let (line, gone) = alive(folder.path());
    // Neither process ends by itself.
    let before = format!("{line}; sleep 600 & trap '' TERM");
    let remote = shell(&format!("{} sleep 600", script(&before, 2)));
    assert_eq!(remote.list().unwrap().skills.len(), 1);
    assert!(gone.try_recv().is_err());
    drop(remote);
    gone.recv_timeout(LONG).unwrap();
}

#[test]
fn a_process_that_hangs_is_ended_and_requests_are_paused() {
    let begin = || {
        let folder = tempfile::tempdir().unwrap();
        let (line, gone) = alive(folder.path());
        let starts = folder.path().join("starts");
        let before = format!("{line}; echo start >> '{}'", starts.display());
        let remote = shell(&format!("{} sleep 600", script(&before, 1)))
            .with_limits(short().with_rest(Duration::from_secs(3600)));
        // More than a pipe holds, so that the write blocks.
        let error = remote.get(&format!("skill://{}/SKILL.md", "x".repeat(1 << 20))).unwrap_err();
        let text = error_text(&error);
        assert!(text.ends_with("there was no answer within 300 ms"), "{text}");
        (text, folder, gone, remote)
    };
    let (_, folder, gone, remote) = until(begin, |(text, ..)| !text.starts_with("connecting to "));
    gone.recv_timeout(LONG).unwrap();
    for _ in 0..3 {
        let text = error_text(&remote.list().unwrap_err());
        assert_eq!(text, "skills/list: it did not answer a moment ago, and is left alone for 3600000 ms");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("starts")).unwrap().lines().count(), 1);
}

#[test]
fn the_error_of_a_process_that_dies_contains_its_output() {
    let remote = shell(&format!("{}read -r line; echo 'disk full' >&2; exit 1", script(":", 1)));
    assert_eq!(error_text(&remote.list().unwrap_err()), "skills/list: the program ended; it says: disk full");
}

/// A notification, which takes many times its size as a parsed value.
const NOTE: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":[1,1,1,1,1,1,1,1,1,1,1,1]}}"#;

#[test]
fn a_process_that_sends_only_unsolicited_messages_is_ended() {
    let flood = format!("read -r line; while :; do echo '{NOTE}'; done");
    for flood in [flood, script(":", 1) + "while echo noise; do :; done"] {
        let text = error_text(&shell(&flood).with_limits(small_limits()).list().unwrap_err());
        assert!(text.contains("it wrote more than 10000 bytes that answer nothing"), "{text}");
    }
}

#[test]
fn unsolicited_messages_between_responses_are_allowed() {
    // Before each response, nearly as many bytes as the limit.
    let notes = format!(
        "notes() {{ for _ in 1 2 3 4 5; do for _ in 1 2 3 4 5 6 7 8 9; do echo '{NOTE}'; done; done; }}"
    );
    let script = script(&notes, 3).replace("; printf", "; notes; printf");
    let remote = shell(&script).with_limits(small_limits());
    let skill = remote.list().unwrap().skills.remove(0);
    assert!(remote.read(skill.source_skill(), &RelPath::parse("SKILL.md").unwrap(), Slice::first(9)).is_ok());
}
