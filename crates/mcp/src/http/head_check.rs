//! Refuses requests that other programs read differently: a line of a head that ends with a line feed alone, a target with
//! a fragment, a body with two lengths, and a chunk whose size is unclear. A proxy in front of the server could take the
//! rest of such a request for another one, or its target for another path.
//!
//! hyper accepts them, so its input is changed before: a NUL in place of the line feed makes the head invalid. The same is
//! done with the beginning of HTTP/2, at which hyper closes the connection without a response.

/// The beginning of a line that is kept. Names and values that say how long a body is are shorter.
const MAX_LINE: usize = 64;
/// The line with which a connection of HTTP/2 begins.
const HTTP2: &[u8] = b"PRI * HTTP/2.0";

/// Follows the requests of a connection byte by byte, as far as their ends must be known.
#[derive(Debug, Default)]
pub(crate) struct HeadCheck {
    part: Part,
    /// The beginning of the current line.
    line: Vec<u8>,
    after_return: bool,
    head: Head,
    /// Whether the line has a control character.
    has_control: bool,
    /// Whether the line has the character before a fragment.
    has_hash: bool,
}

#[derive(Debug, Default, Clone, Copy)]
enum Part {
    #[default]
    Head,
    /// This many bytes of a body or a chunk.
    Data {
        left: u64,
        then: Then,
    },
    ChunkSize,
    /// The line end after a chunk.
    ChunkEnd,
    Trailers,
}

#[derive(Debug, Clone, Copy)]
enum Then {
    Head,
    ChunkEnd,
}

/// What the head has said so far.
#[derive(Debug, Default)]
struct Head {
    is_begun: bool,
    length: Option<u64>,
    is_chunked: bool,
    is_refused: bool,
}

impl HeadCheck {
    /// Reads the next bytes of the connection, and makes a head invalid that is to be refused.
    pub(crate) fn read(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            if let Part::Data { left, then } = self.part {
                let passed = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                let left = left - passed as u64;
                self.part = match then {
                    _ if left > 0 => Part::Data { left, then },
                    Then::Head => Part::Head,
                    Then::ChunkEnd => Part::ChunkEnd,
                };
                bytes = bytes.split_at_mut(passed).1;
                continue;
            }
            let Some((byte, rest)) = bytes.split_first_mut() else { return };
            bytes = rest;
            let is_end = *byte == b'\n';
            self.has_control |= byte.is_ascii_control() && !matches!(*byte, b'\r' | b'\n' | b'\t');
            self.has_hash |= *byte == b'#';
            if is_end && !(self.after_return && self.end_line()) {
                // hyper itself refuses a line feed in the line of a chunk, and takes any other byte for an extension.
                if self.after_return || !matches!(self.part, Part::ChunkSize) {
                    *byte = 0;
                }
            } else if !is_end && self.line.len() < MAX_LINE {
                self.line.push(*byte);
            }
            self.after_return = *byte == b'\r';
        }
    }

    /// The end of a line. False if the head is to be refused.
    fn end_line(&mut self) -> bool {
        let line = std::mem::take(&mut self.line);
        let has_control = std::mem::take(&mut self.has_control);
        let has_hash = std::mem::take(&mut self.has_hash);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        match self.part {
            Part::Head if line.is_empty() && self.head.is_begun => {
                let head = std::mem::take(&mut self.head);
                self.part = match head.length {
                    _ if head.is_refused => return false,
                    Some(_) if head.is_chunked => return false,
                    Some(left) if left > 0 => Part::Data { left, then: Then::Head },
                    _ if head.is_chunked => Part::ChunkSize,
                    _ => Part::Head,
                };
            }
            // Empty lines before a request are ignored.
            Part::Head if line.is_empty() => {}
            // hyper would cut a fragment off, and read the rest as the path.
            Part::Head if !self.head.is_begun && (has_hash || line == HTTP2) => return false,
            Part::Head => self.head.read(line),
            Part::ChunkSize => {
                let digits: Vec<u8> = line.iter().copied().take_while(u8::is_ascii_hexdigit).collect();
                let size =
                    std::str::from_utf8(&digits).ok().and_then(|text| u64::from_str_radix(text, 16).ok());
                // One that is longer than what is kept may have another size for hyper.
                self.part = match size.filter(|_| digits.len() < MAX_LINE && !has_control) {
                    Some(0) => Part::Trailers,
                    Some(left) => Part::Data { left, then: Then::ChunkEnd },
                    None => return false,
                };
            }
            Part::ChunkEnd => self.part = Part::ChunkSize,
            Part::Trailers if line.is_empty() => self.part = Part::Head,
            Part::Trailers | Part::Data { .. } => {}
        }
        true
    }
}

impl Head {
    fn read(&mut self, line: &[u8]) {
        self.is_begun = true;
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
        let (name, value) = line.split_at(colon);
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.is_chunked = true;
        } else if name.eq_ignore_ascii_case(b"content-length") {
            let value = value.strip_prefix(b":").unwrap_or_default().trim_ascii();
            // Also if both are equal: some programs read a list of two, and others one.
            self.is_refused |= self.length.is_some();
            self.length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            self.is_refused |= self.length.is_none() || line.len() >= MAX_LINE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What hyper gets, in every way in which the bytes may arrive in two pieces.
    fn passed(text: &str) -> String {
        let whole = |at: usize| {
            let mut bytes = text.as_bytes().to_vec();
            let mut check = HeadCheck::default();
            let (first, second) = bytes.split_at_mut(at);
            check.read(first);
            check.read(second);
            String::from_utf8(bytes).unwrap()
        };
        let expected = whole(0);
        for at in 0..=text.len() {
            assert_eq!(whole(at), expected, "{at}");
        }
        expected
    }

    #[test]
    fn requests_pass_unchanged_one_after_another() {
        for text in [
            "GET / HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            "\r\nPOST / HTTP/1.1\r\ncontent-length: 3\r\n\r\n\n\n\nGET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n\n\n\n\r\n0\r\na: b\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(passed(text), text);
        }
    }

    #[test]
    fn a_line_feed_alone_makes_a_head_invalid_wherever_it_is() {
        let body = "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{\n";
        let chunked = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{\n\r\n0\r\n\r\n";
        for before in ["", "GET / HTTP/1.1\r\n\r\n", body, chunked] {
            for head in [
                "\nGET / HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1\nhost: x\r\n\r\n",
                "GET / HTTP/1.1\r\nhost: x\n\r\n",
                "GET / HTTP/1.1\r\nhost: x\r\n\n",
            ] {
                let text = format!("{before}{head}");
                let passed = passed(&text);
                assert_eq!(passed.matches('\0').count(), 1, "{passed:?}");
                assert!(passed.starts_with(before), "{passed:?}");
            }
        }
    }

    #[test]
    fn a_fragment_and_the_beginning_of_another_protocol_make_a_head_invalid() {
        let long = format!("/{}", "x".repeat(2 * MAX_LINE));
        for line in [
            "GET /metrics#x HTTP/1.1",
            "GET /mcp# HTTP/1.1",
            &format!("GET {long}#x HTTP/1.1"),
            "PRI * HTTP/2.0",
        ] {
            for before in ["", "GET / HTTP/1.1\r\n\r\n"] {
                let text = format!("{before}{line}\r\nhost: x\r\n\r\n");
                assert!(passed(&text).starts_with(&format!("{before}{line}\r\0")), "{line}");
            }
        }
        let text = "GET / HTTP/1.1\r\nx: #PRI * HTTP/2.0\r\n\r\n";
        assert_eq!(passed(text), text);
    }

    #[test]
    fn a_chunk_whose_size_may_be_read_differently_is_invalid() {
        let long = format!("{}2b", "0".repeat(MAX_LINE));
        for size in [&*long, "", ";x", "x", "1ffffffffffffffff", "2;a\0b", "2;\x1b"] {
            let text = format!("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{size}\r\n");
            assert!(passed(&text).ends_with("\r\0"), "{size}");
        }
        let long =
            format!("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1;{}\r\n\n\r\n", "x".repeat(100));
        assert_eq!(passed(&long), long);
    }

    #[test]
    fn a_head_with_two_lengths_or_a_very_long_one_is_invalid() {
        let long = format!("content-length: {}1", "0".repeat(MAX_LINE));
        for head in [
            "content-length: 1\r\ntransfer-encoding: chunked",
            "transfer-encoding: chunked\r\ncontent-length: 1",
            &long,
        ] {
            let text = format!("POST / HTTP/1.1\r\n{head}\r\n\r\n");
            assert!(passed(&text).ends_with("\r\n\r\0"), "{head}");
        }
    }
}
