//! `skills.toml`: which skills a project or a user wants, and for which clients. Users edit it too, so an edit keeps
//! comments, order and everything else unchanged.

use std::collections::BTreeSet;
use std::path::Path;

use toml_edit::{Array, Document, InlineTable, Item, Value};

use super::skills_lock::{check_folder_name, folder_key, line_at, syntax_error};
use crate::error::shown;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::library::clients;
use crate::settings::edit::{edit_toml, without_key};

/// The name of the file.
pub const SKILLS_FILE: &str = "skills.toml";

/// How clients that do not read `.agents/skills` get a skill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LinkMode {
    /// By a link where the system has them, else by a copy.
    #[default]
    Auto,
    /// By a link.
    Symlink,
    /// By a copy.
    Copy,
}

impl LinkMode {
    /// The word in `skills.toml`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Symlink => "symlink",
            Self::Copy => "copy",
        }
    }

    /// The mode of a word.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Auto, Self::Symlink, Self::Copy].into_iter().find(|mode| mode.word() == word)
    }

    /// Whether files are copied, on this system.
    pub(crate) fn copies(self) -> bool {
        self == Self::Copy || (self == Self::Auto && !cfg!(unix))
    }
}

/// One wanted skill, as the file writes it: a text such as `owner/repo@skill`, its parts, or a text and more parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedSkill {
    /// The source as one text; in a table it is the key `source`.
    pub text: Option<String>,
    /// The URL of a git repository.
    pub git: Option<String>,
    /// A folder on this machine; with `git` a folder in the repository.
    pub path: Option<String>,
    /// The name of the skill in the repository.
    pub skill: Option<String>,
    /// A branch, tag or commit.
    pub reference: Option<String>,
}

impl WantedSkill {
    /// The keys of its table and their values.
    fn members(&self) -> [(&'static str, Option<&String>); 5] {
        [
            ("source", self.text.as_ref()),
            ("git", self.git.as_ref()),
            ("path", self.path.as_ref()),
            ("skill", self.skill.as_ref()),
            ("ref", self.reference.as_ref()),
        ]
    }

    fn to_value(&self) -> Value {
        if let (Some(text), 1) =
            (&self.text, self.members().iter().filter(|(_, value)| value.is_some()).count())
        {
            return Value::from(text.as_str());
        }
        let mut table = InlineTable::new();
        for (key, value) in self.members() {
            if let Some(value) = value {
                table.insert(key, value.as_str().into());
            }
        }
        Value::InlineTable(table)
    }
}

/// The contents of a `skills.toml`.
#[derive(Clone, Debug, Default)]
pub struct SkillsToml {
    text: String,
    skills: Vec<(String, WantedSkill)>,
    clients: Vec<String>,
    link: LinkMode,
}

impl SkillsToml {
    /// Reads the text of the file; `file` is for errors.
    pub fn parse(text: &str, file: &Path) -> Result<Self, InstallError> {
        let failed = |reason: String| {
            let message = format!("this file is not understood: {}: {reason}", shown(file));
            let hint = "nothing was changed; repair it, then run the command again";
            InstallError::new(InstallErrorKind::Damaged, message, hint).at(file)
        };
        let document = Document::parse(text).map_err(|error| failed(syntax_error(text, &error)))?;
        let at = |table: &str, key: &str, reason: String| {
            failed(format!("{}{reason}", line_of(text, &document, table, key)))
        };
        let mut this = Self { text: text.to_owned(), ..Self::default() };
        let mut names = BTreeSet::new();
        for (key, item) in document.as_table() {
            match (key, item.as_table_like()) {
                ("skills", Some(table)) => {
                    for (name, item) in table.iter() {
                        let at = |reason: String| at(key, name, reason);
                        check_folder_name(name).map_err(at)?;
                        if !names.insert(folder_key(name)) {
                            return Err(at(format!("two skills are called {name}")));
                        }
                        this.skills.push((name.to_owned(), wanted(name, item).map_err(at)?));
                    }
                }
                ("settings", Some(table)) => {
                    for (name, item) in table.iter() {
                        match name {
                            "clients" => {
                                this.clients = client_ids(item).map_err(|reason| at(key, name, reason))?;
                            }
                            "link" => {
                                let mode = item.as_str().and_then(LinkMode::of);
                                this.link = mode.ok_or_else(|| {
                                    at(key, name, "link is auto, symlink or copy".to_owned())
                                })?;
                            }
                            _ => return Err(at(key, name, format!("the key settings.{name} is not known"))),
                        }
                    }
                }
                ("skills" | "settings", None) => return Err(at(key, "", format!("{key} is no table"))),
                _ => return Err(at(key, "", format!("the key {key} is not known"))),
            }
        }
        Ok(this)
    }

    /// The text of the file.
    pub fn to_text(&self) -> String {
        self.text.clone()
    }

    /// The wanted skills, by the names of their folders, in the order of the file.
    pub fn skills(&self) -> &[(String, WantedSkill)] {
        &self.skills
    }

    /// The skill with this name.
    pub fn get(&self, name: &str) -> Option<&WantedSkill> {
        self.skills.iter().find(|(other, _)| other == name).map(|(_, wanted)| wanted)
    }

    /// The clients that get links or copies.
    pub fn clients(&self) -> &[String] {
        &self.clients
    }

    /// How clients get a skill.
    pub fn link(&self) -> LinkMode {
        self.link
    }

    /// Adds a skill at the end, or replaces the one with its name in place.
    pub(crate) fn insert(&mut self, name: &str, wanted: WantedSkill) {
        self.set("skills", name, wanted.to_value());
        match self.skills.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) => *old = wanted,
            None => self.skills.push((name.to_owned(), wanted)),
        }
    }

    /// Removes the skill with this name. The comments of its entry stay, in lines of their own.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(text) = without_key(&self.text, &["skills", name]) {
            self.text = text;
        }
        self.skills.retain(|(other, _)| other != name);
    }

    /// Adds clients, and sets how they get skills.
    pub(crate) fn set_clients(&mut self, added: &[String], link: Option<LinkMode>) {
        let new: Vec<&String> = added.iter().filter(|client| !self.clients.contains(client)).collect();
        if !new.is_empty() {
            self.clients.extend(new.into_iter().cloned());
            let list: Array = self.clients.iter().map(String::as_str).collect();
            self.set("settings", "clients", list.into());
        }
        if let Some(link) = link.filter(|link| *link != self.link) {
            self.link = link;
            self.set("settings", "link", link.word().into());
        }
    }

    /// Sets a key of a table. A file in which the table is something else was rejected when it was read.
    fn set(&mut self, table: &str, key: &str, value: Value) {
        if let Some(text) = edit_toml(&self.text, &[table, key], Some(&value.to_string())) {
            self.text = text;
        }
    }
}

/// The line of a key, as the beginning of a message; empty when it is not known.
fn line_of(text: &str, document: &Document<&str>, table: &str, key: &str) -> String {
    let outer = document.as_table().get_key_value(table);
    let inner = outer.and_then(|(_, item)| item.as_table_like()?.get_key_value(key));
    let span = inner.or(outer).and_then(|(key, item)| key.span().or_else(|| item.span()));
    span.map(|span| format!("line {}: ", line_at(text, span.start))).unwrap_or_default()
}

fn wanted(name: &str, item: &Item) -> Result<WantedSkill, String> {
    let mut wanted = WantedSkill::default();
    if let Some(text) = item.as_str() {
        wanted.text = Some(text.to_owned());
        return Ok(wanted);
    }
    let table = item.as_table_like().ok_or_else(|| format!("skills.{name} is neither a text nor a table"))?;
    for (key, item) in table.iter() {
        let text = item.as_str().ok_or_else(|| format!("skills.{name}.{key} is no text"))?.to_owned();
        match key {
            "source" => wanted.text = Some(text),
            "git" => wanted.git = Some(text),
            "path" => wanted.path = Some(text),
            "skill" => wanted.skill = Some(text),
            "ref" | "tag" | "branch" | "rev" if wanted.reference.is_none() => wanted.reference = Some(text),
            "ref" | "tag" | "branch" | "rev" => {
                return Err(format!("skills.{name} has more than one of ref, tag, branch, rev"));
            }
            _ => {
                return Err(format!(
                    "the key skills.{name}.{key} is not known: use git or source, path, skill, ref"
                ));
            }
        }
    }
    match (&wanted.git, &wanted.path) {
        (Some(_), _) if wanted.text.is_some() => Err(format!("skills.{name} has both source and git")),
        _ if wanted.text.is_some() => Ok(wanted),
        (None, None) => Err(format!("skills.{name} has neither git nor path")),
        (None, _) if wanted.reference.is_some() => Err(format!("skills.{name} has a ref and no git")),
        (None, _) if wanted.skill.is_some() => {
            Err(format!("skills.{name} has a skill and no git: write the folder of the skill as its path"))
        }
        _ => Ok(wanted),
    }
}

fn client_ids(item: &Item) -> Result<Vec<String>, String> {
    let list = item.as_array().ok_or("clients is no list")?;
    list.iter()
        .map(|value| {
            let id = value.as_str().ok_or("clients is a list of texts")?;
            match clients::client(id) {
                Some(client) => Ok(client.id.to_owned()),
                None => Err(format!("there is no client called {id}")),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SkillsToml, InstallError> {
        SkillsToml::parse(text, Path::new("skills.toml"))
    }

    #[test]
    fn comments_order_and_unrelated_lines_survive_a_change() {
        let text = "# ours\n[settings]\nclients = [\"claude-code\"] # only this one\n\n[skills]\n# money\nzinvoice = \"acme/skills@invoice\" # keep\n\npdf = { git = \"https://example.org/a.git\", path = \"skills/pdf\", tag = \"v1\" }\n";
        let mut file = parse(text).unwrap();
        assert_eq!(file.to_text(), text);
        assert_eq!(file.clients(), ["claude-code"]);
        assert_eq!(file.get("pdf").unwrap().reference.as_deref(), Some("v1"));
        file.insert("review", WantedSkill { path: Some("../review".into()), ..WantedSkill::default() });
        file.insert(
            "zinvoice",
            WantedSkill { text: Some("acme/skills@invoice#v2".into()), ..WantedSkill::default() },
        );
        let changed = text.replace("@invoice\"", "@invoice#v2\"") + "review = { path = \"../review\" }\n";
        assert_eq!(file.to_text(), changed);
        file.remove("review");
        assert_eq!(file.to_text(), text.replace("@invoice\"", "@invoice#v2\""));
        assert_eq!(parse(&file.to_text()).unwrap().skills(), file.skills());
    }

    #[test]
    fn the_comments_of_a_removed_skill_stay() {
        for (text, expected) in [
            ("[skills]\na = \"x/a\" # pinned\nb = \"x/b\"\n", "[skills]\n# pinned\nb = \"x/b\"\n"),
            ("[skills]\n# above\na = { path = \"a\" } # pinned\n", "[skills]\n# above\n# pinned\n"),
            ("[skills.a] # table\npath = \"a\" # path\n", "# table\n# path\n"),
        ] {
            let mut file = parse(text).unwrap();
            file.remove("a");
            assert_eq!(file.to_text(), expected);
        }
    }

    #[test]
    fn an_empty_file_gets_its_tables_and_reads_back() {
        let mut file = SkillsToml::default();
        file.insert(
            "pdf",
            WantedSkill { git: Some("https://example.org/a.git".into()), ..WantedSkill::default() },
        );
        file.set_clients(&["claude-code".to_owned()], Some(LinkMode::Copy));
        let again = parse(&file.to_text()).unwrap();
        assert_eq!(
            (again.skills(), again.clients(), again.link()),
            (file.skills(), file.clients(), LinkMode::Copy)
        );
    }

    #[test]
    fn a_reference_with_a_choice_is_a_table_and_reads_back() {
        let mut file = SkillsToml::default();
        let text = Some("@acme/r@v1".to_owned());
        let chosen = WantedSkill { text: text.clone(), skill: Some("b".into()), ..WantedSkill::default() };
        file.insert("b", chosen);
        file.insert("r", WantedSkill { text, ..WantedSkill::default() });
        let written = "[skills]\nb = { source = \"@acme/r@v1\", skill = \"b\" }\nr = \"@acme/r@v1\"\n";
        assert_eq!(file.to_text(), written);
        assert_eq!(parse(written).unwrap().skills(), file.skills());
    }

    #[test]
    fn a_file_that_is_not_understood_names_the_key() {
        for (text, part) in [
            ("[skills]\n\"../x\" = \"a/b\"\n", ".."),
            ("[skills]\nA = \"a/b\"\na = \"a/b\"\n", "two skills"),
            ("[skills]\nx = 3\n", "skills.x"),
            ("[skills]\nx = {}\n", "neither git nor path"),
            ("[skills]\nx = { gti = \"u\" }\n", "skills.x.gti"),
            ("[skills]\nx = { git = \"u\", tag = \"1\", branch = \"2\" }\n", "more than one"),
            ("[skills]\nx = { path = \"u\", tag = \"1\" }\n", "no git"),
            ("[skills]\nx = { path = \"u\", skill = \"a\" }\n", "skills.x has a skill and no git"),
            ("[skills]\nx = { source = \"@a/b\", git = \"u\" }\n", "both source and git"),
            ("[settings]\nclients = [\"nope\"]\n", "nope"),
            ("[settings]\nlink = \"hard\"\n", "link"),
            ("[other]\n", "other"),
            ("skills = 3\n", "skills"),
            ("[skills\n", "not understood"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.to_string().contains(part), "{error}: {part}");
        }
    }
}
