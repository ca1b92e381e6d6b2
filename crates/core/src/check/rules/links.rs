//! Rules about links in the body: they lead to files of the skill.

use pulldown_cmark::{Event, Parser, Tag};

use crate::check::findings::Findings;
use crate::document::Document;
use crate::files::manifest::Manifest;
use crate::finding::Finding;
use crate::finding::rule::rules;
use crate::path::RelPath;
use crate::span::Span;
use crate::text::{inline, percent_decode};

rules! {
    LINK_MISSING = "link-missing" [W O O W I],
        "a link leads to a file that is not in the skill",
        "An agent that follows the link finds nothing. Paths are relative to the folder of SKILL.md.\n\nCorrect the path or add the file.";
    LINK_OUTSIDE = "link-outside" [W O O W I],
        "a link leads out of the skill's folder",
        "Only files below the skill's folder are installed and served with it.\n\nCopy the file into the skill and link to it there.";
    LINK_ABSOLUTE = "link-absolute" [W O O W I],
        "a link is an absolute path",
        "The path exists at most on the author's machine.\n\nMake it relative to the folder of SKILL.md.";
}

/// Where a link leads.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// To something that is not a file: a web page, a heading, a placeholder.
    Elsewhere,
    /// Above the skill's folder.
    Outside,
    /// To an absolute path.
    Absolute,
    /// To a file below the skill's folder.
    Inside(RelPath),
}

/// The most links of a file that are reported.
const MAX_FINDINGS: usize = 200;

/// Checks the links and images of the body.
pub(in crate::check) fn check(document: &Document, files: Option<&Manifest>, findings: &mut Findings<'_>) {
    let body = document.body_raw();
    // Most bodies have no link; reading Markdown costs more than everything else here.
    if memchr::memmem::find(body.as_bytes(), b"](").is_none()
        && memchr::memmem::find(body.as_bytes(), b"]:").is_none()
    {
        return;
    }
    let most = findings.len() + MAX_FINDINGS;
    for (event, range) in Parser::new(body).into_offset_iter() {
        if findings.len() >= most {
            break;
        }
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else { continue };
        let shown = inline(&dest_url);
        let finding = match target(&dest_url) {
            Target::Elsewhere => continue,
            Target::Outside => {
                Finding::new(&LINK_OUTSIDE, format!("the link leads out of the skill's folder: {shown}"))
            }
            Target::Absolute => {
                Finding::new(&LINK_ABSOLUTE, format!("the link is an absolute path: {shown}"))
            }
            Target::Inside(path) => match files {
                // A file that could not be read may exist; that it is left out is reported once.
                Some(files) if !files.contains(&path) && !files.may_contain(&path) => {
                    Finding::new(&LINK_MISSING, format!("there is no such file in the skill: {shown}"))
                }
                _ => continue,
            },
        };
        findings.push(finding.with_span(Span::new(range.start, range.end).shift(document.body_offset())));
    }
}

fn target(link: &str) -> Target {
    let path = link.split(['#', '?']).next().unwrap_or("").trim();
    let placeholder = |c: char| matches!(c, '{' | '}' | '<' | '>' | '$' | '*' | '|');
    if path.is_empty() || path.starts_with("//") || path.contains(placeholder) || has_scheme(path) {
        return Target::Elsewhere;
    }
    if path.starts_with(['/', '\\', '~']) {
        return Target::Absolute;
    }
    let decoded = percent_decode(path);
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split(['/', '\\']) {
        match segment {
            "" | "." => {}
            ".." => {
                if segments.pop().is_none() {
                    return Target::Outside;
                }
            }
            segment => segments.push(segment),
        }
    }
    // Paths that are not valid in a skill, and the folder itself, are not checked here.
    RelPath::parse(&segments.join("/")).map_or(Target::Elsewhere, Target::Inside)
}

/// Whether the link begins with `scheme:`, a drive letter included.
fn has_scheme(link: &str) -> bool {
    link.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::manifest::{FileEntry, LeftOut};
    use crate::parse;

    #[test]
    fn links_are_told_apart() {
        assert_eq!(target("https://x.org/a"), Target::Elsewhere);
        assert_eq!(target("#here"), Target::Elsewhere);
        assert_eq!(target("{name}.md"), Target::Elsewhere);
        assert_eq!(target("../other/x.md"), Target::Outside);
        assert_eq!(target("a/../../x.md"), Target::Outside);
        assert_eq!(target("/etc/passwd"), Target::Absolute);
        assert_eq!(target("~/x"), Target::Absolute);
        assert_eq!(target("./a%20b/../c.md#top"), Target::Inside(RelPath::parse("c.md").unwrap()));
    }

    #[test]
    fn only_links_outside_code_count_and_only_known_folders() {
        let text =
            "---\nname: a\ndescription: b\n---\n[x](gone.md) `[y](gone.md)` [z](scripts/) ![i](../up.png)\n";
        let document = parse(text.as_bytes());
        let manifest = Manifest::new(vec![FileEntry::new(RelPath::parse("scripts/run.sh").unwrap(), 1)]);
        let found = |files: Option<&Manifest>| {
            let mut findings = Findings::default();
            check(&document, files, &mut findings);
            findings.into_findings()
        };
        let findings = found(Some(&manifest));
        assert_eq!(findings.iter().map(Finding::code).collect::<Vec<_>>(), ["link-missing", "link-outside"]);
        assert_eq!(findings[0].span.and_then(|span| span.slice(text)), Some("[x](gone.md)"));
        assert_eq!(found(None).len(), 1, "without a folder nothing is missing");
    }

    #[test]
    fn a_link_into_a_folder_that_cannot_be_read_is_not_missing() {
        let document =
            parse(b"---\nname: a\ndescription: b\n---\n[x](references/x.md) [y](references-2/y.md)\n");
        let left = LeftOut { unreadable: true, ..LeftOut::new("references", "permission denied") };
        let manifest = Manifest { left_out: vec![left], ..Manifest::default() };
        let mut findings = Findings::default();
        check(&document, Some(&manifest), &mut findings);
        let messages: Vec<String> = findings.into_findings().into_iter().map(|it| it.message).collect();
        assert_eq!(messages, ["there is no such file in the skill: references-2/y.md"]);
    }
}
