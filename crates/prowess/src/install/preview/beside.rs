//! The previews of skills that would be installed, beside the skills that are there.

use std::collections::BTreeMap;
use std::path::Path;

use super::{OtherNames, Preview};
use crate::env;
use crate::fs::walk::ScanOptions;
use crate::install::error::InstallError;
use crate::install::installer::Installer;
use crate::install::plan::AcceptedSkills;
use crate::install::plan::prepare::Prepared;
use crate::install::records::{InstallScope, LockedSkill, SKILLS_FOLDER};
use crate::source::{DirSource, Source as _};

impl Installer {
    /// The preview of each skill, by its name.
    pub fn previews(
        &self,
        scope: InstallScope,
        skills: &[Prepared],
    ) -> Result<Vec<(String, Preview)>, InstallError> {
        let place = self.place(scope)?;
        let records = place.read()?;
        let own = self.folders().user.as_deref().filter(|_| scope == InstallScope::Project);
        let own = own.map(|user| user.join(SKILLS_FOLDER));
        let of_user = own.as_deref().map(|own| Skills::in_folder(own, None)).unwrap_or_default();
        let own = own.unwrap_or_default();
        let within = (scope == InstallScope::Project).then_some(&*place.base);
        let of_place = Skills::in_folder(&place.base.join(SKILLS_FOLDER), within);
        let locked = || records.lock.skills().iter();
        let names = locked().map(|skill| &*skill.name).chain(of_user.folders()).chain(of_place.folders());
        let others = OtherNames::new(names.chain(skills.iter().map(Prepared::name)));
        let mut there = of_place;
        for locked in locked() {
            there.lock(locked);
        }
        for skill in skills {
            there.replace(skill);
        }
        let (accepted, here) = (AcceptedSkills::of(&place).ok(), env::absolute(Path::new(".")));
        let preview = |skill: &Prepared| {
            let name = skill.name();
            let mut preview = Preview::of(&skill.tree, name, &others);
            let hides = |names: &[&str]| -> Vec<String> {
                let hidden = of_user.called(names, None);
                hidden.map(|folder| own.join(folder).to_string_lossy().into_owned()).collect()
            };
            preview.shadows = hides(&[name, &preview.declared_name]);
            let others = locked().filter(|other| {
                // One that `skills.toml` no longer names is removed by the same command.
                let stays = records.wanted.get(&other.name).is_some();
                stays && other.name != name && other.is_from(skill.locked())
            });
            preview.installed_as = others.map(|other| other.name.clone()).collect();
            let unfetched = Some(skill.locked()).filter(|locked| !self.fetch_log().has(locked));
            preview.claimed_source =
                unfetched.map(|locked| locked.origin_from(&here, scope, &place.skill(name)));
            preview.unverified_commit.clone_from(&skill.unverified_commit);
            let accepted = accepted.as_ref().map(|all| all.elsewhere(&place.base, skill.locked()));
            preview.accepted_in = accepted.unwrap_or_default();
            preview.same_name_as = there.beside(name, &preview.declared_name);
            for nested in &mut preview.nested {
                nested.shadows = hides(&[&nested.name]);
                nested.same_name_as = there.called(&[&nested.name], Some(name)).map(str::to_owned).collect();
            }
            preview
        };
        Ok(skills.iter().map(|skill| (skill.name().to_owned(), preview(skill))).collect())
    }
}

/// The skills in a folder, by their own folders below it: those directly in it, and those inside of them. Each has the
/// names that clients see; the first one is the name in its frontmatter.
#[derive(Default)]
struct Skills(BTreeMap<String, Vec<String>>);

impl Skills {
    /// Those in a folder; none when it cannot be listed, since a preview decides nothing.
    fn in_folder(folder: &Path, within: Option<&Path>) -> Self {
        let source = DirSource::new(folder, ScanOptions::default()).with_project(within.map(Path::to_owned));
        let listing = source.list().unwrap_or_default();
        let named = listing.skills.iter().filter_map(|found| {
            let below = Path::new(found.entry.origin.location.path()?).parent()?.strip_prefix(source.root());
            let below = below.ok()?.to_str().filter(|below| !below.is_empty())?;
            let mut names = vec![found.entry.name.clone()];
            // An installed skill is listed under the name of its folder.
            names.extend(Some(below.to_owned()).filter(|below| !below.contains('/')));
            Some((below.to_owned(), names))
        });
        Self(named.collect())
    }

    /// The folders directly in it.
    fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|below| !below.contains('/'))
    }

    /// Adds an installed skill, which may be missing.
    fn lock(&mut self, locked: &LockedSkill) {
        let names = vec![locked.declared_name().to_owned(), locked.name.clone()];
        self.0.insert(locked.name.clone(), names);
    }

    /// Adds a skill that would be installed, in place of one with its name.
    fn replace(&mut self, new: &Prepared) {
        let name = new.name();
        self.0.retain(|below, _| !is_in(below, name));
        let own = vec![new.declared_name.clone(), name.to_owned()];
        for skill in new.tree().skills() {
            if let Some((folder, _)) = skill.file.rsplit_once('/') {
                self.0.insert(format!("{name}/{folder}"), vec![skill.name]);
            }
        }
        self.0.insert(name.to_owned(), own);
    }

    /// The folders of those with one of these names, except a folder and what is in it.
    fn called<'s>(&'s self, names: &'s [&str], except: Option<&'s str>) -> impl Iterator<Item = &'s str> {
        let others = self.0.iter().filter(move |(below, _)| !except.is_some_and(|own| is_in(below, own)));
        let same = others.filter(|(_, called)| called.iter().any(|called| names.contains(&&**called)));
        same.map(|(below, _)| &**below)
    }

    /// The folders of those that have the name of a skill: in the frontmatter, or for one inside another, the name that
    /// the skill is installed under.
    fn beside(&self, name: &str, declared: &str) -> Vec<String> {
        let others = self.0.iter().filter(|(below, _)| !is_in(below, name));
        let same = others.filter(|(below, called)| {
            let called = called.first().map_or("", String::as_str);
            called == declared || (below.contains('/') && called == name)
        });
        same.map(|(below, _)| below.clone()).collect()
    }
}

/// Whether a folder is another one, or in it.
fn is_in(below: &str, folder: &str) -> bool {
    below.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
