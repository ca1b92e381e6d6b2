//! URIs of skills and their files: `skill://name/path`, or `skill://_prefix/name/path` for a prefixed key.
//!
//! Published names consist of a-z, 0-9 and hyphens, so a first segment with `_` can only be a prefix: one URI means one
//! skill and one path, without a look at the catalog. Without the underscore, `skill://a/b/SKILL.md` could be the skill
//! `a:b` or the file `b/SKILL.md` of the skill `a`.

use prowess::RelPath;
use prowess::text::{uri_path, uri_segment};

/// The URI of a skill's folder, without a slash at the end. `key` is `name` or `prefix:name`.
pub(crate) fn root(key: &str) -> String {
    match key.rsplit_once(':') {
        Some((prefix, name)) => format!("skill://_{}/{}", uri_segment(prefix), uri_segment(name)),
        None => format!("skill://{}", uri_segment(key)),
    }
}

/// The URI of a file of a skill.
pub(crate) fn file(key: &str, path: &RelPath) -> String {
    format!("{}/{}", root(key), uri_path(path.as_str()))
}

/// The key of a skill and the path in a URI; the path is empty for the skill's folder.
///
/// Only the spelling that [`root`] and [`file`] write is accepted, so that no file has a second name (`%2e%2e`, `//`,
/// escaped letters, a query, a fragment). The one exception are characters that need no escape in a path, since a client
/// that expands the URI template does not escape them.
pub(crate) fn parse(uri: &str) -> Option<(String, String)> {
    let rest = uri.strip_prefix("skill://")?;
    let mut parts = rest.split('/');
    let first = parts.next()?;
    let key = match first.strip_prefix('_') {
        Some(prefix) => format!("{}:{}", decode(prefix)?, decode(parts.next()?)?),
        None => decode(first)?,
    };
    if key.is_empty() || key.ends_with(':') {
        return None;
    }
    let path = parts.map(decode).collect::<Option<Vec<_>>>()?.join("/");
    // The URI is valid if writing it again gives the same text.
    let written = if path.is_empty() { root(&key) } else { file(&key, &RelPath::from_request(&path).ok()?) };
    (written == escaped(uri)).then_some((key, path))
}

/// The same URI with those characters escaped that RFC 3986 allows unescaped in a path: sub-delims, `:` and `@`.
fn escaped(uri: &str) -> String {
    let (scheme, rest) = uri.split_at_checked("skill://".len()).unwrap_or(("", uri));
    let plain = |it: char| "!$&'()*+,;=:@".contains(it);
    let rest =
        rest.chars().map(|it| if plain(it) { uri_segment(it.encode_utf8(&mut [0; 4])) } else { it.into() });
    scheme.chars().map(String::from).chain(rest).collect()
}

/// The decoded text; `None` when the percent-encoding is invalid or the result is not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                u8::try_from(digit(rest.next())? * 16 + digit(rest.next())?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_uri_has_one_spelling() {
        let path = |text: &str| RelPath::from_request(text).unwrap();
        for (key, file_path, uri) in [
            ("pdf", "SKILL.md", "skill://pdf/SKILL.md"),
            ("pdf", "a b/ä%.md", "skill://pdf/a%20b/%C3%A4%25.md"),
            ("proj:pdf", "SKILL.md", "skill://_proj/pdf/SKILL.md"),
            ("pdf", "-x/a:b?.md", "skill://pdf/-x/a%3Ab%3F.md"),
        ] {
            assert_eq!(file(key, &path(file_path)), uri);
            assert_eq!(parse(uri), Some((key.to_owned(), file_path.to_owned())));
        }
        assert_eq!(parse("skill://pdf"), Some(("pdf".to_owned(), String::new())));
        for wrong in [
            "skill://pdf/",
            "skill://pdf//SKILL.md",
            "skill://pdf/./SKILL.md",
            "skill://pdf/a%5Cb",
            "skill://pdf/../x",
            "skill://pdf/%2e%2e/x",
            "skill:///x",
            "skill://p%64f/SKILL.md",
            "skill://pdf/SKILL.md?x",
            "file:///etc/passwd",
            "skill://pdf/%zz",
            "",
            "skill://",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_written_uri_is_read_back_and_has_no_second_spelling(
            prefix in proptest::option::of("[a-zA-Z0-9._ ü-]{1,8}"), name in "[a-z0-9][a-z0-9-]{0,8}",
            path in proptest::collection::vec("[ -~äß]{1,8}", 1..4).prop_map(|parts| parts.join("/")),
        ) {
            let key = prefix.map_or_else(|| name.clone(), |prefix| format!("{prefix}:{name}"));
            if let Ok(path) = RelPath::from_request(&path) {
                let uri = file(&key, &path);
                prop_assert_eq!(parse(&uri), Some((key, path.as_str().to_owned())));
                prop_assert_eq!(parse(&format!("{uri}/")), None);
                prop_assert_eq!(parse(&format!("{uri}?x")), None);
            }
        }

        #[test]
        fn no_text_panics_or_escapes_the_folder(uri in "(skill://)?[a-z%/._0-9A-F:@!~ä-]{0,40}") {
            if let Some((_, path)) = parse(&uri) {
                prop_assert!(path.is_empty() || RelPath::from_request(&path).is_ok_and(|read| read.as_str() == path));
            }
        }
    }
}
