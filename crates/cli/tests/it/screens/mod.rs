//! What commands show on a terminal of a given width. `PROWESS_COLUMNS` asks for the layout of a terminal, without one.

mod checks;
mod lists;
mod search;

use unicode_width::UnicodeWidthStr as _;

use crate::Place;
use crate::shelf;

const MINUTES: &str = "---\nname: meeting-minutes\ndescription: Turns raw notes of a meeting into minutes with decisions, owners and dates. Use when the user has notes or a transcript of a meeting and wants minutes, a protocol or a summary.\n---\n# Minutes\n\nRead the notes first.\n";
const KANJI: &str = "---\nname: 議事録\ndescription: 会議のメモから議事録を作ります。会議の後で、決定事項と担当者をまとめるときに使います。\n---\n書く。\n";
const PDF: &str = "---\nname: pdf-forms\ndescription: Fills in PDF forms. Use when a form has fields.\n---\nFill in each field.\n";
const DEPLOY: &str =
    "---\nname: deploy\ndescription: Deploys the service. Use when the user wants a release.\n---\nDeploy.\n";

/// A project and a home with skills in every state.
fn skills() -> Place {
    Place::with(&[
        ("home/.claude/skills/meeting-minutes/SKILL.md", MINUTES),
        ("home/.claude/skills/pdf-forms/SKILL.md", PDF),
        ("home/.claude/skills/torn/SKILL.md", "---\nname: torn\nname: again\ndescription: d\n---\n"),
        ("home/.claude/skills/draft/SKILL.md", "---\nname: draft\ndescription: Not ready.\n---\n"),
        ("home/.codex/skills/pdf-forms/SKILL.md", PDF),
        ("home/.codex/skills/議事録/SKILL.md", KANJI),
        (".claude/skills/deploy/SKILL.md", DEPLOY),
        (
            ".claude/skills/meeting-minutes/SKILL.md",
            &MINUTES.replace("Read the notes first.", "Read.\n\nWrite."),
        ),
        ("config/prowess/prowess.toml", "[skills]\ndisable = [\"draft\"]\n"),
    ])
}

/// Runs a command for a screen with this many columns.
pub(crate) fn screen(place: &Place, columns: usize, args: &[&str]) -> String {
    let output =
        shelf::command(place).args(args).env("PROWESS_COLUMNS", columns.to_string()).output().unwrap();
    place.transcript(&output)
}

#[test]
fn no_line_is_wider_than_the_screen_and_none_controls_the_terminal() {
    let place = skills();
    let hostile =
        "---\nname: \"x\\e]0;t\\a\"\ndescription: \"d\\e[2J \\u202E meeting notes\"\n---\n\u{1b}[2J\n";
    place.write("home/.claude/skills/\u{1b}[31mx/SKILL.md", hostile.as_bytes());
    place.write(
        "home/.claude/skills/\u{1b}[31mx/evals/eval_queries.json",
        br#"[{"query":"\u001b[2J \u202e zebra"}]"#,
    );
    // Without one, there is nothing to verify.
    place.write("skills.toml", b"");
    for columns in [1, 20, 33, 80, 120, 200] {
        for args in [
            &["list", "--all"][..],
            &["list", "--all", "--cost"],
            &["list", "--all", "--sort", "name"],
            &["list", "--client", "installed"],
            &["search", "meeting \u{1b}[2J notes", "--why"],
            &["search", "meeting notes", "--why", "--why"],
            &["why", "x\u{1b}]0;t\u{7}", "--query", "\u{1b}[2J"],
            &["eval", "home/.claude/skills"],
            &["rule"],
            &["list", "--installed"],
            &["verify"],
        ] {
            let said = screen(&place, columns, args);
            let hidden = said.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(hidden, None, "{args:?} {columns}: {said:?}");
            // Totals and commands to copy are whole lines, and are not cut.
            let table = said.split("\n\n").next().unwrap().lines().skip(2);
            for line in table.filter(|line| line.starts_with("  ") && args[0] != "why") {
                assert!(line.width() <= columns.max(20), "{args:?} {columns}: {line}");
            }
        }
    }
}

#[test]
fn a_pipe_gets_lines_whatever_columns_says() {
    let place = crate::shelf::shelf();
    let lines = shelf::command(&place).arg("list").output().unwrap().stdout;
    let with_columns = shelf::command(&place).arg("list").env("COLUMNS", "40").output().unwrap().stdout;
    assert_eq!(lines, with_columns);
    assert_ne!(
        lines,
        shelf::command(&place).arg("list").env("PROWESS_COLUMNS", "40").output().unwrap().stdout
    );
}
