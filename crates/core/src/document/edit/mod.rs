//! Writing frontmatter: edits that set or remove one field and leave every other byte alone.

mod writer;

use serde_json::Value;

pub use writer::markdown;
pub(crate) use writer::scalar;

use crate::document::{Document, Node, Pair, Style, parse, repair};
use crate::finding::Edit;
use crate::span::Span;
use writer::Writer;

/// Why a field cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// There is no frontmatter to write into.
    #[error(
        "there is no frontmatter to write into; begin the file with a line `---` and end it with another"
    )]
    NoFrontmatter,
    /// The frontmatter cannot be read, so nothing can be changed in it safely.
    #[error("the frontmatter cannot be read, so it is not changed; correct it first")]
    Unreadable,
    /// The field appears twice.
    #[error("the field appears twice, so it is not clear which to change; keep one: {0}")]
    Ambiguous(String),
    /// The text that would be written does not read back as the wanted value.
    #[error("the field cannot be written without changing something else: {0}")]
    NotWritable(String),
}

impl Document {
    /// The bytes of the file: an unchanged document is written verbatim.
    pub fn to_markdown(&self) -> &[u8] {
        self.raw()
    }

    /// The document with one field set. Comments, order, quoting and every other byte stay unchanged.
    ///
    /// Repaired frontmatter is written in its repaired form. A new field comes last, a name first.
    ///
    /// ```
    /// let document = prowess_core::parse(b"---\nname: a # ours\ndescription: 'old'\n---\nbody\n");
    /// let changed = document.with_field("description", &"new".into())?;
    /// assert_eq!(changed.text(), "---\nname: a # ours\ndescription: 'new'\n---\nbody\n");
    /// # Ok::<(), prowess_core::document::EditError>(())
    /// ```
    pub fn with_field(&self, key: &str, value: &Value) -> Result<Self, EditError> {
        let base = self.writable(key)?;
        let edit = base.setting(key, value)?;
        base.changed(key, Some(value), &[edit])
    }

    /// The document without one field; unchanged when it has no such field.
    pub fn without_field(&self, key: &str) -> Result<Self, EditError> {
        let base = self.writable(key)?;
        match base.removal(key) {
            Some(edit) => base.changed(key, None, &[edit]),
            None if base.pair(key).is_some() => Err(EditError::NotWritable(key.to_owned())),
            None => Ok(base),
        }
    }

    /// The document whose fields can be edited: this one, or its repaired form.
    fn writable(&self, key: &str) -> Result<Self, EditError> {
        if self.fences.is_none() {
            return Err(EditError::NoFrontmatter);
        }
        let base = if self.repaired { self.repaired_text() } else { self.clone() };
        if base.findings.iter().any(|finding| finding.rule.refuses()) || base.root.is_none() {
            return Err(EditError::Unreadable);
        }
        if base.pairs().iter().filter(|pair| pair.key == key).count() > 1 {
            return Err(EditError::Ambiguous(key.to_owned()));
        }
        Ok(base)
    }

    fn repaired_text(&self) -> Self {
        let fixes = self.findings.iter().filter_map(|finding| finding.fix.as_ref().filter(|fix| fix.safe));
        let mut edits: Vec<Edit> = fixes.flat_map(|fix| fix.edits.iter().cloned()).collect();
        edits.sort_by_key(|edit| edit.span);
        parse(repair::apply(&self.text, &edits).as_bytes())
    }

    /// Applies edits, and checks that they changed this field and no other.
    fn changed(&self, key: &str, value: Option<&Value>, edits: &[Edit]) -> Result<Self, EditError> {
        let mut document = parse(repair::apply(&self.text, edits).as_bytes());
        let same = |before: &Pair, after: &Pair| {
            before.key == after.key && before.value.to_json() == after.value.to_json()
        };
        let others = |document: &Self| {
            document.pairs().iter().filter(|pair| pair.key != key).cloned().collect::<Vec<_>>()
        };
        let (before, after) = (others(self), others(&document));
        let kept = before.len() == after.len()
            && before.iter().zip(&after).all(|(before, after)| same(before, after));
        let written = document.field(key).map(Node::to_json);
        if document.repaired || !kept || written.as_ref() != value || document.body_raw() != self.body_raw() {
            return Err(EditError::NotWritable(key.to_owned()));
        }
        document.whole = self.whole;
        Ok(document)
    }

    /// The edit that sets a field.
    pub(crate) fn setting(&self, key: &str, value: &Value) -> Result<Edit, EditError> {
        let root = self.root.as_ref().ok_or(EditError::Unreadable)?;
        let flow = root.span.slice(&self.text).is_some_and(|text| text.starts_with('{'));
        let line_break =
            if self.frontmatter().is_some_and(|yaml| yaml.contains("\r\n")) { "\r\n" } else { "\n" };
        let indent = self.indent_of(root.span.start);
        let mut writer = Writer { line_break, flow, blocks: true };
        let Some(pair) = self.pair(key) else {
            return self.insertion(key, value, root, &writer, &indent);
        };
        let old = &pair.value;
        writer.blocks = self.block_fits(old.span.end.max(pair.key_span.end), indent.len());
        if let (Some(scalar), true) =
            (old.scalar(), !matches!(value, Value::Array(_) | Value::Object(_)) || flow)
        {
            let text = writer.inline(value, scalar.style, indent.len());
            let text = if old.span.is_empty() { format!(" {text}") } else { text };
            return Ok(Edit { span: old.span, replacement: text });
        }
        if flow {
            return Ok(Edit { span: old.span, replacement: writer.inline(value, Style::Plain, 0) });
        }
        // The old or the new value is a collection: everything after the colon changes.
        let behind = self.text.get(pair.key_span.end..).unwrap_or("");
        let colon = behind.find(':').ok_or_else(|| EditError::NotWritable(key.to_owned()))?;
        let from = pair.key_span.end + colon + 1;
        let span = Span::new(from, old.span.end);
        let new = writer.after_colon(value, indent.len());
        // A comment after the key stays there when the value is below it.
        let line = self.text.get(from..old.span.start).and_then(|between| between.split_once('\n'));
        let comment = line.map(|(line, _)| line.trim_end()).filter(|line| line.trim_start().starts_with('#'));
        let replacement = match (comment, new.strip_prefix(writer.line_break)) {
            (Some(comment), Some(_)) => format!("{comment}{new}"),
            (Some(comment), None) if !new.contains('\n') => format!("{new}{comment}"),
            _ => new,
        };
        Ok(Edit { span, replacement })
    }

    fn insertion(
        &self,
        key: &str,
        value: &Value,
        root: &Node,
        writer: &Writer<'_>,
        indent: &str,
    ) -> Result<Edit, EditError> {
        let fences = self.fences.ok_or(EditError::NoFrontmatter)?;
        let name = scalar(key, Style::Plain, writer.flow);
        if writer.flow {
            let last = root.pairs().and_then(<[Pair]>::last);
            // After the last value, since a comma or a comment may precede the bracket.
            let at = match last.map(|pair| pair.value.span) {
                Some(span) if !span.is_empty() => span.end,
                Some(_) => root.span.end.saturating_sub(1),
                None => root.span.start + 1,
            };
            let comma = if last.is_some() { ", " } else { "" };
            let text = writer.inline(value, Style::Plain, 0);
            return Ok(Edit { span: Span::at(at), replacement: format!("{comma}{name}: {text}") });
        }
        let first = self.pairs().first().map_or(fences.yaml.end, |pair| self.line_start(pair.key_span.start));
        let at = match key {
            "name" => first,
            "description" => self.pair("name").map_or(first, |pair| self.behind(pair)),
            _ => fences.yaml.end,
        };
        let writer = Writer { blocks: at == 0 || self.block_fits(at - 1, indent.len()), ..*writer };
        let line = format!("{indent}{name}:{}{}", writer.after_colon(value, indent.len()), writer.line_break);
        Ok(Edit { span: Span::at(at), replacement: line })
    }

    /// The edit that removes a field with its line; none when it does not exist or the mapping is in brackets.
    pub(crate) fn removal(&self, key: &str) -> Option<Edit> {
        let pair = self.pair(key)?;
        let root = self.root.as_ref()?;
        if root.span.slice(&self.text)?.starts_with('{') {
            return None;
        }
        let end = self.line_end(pair.value.span.end.max(pair.key_span.end));
        Some(Edit { span: Span::new(self.line_start(pair.key_span.start), end), replacement: String::new() })
    }

    fn line_start(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
    }

    /// Whether a block may end here: the rest of the line is empty, and no deeper line below it, such as a comment,
    /// would become part of the block.
    fn block_fits(&self, at: usize, indent: usize) -> bool {
        let rest = self.text.get(at..self.line_end(at)).unwrap_or("");
        let below = self.text.get(self.line_end(at)..).unwrap_or("");
        let next = below.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        rest.trim_start_matches(':').trim_end_matches(['\r', '\n']).is_empty()
            && next.len() - next.trim_start().len() <= indent
    }

    /// The first line after a field. Blank lines count as part of it, since they may belong to a block.
    fn behind(&self, pair: &Pair) -> usize {
        let mut at = self.line_end(pair.value.span.end.max(pair.key_span.end));
        let block =
            pair.value.scalar().is_some_and(|old| matches!(old.style, Style::Literal | Style::Folded));
        while block && self.text.get(at..).is_some_and(|rest| rest.starts_with(['\n', '\r'])) {
            at = self.line_end(at);
        }
        at
    }

    /// The first byte of the next line.
    fn line_end(&self, at: usize) -> usize {
        self.text.get(at..).and_then(|after| after.find('\n')).map_or(self.text.len(), |line| at + line + 1)
    }

    /// The spaces between the start of a line and a place on it.
    fn indent_of(&self, at: usize) -> String {
        let before = self.text.get(self.line_start(at)..at).unwrap_or("");
        if before.trim().is_empty() { before.to_owned() } else { String::new() }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
