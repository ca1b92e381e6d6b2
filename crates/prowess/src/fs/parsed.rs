//! [`ParsedLimits`]: how large a file may be that is parsed as a whole, and how many values it may have. A repository can
//! contain such files, so their values are counted before any of them is built.

use std::path::Path;

use prowess_core::limits::{MAX_PROJECT_FILE_BYTES, MAX_PROJECT_FILE_VALUES};

use crate::error::{SourceError, SourceErrorKind};
use crate::fs::read;

/// The limits of a file of TOML, JSON or YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedLimits {
    /// The most bytes.
    pub bytes: usize,
    /// The most values.
    pub values: usize,
}

impl ParsedLimits {
    /// Of a file in a project, which may be another author's.
    pub const PROJECT: Self = Self { bytes: MAX_PROJECT_FILE_BYTES, values: MAX_PROJECT_FILE_VALUES };
    /// Of the user's own files. Some programs keep their history in their configuration.
    pub const USER: Self = Self { bytes: 16 * 1024 * 1024, values: usize::MAX };

    /// Of a file that must be in a project, or of one that is the user's own.
    pub fn of(project: Option<&Path>) -> Self {
        if project.is_some() { Self::PROJECT } else { Self::USER }
    }

    /// Reads a file, and counts its values.
    pub fn read(self, file: &Path) -> Result<Vec<u8>, SourceError> {
        let bytes = read::read_small(file, self.bytes)?;
        self.check(&bytes, file)?;
        Ok(bytes)
    }

    /// An error if a text exceeds the limits; `file` is for the error.
    pub fn check(self, text: &[u8], file: &Path) -> Result<(), SourceError> {
        if text.len() > self.bytes {
            let (size, limit) = (text.len() as u64, self.bytes as u64);
            return Err(SourceErrorKind::TooLarge { size, limit }.at(file));
        }
        match most_values(text) {
            values if values > self.values => {
                let reason = format!("it has too many values: {values}, at most {}", self.values);
                Err(SourceErrorKind::Damaged { reason }.at(file))
            }
            _ => Ok(()),
        }
    }
}

/// An upper bound of the values and tables in a text of TOML, JSON or YAML.
///
/// Bytes in strings and comments count too: a scanner that skips them has to know where they end exactly as each parser
/// does, or a text could hide its values from it.
fn most_values(text: &[u8]) -> usize {
    1 + text.iter().filter(|byte| b",:=[{.".contains(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_and_table_of_a_text_is_counted() {
        for (text, values) in [
            ("[[skill]]\n[[skill]]\n", 4),
            ("a.b.c = 1\n", 3),
            ("a = [1, 2, 3]\n", 4),
            ("a = { b = 1, c = 2 }\n", 4),
            ("// \"\n{\"a\": [1, 2]}", 4),
            ("a:\n  b: 1\n", 2),
        ] {
            assert!(most_values(text.as_bytes()) >= values, "{text}");
        }
    }

    #[test]
    fn a_text_at_its_limits_is_accepted_and_one_beyond_is_refused() {
        let limits = ParsedLimits { bytes: 10, values: 3 };
        let check = |text: &str| limits.check(text.as_bytes(), Path::new("skills.lock"));
        assert!(check("a = [1, 2]").is_err_and(|error| error.to_string().contains("4, at most 3")));
        assert!(check("a = [1]").is_ok());
        assert!(check("a = \"12345").is_ok());
        assert!(check("a = \"123456").is_err_and(|error| error.to_string().contains("11 bytes, at most 10")));
    }
}
