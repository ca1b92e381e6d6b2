//! Rules about the instructions: their length, and commands that a client would run.

use crate::check::findings::Findings;
use crate::document::Document;
use crate::finding::Finding;
use crate::finding::rule::rules;
use crate::limits::{LARGE_FILE_BYTES, RECOMMENDED_LINES, RECOMMENDED_TOKENS};
use crate::span::Span;

rules! {
    BODY_EMPTY = "body-empty" [O O O O O],
        "there are no instructions",
        "The specification allows it, but a skill without instructions teaches nothing. Hosts that require instructions turn this rule on.";
    BODY_TOO_MANY_LINES = "body-too-many-lines" [I O I I O],
        "SKILL.md has more than 500 lines",
        "The specification advises fewer than 500 lines, because the whole text enters the context when the skill is used.\n\nMove details into files under `references/`.";
    BODY_TOO_MANY_TOKENS = "body-too-many-tokens" [I O I I O],
        "the instructions have more than about 5000 tokens",
        "The specification advises fewer than 5000 tokens. The number is an estimate: four bytes per token.\n\nMove details into files under `references/`.";
    FILE_LARGE = "file-large" [W O W W W],
        "SKILL.md is larger than 200 KB",
        "Fewer than one in a thousand real skills is that large; above 1 MiB a file is refused.\n\nMove material into files under `references/`.";
    DYNAMIC_COMMAND = "dynamic-command" [I O I I I],
        "the instructions contain a command to be run when the skill is loaded",
        "Some clients run `` !`command` `` and put its output into the text. Prowess shows it verbatim and never runs it.";
}

/// Checks the body.
pub(in crate::check) fn check(document: &Document, findings: &mut Findings<'_>) {
    let body = document.body_raw();
    if document.body().is_empty() {
        findings.push(
            Finding::new(&BODY_EMPTY, "there are no instructions")
                .with_span(Span::at(document.body_offset())),
        );
    }
    let lines = memchr::memchr_iter(b'\n', document.text().as_bytes()).count();
    if lines > RECOMMENDED_LINES {
        findings.push(Finding::new(
            &BODY_TOO_MANY_LINES,
            format!("SKILL.md has {lines} lines, more than {RECOMMENDED_LINES}"),
        ));
    }
    let tokens = body.len() / 4;
    if tokens > RECOMMENDED_TOKENS {
        let message = format!("the instructions have about {tokens} tokens, more than {RECOMMENDED_TOKENS}");
        findings.push(Finding::new(&BODY_TOO_MANY_TOKENS, message));
    }
    let size = document.raw().len();
    if size > LARGE_FILE_BYTES {
        findings.push(Finding::new(
            &FILE_LARGE,
            format!("SKILL.md has {size} bytes, more than {LARGE_FILE_BYTES}"),
        ));
    }
    if let Some(span) = dynamic_command(body) {
        let finding = Finding::new(
            &DYNAMIC_COMMAND,
            "a command to be run when the skill is loaded; Prowess never runs it, some agents do",
        );
        findings.push(finding.with_span(span.shift(document.body_offset())));
    }
}

/// The first `` !`command` `` at the start of a line or after a space, or a ```` ```! ```` fence.
fn dynamic_command(body: &str) -> Option<Span> {
    for (at, _) in body.match_indices("!`") {
        let before = body.get(..at).unwrap_or("");
        if !(before.is_empty() || before.ends_with(char::is_whitespace)) {
            continue;
        }
        let rest = body.get(at + 2..).unwrap_or("");
        let line = rest.lines().next().unwrap_or("");
        if let Some(close) = line.find('`').filter(|close| *close > 0) {
            return Some(Span::new(at, at + 2 + close + 1));
        }
    }
    let fence = body.match_indices("```!").map(|(at, _)| at);
    fence
        .filter(|at| *at == 0 || body.get(..*at).is_some_and(|before| before.ends_with('\n')))
        .map(|at| Span::new(at, at + 4))
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_where_clients_would_run_them() {
        let found = |body: &str| dynamic_command(body).and_then(|span| span.slice(body).map(str::to_owned));
        assert_eq!(found("Now: !`git status` there").as_deref(), Some("!`git status`"));
        assert_eq!(found("```!\nls\n```").as_deref(), Some("```!"));
        assert_eq!(found("wow!`x` and !``"), None);
    }
}
