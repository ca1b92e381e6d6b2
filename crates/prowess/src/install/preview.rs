//! [`Preview`]: what a skill could do once it is installed, shown before the user accepts it. It is for people to read and
//! decides nothing.

use prowess_core::{FileEntry, Origin, check, parse};
use serde::Serialize;
use unicode_security::skeleton;

use super::tree::SkillTree;
use crate::fs::walk::FILE_NAMES;

/// Files that other programs load by themselves when they find them, by their whole path or by their name.
const LOADED_BY_OTHERS: [&str; 16] = [
    "CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.md",
    "GEMINI.md",
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".cursorrules",
    ".cursor/mcp.json",
    ".windsurfrules",
    ".github/copilot-instructions.md",
    ".vscode/settings.json",
    ".vscode/tasks.json",
    ".vscode/mcp.json",
    ".envrc",
    ".npmrc",
];
/// The rules about text that people do not see.
const HIDDEN: [&str; 4] =
    ["hidden-bidi", "hidden-zero-width", "hidden-tag-characters", "hidden-variation-selectors"];

/// What a skill brings along.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Preview {
    /// Its description.
    pub description: String,
    /// The number of its files.
    pub files: usize,
    /// The size of all of them.
    pub bytes: u64,
    /// The files that can be executed.
    pub executables: Vec<String>,
    /// The tools that it asks to be granted.
    pub tools: Vec<String>,
    /// Whether it asks for hooks.
    pub hooks: bool,
    /// Commands in its instructions that some clients run while they load it.
    pub commands: bool,
    /// What its SKILL.md holds that people do not see, by rule.
    pub hidden: Vec<String>,
    /// Files that other programs load by themselves.
    pub loaded_by_others: Vec<String>,
    /// Skills inside of it, by the paths of their SKILL.md.
    pub nested: Vec<String>,
    /// Installed skills whose names look like its own.
    pub looks_like: Vec<String>,
}

impl Preview {
    /// What a tree would bring along under a name, beside skills with these names. Skills inside of it count too: agents
    /// find them.
    pub(crate) fn of<'n>(tree: &SkillTree, name: &str, installed: impl Iterator<Item = &'n str>) -> Self {
        let paths = |wanted: fn(&FileEntry) -> bool| {
            let files = tree.manifest().files.iter().filter(|file| wanted(file));
            files.map(|file| file.path.to_string()).collect::<Vec<String>>()
        };
        let mut preview = Self {
            files: tree.manifest().files.len(),
            bytes: tree.manifest().total_size(),
            executables: paths(|file| file.executable),
            loaded_by_others: paths(|file| is_loaded_by_others(file.path.as_str())),
            looks_like: installed.filter(|other| look_alike(name, other)).map(str::to_owned).collect(),
            ..Self::default()
        };
        let own = tree.manifest().own().map(|own| &own.path);
        for (file, bytes) in tree.files().filter(|(file, _)| FILE_NAMES.contains(&file.path.file_name())) {
            let is_own = Some(&file.path) == own;
            preview.read(bytes, name, is_own);
            if !is_own {
                preview.nested.push(file.path.to_string());
            }
        }
        preview
    }

    /// Adds what a SKILL.md says.
    fn read(&mut self, bytes: &[u8], name: &str, is_own: bool) {
        let document = parse(bytes);
        let at = Origin::at(format!("{name}/SKILL.md")).in_folder(name);
        let entry = document.entry(&at);
        let findings = check(&document, None, &at);
        let has = |code: &str| findings.iter().any(|finding| finding.rule.code == code);
        if is_own {
            self.description = entry.description;
        }
        let tools = entry.allowed_tools.iter().flat_map(|tools| &tools.grants).map(ToString::to_string);
        let hidden = HIDDEN.iter().filter(|code| has(code)).map(|code| (*code).to_owned());
        for (list, new) in
            [(&mut self.tools, tools.collect::<Vec<_>>()), (&mut self.hidden, hidden.collect())]
        {
            for text in new {
                if !list.contains(&text) {
                    list.push(text);
                }
            }
        }
        self.hooks |= has("hooks-present");
        self.commands |= has("dynamic-command");
    }

    /// Whether there is anything that a person should look at before accepting it.
    pub fn is_remarkable(&self) -> bool {
        !(self.executables.is_empty()
            && self.tools.is_empty()
            && !self.hooks
            && !self.commands
            && self.hidden.is_empty()
            && self.loaded_by_others.is_empty()
            && self.nested.is_empty()
            && self.looks_like.is_empty())
    }
}

fn is_loaded_by_others(path: &str) -> bool {
    LOADED_BY_OTHERS.iter().any(|known| {
        let start = path.len().saturating_sub(known.len());
        let whole = start == 0 || path.as_bytes().get(start - 1) == Some(&b'/');
        whole && path.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(known))
    })
}

/// Whether two different names could be taken for each other: letters that look the same, or one slip.
fn look_alike(one: &str, other: &str) -> bool {
    let plain =
        |name: &str| skeleton(&name.to_lowercase()).filter(|c| c.is_alphanumeric()).collect::<String>();
    let (first, second) = (plain(one), plain(other));
    let long = first.chars().count().min(second.chars().count()) >= 5;
    one != other && (first == second || long && strsim::osa_distance(&first, &second) == 1)
}

#[cfg(test)]
mod tests {
    use prowess_core::RelPath;

    use super::*;
    use crate::install::tree::{InstallLimits, TreeFile};

    fn preview(files: &[(&str, bool, &str)], installed: &[&str]) -> Preview {
        let file = |(path, executable, bytes): &(&str, bool, &str)| TreeFile {
            path: RelPath::parse(path).unwrap(),
            executable: *executable,
            bytes: bytes.as_bytes().into(),
        };
        let tree = SkillTree::new(files.iter().map(file).collect(), &InstallLimits::default()).unwrap();
        Preview::of(&tree, "invoices", installed.iter().copied())
    }

    #[test]
    fn a_preview_names_everything_that_a_skill_could_do() {
        let skill = "---\nname: invoices\ndescription: Writes invoices.\nallowed-tools: Bash(git:*) Read\nhooks: {a: b}\n---\nDo\u{202e} it: !`date`\n";
        let files = [
            ("SKILL.md", false, skill),
            ("run.sh", true, ""),
            ("docs/CLAUDE.md", false, ""),
            (".mcp.json", false, ""),
        ];
        let preview = preview(&files, &["invoice", "inv0ices", "invoiсes", "other", "invoices"]);
        assert_eq!(preview.executables, ["run.sh"]);
        assert_eq!(preview.tools, ["Bash(git:*)", "Read"]);
        assert!(preview.hooks && preview.commands && preview.is_remarkable());
        assert_eq!(preview.hidden, ["hidden-bidi"]);
        assert_eq!(preview.loaded_by_others, [".mcp.json", "docs/CLAUDE.md"]);
        assert_eq!(preview.looks_like, ["invoice", "inv0ices", "invoiсes"]);
        assert_eq!((preview.files, preview.description.as_str()), (4, "Writes invoices."));
    }

    #[test]
    fn a_plain_skill_has_nothing_remarkable() {
        let skill = "---\nname: invoices\ndescription: Writes invoices.\n---\nDo it.\n";
        assert!(
            !preview(&[("SKILL.md", false, skill), ("notes.md", false, "")], &["other", "pdf"])
                .is_remarkable()
        );
    }
}
