//! The skills of several sources. Each version of a repository is fetched once, so that all of its skills are from one
//! commit.

use super::contents::skills_below;
use super::{Claim, Fetcher, InstallSource, Located, OpenSource, Refusal};
use crate::install::error::{InstallError, Relock};
use crate::install::prepare::Prepared;
use crate::install::records::Upstream;

impl Fetcher {
    /// The skill that each of several entries of `skills.toml` names, in their order. `opening` is called for each source
    /// by its index. A commit that an entry names must be on a branch or tag, unless it `is_known`.
    pub(crate) fn take_each(
        &self,
        entries: &[(&str, &InstallSource)],
        is_known: &dyn Fn(&Upstream, &str) -> bool,
        opening: &mut dyn FnMut(usize),
    ) -> Result<Vec<Prepared>, InstallError> {
        let mut located = Vec::with_capacity(entries.len());
        for (name, source) in entries {
            located.push(self.locate(source).map_err(|error| error.in_entry(name))?);
        }
        let mut taken: Vec<(usize, Prepared)> = Vec::with_capacity(entries.len());
        for (at, first) in located.iter().enumerate() {
            if taken.iter().any(|(done, _)| *done == at) {
                continue;
            }
            let others = located.iter().enumerate().skip(at + 1).filter(|(_, other)| other.is_beside(first));
            let group: Vec<(usize, &Located<'_>)> = std::iter::once((at, first)).chain(others).collect();
            for (at, _) in &group {
                opening(*at);
            }
            taken.extend(self.take_group(entries, &group, is_known)?);
        }
        taken.sort_by_key(|(at, _)| *at);
        Ok(taken.into_iter().map(|(_, skill)| skill).collect())
    }

    /// The skill that each of some sources in one place names. What must be fetched of them is fetched in one request.
    fn take_group(
        &self,
        entries: &[(&str, &InstallSource)],
        group: &[(usize, &Located<'_>)],
        is_known: &dyn Fn(&Upstream, &str) -> bool,
    ) -> Result<Vec<(usize, Prepared)>, InstallError> {
        let Some((_, first)) = group.first() else { return Ok(Vec::new()) };
        let named = |at: usize| entries.get(at).map_or("", |(name, _)| name);
        let source = self.upstream(&first.source.spec);
        let mut place = self.open(first)?;
        if let OpenSource::Git(repository) = &mut place {
            if repository.is_named_by_commit() && !is_known(&source, &repository.commit) {
                let claims = group.iter().map(|(at, located)| {
                    let skill = named(*at);
                    let relock = Relock { spec: located.source.asked.clone(), alias: Some(skill.to_owned()) };
                    Claim { skill, source: &source, commit: &repository.commit, relock }
                });
                self.check_reachable(&claims.collect::<Vec<_>>())?;
            }
            let mut folders = Vec::new();
            for (_, located) in group {
                folders.extend(skills_below(repository.as_mut(), located.start(), &self.options.find)?.0);
            }
            folders.sort_by(|a, b| a.path.cmp(&b.path));
            folders.dedup();
            let skill = first.source.spec.skill.as_deref().filter(|_| group.len() == 1);
            self.load_heads(repository, &folders, skill)?;
        }
        let mut chosen = Vec::with_capacity(group.len());
        for (at, located) in group {
            let in_entry = |error: InstallError| error.in_entry(named(*at));
            let available = self.find_in(place, located).map_err(in_entry)?;
            // Without names, one is chosen.
            for index in available.choose(&[], false).map_err(in_entry)? {
                chosen.extend(available.skills.get(index).cloned());
            }
            place = available.place;
        }
        let taken = self.take_from(&mut place, &source, chosen, Refusal::OfAll);
        let taken = taken.and_then(|skills| skills.into_iter().collect::<Result<Vec<_>, _>>());
        let taken = taken.map_err(|error| match group {
            [(at, _)] => error.of_skill(named(*at)),
            _ => error,
        })?;
        Ok(group.iter().map(|(at, _)| *at).zip(taken).collect())
    }
}
