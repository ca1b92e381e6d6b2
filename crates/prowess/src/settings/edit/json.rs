//! JSON with comments and trailing commas as a tree with places.

use std::ops::Range;

use serde_json::Value;

use super::{ConfigEditError, lines};

/// The maximum depth.
const MAX_DEPTH: usize = 128;

/// A value and its place.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar,
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) key_at: usize,
    pub(super) value: Node,
    /// The comma after it.
    pub(super) comma: Option<usize>,
}

impl Node {
    pub(super) fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The value. A number that does not fit is a text.
    pub(super) fn to_value(&self, text: &str) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                let members = members.iter().map(|member| (member.key.clone(), member.value.to_value(text)));
                Value::Object(members.collect())
            }
            Kind::Array(items) => items.iter().map(|item| item.to_value(text)).collect(),
            Kind::Scalar => {
                let source = text.get(self.span.clone()).unwrap_or_default();
                serde_json::from_str(source).unwrap_or_else(|_| Value::from(source))
            }
        }
    }
}

/// Reads a text; `None` if it has only spaces and comments.
pub(super) fn read(text: &str) -> Result<Option<Node>, ConfigEditError> {
    let mut reader = Reader { text, at: lines::start(text), depth: 0 };
    reader.skip()?;
    if reader.peek().is_none() {
        return Ok(None);
    }
    let root = reader.value()?;
    reader.skip()?;
    match reader.peek() {
        None => Ok(Some(root)),
        Some(_) => Err(reader.fail("there is something after the end of the value")),
    }
}

/// Where spaces and comments that begin at a place end.
pub(super) fn trivia_end(text: &str, at: usize) -> usize {
    let mut reader = Reader { text, at, depth: 0 };
    let _ = reader.skip();
    reader.at
}

/// Where the comments end that begin in the line of a place, after it; the place itself if there are none.
pub(super) fn comments_end(text: &str, at: usize) -> usize {
    let mut end = at;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        let spaces = rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let comment = rest.get(spaces..).unwrap_or_default();
        let length = if comment.starts_with("//") {
            let line = comment.split('\n').next().unwrap_or_default();
            line.strip_suffix('\r').unwrap_or(line).len()
        } else if comment.starts_with("/*") {
            comment.find("*/").map_or(0, |close| close + 2)
        } else {
            0
        };
        if length == 0 {
            return end;
        }
        end += spaces + length;
        if comment.get(..length).is_some_and(|comment| comment.contains('\n')) {
            return end;
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn fail(&self, reason: &str) -> ConfigEditError {
        ConfigEditError::invalid(self.text, self.at, reason)
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    /// Skips spaces and comments.
    fn skip(&mut self) -> Result<(), ConfigEditError> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(b'/') if self.rest().starts_with("//") => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                Some(b'/') if self.rest().starts_with("/*") => match self.rest().find("*/") {
                    Some(close) if close > 1 => self.at += close + 2,
                    // In `/*/`, the star is part of the beginning only.
                    Some(_) => match self.rest().get(3..).and_then(|rest| rest.find("*/")) {
                        Some(close) => self.at += close + 5,
                        None => return Err(self.fail("a comment does not end")),
                    },
                    None => return Err(self.fail("a comment does not end")),
                },
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self) -> Result<Node, ConfigEditError> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.deeper(Self::object)?,
            Some(b'[') => self.deeper(Self::array)?,
            Some(b'"') => {
                self.string()?;
                Kind::Scalar
            }
            Some(_) => {
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
                let length = self.rest().bytes().take_while(|byte| is_part(byte)).count();
                let word = self.rest().get(..length).unwrap_or_default();
                let starts = word.starts_with(|first: char| first == '-' || first.is_ascii_digit());
                let is_number = starts && serde_json::from_str::<serde::de::IgnoredAny>(word).is_ok();
                if !matches!(word, "true" | "false" | "null") && !is_number {
                    return Err(self.fail("a value is missing or not JSON"));
                }
                self.at += length;
                Kind::Scalar
            }
            None => return Err(self.fail("the text ends too early")),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn deeper(
        &mut self,
        read: fn(&mut Self) -> Result<Kind, ConfigEditError>,
    ) -> Result<Kind, ConfigEditError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fail("it is nested too deeply"));
        }
        self.at += 1;
        let kind = read(self);
        self.depth -= 1;
        kind
    }

    fn object(&mut self) -> Result<Kind, ConfigEditError> {
        let mut members = Vec::new();
        loop {
            self.skip()?;
            if self.take(b'}') {
                return Ok(Kind::Object(members));
            }
            if members.last().is_some_and(|last: &Member| last.comma.is_none()) {
                return Err(self.fail("a comma or } is missing"));
            }
            let key_at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.fail("a key in quotes or } is missing"));
            }
            let key = self.string()?;
            self.skip()?;
            if !self.take(b':') {
                return Err(self.fail("a colon is missing"));
            }
            self.skip()?;
            let value = self.value()?;
            self.skip()?;
            let comma = Some(self.at).filter(|_| self.peek() == Some(b','));
            self.at += usize::from(comma.is_some());
            members.push(Member { key, key_at, value, comma });
        }
    }

    fn array(&mut self) -> Result<Kind, ConfigEditError> {
        let mut items = Vec::new();
        let mut comma = true;
        loop {
            self.skip()?;
            if self.take(b']') {
                return Ok(Kind::Array(items));
            }
            if !comma {
                return Err(self.fail("a comma or ] is missing"));
            }
            items.push(self.value()?);
            self.skip()?;
            comma = self.take(b',');
        }
    }

    fn string(&mut self) -> Result<String, ConfigEditError> {
        let mut escaped = false;
        let end = self.rest().bytes().skip(1).position(|byte| match byte {
            _ if escaped => {
                escaped = false;
                false
            }
            b'\\' => {
                escaped = true;
                false
            }
            byte => byte == b'"' || byte == b'\n',
        });
        let source = end.and_then(|end| self.rest().get(..end + 2)).unwrap_or_default();
        let Ok(read) = serde_json::from_str::<String>(source) else {
            return Err(self.fail("a text in quotes does not end, or is not JSON"));
        };
        self.at += source.len();
        Ok(read)
    }
}
