//! Strict hosts: a skill with an error under a profile is not offered, whatever source it comes from.

use prowess_core::{Document, Found, Manifest, Obstacle, Problem, Profile, Severity, SkillData, parse};

use super::{Chunk, Slice, Source, skill_md, unread};
use crate::error::SourceError;
use crate::fs::read::Head;
use crate::source::budget::{self, Cost, ProjectBudget};

/// Judges a skill by a profile, as `prowess check` does. One with an error becomes a broken skill with every error.
///
/// The skill and its list of files are read for this, except from a remote source, which is not read before a skill is
/// used: there the announced frontmatter, or the listed entry, is judged. `remote` says whether the source is remote.
pub(crate) fn judge(
    source: &dyn Source,
    remote: bool,
    skill: &mut Found,
    profile: &Profile,
    budget: Option<&ProjectBudget>,
) {
    if !matches!(skill.obstacle, None | Some(Obstacle::Broken { .. })) {
        return;
    }
    match errors(source, remote, skill, profile, budget) {
        Ok(problems) if problems.is_empty() => {}
        Ok(problems) => {
            skill.obstacle = Some(Obstacle::Broken { problems, profile: Some(profile.preset()) });
        }
        // A broken skill has its reason already.
        Err(_) if skill.obstacle.is_some() => {}
        Err(error) => skill.obstacle = unread(&error, &skill.entry.origin).obstacle,
    }
}

/// The errors of a skill under a profile.
fn errors(
    source: &dyn Source,
    remote: bool,
    skill: &Found,
    profile: &Profile,
    budget: Option<&ProjectBudget>,
) -> Result<Vec<Problem>, SourceError> {
    let (document, files) = known(source, remote, skill, budget)?;
    let at = &skill.entry.origin;
    let mut problems = match files {
        Some(files) => profile.check_only(&document, Some(&files), at),
        None => profile.check_frontmatter(&document, at),
    };
    problems.retain(|problem| problem.severity == Severity::Error);
    Ok(problems)
}

/// The document of a skill, as far as its source may be read. Without a list of files, it has only the frontmatter.
fn known(
    source: &dyn Source,
    remote: bool,
    skill: &Found,
    budget: Option<&ProjectBudget>,
) -> Result<(Document, Option<Manifest>), SourceError> {
    if let Some(announced) = &skill.announced {
        return Ok((parse(prowess_core::document::markdown(&announced.frontmatter, "").as_bytes()), None));
    }
    if remote {
        let entry = SkillData::new(skill.entry.clone(), "");
        return Ok((parse(entry.to_markdown().as_bytes()), None));
    }
    let at = || skill.entry.origin.location.clone();
    // Checked before anything is read, since an exhausted budget stays exhausted.
    budget::spend(budget, Cost::Read(0), at)?;
    let slice = Slice::first(prowess_core::limits::MAX_FILE_BYTES + 1);
    let Chunk { bytes, size } = source.read(skill.source_skill(), &skill_md()?, slice)?;
    budget::spend(budget, Cost::Read(bytes.len() as u64), at)?;
    let files = source.files(skill.source_skill())?;
    budget::spend(budget, Cost::Entries(files.files.len() + files.left_out.len()), at)?;
    Ok((Head { bytes, size }.document(), Some(files)))
}

/// Every reason why a skill is broken, as one text.
pub(crate) fn reasons(problems: &[Problem]) -> String {
    let errors = || problems.iter().filter(|problem| problem.severity == Severity::Error);
    let all =
        if errors().next().is_some() { errors().collect() } else { problems.iter().collect::<Vec<_>>() };
    all.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; ")
}
