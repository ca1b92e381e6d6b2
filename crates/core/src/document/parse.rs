//! From bytes to a document: decoding, fences, the frontmatter between them, and its repair.

use std::borrow::Cow;

use crate::document::node::move_spans;
use crate::document::repair::BodyStart;
use crate::document::rules::{
    BYTE_ORDER_MARK, FENCE_IRREGULAR, FENCE_LEADING_TEXT, FRONTMATTER_EMPTY, FRONTMATTER_MISSING,
    FRONTMATTER_NOT_MAPPING, FRONTMATTER_TOO_LARGE, FRONTMATTER_UNCLOSED, NOT_UTF8, YAML_SYNTAX,
    YAML_UNREADABLE,
};
use crate::document::split::{BOM, Outline, Split};
use crate::document::{Document, Fences, Node, repair, rules, yaml, yaml_errors};
use crate::finding::{Edit, Finding, Fix};
use crate::limits::{MAX_FILE_BYTES, MAX_FRONTMATTER_BYTES};
use crate::span::Span;

impl Document {
    /// Reads bytes whose fences are known. `whole` says whether the body is among them.
    pub(in crate::document) fn read(
        bytes: &[u8],
        outline: Outline,
        whole: bool,
        mut findings: Vec<Finding>,
    ) -> Self {
        let (text, raw) = decode(bytes, &mut findings);
        if bytes.starts_with(BOM) {
            findings.push(
                Finding::new(&BYTE_ORDER_MARK, "the file begins with a byte order mark")
                    .with_span(Span::new(0, BOM.len()))
                    .with_fix(Fix {
                        title: "remove the byte order mark".to_owned(),
                        edits: vec![Edit { span: Span::new(0, BOM.len()), replacement: String::new() }],
                        safe: true,
                    }),
            );
        }
        let mut reading = Reading { text: &text, fences: None, root: None, repaired: false, findings };
        match outline.split {
            Split::Found(fences) => reading.read_between(fences, outline.near_close),
            Split::Unclosed { open, yaml } => reading.read_unclosed(open, yaml, outline.near_close),
            Split::NoFrontmatter | Split::NeedMore => reading.add(
                Finding::new(&FRONTMATTER_MISSING, "there is no frontmatter")
                    .with_span(first_line(&text))
                    .with_help(
                        "begin the file with a line `---`, then name and description, then another `---`",
                    ),
            ),
            Split::TooLarge { open } => reading.add(
                Finding::new(
                    &FRONTMATTER_TOO_LARGE,
                    format!("the frontmatter does not end within {MAX_FRONTMATTER_BYTES} bytes"),
                )
                .with_span(open)
                .with_help("close it with a line `---`, or move text into the body"),
            ),
        }
        let Reading { fences, root, repaired, findings, .. } = reading;
        Self { text, raw, fences, root, repaired, whole, findings }
    }
}

/// What is known of a document while it is read. It borrows the text, so that no part of it is copied.
struct Reading<'t> {
    text: &'t str,
    fences: Option<Fences>,
    root: Option<Node>,
    repaired: bool,
    findings: Vec<Finding>,
}

/// A closing fence that is missing or mistyped: where the parts of the file would be.
#[derive(Clone, Copy)]
struct IrregularFence {
    open: Span,
    /// The first byte of the YAML.
    start: usize,
    close: Span,
    body: usize,
    /// Whether the body may begin at another place.
    doubtful: bool,
}

impl Reading<'_> {
    fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Reads a file with both fences.
    fn read_between(&mut self, fences: Fences, near_close: Option<(Span, usize)>) {
        self.check_leading(fences.open);
        let yaml = fences.yaml.slice(self.text).unwrap_or("");
        let read = yaml::read(yaml, fences.yaml.start);
        let several = read.findings.iter().any(|finding| finding.rule == &rules::YAML_SEVERAL_DOCUMENTS);
        if read.error.is_some() || several {
            // Perhaps the frontmatter ends earlier, at a line that was meant as a fence.
            // A line at the left margin is not part of a value, so the text before it may also be repaired.
            let at_margin =
                |close: Span| !self.text.get(close.start..).is_some_and(|text| text.starts_with([' ', '\t']));
            if let Some((close, body)) = near_close
                && self.read_to_near_close(fences.open, fences.yaml.start, close, body, at_margin(close))
            {
                return;
            }
        }
        if read.error.is_some()
            && let Some(body) = repair::body_before_fence(yaml)
            && self.read_to_body(fences.open, fences.yaml.start, body)
        {
            return;
        }
        self.fences = Some(fences);
        self.take(yaml, fences.yaml, read, false);
    }

    /// Reads a file whose closing fence is missing up to the place where its body begins.
    fn read_to_body(&mut self, open: Span, start: usize, body: BodyStart) -> bool {
        let place = start + body.at;
        let fence =
            IrregularFence { open, start, close: Span::at(place), body: place, doubtful: body.doubtful };
        self.read_to_irregular(fence, true)
    }

    /// Reads up to a line that may have been meant as the closing fence, unless the body begins before it.
    fn read_to_near_close(&mut self, open: Span, start: usize, close: Span, body: usize, only: bool) -> bool {
        let yaml = Span::new(start, close.start).slice(self.text).unwrap_or("");
        if repair::body_before_fence(yaml).is_some() {
            return false;
        }
        let doubtful = repair::body_without_fence(yaml).is_some();
        self.read_to_irregular(IrregularFence { open, start, close, body, doubtful }, only)
    }

    /// Reads a file without a closing fence. Perhaps a line was meant as one.
    fn read_unclosed(&mut self, open: Span, yaml: Span, near_close: Option<(Span, usize)>) {
        self.check_leading(open);
        if let Some((close, body)) = near_close
            && self.read_to_near_close(open, yaml.start, close, body, true)
        {
            return;
        }
        let capped = Span::new(yaml.start, yaml.end.min(yaml.start + MAX_FRONTMATTER_BYTES));
        let text = capped.slice(self.text).unwrap_or("");
        if let Some(body) = repair::body_without_fence(text)
            && self.read_to_body(open, yaml.start, body)
        {
            return;
        }
        self.add(
            Finding::new(&FRONTMATTER_UNCLOSED, "the frontmatter has no closing fence")
                .with_span(open)
                .with_help("end it with a line that has only `---`"),
        );
        // The fields at the top stay available.
        self.root = yaml::read(text, yaml.start).root;
    }

    /// Accepts an irregular or missing closing fence if the text before it is a mapping, or, when `repair` is set, can be
    /// repaired into one.
    fn read_to_irregular(&mut self, fence: IrregularFence, repair: bool) -> bool {
        let IrregularFence { open, start, close, body, doubtful } = fence;
        let place = Span::new(start, close.start);
        let Some(yaml) = place.slice(self.text) else { return false };
        let read = yaml::read(yaml, start);
        let mapping = read.root.as_ref().is_some_and(|root| root.pairs().is_some());
        let reads = if read.error.is_some() { repair && repair::repair(yaml).is_some() } else { mapping };
        if !reads {
            return false;
        }
        let line_end = match self.text.get(open.end..start) {
            _ if body != close.end => "",
            Some(end) if end.ends_with("\r\n") => "\r\n",
            _ => "\n",
        };
        let what = if close.is_empty() {
            "the closing fence is missing"
        } else {
            "the closing fence is not a line of three dashes"
        };
        self.add(
            Finding::new(&FENCE_IRREGULAR, what)
                .with_span(close)
                .with_help("write exactly `---` on a line of its own")
                .with_fix(Fix {
                    title: "write a regular fence".to_owned(),
                    edits: vec![Edit { span: close, replacement: format!("---{line_end}") }],
                    safe: !doubtful,
                }),
        );
        self.fences = Some(Fences { open, yaml: place, close, body });
        self.take(yaml, place, read, doubtful);
        true
    }

    /// Reports anything but a byte order mark before the opening fence.
    fn check_leading(&mut self, open: Span) {
        let start = if self.text.starts_with('\u{feff}') { BOM.len() } else { 0 };
        if open.start > start {
            let span = Span::new(start, open.start);
            let leading = span.slice(self.text).unwrap_or("");
            let blank = leading.trim().is_empty();
            let what = if blank { "blank lines or spaces precede" } else { "text precedes" };
            self.add(
                Finding::new(&FENCE_LEADING_TEXT, format!("{what} the opening fence"))
                    .with_span(span)
                    .with_help("remove everything before the first `---`")
                    .with_fix(blank.then(|| Fix {
                        title: "remove the spaces before the fence".to_owned(),
                        edits: vec![Edit { span, replacement: String::new() }],
                        safe: true,
                    })),
            );
        }
    }

    /// Keeps the result of strict YAML, or that of the repair, which is not safe to write when its end is in doubt.
    fn take(&mut self, yaml: &str, place: Span, read: yaml::Read, doubtful: bool) {
        let yaml::Read { root, findings, error } = read;
        let Some(error) = error else {
            self.findings.extend(findings);
            return self.take_root(root, place);
        };
        let Some(repaired) = repair::repair(yaml) else {
            self.findings.extend(findings);
            self.add(yaml_errors::syntax_finding(&YAML_UNREADABLE, &error, self.text, place));
            self.root = root;
            return;
        };
        let second = yaml::read(&repaired.text, 0);
        let to_source = |span: Span| repaired.span_to_source(span).shift(place.start);
        let edits = repaired
            .edits
            .iter()
            .map(|edit| Edit { span: edit.span.shift(place.start), replacement: edit.replacement.clone() });
        let fix = Fix {
            title: "write it as the lenient reader reads it".to_owned(),
            edits: edits.collect(),
            safe: !doubtful && repaired.safe,
        };
        self.add(yaml_errors::syntax_finding(&YAML_SYNTAX, &error, self.text, place).with_fix(fix));
        self.findings.extend(second.findings.into_iter().map(|mut finding| {
            finding.span = finding.span.map(to_source);
            for related in &mut finding.related {
                related.span = to_source(related.span);
            }
            finding
        }));
        self.repaired = true;
        let mut root = second.root;
        if let Some(root) = &mut root {
            move_spans(root, &to_source);
        }
        self.take_root(root, place);
    }

    fn take_root(&mut self, root: Option<Node>, place: Span) {
        match &root {
            Some(node) if node.pairs().is_some() => {}
            Some(node) if !node.is_null() => {
                let (shape, span) = (node.shape(), node.span);
                self.add(
                    Finding::new(&FRONTMATTER_NOT_MAPPING, format!("the frontmatter is {shape}"))
                        .with_span(span)
                        .with_help("write lines of `key: value`"),
                );
            }
            _ => self.add(
                Finding::new(&FRONTMATTER_EMPTY, "the frontmatter is empty")
                    .with_span(place)
                    .with_help("write at least name and description"),
            ),
        }
        self.root = root;
    }
}

/// The bytes as text of the same length, and the bytes themselves when they are not UTF-8.
fn decode(bytes: &[u8], findings: &mut Vec<Finding>) -> (String, Option<Vec<u8>>) {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => return (text.to_owned(), None),
        // The size limit may cut the last character; that is not a fault of the file.
        Err(error) if error.error_len().is_none() && bytes.len() >= MAX_FILE_BYTES => {
            String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or(&[]))
        }
        Err(_) => Cow::Borrowed(""),
    };
    if !text.is_empty() {
        return (text.into_owned(), None);
    }
    let mut text = String::with_capacity(bytes.len());
    let mut first = None;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            first = first.or(Some(Span::new(text.len(), text.len() + chunk.invalid().len())));
            text.extend(chunk.invalid().iter().map(|_| '?'));
        }
    }
    if let Some(span) = first {
        findings.push(
            Finding::new(&NOT_UTF8, format!("the bytes from offset {} on are not UTF-8", span.start))
                .with_span(span)
                .with_help("save the file as UTF-8"),
        );
    }
    (text, Some(bytes.to_vec()))
}

fn first_line(text: &str) -> Span {
    Span::new(0, text.find('\n').unwrap_or(text.len()))
}
