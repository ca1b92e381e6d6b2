//! Rules about the name: present, short, lower case, hyphenated, and the folder's.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::check::findings::Findings;
use crate::check::part_of;
use crate::check::rules::Locate;
use crate::document::{Document, Node};
use crate::finding::Finding;
use crate::finding::rule::{Rule, rules};
use crate::limits::MAX_NAME_CHARS;
use crate::skill::location::Origin;
use crate::skill::normalize;
use crate::text::inline;

/// Words that Anthropic's upload does not accept in a name.
pub(crate) const RESERVED_WORDS: &[&str] = &["anthropic", "claude"];

/// The rules about the characters of a name, which hosts can change.
pub(crate) const CHARACTER_RULES: &[&Rule] = &[
    &NAME_UPPERCASE,
    &NAME_UNDERSCORE,
    &NAME_INVALID_CHARACTER,
    &NAME_EDGE_HYPHEN,
    &NAME_DOUBLE_HYPHEN,
    &NAME_NOT_ASCII,
    &NAME_STARTS_WITH_DIGIT,
];

rules! {
    NAME_MISSING = "name-missing" [E E E E W],
        "there is no name",
        "Agents know a skill by its name. Read leniently, the folder's name is used.\n\nAdd `name: my-skill`.";
    NAME_UNKNOWN = "name-unknown" [E E E E E],
        "there is no name and no folder to take it from",
        "Without a name nothing can refer to the skill.\n\nAdd `name: my-skill`.";
    NAME_NOT_TEXT = "name-not-text" [E E E E W],
        "the name is a list or a mapping",
        "The name is one word. Read leniently, the folder's name is used.";
    NAME_NULL = "name-null" [E E E E W],
        "the name is null",
        "A plain `null` or `~` is null in YAML. Read leniently, the folder's name is used.\n\nWrite the name, or put the word in quotes.";
    NAME_TYPED = "name-typed" [W O E E W],
        "the name is a number, a boolean or a date to other readers",
        "A value without quotes that looks like `123`, `true`, `yes` or `2024-01-31` is not text to readers with typed values; some of them then refuse the skill. Prowess reads the text verbatim.\n\nPut it in quotes.";
    NAME_TOO_LONG = "name-too-long" [E E E E W],
        "the name has more than 64 characters",
        "The specification allows 64 characters, and clients cut or refuse longer names.";
    NAME_UPPERCASE = "name-uppercase" [E E E E W],
        "the name has upper-case letters",
        "Names are lower case, so that they are the same on every file system.";
    NAME_UNDERSCORE = "name-underscore" [E E E E W],
        "the name has an underscore",
        "Words in a name are separated by hyphens.";
    NAME_INVALID_CHARACTER = "name-invalid-character" [E E E E W],
        "the name has a character that is neither letter, digit nor hyphen",
        "Names are lower-case letters, digits and hyphens, because they become folder names, commands and addresses.";
    NAME_EDGE_HYPHEN = "name-edge-hyphen" [E E E E W],
        "the name begins or ends with a hyphen",
        "A hyphen separates two words; at the start it would also look like an option to commands.";
    NAME_DOUBLE_HYPHEN = "name-double-hyphen" [E E E E W],
        "the name has two hyphens in a row",
        "Words are separated by one hyphen.";
    NAME_NOT_ASCII = "name-not-ascii" [W O E E O],
        "the name has letters outside a-z and 0-9",
        "The specification is unclear about them; many clients, plugins and the skills extension of MCP accept only ASCII.";
    NAME_NORMALIZED = "name-normalized" [W O E E O],
        "the name changes when it is normalised",
        "Some characters have a plainer equivalent (NFKC), which becomes the name. Write the plain form.";
    NAME_PADDED = "name-padded" [E O E E O],
        "the name has spaces around it",
        "The spaces are removed when the skill is loaded; other readers keep them.";
    NAME_STARTS_WITH_DIGIT = "name-starts-with-digit" [O O O O O],
        "the name begins with a digit",
        "The specification allows it; some hosts require a letter first and turn this rule on.";
    NAME_RESERVED_WORD = "name-reserved-word" [O O E O O],
        "the name contains a reserved word",
        "Anthropic's upload refuses names that contain `anthropic` or `claude`. Hosts can reserve other words.";
    NAME_FOLDER_MISMATCH = "name-folder-mismatch" [E E O E I],
        "the name is not the name of the folder",
        "The specification requires both to be the same, so that a skill can be found by its name.\n\nRename the folder or the skill.";
}

/// Everything wrong with a name by itself. Its folder is not considered.
///
/// ```
/// let findings = prowess_core::check_name("My--Skill");
/// let codes: Vec<&str> = findings.iter().map(|finding| finding.code()).collect();
/// assert_eq!(codes, ["name-uppercase", "name-double-hyphen"]);
/// ```
pub fn check_name(name: &str) -> Vec<Finding> {
    let mut findings = Findings::default();
    if name.trim().is_empty() {
        findings.push(Finding::new(&NAME_MISSING, "there is no name").with_field("name"));
    } else {
        check_text(name, None, &mut findings, &|finding, _| finding);
    }
    findings.into_findings()
}

/// Checks that there is a name.
pub(in crate::check) fn check_presence(document: &Document, at: &Origin, findings: &mut Findings<'_>) {
    let node = document.field("name");
    let text = node.and_then(|node| if node.is_null() { Some("") } else { node.text() }).map(str::trim);
    if text.is_some_and(|text| !text.is_empty()) {
        return;
    }
    let null = node.and_then(Node::text).filter(|text| !text.is_empty() && node.is_some_and(Node::is_null));
    let fence = || document.fences().map(|fences| fences.open);
    let span = document.pair("name").map(|pair| pair.key_span).or_else(fence);
    let fallback = at.folder.as_deref();
    let mut push = |finding: Finding| findings.push(finding.with_field("name").with_span(span));
    let help = fallback.map_or_else(
        || "add `name: my-skill`".to_owned(),
        |folder| format!("add `name: {}`", suggest_name(folder)),
    );
    let help = crate::check::misspelt(document, "name").unwrap_or(help);
    match (node, fallback) {
        (_, None) => push(
            Finding::new(&NAME_UNKNOWN, "there is no name and no folder to take it from").with_help(help),
        ),
        (Some(node), _) if text.is_none() => {
            push(Finding::new(&NAME_NOT_TEXT, format!("the name is {}", node.shape())).with_help(help));
        }
        _ => push(match null {
            Some(written) => Finding::new(&NAME_NULL, format!("the name is null: {written}")).with_help(help),
            None => Finding::new(&NAME_MISSING, "there is no name").with_help(help),
        }),
    }
}

/// Checks the text of the name.
pub(in crate::check) fn check(document: &Document, at: &Origin, findings: &mut Findings<'_>) {
    let Some(node) = document.field("name") else { return };
    let Some(written) = node.said().filter(|text| !text.trim_start().is_empty()) else { return };
    crate::check::check_type(&NAME_TYPED, "name", node, findings);
    let folder = at.folder.as_deref();
    check_text(written, folder, findings, &|finding, part| finding.with_span(part_of(document, node, part)));

    if let Some(folder) = folder
        && folder != written
        && normalize(folder) != normalize(written)
    {
        let name = normalize(written);
        let message =
            format!("the name is not the name of the folder: {} in {}", inline(&name), inline(folder));
        findings.push(
            Finding::new(&NAME_FOLDER_MISMATCH, message)
                .with_field("name")
                .with_span(node.span)
                .with_help("give the folder and the skill the same name"),
        );
    }
}

/// The rules about the characters of a name; `place` says where in the file a part of it is.
fn check_text(written: &str, folder: Option<&str>, findings: &mut Findings<'_>, place: Locate<'_>) {
    // Most names are valid, and a catalog checks very many.
    if !is_plain(written) {
        check_characters(written, folder, findings, place);
    }
    if findings.wants(&NAME_RESERVED_WORD) {
        for word in findings.reserved_in(&normalize(written).to_lowercase()) {
            let finding =
                Finding::new(&NAME_RESERVED_WORD, format!("the name contains a reserved word: {word}"));
            findings.push(place(finding.with_field("name"), 0..written.len()));
        }
    }
}

/// Whether a name breaks none of the rules about its characters.
fn is_plain(name: &str) -> bool {
    // Starting with a hyphen makes a hyphen in first place a double one, which is refused.
    let mut previous = b'-';
    for byte in name.bytes() {
        let fits = byte.is_ascii_lowercase() || byte.is_ascii_digit() || (byte == b'-' && previous != b'-');
        if !fits {
            return false;
        }
        previous = byte;
    }
    previous != b'-' && name.len() <= MAX_NAME_CHARS && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Checks each rule about the characters of a name.
fn check_characters(written: &str, folder: Option<&str>, findings: &mut Findings<'_>, place: Locate<'_>) {
    let mut push = |finding: Finding, part: std::ops::Range<usize>| {
        findings.push(place(finding.with_field("name"), part));
    };
    let whole = 0..written.len();
    let trimmed = written.trim();
    let name = normalize(written);
    let shown = inline(&name);
    let better = || format!("call it `{}`", better_name(&name, folder));

    if trimmed.len() != written.len() {
        push(
            Finding::new(&NAME_PADDED, "the name has spaces around it").with_help("remove the spaces"),
            whole.clone(),
        );
    }
    if name != trimmed {
        let message = format!("the name changes when it is normalised: {} becomes {shown}", inline(trimmed));
        push(Finding::new(&NAME_NORMALIZED, message).with_help(format!("write {shown}")), whole.clone());
    }
    let length = name.chars().count();
    if length > MAX_NAME_CHARS {
        let message = format!("the name has {length} characters, more than {MAX_NAME_CHARS}");
        push(Finding::new(&NAME_TOO_LONG, message), whole.clone());
    }
    let suggested = |rule, what: &str| {
        (Finding::new(rule, format!("{what}: {shown}")).with_help(better()), whole.clone())
    };
    if name.to_lowercase() != name {
        let (finding, part) = suggested(&NAME_UPPERCASE, "the name has upper-case letters");
        push(finding, part);
    }
    if name.contains('_') {
        let (finding, part) = suggested(&NAME_UNDERSCORE, "the name has an underscore");
        push(finding, part);
    }
    let invalid = |c: char| !(is_letter_or_digit(c) || matches!(c, '-' | '_'));
    if let Some(character) = name.chars().find(|c| invalid(*c)) {
        let message = format!(
            "the name has a character that is neither letter, digit nor hyphen: {}",
            shown_character(character)
        );
        // The place of the character in the file, unless normalising changed it.
        let part = written.char_indices().find(|(_, c)| *c == character).map(|(at, c)| at..at + c.len_utf8());
        push(
            Finding::new(&NAME_INVALID_CHARACTER, message).with_help(better()),
            part.unwrap_or(whole.clone()),
        );
    }
    if name.starts_with('-') || name.ends_with('-') {
        let (finding, part) = suggested(&NAME_EDGE_HYPHEN, "the name begins or ends with a hyphen");
        push(finding, part);
    }
    if name.contains("--") {
        let (finding, part) = suggested(&NAME_DOUBLE_HYPHEN, "the name has two hyphens in a row");
        push(finding, part);
    }
    if name.chars().any(|c| !c.is_ascii() && is_letter_or_digit(c)) {
        push(
            Finding::new(&NAME_NOT_ASCII, format!("the name has letters outside a-z and 0-9: {shown}")),
            whole.clone(),
        );
    }
    if name.starts_with(|c: char| c.is_numeric()) {
        push(
            Finding::new(&NAME_STARTS_WITH_DIGIT, format!("the name begins with a digit: {shown}")),
            whole.clone(),
        );
    }
}

/// A letter or digit of any script, and not a combining mark.
fn is_letter_or_digit(character: char) -> bool {
    character.is_alphanumeric() && !is_combining_mark(character)
}

fn shown_character(character: char) -> String {
    if character.is_control() || character.is_whitespace() || !character.is_ascii() {
        format!("U+{:04X}", u32::from(character))
    } else {
        character.to_string()
    }
}

/// The name that a skill should have instead of an invalid one: that of its folder if it is valid, since the two must be the
/// same, else one that resembles its own.
pub(in crate::check) fn better_name(name: &str, folder: Option<&str>) -> String {
    folder
        .map(normalize)
        .filter(|folder| suggest_name(folder) == **folder)
        .map_or_else(|| suggest_name(name), String::from)
}

/// A valid name that resembles the given one.
///
/// ```
/// assert_eq!(prowess_core::check::suggest_name("My_PDF Tools!"), "my-pdf-tools");
/// ```
pub fn suggest_name(name: &str) -> String {
    let mut result = String::new();
    for character in name.nfkc().flat_map(char::to_lowercase) {
        if is_letter_or_digit(character) {
            result.push(character);
        } else if !result.is_empty() && !result.ends_with('-') {
            result.push('-');
        }
    }
    let cut: String = result.chars().take(MAX_NAME_CHARS).collect();
    let cut = cut.trim_end_matches('-');
    if cut.is_empty() { "my-skill".to_owned() } else { cut.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(name: &str) -> Vec<&'static str> {
        check_name(name).iter().map(Finding::code).collect()
    }

    #[test]
    fn the_fix_of_an_invalid_name_is_the_name_of_a_valid_folder() {
        assert_eq!(better_name("Bad_Name", Some("pdf-tools")), "pdf-tools");
        assert_eq!(better_name("Bad_Name", Some("3d-tools")), "3d-tools");
        assert_eq!(better_name("Bad_Name", Some("Bad Folder")), "bad-name");
        assert_eq!(better_name("Bad_Name", None), "bad-name");
    }

    #[test]
    fn letters_of_any_script_but_not_their_marks() {
        assert!(codes("pdf-tools").is_empty());
        assert_eq!(codes("技能"), ["name-not-ascii"]);
        assert_eq!(codes("हिन्दी"), ["name-invalid-character", "name-not-ascii"]);
        assert_eq!(codes("a\u{200d}b"), ["name-invalid-character"]);
        assert_eq!(codes("a\u{1f600}"), ["name-invalid-character"]);
        assert_eq!(codes("ａｂ"), ["name-normalized"]);
    }

    proptest::proptest! {
        #![proptest_config(crate::text::testing::many())]

        #[test]
        fn a_plain_name_breaks_no_rule_about_characters(name in "[a-c0-1A_-]{0,5}|[a-z-]{62,66}|\\PC{0,4}") {
            let mut findings = Findings::default();
            check_characters(&name, None, &mut findings, &|finding, _| finding);
            let found = findings.into_findings();
            proptest::prop_assert!(!is_plain(&name) || found.is_empty(), "{:?}", found);
        }
    }

    #[test]
    fn suggestions_are_valid() {
        for name in ["My Skill!", "--a__b--", "x".repeat(99).as_str(), "???", "Straße"] {
            let findings = check_name(&suggest_name(name));
            assert!(findings.iter().all(|f| f.code() == "name-not-ascii"), "{name}: {findings:?}");
        }
    }
}
