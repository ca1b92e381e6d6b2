//! Why a path is refused: [`PathRule`], one table of codes, words and advice, and [`PathError`].

use std::fmt::Write as _;

use serde::{Serialize, Serializer};

use super::component::is_slash_lookalike;
use crate::text::is_blank;

/// The most characters of a refused path that are shown.
const SHOWN: usize = 160;

macro_rules! rules {
    ($($(#[$doc:meta])* $variant:ident $code:literal $problem:literal $hint:literal;)*) => {
        /// The rule a refused path breaks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum PathRule { $($(#[$doc])* $variant,)* }

        impl PathRule {
            /// Every rule, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable name of the rule.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// What is wrong, as a text that the path follows after a colon.
            pub const fn problem(self) -> &'static str {
                match self { $(Self::$variant => $problem,)* }
            }

            /// What to do about it.
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$variant => $hint,)* }
            }
        }
    };
}

rules! {
    /// The path is empty.
    Empty "empty" "path is empty" "name a file or a folder";
    /// Longer than [`super::MAX_PATH_BYTES`].
    TooLong "too-long" "path is longer than 4096 bytes" "shorten the names of the folders";
    /// More components than [`super::MAX_DEPTH`].
    TooDeep "too-deep" "path has more than 64 components" "nest fewer folders";
    /// A component longer than [`super::MAX_COMPONENT_BYTES`].
    ComponentTooLong "component-too-long" "path has a name longer than 255 bytes" "shorten the name";
    /// Starts with `/`.
    Absolute "absolute" "path is absolute" "give it relative to the folder it belongs to";
    /// A component starts with `~`, which shells expand to a home folder.
    Home "home" "path has a name that starts with `~`" "give it relative to the folder it belongs to";
    /// A component is `..`.
    ParentStep "parent-step" "path steps out with `..`" "name the file from its folder down, without `..`";
    /// A component is `.`, which gives one file two names.
    CurrentStep "current-step" "path has a `.` between its names" "leave the `.` out";
    /// Two slashes in a row or one at the end.
    EmptyComponent "empty-component" "path has an empty name between slashes"
        "write one `/` between names and none at the end";
    /// Contains a backslash, which is a separator on Windows.
    Backslash "backslash" "path has a backslash" "write `/` between names";
    /// Starts with the letter of a drive.
    Drive "drive" "path names a drive" "give it relative to the folder it belongs to";
    /// Contains a control character or line break.
    Control "control-character" "path has a control character" "rename the file without it";
    /// A component starts with `-`, so that programs would take it for an option.
    Dash "dash" "path has a name that starts with `-`" "rename the file to start with a letter or digit";
    /// A component starts or ends with a space, or ends with a dot, which Windows drops.
    Edge "edge" "path has a name with a space or dot at its edge" "rename the file without it";
    /// A component is a device on Windows, whatever its extension.
    ReservedName "reserved-name" "path has a name that Windows reserves for a device" "rename the file";
    /// Contains one of `:<>"|?*`, which Windows forbids or gives a meaning.
    ReservedCharacter "reserved-character" "path has a character that Windows forbids"
        "rename the file without `:<>\"|?*`";
    /// A component looks like a generated 8.3 name, and may be another name of a file.
    ShortName "short-name" "path has a name like a Windows short name"
        "rename the file so that it does not end with `~` and a number";
    /// A component is `.git` or `.gitmodules`.
    Git "git" "path belongs to git itself" "leave git's own files out";
    /// Contains a character that looks like, or normalises to, a separator or a step.
    Lookalike "lookalike" "path has a character that passes for `/`, `\\` or `..`"
        "rename the file without it";
    /// Contains an invisible or direction-changing character.
    Invisible "invisible-character" "path has an invisible character" "rename the file without it";
    /// Contains a percent escape that decodes to something else than a plain part of a name.
    PercentEncoded "percent-encoded" "path has a percent escape that hides another path"
        "write the characters themselves";
    /// Is not UTF-8.
    NotUtf8 "not-utf8" "path is not UTF-8" "rename the file with UTF-8 characters";
    /// The text must be a single name and has a separator.
    Separator "separator" "name has a `/`" "give a single name without folders";
}

impl Serialize for PathRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// A path that was refused, and the rule it breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {path}", .rule.problem())]
pub struct PathError {
    rule: PathRule,
    path: Box<str>,
}

impl PathError {
    pub(super) fn new(rule: PathRule, path: &str) -> Self {
        Self { rule, path: shown(path).into() }
    }

    pub(super) fn not_utf8(path: &[u8]) -> Self {
        let kept = path.get(..SHOWN).unwrap_or(path);
        let cut = if kept.len() < path.len() { "..." } else { "" };
        Self { rule: PathRule::NotUtf8, path: format!("{}{cut}", kept.escape_ascii()).into() }
    }

    /// The rule the path breaks.
    pub const fn rule(&self) -> PathRule {
        self.rule
    }

    /// The refused path, cut when very long and escaped: safe to show in a terminal, not to open.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What to do about it.
    pub const fn hint(&self) -> &'static str {
        self.rule.hint()
    }
}

/// The text with everything that could disturb a terminal or deceive its reader written as `\u{..}`.
fn shown(text: &str) -> String {
    if text.is_empty() {
        return "\"\"".to_owned();
    }
    let mut shown = String::new();
    for (count, char) in text.chars().enumerate() {
        if count == SHOWN {
            shown.push_str("...");
            break;
        }
        if char.is_control() || is_blank(char) || is_slash_lookalike(char) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "{}", char.escape_unicode());
        } else {
            shown.push(char);
        }
    }
    shown
}
