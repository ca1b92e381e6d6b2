//! The one table of characters that are invisible or that change how text is shown, and the places where some of them
//! are normal.

/// Why a character is not visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unseen {
    /// A control character of ASCII or Latin-1, other than tab and line ends; a line or paragraph separator.
    Control,
    /// A control that turns the direction of text around.
    Bidi,
    /// A mark that only sets a direction, normal beside scripts that run from right to left.
    Mark,
    /// A character that shows nothing.
    Invisible,
    /// A joiner or non-joiner, normal in emoji and in scripts whose letters connect.
    Joiner,
    /// A tag character, normal in the flags of regions.
    Tag,
    /// A variation selector, normal after a character that has several forms.
    Selector,
}

/// Why a character is not visible, whatever is beside it; none for a visible one. These are Unicode's
/// `Default_Ignorable_Code_Point`, controls, separators of lines, and controls of annotations and hieroglyphs.
///
/// ```
/// use prowess_core::text::{Unseen, unseen};
///
/// assert_eq!(unseen('\u{200b}'), Some(Unseen::Invisible));
/// assert_eq!((unseen('\n'), unseen('é')), (None, None));
/// ```
pub fn unseen(character: char) -> Option<Unseen> {
    Some(match character {
        '\t' | '\n' | '\r' | ' '..='~' => return None,
        '\0'..='\u{9F}' | '\u{2028}' | '\u{2029}' => Unseen::Control,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => Unseen::Bidi,
        '\u{061C}' | '\u{200E}' | '\u{200F}' => Unseen::Mark,
        '\u{200C}' | '\u{200D}' => Unseen::Joiner,
        '\u{E0000}'..='\u{E007F}' => Unseen::Tag,
        '\u{180B}'..='\u{180D}' | '\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => {
            Unseen::Selector
        }
        '\u{00AD}'
        | '\u{034F}'
        | '\u{115F}'
        | '\u{1160}'
        | '\u{17B4}'
        | '\u{17B5}'
        | '\u{180E}'
        | '\u{200B}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206A}'..='\u{206F}'
        | '\u{3164}'
        | '\u{FEFF}'
        | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{13430}'..='\u{1343F}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0080}'..='\u{E0FFF}' => Unseen::Invisible,
        _ => return None,
    })
}

/// The empty cell of Braille, which is not ignorable to Unicode and shows nothing. It is normal beside other cells.
const BLANK_CELL: char = '\u{2800}';

/// Whether a character is a cell of Braille with dots.
fn is_braille(character: char) -> bool {
    matches!(character, '\u{2801}'..='\u{28FF}')
}

/// Whether a character cannot be seen in a name: it is invisible, or shows as an empty cell.
pub(crate) fn is_blank(character: char) -> bool {
    character == BLANK_CELL || unseen(character).is_some()
}

/// The hidden characters of a text, each with its place and its kind: those that are not visible, except where they are
/// normal. Joiners are normal in emoji and in scripts that need them, tags in the flags of regions, variation selectors
/// after characters with several forms, marks of direction beside scripts from right to left, and the empty cell of
/// Braille beside other cells.
///
/// ```
/// use prowess_core::text::hidden;
///
/// assert_eq!(hidden("👩\u{200d}💻 ❤\u{fe0f}").count(), 0);
/// assert_eq!(hidden("a\u{200d}b\u{fe0f}").count(), 2);
/// assert_eq!((hidden("⠓⠊\u{2800}").count(), hidden("hi\u{2800}").count()), (0, 1));
/// ```
pub fn hidden(text: &str) -> impl Iterator<Item = (usize, char, Unseen)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at += text.as_bytes().get(at..)?.iter().position(|byte| may_begin_unseen(*byte))?;
            let character = text.get(at..)?.chars().next()?;
            let here = at;
            at += character.len_utf8();
            if let Some(kind) = hidden_at(text, here, character) {
                return Some((here, character, kind));
            }
        }
    })
}

/// Whether a text may have hidden characters. It checks many bytes at once.
pub(crate) fn may_have_hidden(text: &str) -> bool {
    // One for a byte that is neither visible ASCII nor a tab or line feed. Numbers instead of booleans: without a branch
    // the loop becomes a few instructions for sixteen bytes.
    let is_one = |byte: u8| {
        let odd = u8::from(byte.wrapping_sub(b' ') >= 0x7F - b' ');
        odd & u8::from(byte != b'\t') & u8::from(byte != b'\n')
    };
    let any = |piece: &[u8]| piece.iter().fold(0, |found, byte| found | is_one(*byte)) != 0;
    let (pieces, rest) = text.as_bytes().as_chunks::<16>();
    pieces.iter().any(|piece| any(piece)) || any(rest)
}

/// Whether an invisible character may begin with this byte.
pub(super) const fn may_begin_unseen(byte: u8) -> bool {
    (byte < 0x20 && !matches!(byte, b'\t' | b'\n'))
        || matches!(byte, 0x7F | 0xC2 | 0xCD | 0xD8 | 0xE1..=0xE3 | 0xEF | 0xF0 | 0xF3)
}

/// Why the character at a place is hidden; none when it is not.
pub(super) fn hidden_at(text: &str, at: usize, character: char) -> Option<Unseen> {
    // A terminal returns to the start of the line, and the following text covers the line.
    if character == '\r' {
        return (text.as_bytes().get(at + 1) != Some(&b'\n')).then_some(Unseen::Control);
    }
    let kind = if character == BLANK_CELL { Unseen::Invisible } else { unseen(character)? };
    let behind = || text.get(..at).unwrap_or_default().chars().rev();
    let before = || behind().next();
    let after = || text.get(at + character.len_utf8()..).and_then(|after| after.chars().next());
    let belongs = match kind {
        Unseen::Invisible if character == BLANK_CELL => {
            before().is_some_and(is_braille) || after().is_some_and(is_braille)
        }
        Unseen::Control | Unseen::Bidi | Unseen::Invisible => false,
        Unseen::Mark => before().is_some_and(is_right_to_left) || after().is_some_and(is_right_to_left),
        Unseen::Joiner => {
            let joins = |c: char| connects(c) || is_pictorial(c);
            // An emoji may have a selector.
            let joined = match before() {
                Some('\u{FE0F}') => behind().nth(1).is_some_and(is_pictorial),
                other => other.is_some_and(joins),
            };
            joined && after().is_some_and(joins)
        }
        Unseen::Selector => before().is_some_and(|before| has_looks(before, character, after())),
        Unseen::Tag => is_in_flag(text, at),
    };
    (!belongs).then_some(kind)
}

/// The most tags in the flag of a region: a country and up to four characters.
const MAX_FLAG_TAGS: usize = 6;

/// Whether a tag is part of a flag: a black flag, up to six letters and digits, and the tag that ends it.
fn is_in_flag(text: &str, at: usize) -> bool {
    let is_letter = |c: char| matches!(c, '\u{E0030}'..='\u{E0039}' | '\u{E0061}'..='\u{E007A}');
    let Some((before, rest)) = text.split_at_checked(at) else { return false };
    let letters = before.chars().rev().take(MAX_FLAG_TAGS + 1).take_while(|c| is_letter(*c)).count();
    let flag = before.chars().rev().nth(letters) == Some('\u{1F3F4}');
    let further = rest.chars().take(MAX_FLAG_TAGS + 1).take_while(|c| is_letter(*c)).count();
    let ends = rest.chars().nth(further) == Some('\u{E007F}');
    flag && ends && (1..=MAX_FLAG_TAGS).contains(&(letters + further))
}

/// Whether a selector chooses between forms that a character has.
fn has_looks(character: char, selector: char, next: Option<char>) -> bool {
    let is_ideograph = || {
        matches!(character,
            '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFD}')
    };
    match selector {
        // As text or as an emoji; digits only in a keycap.
        '\u{FE0E}' | '\u{FE0F}' => {
            is_pictorial(character)
                || (matches!(character, '0'..='9' | '#' | '*') && next == Some('\u{20E3}'))
        }
        '\u{180B}'..='\u{180F}' => matches!(character, '\u{1820}'..='\u{18AA}'),
        '\u{E0100}'..='\u{E01EF}' => is_ideograph(),
        _ => {
            is_ideograph()
                || matches!(character,
                    '\u{1000}'..='\u{109F}' | '\u{2190}'..='\u{23FF}' | '\u{2A00}'..='\u{2AFF}'
                    | '\u{3000}'..='\u{303F}' | '\u{A840}'..='\u{A87F}' | '\u{AA60}'..='\u{AA7F}'
                    | '\u{FF01}'..='\u{FF60}' | '\u{10AC0}'..='\u{10AFF}' | '\u{13000}'..='\u{1342F}')
        }
    }
}

/// Characters that may be shown as an emoji, and the blocks around them.
fn is_pictorial(character: char) -> bool {
    matches!(character,
        '\u{A9}' | '\u{AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21FF}'
        | '\u{2300}'..='\u{23FF}' | '\u{24C2}' | '\u{25A0}'..='\u{27BF}' | '\u{2900}'..='\u{297F}'
        | '\u{2B00}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}' | '\u{1F000}'..='\u{1FAFF}')
}

/// Letters and marks of scripts that run from right to left.
fn is_right_to_left(character: char) -> bool {
    matches!(character,
        '\u{590}'..='\u{61B}' | '\u{61D}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}'
        | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
}

/// Letters and marks of scripts in which joiners change how letters connect.
fn connects(character: char) -> bool {
    is_right_to_left(character)
        || matches!(character,
            '\u{900}'..='\u{109F}' | '\u{1780}'..='\u{17B3}' | '\u{17B6}'..='\u{180A}' | '\u{1810}'..='\u{18AF}'
            | '\u{1900}'..='\u{1CFF}' | '\u{A800}'..='\u{ABFF}' | '\u{11000}'..='\u{11FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Unseen> {
        hidden(text).map(|(_, _, kind)| kind).collect()
    }

    #[test]
    fn every_invisible_character_begins_with_a_byte_that_is_checked() {
        for character in ('\0'..=char::MAX).filter(|character| unseen(*character).is_some()) {
            let text = character.to_string();
            assert!(may_begin_unseen(text.as_bytes()[0]), "{character:?}");
            assert!(may_have_hidden(&text), "{character:?}");
            assert_eq!(hidden(&text).count(), 1, "{character:?}");
        }
    }

    #[test]
    fn a_character_in_its_normal_place_is_not_hidden() {
        for text in [
            "👩\u{200d}💻 ❤\u{fe0f} 👩\u{1F3FD}\u{200d}🚀 🏳\u{fe0f}\u{200d}🌈 1\u{fe0f}\u{20e3} ↔\u{fe0f} ©\u{fe0f}",
            "क्\u{200d}ष نامه\u{200c}ای \u{200f}שלום\u{200f}!",
            "葛\u{E0100}城 \u{1820}\u{180B}",
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} and \u{1F3F4}",
        ] {
            assert_eq!(kinds(text), [], "{}", text.escape_unicode());
        }
    }

    #[test]
    fn a_flag_has_at_most_six_tags_and_an_end() {
        let tags = |text: &str| -> String {
            text.chars().filter_map(|c| char::from_u32(u32::from(c) + 0xE0000)).collect()
        };
        let flag = |word: &str| format!("\u{1F3F4}{}\u{E007F}", tags(word));
        assert_eq!(kinds(&flag("usca")), []);
        assert_eq!(kinds(&flag("abcdef")), []);
        assert_eq!(kinds(&flag("abcdefg")).len(), 8);
        assert_eq!(kinds(&flag("run rm -rf")).len(), 11);
        assert_eq!(kinds(&flag("")).len(), 1);
        assert_eq!(kinds(&format!("\u{1F3F4}{}", tags("gbeng"))).len(), 5);
        assert_eq!(kinds(&format!("x{}\u{E007F}", tags("gbeng"))).len(), 6);
        assert_eq!(kinds(&format!("{}{}", flag("gbeng"), tags("x"))), [Unseen::Tag]);
    }

    #[test]
    fn selectors_joiners_and_marks_out_of_place_are_hidden() {
        assert_eq!(kinds("a\u{fe0f}b\u{e0101}"), [Unseen::Selector, Unseen::Selector]);
        assert_eq!(kinds("❤\u{fe0f}\u{fe0f}"), [Unseen::Selector]);
        assert_eq!(kinds("1\u{fe0f}2"), [Unseen::Selector]);
        assert_eq!(kinds("é\u{200d}é a\u{200c}b"), [Unseen::Joiner, Unseen::Joiner]);
        assert_eq!(kinds("a\u{200e}b"), [Unseen::Mark]);
    }
}
