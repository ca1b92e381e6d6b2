//! Strict hosts: a skill that a profile judges to have an error is not offered, whatever source it comes from.

use prowess_core::{Document, Found, Manifest, Obstacle, Problem, Profile, Severity, SkillData, parse};

use super::{Chunk, Slice, Source, skill_md, unread};
use crate::error::SourceError;
use crate::fs::read::Head;
use crate::source::budget::{self, Cost, ProjectBudget};

/// Judges a skill by a profile, as `prowess check` does. One with an error becomes a broken one that has every error.
///
/// The skill is read for it, with the list of its files, except where a source is not to be read before a skill is used:
/// there the frontmatter that it announces, or the entry that it listed, is judged. `remote` says whether it is one.
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
        // What is broken already says why.
        Err(_) if skill.obstacle.is_some() => {}
        Err(error) => skill.obstacle = unread(&error, &skill.entry.origin).obstacle,
    }
}

/// The errors of a skill by a profile.
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

/// What is known of a skill, as far as its source may be read. Without a list of files, only the frontmatter is known.
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
    // Asked before anything is read, since a budget that is used up stays so.
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
