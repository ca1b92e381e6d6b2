//! [`Issue`]: one thing that is wrong, and the table of the kinds of issue.

use std::path::{Path, PathBuf};

use prowess::install::InstallScope;
use serde::{Serialize, Serializer};

use crate::ui::Text;

/// How bad an issue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    /// Something does not work.
    Error,
    /// Something works in another way than it looks.
    Warning,
    /// Something could be better. It does not count.
    Note,
}

impl Level {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Declares the kinds, the worst first: the variant, its code and level, what is wrong, and what that means.
macro_rules! kinds {
    ($($variant:ident $code:literal $level:ident $title:literal $about:literal;)+) => {
        /// A kind of issue. The order is that of the output.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Kind { $($variant,)+ }

        impl Kind {
            /// All kinds, the worst first.
            pub(super) const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Its code, in JSON and in the reference.
            pub(super) const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// How bad it is.
            pub(super) const fn level(self) -> Level {
                match self { $(Self::$variant => Level::$level,)+ }
            }

            /// What is wrong, as a sentence without a full stop.
            pub(super) const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }

            /// What it means, and what fixes it.
            pub(super) const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)+ }
            }
        }
    };
}

kinds! {
    ConfigBroken "config-broken" Error "a configuration cannot be used"
        "A prowess.toml has a mistake, or cannot be read. If it is your own, no command finds skills until it is repaired.";
    ApprovalsBroken "approvals-broken" Error "what you trust cannot be read"
        "The file with your approvals is damaged or cannot be read, so no command finds skills.";
    RecordsBroken "records-broken" Error "the records of installed skills cannot be read"
        "A skills.toml or skills.lock is damaged or missing, or a file of Prowess about them in your state folder cannot be read, so nothing can be installed or removed there.";
    ConnectionsBroken "connections-broken" Error "what is connected cannot be read"
        "The record of the configurations that connect changed is damaged, so that nothing can be connected or disconnected.";
    InstallInterrupted "install-interrupted" Error "an installation was interrupted"
        "A process was killed while it changed skills. --fix completes the installation, or undoes it if that is not possible; so does the next command that installs.";
    SkillBroken "skill-broken" Error "a skill cannot be loaded"
        "Prowess does not offer it, and most clients ignore it. --fix applies the safe fixes of check where they are enough, except to installed skills.";
    LinkBroken "link-broken" Error "a link in a folder of skills leads to nothing"
        "A client that looks there finds no skill. The link is not removed by --fix: what it leads to may be on a disk that is not mounted.";
    SourceUnread "source-unread" Error "a source of skills cannot be read"
        "Skills in it are missing in every list.";
    InstalledDiffers "installed-differs" Warning "an installed skill is not as it was installed"
        "Its files, or the link or copy that a client gets, differ from skills.lock. Agents do not use it through Prowess until you restore or trust it.";
    InstalledMissing "installed-missing" Warning "a skill that skills.toml names is not installed"
        "It is not in skills.lock, so sync was not run since it was added.";
    GitNeeded "git-needed" Warning "git is missing, and installed skills come from git repositories"
        "They cannot be fetched again: sync fails where the store does not have them.";
    ConfigIgnored "config-ignored" Warning "a part of a configuration is ignored"
        "A prowess.toml of another user does not count, and one of a project that you do not trust only narrows what is found.";
    AllLeftOut "all-left-out" Warning "the settings of the search leave out every skill"
        "A limit in [scan] of a prowess.toml hides all skills from Prowess. Clients do not read it.";
    SkillUntrusted "skill-untrusted" Warning "skills of a project are not trusted"
        "Clients that read the folder themselves use them; Prowess shows them and withholds their instructions until you trust them.";
    SkillChanged "skill-changed" Warning "a skill changed since you trusted it"
        "Prowess withholds it until you trust it again.";
    SkillIgnored "skill-ignored" Warning "a client ignores a skill in a folder that it reads"
        "Clients read the same file differently, and most do not say that they left a skill out. What the skill or its author asks for is not reported, such as disabled: true.";
    SkillUnseen "skill-unseen" Warning "a skill is in a folder that no client here reads"
        "No agent on this machine sees it.";
    CopyDiffers "copy-differs" Warning "skills of one name differ"
        "Which one an agent uses depends on the client, and on the folder in which it is started.";
    CatalogOverBudget "catalog-over-budget" Warning "a client has more skills than its prompt has room for"
        "The client shortens descriptions or leaves skills out, so that its model does not find them.";
    InstallLeftover "install-leftover" Warning "files of an interrupted installation are left"
        "--fix removes those that are not needed. Files that may be the only copy of something are named and kept.";
    CopyIdentical "copy-identical" Note "a skill has a copy that no client needs"
        "No client lists the copy, or one lists the skill twice; and the copy will differ one day. A command removes it only if it is identical in every entry of its folder, and nothing else needs it.";
    SkillsCompete "skills-compete" Note "skills compete for the same tasks"
        "The description of one finds the other nearly as well as itself, so that a model may load the wrong one.";
    GitMissing "git-missing" Note "git is missing"
        "Skills can be installed from folders only.";
    CacheStale "cache-stale" Note "caches are no longer used"
        "They belong to folders that are gone, or another version wrote them. --fix removes them.";
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.code())
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Issue {
    pub(super) kind: Kind,
    pub(super) level: Level,
    /// The name of the skill, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) skill: Option<String>,
    /// The file or folder it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<String>,
    /// The file or folder that the installer names in `what`.
    #[serde(skip)]
    pub(super) record: Option<PathBuf>,
    /// The clients that it affects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) clients: Vec<&'static str>,
    /// What is wrong, in one sentence.
    pub(super) what: String,
    /// A command that shows more, and changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) look: Option<String>,
    /// What to do about it.
    pub(super) fix: Fix,
}

/// What to do about an issue.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Fix {
    /// In words, where a command alone does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) what: Option<String>,
    /// The commands, which can be run as they are, one after the other.
    pub(super) commands: Vec<String>,
    /// Whether `--fix` does it.
    pub(super) safe: bool,
    /// The code of the action that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) action: Option<&'static str>,
    /// How `--fix` does it.
    #[serde(skip)]
    pub(super) repair: Option<Repair>,
}

/// A change that `--fix` makes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Repair {
    /// Complete or undo an interrupted installation, and remove what is no longer needed of it.
    Settle(InstallScope),
    /// Remove unfinished files in a folder.
    Sweep(Bounded),
    /// Remove a stale cache.
    Remove(PathBuf),
    /// Apply the safe fixes of `check` to a SKILL.md.
    Check(Bounded),
}

/// A path, and the folder that no link may lead it out of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bounded {
    pub(super) path: PathBuf,
    pub(super) within: Option<PathBuf>,
}

/// The command that applies all safe fixes.
const FIX: &str = "prowess doctor --fix";

impl Issue {
    /// An issue of this kind, without a place and without a fix.
    pub(super) fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self {
            kind,
            level: kind.level(),
            skill: None,
            at: None,
            record: None,
            clients: Vec::new(),
            what: what.into(),
            look: None,
            fix: Fix::default(),
        }
    }

    /// The same about a skill.
    pub(super) fn of_skill(mut self, name: &str) -> Self {
        self.skill = Some(name.to_owned());
        self
    }

    /// The same at a file or folder.
    pub(super) fn at(mut self, path: impl AsRef<Path>) -> Self {
        self.at = Some(path.as_ref().to_string_lossy().into_owned());
        self
    }

    /// The same for these clients.
    pub(super) fn for_clients(mut self, clients: Vec<&'static str>) -> Self {
        self.clients = clients;
        self
    }

    /// The same with a command that shows more.
    pub(super) fn seen_by(mut self, command: Option<String>) -> Self {
        self.look = without_marks(command);
        self
    }

    /// The same with a fix in words.
    pub(super) fn fixed(mut self, words: impl Into<String>) -> Self {
        self.fix.what = Some(words.into());
        self
    }

    /// The same with a hint as its fix: words, and the command that ends it.
    pub(super) fn advised(self, hint: Text) -> Self {
        let (words, command) = hint.command_at_end();
        self.fixed(words.to_string()).fixed_by(command)
    }

    /// The same with one more command of its fix.
    pub(super) fn fixed_by(mut self, command: Option<String>) -> Self {
        self.fix.commands.extend(without_marks(command));
        self
    }

    /// The same with a fix that `--fix` applies; the command is the usual one unless another is given.
    pub(super) fn repaired(mut self, repair: Repair, command: Option<String>) -> Self {
        self.fix.safe = true;
        self.fix.repair = Some(repair);
        self.fix.commands = vec![without_marks(command).unwrap_or_else(|| FIX.to_owned())];
        self
    }

    /// What sorts it among all issues: the kind, then the skill and the place.
    pub(super) fn order(&self) -> (Kind, Option<&str>, Option<&str>, &str) {
        (self.kind, self.skill.as_deref(), self.at.as_deref(), &self.what)
    }
}

/// What precedes a command or a hint in a line.
pub(super) const MARKS: [&str; 3] = ["; see:", "; hint:", "; fix:"];

/// A command, unless a name in it has what precedes another: a reader of the line would take the rest of the name for
/// one.
fn without_marks(command: Option<String>) -> Option<String> {
    command.filter(|command| !MARKS.iter().any(|mark| command.contains(mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_sorted_by_level_and_codes_are_unique() {
        assert!(Kind::ALL.is_sorted_by_key(|kind| kind.level()));
        let mut codes: Vec<&str> = Kind::ALL.iter().map(|kind| kind.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Kind::ALL.len());
    }

    #[test]
    fn a_command_with_what_precedes_another_is_not_shown() {
        for mark in MARKS {
            let command = || Some(format!("rm 'x{mark} sh'"));
            let issue = Issue::new(Kind::LinkBroken, "x").seen_by(command()).fixed_by(command());
            assert!(issue.look.is_none() && issue.fix.commands.is_empty(), "{mark}");
            let repaired = issue.repaired(Repair::Remove(PathBuf::from("x")), command());
            assert_eq!(repaired.fix.commands, [FIX], "{mark}");
        }
    }
}
