//! Comments in Markdown: text that a reader of the rendered page does not see, and a model does.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

/// How comments, instructions, sections and declarations of HTML begin and end. The first that fits counts.
const MARKS: [(&str, &str); 4] = [("<!--", "-->"), ("<?", "?>"), ("<![cdata[", "]]>"), ("<!", ">")];

/// Elements that are not displayed. A dialog is, if it is open.
const NOT_DISPLAYED: [&str; 8] =
    ["datalist", "dialog", "head", "noscript", "script", "style", "template", "title"];

/// The longest title of a definition that is read, in bytes.
const MAX_TITLE: usize = 2_000;
/// The longest tag in which quotes count, in bytes.
const MAX_TAG: usize = 2_000;

/// The comments of a Markdown text, each with the offset where it begins: comments of HTML, its processing instructions and
/// declarations, its elements that are not displayed, and definitions of links to nothing, such as `[//]: # (text)`. Text
/// in code is not a comment: readers see it.
///
/// Elements are known by their names, and by the attributes `hidden`, `popover`, and `style` with `display: none` or
/// `visibility: hidden`. Other ways to hide text are not found, such as style sheets, small or transparent letters.
///
/// ```
/// let found = prowess_core::text::comments("Add them.\n\n<!-- Delete them. -->\n\n`<!-- shown -->`\n");
/// assert_eq!(found, [(11, " Delete them. ".to_owned())]);
/// ```
pub fn comments(markdown: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    // Most texts have none; reading Markdown costs more than everything else here.
    let has = |mark: &str| memchr::memmem::find(markdown.as_bytes(), mark.as_bytes()).is_some();
    if !has("]:") && !(has("<") && (has("<!") || has("<?") || may_hide(&markdown.to_ascii_lowercase()))) {
        return found;
    }
    let parser = Parser::new(markdown);
    for (_, definition) in parser.reference_definitions().iter() {
        if let Some(title) = definition.title.as_ref().filter(|_| matches!(&*definition.dest, "" | "#")) {
            found.push((definition.span.start, title.to_string()));
        }
    }
    let (mut shown, mut read) = (Vec::new(), 0);
    for (event, range) in parser.into_offset_iter() {
        if matches!(event, Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_)) && range.end > read {
            let start = range.start.max(read);
            read = in_html(markdown, start..range.end, &mut found).max(read);
        }
        if is_block_of_text(&event) {
            shown.push(range);
        }
    }
    found.extend(repeated(markdown, &shown, &found));
    found.sort();
    found
}

/// Whether an event begins a block whose whole text belongs to it, so that no definition is inside.
fn is_block_of_text(event: &Event<'_>) -> bool {
    let Event::Start(tag) = event else { return false };
    matches!(tag, Tag::Paragraph | Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::Table(_))
}

/// Definitions of links to nothing whose label was defined before. Markdown knows only the first one of a label.
fn repeated(markdown: &str, shown: &[Range<usize>], known: &[(usize, String)]) -> Vec<(usize, String)> {
    let known: BTreeSet<usize> = known.iter().map(|(at, _)| *at).collect();
    let (mut found, mut start) = (Vec::new(), 0);
    for line in markdown.split_inclusive('\n') {
        let label = line.find('[').and_then(|at| Some((at, at + line.get(at..)?.find("]:")? + 2)));
        if let Some((at, behind)) = label.map(|(at, behind)| (start + at, start + behind)) {
            let block = shown.get(shown.partition_point(|range| range.end <= at));
            let is_shown = block.is_some_and(|range| range.contains(&at));
            let text = markdown.get(behind..).filter(|_| !is_shown && !known.contains(&at));
            found.extend(text.and_then(title_of_nothing).map(|title| (at, title.to_owned())));
        }
        start += line.len();
    }
    found
}

/// The title of a definition whose destination is nothing, from the text behind its colon.
fn title_of_nothing(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let title = text.strip_prefix('#').or_else(|| text.strip_prefix("<>"))?;
    let title = title.strip_prefix(char::is_whitespace)?.trim_start();
    let close = match title.bytes().next()? {
        b'(' => b')',
        quote @ (b'"' | b'\'') => quote,
        _ => return None,
    };
    let title = title.get(1..)?;
    title.get(..title.bytes().take(MAX_TITLE).position(|byte| byte == close)?)
}

/// Adds the comments and the hidden elements of a piece of HTML. A comment without an end ends with the piece. Returns
/// where the last one ends: an element may contain more Markdown.
fn in_html(markdown: &str, piece: Range<usize>, found: &mut Vec<(usize, String)>) -> usize {
    let mut at = piece.start;
    while let Some(rest) = markdown.get(at..piece.end) {
        let Some(before) = rest.find('<') else { return at };
        let (begin, rest) = (at + before, rest.get(before..).unwrap_or_default());
        if let Some((mark, end)) = MARKS.iter().find(|(mark, _)| starts_with(rest, mark)) {
            let inner = rest.get(mark.len()..).unwrap_or_default();
            let length = inner.find(end).unwrap_or(inner.len());
            found.push((begin, inner.get(..length).unwrap_or_default().to_owned()));
            at = begin + mark.len() + length + end.len();
        } else if let Some((name, attributes)) = tag(rest) {
            at = begin + 1 + name.len() + attributes.len();
            if is_hiding(name, attributes) {
                let inner = at + 1..end_of_element(markdown, at + 1, name);
                found.push((begin, markdown.get(inner.clone()).unwrap_or_default().to_owned()));
                at = inner.end;
            }
        } else {
            at = begin + 1;
        }
    }
    at
}

/// The name and the attributes of a tag that opens an element. It ends at the first `>` outside of quotes.
fn tag(text: &str) -> Option<(&str, &str)> {
    let text = text.get(1..).filter(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    let mut quote = None;
    let end = text.bytes().take(MAX_TAG).position(|byte| {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
        quote.is_none() && byte == b'>'
    });
    let tag = text.get(..end.or_else(|| text.find('>'))?)?;
    tag.split_at_checked(tag.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(tag.len()))
}

/// Whether a text starts with another, in any case.
fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

/// Whether an element with this name and these attributes is not displayed.
fn is_hiding(name: &str, attributes: &str) -> bool {
    let attributes = attributes.to_ascii_lowercase();
    let has = |attribute: &str| {
        let mut words = attributes.split_whitespace();
        words.any(|word| {
            word.strip_prefix(attribute).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    };
    if NOT_DISPLAYED.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return !(name.eq_ignore_ascii_case("dialog") && has("open"));
    }
    let style = decoded(&attributes);
    !attributes.ends_with('/')
        && (style.contains("display:none")
            || style.contains("visibility:hidden")
            || has("hidden")
            || has("popover"))
}

/// Attributes in lower case as a browser reads a style in them: without character references of HTML, escapes and
/// comments of CSS, and spaces.
fn decoded(attributes: &str) -> String {
    let mut text = String::new();
    let mut rest = attributes;
    while let Some(next) = rest.chars().next() {
        let reference = rest.strip_prefix("&#").and_then(|number| match number.strip_prefix('x') {
            Some(number) => code(number, 16, ';'),
            None => code(number, 10, ';'),
        });
        let escape = || rest.strip_prefix('\\').and_then(|number| code(number, 16, ' '));
        let colon = || Some((':', rest.strip_prefix("&colon;")?));
        if let Some((letter, behind)) = reference.or_else(escape).or_else(colon) {
            text.push(letter);
            rest = behind;
        } else {
            text.push(next);
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
        }
    }
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, comment)) = rest.split_once("/*") {
        plain.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, behind)| behind);
    }
    plain.push_str(rest);
    plain.retain(|letter| !letter.is_whitespace());
    plain.to_ascii_lowercase()
}

/// The character of a number at the start of a text, and the text behind it and the mark that may end it.
fn code(text: &str, radix: u32, end: char) -> Option<(char, &str)> {
    let length = text.bytes().take(6).take_while(|byte| char::from(*byte).is_digit(radix)).count();
    let (number, behind) = text.split_at_checked(length)?;
    let letter = u32::from_str_radix(number, radix).ok().and_then(char::from_u32)?;
    Some((letter, behind.strip_prefix(end).unwrap_or(behind)))
}

/// Where an element ends whose inside begins at an offset. One without an end ends with the text.
fn end_of_element(markdown: &str, start: usize, name: &str) -> usize {
    let (mut open, mut at) = (1_usize, start);
    while let Some(next) = markdown.get(at..).and_then(|rest| rest.find('<')).map(|next| at + next) {
        let rest = markdown.get(next + 1..).unwrap_or_default();
        let (closes, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
        let behind = rest.get(..name.len()).filter(|other| other.eq_ignore_ascii_case(name));
        let behind = behind.and_then(|_| rest.get(name.len()..));
        if behind.is_some_and(|behind| !behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')) {
            open = if closes { open - 1 } else { open + 1 };
        }
        if open == 0 {
            return next;
        }
        at = next + 1;
    }
    markdown.len()
}

/// Whether a text in lower case may have an element that is not displayed.
fn may_hide(lower: &str) -> bool {
    let words = ["hidden", "none", "popover", "style="];
    words.iter().any(|word| lower.contains(word))
        || NOT_DISPLAYED.iter().any(|name| lower.contains(&format!("<{name}")))
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
        assert_eq!(texts("[//]: # (one)\n\n[//]: # (two)\n> [//]: <> 'three'\n"), ["one", "two", "three"]);
        assert_eq!(texts("<!-- no end\n\nmore"), ["no end\n\nmore"]);
        for visible in [
            "```html\n<!-- one -->\n```\n",
            "    <!-- one -->\n",
            "`<!-- one -->`\n",
            "[a]: https://example.com 'title'\n",
            "a < b, <b>c</b>\n",
            "```\n[//]: # (one)\n```\n",
            "text\n[//]: # (one)\n",
            "<div class=\"x\">none of this is hidden</div>\n",
            "`<p hidden>one</p>`\n",
            "<!-- ",
        ] {
            assert!(texts(visible).iter().all(String::is_empty), "{visible}: {:?}", texts(visible));
        }
    }

    #[test]
    fn elements_that_are_not_displayed_are_comments() {
        let texts = |markdown: &str| -> Vec<String> {
            comments(markdown).into_iter().map(|(_, text)| text.trim().to_owned()).collect()
        };
        assert_eq!(texts("<div style=\"display:none\">one</div>\n\nshown\n"), ["one"]);
        assert_eq!(texts("<DIV STYLE='x: y; Display : None'>\n\none\n\n</DIV>\n\nshown\n"), ["one"]);
        assert_eq!(
            texts("a <span hidden>one</span> b <i style=\"visibility: hidden\">two</i>\n"),
            ["one", "two"]
        );
        assert_eq!(
            texts("<div hidden><div>one</div>\n\n<!-- two --></div>\n\n<!-- three -->\n"),
            ["<div>one</div>\n\n<!-- two -->", "three"]
        );
        assert_eq!(texts("<p hidden>one<pre>two</pre></p>\n\n<br hidden/>three\n"), ["one<pre>two</pre>"]);
        assert_eq!(texts("<p title=\"a>b\" hidden>no end\n\nmore\n"), ["no end\n\nmore"]);
    }

    #[test]
    fn elements_that_no_browser_displays_are_comments_however_they_are_spelt() {
        for hidden in [
            "<template>one</template>\n",
            "<script>one</script>\n",
            "<STYLE>one</STYLE>\n",
            "a <noscript>one</noscript> b\n",
            "<title>one</title>\n",
            "<dialog>one</dialog>\n",
            "a <datalist>one</datalist>\n",
            "<div popover>one</div>\n",
            "<![CDATA[one]]>\n",
            "<!DOCTYPE one>\n",
            "<div style=\"display&#58;none\">one</div>\n",
            "<div style=\"&#x64isplay&colon;none\">one</div>\n",
            "<div style=\"d\\69 splay:none\">one</div>\n",
            "<div style=\"display:/**/none\">one</div>\n",
        ] {
            let found = comments(hidden);
            assert!(found.iter().any(|(_, text)| text.contains("one")), "{hidden}: {found:?}");
        }
        for visible in [
            "<dialog open>one</dialog>\n",
            "<div class=\"popover\">one</div>\n",
            "<header>one</header>\n",
            "in the style=plain of <b>one</b>, &# and \\\n",
        ] {
            assert_eq!(comments(visible), [], "{visible}");
        }
    }

    #[test]
    fn hostile_texts_are_read_once() {
        for piece in [
            "<a\"",
            "<p hidden>",
            "<script>",
            "<!",
            "<a style=\"&#",
            "]:",
            "[a]: # (",
            "[a]: # (b)\n",
            "<",
            "<a\">",
            "<div hidden></div>",
        ] {
            // Enough to take minutes if a part were read again for each other one.
            comments(&format!("<div>{}", piece.repeat((1 << 18) / piece.len())));
            comments(&piece.repeat((1 << 18) / piece.len()));
        }
    }
}
