//! Paths as people write them: relative in the current folder, `~` for home.

use std::path::{Path, PathBuf};

use prowess::env::{self, Environment};

/// The folders that paths are shortened by.
pub(crate) struct ShortPaths {
    here: PathBuf,
    home: Option<PathBuf>,
    /// Whether paths stay whole, as files and programs want them.
    whole: bool,
}

impl ShortPaths {
    pub(crate) fn new() -> Self {
        let home = Environment::current().home().filter(|home| home.is_absolute());
        Self { here: env::absolute(Path::new(".")), home, whole: false }
    }

    /// Short paths on a screen with columns, whole ones elsewhere.
    pub(crate) fn on(columns: Option<usize>) -> Self {
        Self { whole: columns.is_none(), ..Self::new() }
    }

    /// The path, shortened; other text stays as it is.
    pub(crate) fn of(&self, path: &str) -> String {
        if self.whole {
            return path.to_owned();
        }
        let below = |folder: &Path| Path::new(path).strip_prefix(folder).ok().map(Path::to_string_lossy);
        // A home in the current folder says more than the current folder.
        let is_home_above = self.home.as_ref().is_none_or(|home| !home.starts_with(&self.here));
        let is_top = self.here.parent().is_none();
        match (below(&self.here), self.home.as_deref().and_then(below)) {
            (Some(rest), None) if !is_top && !rest.is_empty() => rest.into_owned(),
            (Some(rest), Some(_)) if is_home_above && !rest.is_empty() => rest.into_owned(),
            (_, Some(rest)) if rest.is_empty() => "~".to_owned(),
            (_, Some(rest)) => format!("~/{rest}"),
            _ => path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_people_write_them() {
        let paths =
            |here: &str| ShortPaths { here: here.into(), home: Some("/home/me".into()), whole: false };
        let here = paths("/home/me/work");
        assert_eq!(here.of("/home/me/work/.claude/skills"), ".claude/skills");
        assert_eq!(here.of("/home/me/.claude/skills"), "~/.claude/skills");
        assert_eq!([here.of("/home/me"), here.of("/home/me/work")], ["~", "~/work"]);
        assert_eq!(here.of("/home/mean/skills"), "/home/mean/skills");
        assert_eq!(here.of("https://example.com/"), "https://example.com/");
        assert_eq!(paths("/home/me").of("/home/me/.claude/skills"), "~/.claude/skills");
    }
}
