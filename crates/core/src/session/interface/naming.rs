//! The names of the tools: one table of namings, and which names a session answers to.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A tool of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Tool {
    /// Lists the skills that are visible.
    List,
    /// Finds skills for a task.
    Search,
    /// Activates a skill.
    Load,
    /// Deactivates a skill.
    Unload,
    /// Lists the files of a skill, or reads one.
    Read,
    /// Runs a script of a skill.
    Run,
}

impl Tool {
    /// All tools, in the order in which they are offered.
    pub const ALL: &'static [Self] =
        &[Self::List, Self::Search, Self::Load, Self::Unload, Self::Read, Self::Run];
}

/// One row of the table: a family of names.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamingRow {
    /// Its name in options.
    pub name: &'static str,
    /// A short description.
    pub summary: &'static str,
    /// The common prefix of all names; every name with this prefix belongs to the session.
    pub namespace: &'static str,
    /// The names, in the order of [`Tool::ALL`].
    pub tools: &'static [&'static str],
    /// The name of the argument for the skill: in the read tool, and in the others.
    pub skill: [&'static str; 2],
    /// The name of the argument for a path.
    pub path: &'static str,
}

/// The names that most frameworks use.
const USUAL_TOOLS: &[&str] = &[
    "list_skills",
    "search_skills",
    "load_skill",
    "unload_skill",
    "read_skill_resource",
    "run_skill_script",
];

/// The namings. The first is the default.
pub static NAMINGS: &[NamingRow] = &TABLE;

static TABLE: [NamingRow; 4] = [
    NamingRow {
        name: "default",
        summary: "the names that most frameworks use",
        namespace: "",
        tools: USUAL_TOOLS,
        skill: ["name", "name"],
        path: "path",
    },
    NamingRow {
        name: "drover",
        summary: "skill_load and skill_resource",
        namespace: "skill_",
        tools: &["skill_list", "skill_search", "skill_load", "skill_unload", "skill_resource", "skill_run"],
        skill: ["name", "name"],
        path: "resource",
    },
    NamingRow {
        name: "promptkit",
        summary: "skill__activate, skill__deactivate and skill__read_resource",
        namespace: "skill__",
        tools: &[
            "skill__list",
            "skill__search",
            "skill__activate",
            "skill__deactivate",
            "skill__read_resource",
            "skill__run",
        ],
        skill: ["skill_name", "name"],
        path: "path",
    },
    NamingRow {
        name: "deuz",
        summary: "the default names, with the skill as id",
        namespace: "",
        tools: USUAL_TOOLS,
        skill: ["id", "id"],
        path: "path",
    },
];

/// The names of the tools.
///
/// ```
/// use prowess_core::session::{Naming, Tool};
///
/// let naming: Naming = "promptkit".parse()?;
/// assert_eq!(naming.tool_name(Tool::Load), "skill__activate");
/// assert_eq!(naming.tool("read_file"), None);
/// let mine = Naming::default().with_namespace("acme_").unwrap();
/// assert_eq!(mine.tool("acme_load_skill"), Some(Tool::Load));
/// # Ok::<(), prowess_core::session::UnknownNaming>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Naming {
    row: &'static NamingRow,
    prefix: String,
}

/// The naming does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such naming: {0}")]
pub struct UnknownNaming(String);

/// The maximum length of a namespace. Every model interface accepts names of 64 characters, and our longest has 20.
const MAX_NAMESPACE: usize = 40;

/// Why a text cannot be a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// It is too long.
    #[error("a namespace has at most {MAX_NAMESPACE} characters")]
    TooLong,
    /// It has a character that names of tools cannot have.
    #[error("a namespace has only ASCII letters, digits, _ and -")]
    Characters,
}

impl Default for Naming {
    fn default() -> Self {
        let [row, ..] = &TABLE;
        Self { row, prefix: String::new() }
    }
}

impl std::str::FromStr for Naming {
    type Err = UnknownNaming;

    fn from_str(name: &str) -> Result<Self, UnknownNaming> {
        let row = NAMINGS.iter().find(|row| row.name == name);
        let row = row.ok_or_else(|| UnknownNaming(crate::text::inline(name).into_owned()))?;
        Ok(Self { row, prefix: String::new() })
    }
}

impl Naming {
    /// Puts a prefix of the host before all names. An error when model interfaces do not accept such names.
    pub fn with_namespace(mut self, prefix: &str) -> Result<Self, NamespaceError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !prefix.chars().all(plain) {
            return Err(NamespaceError::Characters);
        }
        if prefix.len() > MAX_NAMESPACE {
            return Err(NamespaceError::TooLong);
        }
        prefix.clone_into(&mut self.prefix);
        Ok(self)
    }

    /// The row of the table.
    pub const fn row(&self) -> &'static NamingRow {
        self.row
    }

    /// The common prefix of all names.
    pub fn namespace(&self) -> String {
        format!("{}{}", self.prefix, self.row.namespace)
    }

    /// The name of a tool.
    pub fn tool_name(&self, tool: Tool) -> Cow<'static, str> {
        let at = Tool::ALL.iter().position(|known| *known == tool);
        let name = at.and_then(|at| self.row.tools.get(at)).copied().unwrap_or_default();
        if self.prefix.is_empty() { Cow::Borrowed(name) } else { format!("{}{name}", self.prefix).into() }
    }

    /// The tool of a name.
    pub fn tool(&self, name: &str) -> Option<Tool> {
        let name = name.strip_prefix(self.prefix.as_str())?;
        let at = self.row.tools.iter().position(|known| *known == name)?;
        Tool::ALL.get(at).copied()
    }

    /// Whether a name begins with the common prefix of all names, if there is one.
    pub(in crate::session) fn in_namespace(&self, name: &str) -> bool {
        let namespace = self.namespace();
        !namespace.is_empty() && name.starts_with(&namespace)
    }

    /// The name of the argument for the skill in a tool.
    pub(in crate::session) fn skill_argument(&self, tool: Tool) -> &'static str {
        let [reading, others] = self.row.skill;
        if tool == Tool::Read { reading } else { others }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_leads_back_to_its_tool() {
        for row in NAMINGS {
            let naming: Naming = row.name.parse().unwrap();
            let names: BTreeSet<_> = Tool::ALL.iter().map(|tool| naming.tool_name(*tool)).collect();
            assert_eq!(names.len(), Tool::ALL.len(), "{}", row.name);
            for &tool in Tool::ALL {
                let name = naming.tool_name(tool);
                assert!(name.starts_with(&naming.namespace()));
                assert_eq!(naming.tool(&name), Some(tool));
            }
            assert!(naming.tool("bash").is_none() && !naming.in_namespace("bash"));
        }
        assert!("nobody".parse::<Naming>().is_err());
        assert_eq!(Naming::default().with_namespace("a b"), Err(NamespaceError::Characters));
        assert_eq!(Naming::default().with_namespace(&"a".repeat(41)), Err(NamespaceError::TooLong));
    }
}
