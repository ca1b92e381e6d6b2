//! An activated skill: its instructions in a wrapper they cannot close, where they live, and which files they have.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::document::without_blank_lines;
use crate::files::manifest::{FileKind, Manifest};
use crate::path::RelPath;
use crate::skill::Entry;
use crate::text::{collapse, inline, neutralize, visible, xml};

/// What an activation shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActivationStyle {
    /// How many files are listed; the rest is counted.
    pub max_listed: usize,
    /// The largest file whose contents are shown, in bytes. Larger and binary ones are named only.
    pub max_inline_bytes: usize,
    /// Whether the compatibility note is shown above the instructions.
    pub compatibility: bool,
    /// Whether the text is the instructions and nothing else: no wrapper, no folder, no files, and nothing in it made
    /// harmless. The host then has to keep apart what a skill says and what others say.
    pub plain: bool,
}

impl Default for ActivationStyle {
    fn default() -> Self {
        Self { max_listed: 100, max_inline_bytes: 64 * 1024, compatibility: false, plain: false }
    }
}

impl ActivationStyle {
    /// The files whose contents are shown: those that are small, as long as all of them fit into an activation of
    /// `most` bytes.
    pub fn inlined(&self, files: &Manifest, most: usize) -> Vec<RelPath> {
        let mut room = (most as u64).saturating_sub(files.own().map_or(0, |own| own.size));
        let small = files.others().take(self.max_listed);
        // What has no known size would have to be fetched to find out.
        let small = small.filter(|file| !file.unmeasured && file.size <= self.max_inline_bytes as u64);
        small
            .filter(|file| match room.checked_sub(file.size) {
                Some(left) => {
                    room = left;
                    true
                }
                None => false,
            })
            .map(|file| file.path.clone())
            .collect()
    }
}

/// A file whose contents are to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined<'b> {
    /// Its path in the skill.
    pub path: RelPath,
    /// Its bytes.
    pub bytes: &'b [u8],
}

/// The text a model gets when it activates a skill. One from another machine says whom it comes from.
///
/// `folder` is the absolute folder, when the host has files. The files are those of scripts, references and
/// assets, and others beside SKILL.md; they are listed, not read, unless the host gives their bytes in `inlined`.
pub fn render_activation(
    entry: &Entry,
    body: &str,
    folder: Option<&str>,
    files: &Manifest,
    inlined: &[Inlined<'_>],
    style: &ActivationStyle,
) -> String {
    activation(entry, body, folder, files, inlined, style).0
}

/// The same, and where in it the instructions end.
pub(crate) fn activation(
    entry: &Entry,
    body: &str,
    folder: Option<&str>,
    files: &Manifest,
    inlined: &[Inlined<'_>],
    style: &ActivationStyle,
) -> (String, usize) {
    if style.plain {
        return (body.to_owned(), body.len());
    }
    let mut text = format!("<skill_content name=\"{}\"", xml(&entry.key));
    // Instructions that others wrote are to be told from those that lie here.
    if let Some(sender) = entry.origin.sender() {
        let _ = write!(text, " origin=\"{}\"", xml(sender));
    }
    text.push_str(">\n");
    if let Some(compatibility) = entry.compatibility.as_deref().filter(|_| style.compatibility) {
        let _ = writeln!(text, "Compatibility: {}\n", neutralize(&collapse(compatibility), &[]));
    }
    text.push_str(&neutralize(without_blank_lines(body), &[]));
    let body_end = text.len();
    text.push('\n');
    if let Some(folder) = folder {
        let _ = write!(
            text,
            "\nSkill directory: {}\nRelative paths in this skill are relative to the skill directory.\n",
            neutralize(&inline(folder), &[])
        );
    }
    let listed: Vec<_> = files.others().collect();
    if !listed.is_empty() {
        text.push_str("\n<skill_resources>\n");
        for file in listed.iter().take(style.max_listed) {
            let name = xml(file.path.as_str());
            match inlined
                .iter()
                .find(|inlined| inlined.path == file.path)
                .and_then(|file| readable(file, style))
            {
                Some(contents) => {
                    let contents = neutralize(contents, &["file"]);
                    let _ = writeln!(text, "  <file name=\"{name}\">\n{}\n  </file>", contents.trim_end());
                }
                None => {
                    let _ = writeln!(text, "  <file>{name}</file>");
                }
            }
        }
        if let Some(more) = listed.len().checked_sub(style.max_listed).filter(|more| *more > 0) {
            let _ = writeln!(text, "  <!-- {more} more files are not listed -->");
        }
        text.push_str("</skill_resources>\n");
    }
    text.push_str("</skill_content>");
    (text, body_end)
}

/// The contents of a file that is text and small enough.
fn readable<'b>(file: &Inlined<'b>, style: &ActivationStyle) -> Option<&'b str> {
    if file.bytes.len() > style.max_inline_bytes || file.bytes.contains(&0) {
        return None;
    }
    std::str::from_utf8(file.bytes).ok()
}

/// Several activations in one text.
pub fn compose<Text: AsRef<str>>(activations: &[Text]) -> String {
    let texts: Vec<&str> = activations.iter().map(AsRef::as_ref).collect();
    texts.join("\n\n")
}

/// One skill in a few lines, for a model or a person who asks about it without activating it.
pub fn describe(entry: &Entry, files: &Manifest) -> String {
    let mut text = String::new();
    let mut line = |label: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{label}: {}", neutralize(&visible(&collapse(value)), &[]));
        }
    };
    line("name", &entry.key);
    line("description", &entry.description);
    line("when to use", entry.client.when_to_use.as_deref().unwrap_or(""));
    line("compatibility", entry.compatibility.as_deref().unwrap_or(""));
    line("license", entry.license.as_deref().unwrap_or(""));
    line("version", entry.version.as_deref().unwrap_or(""));
    line("tags", &entry.tags.join(", "));
    line("tools", &entry.allowed_tools.as_ref().map(ToString::to_string).unwrap_or_default());
    for (kind, label) in
        [(FileKind::Script, "scripts"), (FileKind::Reference, "references"), (FileKind::Asset, "assets")]
    {
        let count = files.files.iter().filter(|file| file.kind == kind).count();
        line(label, &if count == 0 { String::new() } else { count.to_string() });
    }
    text.pop();
    text
}
