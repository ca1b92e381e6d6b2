//! Where the body begins in a file whose closing fence is missing: after the last key.

use super::{Line, Repair, key_length, known_field};

/// Where the body begins, and whether another place is as likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyStart {
    /// The first byte after the last line of the frontmatter.
    pub(crate) at: usize,
    /// Whether the author has to decide: a line could be part of the frontmatter or of the body.
    pub(crate) doubtful: bool,
    /// Whether a line follows that cannot be YAML.
    pub(crate) prose: bool,
}

/// Where text begins that cannot be YAML, in frontmatter that has a closing fence. Prose at the left margin continues the
/// value above it, unless there is a blank line between; it may as well be the body, so the end is in doubt then.
pub(crate) fn body_before_fence(yaml: &str) -> Option<BodyStart> {
    body_start(yaml, true).filter(|start| start.prose)
}

/// Where the body begins in a file without a closing fence; none when there is nothing below the last key.
pub(crate) fn body_without_fence(yaml: &str) -> Option<BodyStart> {
    body_start(yaml, false)
}

/// The entry that the scan is in.
#[derive(Clone, Copy)]
struct Entry<'t> {
    value: &'t str,
    /// The last text of its value.
    last: &'t str,
}

impl Entry<'_> {
    /// Whether its value is on the lines below: a mapping, a list or a block of text.
    fn is_nested(&self) -> bool {
        self.value.is_empty() || self.value.starts_with(['#', '|', '>', '&', '!'])
    }

    /// Whether its value is a block of text, which a list at the left margin ends.
    fn is_block_of_text(&self) -> bool {
        self.value.starts_with(['|', '>'])
    }

    /// Whether a quote or a bracket is open.
    fn is_open(&self) -> bool {
        let closer = match self.value.chars().next() {
            Some(quote @ ('"' | '\'')) => quote,
            Some('[') => ']',
            Some('{') => '}',
            _ => return false,
        };
        !self.last.ends_with(closer) || self.last.len() == 1 && self.value.len() == 1
    }
}

fn body_start(yaml: &str, closed: bool) -> Option<BodyStart> {
    let lines = Repair::new(yaml).lines();
    let keyed = lines.iter().position(|line| line.indent == 0 && key_length(line.text).is_some())?;
    let start = |scan: &Scan<'_>, prose| {
        let doubtful = scan.doubtful || scan.value_below_blank || scan.unknown_last;
        BodyStart { at: scan.end, doubtful, prose }
    };
    let above = lines.get(..keyed)?.iter().any(|line| !line.is_blank() && !line.is_comment());
    let mut scan = Scan { closed, doubtful: above, ..Scan::default() };
    for line in lines.get(keyed..)? {
        if !scan.line(line) {
            return Some(start(&scan, true));
        }
    }
    let below = yaml.get(scan.end..).is_some_and(|rest| !rest.trim().is_empty());
    below.then(|| start(&scan, false))
}

/// The state of the scan: what is known of the lines up to `end`, and what was seen below.
#[derive(Default)]
struct Scan<'t> {
    closed: bool,
    entry: Option<Entry<'t>>,
    /// The end of the last line that belongs to the frontmatter.
    end: usize,
    doubtful: bool,
    blank: bool,
    /// Comments below a blank line may be headings of the body.
    heading: bool,
    comment: bool,
    /// A key below a blank line that the specification does not have, or that repeats one: `Note: …` may begin the body.
    unknown: bool,
    /// The last key is not one of the specification, and no fence closes the frontmatter: `note: …` may begin the body.
    unknown_last: bool,
    seen: Vec<&'t str>,
    /// A list or indented text below a blank line continues a value, or begins the body.
    value_below_blank: bool,
}

impl<'t> Scan<'t> {
    /// Takes the next line; false at one that cannot be YAML.
    fn line(&mut self, line: &Line<'t>) -> bool {
        if line.is_blank() {
            self.blank = true;
        } else if line.indent > 0 {
            return self.indented(line);
        } else if line.is_comment() {
            self.comment = true;
            self.heading |= self.blank;
        } else if let Some(colon) = key_length(line.text) {
            self.key(line, colon);
        } else if self.continues_surely(line) {
            self.continue_with(line);
        } else if self.may_continue(line) {
            self.doubtful = true;
            self.continue_with(line);
        } else {
            return false;
        }
        true
    }

    fn key(&mut self, line: &Line<'t>, colon: usize) {
        let known = known_field(line.text).filter(|key| !self.seen.contains(key));
        if (self.unknown || self.blank || self.value_below_blank) && known.is_none() {
            self.unknown = true;
            self.doubtful = true;
            return;
        }
        self.doubtful |= self.heading || self.unknown;
        self.unknown_last = known.is_none() && !self.closed;
        (self.unknown, self.value_below_blank) = (false, false);
        self.seen.extend(known);
        let value = line.text.get(colon + 1..).unwrap_or("").trim();
        self.entry = Some(Entry { value, last: value });
        self.take(line);
    }

    /// Takes an indented line if it can be part of the value above.
    fn indented(&mut self, line: &Line<'t>) -> bool {
        if self.unknown {
            return true;
        }
        let nested = self.entry.is_some_and(|entry| entry.is_nested());
        if self.comment && !nested {
            return line.is_comment();
        }
        self.continue_with(line);
        true
    }

    /// Whether a line at the left margin that is neither key nor comment can only continue the value above: an item of a
    /// list, or what closes a quote or a bracket.
    fn continues_surely(&self, line: &Line<'t>) -> bool {
        let Some(entry) = self.entry.filter(|_| !self.unknown) else { return false };
        if entry.is_open() && line.text.starts_with(['"', '\'', '[', '{', ']', '}']) {
            return true;
        }
        line.is_item() && entry.is_nested() && !entry.is_block_of_text() && !self.heading
    }

    /// Whether a line at the left margin may continue the value above, because a fence closes the frontmatter below. A
    /// line without a word, such as `***`, never does.
    fn may_continue(&self, line: &Line<'t>) -> bool {
        let has_word = line.text.contains(char::is_alphanumeric);
        self.closed && has_word && self.entry.is_some() && !self.unknown && !self.blank && !self.comment
    }

    fn continue_with(&mut self, line: &Line<'t>) {
        self.value_below_blank |= self.blank;
        self.take(line);
    }

    fn take(&mut self, line: &Line<'t>) {
        if let Some(entry) = &mut self.entry {
            entry.last = line.text;
        }
        self.end = line.next;
        (self.blank, self.comment, self.heading) = (false, false, false);
    }
}
