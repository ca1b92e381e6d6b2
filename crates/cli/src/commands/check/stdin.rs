//! Checking the text on standard input.

use std::path::Path;

use prowess::finding::Preset;
use prowess::fs::read::Head;
use prowess::limits::MAX_FILE_BYTES;
use prowess::{Origin, Profile, SkillFile, SourceErrorKind};

use super::super::shown;
use super::{Checker, Subject};
use crate::error::CommandError;
use crate::ui;

impl Checker<'_> {
    /// Checks it as the file at a path, if one is given.
    pub(super) fn stdin(&mut self, path: Option<&Path>) -> Result<(), CommandError> {
        let head = match ui::read_input(MAX_FILE_BYTES) {
            Ok(bytes) => Head::whole(bytes),
            // The report may have begun, so the failure is part of it.
            Err(CommandError::Failed(failure)) if !self.only_stdin => return self.failed(failure),
            Err(error) => return Err(error),
        };
        if self.fixing.is_some() && head.bytes.len() > MAX_FILE_BYTES {
            let (size, limit) = (head.size, MAX_FILE_BYTES as u64);
            return self.failed(&SourceErrorKind::TooLarge { size, limit }.at("<stdin>"));
        }
        let Some(path) = path else {
            let profile = self.levels.apply(Profile::new(self.preset.unwrap_or(Preset::Spec)));
            let path = "<stdin>".to_owned();
            let subject = Subject { head, files: None, at: Origin::text("<stdin>"), path };
            return self.judge(subject, &profile, None);
        };
        let is_file = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
        let skill = SkillFile { path: if is_file { path.to_owned() } else { path.join("SKILL.md") } };
        let failures = self.summary.failures;
        let Some(profile) = self.profile(&skill.path)? else {
            // The text of an ignored path is written unchanged.
            if self.fixing.is_some() && !self.diff && failures == self.summary.failures {
                self.ui.raw(&head.bytes)?;
            }
            return Ok(());
        };
        // The folder need not exist yet.
        let files = if skill.folder().is_dir() { self.manifest(&skill)? } else { None };
        let subject = Subject { head, files, at: skill.origin(), path: shown(&skill.path) };
        self.judge(subject, &profile, None)
    }
}
