//! YAML 1.2 core as a tree with spans: parser events in, [`Node`]s out, within limits.
//! What was read before an error stays in the tree.

mod anchors;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, StructureStyle, options};

use anchors::Anchors;

use super::node::{Node, NodeKind, Pair, Scalar, Style};
use super::plain;
use super::rules::{
    DUPLICATE_IDENTITY, DUPLICATE_KEY, YAML_COMPLEX_KEY, YAML_FLOW_STYLE, YAML_LIMIT, YAML_MERGE_KEY,
    YAML_SEVERAL_DOCUMENTS, YAML_TAG,
};
use crate::finding::Finding;
use crate::limits::{MAX_YAML_DEPTH, MAX_YAML_NODES};
use crate::span::Span;
use crate::text::inline;

/// The result of reading a frontmatter.
#[derive(Debug)]
pub(crate) struct Read {
    /// The top value, with everything that was complete before an error.
    pub(crate) root: Option<Node>,
    /// The findings, without the syntax error.
    pub(crate) findings: Vec<Finding>,
    /// The syntax error, if there is one.
    pub(crate) error: Option<SyntaxError>,
}

/// Why the text is not YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) at: usize,
    pub(crate) message: String,
}

/// Reads YAML text. `base` is the offset of the text in its file, and is added to every span.
pub(crate) fn read(yaml: &str, base: usize) -> Read {
    match plain::read(yaml, base) {
        Some(root) => Read { root: Some(root), findings: Vec::new(), error: None },
        None => read_events(yaml, base),
    }
}

/// Reads YAML text with the full reader.
pub(crate) fn read_events(yaml: &str, base: usize) -> Read {
    let mut builder = Builder {
        yaml,
        base,
        open: Vec::new(),
        root: None,
        findings: Vec::new(),
        nodes: 0,
        documents: 0,
        anchors: Anchors::default(),
    };
    let options = options! {
        disallow_directives: true,
        // One more than allowed, so that the tree builder reports the limit.
        flow_nesting_limit: MAX_YAML_DEPTH + 1,
        block_nesting_limit: MAX_YAML_DEPTH + 1,
    };
    let mut error = None;
    let mut parser = Parser::new_from_str_with_options(yaml, options);
    while let Some(next) = parser.next_event() {
        match next {
            Ok((event, span)) => {
                if builder.event(event, span).is_break() {
                    break;
                }
            }
            Err(problem) => {
                let at = problem.marker().byte_offset().unwrap_or(0).min(yaml.len());
                // The parser looks ahead and may reach the limit first. This is not a syntax error that could be repaired.
                if matches!(problem.kind(), ErrorKind::RecursionLimitExceeded) {
                    builder.too_deep(Span::at(base + at));
                    break;
                }
                error = Some(SyntaxError { at: base + at, message: problem.info() });
                break;
            }
        }
    }
    builder.finish(error)
}

/// Reads YAML that is not a frontmatter, as JSON. An error has its place and its reason.
pub fn read_yaml(text: &str) -> Result<serde_json::Value, (usize, String)> {
    let Read { root, findings, error } = read_events(text, 0);
    if let Some(error) = error {
        return Err((error.at, error.message));
    }
    let is_cut =
        |finding: &&Finding| [YAML_LIMIT.code, YAML_SEVERAL_DOCUMENTS.code].contains(&finding.code());
    if let Some(cut) = findings.iter().find(is_cut) {
        return Err((cut.span.map_or(0, |span| span.start), cut.message.clone()));
    }
    Ok(root.map_or(serde_json::Value::Null, |root| root.to_json()))
}

/// A collection that is still open.
#[derive(Debug)]
enum Open {
    Sequence { start: usize, flow: bool, anchor: usize, items: Vec<Node> },
    Mapping { start: usize, flow: bool, anchor: usize, pairs: Vec<Pair>, key: Option<(String, Span)> },
}

struct Builder<'y> {
    yaml: &'y str,
    base: usize,
    open: Vec<Open>,
    root: Option<Node>,
    findings: Vec<Finding>,
    nodes: usize,
    documents: usize,
    anchors: Anchors,
}

type Next = std::ops::ControlFlow<()>;

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: granit_parser::Span) -> Next {
        let span = self.span(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.node_properties(anchor, tag.is_some(), span);
                self.count(span)?;
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted => Style::SingleQuoted,
                    ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
                    ScalarStyle::Literal => Style::Literal,
                    ScalarStyle::Folded => Style::Folded,
                };
                let (span, text) = match style {
                    // The parser gives `~` where nothing is written.
                    Style::Plain if span.is_empty() => (self.empty_value(span), String::new()),
                    Style::Literal | Style::Folded => (self.block_scalar(span), text.into_owned()),
                    Style::Plain | Style::SingleQuoted | Style::DoubleQuoted => (span, text.into_owned()),
                };
                let node = Node { span, kind: NodeKind::Scalar(Scalar { text, style }) };
                if anchor != 0 {
                    self.keep(anchor, &node, span)?;
                }
                self.add(node);
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.start(style, anchor, tag.is_some(), span)?;
                let flow = style == StructureStyle::Flow;
                self.open.push(Open::Sequence { start: span.start, flow, anchor, items: Vec::new() });
            }
            Event::MappingStart(style, anchor, tag) => {
                self.start(style, anchor, tag.is_some(), span)?;
                let flow = style == StructureStyle::Flow;
                // Most frontmatter has more than the four fields that a list begins with.
                let pairs = if self.open.is_empty() { Vec::with_capacity(8) } else { Vec::new() };
                self.open.push(Open::Mapping { start: span.start, flow, anchor, pairs, key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(span.end),
            Event::Alias(anchor) => self.repeat(anchor, span)?,
            Event::UnresolvedAlias(_) => self.repeat(0, span)?,
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.findings.push(
                        Finding::new(&YAML_SEVERAL_DOCUMENTS, "a second YAML document begins here")
                            .with_span(span),
                    );
                    return Next::Break(());
                }
            }
            // The other events carry no values.
            _ => {}
        }
        Next::Continue(())
    }

    fn span(&self, span: granit_parser::Span) -> Span {
        let range = span.byte_range().unwrap_or(0..0);
        Span::new(self.base + range.start, self.base + range.end)
    }

    /// The place of a value that is not written: after the colon of its key.
    fn empty_value(&self, span: Span) -> Span {
        let Some(Open::Mapping { key: Some((_, key)), .. }) = self.open.last() else { return span };
        let behind = self.yaml.get(key.end - self.base..).unwrap_or("");
        let colon = behind.find(|character: char| !matches!(character, ' ' | '\t'));
        match colon.filter(|at| behind.get(*at..).is_some_and(|text| text.starts_with(':'))) {
            Some(at) => Span::at(key.end + at + 1),
            None => span,
        }
    }

    /// The span of a block scalar with its indicator and without the blank lines after it; the parser gives the span of
    /// its text.
    fn block_scalar(&self, span: Span) -> Span {
        let before = self.yaml.get(..span.start - self.base).unwrap_or("").trim_end();
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let header = before.get(line..).unwrap_or("");
        let header = header.find(" #").and_then(|comment| header.get(..comment)).unwrap_or(header);
        let header =
            header.trim_end().trim_end_matches(|character: char| matches!(character, '0'..='9' | '+' | '-'));
        let text = self.yaml.get(span.start - self.base..span.end - self.base).unwrap_or("");
        let end = span.start + text.trim_end().len();
        if header.ends_with(['|', '>']) {
            let start = self.base + line + header.len() - 1;
            Span::new(start, if text.trim().is_empty() { start + 1 } else { end })
        } else {
            Span::new(span.start, end)
        }
    }

    fn start(&mut self, style: StructureStyle, anchor: usize, tagged: bool, span: Span) -> Next {
        self.node_properties(anchor, tagged, span);
        if style == StructureStyle::Flow && self.open.len() <= 1 {
            self.findings.push(Finding::new(&YAML_FLOW_STYLE, "a value in brackets").with_span(span));
        }
        if self.open.len() >= MAX_YAML_DEPTH {
            self.too_deep(span);
            return Next::Break(());
        }
        self.count(span)
    }

    fn too_deep(&mut self, span: Span) {
        let message = format!("collections nest deeper than {MAX_YAML_DEPTH}");
        self.findings.push(Finding::new(&YAML_LIMIT, message).with_span(span));
    }

    fn node_properties(&mut self, anchor: usize, tagged: bool, span: Span) {
        if anchor != 0 {
            self.note_anchor("the value has an anchor", span);
        }
        if tagged {
            self.findings.push(
                Finding::new(&YAML_TAG, "the value has a tag")
                    .with_span(span)
                    .with_help("remove the tag, or quote the value if it begins with `!`"),
            );
        }
    }

    fn count(&mut self, span: Span) -> Next {
        self.nodes += 1;
        self.check_count(span)
    }

    fn check_count(&mut self, span: Span) -> Next {
        if self.nodes > MAX_YAML_NODES {
            let message = format!("more than {MAX_YAML_NODES} values");
            self.findings.push(Finding::new(&YAML_LIMIT, message).with_span(span));
            return Next::Break(());
        }
        Next::Continue(())
    }

    /// Puts a complete node where it belongs.
    fn add(&mut self, node: Node) {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::Sequence { items, .. }) => items.push(node),
            Some(Open::Mapping { pairs, key, .. }) => match key.take() {
                Some((key, key_span)) => pairs.push(Pair { key, key_span, value: node }),
                None => {
                    let merge = node
                        .scalar()
                        .is_some_and(|scalar| scalar.style == Style::Plain && scalar.text == "<<");
                    if merge {
                        self.findings.push(Finding::new(&YAML_MERGE_KEY, "a merge key").with_span(node.span));
                    }
                    if node.scalar().is_none() {
                        self.findings.push(
                            Finding::new(
                                &YAML_COMPLEX_KEY,
                                format!("{} is in the place of a key", node.shape()),
                            )
                            .with_span(node.span),
                        );
                    }
                    let span = node.span;
                    let text = match node.kind {
                        NodeKind::Scalar(scalar) => scalar.text,
                        NodeKind::Sequence(_) | NodeKind::Mapping(_) => node.to_text(),
                    };
                    *key = Some((text, span));
                }
            },
        }
    }

    /// Closes the innermost collection.
    fn close(&mut self, end: usize) -> Next {
        let Some(open) = self.open.pop() else { return Next::Continue(()) };
        let (anchor, node) = match open {
            Open::Sequence { start, flow, anchor, items } => {
                let end = if flow { end } else { items.last().map_or(start, |item| item.span.end) };
                (anchor, Node { span: Span::new(start, end), kind: NodeKind::Sequence(items) })
            }
            Open::Mapping { start, flow, anchor, pairs, .. } => {
                let end = if flow { end } else { pairs.last().map_or(start, |pair| pair.value.span.end) };
                find_duplicates(&pairs, self.open.is_empty(), &mut self.findings);
                (anchor, Node { span: Span::new(start, end), kind: NodeKind::Mapping(pairs) })
            }
        };
        let kept = if anchor == 0 { Next::Continue(()) } else { self.keep(anchor, &node, node.span) };
        self.add(node);
        kept
    }

    fn finish(mut self, error: Option<SyntaxError>) -> Read {
        let end = error.as_ref().map_or(self.base, |error| error.at);
        while !self.open.is_empty() {
            // What is still open was cut by an error or a limit, which is reported already.
            let _ = self.close(end);
        }
        Read { root: self.root, findings: self.findings, error }
    }
}

/// Reports every key that appears twice, with both places.
fn find_duplicates(pairs: &[Pair], top: bool, findings: &mut Vec<Finding>) {
    let mut report = |first: &Pair, second: &Pair| {
        let identity = top && matches!(second.key.as_str(), "name" | "description");
        let rule = if identity { &DUPLICATE_IDENTITY } else { &DUPLICATE_KEY };
        let key = inline(&second.key);
        findings.push(
            Finding::new(rule, format!("the key appears twice: {key}"))
                .with_field(second.key.clone())
                .with_span(second.key_span)
                .with_related(first.key_span, "first here")
                .with_help("keep one of them"),
        );
    };
    // A few keys are compared with each other; many are sorted, so that the work stays bounded.
    if pairs.len() <= 16 {
        for (at, second) in pairs.iter().enumerate() {
            if let Some(first) = pairs.iter().take(at).find(|first| first.key == second.key) {
                report(first, second);
            }
        }
    } else {
        let mut sorted: Vec<&Pair> = pairs.iter().collect();
        sorted.sort_by(|a, b| a.key.cmp(&b.key).then(a.key_span.cmp(&b.key_span)));
        for window in sorted.windows(2) {
            if let [first, second] = window
                && first.key == second.key
            {
                report(first, second);
            }
        }
    }
}

#[cfg(test)]
mod tests;
