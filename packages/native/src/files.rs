//! The operations without state that read files, beside those of the engine:
//!
//! | operation | input | output |
//! | --- | --- | --- |
//! | `loadPath` | `{path, judge, units}` | the skill of a folder or a SKILL.md, with its text; or `load` with its problems |
//! | `filesOfPath` | the path | the files of the skill |
//! | `filesOfFolder` | the path of a folder, with or without a SKILL.md | the files in and below it |
//! | `readPath` | see [`read_path`] | |
//! | `activationOfPath` | `{path, options}` | the text that gives it to a model |
//! | `checkPath` | `{path, judge, units}` | the problems of a folder or a SKILL.md, as `prowess check` finds them |
//! | `discover` | `{roots, recursive}` | `{skills, problems}`: the skills in the folders of some roots, each with its text, and what is left out |
//!
//! Paths may begin with `~`.

use std::path::{Path, PathBuf};

use prowess::fs::read as read_files;
use prowess::fs::walk::SkillFile;
use prowess::session::Options;
use prowess::source::Slice;
use prowess::{Document, Manifest, Preset, RelPath, Skill, SourceErrorKind};
use prowess_engine::input::{GivenOptions, Judge, Units};
use prowess_engine::{Failure, document_json, load_failure, problems_json, read};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::discover::discovered;
use crate::errors::{of_skills, of_source};

/// Runs an operation without state.
pub fn run(operation: &str, input: &str, bytes: &[u8]) -> Result<String, Failure> {
    let value = match operation {
        "loadPath" => loaded(read(input)?)?,
        "filesOfPath" => manifest_json(&listing(&Place::of(&read::<PathBuf>(input)?)?)?),
        "filesOfFolder" => manifest_json(&in_folder(&read::<PathBuf>(input)?)?),
        "activationOfPath" => activation(read(input)?)?,
        "checkPath" => checked(read(input)?)?,
        "discover" => discovered(read(input)?)?,
        other => return prowess_engine::run(other, input, bytes),
    };
    Ok(value.to_string())
}

/// Bytes of a file of the skill at a path, at most `limit` from `offset` on, and the size of the whole file. No path and
/// no link leads out of the skill.
pub fn read_path(skill: &Path, path: &str, offset: u64, limit: usize) -> Result<(Vec<u8>, u64), Failure> {
    let path = RelPath::from_request(path).map_err(|error| Failure::new("outside", error.to_string()))?;
    let skill = Skill::load(skill).map_err(of_skills)?;
    let chunk = skill.read(&path, Slice { offset, limit }).map_err(of_skills)?;
    Ok((chunk.bytes, chunk.size))
}

/// The files of a skill as JSON.
pub(crate) fn manifest_json(files: &Manifest) -> Value {
    let listed = files
        .files
        .iter()
        .map(|file| json!({"path": file.path, "size": file.size, "executable": file.executable}));
    let left_out = files.left_out.iter().map(|one| json!({"path": one.path, "leftOut": one.reason}));
    listed.chain(left_out).collect()
}

/// A SKILL.md.
struct Place {
    file: SkillFile,
}

impl Place {
    /// The SKILL.md of a folder, or the file itself. What is not there is an error: its parent is another folder.
    fn of(path: &Path) -> Result<Self, Failure> {
        let path = prowess::env::place(path);
        let metadata = path.metadata().map_err(|error| of_source(&prowess::SourceError::io(&path, error)))?;
        if !metadata.is_dir() {
            return Ok(Self { file: SkillFile { path } });
        }
        let found = ["SKILL.md", "skill.md"].map(|name| path.join(name));
        let found = found.into_iter().find(|file| file.symlink_metadata().is_ok());
        let path = found.ok_or_else(|| of_source(&SourceErrorKind::NoSkill.at(path)))?;
        Ok(Self { file: SkillFile { path } })
    }

    fn document(&self) -> Result<Document, Failure> {
        Ok(read_files::read_skill(&self.file.path).map_err(|error| of_source(&error))?.document())
    }
}

fn listing(place: &Place) -> Result<Manifest, Failure> {
    Ok(read_files::list(place.file.folder()).map_err(|error| of_source(&error))?.manifest)
}

fn in_folder(path: &Path) -> Result<Manifest, Failure> {
    let folder = prowess::env::place(path);
    let metadata = folder.metadata().map_err(|error| of_source(&prowess::SourceError::io(&folder, error)))?;
    if !metadata.is_dir() {
        return Err(of_source(&SourceErrorKind::NotFolder.at(folder)));
    }
    Ok(read_files::list(&folder).map_err(|error| of_source(&error))?.manifest)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfPath {
    path: PathBuf,
    #[serde(default)]
    judge: Judge,
    #[serde(default)]
    units: Units,
}

fn loaded(asked: OfPath) -> Result<Value, Failure> {
    let profile = asked.judge.profile(Preset::Lenient)?;
    let place = Place::of(&asked.path)?;
    let (document, files, at) = (place.document()?, listing(&place)?, place.file.origin());
    match document.load(&at, Some(&files), &profile) {
        Ok(_) => Ok(document_json(&document, &at)),
        Err(error) => Err(load_failure(&document, &error, asked.units)),
    }
}

fn checked(asked: OfPath) -> Result<Value, Failure> {
    let profile = asked.judge.profile(Preset::Spec)?;
    let place = Place::of(&asked.path)?;
    let (document, files, at) = (place.document()?, listing(&place)?, place.file.origin());
    Ok(problems_json(&document, &profile.check(&document, Some(&files), &at), asked.units))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Activation {
    path: PathBuf,
    #[serde(default)]
    options: GivenOptions,
}

fn activation(asked: Activation) -> Result<Value, Failure> {
    let skill = Skill::load(asked.path).map_err(of_skills)?;
    Ok(skill.to_prompt_with(&asked.options.over(&Options::default())?).map_err(of_skills)?.into())
}
