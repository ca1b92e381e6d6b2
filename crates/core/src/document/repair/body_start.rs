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

/// Where text begins that cannot be YAML, in frontmatter that has a closing fence. Lines at the left margin continue the
/// value above them, unless there is a blank line between.
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
        let doubtful = scan.doubtful || scan.value_below_blank;
        BodyStart { at: scan.end, doubtful, prose }
    };
    let mut scan = Scan { closed, ..Scan::default() };
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
        } else if self.continues(line) {
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

    /// Whether a line at the left margin that is neither key nor comment continues the value above.
    fn continues(&self, line: &Line<'t>) -> bool {
        let Some(entry) = self.entry.filter(|_| !self.unknown) else { return false };
        if entry.is_open() && line.text.starts_with(['"', '\'', '[', '{', ']', '}']) {
            return true;
        }
        let item = line.is_item() && entry.is_nested() && !self.heading;
        item || self.closed && !self.blank && !self.comment
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
