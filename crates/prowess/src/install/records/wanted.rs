//! How a user's request is recorded in `skills.toml` and `skills.lock`, and read back.

use std::path::{Component, Path, PathBuf};

use prowess_core::{Digest, RelPath};

use super::install_target::InstallTarget;
use super::requested::Requested;
use super::skills_lock::LockedSkill;
use super::skills_toml::WantedSkill;
use super::upstream::Upstream;
use crate::env;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::plan::prepare::Prepared;
use crate::install::source::git::GitVersion;
use crate::install::spec::{InstallPlace, InstallSpec, SkillRef, checked_reference};

/// Records how a user asked for a skill: in its entry of `skills.toml`, and in the lock. `choice` is the name to choose it
/// by when a reference alone does not say which skill it is, `whole_ref` that of the branch if a tag has the same name.
pub(crate) fn record(
    skill: &mut Prepared,
    asked: &InstallSpec,
    (alias, choice, whole_ref): (Option<&str>, Option<String>, Option<&str>),
) {
    let (locked, mut wanted) = (&mut skill.locked, WantedSkill::default());
    match &asked.place {
        InstallPlace::Reference(reference) => {
            let version = reference.version.clone().or_else(|| asked.reference.clone());
            wanted.text = Some(SkillRef { version, ..reference.clone() }.to_string());
            (wanted.path, wanted.skill) = (asked.path.as_ref().map(RelPath::to_string), choice);
            locked.reference = Some(reference.full_name());
        }
        InstallPlace::Git(_) => {
            let version = || locked.requested.as_ref().map(Requested::name);
            let reference = asked.reference.as_deref().or(whole_ref).or_else(version);
            wanted.reference = reference.map(str::to_owned);
            wanted.git = locked.source.git().map(str::to_owned);
            wanted.path = locked.path.as_ref().map(RelPath::to_string);
        }
        InstallPlace::Folder(_) => {
            let from = locked.source.folder().unwrap_or_default();
            // Between the source and its skills there are no links.
            let path = match locked.path.take() {
                Some(own) if from == "." => own.to_string(),
                Some(own) => format!("{from}/{own}"),
                None => from.to_owned(),
            };
            wanted.path = Some(path.clone());
            // A folder is its own source.
            locked.source = Upstream::Folder { path };
        }
    }
    locked.name = alias.unwrap_or(&locked.name).to_owned();
    // A lock contains no control characters.
    let recordable = |text: &String| !text.chars().any(char::is_control);
    let upstream = Some(&skill.declared_name).filter(|name| **name != locked.name && recordable(name));
    locked.upstream_name = upstream.cloned();
    locked.declared_version = locked.declared_version.take().filter(recordable);
    skill.wanted = Some(wanted);
}

/// What is known of a skill that `skills.toml` names and the lock does not: its source, and the digest that the user
/// accepted.
pub(crate) fn not_locked(name: &str, wanted: &WantedSkill, digest: Option<Digest>) -> LockedSkill {
    let (source, path) = match (&wanted.git, &wanted.path) {
        (Some(url), path) => (Upstream::Git { url: url.clone() }, path.as_ref()),
        (None, Some(path)) if wanted.text.is_none() => (Upstream::Folder { path: path.clone() }, None),
        (None, path) => (Upstream::read(wanted.text.as_deref().unwrap_or_default()), path.as_ref()),
    };
    let path = path.and_then(|path| RelPath::parse(path).ok());
    LockedSkill { path, digest, ..LockedSkill::of(name, source) }
}

/// The spec of an entry of `skills.toml`. Paths in it are relative to the file's folder.
pub(crate) fn spec_of(
    place: &InstallTarget,
    name: &str,
    wanted: &WantedSkill,
) -> Result<InstallSpec, InstallError> {
    let refused = |reason: String| {
        let message = format!("skills.toml asks for something that cannot be installed: {name}: {reason}");
        InstallError::new(InstallErrorKind::Request, message, "correct the entry in skills.toml")
    };
    let below = |folder: &Path| match folder.strip_prefix("~") {
        Ok(_) => folder.to_owned(),
        Err(_) => place.relative_to().join(folder),
    };
    let mut spec = match (&wanted.text, &wanted.git, &wanted.path) {
        (Some(text), ..) => text.parse::<InstallSpec>().map_err(|error| refused(error.to_string()))?,
        (None, Some(git), _) => git.parse::<InstallSpec>().map_err(|error| refused(error.to_string()))?,
        (None, None, Some(path)) => InstallSpec::of(InstallPlace::Folder(PathBuf::from(path))),
        (None, None, None) => return Err(refused("it has neither git nor path".to_owned())),
    };
    if let InstallPlace::Folder(folder) = &spec.place {
        let own = wanted.text.is_none() || wanted.path.is_none();
        if !own || wanted.skill.is_some() || wanted.reference.is_some() {
            return Err(refused("a folder has no path, skill or ref beside it".to_owned()));
        }
        spec.place = InstallPlace::Folder(below(folder));
        return Ok(spec);
    }
    if let Some(path) = &wanted.path {
        spec.path = Some(RelPath::parse(path).map_err(|error| refused(error.to_string()))?);
    }
    spec.skill = wanted.skill.clone().or(spec.skill);
    if let Some(reference) = &wanted.reference {
        checked_reference(reference).map_err(|error| refused(error.to_string()))?;
        spec.reference = Some(reference.clone());
    }
    Ok(spec)
}

/// Whether a lock entry matches what `skills.toml` asks for. `spec` names the repository that a reference refers to.
pub(crate) fn fits(place: &InstallTarget, spec: &InstallSpec, locked: &LockedSkill) -> bool {
    match &spec.place {
        InstallPlace::Folder(folder) => {
            let base = place.relative_to();
            let recorded = locked.source.folder();
            // Written as it was recorded, which is usual and needs no look at the disk. A lock has no absolute paths.
            recorded.is_some_and(|path| Path::new(path).is_relative() && *folder == base.join(path))
                || recorded == Some(&relative(&base, &env::place(folder)))
        }
        InstallPlace::Git(url) => {
            let requested = locked.requested.as_ref();
            let path = locked.path.as_ref().map(RelPath::as_str);
            let at = match &spec.tree {
                Some(tree) => {
                    let version = requested.map(Requested::name);
                    *tree == [version, path].into_iter().flatten().collect::<Vec<_>>().join("/")
                }
                None => {
                    let upstream = locked.declared_name();
                    is_version(spec.reference.as_deref(), requested)
                        && spec.skill.as_deref().is_none_or(|skill| {
                            // A skill whose name cannot be a folder was requested by the name of its folder, and one
                            // of several with one name by its path.
                            skill == upstream
                                || skill == path.unwrap_or(".")
                                || path.is_some_and(|path| path.rsplit('/').next() == Some(skill))
                        })
                        // A folder that contains several skills, or the skill itself.
                        && spec.path.as_ref().is_none_or(|wanted| {
                            locked.path.as_ref().is_some_and(|path| path.starts_with(wanted))
                        })
                }
            };
            locked.source.git() == Some(url) && at
        }
        InstallPlace::Reference(_) => false,
    }
}

/// Whether `requested` of a lock entry is the version that a user wrote: `main`, `refs/heads/main` or a commit in capital
/// letters.
fn is_version(written: Option<&str>, requested: Option<&Requested>) -> bool {
    match (written.map(GitVersion::of), requested) {
        (None, None) => true,
        (Some(GitVersion::Named(name)), Some(requested)) => name == requested.name(),
        (Some(whole), Some(requested)) => whole.requested().as_ref() == Some(requested),
        _ => false,
    }
}

/// The organisation of a skill: that of its reference, or the owner of its repository.
pub(crate) fn org_of(locked: &LockedSkill) -> Option<String> {
    if let Some(reference) = locked.reference.as_deref().and_then(|text| text.parse::<SkillRef>().ok()) {
        return Some(reference.org);
    }
    let url = locked.source.git()?;
    let mut parts = url.trim_end_matches('/').rsplit(['/', ':']);
    parts.next();
    parts.next().filter(|owner| !owner.is_empty()).map(str::to_owned)
}

/// Whether a reference refers to a skill: it was installed by it, or has that name and organisation. The case of an
/// organisation is ignored.
pub(crate) fn is_meant(locked: &LockedSkill, skill: &SkillRef) -> bool {
    let is_it = |org: &str, name: &str| org.eq_ignore_ascii_case(&skill.org) && name == skill.name;
    let by = locked.reference.as_deref().and_then(|by| by.parse::<SkillRef>().ok());
    let named = by.is_some_and(|by| is_it(&by.org, &by.name))
        || org_of(locked).is_some_and(|org| is_it(&org, &locked.name));
    // Without a version, every version is meant.
    let version = skill.version.as_deref();
    named && version.is_none_or(|version| is_version(Some(version), locked.requested.as_ref()))
}

/// A path relative to a folder, with `/` between its parts.
pub(crate) fn relative(from: &Path, to: &Path) -> String {
    let plain = |path: &Path| -> Vec<String> {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| env::absolute(path));
        path.components()
            .filter(|part| !matches!(part, Component::RootDir))
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect()
    };
    let (from, to) = (plain(from), plain(to));
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..", from.len() - shared);
    let down = to.iter().skip(shared).map(String::as_str);
    let parts: Vec<&str> = up.chain(down).collect();
    match parts.first() {
        None => ".".to_owned(),
        // Alone, it would be the user's own folder.
        Some(&"~") => format!("./{}", parts.join("/")),
        Some(_) => parts.join("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_goes_up_to_what_is_shared_and_down_again() {
        for (from, to, expected) in [
            ("/nowhere/a/b", "/nowhere/a/c/d", "../c/d"),
            ("/nowhere/a", "/nowhere/a", "."),
            ("/nowhere/a", "/nowhere/a/b", "b"),
            ("/nowhere/a/b", "/other", "../../../other"),
            ("/nowhere/a", "/nowhere/a/~/b", "./~/b"),
            ("/nowhere/a", "/nowhere/a/~b", "~b"),
        ] {
            assert_eq!(relative(Path::new(from), Path::new(to)), expected);
        }
    }

    #[test]
    fn every_way_to_write_a_version_fits_what_the_lock_says_of_it() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        let (commit, capitals) = (format!("commit:{id}"), id.to_uppercase());
        for (written, requested) in [
            (None, None),
            (Some("main"), Some("branch:main")),
            (Some("refs/heads/main"), Some("branch:main")),
            (Some("v1"), Some("tag:v1")),
            (Some("refs/tags/v1"), Some("tag:v1")),
            (Some("refs/pull/1/head"), Some("ref:refs/pull/1/head")),
            (Some(id), Some(&*commit)),
            (Some(&*capitals), Some(&*commit)),
        ] {
            assert!(
                is_version(written, requested.map(Requested::read).as_ref()),
                "{written:?} {requested:?}"
            );
        }
        for (written, requested) in [
            (None, Some("branch:main")),
            (Some("main"), None),
            (Some("refs/heads/v1"), Some("tag:v1")),
            (Some("refs/tags/main"), Some("branch:main")),
            (Some("dev"), Some("branch:main")),
        ] {
            assert!(
                !is_version(written, requested.map(Requested::read).as_ref()),
                "{written:?} {requested:?}"
            );
        }
    }

    #[test]
    fn the_organisation_is_that_of_the_reference_or_the_owner() {
        let of = |source: &str, reference: Option<&str>| {
            let reference = reference.map(str::to_owned);
            org_of(&LockedSkill { reference, ..LockedSkill::of("x", Upstream::read(source)) })
        };
        assert_eq!(of("git+https://example.org/acme/skills.git", None).as_deref(), Some("acme"));
        assert_eq!(of("git+git@example.org:acme/skills.git", None).as_deref(), Some("acme"));
        assert_eq!(of("git+https://example.org/x/y.git", Some("@team/pdf")).as_deref(), Some("team"));
        assert_eq!(of("path+../x", None), None);
    }
}
