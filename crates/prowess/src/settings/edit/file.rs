//! A configuration file that is edited: read as text, kept inside its project, replaced only if nothing else changed it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::advice::Hint;
use crate::env;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::atomic::{self, WriteError};
use crate::fs::inside::{self, LeadsOut};
use crate::fs::parsed::ParsedLimits;
use crate::library::clients;
use crate::settings::read::line_of;

/// How often a change is tried when the file changes at the same time.
pub(crate) const TRIES: usize = 3;

/// How long a file that is empty or was just written must stay as it is before it is edited. A program that writes its
/// configuration in place truncates the file first, and an entry that is written then would replace all that the program is
/// writing.
const QUIET: Duration = Duration::from_millis(200);

/// A file that was written longer ago is not being written.
const JUST_WRITTEN: Duration = Duration::from_secs(1);

/// How often a file is looked at, if it changes every time.
const LOOKS: usize = 10;

/// A file that is edited; it need not exist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EditedFile<'f> {
    pub(crate) file: &'f Path,
    /// The folder of the project that the file must not lead out of.
    pub(crate) within: Option<&'f Path>,
    pub(crate) limits: ParsedLimits,
}

/// Why a file cannot be edited.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditedFileError {
    /// It could not be read.
    #[error("could not read the configuration")]
    Read(#[from] SourceError),
    /// It is not text.
    #[error("the configuration is not UTF-8: {}:{line}", .file.display())]
    NotText {
        /// The file.
        file: PathBuf,
        /// The first line that is not.
        line: usize,
    },
    /// Another program is writing it.
    #[error("another program is writing the configuration: {}", .file.display())]
    Busy {
        /// The file.
        file: PathBuf,
    },
    /// A link leads to nothing.
    #[error("the configuration is a link that leads nowhere: {}: {}", .link.display(), .target.display())]
    Dangling {
        /// The link: the file, or a folder above it.
        link: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// A link of a project leads out of it, or into its `.git`.
    #[error(transparent)]
    Outside(LeadsOut),
}

impl EditedFileError {
    /// What to do about it.
    pub fn hint(&self) -> Hint {
        match self {
            Self::Read(error) => error.hint(),
            Self::NotText { .. } => "save the file as UTF-8; nothing was changed".into(),
            Self::Busy { .. } => {
                "wait for the other program, then run the command again; nothing was changed".into()
            }
            Self::Dangling { .. } => {
                "create what it leads to, or remove the link; nothing was changed".into()
            }
            Self::Outside(out) if out.into_git => Hint::from(out.hint()).after("; nothing was changed"),
            Self::Outside(_) => "edit the target of the link itself; nothing was changed".into(),
        }
    }

    /// Whether the file has more bytes than may be edited.
    pub fn is_too_large(&self) -> bool {
        matches!(self, Self::Read(SourceError { kind: SourceErrorKind::TooLarge { .. }, .. }))
    }
}

impl EditedFile<'_> {
    /// The text of the file; `None` if there is none. This waits for a program that writes the file in place.
    pub(crate) fn read(self) -> Result<Option<String>, EditedFileError> {
        self.read_after(std::thread::sleep)
    }

    /// Reads the file; `pause` waits, and tests act in it as another program.
    fn read_after(self, mut pause: impl FnMut(Duration)) -> Result<Option<String>, EditedFileError> {
        for _ in 0..LOOKS {
            let before = self.state();
            let text = self.read_once()?;
            let is_old =
                before.is_some_and(|(_, written)| written.elapsed().is_ok_and(|age| age > JUST_WRITTEN));
            if text.as_ref().is_none_or(|text| !text.is_empty() && is_old) {
                return Ok(text);
            }
            pause(QUIET);
            if before.is_some() && self.state() == before {
                return Ok(text);
            }
        }
        Err(EditedFileError::Busy { file: self.file.to_owned() })
    }

    /// Differs once the file has been written or replaced.
    fn state(self) -> Option<(u64, SystemTime)> {
        let found = fs::metadata(self.file).ok()?;
        Some((found.len(), found.modified().ok()?))
    }

    fn read_once(self) -> Result<Option<String>, EditedFileError> {
        if self.file.symlink_metadata().is_err_and(|error| is_missing(&error)) {
            return Ok(None);
        }
        match String::from_utf8(self.limits.read(self.file)?) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(EditedFileError::NotText { file: self.file.to_owned(), line: line_of(&error) }),
        }
    }

    /// The file without links, as far as its path exists. In a project it must be in the project: a repository could
    /// contain a link to a file of the user.
    pub(crate) fn real(self) -> Result<PathBuf, EditedFileError> {
        // A link that leads out is refused whether it leads to anything or not.
        if let Some(project) = self.within
            && let Some(out) = inside::leads_out(self.file, clients::project(project))
        {
            return Err(EditedFileError::Outside(out));
        }
        let unread = |error| SourceError::io(self.file, error);
        let mut real = self.file.to_owned();
        for above in self.file.ancestors() {
            match above.symlink_metadata() {
                Ok(found) => {
                    let place = match fs::canonicalize(above) {
                        Err(error) if found.is_symlink() && is_missing(&error) => {
                            let target = fs::read_link(above).unwrap_or_default();
                            return Err(EditedFileError::Dangling { link: above.to_owned(), target });
                        }
                        place => place.map_err(unread)?,
                    };
                    let below = self.file.strip_prefix(above).unwrap_or(Path::new(""));
                    real = if below.as_os_str().is_empty() { place } else { place.join(below) };
                    break;
                }
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(unread(error).into()),
            }
        }
        Ok(real)
    }

    /// Replaces the text of the file, if it is still the one that was read.
    pub(crate) fn replace(self, before: &str, after: &str) -> Result<(), WriteError> {
        // Asked again at the write, since a link may have been exchanged.
        let may = |target: &Path| self.may_be(target);
        atomic::replace_where(self.file, before.as_bytes(), after.as_bytes(), may)
    }

    /// Creates the file and the folders above it. With `private`, only the user can read the file.
    pub(crate) fn create(self, text: &str, private: bool) -> Result<(), WriteError> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let failed = |error| WriteError::io(folder, error);
        fs::create_dir_all(folder).map_err(failed)?;
        // A link may have taken the place of a folder since the path was checked.
        let real = fs::canonicalize(folder).map_err(failed)?;
        if !self.may_be(&real) {
            return Err(WriteError::Outside { path: self.file.to_owned(), target: real });
        }
        atomic::create(&real.join(self.file.file_name().unwrap_or_default()), text.as_bytes(), private)
    }

    /// Whether the file may really be here: in its project, if it is one of a project.
    fn may_be(self, target: &Path) -> bool {
        self.within.is_none_or(|folder| inside::is_inside(target, &env::real(clients::project(folder))))
    }
}

/// Whether a write failed because the file changed meanwhile, so that another try may succeed.
pub(crate) fn changed_meanwhile(error: &WriteError) -> bool {
    matches!(error, WriteError::Changed { .. } | WriteError::Exists { .. })
}

/// Whether there is no such file.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_file(
        text: &str,
        written: SystemTime,
        act: impl Fn(&Path),
    ) -> (Result<Option<String>, EditedFileError>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        fs::write(&file, text).unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(written).unwrap();
        let edited = EditedFile { file: &file, within: None, limits: ParsedLimits::USER };
        let mut pauses = 0;
        let read = edited.read_after(|time| {
            assert_eq!(time, QUIET);
            pauses += 1;
            act(&file);
        });
        (read, pauses)
    }

    const LONG_AGO: SystemTime = SystemTime::UNIX_EPOCH;

    /// A time that is no second ago, however slow the machine is.
    fn just_now() -> SystemTime {
        SystemTime::now() + Duration::from_secs(3_600)
    }

    #[test]
    fn a_file_that_another_program_writes_in_place_is_read_once_it_is_written() {
        let whole = "model = \"x\"\nkey = \"y\"\n";
        let write_once = |file: &Path| {
            if fs::metadata(file).unwrap().len() != whole.len() as u64 {
                fs::write(file, whole).unwrap();
            }
        };
        // Truncated, and with its first line written.
        for (begun, written) in [("", LONG_AGO), ("", just_now()), ("model = \"x\"\n", just_now())] {
            let (read, pauses) = in_file(begun, written, write_once);
            assert_eq!(read.unwrap().as_deref(), Some(whole), "{begun:?}");
            assert!(pauses > 0, "{begun:?}");
        }
        // Nor does one count as empty that is removed to be made anew.
        let (read, _) = in_file("", LONG_AGO, |file| fs::remove_file(file).unwrap());
        assert_eq!(read.unwrap(), None);
    }

    #[test]
    fn a_file_is_edited_after_it_stayed_as_it_is() {
        for (text, written, wanted) in
            [("", LONG_AGO, 1), ("", just_now(), 1), ("a = 1\n", just_now(), 1), ("a = 1\n", LONG_AGO, 0)]
        {
            let (read, pauses) = in_file(text, written, |_| {});
            assert_eq!((read.unwrap().as_deref(), pauses), (Some(text), wanted));
        }
    }

    #[test]
    fn a_file_that_is_truncated_again_and_again_is_not_edited() {
        let (read, pauses) = in_file("", LONG_AGO, |file| {
            let open = fs::File::options().write(true).open(file).unwrap();
            let later = open.metadata().unwrap().modified().unwrap() + Duration::from_secs(1);
            open.set_modified(later).unwrap();
        });
        assert!(matches!(read, Err(EditedFileError::Busy { .. })), "{read:?}");
        assert_eq!(pauses, LOOKS);
    }
}
