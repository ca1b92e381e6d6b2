//! [`Upstream`]: where an installed skill comes from, as the records say it.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::env;

/// How the text of a repository begins.
const GIT: &str = "git+";
/// How the text of a folder begins.
pub(crate) const FOLDER: &str = "path+";

/// Where an installed skill comes from. Its text in a lock and in JSON is `git+` and a URL, or `path+` and a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Upstream {
    /// A git repository. A lock may have been written by anyone, so the address is parsed before it is used.
    Git {
        /// Its address.
        url: String,
    },
    /// A folder.
    Folder {
        /// Its path, relative to the folder of the records, with `/` between its parts.
        path: String,
    },
    /// What `skills.toml` says of a skill that the lock does not have: a reference, or another spec.
    Unlocked {
        /// Its text, as it is written there.
        text: String,
    },
}

impl Upstream {
    /// Reads a text of a lock or of `skills.toml`, which may be any text.
    pub(crate) fn read(text: &str) -> Self {
        if let Some(url) = text.strip_prefix(GIT) {
            Self::Git { url: url.to_owned() }
        } else if let Some(path) = text.strip_prefix(FOLDER) {
            Self::Folder { path: path.to_owned() }
        } else {
            Self::Unlocked { text: text.to_owned() }
        }
    }

    /// Whether a lock may name it: a repository whose address is not an option of git, or a folder by a relative path.
    pub(crate) fn can_be_locked(&self) -> bool {
        match self {
            Self::Git { url } => !url.is_empty() && !url.starts_with('-'),
            Self::Folder { path } => !Path::new(path).is_absolute(),
            Self::Unlocked { .. } => false,
        }
    }

    /// The address of the repository.
    pub fn git(&self) -> Option<&str> {
        match self {
            Self::Git { url } => Some(url),
            _ => None,
        }
    }

    /// The path of the folder.
    pub fn folder(&self) -> Option<&str> {
        match self {
            Self::Folder { path } => Some(path),
            _ => None,
        }
    }

    /// The folder on this machine, if it is one. `base` is the real folder that paths in the records are relative to; `~`
    /// alone is the user's own.
    pub(crate) fn folder_from(&self, base: &Path) -> Option<PathBuf> {
        let folder = Path::new(self.folder()?);
        Some(env::place(&if env::is_homeless(folder) { folder.to_owned() } else { base.join(folder) }))
    }

    /// The address, the path or the text, without its kind.
    pub fn place(&self) -> &str {
        match self {
            Self::Git { url: place } | Self::Folder { path: place } | Self::Unlocked { text: place } => place,
        }
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git { url } => write!(f, "{GIT}{url}"),
            Self::Folder { path } => write!(f, "{FOLDER}{path}"),
            Self::Unlocked { text } => f.write_str(text),
        }
    }
}

impl Serialize for Upstream {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_text_says_which_kind_it_is_and_its_place_does_not() {
        let of = |upstream: Upstream| (upstream.to_string(), upstream.place().to_owned());
        let text = |text: &str, place: &str| (text.to_owned(), place.to_owned());
        let (url, path) = ("https://h.test/a+b.git", "../c++");
        assert_eq!(of(Upstream::Git { url: url.to_owned() }), text("git+https://h.test/a+b.git", url));
        assert_eq!(of(Upstream::Folder { path: path.to_owned() }), text("path+../c++", path));
        assert_eq!(of(Upstream::Unlocked { text: url.to_owned() }), text(url, url));
        for text in ["git+https://h.test/a+b.git", "path+../c++", "https://h.test/a+b.git", "svn+x", ""] {
            assert_eq!(Upstream::read(text).to_string(), text);
        }
        let json = serde_json::to_value(Upstream::Folder { path: path.to_owned() }).unwrap();
        assert_eq!(json, "path+../c++");
    }

    #[test]
    fn a_folder_whose_name_begins_with_a_tilde_is_below_the_records() {
        let of =
            |path: &str| Upstream::Folder { path: path.to_owned() }.folder_from(Path::new("/p")).unwrap();
        for (path, folder) in [("~drafts/pdf", "/p/~drafts/pdf"), ("./~/pdf", "/p/~/pdf"), ("../x", "/x")] {
            assert_eq!(of(path), Path::new(folder));
        }
        assert_eq!(of("~/pdf"), env::place(Path::new("~/pdf")));
    }

    #[test]
    fn a_lock_names_repositories_and_relative_folders_only() {
        for text in ["git+https://h.test/x.git", "git+git@h.test:x.git", "path+../x", "path+.", "path+"] {
            assert!(Upstream::read(text).can_be_locked(), "{text}");
        }
        for text in ["", "git+", "git+--upload-pack=x", "svn+x", "acme/skills", "GIT+https://h.test/x"] {
            assert!(!Upstream::read(text).can_be_locked(), "{text}");
        }
    }
}
