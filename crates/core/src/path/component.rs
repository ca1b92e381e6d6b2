//! The rules for one component of a path, on every system that a skill may be copied to.

use unicode_normalization::UnicodeNormalization as _;

use super::{MAX_COMPONENT_BYTES, Names, PathRule};
use crate::text::is_blank;

/// Device names that Windows opens in every folder, with any extension; `COM` and `LPT` take a digit too.
const RESERVED_NAMES: [&str; 7] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"];

/// The rules for one component.
pub(super) fn check_component(component: &str, names: Names) -> Result<(), PathRule> {
    let bytes = component.as_bytes();
    let wide = names.is_wide();
    match bytes {
        [] => return Err(PathRule::EmptyComponent),
        b"." => return Err(PathRule::CurrentStep),
        b".." => return Err(PathRule::ParentStep),
        [letter, b':', rest @ ..] if letter.is_ascii_alphabetic() && (rest.is_empty() || !wide) => {
            return Err(PathRule::Drive);
        }
        [b'~', ..] => return Err(PathRule::Home),
        // In every component, not only the first: a script that changes into the folder and passes `*` to a program
        // passes such a name as an option.
        [b'-', ..] if !wide => return Err(PathRule::Dash),
        _ if bytes.len() > MAX_COMPONENT_BYTES => return Err(PathRule::ComponentTooLong),
        _ => {}
    }
    let (mut tilde, mut percent, mut ascii) = (false, false, true);
    for byte in bytes {
        match byte {
            0..=0x1f | 0x7f => return Err(PathRule::Control),
            b'\\' => return Err(PathRule::Backslash),
            b':' | b'<' | b'>' | b'"' | b'|' | b'?' | b'*' if !wide => {
                return Err(PathRule::ReservedCharacter);
            }
            b'~' => tilde = true,
            b'%' => percent = true,
            0x80.. => ascii = false,
            _ => {}
        }
    }
    if matches!(bytes, [b' ', ..] | [.., b' ' | b'.']) {
        return Err(PathRule::Edge);
    }
    check_special_name(component)?;
    if tilde && is_short_name(component) {
        return Err(PathRule::ShortName);
    }
    if percent {
        check_percent(component)?;
    }
    if ascii { Ok(()) } else { check_unicode(component, names) }
}

/// Names that mean something to git or to Windows.
///
/// `.git` is refused, since files below it are configuration that can run programs, and `.gitmodules`, since it makes
/// git fetch other trees. `.gitignore`, `.gitkeep` and `.gitattributes` are common in skills, and only take effect
/// through configuration, which is refused.
fn check_special_name(component: &str) -> Result<(), PathRule> {
    if component.eq_ignore_ascii_case(".git") || component.eq_ignore_ascii_case(".gitmodules") {
        return Err(PathRule::Git);
    }
    // Windows compares the text before the first dot, without trailing spaces: `nul .txt` is the device.
    let stem = component.split('.').next().unwrap_or(component).trim_end_matches(' ');
    let port = || match stem.as_bytes() {
        [a, b, c, b'0'..=b'9'] => {
            let kind = [a.to_ascii_uppercase(), b.to_ascii_uppercase(), c.to_ascii_uppercase()];
            kind == *b"COM" || kind == *b"LPT"
        }
        _ => false,
    };
    let reserved = matches!(stem.len(), 3..=7)
        && (port() || RESERVED_NAMES.iter().any(|name| stem.eq_ignore_ascii_case(name)));
    if reserved { Err(PathRule::ReservedName) } else { Ok(()) }
}

/// Whether it has the shape of a generated 8.3 name, by which Windows also finds `.git` and other files.
fn is_short_name(component: &str) -> bool {
    let (stem, extension) = component.split_once('.').unwrap_or((component, ""));
    let numbered = stem
        .rsplit_once('~')
        .is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    // Counted in characters: the eight places of a short name are characters of the code page.
    numbered && stem.chars().count() <= 8 && extension.chars().count() <= 3
}

/// Refuses percent escapes that some later decoder would turn into another path.
///
/// An escaped dot, separator, control character or percent sign has no legitimate use in a file name. Other escapes
/// pass when they decode to UTF-8 that would itself be accepted.
fn check_percent(component: &str) -> Result<(), PathRule> {
    let mut decoded = Vec::with_capacity(component.len());
    let mut rest = component.as_bytes();
    let mut escapes = false;
    while let [first, tail @ ..] = rest {
        let escape = match tail {
            [high, low, after @ ..] if *first == b'%' => {
                hex(*high).zip(hex(*low)).map(|(high, low)| (high * 16 + low, after))
            }
            _ => None,
        };
        if let Some((byte, after)) = escape {
            if matches!(byte, 0..=0x1f | 0x7f | b'.' | b'/' | b'\\' | b'%') {
                return Err(PathRule::PercentEncoded);
            }
            escapes = true;
            decoded.push(byte);
            rest = after;
        } else {
            decoded.push(*first);
            rest = tail;
        }
    }
    if !escapes {
        return Ok(());
    }
    // Escaped percent signs are refused above, so decoding shortens the text and this recursion ends: a remaining `%`
    // is not followed by two digits, unless those were escaped themselves.
    match std::str::from_utf8(&decoded) {
        Ok(decoded) if check_component(decoded, Names::OfEverySystem).is_ok() => Ok(()),
        _ => Err(PathRule::PercentEncoded),
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// The rules for characters beyond ASCII, and for their compatibility forms.
fn check_unicode(component: &str, names: Names) -> Result<(), PathRule> {
    for char in component.chars() {
        match char {
            '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => return Err(PathRule::Control),
            // Cygwin, MSYS and WSL map the characters that Windows forbids to this range.
            '\u{f000}'..='\u{f0ff}' => return Err(PathRule::ReservedCharacter),
            _ if is_slash_lookalike(char) => return Err(PathRule::Lookalike),
            // Two names that look the same must be the same, and HFS+ ignores some of these when it compares names.
            _ if is_blank(char) => return Err(PathRule::Invisible),
            _ => {}
        }
    }
    // The folded form is only checked for separators and steps: a fullwidth colon or question mark is common in
    // Chinese and Japanese file names, and has no meaning to a file system.
    let folded: String = component.nfkc().collect();
    if folded.contains(['/', '\\']) || folded.trim_matches([' ', '.']).is_empty() {
        return Err(PathRule::Lookalike);
    }
    if folded.starts_with('-') && !names.is_wide() {
        return Err(PathRule::Dash);
    }
    if folded.starts_with(' ') || folded.ends_with(' ') {
        return Err(PathRule::Edge);
    }
    if is_short_name(&folded) {
        return Err(PathRule::ShortName);
    }
    check_special_name(folded.trim_end_matches('.'))
}

/// Characters that people, and some code pages, take for `/` or `\`.
pub(super) fn is_slash_lookalike(char: char) -> bool {
    matches!(
        char,
        '\u{1735}'
            | '\u{2044}'
            | '\u{2215}'
            | '\u{2216}'
            | '\u{2571}'
            | '\u{2572}'
            | '\u{27cb}'
            | '\u{27cd}'
            | '\u{29f5}'
            | '\u{29f8}'
            | '\u{29f9}'
            | '\u{fe68}'
            | '\u{ff0f}'
            | '\u{ff3c}'
    )
}
