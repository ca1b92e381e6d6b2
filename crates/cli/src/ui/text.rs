//! [`Text`]: words, and among them commands to copy, which stay whole where lines are broken.

use std::fmt;

use super::words::{wrap, wrap_lines};
use super::{cells, clean};

/// In place of a space in a command while lines are broken. No text that was cleaned has it.
const JOINT: &str = "\u{1}";

/// Words and commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(Vec<TextPart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TextPart {
    Words(String),
    /// A command, and what leads to it.
    Command(&'static str, String),
}

impl Text {
    /// With words at the end.
    pub(crate) fn words(mut self, words: impl AsRef<str>) -> Self {
        let _ = fmt::Write::write_str(&mut self, words.as_ref());
        self
    }

    /// With a command at the end, after "with:".
    pub(crate) fn with(mut self, command: impl Into<String>) -> Self {
        self.0.push(TextPart::Command(" with: ", command.into()));
        self
    }

    /// With a command at the end, after a colon.
    pub(crate) fn colon(mut self, command: impl Into<String>) -> Self {
        self.0.push(TextPart::Command(": ", command.into()));
        self
    }

    /// With a command at the end.
    pub(crate) fn command(mut self, command: impl Into<String>) -> Self {
        self.0.push(TextPart::Command("", command.into()));
        self
    }

    /// With another text at the end.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.push(other);
        self
    }

    /// Adds a text at the end.
    pub(crate) fn push(&mut self, other: impl Into<Self>) {
        self.0.append(&mut other.into().0);
    }

    /// Texts with this between them.
    pub(crate) fn join(texts: impl IntoIterator<Item = Self>, between: &str) -> Self {
        texts.into_iter().reduce(|joined, text| joined.words(between).and(text)).unwrap_or_default()
    }

    /// The words, and the command that ends them, without what leads to it.
    pub(crate) fn command_at_end(mut self) -> (Self, Option<String>) {
        match self.0.pop_if(|part| matches!(part, TextPart::Command(..))) {
            Some(TextPart::Command(_, command)) => (self, Some(command)),
            _ => (self, None),
        }
    }

    /// With every control or hidden character escaped, on one line.
    pub(crate) fn cleaned(&self) -> Self {
        let clean = |part: &TextPart| match part {
            TextPart::Words(words) => TextPart::Words(clean(words).into_owned()),
            TextPart::Command(lead, command) => TextPart::Command(lead, clean(command).into_owned()),
        };
        Self(self.0.iter().map(clean).collect())
    }

    /// On a screen with columns in lines that fit, as long as words and commands allow; elsewhere as it is.
    pub(crate) fn on(&self, columns: Option<usize>) -> String {
        columns.map_or_else(|| self.to_string(), |columns| self.wrapped(columns))
    }

    /// In lines of at most these columns, as long as words and commands allow.
    pub(crate) fn wrapped(&self, columns: usize) -> String {
        wrap_lines(&self.joined(), columns).replace(JOINT, " ")
    }

    /// The same for lines of a page, which begin with two spaces: what is broken goes further in.
    pub(crate) fn fitted(&self, columns: usize) -> String {
        let mut lines = String::new();
        for line in self.joined().lines() {
            match line.strip_prefix("  ").filter(|_| cells::width(line) > columns) {
                Some(rest) => {
                    let broken = wrap(rest, columns.saturating_sub(4), "    ");
                    // The first line is not further in than the others of the page.
                    lines.push_str(broken.strip_prefix("  ").unwrap_or(&broken));
                }
                None => {
                    lines.push_str(line);
                    lines.push('\n');
                }
            }
        }
        lines.replace(JOINT, " ")
    }

    /// As one text, in which each command is one word.
    fn joined(&self) -> String {
        let part = |part: &TextPart| match part {
            TextPart::Words(words) => words.clone(),
            TextPart::Command(lead, command) => format!("{lead}{}", command.replace(' ', JOINT)),
        };
        self.0.iter().map(part).collect()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            TextPart::Words(words) => to.write_str(words),
            TextPart::Command(lead, command) => write!(to, "{lead}{command}"),
        })
    }
}

/// Adds words.
impl fmt::Write for Text {
    fn write_str(&mut self, words: &str) -> fmt::Result {
        match self.0.last_mut() {
            Some(TextPart::Words(last)) => last.push_str(words),
            _ if words.is_empty() => {}
            _ => self.0.push(TextPart::Words(words.to_owned())),
        }
        Ok(())
    }
}

impl<S: AsRef<str>> From<S> for Text {
    fn from(words: S) -> Self {
        Self::default().words(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foot() -> Text {
        Text::from("\n2 skills; 1 not trusted")
            .colon("prowess trust 'a  b, c'")
            .words(" or ")
            .command("prowess sync")
            .words(", ")
            .command("prowess why NAME")
            .words("\nend\n")
    }

    #[test]
    fn wrapping_keeps_words_and_commands_whole() {
        let lines = [
            "",
            "2 skills; 1 not",
            "trusted:",
            "prowess trust 'a  b, c'",
            "or",
            "prowess sync,",
            "prowess why NAME",
            "end",
        ];
        assert_eq!(foot().wrapped(15), format!("{}\n", lines.join("\n")));
        assert_eq!(foot().wrapped(200), foot().to_string());
    }

    #[test]
    fn the_command_at_the_end_leaves_what_leads_to_it() {
        let text =
            Text::from("look at it").with("prowess show x").words("; then trust it").with("prowess trust x");
        let (words, command) = text.command_at_end();
        assert_eq!(words.to_string(), "look at it with: prowess show x; then trust it");
        assert_eq!(command.as_deref(), Some("prowess trust x"));
        assert_eq!(foot().command_at_end().1, None);
    }
}
