//! [`ToolList`]: the one reading of `allowed-tools`, such as `Bash(git:*) Read`.
//!
//! Authors write the field with spaces, commas, line breaks or as a list, and put spaces and commas into the
//! parentheses of a pattern. All code reads the field here, so that a skill means the same wherever it is used. A tool
//! that cannot be read with certainty is kept and shown, and grants nothing.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

mod host;
mod pattern;
#[cfg(test)]
mod tests;

pub use host::HostTools;

/// The place of one tool in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Token {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Whether it reads as `name` or `name(pattern)`: see [`ToolGrant::balanced`].
    pub balanced: bool,
}

/// Finds the tools in a text: separated by spaces, commas and line breaks outside parentheses.
///
/// Parentheses nest; quotation marks mean nothing, since an apostrophe would swallow the tools after it. No
/// character is lost: with a parenthesis left open the rest of the text, without the spaces at its end, is
/// one token, marked as not balanced.
///
/// ```
/// use prowess_core::internal::tokens;
///
/// let text = "Read, Bash(npm run build, npm test)";
/// let found: Vec<_> = tokens(text).iter().filter_map(|t| text.get(t.start..t.end)).collect();
/// assert_eq!(found, ["Read", "Bash(npm run build, npm test)"]);
/// ```
pub fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut open: Option<Token> = None;
    let (mut depth, mut closed) = (0_usize, false);
    for (at, char) in text.char_indices() {
        let end = at + char.len_utf8();
        if depth == 0 && is_separator(char) {
            found.extend(open.take());
        } else {
            let token = open.get_or_insert_with(|| {
                closed = false;
                // A parenthesis without a name before it belongs to no tool.
                Token { start: at, end, balanced: char != '(' }
            });
            token.end = end;
            // Text after a closed pattern, as in `Bash(x)Read`, makes the meaning unclear.
            if depth == 0 && closed {
                token.balanced = false;
            }
            match char {
                '(' => depth += 1,
                ')' if depth == 0 => token.balanced = false,
                ')' => {
                    depth -= 1;
                    closed = depth == 0;
                }
                _ => {}
            }
        }
    }
    if let Some(mut token) = open {
        if depth > 0 {
            token.balanced = false;
            token.end = text.trim_end().len();
        }
        found.push(token);
    }
    found
}

fn is_separator(char: char) -> bool {
    char == ',' || char.is_whitespace()
}

/// How the author separated the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ToolForm {
    /// With spaces, as the specification has it; also when there are fewer than two tools.
    Spaces,
    /// With commas, with or without spaces and line breaks beside them.
    Commas,
    /// One on each line.
    Lines,
    /// In more than one of these ways.
    Mixed,
    /// As a list of the surrounding format.
    List,
}

impl ToolForm {
    fn of(text: &str, tokens: &[Token]) -> Self {
        let mut form = None;
        for pair in tokens.windows(2) {
            let [before, after] = pair else { continue };
            let gap = text.get(before.end..after.start).unwrap_or_default();
            let this = if gap.contains(',') {
                Self::Commas
            } else if gap.contains(['\n', '\r']) {
                Self::Lines
            } else {
                Self::Spaces
            };
            match form {
                None => form = Some(this),
                Some(known) if known != this => return Self::Mixed,
                Some(_) => {}
            }
        }
        form.unwrap_or(Self::Spaces)
    }
}

/// One tool of the list, with the pattern its use is limited to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolGrant {
    /// The text of the tool as written.
    pub raw: String,
    /// What precedes the first parenthesis.
    pub name: String,
    /// The text in the outer parentheses; none when there are none.
    pub pattern: Option<String>,
    /// Whether it reads as `name` or `name(pattern)`. A parenthesis left open or closed twice, text after
    /// the pattern, a pattern without a name, and the name from which such a pattern came loose (as in
    /// `Bash (git:*)`) are not balanced: they grant nothing, since a guess might grant too much.
    pub balanced: bool,
}

impl ToolGrant {
    fn new(raw: &str, balanced: bool) -> Self {
        let (name, pattern) = match raw.split_once('(') {
            Some((name, rest)) if balanced => (name, Some(rest.strip_suffix(')').unwrap_or(rest))),
            Some((name, rest)) => (name, Some(rest)),
            None => (raw, None),
        };
        Self { raw: raw.to_owned(), name: name.to_owned(), pattern: pattern.map(str::to_owned), balanced }
    }

    /// The name of the tool without the pattern.
    pub fn base_name(&self) -> &str {
        &self.name
    }

    /// Whether it is about `tool`, whatever its pattern and whether or not it grants anything.
    ///
    /// ASCII case does not count. A `*` in the name matches any run of characters, and the name of an
    /// MCP server matches all its tools: `mcp__github` names `mcp__github__list-issues`.
    /// A pattern after the tool's name does not count either: `Bash(git:*)` is `Bash`.
    pub fn names(&self, tool: &str) -> bool {
        pattern::name(&self.name, base_name(tool))
    }

    /// Whether it grants the use of `tool` with this argument: the command line of a shell, the path of a
    /// file tool.
    ///
    /// The tool must be [named](Self::names). Then, by the pattern:
    ///
    /// - none, `*` or `**`: every use, with or without argument;
    /// - any other: only a use with an argument;
    /// - without `*`: the argument is exactly the pattern;
    /// - for `Read`, `Write`, `Edit`, `MultiEdit`, `NotebookRead`, `NotebookEdit`, `Glob`, `Grep` and `LS`: a
    ///   path. `*` stays within a name, `**` as a whole name matches any number of folders, also none. The
    ///   argument must be a safe path ([`crate::path::RelPath::from_request`]), below `/` or `~/` when the
    ///   pattern is, so `src/**` does not grant `src/../../etc/passwd` and `**` as a part of a pattern never
    ///   leads outside;
    /// - for every other tool: a command. `*` matches any run of characters; `git:*` and `git *` grant
    ///   `git` alone and `git` followed by a space or colon and anything, but not `gitk`. A `*` never matches
    ///   for a character with which shells begin another command, a redirection or an expansion
    ///   (`;`, `&`, `|`, `<`, `>`, `$`, a backquote, a line break, NUL), not even inside quotes: `git:*` does
    ///   not grant `git status; rm -r .`, which needs an approval.
    ///
    /// Letter case counts in patterns.
    pub fn matches(&self, tool: &str, argument: Option<&str>) -> bool {
        self.balanced
            && self.names(tool)
            && match (self.pattern.as_deref(), argument) {
                (None | Some("*" | "**"), _) => true,
                (Some(_), None) => false,
                (Some(pattern), Some(argument)) => {
                    pattern == argument || pattern::argument(tool, pattern, argument)
                }
            }
    }
}

impl fmt::Display for ToolGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.raw)
    }
}

/// The tools that a skill asks for. A skill that does not mention tools has no list, which differs from an empty one.
///
/// ```
/// use prowess_core::ToolList;
///
/// let tools = ToolList::parse("Bash(git add:*), Read mcp__github__list-issues");
/// assert_eq!(tools.base_names(), ["Bash", "Read", "mcp__github__list-issues"]);
/// assert!(tools.allows("bash", Some("git add src")));
/// assert!(!tools.allows("bash", Some("git push")));
/// assert_eq!(tools.to_spec_string(), "Bash(git add:*) Read mcp__github__list-issues");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolList {
    /// The source text, or the items of the list joined by a space.
    pub raw: String,
    /// How the author separated the tools.
    pub form: ToolForm,
    /// The tools, in the author's order.
    pub grants: Vec<ToolGrant>,
}

impl ToolList {
    /// Reads the text of the field.
    pub fn parse(text: &str) -> Self {
        let tokens = tokens(text);
        let form = ToolForm::of(text, &tokens);
        let mut grants = Vec::with_capacity(tokens.len());
        add(&mut grants, text, &tokens);
        Self { raw: text.to_owned(), form, grants }
    }

    /// Reads the items of a list; an item may itself hold several tools.
    pub fn from_items<'t>(items: impl IntoIterator<Item = &'t str>) -> Self {
        let (mut raw, mut grants) = (String::new(), Vec::new());
        for (count, item) in items.into_iter().enumerate() {
            if count > 0 {
                raw.push(' ');
            }
            raw.push_str(item);
            add(&mut grants, item, &tokens(item));
        }
        Self { raw, form: ToolForm::List, grants }
    }

    /// Whether it names no tool at all.
    pub fn is_empty(&self) -> bool {
        self.grants.is_empty()
    }

    /// Whether any of its grants [matches](ToolGrant::matches).
    pub fn allows(&self, tool: &str, argument: Option<&str>) -> bool {
        self.grants.iter().any(|grant| grant.matches(tool, argument))
    }

    /// The names without patterns, each once (case does not count), in the author's order.
    pub fn base_names(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let names = self.grants.iter().map(ToolGrant::base_name);
        names.filter(|name| !name.is_empty() && seen.insert(name.to_ascii_lowercase())).collect()
    }

    /// The grants that [name](ToolGrant::names) none of the available tools; empty when the skill can work with
    /// them. A pattern without a name asks for no tool and is not missing.
    pub fn missing_from<'a>(&'a self, available: &[&str]) -> Vec<&'a ToolGrant> {
        let missing = |grant: &&ToolGrant| !available.iter().any(|tool| grant.names(tool));
        self.grants.iter().filter(|grant| !grant.name.is_empty()).filter(missing).collect()
    }

    /// The field as the specification writes it: one text with a space between tools. It reads back as the
    /// same tools, unless an item of a list left a parenthesis open.
    pub fn to_spec_string(&self) -> String {
        self.to_string()
    }
}

/// The name of a tool without its pattern.
pub(crate) fn base_name(tool: &str) -> &str {
    tool.split('(').next().unwrap_or(tool).trim()
}

/// The text by which two grants are one: names are compared without case, as [`ToolGrant::names`] does, patterns as
/// written.
pub(crate) fn grant_identity(raw: &str) -> String {
    let (name, pattern) = raw.split_at(raw.find('(').unwrap_or(raw.len()));
    format!("{}{pattern}", name.trim().to_ascii_lowercase())
}

/// Whether a tool of the host matches this tool: by base name, as [`ToolGrant::names`].
pub(crate) fn same_tool(known: &str, tool: &str) -> bool {
    pattern::name(base_name(known), base_name(tool))
}

/// Appends the tools of one text, and marks a name that is separated from its pattern.
fn add(grants: &mut Vec<ToolGrant>, text: &str, tokens: &[Token]) {
    for token in tokens {
        let grant = ToolGrant::new(text.get(token.start..token.end).unwrap_or_default(), token.balanced);
        if grant.name.is_empty()
            && let Some(last) = grants.last_mut()
            && last.pattern.is_none()
        {
            last.balanced = false;
        }
        grants.push(grant);
    }
}

impl fmt::Display for ToolList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, grant) in self.grants.iter().enumerate() {
            if count > 0 {
                f.write_str(" ")?;
            }
            f.write_str(&grant.raw)?;
        }
        Ok(())
    }
}

impl Serialize for ToolList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.grants.iter().map(|grant| &grant.raw))
    }
}

impl<'de> Deserialize<'de> for ToolList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrList;

        impl<'de> Visitor<'de> for TextOrList {
            type Value = ToolList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E>(self, text: &str) -> Result<ToolList, E> {
                Ok(ToolList::parse(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ToolList, A::Error> {
                let mut items: Vec<String> = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(ToolList::from_items(items.iter().map(String::as_str)))
            }
        }

        deserializer.deserialize_any(TextOrList)
    }
}
