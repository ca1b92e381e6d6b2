//! [`Filter`]: which virtual paths a session sees.

use serde::{Deserialize, Serialize};

use crate::path::{Glob, GlobError};

/// Which virtual paths a session sees: all, none, or those a glob matches.
///
/// An empty filter matches everything; `none`, in upper or lower case, matches nothing. Anything else is a [`Glob`]:
/// `*`, `?` and `[a-z]` match within a segment, so `skills/*` are the skills directly in that folder, and `**` matches
/// across segments. A filter that ends with a name matches that folder and everything below it.
///
/// ```
/// use prowess_core::session::Filter;
///
/// let billing: Filter = "skills/billing".parse()?;
/// assert!(billing.passes("skills/billing/refunds"));
/// assert!(!billing.passes("skills/billings"));
/// let direct: Filter = "skills/*".parse()?;
/// assert!(direct.passes("skills/greet") && !direct.passes("skills/billing/refunds"));
/// assert!("skills/**".parse::<Filter>()?.passes("skills/billing/refunds"));
/// assert!(!"None".parse::<Filter>()?.passes("skills/billing/refunds"));
/// # Ok::<(), prowess_core::session::FilterError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Filter {
    text: String,
    rule: Rule,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Rule {
    #[default]
    All,
    None,
    /// A folder, and what is below it.
    Folder(Glob),
    Glob(Glob),
}

/// The filter is not a valid glob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the filter is not a glob: {text}: {reason}")]
#[non_exhaustive]
pub struct FilterError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub reason: GlobError,
}

impl Filter {
    /// The filter that matches everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// The filter that matches nothing.
    pub fn none() -> Self {
        Self { text: "none".to_owned(), rule: Rule::None }
    }

    /// Whether it matches a virtual path.
    pub fn passes(&self, virtual_path: &str) -> bool {
        match &self.rule {
            Rule::All => true,
            Rule::None => false,
            Rule::Folder(glob) => glob.matches(virtual_path.trim_start_matches('/')),
            Rule::Glob(glob) => glob.matches_only(virtual_path.trim_start_matches('/')),
        }
    }

    /// The filter as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl std::str::FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Ok(Self::all());
        }
        if trimmed.eq_ignore_ascii_case("none") {
            return Ok(Self::none());
        }
        let glob = Glob::parse(trimmed.trim_start_matches('/'))
            .map_err(|reason| FilterError { text: crate::text::inline(text).into_owned(), reason })?;
        let rule = if glob.ends_with_name() { Rule::Folder(glob) } else { Rule::Glob(glob) };
        Ok(Self { text: trimmed.to_owned(), rule })
    }
}

impl TryFrom<String> for Filter {
    type Error = FilterError;

    fn try_from(text: String) -> Result<Self, FilterError> {
        text.parse()
    }
}

impl From<Filter> for String {
    fn from(filter: Filter) -> Self {
        filter.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_is_all_and_none_is_nothing_in_any_case() {
        let passes = |filter: &str, path: &str| filter.parse::<Filter>().unwrap().passes(path);
        for (filter, path, expected) in [
            ("", "a", true),
            ("  ", "a", true),
            ("none", "none", false),
            ("NONE", "a", false),
            ("skills/*", "skills/a", true),
            ("skills/*", "skills/a/b", false),
            ("*", "skills/a", false),
            ("*/a", "skills/a/b", true),
            ("**", "skills/a", true),
            ("skills/[a-c]*", "skills/billing", true),
            ("skills/[!a-c]*", "skills/billing", false),
            ("skills/billing/", "skills/billing/refunds", true),
            ("skills/*/x", "skills/a/b/x", false),
            ("skills/**/x", "skills/a/b/x", true),
            ("skills/billing", "skills/billing/refunds/eu", true),
            ("/skills", "/skills/a", true),
            ("inline", "inline", true),
        ] {
            assert_eq!(passes(filter, path), expected, "{filter} {path}");
        }
        assert!("a[b".parse::<Filter>().is_err());
    }
}
