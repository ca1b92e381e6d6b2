//! What an argument that means a skill names, for every command that takes one.
//!
//! `prowess trust` alone goes by the spelling, because a repository could have a folder with the name of a skill.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess::fs::walk::FILE_NAMES;
use prowess::internal::did_you_mean;
use prowess::{Candidate, Catalog, Location, Standing};

use super::{Purpose, STDIN, skill_file, unread_registry};
use crate::args::Places;
use crate::error::{CommandError, Failure};
use crate::explain::left_out::LeftOutBy;
use crate::explain::missing::{built_in, near_built_in};

/// What an argument names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SkillArg<'a> {
    /// Standard input.
    Stdin,
    /// A skill by its key or name, or by the name of its folder.
    Name(&'a str),
    /// A SKILL.md, or a folder.
    Path(&'a Path),
    /// A skill of an MCP server, such as `mcp:team:skill://refunds/SKILL.md`.
    Location(Location),
}

/// What a bare word means that is the name of a file or folder here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefer {
    /// That file or folder, for commands about files.
    Path,
    /// The skill of that name, for commands about listed skills.
    Name,
}

/// What an argument names among the skills of a catalog.
pub(crate) enum Resolved<'c> {
    /// A skill, with its state: the offered one, or the first of those that are not offered.
    One(&'c Candidate, &'c Standing),
    /// Several offered skills with one name, by their keys.
    Several(Vec<String>),
    /// No skill.
    None,
}

impl<'a> SkillArg<'a> {
    /// Reads an argument. What begins as a path does is one. Anything else is a path if it exists, and else a name, which
    /// may contain dots and slashes; for a bare word that exists, the command decides.
    pub(crate) fn read(argument: &'a Path, prefer: Prefer) -> Self {
        let Some(word) = argument.to_str() else { return Self::Path(argument) };
        if word == STDIN {
            return Self::Stdin;
        }
        if is_server_location(word) {
            return Self::Location(Location::parse(word));
        }
        let is_bare = !word.contains(['/', '\\']);
        let exists = || argument.symlink_metadata().is_ok();
        if begins_as_path(word) || (!(is_bare && prefer == Prefer::Name) && exists()) {
            return Self::Path(argument);
        }
        Self::Name(word)
    }

    /// What it names in a catalog, for a command that takes one skill.
    pub(crate) fn resolve<'c>(&self, catalog: &'c Catalog) -> Resolved<'c> {
        if let Self::Name(name) = self
            && let Some(skill) = catalog.get(name)
        {
            return Resolved::One(skill, &Standing::Listed);
        }
        let found = self.matching(catalog);
        let offered = || found.iter().filter(|(_, standing)| **standing == Standing::Listed);
        match offered().next().or(found.first()) {
            Some(_) if matches!(self, Self::Name(_)) && offered().count() > 1 => {
                Resolved::Several(offered().map(|(skill, _)| skill.entry.key.clone()).collect())
            }
            Some((skill, standing)) => Resolved::One(skill, standing),
            None => Resolved::None,
        }
    }

    /// The failure of a command that takes files and skills, and finds none: what leaves the skill out, or what was
    /// probably meant.
    pub(crate) fn unknown(&self, name: &str, catalog: &Catalog, places: &Places) -> Failure {
        if let Some(left_out) = LeftOutBy::of(self, places) {
            return left_out.failure(name);
        }
        let mut near = catalog.similar(name);
        near.extend(near_built_in(name, places));
        near.dedup();
        let meant = did_you_mean(&near).map(|meant| format!("; {meant}")).unwrap_or_default();
        let error = format!("there is no such file, folder or skill: {name}{meant}");
        let hint = format!("check the spelling, or list the skills with: prowess list{}", places.options());
        Failure::new(error, hint)
    }

    /// The skills of a catalog that it names, with their states. A path names the skill in its file, by whatever link it
    /// was found; so does a word that is no name.
    pub(crate) fn matching<'c>(&self, catalog: &'c Catalog) -> Vec<(&'c Candidate, &'c Standing)> {
        match self {
            Self::Stdin => Vec::new(),
            Self::Name(name) => match catalog.why(name) {
                found if found.is_empty() => at_path(Path::new(name), catalog),
                found => found,
            },
            // A skill may call itself `../x`.
            Self::Path(path) => match (at_path(path, catalog), path.to_str()) {
                (found, Some(name)) if found.is_empty() => catalog.why(name),
                (found, _) => found,
            },
            Self::Location(location) => {
                catalog.all().filter(|(skill, _)| skill.entry.origin.location == *location).collect()
            }
        }
    }

    /// The SKILL.md that it leads to without a catalog, if there is one.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        match self {
            Self::Name(name) => file_at(Path::new(name)),
            Self::Path(path) => file_at(path),
            Self::Stdin | Self::Location(_) => None,
        }
    }
}

/// Whether a text can only be a path.
pub(crate) fn begins_as_path(text: &str) -> bool {
    let begins = ["./", "../", ".\\", "..\\", "~"].iter().any(|start| text.starts_with(start));
    text.is_empty() || matches!(text, "." | "..") || begins || Path::new(text).is_absolute()
}

/// Whether this is the location of a skill of a server.
pub(crate) fn is_server_location(text: &str) -> bool {
    matches!(Location::parse(text), Location::Mcp { .. })
}

/// The SKILL.md that a path leads to, or the one in the folder at the path.
fn file_at(path: &Path) -> Option<PathBuf> {
    let is_file = FILE_NAMES.iter().any(|name| path.ends_with(name)) && path.is_file();
    if is_file { Some(Path::new(".").join(path)) } else { skill_file(path) }
}

/// The skills whose file is at a path.
fn at_path<'c>(path: &Path, catalog: &'c Catalog) -> Vec<(&'c Candidate, &'c Standing)> {
    let Some(real) = file_at(path).and_then(|file| fs::canonicalize(file).ok()) else { return Vec::new() };
    let is_it = |path: &str| fs::canonicalize(path).is_ok_and(|path| path == real);
    catalog.all().filter(|(skill, _)| skill.entry.origin.location.path().is_some_and(is_it)).collect()
}

/// The files of skills by their names, for commands that read files. The skills are found when the first name is asked
/// for, and no server is asked.
#[derive(Default)]
pub(crate) struct FilesByName(OnceCell<Arc<Catalog>>);

impl FilesByName {
    fn catalog(&self) -> Result<&Catalog, CommandError> {
        if let Some(catalog) = self.0.get() {
            return Ok(catalog);
        }
        let (registry, _) = unread_registry(&Places::default(), Purpose::Look, None)?;
        registry
            .refresh_local()
            .map_err(|error| Failure::new(error.to_string(), "list the skills with: prowess list --all"))?;
        Ok(self.0.get_or_init(|| registry.catalog()))
    }

    /// The SKILL.md of the skill with a name; the offered one of several.
    pub(crate) fn file(&self, arg: &SkillArg<'_>) -> Result<Option<PathBuf>, CommandError> {
        let mut found = self.files(arg)?;
        Ok(if found.is_empty() { None } else { Some(found.swap_remove(0)) })
    }

    /// How many other skills have the name of the one with this file. A file that several links lead to is one skill.
    pub(crate) fn others(&self, arg: &SkillArg<'_>, file: &Path) -> Result<usize, CommandError> {
        let real = |file: &Path| fs::canonicalize(file).ok();
        let mut files: BTreeSet<PathBuf> = self.files(arg)?.iter().filter_map(|file| real(file)).collect();
        files.remove(&real(file).unwrap_or_default());
        Ok(files.len())
    }

    /// The failure of a name that no skill with a file has.
    pub(crate) fn unknown(&self, name: &str) -> Result<Failure, CommandError> {
        let places = Places::default();
        if let Some(failure) = built_in(name, &places) {
            return Ok(failure);
        }
        let failure = SkillArg::Name(name).unknown(name, self.catalog()?, &places);
        Ok(Failure { path: Some(name.to_owned()), ..failure })
    }

    /// The files of the skills that an argument names, that of the offered one first.
    fn files(&self, arg: &SkillArg<'_>) -> Result<Vec<PathBuf>, CommandError> {
        let SkillArg::Name(_) = arg else { return Ok(Vec::new()) };
        let mut found = arg.matching(self.catalog()?);
        found.sort_by_key(|(_, standing)| **standing != Standing::Listed);
        let file = |(skill, _): (&Candidate, &Standing)| {
            // A skill in an archive has a path inside of that.
            skill
                .entry
                .origin
                .location
                .path()
                .map(PathBuf::from)
                .filter(|file| file.symlink_metadata().is_ok())
        };
        Ok(found.into_iter().filter_map(file).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_dots_or_slashes_is_a_name_unless_it_is_a_path() {
        let read = |text: &'static str, prefer| SkillArg::read(Path::new(text), prefer);
        for name in ["pdf", "a.b", "a.md", "team/pdf", "team:pdf", "..."] {
            assert_eq!(read(name, Prefer::Path), SkillArg::Name(name));
            assert_eq!(read(name, Prefer::Name), SkillArg::Name(name));
        }
        for path in [".", "..", "./pdf", "../pdf", "/pdf", "~/pdf", "src/lib.rs", "src/main.rs", ""] {
            let exists = Path::new(path).exists() || begins_as_path(path);
            let expected = if exists { SkillArg::Path(Path::new(path)) } else { SkillArg::Name(path) };
            assert_eq!(read(path, Prefer::Name), expected);
        }
        // Tests run in the folder of the crate.
        assert_eq!(read("src", Prefer::Path), SkillArg::Path(Path::new("src")));
        assert_eq!(read("src", Prefer::Name), SkillArg::Name("src"));
        assert_eq!(read("-", Prefer::Path), SkillArg::Stdin);
        let server = "mcp:team:skill://refunds/SKILL.md";
        assert_eq!(read(server, Prefer::Path), SkillArg::Location(Location::parse(server)));
    }
}
