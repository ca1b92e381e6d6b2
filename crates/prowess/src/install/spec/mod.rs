//! [`InstallSpec`]: where a skill is installed from, as users write it.

mod address;
mod checks;
mod reference;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use prowess_core::RelPath;

use self::address::github;
pub(crate) use self::address::{folder_of, host_of, is_on_this_machine, without_credentials};
pub(crate) use self::checks::checked_reference;
use self::checks::{Refusal, check_reference, check_skill};
pub use self::reference::{SkillRef, is_local_path};
use super::error::InstallError;

/// The longest text that is read, in bytes.
const MAX_TEXT: usize = 4096;

/// Where the skills are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstallPlace {
    /// A folder on this machine, verbatim: it may be relative, or have a leading `~`.
    Folder(PathBuf),
    /// A git repository, by an address that git understands.
    Git(String),
    /// A skill by organisation and name. A configured mapping gives its repository.
    Reference(SkillRef),
}

/// Where a skill is installed from: a place, and optionally a folder in it, a skill and a version.
///
/// | text | meaning |
/// | --- | --- |
/// | `./skills/pdf`, `../pdf`, `/srv/pdf`, `~/pdf` | a folder |
/// | `owner/repo`, `owner/repo/folder@skill#ref` | a repository on GitHub |
/// | `https://host/x.git`, `ssh://git@host/x.git`, `git@host:x.git`, `file:///srv/x.git`, each perhaps with `#ref` | a git repository |
/// | `https://github.com/owner/repo/tree/REF/folder`, `https://host/group/repo/-/tree/REF/folder` | a folder of a repository |
/// | `@org/name`, `@org/name@version` | a reference |
///
/// ```
/// use prowess::install::{InstallPlace, InstallSpec};
///
/// let spec: InstallSpec = "acme/skills/tools@pdf#v2".parse()?;
/// assert_eq!(spec.place, InstallPlace::Git("https://github.com/acme/skills.git".to_owned()));
/// assert_eq!(spec.path.as_ref().map(|path| path.as_str()), Some("tools"));
/// assert_eq!((spec.skill.as_deref(), spec.reference.as_deref()), (Some("pdf"), Some("v2")));
/// assert_eq!(spec.to_string(), "acme/skills/tools@pdf#v2");
/// # Ok::<(), prowess::install::InstallError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct InstallSpec {
    /// Where the skills are.
    pub place: InstallPlace,
    /// The folder in the repository to search; none for all of it.
    pub path: Option<RelPath>,
    /// The name of the skill; none leaves the choice open.
    pub skill: Option<String>,
    /// A branch, a tag or a commit; none for the default branch.
    pub reference: Option<String>,
    /// The text after `/tree/` in the address of a folder: a ref, and optionally a path. Both may contain slashes, so
    /// only the refs of the repository show where one ends and the other begins.
    pub tree: Option<String>,
}

impl InstallSpec {
    /// A spec for all skills of a place.
    pub fn of(place: InstallPlace) -> Self {
        Self { place, path: None, skill: None, reference: None, tree: None }
    }
}

impl FromStr for InstallSpec {
    type Err = InstallError;

    fn from_str(text: &str) -> Result<Self, InstallError> {
        if SkillRef::is_meant_by(text) {
            let skill: SkillRef = text.parse()?;
            let version = skill.version.as_deref().map(check_reference).transpose();
            version.map_err(|refusal| refusal.error(text))?;
            return Ok(Self::of(InstallPlace::Reference(skill)));
        }
        read(text).map_err(|refusal| refusal.error(text))
    }
}

fn read(text: &str) -> Result<InstallSpec, Refusal> {
    if text.is_empty() {
        return Err(Refusal::EMPTY);
    }
    if text.len() > MAX_TEXT {
        return Err(Refusal::TOO_LONG);
    }
    if text.chars().any(char::is_control) {
        return Err(Refusal::CONTROL);
    }
    if text.starts_with('-') {
        return Err(Refusal::DASH);
    }
    if is_folder(text) {
        return Ok(InstallSpec::of(InstallPlace::Folder(PathBuf::from(text))));
    }
    if let Some((transport, _)) = text.split_once("::")
        && transport.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
    {
        return Err(Refusal::TRANSPORT);
    }
    match text.split_once("://") {
        Some((scheme, rest)) => address::url(scheme, rest),
        None if address::is_scp(text) => address::scp(text),
        None => short(text),
    }
}

/// Whether a text is a path on this machine, also one that [`is_local_path`] does not recognize.
fn is_folder(text: &str) -> bool {
    is_local_path(text)
        || [".", "..", "~"].contains(&text)
        || text.starts_with("~/")
        || (cfg!(windows) && (Path::new(text).is_absolute() || text.starts_with(".\\")))
}

/// `owner/repo[/path][@skill][#ref]`.
fn short(text: &str) -> Result<InstallSpec, Refusal> {
    let (rest, reference) = with_reference(text)?;
    let (full, skill) = match rest.rsplit_once('@') {
        // An @ in the middle of a path is a part of it.
        Some((full, skill)) if !skill.contains('/') => (full, Some(check_skill(skill)?)),
        _ => (rest, None),
    };
    let (owner, below) = full.split_once('/').ok_or(Refusal::SHORT)?;
    if full.contains(':') || owner.contains('.') {
        return Err(Refusal::GUESS);
    }
    let (repo, path) = below.split_once('/').map_or((below, None), |(repo, path)| (repo, Some(path)));
    let place = InstallPlace::Git(address::on_github(owner, repo).ok_or(Refusal::SHORT)?);
    let path = path.map(RelPath::parse).transpose().map_err(Refusal::path)?;
    Ok(InstallSpec { path, skill, reference, ..InstallSpec::of(place) })
}

/// The text before a `#`, and the ref after it.
fn with_reference(text: &str) -> Result<(&str, Option<String>), Refusal> {
    match text.split_once('#') {
        Some((rest, reference)) => Ok((rest, Some(check_reference(reference)?.to_owned()))),
        None => Ok((text, None)),
    }
}

/// A parsed text is written so that it parses to the same spec. A folder or a skill in a repository that is not on
/// GitHub has no short form, and is written in parentheses for users.
impl fmt::Display for InstallSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = match &self.place {
            InstallPlace::Folder(path) => {
                let text = path.display().to_string();
                let dot = if is_folder(&text) || path.is_absolute() { "" } else { "./" };
                return write!(f, "{dot}{text}");
            }
            InstallPlace::Reference(skill) => return skill.fmt(f),
            InstallPlace::Git(url) => url,
        };
        if let Some(tree) = &self.tree {
            let page = url.strip_suffix(".git").unwrap_or(url);
            let between = if github(url).is_some() { "tree" } else { "-/tree" };
            return write!(f, "{page}/{between}/{}", address::encoded(tree));
        }
        let short = github(url);
        f.write_str(short.unwrap_or(url))?;
        if short.is_some() {
            if let Some(path) = &self.path {
                write!(f, "/{path}")?;
            }
            if let Some(skill) = &self.skill {
                write!(f, "@{skill}")?;
            }
        }
        if let Some(reference) = &self.reference {
            write!(f, "#{reference}")?;
        }
        let rest: Vec<&str> =
            self.path.as_ref().map(RelPath::as_str).into_iter().chain(self.skill.as_deref()).collect();
        if short.is_none() && !rest.is_empty() {
            write!(f, " ({})", rest.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
