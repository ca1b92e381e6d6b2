//! YAML anchors and aliases: an alias is a copy of its anchor's value, counted against the budget before it is made.

use std::collections::BTreeMap;

use super::{Builder, Next};
use crate::document::node::{Node, NodeKind, move_spans};
use crate::document::rules::{YAML_ANCHOR, YAML_LIMIT};
use crate::finding::Finding;
use crate::limits::{MAX_YAML_COPIED_BYTES, MAX_YAML_DEPTH};
use crate::span::Span;

/// The values with anchors, by the parser's number, and the bytes that were copied.
#[derive(Default)]
pub(super) struct Anchors {
    known: BTreeMap<usize, (Node, Size)>,
    bytes: usize,
    noted: bool,
}

/// The size of a value: its nodes, the bytes of its text, and the depth of its collections.
#[derive(Clone, Copy)]
struct Size {
    nodes: usize,
    bytes: usize,
    depth: usize,
}

impl Size {
    fn of(node: &Node) -> Self {
        let within = |inner: &mut dyn Iterator<Item = Self>| {
            inner.fold(Self { nodes: 1, bytes: 0, depth: 1 }, |sum, one| Self {
                nodes: sum.nodes + one.nodes,
                bytes: sum.bytes + one.bytes,
                depth: sum.depth.max(one.depth + 1),
            })
        };
        match &node.kind {
            NodeKind::Scalar(scalar) => Self { nodes: 1, bytes: scalar.text.len(), depth: 0 },
            NodeKind::Sequence(items) => within(&mut items.iter().map(Self::of)),
            NodeKind::Mapping(pairs) => within(&mut pairs.iter().map(|pair| {
                let value = Self::of(&pair.value);
                Self { nodes: value.nodes + 1, bytes: value.bytes + pair.key.len(), ..value }
            })),
        }
    }
}

impl Builder<'_> {
    /// Reports once that the frontmatter uses anchors or aliases.
    #[cold]
    pub(super) fn note_anchor(&mut self, message: &str, span: Span) {
        if !self.anchors.noted {
            self.anchors.noted = true;
            let finding = Finding::new(&YAML_ANCHOR, message).with_span(span);
            self.findings.push(finding.with_help("write each value out, without `&name` and `*name`"));
        }
    }

    /// Keeps a value that has an anchor. The copy counts against the limits.
    #[cold]
    pub(super) fn keep(&mut self, anchor: usize, node: &Node, span: Span) -> Next {
        let size = Size::of(node);
        self.count_copy(size, span)?;
        self.anchors.known.insert(anchor, (node.clone(), size));
        Next::Continue(())
    }

    /// Puts the value of an anchor in the place of its alias. Every span in it is that of the alias.
    #[cold]
    pub(super) fn repeat(&mut self, anchor: usize, span: Span) -> Next {
        self.note_anchor("an alias repeats another value", span);
        let Some((_, size)) = self.anchors.known.get(&anchor) else {
            let message = "an alias is inside the value that it repeats, so it never ends";
            self.findings.push(Finding::new(&YAML_LIMIT, message).with_span(span));
            return Next::Break(());
        };
        let size = *size;
        if self.open.len() + size.depth > MAX_YAML_DEPTH {
            self.too_deep(span);
            return Next::Break(());
        }
        // Counted before it is copied, so that nothing grows beyond the limits.
        self.count_copy(size, span)?;
        if let Some((node, _)) = self.anchors.known.get(&anchor) {
            let mut node = node.clone();
            move_spans(&mut node, &|_| span);
            self.add(node);
        }
        Next::Continue(())
    }

    /// Counts the nodes and bytes of a copy.
    fn count_copy(&mut self, size: Size, span: Span) -> Next {
        self.nodes = self.nodes.saturating_add(size.nodes);
        self.anchors.bytes = self.anchors.bytes.saturating_add(size.bytes);
        if self.anchors.bytes > MAX_YAML_COPIED_BYTES {
            let message = format!("anchors and aliases repeat more than {MAX_YAML_COPIED_BYTES} bytes");
            self.findings.push(Finding::new(&YAML_LIMIT, message).with_span(span));
            return Next::Break(());
        }
        self.check_count(span)
    }
}
