//! What is refused in the text of an install source, and why.

use prowess_core::path::PathError;

use super::address::repeated;
use crate::error::quoted;
use crate::install::error::{InstallError, InstallErrorKind};

/// Why a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    reason: &'static str,
    hint: &'static str,
}

macro_rules! refusals {
    ($($name:ident $reason:literal $hint:literal;)*) => {
        impl Refusal {
            $(pub(super) const $name: Self = Self { reason: $reason, hint: $hint };)*
        }
    };
}

refusals! {
    EMPTY "it is empty" "write a folder, an address, owner/repo or @org/name";
    TOO_LONG "it is longer than 4096 bytes" "write a folder, an address, owner/repo or @org/name";
    CONTROL "it has a control character" "write it without";
    DASH "it, its path or its ref begins with -" "git would take that for an option; name a folder with ./ before it";
    TRANSPORT "this way of transport is not used" "use https://, ssh://, git@host:path or file://";
    PLAIN "it is neither encrypted nor authenticated" "use https:// or ssh://; only this machine is asked over http:// and git://";
    CREDENTIALS "it has a user or a password in it" "leave them out; git asks a credential helper, see: git help credentials";
    QUERY "it has a ? in it" "give the address without it";
    PERCENT "it has a percent escape that hides a separator or another path" "write the address without it; of a folder on this machine, write the path itself";
    STEP "it has . or .. or nothing between two slashes" "write the address without";
    ADDRESS "it is no address of a repository or of a folder in one" "use https://host/repo.git, or …/tree/REF/folder as the site shows it";
    GUESS "a host is not guessed" "write https:// before it, or ./ when it is a folder";
    SHORT "it is neither a folder, nor an address, nor owner/repo" "write ./ before a folder, https:// before an address";
    REFERENCE "it names a branch, tag or commit in a way that git does not allow" "write a branch, a tag or a whole commit behind #";
    SKILL "the name of a skill behind @ is empty or has other characters than names have" "write owner/repo@skill";
}

impl Refusal {
    pub(super) fn path(error: PathError) -> Self {
        Self { reason: error.rule().problem(), hint: error.hint() }
    }

    pub(super) fn error(self, text: &str) -> InstallError {
        let text = repeated(text);
        let message = format!("nothing can be installed from this: {}: {}", quoted(&text), self.reason);
        InstallError::new(InstallErrorKind::Request, message, self.hint)
    }
}

/// A branch, a tag or a commit, by the rules of git's `check-ref-format`.
pub(super) fn check_reference(text: &str) -> Result<&str, Refusal> {
    if text.starts_with('-') {
        return Err(Refusal::DASH);
    }
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.strip_suffix(".lock").is_none()
            && !part.ends_with('.')
    };
    let forbidden = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    let allowed = text.split('/').all(part)
        && !text.chars().any(forbidden)
        && !["..", "@{"].iter().any(|pair| text.contains(pair))
        && text != "@"
        // git would take it for a refspec.
        && !text.starts_with('+');
    if allowed { Ok(text) } else { Err(Refusal::REFERENCE) }
}

/// Checks a branch, tag or commit that was not parsed from a text.
pub(crate) fn checked_reference(text: &str) -> Result<&str, InstallError> {
    check_reference(text).map_err(|refusal| refusal.error(text))
}

/// The name of a skill. It is only compared with the names in the source.
pub(super) fn check_skill(text: &str) -> Result<String, Refusal> {
    let allowed = !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_whitespace);
    if allowed { Ok(text.to_owned()) } else { Err(Refusal::SKILL) }
}
