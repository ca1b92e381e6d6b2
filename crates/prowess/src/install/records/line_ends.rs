//! The line ends of a lock: what is written keeps those of the file, and a difference in them alone is none.

/// The new text of a lock with the line ends of its old text. A text that differs in nothing else is the old one.
pub(crate) fn with_line_ends_of(before: Option<&str>, after: String) -> String {
    let Some(before) = before.filter(|before| before.contains("\r\n")) else { return after };
    let after = after.replace("\r\n", "\n");
    if before.replace("\r\n", "\n") == after { before.to_owned() } else { after.replace('\n', "\r\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_of_windows_stay_and_are_no_difference() {
        let with = |before: Option<&str>, after: &str| with_line_ends_of(before, after.to_owned());
        assert_eq!(with(Some("a\r\nb\n"), "a\nb\n"), "a\r\nb\n");
        assert_eq!(with(Some("a\r\nb\r\n"), "a\nc\r\n"), "a\r\nc\r\n");
        assert_eq!(with(Some("a\n"), "b\n"), "b\n");
        assert_eq!(with(None, "b\n"), "b\n");
    }
}
