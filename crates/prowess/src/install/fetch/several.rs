//! The skills of several sources. Each version of a repository is fetched once, so that all of its skills are from one
//! commit.

use super::contents::skills_below;
use super::{Claim, FetchedSkill, Fetcher, FoundSkill, Located, OpenSource};
use crate::install::error::{InstallError, Relock};
use crate::install::records::Upstream;
use crate::install::spec::InstallSpec;

impl Fetcher {
    /// The skills that each of several entries of `skills.toml` names, in their order. `opening` is called for each source
    /// by its index. A commit that an entry names must be on a branch or tag, unless it `is_known`.
    pub(crate) fn take_each(
        &self,
        asked: &[(&str, &InstallSpec)],
        is_known: &dyn Fn(&Upstream, &str) -> bool,
        opening: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<FetchedSkill>>, InstallError> {
        let mut located = Vec::with_capacity(asked.len());
        for (name, spec) in asked {
            located.push(self.locate(spec).map_err(|error| error.in_entry(name))?);
        }
        let mut taken: Vec<(usize, Vec<FetchedSkill>)> = Vec::new();
        for (at, first) in located.iter().enumerate() {
            if taken.iter().any(|(done, _)| *done == at) {
                continue;
            }
            let others = located.iter().enumerate().skip(at + 1).filter(|(_, other)| other.is_beside(first));
            let group: Vec<(usize, &Located<'_>)> = std::iter::once((at, first)).chain(others).collect();
            for (at, _) in &group {
                opening(*at);
            }
            taken.extend(self.take_group(asked, &group, is_known)?);
        }
        taken.sort_by_key(|(at, _)| *at);
        Ok(taken.into_iter().map(|(_, skills)| skills).collect())
    }

    /// The skills that sources in one place name. What must be fetched of them is fetched in one request.
    fn take_group(
        &self,
        asked: &[(&str, &InstallSpec)],
        group: &[(usize, &Located<'_>)],
        is_known: &dyn Fn(&Upstream, &str) -> bool,
    ) -> Result<Vec<(usize, Vec<FetchedSkill>)>, InstallError> {
        let Some((_, first)) = group.first() else { return Ok(Vec::new()) };
        let source = self.upstream(&first.spec);
        let mut place = self.open(first)?;
        if let OpenSource::Git(repository) = &mut place {
            if repository.is_named_by_commit() && !is_known(&source, &repository.commit) {
                let claims = group.iter().filter_map(|(at, _)| {
                    let (name, asked) = asked.get(*at)?;
                    let relock = Relock { spec: (*asked).clone(), alias: Some((*name).to_owned()) };
                    Some(Claim { skill: name, source: &source, commit: &repository.commit, relock })
                });
                self.check_reachable(&claims.collect::<Vec<_>>())?;
            }
            let mut folders = Vec::new();
            for (_, located) in group {
                folders.extend(skills_below(repository.as_mut(), located.start(), &self.options.find)?.0);
            }
            folders.sort_by(|a, b| a.path.cmp(&b.path));
            folders.dedup();
            let skill = first.spec.skill.as_deref().filter(|_| group.len() == 1);
            self.load_heads(repository, &folders, skill)?;
        }
        let mut chosen = Vec::new();
        for (at, located) in group {
            let named = |error: InstallError| match asked.get(*at) {
                Some((name, _)) => error.in_entry(name),
                None => error,
            };
            let found = self.find_in(place, located).map_err(named)?;
            for index in found.choose(&[], false).map_err(named)? {
                chosen.extend(found.skills.get(index).map(|skill| (*at, skill.clone())));
            }
            place = found.place;
        }
        let (owners, skills): (Vec<usize>, Vec<FoundSkill>) = chosen.into_iter().unzip();
        let fetched = self.take_from(&mut place, &source, skills).map_err(|error| match group {
            [(at, _)] => error.of_skill(asked.get(*at).map_or("", |(name, _)| name)),
            _ => error,
        })?;
        let mut taken: Vec<(usize, Vec<FetchedSkill>)> =
            group.iter().map(|(at, _)| (*at, Vec::new())).collect();
        for (owner, skill) in owners.into_iter().zip(fetched) {
            taken
                .iter_mut()
                .filter(|(at, _)| *at == owner)
                .for_each(|(_, skills)| skills.push(skill.clone()));
        }
        Ok(taken)
    }
}
