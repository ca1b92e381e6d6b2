//! A SKILL.md as it was read: text, frontmatter with spans, body, and findings. Reading never fails.

pub(crate) mod edit;
mod node;
mod parse;
pub(crate) mod plain;
pub(crate) mod repair;
pub(crate) mod rules;
pub(crate) mod split;
mod stream;
pub(crate) mod yaml;
mod yaml_errors;

use std::borrow::Cow;

use serde_json::{Map, Value};

pub use edit::{EditError, markdown};
pub(crate) use node::looks_like_number;
pub use node::{Node, NodeKind, Pair, Scalar, Style};
pub use split::Fences;
pub use stream::read_frontmatter;

use crate::finding::Finding;
use crate::limits::MAX_FILE_BYTES;
use rules::{FILE_TOO_LARGE, FILE_UNREADABLE};
use split::Split;

/// The six fields of the specification.
pub const SPEC_FIELDS: [&str; 6] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// A SKILL.md as it was read.
///
/// It has everything that could be read, even when the file is not a valid skill: the text, the fields, the body, and
/// the findings that say what is wrong. A [`Profile`](crate::Profile) turns findings into problems.
#[derive(Clone, Debug)]
pub struct Document {
    text: String,
    raw: Option<Vec<u8>>,
    fences: Option<Fences>,
    root: Option<Node>,
    repaired: bool,
    whole: bool,
    findings: Vec<Finding>,
}

/// Reads a SKILL.md from any bytes. It never fails or panics, and the work is bounded by the [limits](crate::limits).
///
/// ```
/// let document = prowess_core::parse(b"---\nname: tidy\ndescription: Tidies up.\n---\n# Tidy\n");
/// assert_eq!(document.field("name").and_then(|node| node.text()), Some("tidy"));
/// assert_eq!(document.body(), "# Tidy");
/// assert!(document.findings().is_empty());
/// ```
pub fn parse(skill_md: &[u8]) -> Document {
    parse_head(skill_md, skill_md.len() as u64)
}

/// Reads a SKILL.md from its first bytes, for files that are too large to hold.
///
/// `size` is the size of the whole file. Pass at least [`MAX_FILE_BYTES`] bytes, or the whole file if it is smaller.
pub fn parse_head(head: &[u8], size: u64) -> Document {
    let findings = too_large(size).into_iter().collect();
    let kept = head.get(..MAX_FILE_BYTES).unwrap_or(head);
    Document::read(kept, split::split(kept), true, findings)
}

fn too_large(size: u64) -> Option<Finding> {
    (size > MAX_FILE_BYTES as u64).then(|| {
        Finding::new(&FILE_TOO_LARGE, format!("the file has {size} bytes, more than {MAX_FILE_BYTES}"))
            .with_help("move material into files under references/")
    })
}

/// Reads the frontmatter from the first bytes of a file; none when they end before the frontmatter does.
///
/// `complete` says that the file ends with these bytes. The document [has no body](Document::has_body).
pub fn parse_prefix(bytes: &[u8], complete: bool) -> Option<Document> {
    let outline = if complete { split::split(bytes) } else { split::split_prefix(bytes) };
    let head = match outline.split {
        Split::NeedMore => return None,
        Split::Found(fences) => bytes.get(..fences.body).unwrap_or(bytes),
        Split::NoFrontmatter | Split::Unclosed { .. } | Split::TooLarge { .. } => bytes,
    };
    Some(Document::read(head, outline, false, Vec::new()))
}

impl Document {
    /// The document of a file that exists and cannot be read: empty, with the reason as its only finding.
    pub fn unread(reason: impl Into<String>, help: impl Into<Cow<'static, str>>) -> Self {
        let finding = Finding::new(&FILE_UNREADABLE, reason).with_help(help);
        Self {
            text: String::new(),
            raw: None,
            fences: None,
            root: None,
            repaired: false,
            whole: false,
            findings: vec![finding],
        }
    }

    /// Notes the size of the whole file, when only its first bytes were read.
    pub fn note_size(&mut self, size: u64) {
        self.findings.extend(too_large(size));
    }

    /// The text of the file. Bytes that are not UTF-8 appear as `?`, so every offset is that of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the file, up to [`MAX_FILE_BYTES`].
    pub fn raw(&self) -> &[u8] {
        self.raw.as_deref().unwrap_or(self.text.as_bytes())
    }

    /// Where the fences, the YAML and the body are, when both fences are present.
    pub fn fences(&self) -> Option<&Fences> {
        self.fences.as_ref()
    }

    /// The YAML between the fences, as written.
    pub fn frontmatter(&self) -> Option<&str> {
        self.fences?.yaml.slice(&self.text)
    }

    /// The top value of the frontmatter, when anything could be read.
    pub fn root(&self) -> Option<&Node> {
        self.root.as_ref()
    }

    /// The pairs of the frontmatter in the order of the file; empty when there are none.
    pub fn pairs(&self) -> &[Pair] {
        self.root.as_ref().and_then(Node::pairs).unwrap_or(&[])
    }

    /// The value of a frontmatter field; the last one when a key appears twice.
    pub fn field(&self, key: &str) -> Option<&Node> {
        self.pair(key).map(|pair| &pair.value)
    }

    /// A frontmatter field with the place of its key.
    pub fn pair(&self, key: &str) -> Option<&Pair> {
        self.pairs().iter().rev().find(|pair| pair.key == key)
    }

    /// The whole frontmatter as a YAML 1.2 reader sees it, in the order of the file.
    pub fn frontmatter_json(&self) -> Map<String, Value> {
        node::pairs_to_json(self.pairs())
    }

    /// The first byte of the body: just after the closing fence, or zero when there is no frontmatter.
    pub fn body_offset(&self) -> usize {
        self.fences.map_or(0, |fences| fences.body)
    }

    /// Whether the body was read too, or only the frontmatter.
    pub fn has_body(&self) -> bool {
        self.whole
    }

    /// The body, byte for byte.
    pub fn body_raw(&self) -> &str {
        self.text.get(self.body_offset()..).unwrap_or("")
    }

    /// The body without the blank lines around it, or the byte order mark of a file without frontmatter. Its first line
    /// keeps its indent.
    pub fn body(&self) -> &str {
        let body = self.body_raw();
        without_blank_lines(body.strip_prefix('\u{feff}').filter(|_| self.fences.is_none()).unwrap_or(body))
    }

    /// Whether the fields come from repaired YAML.
    pub fn repaired(&self) -> bool {
        self.repaired
    }

    /// Whether a finding of the reader is only about the body.
    pub(crate) fn is_about_body(&self, finding: &Finding) -> bool {
        finding.rule == &rules::NOT_UTF8 && finding.span.is_some_and(|span| span.start >= self.body_offset())
    }

    /// The findings of the reader, in the order of the file.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// A text without the blank lines around it. The first line keeps its indent, which may make it a code block.
pub(crate) fn without_blank_lines(text: &str) -> &str {
    let text = text.trim_end();
    let blank = text.len() - text.trim_start().len();
    let start = text.get(..blank).and_then(|blank| blank.rfind('\n')).map_or(0, |at| at + 1);
    text.get(start..).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<&'static str> {
        parse(text.as_bytes()).findings().iter().map(Finding::code).collect()
    }

    #[test]
    fn a_repaired_document_keeps_the_original_error_and_spans() {
        let text = "---\nname: x\ndescription: Use when: asked\n---\nbody\n";
        let document = parse(text.as_bytes());
        assert!(document.repaired());
        assert_eq!(codes(text), ["yaml-syntax"]);
        let description = document.field("description").unwrap();
        assert_eq!(description.text(), Some("Use when: asked"));
        assert_eq!(description.span.slice(text), Some("Use when: asked"));
        assert_eq!(document.body_raw(), "body\n");
    }

    #[test]
    fn a_mistyped_fence_closes_only_when_nothing_else_can_be_read() {
        let text = "---\nname: x\ndescription: d\n----\nbody\n---\nrest\n";
        assert_eq!(codes(text), ["fence-irregular"]);
        assert_eq!(parse(text.as_bytes()).body_raw(), "body\n---\nrest\n");
        assert_eq!(codes("---\nname: x\ndescription: d\n---# Title\n"), ["fence-irregular"]);
        assert_eq!(codes("---\nname: x\ndescription: |\n  a\n  ---\n  b\n---\n"), Vec::<&str>::new());
    }

    #[test]
    fn fields_of_broken_files_are_still_available() {
        let unclosed = parse(b"---\nname: x\ndescription: d\n");
        assert_eq!(unclosed.field("name").and_then(Node::text), Some("x"));
        assert_eq!(unclosed.findings()[0].code(), "frontmatter-unclosed");
        let none = parse(b"# Title\n");
        assert_eq!((none.body(), none.findings()[0].code()), ("# Title", "frontmatter-missing"));
        let bytes = parse(b"---\nname: x\ndescription: \xff\xfe!\n---\n");
        assert_eq!(bytes.field("description").and_then(Node::text), Some("??!"));
        assert_eq!(bytes.raw().len(), bytes.text().len());
    }

    #[test]
    fn a_body_keeps_the_indent_of_its_first_line() {
        let body = |body: &str| {
            parse(format!("---\nname: x\ndescription: d\n---\n{body}").as_bytes()).body().to_owned()
        };
        assert_eq!(body("\n  \n    code\n\ntext\n \n"), "    code\n\ntext");
        assert_eq!(body("\tcode\r\n"), "\tcode");
        assert_eq!([body(" \n\t\n"), body("")], ["", ""]);
    }

    #[test]
    fn an_oversized_file_is_cut_and_reported() {
        let mut text = b"---\nname: x\ndescription: d\n---\n".to_vec();
        text.resize(MAX_FILE_BYTES + 10, b'a');
        let document = parse(&text);
        assert_eq!(document.findings()[0].code(), "file-too-large");
        assert_eq!(document.text().len(), MAX_FILE_BYTES);
    }
}
