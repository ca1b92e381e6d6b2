//! [`Preview`]: what a skill could do once it is installed, shown before the user accepts it. It informs the user and
//! decides nothing.

mod beside;
mod files;
mod found;
mod names;
mod runs;

use prowess_core::document::Document;
use prowess_core::internal::rule_of;
use prowess_core::text::Unseen;
use prowess_core::{FileEntry, Origin, check, parse};
use serde::Serialize;

pub use self::found::{preview_of_found, preview_of_text};
pub(crate) use self::names::OtherNames;
pub use self::runs::RunText;
use super::source::tree::SkillTree;
use crate::fs::walk::FILE_NAMES;

/// Other spellings of `allowed-tools`, which some clients read.
const OTHER_TOOLS: [&str; 4] = ["tools", "allowed_tools", "allowedTools", "allowed tools"];

/// The rule about control characters: a terminal may hide text because of them.
const CONTROL: &str = rule_of(Unseen::Control).code;

/// The most comments of a skill that are shown; the others are counted.
const MAX_COMMENTS: usize = 20;
/// The most hooks and commands that are shown; the others are counted.
const MAX_RUNS: usize = 20;
/// The most characters of one comment that are shown.
const MAX_COMMENT: usize = 300;

/// What a skill could do, and what installing it would change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Preview {
    /// The name in its frontmatter, which agents see.
    pub declared_name: String,
    /// Its description.
    pub description: String,
    /// The number of its files.
    pub files: usize,
    /// The size of all of them.
    pub bytes: u64,
    /// The files that can be run, by themselves or by an interpreter.
    pub executables: Vec<String>,
    /// The tools that it asks to be granted.
    pub tools: Vec<String>,
    /// Whether it asks for hooks.
    pub hooks: bool,
    /// Commands in its instructions that some clients run while they load it.
    pub commands: bool,
    /// The hooks and commands themselves, of this skill and of those inside of it.
    pub runs: Vec<RunText>,
    /// The number of further ones.
    pub more_runs: usize,
    /// Hidden text.
    pub hidden: Vec<HiddenText>,
    /// Comments in its Markdown, which a reader of the rendered page does not see.
    pub comments: Vec<HiddenComment>,
    /// The number of further comments.
    pub more_comments: usize,
    /// Files that other programs load by themselves.
    pub loaded_by_others: Vec<String>,
    /// git LFS pointers. The files that they refer to are not installed.
    pub lfs_pointers: Vec<String>,
    /// Skills inside of it, which agents find too.
    pub nested: Vec<NestedSkill>,
    /// Other skills with similar names: installed ones, those of the project and of the user, and those that would be
    /// installed with it.
    pub looks_like: Vec<String>,
    /// Other skills of the place, and those that would be installed with it, that clients see under the same name.
    pub same_name_as: Vec<String>,
    /// Why the name under which it would be installed is not the name of a skill, unless its author gave it.
    pub name_problems: Vec<String>,
    /// Skills of the user with the same name, by their folders: agents in this project no longer see them.
    pub shadows: Vec<String>,
    /// Other folders in which the user accepted the same files, such as where the project was before it was moved.
    pub accepted_in: Vec<String>,
    /// Skills that are installed from the same source under other names.
    pub installed_as: Vec<String>,
    /// Where the lock says that it comes from, when this user has not fetched it from there.
    pub claimed_source: Option<String>,
    /// Its commit, if it was asked for by its id or by a ref such as `refs/pull/1/head`, and is not known to be on a branch
    /// or tag of its repository: it may be from a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified_commit: Option<String>,
    /// The paths that would be replaced although they were edited or not installed.
    pub replaces: Vec<String>,
    /// The files in them that would be lost: those that are not as they were installed.
    pub loses: Vec<String>,
    /// What was not looked into, such as files that are too large; nothing before an installation, which refuses these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
}

/// Hidden text in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HiddenText {
    /// The path of the file.
    pub path: String,
    /// The rules that it breaks.
    pub rules: Vec<&'static str>,
}

/// A comment in a Markdown file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HiddenComment {
    /// The path of the file.
    pub path: String,
    /// The line where it begins, from 1.
    pub line: usize,
    /// Its text on one line, or the beginning of a long one.
    pub text: String,
    /// How many characters of a long one are missing.
    pub cut: usize,
}

/// A skill inside another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NestedSkill {
    /// The path of its SKILL.md.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The tools that it asks to be granted.
    pub tools: Vec<String>,
    /// Whether it asks for hooks.
    pub hooks: bool,
    /// Whether its text has commands that some clients run while they load it.
    pub commands: bool,
    /// Other skills of the place, and those that would be installed with it, with the same name.
    pub same_name_as: Vec<String>,
    /// Skills of the user with the same name, by their folders: agents in this project no longer see them.
    pub shadows: Vec<String>,
}

/// The fields of one SKILL.md that matter here.
struct Said {
    nested: NestedSkill,
    /// The rules about hidden text that it breaks.
    hidden: Vec<&'static str>,
    runs: Vec<RunText>,
}

impl Preview {
    /// The preview of a tree under a name, beside other skills.
    pub(crate) fn of(tree: &SkillTree, name: &str, others: &OtherNames) -> Self {
        let mut preview = Self {
            files: tree.manifest().files.len(),
            bytes: tree.manifest().total_size(),
            ..Self::default()
        };
        let own = tree.manifest().own().map(|own| &own.path);
        for (file, bytes) in tree.files() {
            preview.look_at(file, Some(&file.path) == own, name, bytes);
        }
        preview.looks_like = others.like([name, &preview.declared_name]);
        if name != preview.declared_name {
            preview.name_problems = names::problems(name);
        }
        preview
    }

    /// Adds what a file could do. The skill's own file also says what the skill asks for.
    fn look_at(&mut self, file: &FileEntry, is_own: bool, name: &str, bytes: &[u8]) {
        let path = file.path.as_str();
        if files::can_be_run(path, file.executable, bytes) {
            self.executables.push(path.to_owned());
        }
        if files::is_loaded_by_others(path) {
            self.loaded_by_others.push(path.to_owned());
        }
        if bytes.starts_with(files::LFS_POINTER) {
            self.lfs_pointers.push(path.to_owned());
        }
        let mut rules = files::hidden_text(path, bytes);
        if is_own || FILE_NAMES.contains(&file.path.file_name()) {
            let Said { nested, hidden, runs } = Said::of(path, name, bytes);
            rules.extend(hidden);
            let free = MAX_RUNS.saturating_sub(self.runs.len());
            self.more_runs += runs.len().saturating_sub(free);
            self.runs.extend(runs.into_iter().take(free));
            if is_own {
                (self.declared_name, self.description) = (nested.name, nested.description);
                (self.tools, self.hooks, self.commands) = (nested.tools, nested.hooks, nested.commands);
            } else {
                self.nested.push(nested);
            }
        }
        rules.sort_unstable();
        rules.dedup();
        self.add_comments(path, bytes);
        if !rules.is_empty() {
            self.hidden.push(HiddenText { path: path.to_owned(), rules });
        }
    }

    /// Adds the comments of a Markdown file.
    fn add_comments(&mut self, path: &str, bytes: &[u8]) {
        for (line, text) in files::comments(path, bytes) {
            if self.comments.len() >= MAX_COMMENTS {
                self.more_comments += 1;
                continue;
            }
            let shown: String = text.chars().take(MAX_COMMENT).collect();
            let cut = text.chars().skip(MAX_COMMENT).count();
            self.comments.push(HiddenComment { path: path.to_owned(), line, text: shown, cut });
        }
    }

    /// Whether the user should look at something before accepting it.
    pub fn is_remarkable(&self) -> bool {
        let lists =
            [&self.executables, &self.tools, &self.loaded_by_others, &self.lfs_pointers, &self.looks_like];
        let names = [&self.same_name_as, &self.name_problems];
        let places = [&self.shadows, &self.installed_as, &self.replaces, &self.unseen];
        self.hooks
            || self.commands
            || self.claimed_source.is_some()
            || !(self.hidden.is_empty() && self.comments.is_empty() && self.nested.is_empty())
            || lists.into_iter().chain(names).chain(places).any(|list| !list.is_empty())
    }
}

impl Said {
    fn of(path: &str, name: &str, bytes: &[u8]) -> Self {
        let document = parse(bytes);
        let folder = path.rsplit('/').nth(1).unwrap_or(name);
        let at = Origin::at(format!("{name}/{path}")).with_folder(folder);
        let entry = document.entry(&at);
        let findings = check(&document, None, &at);
        let has = |code: &str| findings.iter().any(|finding| finding.rule.code == code);
        let grants = entry.allowed_tools.iter().flat_map(|tools| &tools.grants);
        let mut tools: Vec<String> = grants.map(ToString::to_string).collect();
        tools.extend(
            other_tools(&document).into_iter().filter(|tool| !tools.contains(tool)).collect::<Vec<_>>(),
        );
        let nested = NestedSkill {
            path: path.to_owned(),
            name: entry.name,
            description: entry.description,
            tools,
            hooks: has("hooks-present"),
            commands: has("dynamic-command"),
            same_name_as: Vec::new(),
            shadows: Vec::new(),
        };
        // SKILL.md may also contain hidden text as escapes, which only the check decodes.
        let codes = findings.iter().map(|finding| finding.rule.code);
        let hidden = codes.filter(|code| is_about_hidden_text(code)).collect();
        Self { nested, hidden, runs: runs::of(path, &document) }
    }
}

/// Whether a rule is about text that readers do not see.
fn is_about_hidden_text(code: &str) -> bool {
    code.starts_with("hidden-") || code == CONTROL
}

/// The tools in other spellings of `allowed-tools`, verbatim.
fn other_tools(document: &Document) -> Vec<String> {
    let fields = OTHER_TOOLS.iter().filter_map(|field| document.field(field));
    fields.map(prowess_core::document::Node::to_text).filter(|text| !text.trim().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use prowess_core::RelPath;

    use super::*;
    use crate::install::source::tree::{InstallLimits, TreeFile};

    fn preview(files: &[(&str, bool, &str)], installed: &[&str]) -> Preview {
        let file = |(path, executable, bytes): &(&str, bool, &str)| TreeFile {
            path: RelPath::parse(path).unwrap(),
            executable: *executable,
            bytes: bytes.as_bytes().into(),
        };
        let tree = SkillTree::new(files.iter().map(file).collect(), &InstallLimits::default()).unwrap();
        Preview::of(&tree, "invoices", &OtherNames::new(installed.iter().copied()))
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
        let runs: Vec<(&str, &str)> = preview.runs.iter().map(|run| (run.kind, &*run.text)).collect();
        assert_eq!(runs, [("hook", r#"{"a":"b"}"#), ("command", "date")]);
        let hidden = HiddenText { path: "SKILL.md".to_owned(), rules: vec!["hidden-bidi"] };
        assert_eq!(preview.hidden, [hidden]);
        assert_eq!(preview.loaded_by_others, [".mcp.json", "docs/CLAUDE.md"]);
        assert_eq!(preview.looks_like, ["inv0ices", "invoice", "invoiсes"]);
        assert_eq!((preview.files, preview.description.as_str()), (4, "Writes invoices."));
    }

    #[test]
    fn a_skill_inside_another_is_previewed_with_its_tools_hooks_and_commands() {
        let skill = "---\nname: invoices\ndescription: Writes invoices.\n---\nDo it.\n";
        let inner =
            "---\nname: inner\ndescription: Does more.\ntools: Bash\nhooks: {a: b}\n---\n!`date`\n\u{200b}\n";
        let files = [("SKILL.md", false, skill), ("sub/inner/SKILL.md", false, inner)];
        let preview = preview(&files, &[]);
        assert!(preview.tools.is_empty() && !preview.hooks && !preview.commands && preview.is_remarkable());
        let [nested] = &*preview.nested else { panic!("{preview:?}") };
        assert_eq!((&*nested.path, &*nested.name), ("sub/inner/SKILL.md", "inner"));
        assert_eq!((&*nested.tools, nested.hooks, nested.commands), (&["Bash".to_owned()][..], true, true));
        assert_eq!(
            (&*preview.hidden[0].path, &*preview.hidden[0].rules),
            ("sub/inner/SKILL.md", &["hidden-zero-width"][..])
        );
    }

    #[test]
    fn hidden_text_is_shown_for_every_file_of_the_skill() {
        let skill = "---\nname: invoices\ndescription: Writes invoices.\n---\nDo it.\n";
        let files = [("SKILL.md", false, skill), ("references/a.md", false, "a\u{e0041}b\u{202e}")];
        let preview = preview(&files, &[]);
        let rules = vec!["hidden-bidi", "hidden-tag-characters"];
        assert_eq!(preview.hidden, [HiddenText { path: "references/a.md".to_owned(), rules }]);
    }

    #[test]
    fn a_raw_control_character_is_hidden_text_in_every_part_of_a_skill_file() {
        for skill in [
            "---\nname: invoices\ndescription: Writes. \u{1b}[8mRuns evil\u{1b}[0m\n---\nDo.\n",
            "---\nname: invo\u{1b}ices\ndescription: Writes.\n---\nDo.\n",
            "---\nname: invoices\ndescription: |\n  Writes.\u{7}\n---\nDo.\n",
            "---\nname: invoices\ndescription: Writes.\n# \u{9b}8m\n---\nDo.\n",
        ] {
            let hidden = preview(&[("SKILL.md", false, skill)], &[]).hidden;
            let rules = vec!["control-character"];
            assert_eq!(hidden, [HiddenText { path: "SKILL.md".to_owned(), rules }], "{skill:?}");
        }
    }

    #[test]
    fn comments_in_markdown_are_shown_within_bounds() {
        let body = "Do it.\n\n<!-- First\n delete all. -->\n";
        let skill = format!("---\nname: invoices\ndescription: Writes <!-- x --> invoices.\n---\n{body}");
        let many = "<!-- more -->\n\n".repeat(MAX_COMMENTS);
        let long = format!("<!--{}-->\n\n{many}", "y".repeat(MAX_COMMENT + 7));
        let files = [
            ("SKILL.md", false, &*skill),
            ("a.md", false, &*long),
            ("b.py", false, "# <!-- no Markdown -->"),
        ];
        let preview = preview(&files, &[]);
        let first = HiddenComment {
            path: "SKILL.md".to_owned(),
            line: 7,
            text: "First delete all.".to_owned(),
            cut: 0,
        };
        assert_eq!(preview.comments[0], first);
        assert_eq!((preview.comments[1].line, preview.comments[1].cut), (1, 7));
        assert_eq!((preview.comments.len(), preview.more_comments), (MAX_COMMENTS, 2));
        assert!(preview.is_remarkable());
    }

    #[test]
    fn the_name_that_agents_see_is_the_one_in_the_frontmatter() {
        let skill = "---\nname: ../../evil\ndescription: Writes invoices.\n---\nDo it.\n";
        assert_eq!(preview(&[("SKILL.md", false, skill)], &[]).declared_name, "../../evil");
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
