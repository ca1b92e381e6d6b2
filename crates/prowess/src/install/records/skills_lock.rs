//! `skills.lock`: exactly which bytes are installed, and where they came from.
//!
//! TOML, sorted by name, without times and absolute paths. Each skill is one block that begins with its name, so that
//! two branches that add skills can be merged. An invalid file is an error and never counts as empty, since its entries
//! would be lost.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use prowess_core::{Digest, RelPath};
use toml_edit::{Document, Item, Table, Value};

use super::install_target::{InstallScope, SKILLS_FOLDER, real_records_folder};
use super::requested::Requested;
use super::upstream::Upstream;
use crate::env;
use crate::error::shown;
use crate::install::error::{InstallError, InstallErrorKind};

/// The name of the file.
pub const LOCK_FILE: &str = "skills.lock";
/// The version that is written and read.
const VERSION: i64 = 1;
/// The first lines of the file.
const HEADING: &str =
    "# Written by prowess. It says which bytes are installed; commit it, and do not edit it.\n";

/// The keys of a skill, in the order in which they are written.
const KEYS: [&str; 10] = [
    "name",
    "source",
    "path",
    "requested",
    "commit",
    "git-tree",
    "digest",
    "reference",
    "upstream-name",
    "declared-version",
];

/// One installed skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockedSkill {
    /// The name of its folder.
    pub name: String,
    /// Where it came from.
    pub source: Upstream,
    /// Its folder within the source; none when it is the whole source.
    pub path: Option<RelPath>,
    /// The requested version; none for the default branch.
    pub requested: Option<Requested>,
    /// Its commit.
    pub commit: Option<String>,
    /// The id of its folder's tree in git.
    pub git_tree: Option<String>,
    /// The tree digest of its files; none for a skill that no lock has.
    pub digest: Option<Digest>,
    /// The reference that it was installed by: `@org/name`.
    pub reference: Option<String>,
    /// The name in its frontmatter, when its folder has another name.
    pub upstream_name: Option<String>,
    /// The version in its frontmatter.
    pub declared_version: Option<String>,
}

/// The contents of a `skills.lock`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillsLock {
    /// The skills, sorted by name.
    skills: Vec<LockedSkill>,
}

impl SkillsLock {
    /// The skills, sorted by name.
    pub fn skills(&self) -> &[LockedSkill] {
        &self.skills
    }

    /// The skills, owned, sorted by name.
    pub(crate) fn into_skills(self) -> Vec<LockedSkill> {
        self.skills
    }

    /// The skill with this name.
    pub fn get(&self, name: &str) -> Option<&LockedSkill> {
        let at = self.skills.binary_search_by(|skill| skill.name.as_str().cmp(name)).ok()?;
        self.skills.get(at)
    }

    /// Adds a skill, or replaces the one of its name.
    pub(crate) fn insert(&mut self, skill: LockedSkill) {
        self.remove(&skill.name);
        let at = self.skills.partition_point(|other| other.name < skill.name);
        self.skills.insert(at, skill);
    }

    /// Removes the skill with this name.
    pub(crate) fn remove(&mut self, name: &str) {
        self.skills.retain(|skill| skill.name != name);
    }

    /// Reads the text of a lock; `file` is for errors.
    pub fn parse(text: &str, file: &Path) -> Result<Self, InstallError> {
        let damaged = |reason: String| damaged(file, &reason);
        let document = Document::parse(text).map_err(|error| damaged(syntax_error(text, &error)))?;
        let table = document.as_table();
        match table.get("version").and_then(Item::as_integer) {
            Some(VERSION) => {}
            Some(newer) if newer > VERSION => {
                let message = format!("a newer prowess wrote this file: {}: version {newer}", shown(file));
                let hint = "use that version of prowess, or a newer one";
                return Err(InstallError::new(InstallErrorKind::Damaged, message, hint).at(file));
            }
            _ if table.contains_key("version") => {
                return Err(damaged("version is no number".to_owned()));
            }
            _ => return Err(damaged("it has no version".to_owned())),
        }
        let mut lock = Self::default();
        let mut names = BTreeSet::new();
        for (key, item) in table {
            match (key, item) {
                ("version", _) => {}
                ("skill", Item::ArrayOfTables(tables)) => {
                    for table in tables {
                        let skill = read(table).map_err(|reason| {
                            // Only for an error: it reads the text up to here.
                            let line = table.span().map(|span| line_at(text, span.start));
                            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
                            damaged(format!("{line}{reason}"))
                        })?;
                        if !names.insert(folder_key(&skill.name)) {
                            return Err(damaged(format!("two skills are called {}", skill.name)));
                        }
                        lock.skills.push(skill);
                    }
                }
                _ => return Err(damaged(format!("the key {key} is not known"))),
            }
        }
        lock.skills.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(lock)
    }

    /// The text of the file, always the same for the same skills.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADING}version = {VERSION}\n");
        for skill in &self.skills {
            text.push_str("\n[[skill]]\n");
            for (key, value) in KEYS.iter().zip(skill.values()) {
                if let Some(value) = value {
                    let _ = writeln!(text, "{key} = {}", Value::from(value));
                }
            }
        }
        text
    }
}

impl LockedSkill {
    /// A skill of which only the name and the source are known.
    pub(crate) fn of(name: impl Into<String>, source: Upstream) -> Self {
        Self {
            name: name.into(),
            source,
            path: None,
            requested: None,
            commit: None,
            git_tree: None,
            digest: None,
            reference: None,
            upstream_name: None,
            declared_version: None,
        }
    }

    /// The digest as text; empty when there is none.
    pub fn digest_text(&self) -> String {
        self.digest.map(String::from).unwrap_or_default()
    }

    /// The name that its author gave it.
    pub(crate) fn declared_name(&self) -> &str {
        self.upstream_name.as_deref().unwrap_or(&self.name)
    }

    /// The values of [`KEYS`].
    fn values(&self) -> [Option<String>; KEYS.len()] {
        [
            Some(self.name.clone()),
            Some(self.source.to_string()),
            self.path.as_ref().map(RelPath::to_string),
            self.requested.as_ref().map(Requested::to_string),
            self.commit.clone(),
            self.git_tree.clone(),
            self.digest.map(String::from),
            self.reference.clone(),
            self.upstream_name.clone(),
            self.declared_version.clone(),
        ]
    }

    /// Where it comes from, in one line: the repository or folder, its folder in it, and the commit in short.
    pub fn origin(&self) -> String {
        self.at_commit(self.place())
    }

    /// Where it comes from, as [`origin`](Self::origin) says it, for a reader in the folder `here`. A lock names folders
    /// relative to its own folder, so from elsewhere the whole path is shown. `skill` is where it is installed.
    pub fn origin_from(&self, here: &Path, scope: InstallScope, skill: &Path) -> String {
        let records = records_of(scope, skill);
        let folder = records.as_ref().and_then(|records| self.source.folder_from(records));
        match (folder, records) {
            (Some(folder), Some(records)) if records != env::real(here) => {
                self.below(&folder.to_string_lossy())
            }
            _ => self.origin(),
        }
    }

    /// The folder on this machine that it comes from, if its source is one. `skill` is where it is installed.
    pub fn source_folder(&self, scope: InstallScope, skill: &Path) -> Option<PathBuf> {
        let folder = self.source.folder_from(&records_of(scope, skill)?)?;
        Some(folder.join(self.path.as_ref().map_or("", RelPath::as_str)))
    }

    fn at_commit(&self, mut text: String) -> String {
        if let Some(commit) = self.commit.as_deref().and_then(|commit| commit.get(..9)) {
            let _ = write!(text, " @{commit}");
        }
        text
    }

    /// The repository or folder that it comes from, and its folder in it.
    pub fn place(&self) -> String {
        self.below(self.source.place())
    }

    fn below(&self, place: &str) -> String {
        self.path.as_ref().map_or_else(|| place.to_owned(), |path| format!("{place} {path}"))
    }

    /// Whether it has the same source as another one.
    pub(crate) fn is_from(&self, other: &Self) -> bool {
        self.source == other.source && self.path == other.path
    }
}

/// The real folder of the records of a skill, by where that is installed.
fn records_of(scope: InstallScope, skill: &Path) -> Option<PathBuf> {
    let base = skill.ancestors().nth(SKILLS_FOLDER.split('/').count() + 1)?;
    Some(real_records_folder(scope, base))
}

fn read(table: &Table) -> Result<LockedSkill, String> {
    let mut skill = LockedSkill::of("", Upstream::read(""));
    for (key, item) in table {
        if !KEYS.contains(&key) {
            return Err(format!("the key {key} is not known"));
        }
        let text = item.as_str().ok_or_else(|| format!("{key} is no text"))?;
        if text.chars().any(char::is_control) {
            return Err(format!("{key} has control characters"));
        }
        let text = text.to_owned();
        match key {
            "name" => skill.name = text,
            "source" => skill.source = Upstream::read(&text),
            "path" => skill.path = Some(RelPath::parse(&text).map_err(|error| error.to_string())?),
            "requested" => skill.requested = Some(Requested::read(&text)),
            "commit" => skill.commit = Some(text),
            "git-tree" => skill.git_tree = Some(text),
            "digest" => skill.digest = text.parse().ok(),
            "reference" => skill.reference = Some(text),
            "upstream-name" => skill.upstream_name = Some(text),
            _ => skill.declared_version = Some(text),
        }
    }
    check_folder_name(&skill.name)?;
    if !skill.source.can_be_locked() {
        return Err(format!("the source of {} is neither git+URL nor path+PATH", skill.name));
    }
    let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
    if skill.digest.is_none() {
        return Err(format!("the digest of {} is not sha256: and 64 digits", skill.name));
    }
    for (key, id) in [("commit", &skill.commit), ("git-tree", &skill.git_tree)] {
        if id.as_ref().is_some_and(|id| !matches!(id.len(), 40 | 64) || !hex(id)) {
            return Err(format!("the {key} of {} is not 40 or 64 digits", skill.name));
        }
    }
    if skill.source.git().is_some() && skill.commit.is_none() {
        return Err(format!("{} is from git and has no commit", skill.name));
    }
    Ok(skill)
}

/// An error when a name cannot be that of an installed skill's folder.
pub(crate) fn check_folder_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("a skill has no name".to_owned());
    }
    if name.starts_with('.') {
        return Err(format!("the name begins with a dot: {name}"));
    }
    RelPath::from_name(name).map(drop).map_err(|error| error.to_string())
}

/// The form in which two names are equal if they are one folder on some system.
pub(crate) fn folder_key(name: &str) -> String {
    RelPath::from_name(name).map_or_else(|_| name.to_owned(), |name| name.collision_key())
}

fn damaged(file: &Path, reason: &str) -> InstallError {
    let message = format!("this file is not understood: {}: {reason}", shown(file));
    let hint = "nothing was changed; repair it, restore it from version control, or move it away and install the skills again";
    InstallError::new(InstallErrorKind::Damaged, message, hint).at(file)
}

/// What is wrong with a text that is no TOML, and in which line.
pub(crate) fn syntax_error(text: &str, error: &toml_edit::TomlError) -> String {
    if text.contains("<<<<<<<") && text.contains(">>>>>>>") {
        return "it has conflict markers of a merge".to_owned();
    }
    let line = error.span().map(|span| format!("line {}: ", line_at(text, span.start))).unwrap_or_default();
    let reason = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{line}{reason}")
}

/// The line of a byte, from 1.
pub(crate) fn line_at(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// The new text of a lock with the line ends of its old text. A text that differs in nothing else is the old one.
pub(crate) fn with_line_ends_of(before: Option<&str>, after: String) -> String {
    let Some(before) = before.filter(|before| before.contains("\r\n")) else { return after };
    let after = after.replace("\r\n", "\n");
    if before.replace("\r\n", "\n") == after { before.to_owned() } else { after.replace('\n', "\r\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str) -> LockedSkill {
        LockedSkill {
            path: Some(RelPath::parse("skills/pdf").unwrap()),
            commit: Some("0".repeat(40)),
            digest: Some([0xaa; 32].into()),
            declared_version: Some("1.0 \"beta\"".to_owned()),
            ..LockedSkill::of(name, Upstream::read("git+https://example.org/a/b.git"))
        }
    }

    fn parse(text: &str) -> Result<SkillsLock, InstallError> {
        SkillsLock::parse(text, Path::new("skills.lock"))
    }

    #[test]
    fn a_lock_reads_what_it_writes_sorted_and_each_block_begins_with_the_name() {
        let mut lock = SkillsLock::default();
        lock.insert(skill("zebra"));
        lock.insert(skill("apple"));
        let text = lock.to_text();
        assert_eq!(parse(&text).unwrap(), lock);
        let names: Vec<&str> = text.lines().filter(|line| line.starts_with("name = ")).collect();
        assert_eq!(names, ["name = \"apple\"", "name = \"zebra\""]);
        assert_eq!(text.matches("[[skill]]\nname = ").count(), 2);
        assert_eq!(parse(&SkillsLock::default().to_text()).unwrap(), SkillsLock::default());
    }

    #[test]
    fn a_lock_that_is_damaged_or_newer_is_an_error_and_never_empty() {
        let good = {
            let mut lock = SkillsLock::default();
            lock.insert(skill("pdf"));
            lock.to_text()
        };
        for (bad, part) in [
            (String::new(), "no version"),
            ("version = 2\n".to_owned(), "newer"),
            ("version = \"1\"\n".to_owned(), "version is no number"),
            ("version = 1\nskill = 3\n".to_owned(), "skill"),
            ("version = 1\nother = 3\n".to_owned(), "other"),
            (format!("<<<<<<< a\n{good}=======\n>>>>>>> b\n"), "conflict"),
            (good.replace("pdf\"\nsource", "../x\"\nsource"), ".."),
            (good.replace("name = \"pdf\"", "name = \".pdf\""), "dot"),
            (good.replace("name = \"pdf\"", "name = \"a/b\""), "a/b"),
            (good.replace("skills/pdf", "../pdf"), ".."),
            (good.replace("git+", "hg+"), "git+URL"),
            (good.replace("git+https://example.org/a/b.git", "path+/etc"), "path+PATH"),
            (good.replace("sha256:", "sha1:"), "digest"),
            (good.replace(&"0".repeat(40), "0123"), "commit"),
            (good.replace("digest", "digset"), "digset"),
            (
                format!(
                    "{good}{}",
                    good.split_once("\n\n").unwrap().1.replace("pdf\"\nsource", "PDF\"\nsource")
                ),
                "PDF",
            ),
        ] {
            let error = parse(&bad).expect_err(&bad);
            assert_eq!(error.kind(), InstallErrorKind::Damaged, "{bad}");
            assert!(error.to_string().contains(part), "{error} should name {part}");
        }
    }

    #[test]
    fn line_ends_of_windows_stay_and_are_no_difference() {
        let with = |before: Option<&str>, after: &str| with_line_ends_of(before, after.to_owned());
        assert_eq!(with(Some("a\r\nb\n"), "a\nb\n"), "a\r\nb\n");
        assert_eq!(with(Some("a\r\nb\r\n"), "a\nc\r\n"), "a\r\nc\r\n");
        assert_eq!(with(Some("a\n"), "b\n"), "b\n");
        assert_eq!(with(None, "b\n"), "b\n");
    }
}
