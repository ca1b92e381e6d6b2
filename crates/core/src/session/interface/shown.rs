//! Names of skills as our texts show them: a catalog, structured content or a message, each with its own escapes.

use std::borrow::Cow;

use crate::session::interface::arguments::for_message;
use crate::text::{inline, visible};

/// A name that has escapes or quotes, perhaps those of a text of ours: a model gives a name back as it read it.
///
/// ```
/// use prowess_core::internal::ShownName;
///
/// for shown in ["pdf\\u{200b}", "pdf&#x200B;", "\"pdf\\u200b\""] {
///     assert!(ShownName::read(shown).is_some_and(|shown| shown.is("pdf\u{200b}")), "{shown}");
/// }
/// ```
#[derive(Debug)]
pub struct ShownName {
    /// The name, with fewer and fewer escapes.
    forms: Vec<String>,
}

impl ShownName {
    /// Reads a name; none when it has neither escapes nor quotes, and so is shown as it is.
    pub fn read(shown: &str) -> Option<Self> {
        if !shown.contains(['\\', '&', '"', '…']) {
            return None;
        }
        let mut forms = Vec::new();
        for text in [Cow::Borrowed(shown), without_entities(shown)] {
            // Some texts quote a name as JSON does, and then make it visible.
            let bare = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&text);
            let of_json = |text: &str| serde_json::from_str(&format!("\"{text}\"")).ok();
            forms.extend([text.to_string(), bare.to_owned()]);
            forms.extend([of_json(bare), of_json(&without_braces(bare))].into_iter().flatten());
        }
        Some(Self { forms })
    }

    /// Whether a text of ours shows this name so.
    pub fn is(&self, name: &str) -> bool {
        let has = |form: &str| self.forms.iter().any(|own| own == form);
        has(name) || has(&visible(name)) || has(&inline(name)) || has(&for_message(name))
    }
}

/// Text without the entities that [`xml`](crate::text::xml) writes.
fn without_entities(text: &str) -> Cow<'_, str> {
    let mut pieces = text.split('&');
    let mut plain = Cow::Borrowed(pieces.next().unwrap_or_default());
    for piece in pieces {
        let decoded = piece.split_once(';').and_then(|(entity, rest)| Some((entity_of(entity)?, rest)));
        let (character, rest) = decoded.unwrap_or(('&', piece));
        let plain = plain.to_mut();
        plain.push(character);
        plain.push_str(rest);
    }
    plain
}

fn entity_of(entity: &str) -> Option<char> {
    Some(match entity {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        other => character(other.strip_prefix("#x")?)?,
    })
}

/// Text without the `\u{…}` that [`visible`] writes.
fn without_braces(text: &str) -> Cow<'_, str> {
    let mut pieces = text.split("\\u{");
    let mut plain = Cow::Borrowed(pieces.next().unwrap_or_default());
    for piece in pieces {
        let decoded = piece.split_once('}').and_then(|(code, rest)| Some((character(code)?, rest)));
        let plain = plain.to_mut();
        match decoded {
            Some((character, rest)) => {
                plain.push(character);
                plain.push_str(rest);
            }
            None => {
                plain.push_str("\\u{");
                plain.push_str(piece);
            }
        }
    }
    plain
}

fn character(hexadecimal: &str) -> Option<char> {
    char::from_u32(u32::from_str_radix(hexadecimal, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{CatalogStyle, Shape, render_catalog};
    use crate::skill::location::Origin;

    /// How a catalog of one skill shows its name.
    fn in_catalog(name: &str, shape: Shape) -> String {
        let document = crate::document::parse(b"---\nname: x\ndescription: D.\n---\n");
        let mut entry = document.skill(&Origin::at("x/SKILL.md")).unwrap();
        (entry.name, entry.key) = (name.to_owned(), name.to_owned());
        let text = render_catalog(&[&entry], &CatalogStyle::new(shape));
        let (before, after) = match shape {
            Shape::Xml => ("<name>", "</name>"),
            Shape::SkillsRefXml => ("<name>\n", "\n</name>"),
            Shape::Compact | Shape::Markdown | Shape::Plain => ("- ", ": D."),
            Shape::Json => ("\"name\":", ",\"description\""),
        };
        let (_, rest) = text.split_once(before).unwrap();
        rest.rsplit_once(after).unwrap().0.to_owned()
    }

    fn works(name: &str, shown: &str) -> bool {
        name == shown || ShownName::read(shown).is_some_and(|shown| shown.is(name))
    }

    proptest::proptest! {
        #![proptest_config(crate::text::testing::many())]

        #[test]
        fn a_name_works_as_every_text_shows_it(name in "[a-c&\"'\\\\\u{200b}\u{e0069}\u{1b}\u{9b}<>{} é\n]{1,8}|&lt;[a-c]|[a-c]{99,102}|<skill>[a-c]") {
            for shape in Shape::ALL {
                let shown = in_catalog(&name, *shape);
                proptest::prop_assert!(works(&name, &shown), "{:?}: {} for {}", shape, shown, name.escape_debug());
            }
            let in_hint = serde_json::Value::from(for_message(&name)).to_string();
            for shown in [visible(&name).into_owned(), inline(&name).into_owned(), for_message(&name), in_hint] {
                proptest::prop_assert!(works(&name, &shown), "{} for {}", shown, name.escape_debug());
            }
        }
    }

    #[test]
    fn another_name_is_not_shown_so() {
        for (name, shown) in
            [("pdf", "pdf\\u{200b}"), ("a&b", "a&lt;b"), ("a", "\"b\""), ("a\u{200b}", "a\\u{200c}")]
        {
            assert!(!works(name, shown), "{name} {shown}");
        }
        assert!(ShownName::read("pdf").is_none());
    }
}
