//! [`Reads`]: the row of a client, which says where it looks for skills and how it reads them.

use serde::Serialize;

use super::fact::Fact;
use super::facts::Facts;

/// The row of a client: where it looks for skills, how it reads them and how it names them, all as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reads {
    /// The folders of a project, the first one first.
    pub project: &'static [ProjectFolder],
    /// The folders of the user. They may begin with `~` and with `${VARIABLE:-default}`.
    pub user: &'static [&'static str],
    /// The folders of the machine's administrator.
    pub admin: &'static [&'static str],
    /// Whether the folders of the administrator and the user come before those of the project.
    pub user_first: bool,
    /// Whether a git worktree has the folders of the main checkout too.
    pub main_checkout: bool,
    /// The maximum number of folders between a root and a SKILL.md.
    pub depth: u16,
    /// The facts that make it skip a skill.
    pub refuses: Facts,
    /// The facts that make it hide a skill from its model, although the user can start it.
    pub hides: Facts,
    /// Whether a skill has the name of its folder, whatever the file says.
    pub by_folder: bool,
    /// The facts that make it use the name of the folder instead of the one in the file.
    pub folder_if: Facts,
    /// How it changes a name.
    pub rewrite: Rewrite,
    /// Which of several skills with one name it lists.
    pub same: Same,
    /// Whether names that differ only in case are the same.
    pub ignores_case: bool,
    /// How it shortens the catalog in the prompt of its model.
    pub cuts: Cuts,
    /// What it runs of a SKILL.md by itself.
    pub runs: Execution,
    /// The version it was compared with; none if only its folders are known.
    pub checked: Option<Checked>,
}

/// Whether a client runs something that a SKILL.md asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Runs {
    /// It does.
    Yes,
    /// It does, under this condition.
    Sometimes(&'static str),
    /// It does not.
    No,
    /// That is not known.
    Unknown,
}

impl Runs {
    /// Whether it does, always or under a condition.
    pub const fn is_known_to(self) -> bool {
        matches!(self, Self::Yes | Self::Sometimes(_))
    }

    /// The phrase for users.
    pub fn words(self) -> String {
        match self {
            Self::Yes => "yes".to_owned(),
            Self::Sometimes(condition) => format!("yes, {condition}"),
            Self::No => "no".to_owned(),
            Self::Unknown => "not known".to_owned(),
        }
    }
}

/// What a client runs of a SKILL.md without being told to by its model, and how that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Execution {
    /// The `hooks` of its frontmatter.
    pub hooks: Runs,
    /// `` !`command` `` in its instructions.
    pub commands: Runs,
    /// Where this was seen.
    pub evidence: &'static str,
}

impl Execution {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { hooks: Runs::Unknown, commands: Runs::Unknown, evidence: "" };
}

/// A folder of a project, and from where a client looks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ProjectFolder {
    /// The folder, relative to those above it.
    pub path: &'static str,
    /// Where it is looked for.
    pub climb: Climb,
}

/// In which folders a client looks for its own folder, beginning with the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Climb {
    /// In the current folder.
    Here,
    /// At the root of the git repository; outside of one, in the current folder.
    Repository,
    /// At the root of the git repository; outside of one, nowhere.
    RepositoryOnly,
    /// In the current folder and at the root of the git repository.
    HereAndRepository,
    /// In the current folder and those above it, up to the root of the git repository; outside of one, in the current
    /// folder.
    Upwards,
    /// As [`Climb::Upwards`]; outside of a git repository, up to the folder below the user's home.
    UpwardsBelowHome,
    /// As [`Climb::Upwards`]; outside of a git repository, up to the user's home.
    UpwardsToHome,
    /// In the current folder and those above it, up to the folder below the user's home, in a git repository too.
    BeyondRepository,
}

impl Climb {
    /// The phrase for users.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Here => "current folder",
            Self::Repository => "git root, else current folder",
            Self::RepositoryOnly => "git root only",
            Self::HereAndRepository => "current folder and git root",
            Self::Upwards => "up to the git root",
            Self::UpwardsBelowHome => "up to the git root, else to below the home",
            Self::UpwardsToHome => "up to the git root, else to the home",
            Self::BeyondRepository => "up to below the home",
        }
    }
}

/// How a client changes a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rewrite {
    /// Not at all.
    None,
    /// Lower-case ASCII letters and digits, with one hyphen for everything between them.
    Slug,
    /// A hyphen for each of these characters.
    Hyphens(&'static str),
    /// Only its first characters, this many.
    Cut(usize),
}

impl Rewrite {
    /// The phrase for users, after the name of a client.
    pub fn words(self) -> String {
        match self {
            Self::None => "does not change names".to_owned(),
            Self::Slug => "writes lower-case letters and digits, with hyphens for the rest".to_owned(),
            Self::Hyphens(" ") => "writes hyphens for spaces".to_owned(),
            Self::Hyphens(characters) => format!("writes a hyphen for each of {characters}"),
            Self::Cut(most) => format!("shows the first {most} characters"),
        }
    }
}

/// Which of several skills with one name a client lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Same {
    /// The first, in the order of its folders.
    First,
    /// The last.
    Last,
    /// All.
    All,
    /// One of them, not always the same one. The first is shown.
    Unstable,
}

impl Same {
    /// The phrase for users.
    pub const fn words(self) -> &'static str {
        match self {
            Self::First => "the first",
            Self::Last => "the last",
            Self::All => "all",
            Self::Unstable => "one, not always the same",
        }
    }
}

/// How a client shortens the catalog in the prompt of its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cuts {
    /// The longest description in characters; of a longer one, the beginning is shown.
    pub description: Option<usize>,
    /// Whether `when_to_use` follows the description and counts towards its length.
    pub when_to_use: bool,
    /// How long the catalog may be.
    pub catalog: CatalogLimit,
}

/// How long the catalog in the prompt of a client may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CatalogLimit {
    /// That is not known.
    Unknown,
    /// As long as it is.
    None,
    /// There is a limit, but not known how long.
    SomeLimit,
    /// This part of the context window, in percent. All descriptions are shortened alike, then skills are left out.
    Percent(u8),
    /// This part of the context window, in percent. Skills that are used the least lose their description first, and no
    /// skill is left out.
    PercentByUse(u8),
}

impl Cuts {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { description: None, when_to_use: false, catalog: CatalogLimit::Unknown };
    /// Nothing is cut.
    pub const NOTHING: Self = Self { catalog: CatalogLimit::None, ..Self::UNKNOWN };

    /// Whether what is cut is known only approximately: the client counts tokens in its own way.
    pub const fn is_approximate(&self) -> bool {
        matches!(self.catalog, CatalogLimit::Percent(_) | CatalogLimit::PercentByUse(_))
    }

    /// The phrase for users.
    pub fn words(&self) -> String {
        let catalog = match self.catalog {
            CatalogLimit::Unknown => "how long its catalog may be is not known".to_owned(),
            CatalogLimit::None => "its catalog may have any length".to_owned(),
            CatalogLimit::SomeLimit => "its catalog has a limit that is not known".to_owned(),
            CatalogLimit::Percent(percent) => format!(
                "its catalog has about {percent} % of the context, as Prowess estimates tokens: all descriptions are \
                 shortened, then skills are left out"
            ),
            CatalogLimit::PercentByUse(percent) => format!(
                "its catalog has about {percent} % of the context, as Prowess estimates tokens: the least used skills \
                 lose their description"
            ),
        };
        let Some(description) = self.description else { return catalog };
        let what = if self.when_to_use { "description and when_to_use" } else { "description" };
        format!("{description} characters of {what}; {catalog}")
    }
}

/// The version of a client that a row was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// The version.
    pub version: &'static str,
    /// The day, as `2026-11-16`.
    pub on: &'static str,
}

impl Reads {
    /// The row of a client of which only the folders are known. It is assumed to read as Prowess does.
    pub const UNKNOWN: Self = Self {
        project: &[],
        user: &[],
        admin: &[],
        user_first: false,
        main_checkout: false,
        depth: 6,
        refuses: Facts::of(&[
            Fact::BelowHidden,
            Fact::HiddenFolder,
            Fact::InModules,
            Fact::OtherSpelling,
            Fact::Unreadable,
            Fact::EmptyFile,
            Fact::NoFrontmatter,
            Fact::FenceDashes,
            Fact::CarriageReturns,
            Fact::IdentityTwice,
            Fact::DescriptionMissing,
            Fact::DescriptionNull,
            Fact::DescriptionEmpty,
            Fact::DescriptionList,
        ]),
        hides: Facts::of(&[Fact::NoModel]),
        by_folder: false,
        folder_if: Facts::NONE,
        rewrite: Rewrite::None,
        same: Same::First,
        ignores_case: false,
        cuts: Cuts::UNKNOWN,
        runs: Execution::UNKNOWN,
        checked: None,
    };

    /// All facts that the row names.
    pub const fn facts(&self) -> Facts {
        self.refuses.and(self.hides).and(self.folder_if)
    }
}
