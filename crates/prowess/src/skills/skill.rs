//! [`Skill`]: one skill from its folder, its text or a library, with its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::internal::Decision;
use prowess_core::render::{Activation, Inlined};
use prowess_core::session::Options;
use prowess_core::text::{collapse, visible};
use prowess_core::{Candidate, Entry, LoadError, Manifest, Origin, Profile, RelPath, SkillData, parse};
use serde_json::Value;

use super::SkillsError;
use crate::env;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::sandbox::{self, SkillFolder};
use crate::fs::walk::ScanOptions;
use crate::fs::{read, walk};
use crate::registry::Registry;
use crate::source::{Beside, Chunk, DirSource, Slice, Source as _};
use prowess_core::files::Groups;

/// One skill: its SKILL.md and the files beside it.
///
/// This is the view of the host, which may also read skills that are not trusted or that a policy hides from models.
/// [`Skill::is_usable`] says whether a skill is trusted. What a model may have is decided by a [`Chat`](crate::Chat): its
/// `activate`, `call` and `prompt` ask the policy.
///
/// ```
/// use prowess::Skill;
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().join("tidy-up");
/// # std::fs::create_dir_all(folder.join("scripts"))?;
/// # std::fs::write(folder.join("SKILL.md"), "---\nname: tidy-up\ndescription: Tidies up.\n---\nSweep.\n")?;
/// # std::fs::write(folder.join("scripts/sweep.sh"), "echo sweep\n")?;
/// let skill = Skill::load(folder)?;
/// assert_eq!(skill.describe(), "tidy-up: Tidies up.");
/// assert_eq!(skill.body(), "Sweep.");
/// assert_eq!(skill.scripts()?[0].as_str(), "scripts/sweep.sh");
/// assert!(skill.to_prompt()?.starts_with("<skill_content name=\"tidy-up\">\nSweep."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Skill {
    data: SkillData,
    home: Home,
}

/// Where the files of a skill are.
#[derive(Clone, Debug)]
enum Home {
    /// It has none.
    Text,
    /// Beside this SKILL.md.
    Folder(PathBuf),
    /// In a source of a registry.
    Registry(Arc<Registry>, Arc<Candidate>),
}

impl Skill {
    /// Loads a skill from its folder or its SKILL.md. A leading `~` is expanded to the user's
    /// home folder.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SkillsError> {
        Self::load_judged(path, &Profile::lenient())
    }

    /// Loads a skill, and fails if the profile finds an error.
    pub fn load_judged(path: impl AsRef<Path>, profile: &Profile) -> Result<Self, SkillsError> {
        let path = env::place(path.as_ref());
        let file = if path.is_dir() {
            let names = walk::FILE_NAMES.map(|name| path.join(name));
            let found = names.into_iter().find(|file| file.symlink_metadata().is_ok());
            found.ok_or(SourceErrorKind::NoSkill.at(path))?
        } else {
            path
        };
        let document = read::read_skill(&file)?.document();
        let found = walk::SkillFile { path: file };
        let listing = read::list(found.folder())?;
        let entry = document.load(&found.origin(), Some(&listing.manifest), profile)?;
        Ok(Self { data: SkillData::new(entry, document.body()), home: Home::Folder(found.path) })
    }

    /// Reads a skill from the text of a SKILL.md. It has no files.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        Self::parse_judged(text, &Profile::lenient())
    }

    /// Reads a skill from a text, and fails if the profile finds an error.
    pub fn parse_judged(text: &str, profile: &Profile) -> Result<Self, LoadError> {
        let document = parse(text.as_bytes());
        let entry = document.load(&Origin::text("<text>"), None, profile)?;
        Ok(Self::new(entry, document.body()))
    }

    /// A skill that a program makes: see [`Entry::builder`]. It has no files.
    pub fn new(entry: Entry, body: &str) -> Self {
        SkillData::new(entry, body).into()
    }

    /// A skill of a registry, read now.
    pub(super) fn of_registry(registry: &Arc<Registry>, skill: Arc<Candidate>) -> Result<Self, SkillsError> {
        let body = registry.document_of(&skill)?.body().to_owned();
        let data = SkillData::new(skill.entry.clone(), &body);
        Ok(Self { data, home: Home::Registry(Arc::clone(registry), skill) })
    }

    /// Its entry: name, description and the other fields.
    pub fn entry(&self) -> &Entry {
        &self.data.entry
    }

    /// Whether nothing prevents its use: it is trusted, and not turned off. Always true for a skill that was loaded from
    /// a folder or made from text. The policy of a chat may still hide it.
    pub fn is_usable(&self) -> bool {
        match &self.home {
            Home::Text | Home::Folder(_) => true,
            Home::Registry(_, skill) => skill.is_usable(),
        }
    }

    /// The instructions, without the blank lines around them.
    pub fn body(&self) -> &str {
        &self.data.instructions
    }

    /// The entry and the instructions as plain data.
    pub fn data(&self) -> &SkillData {
        &self.data
    }

    /// The skill whose files it has, for a registry that holds its text.
    pub(crate) fn beside(&self) -> Result<Option<Beside>, SourceError> {
        match &self.home {
            Home::Text => Ok(None),
            Home::Folder(file) => {
                let options = ScanOptions { max_depth: 0, ..ScanOptions::unbounded() };
                let source = DirSource::new(file.parent().unwrap_or(file), options);
                let listed = source.list()?.skills;
                let mut listed = listed.into_iter();
                let found =
                    listed.find(|found| found.entry.origin.location.path().map(Path::new) == Some(file));
                let skill = found.map(|found| Arc::new(Candidate::build(*found, Decision::default())));
                Ok(skill.map(|skill| Beside { source: Arc::new(source), skill }))
            }
            Home::Registry(registry, skill) => Ok(registry.beside(skill)),
        }
    }

    /// The path of its SKILL.md, when it is a file on this machine.
    pub fn path(&self) -> Option<&Path> {
        match &self.home {
            Home::Text => None,
            Home::Folder(file) => Some(file),
            Home::Registry(_, skill) => {
                skill.entry.origin.location.path().map(Path::new).filter(|path| path.is_absolute())
            }
        }
    }

    /// Its folder, when it is on this machine.
    pub fn folder(&self) -> Option<&Path> {
        self.path().and_then(Path::parent)
    }

    /// Lists the skill's files. Empty for a skill made from text.
    pub fn files(&self) -> Result<Manifest, SkillsError> {
        Ok(match &self.home {
            Home::Text => Manifest::default(),
            Home::Folder(file) => read::list(file.parent().unwrap_or(file))?.manifest,
            Home::Registry(registry, skill) => registry.files_of(skill)?,
        })
    }

    /// The files below `scripts/`.
    pub fn scripts(&self) -> Result<Vec<RelPath>, SkillsError> {
        Ok(self.groups()?.scripts)
    }

    /// The files below `references/`.
    pub fn references(&self) -> Result<Vec<RelPath>, SkillsError> {
        Ok(self.groups()?.references)
    }

    /// The files below `assets/`.
    pub fn assets(&self) -> Result<Vec<RelPath>, SkillsError> {
        Ok(self.groups()?.assets)
    }

    fn groups(&self) -> Result<Groups, SkillsError> {
        Ok(Groups::of(&self.files()?, true))
    }

    /// Bytes of one of its files. No path and no link leads out of the skill.
    pub fn read(&self, path: &RelPath, slice: Slice) -> Result<Chunk, SkillsError> {
        Ok(match &self.home {
            Home::Text => {
                let own = &self.entry().origin.location;
                return Err(SourceErrorKind::Missing.at_file(own, path.as_str()).into());
            }
            Home::Folder(own) => {
                let folder = own.parent().unwrap_or(own);
                let file = SkillFolder::first_seen(folder)?.file(path)?;
                sandbox::read_slice(file, &folder.join(path.as_str()), slice)?
            }
            Home::Registry(registry, skill) => registry.read(skill, path, slice)?,
        })
    }

    /// The text that gives the skill to a model: its instructions in a wrapper they cannot close, its folder, and the
    /// list of its files. Neither trust nor a policy is asked: check [`Skill::is_usable`], or activate it in a
    /// [`Chat`](crate::Chat).
    pub fn to_prompt(&self) -> Result<String, SkillsError> {
        self.to_prompt_with(&Options::default())
    }

    /// The text that a session with these options gives to a model: [`Options::inline_resources`] shows the contents of
    /// the files, [`Options::show_folders`] the folder, and [`Options::activation`] has the rest.
    pub fn to_prompt_with(&self, options: &Options) -> Result<String, SkillsError> {
        let style = &options.activation;
        let files = self.files()?;
        let mut shown: Vec<(RelPath, Vec<u8>)> = Vec::new();
        if options.inline_resources {
            for path in style.inlined(&files, options.max_activation_bytes) {
                let bytes = self.read(&path, Slice::first(style.max_inline_bytes.saturating_add(1)))?.bytes;
                shown.push((path, bytes));
            }
        }
        let shown: Vec<Inlined<'_>> =
            shown.iter().map(|(path, bytes)| Inlined { path: path.clone(), bytes }).collect();
        let folder = self.folder().filter(|_| options.show_folders).and_then(Path::to_str);
        Ok(Activation::new(self.entry(), self.body(), folder, &files, &shown, style).text())
    }

    /// The key and the description in one line, with hidden characters made visible.
    pub fn describe(&self) -> String {
        let Entry { key, description, .. } = self.entry();
        visible(&collapse(&format!("{key}: {description}"))).into_owned()
    }

    /// The fields in the specification's form, then `instructions` and, when there is one, `path`.
    pub fn to_json(&self) -> Value {
        Value::Object(self.data.to_dict())
    }

    /// A SKILL.md that reads back as this skill.
    pub fn to_markdown(&self) -> String {
        self.data.to_markdown()
    }
}

impl From<SkillData> for Skill {
    fn from(data: SkillData) -> Self {
        Self { data, home: Home::Text }
    }
}
