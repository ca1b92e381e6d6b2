//! [`HostTools`]: the tools that a host has.

use serde::{Deserialize, Serialize};

use super::{ToolList, same_tool};

/// The tools that a host has. No list and an empty list are different, so each has a name. Exhaustive, because a host
/// either has a list or not.
///
/// As JSON it is a list, or `null` for [`HostTools::Unlimited`].
///
/// ```
/// use prowess_core::HostTools;
///
/// assert!(HostTools::Unlimited.has("Bash"));
/// assert!(HostTools::only(["bash"]).has("Bash"));
/// assert!(!HostTools::only([""; 0]).has("Bash"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<Vec<String>>", into = "Option<Vec<String>>")]
pub enum HostTools {
    /// The host has no list: every tool that a skill names counts as available.
    #[default]
    Unlimited,
    /// These and no others. An empty list is a host without tools.
    Only(Vec<String>),
}

impl HostTools {
    /// These tools and no others.
    pub fn only<T: Into<String>>(tools: impl IntoIterator<Item = T>) -> Self {
        Self::Only(tools.into_iter().map(Into::into).collect())
    }

    /// The tools of a list such as `Bash, Read`, and no others; none of an empty text.
    pub fn parse(text: &str) -> Self {
        Self::only(ToolList::parse(text).grants.into_iter().map(|grant| grant.raw))
    }

    /// Whether a tool is available: by base name, ignoring case.
    pub fn has(&self, tool: &str) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Only(tools) => tools.iter().any(|known| same_tool(known, tool)),
        }
    }

    /// Whether every tool that a skill asks for is available. A skill without the field asks for none.
    pub fn suffice(&self, wanted: Option<&ToolList>) -> bool {
        match (self, wanted) {
            (Self::Unlimited, _) | (_, None) => true,
            (Self::Only(tools), Some(wanted)) => {
                let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
                wanted.missing_from(&tools).is_empty()
            }
        }
    }
}

impl From<Option<Vec<String>>> for HostTools {
    fn from(tools: Option<Vec<String>>) -> Self {
        tools.map_or(Self::Unlimited, Self::Only)
    }
}

impl From<HostTools> for Option<Vec<String>> {
    fn from(tools: HostTools) -> Self {
        match tools {
            HostTools::Unlimited => None,
            HostTools::Only(tools) => Some(tools),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_list_and_an_empty_list_are_different_answers() {
        let wanted = ToolList::parse("Bash(git:*) Read");
        let (unlimited, none) = (HostTools::Unlimited, HostTools::parse(""));
        assert!(unlimited.suffice(Some(&wanted)) && !none.suffice(Some(&wanted)));
        assert!(none.suffice(None) && none.suffice(Some(&ToolList::parse(""))));
        assert!(HostTools::parse("read, BASH").suffice(Some(&wanted)));
        for (json, tools) in [("null", unlimited), ("[]", none), ("[\"Read\"]", HostTools::only(["Read"]))] {
            assert_eq!(serde_json::from_str::<HostTools>(json).unwrap(), tools);
            assert_eq!(serde_json::to_string(&tools).unwrap(), json);
        }
    }
}
