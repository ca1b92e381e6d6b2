//! Rules about `allowed-tools` and `disallowed-tools`: one text, separated by spaces, with balanced parentheses.

use std::borrow::Cow;

use crate::check::findings::Findings;
use crate::document::{Document, Pair};
use crate::finding::Finding;
use crate::finding::rule::rules;
use crate::skill::tool_list::{ToolForm, ToolGrant, ToolList};
use crate::skill::{Entry, tool_list};
use crate::text::inline;

rules! {
    TOOLS_NOT_TEXT = "tools-not-text" [E E E E W],
        "the tools are neither a text nor a list of texts",
        "`allowed-tools` is one text: `Bash(git:*) Read`. Read leniently, anything else grants nothing.";
    TOOLS_LIST = "tools-list" [W O W W O],
        "the tools are a list instead of one text",
        "The specification requires one text separated by spaces. Prowess reads lists too; some publishers refuse them.";
    TOOLS_COMMAS = "tools-commas" [W O W W O],
        "the tools are separated by commas",
        "The specification requires spaces between the tools. Prowess reads commas too.";
    TOOLS_EMPTY = "tools-empty" [W O W W O],
        "the tools are empty",
        "Without the field a skill says nothing about tools; with an empty one it asks for none.\n\nName the tools or leave the field out.";
    TOOLS_UNBALANCED = "tools-unbalanced" [W O W W W],
        "a parenthesis in the tools is not closed",
        "`Bash(git:*)` opens and closes a parenthesis around its pattern. What follows an open one is read as one tool.";
    TOOLS_UNRESTRICTED_SHELL = "tools-unrestricted-shell" [I O I I I],
        "the skill asks for every shell command",
        "`Bash` without a pattern, or `Bash(*)`, asks for pre-approval of anything a shell can do. Hosts treat it as a request, never as a grant.\n\nName the commands: `Bash(git:*)`.";
}

/// Checks both fields. With an entry, the tools are not read again.
pub(in crate::check) fn check(document: &Document, entry: Option<&Entry>, findings: &mut Findings<'_>) {
    if let Some(pair) = document.pair("allowed-tools") {
        check_pair(pair, entry.and_then(|entry| entry.allowed_tools.as_ref()), true, findings);
    }
    if let Some(pair) = document.pair("disallowed-tools") {
        let known = entry.and_then(|entry| entry.client.disallowed_tools.as_ref());
        check_pair(pair, known, false, findings);
    }
}

fn check_pair(pair: &Pair, known: Option<&ToolList>, grants: bool, findings: &mut Findings<'_>) {
    let (commas, list) = (findings.wants(&TOOLS_COMMAS), findings.wants(&TOOLS_LIST));
    let mut push = |finding: Finding| {
        findings.push(finding.with_field(pair.key.clone()).with_span(pair.value.span));
    };
    let texts_only = pair.value.pairs().is_none()
        && pair.value.items().is_none_or(|items| items.iter().all(|item| item.scalar().is_some()));
    if !texts_only {
        return push(Finding::new(
            &TOOLS_NOT_TEXT,
            format!("the tools are {} that cannot be read as tools", pair.value.shape()),
        ));
    }
    let tools = known.map_or_else(|| Cow::Owned(tool_list(&pair.value)), Cow::Borrowed);
    if tools.grants.is_empty() {
        push(
            Finding::new(&TOOLS_EMPTY, "the tools are empty")
                .with_help("name the tools, or leave the field out"),
        );
    }
    let spec_form = || format!("write `{}`", inline(&tools.to_spec_string()));
    if pair.value.items().is_some() {
        if list {
            push(Finding::new(&TOOLS_LIST, "the tools are a list").with_help(spec_form()));
        }
    } else if commas && matches!(tools.form, ToolForm::Commas | ToolForm::Mixed) {
        push(Finding::new(&TOOLS_COMMAS, "the tools are separated by commas").with_help(spec_form()));
    }
    for grant in &tools.grants {
        if !grant.balanced {
            let message = format!("a parenthesis is not closed: {}", inline(&grant.raw));
            push(Finding::new(&TOOLS_UNBALANCED, message));
        }
        if grants && is_whole_shell(grant) {
            let message = format!("the skill asks for every shell command: {}", inline(&grant.raw));
            push(
                Finding::new(&TOOLS_UNRESTRICTED_SHELL, message)
                    .with_help("name the commands: `Bash(git:*)`"),
            );
        }
    }
}

/// Whether a tool is a shell without a restricting pattern.
fn is_whole_shell(grant: &ToolGrant) -> bool {
    let name = grant.base_name();
    let shell = ["bash", "shell", "*"].iter().any(|shell| name.eq_ignore_ascii_case(shell));
    let open = |pattern: &str| pattern.trim().chars().all(|c| matches!(c, '*' | ':'));
    shell && grant.pattern.as_deref().is_none_or(open)
}
