//! Reading only the frontmatter from a stream, so that discovery never reads bodies.

use std::io::{self, BufRead, Read as _};

use super::Document;
use super::split::{Flow, Scanner};
use crate::limits::MAX_FRONTMATTER_BYTES;

/// Reads the frontmatter and leaves the reader at the first byte of the body.
///
/// Without a closing fence the reader stops at the first line that shows that there is no frontmatter, at the end of the
/// file, or after [`MAX_FRONTMATTER_BYTES`]. The findings of the document say which of these it was. The document
/// [has no body](Document::has_body).
///
/// ```
/// let mut file: &[u8] = b"---\nname: tidy\ndescription: Tidies up.\n---\n# Tidy\n";
/// let document = prowess_core::read_frontmatter(&mut file)?;
/// assert_eq!(document.body_offset(), 43);
/// assert_eq!(file, b"# Tidy\n");
/// # std::io::Result::Ok(())
/// ```
pub fn read_frontmatter(mut reader: impl BufRead) -> io::Result<Document> {
    // A line that does not end within the limit decides the question by itself.
    let longest = MAX_FRONTMATTER_BYTES as u64 + 2;
    let mut scanner = Scanner::new();
    let mut bytes = Vec::new();
    let outline = loop {
        let start = bytes.len();
        if reader.by_ref().take(longest).read_until(b'\n', &mut bytes)? == 0 {
            break scanner.finish();
        }
        if scanner.line(bytes.get(start..).unwrap_or(&[])) == Flow::Stop {
            break scanner.outline();
        }
    };
    Ok(Document::read(&bytes, outline, false, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn reads_no_body_and_agrees_with_the_whole_file() {
        let texts = [
            "---\nname: a\ndescription: b\n---\nbody\n---\n",
            "\u{feff}---\r\nname: a\r\ndescription: x: y\r\n---\r\nbody",
            "---\nname: a\ndescription: b\n---",
            "# nothing\n\ntext\n",
            "---\nname: a\n",
            "",
        ];
        for text in texts {
            let mut reader = io::BufReader::with_capacity(3, text.as_bytes());
            let document = read_frontmatter(&mut reader).unwrap();
            let whole = parse(text.as_bytes());
            assert_eq!(document.body_offset(), whole.body_offset(), "{text:?}");
            assert_eq!(document.findings(), whole.findings(), "{text:?}");
            assert_eq!(document.frontmatter_json(), whole.frontmatter_json(), "{text:?}");
            if document.fences().is_some() {
                let mut rest = String::new();
                reader.read_to_string(&mut rest).unwrap();
                assert_eq!(rest, whole.body_raw(), "{text:?}");
            }
        }
    }

    #[test]
    fn a_line_without_end_is_not_read_to_its_end() {
        let mut reader = io::BufReader::new(io::repeat(b'-'));
        assert_eq!(read_frontmatter(&mut reader).unwrap().findings()[0].code(), "frontmatter-missing");
        let mut reader = io::BufReader::new(b"---\n".chain(io::repeat(b'x')));
        assert_eq!(read_frontmatter(&mut reader).unwrap().findings()[0].code(), "frontmatter-too-large");
    }
}
