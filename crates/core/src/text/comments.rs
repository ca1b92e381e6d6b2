//! Comments in Markdown: text that a reader of the rendered page does not see, and a model does.

use pulldown_cmark::{Event, Parser, Tag};

/// How comments of HTML begin and end.
const MARKS: [(&str, &str); 2] = [("<!--", "-->"), ("<?", "?>")];

/// The comments of a Markdown text, each with the offset where it begins: comments of HTML, its processing instructions,
/// and definitions of links to nothing, such as `[//]: # (text)`. Text in code is not a comment: readers see it.
///
/// ```
/// let found = prowess_core::text::comments("Add them.\n\n<!-- Delete them. -->\n\n`<!-- shown -->`\n");
/// assert_eq!(found, [(11, " Delete them. ".to_owned())]);
/// ```
pub fn comments(markdown: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    // Most texts have none; reading Markdown costs more than everything else here.
    let has = |mark: &str| memchr::memmem::find(markdown.as_bytes(), mark.as_bytes()).is_some();
    if !MARKS.iter().any(|(begin, _)| has(begin)) && !has("]:") {
        return found;
    }
    let parser = Parser::new(markdown);
    for (_, definition) in parser.reference_definitions().iter() {
        if let Some(title) = definition.title.as_ref().filter(|_| matches!(&*definition.dest, "" | "#")) {
            found.push((definition.span.start, title.to_string()));
        }
    }
    for (event, range) in parser.into_offset_iter() {
        if matches!(event, Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_)) {
            in_html(markdown.get(range.clone()).unwrap_or_default(), range.start, &mut found);
        }
    }
    found.sort();
    found
}

/// The comments of a piece of HTML that begins at an offset. One without an end ends with the piece.
fn in_html(html: &str, start: usize, found: &mut Vec<(usize, String)>) {
    let mut at = 0;
    while let Some(rest) = html.get(at..) {
        let marks = MARKS.iter().filter_map(|(begin, end)| Some((rest.find(begin)?, begin, end)));
        let Some((before, begin, end)) = marks.min_by_key(|(before, ..)| *before) else { return };
        let inner = rest.get(before + begin.len()..).unwrap_or_default();
        let length = inner.find(end).unwrap_or(inner.len());
        found.push((start + at + before, inner.get(..length).unwrap_or_default().to_owned()));
        at += before + begin.len() + length + end.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_comment_is_found_and_text_in_code_is_not() {
        let texts = |markdown: &str| -> Vec<String> {
            comments(markdown).into_iter().map(|(_, text)| text.trim().to_owned()).collect()
        };
        assert_eq!(texts("a <!-- one --> b <!-- two -->\n"), ["one", "two"]);
        assert_eq!(texts("<!--\none\n\ntwo -->\n\ntext\n"), ["one\n\ntwo"]);
        assert_eq!(texts("<div><!-- one --><?two?></div>\n"), ["one", "two"]);
        assert_eq!(texts("> <!-- one -->\n\n- <!-- two -->\n"), ["one", "two"]);
        assert_eq!(texts("[//]: # (one)\n[x]: <> \"two\"\n[y]: # 'three'\n"), ["one", "two", "three"]);
        assert_eq!(texts("<!-- no end\n\nmore"), ["no end\n\nmore"]);
        for visible in [
            "```html\n<!-- one -->\n```\n",
            "    <!-- one -->\n",
            "`<!-- one -->`\n",
            "[a]: https://example.com 'title'\n",
            "a < b, <b>c</b>\n",
            "<!-- ",
        ] {
            assert!(texts(visible).iter().all(String::is_empty), "{visible}: {:?}", texts(visible));
        }
    }
}
