//! An activated skill: its instructions in a wrapper that they cannot close, its folder, and its files.

use std::fmt::Write as _;
use std::sync::{Arc, Weak};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::document::without_blank_lines;
use crate::files::manifest::{FileKind, Manifest};
use crate::path::RelPath;
use crate::skill::Entry;
use crate::text::{collapse, inline, neutralize, visible, xml};

/// What an activation shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ActivationStyle {
    /// The most files that are listed; the rest is counted.
    pub max_listed: usize,
    /// The largest file whose contents are shown, in bytes. Larger and binary files are only named.
    pub max_inline_bytes: usize,
    /// Whether the compatibility note is shown above the instructions.
    pub compatibility: bool,
    /// Whether the text is only the instructions: no wrapper, no folder, no files, and no escaping. The host then has to
    /// separate the text of a skill from other text.
    pub plain: bool,
}

impl Default for ActivationStyle {
    fn default() -> Self {
        Self { max_listed: 100, max_inline_bytes: 64 * 1024, compatibility: false, plain: false }
    }
}

with_methods! { ActivationStyle:
    with_max_listed max_listed: usize;
    with_max_inline_bytes max_inline_bytes: usize;
    with_compatibility compatibility: bool;
    with_plain plain: bool;
}

impl ActivationStyle {
    /// The files whose contents are shown: the small ones, as long as they fit into an activation of `most` bytes.
    pub fn inlined(&self, files: &Manifest, most: usize) -> Vec<RelPath> {
        let mut room = (most as u64).saturating_sub(files.own().map_or(0, |own| own.size));
        let small = files.most_useful(self.max_listed).into_iter();
        // A file without a known size would have to be fetched first.
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

/// A file and its contents for an activation. Exhaustive: these two are all that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined<'b> {
    /// Its path in the skill.
    pub path: RelPath,
    /// Its bytes.
    pub bytes: &'b [u8],
}

/// An activated skill in parts, each of them escaped. [`Activation::text`] joins them. Clones share the parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activation(Arc<ActivationParts>);

/// The parts of an [`Activation`], as they are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ActivationParts {
    /// The opening tag of the wrapper; none when the text is the instructions alone.
    pub(crate) opening: Option<String>,
    /// The instructions, after the compatibility note when that is shown.
    pub(crate) instructions: String,
    /// The folder of the skill, when it is shown.
    pub(crate) folder: Option<String>,
    /// The files of the skill, one element each; empty when none is shown.
    pub(crate) files: String,
    /// What follows the wrapper, such as how to read a file.
    pub(crate) hint: Option<String>,
}

/// The closing tag of the wrapper, on its line.
const CLOSING: &str = "\n</skill_content>";

impl From<ActivationParts> for Activation {
    fn from(parts: ActivationParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Serialize for Activation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Activation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ActivationParts::deserialize(deserializer).map(Self::from)
    }
}

/// An [`Activation`] that is not kept alive by this.
#[derive(Clone, Debug)]
pub(crate) struct WeakActivation(Weak<ActivationParts>);

impl WeakActivation {
    /// The activation, while something else keeps it.
    pub(crate) fn upgrade(&self) -> Option<Activation> {
        self.0.upgrade().map(Activation)
    }
}

impl Activation {
    /// Makes an activation. For a skill from another machine, the wrapper names its sender.
    ///
    /// `folder` is the absolute folder of the skill, if it has one on disk. `files` are listed without SKILL.md; those in
    /// `inlined` are shown with their contents.
    pub fn new(
        entry: &Entry,
        body: &str,
        folder: Option<&str>,
        files: &Manifest,
        inlined: &[Inlined<'_>],
        style: &ActivationStyle,
    ) -> Self {
        if style.plain {
            let instructions = body.to_owned();
            let (folder, files, hint) = (None, String::new(), None);
            return ActivationParts { opening: None, instructions, folder, files, hint }.into();
        }
        let mut opening = format!("<skill_content name=\"{}\"", attribute(&entry.key));
        // Instructions from other machines must be recognizable.
        if let Some(sender) = entry.origin.sender() {
            let _ = write!(opening, " origin=\"{}\"", xml(&sender));
        }
        opening.push('>');
        let body = neutralize(without_blank_lines(body), &[]);
        let instructions = match entry.compatibility.as_deref().filter(|_| style.compatibility) {
            Some(note) => format!("Compatibility: {}\n\n{body}", neutralize(&collapse(note), &[])),
            None => body.into_owned(),
        };
        let folder = folder.map(|folder| neutralize(&inline(folder), &[]).into_owned());
        let files = listed(files, inlined, style);
        ActivationParts { opening: Some(opening), instructions, folder, files, hint: None }.into()
    }

    /// Sets the text after the wrapper; an empty one is none.
    #[must_use]
    pub fn with_hint(mut self, hint: String) -> Self {
        Arc::make_mut(&mut self.0).hint = Some(hint).filter(|hint| !hint.is_empty());
        self
    }

    /// The number of bytes of its parts.
    pub fn size(&self) -> usize {
        let ActivationParts { opening, instructions, folder, files, hint } = &*self.0;
        let optional = [opening, folder, hint].map(|part| part.as_ref().map_or(0, String::len));
        instructions.len() + files.len() + optional.iter().sum::<usize>()
    }

    /// The same, not kept alive.
    pub(crate) fn downgrade(&self) -> WeakActivation {
        WeakActivation(Arc::downgrade(&self.0))
    }

    /// The same in memory of exactly its size: text that was built may have room for more.
    pub(crate) fn shrunk(mut self) -> Self {
        let ActivationParts { opening, instructions, folder, files, hint } = Arc::make_mut(&mut self.0);
        for part in [Some(instructions), Some(files), opening.as_mut(), folder.as_mut(), hint.as_mut()] {
            part.into_iter().for_each(String::shrink_to_fit);
        }
        self
    }

    /// The instructions, escaped.
    pub fn instructions(&self) -> &str {
        &self.0.instructions
    }

    /// The text a model gets.
    pub fn text(&self) -> String {
        let ActivationParts { opening, instructions, files, .. } = &*self.0;
        let Some(opening) = opening else { return instructions.clone() };
        let mut text = String::with_capacity(self.size() + 256);
        text.push_str(opening);
        text.push('\n');
        text.push_str(instructions);
        self.push_folder(&mut text);
        if !files.is_empty() {
            text.push_str("\n\n<skill_resources>\n");
            text.push_str(files);
            text.push_str("</skill_resources>");
        }
        text.push_str(CLOSING);
        self.push_hint(&mut text);
        text
    }

    /// The text with the first `end` bytes of the instructions, then a note, without the list of files: half a list
    /// would leave its wrapper open. `details` keeps the folder and the hint.
    ///
    /// None when `end` is not between two characters of the instructions.
    pub(crate) fn cut_text(&self, end: usize, note: &str, details: bool) -> Option<String> {
        let kept = self.0.instructions.get(..end)?;
        let mut text = match &self.0.opening {
            Some(opening) => format!("{opening}\n{kept}"),
            None => kept.to_owned(),
        };
        text.truncate(text.trim_end().len());
        text.push('\n');
        text.push_str(note);
        if details {
            self.push_folder(&mut text);
        }
        if self.0.opening.is_some() {
            text.push_str(CLOSING);
        }
        if details {
            self.push_hint(&mut text);
        }
        Some(text)
    }

    fn push_folder(&self, text: &mut String) {
        if let Some(folder) = &self.0.folder {
            text.push_str(FOLDER);
            text.push_str(folder);
            text.push_str(BELOW_FOLDER);
        }
    }

    fn push_hint(&self, text: &mut String) {
        if let Some(hint) = &self.0.hint {
            text.push_str("\n\n");
            text.push_str(hint);
        }
    }
}

/// The text before and after the path of a skill's folder.
pub(crate) const FOLDER: &str = "\n\nSkill directory: ";
pub(crate) const BELOW_FOLDER: &str = "\nRelative paths in this skill are relative to the skill directory.";

/// A text as the value of an attribute, on one line.
fn attribute(text: &str) -> String {
    xml(text).replace('\n', "&#xA;").replace('\t', "&#x9;")
}

/// The files of a skill as elements, those in `inlined` with their contents.
fn listed(files: &Manifest, inlined: &[Inlined<'_>], style: &ActivationStyle) -> String {
    let mut text = String::new();
    for file in files.most_useful(style.max_listed) {
        let name = xml(file.path.as_str());
        let contents = inlined.iter().find(|inlined| inlined.path == file.path);
        match contents.and_then(|file| readable(file, style)) {
            Some(contents) => {
                let contents = neutralize(contents, &["file"]);
                let _ = writeln!(text, "  <file name=\"{name}\">\n{}\n  </file>", contents.trim_end());
            }
            None => {
                let _ = writeln!(text, "  <file>{name}</file>");
            }
        }
    }
    if let Some(more) = files.others().count().checked_sub(style.max_listed).filter(|more| *more > 0) {
        let _ = writeln!(text, "  <!-- {more} more files are not listed -->");
    }
    if files.incomplete {
        text.push_str("  <!-- the skill has more files than can be listed -->\n");
    }
    text
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

/// One skill in a few lines, for a model or a person, without activating it.
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
