//! [`JsonlSource`]: the skills in a file with one JSON object per line, such as another program writes.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use prowess_core::internal::{json_values, parse_json};
use prowess_core::limits::MAX_YAML_NODES;
use prowess_core::with_methods;
use prowess_core::{Document, Entry, Found, Location, RelPath, Scope, SkillData, SourceSkill, parse};
use serde_json::Value;

use super::file::{SkillsFile, file_source};
use super::{Chunk, Listing, Slice, Source, SourceTraits, found};
use crate::error::{Counted, SourceError, SourceErrorKind, escape_control};
use crate::fs::location::location_of;
use crate::internal::locked;
use crate::source::budget::{self, Cost, ProjectBudget};

/// The limits on a JSONL file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonlLimits {
    /// The size of the file, in bytes. A larger one is not read at all.
    pub file_bytes: u64,
    /// The length of a line: a SKILL.md of the largest size, written as JSON.
    pub line_bytes: usize,
    /// The number of lines that are not empty.
    pub lines: usize,
    /// The number of values in a line: as many as a frontmatter may have.
    pub line_values: usize,
}

with_methods! { JsonlLimits:
    with_file_bytes file_bytes: u64;
    with_line_bytes line_bytes: usize;
    with_lines lines: usize;
    with_line_values line_values: usize;
}

impl Default for JsonlLimits {
    fn default() -> Self {
        Self { file_bytes: 256 << 20, line_bytes: 8 << 20, lines: 100_000, line_values: MAX_YAML_NODES }
    }
}

/// The maximum number of invalid lines that are reported one by one.
const MAX_PROBLEMS: usize = 20;

/// The skills in a file with one JSON object per line: `{"name", "description"}` and optionally `id`, `body` and
/// `metadata`.
///
/// `id` is the key of the skill if it differs from the name. A line without `body` is a skill without instructions. An
/// invalid line is reported, and the others are used. The file is read line by line, so that it takes the memory of one
/// line and of the entries.
#[derive(Debug)]
pub struct JsonlSource {
    file: SkillsFile,
    limits: JsonlLimits,
    /// The offset of each skill's line when the file was last listed.
    lines: Mutex<BTreeMap<String, u64>>,
}

/// A line as a skill.
struct Line {
    id: String,
    skill: SkillData,
    /// The document that the skill was read from.
    document: Document,
}

file_source!(JsonlSource, JsonlLimits, "Reads no more than this.");

impl JsonlSource {
    /// The skills in a file. A relative path is relative to the current folder as it is now, and a leading `~` is the
    /// user's folder.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        let file = SkillsFile::new(file.into());
        Self { file, limits: JsonlLimits::default(), lines: Mutex::default() }
    }

    /// Calls `visit` with each line that is not blank, its number from one and where it begins.
    fn visit(
        &self,
        from: u64,
        budget: Option<&ProjectBudget>,
        mut visit: impl FnMut(Result<Line, String>, usize, u64) -> Visit,
    ) -> Result<(), SourceError> {
        let failed = |error| SourceError::io(&self.file.path, error);
        let JsonlLimits { file_bytes, line_bytes, lines, line_values } = self.limits;
        let mut file = self.file.open()?;
        // Checked first: a sparse file may be larger than any disk.
        let size = file.metadata().map_err(failed)?.len();
        let too_large = |size| SourceErrorKind::TooLarge { size, limit: file_bytes }.at(&self.file.path);
        if size > file_bytes {
            return Err(too_large(size));
        }
        budget::spend(budget, Cost::Listed(size), || location_of(&self.file.path))?;
        file.seek(SeekFrom::Start(from)).map_err(failed)?;
        // It may grow while it is read.
        let most = (file_bytes + 1).saturating_sub(from);
        let mut reader = BufReader::with_capacity(1 << 16, file.take(most));
        let (mut offset, mut number, mut visited) = (from, 0, 0);
        let mut line = Vec::new();
        loop {
            line.clear();
            number += 1;
            let limit = line_bytes as u64 + 1;
            let got = (&mut reader).take(limit).read_until(b'\n', &mut line).map_err(failed)?;
            if offset > file_bytes {
                return Err(too_large(offset));
            }
            if got == 0 {
                return Ok(());
            }
            let start = offset;
            offset += got as u64;
            let read = if got > line_bytes && !line.ends_with(b"\n") {
                offset += skip_line(&mut reader).map_err(failed)?;
                Err(format!("the line has more than {line_bytes} bytes"))
            } else if line.trim_ascii().is_empty() {
                continue;
            } else {
                read(&line, number == 1 && from == 0, line_values)
            };
            if visited == lines {
                return Err(
                    SourceErrorKind::TooMany { what: Counted::Lines, limit: lines }.at(&self.file.path)
                );
            }
            visited += 1;
            if let Visit::Enough = visit(read, number, start) {
                return Ok(());
            }
        }
    }

    /// The line of a skill: at its last offset, or else anywhere in the file.
    fn line(&self, skill: SourceSkill<'_>) -> Result<Line, SourceError> {
        let location = skill.location();
        let missing = || SourceErrorKind::NotListed.at_location(location.clone());
        let Location::Record { id, .. } = location else { return Err(missing()) };
        let known = locked(&self.lines).get(&**id).copied();
        let mut found = None;
        for from in known.into_iter().chain([0]) {
            self.visit(from, None, |line, _, _| {
                found = line.ok().filter(|line| line.id == **id);
                // At the last offset, one line is enough.
                if found.is_some() || from > 0 { Visit::Enough } else { Visit::Next }
            })?;
            if let Some(line) = found.take() {
                return Ok(line);
            }
        }
        Err(missing())
    }
}

enum Visit {
    Next,
    Enough,
}

/// Reads to the end of a line that is too long, and returns the number of bytes.
fn skip_line(reader: &mut impl std::io::BufRead) -> std::io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(skipped);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let length = end.unwrap_or(buffer.len());
        reader.consume(length);
        skipped += length as u64;
        if end.is_some() {
            return Ok(skipped);
        }
    }
}

/// The longest reason that is shown; a parser may quote its input.
const MAX_REASON: usize = 200;

/// Why a line is not JSON. The number of the line is known, and for the parser each line is the first.
fn reason(error: &serde_json::Error) -> String {
    let column = error.column();
    if !error.is_data() {
        return format!("this is not valid JSON at column {column}");
    }
    let said = error.to_string();
    let said = said.strip_suffix(&format!(" at line 1 column {column}")).unwrap_or(&said);
    match said.char_indices().nth(MAX_REASON) {
        Some((at, _)) => format!("{}…", said.get(..at).unwrap_or_default()),
        None => said.to_owned(),
    }
}

/// A line as a skill. A member that appears twice is refused, since two readers could take different values.
fn read(line: &[u8], first: bool, max_values: usize) -> Result<Line, String> {
    if json_values(line) > max_values {
        return Err(format!("it has more than {max_values} values"));
    }
    let line = if first { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
    let value = parse_json(line).map_err(|error| reason(&error))?;
    let Value::Object(mut dict) = value else { return Err("a JSON object is wanted".to_owned()) };
    let id = match dict.shift_remove("id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) if id.trim().is_empty() => None,
        Some(Value::String(id)) => Some(id),
        Some(Value::Number(id)) => Some(id.to_string()),
        Some(_) => return Err("id: a text is wanted".to_owned()),
    };
    if let Some(id) = &id {
        RelPath::from_name(id).map_err(|error| format!("id: {error}"))?;
    }
    for name in ["name", "description"] {
        if !dict.contains_key(name) {
            return Err(format!("{name} is missing"));
        }
    }
    if let Some(body) = dict.shift_remove("body").filter(|body| !body.is_null()) {
        dict.insert("instructions".to_owned(), body);
    }
    // The source decides where the skill is.
    dict.shift_remove("path");
    let (skill, document) = SkillData::read_dict(&dict).map_err(|error| error.to_string())?;
    Ok(Line { id: id.unwrap_or_else(|| skill.entry.name.clone()), skill, document })
}

impl Source for JsonlSource {
    fn id(&self) -> &str {
        &self.file.id
    }

    fn traits(&self) -> SourceTraits {
        self.file.traits()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        let mut listing = Listing::default();
        let mut lines = BTreeMap::new();
        let mut bad = 0;
        let budget = self.file.budget.as_deref();
        let cut = self.visit(0, budget, |line, number, start| {
            let mut complain = |reason| {
                bad += 1;
                let problem = || SourceErrorKind::DamagedLine { line: number, reason }.at(&self.file.path);
                listing.problems.extend((bad <= MAX_PROBLEMS).then(problem));
            };
            match line {
                Ok(Line { id, mut skill, document }) => {
                    if lines.contains_key(&id) {
                        complain(format!("this id appears twice: {}", escape_control(&id)));
                        return Visit::Next;
                    }
                    if budget::spend(budget, Cost::Skill(0), || location_of(&self.file.path)).is_err() {
                        return Visit::Enough;
                    }
                    skill.entry.key.clone_from(&id);
                    let location = Location::Record { file: self.file.id.clone(), id: id.as_str().into() };
                    skill.entry.origin = self.file.origin(location);
                    lines.insert(id, start);
                    listing.push(found_of(skill.entry, &document));
                }
                Err(reason) => complain(reason),
            }
            Visit::Next
        });
        if bad > MAX_PROBLEMS {
            let reason = format!("{} more of its lines are not understood", bad - MAX_PROBLEMS);
            listing.problems.push(SourceErrorKind::Damaged { reason }.at(&self.file.path));
        }
        match cut {
            // The owner of the budget reports what exceeds it.
            Ok(()) | Err(SourceError { kind: SourceErrorKind::ProjectTooLarge { .. }, .. }) => {}
            // The lines up to the limit count.
            Err(error @ SourceError { kind: SourceErrorKind::TooMany { .. }, .. }) => {
                listing.problems.push(error);
            }
            Err(error) => return Err(error),
        }
        *locked(&self.lines) = lines;
        Ok(listing)
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        if path.as_str() != "SKILL.md" {
            return Err(SourceErrorKind::Missing.at_file(skill.location(), path.as_str()));
        }
        let line = self.line(skill)?;
        // The file may have been replaced.
        if line.skill.entry.name != skill.entry.name {
            return Err(SourceErrorKind::Changed.at_location(skill.location().clone()));
        }
        Ok(slice.of(line.skill.to_markdown().as_bytes()))
    }
}

/// The skill of a line with its problems, as for a skill in a folder.
fn found_of(entry: Entry, document: &Document) -> Found {
    let head = SkillData::new(entry, "");
    let text = head.to_markdown();
    let at = &head.entry.origin;
    // The SKILL.md that is read is written from the entry. Usually it equals what the line was read from.
    let read = document.fences().and_then(|fences| document.raw().get(..fences.body));
    let problems = if read == Some(text.as_bytes()) {
        found(document, at).problems
    } else {
        found(&parse(text.as_bytes()), at).problems
    };
    let mut found = Found::new(head.entry);
    found.problems = problems;
    found
}

#[cfg(test)]
mod tests {
    use prowess_core::Origin;

    use super::*;

    #[test]
    fn the_problems_of_a_line_are_those_of_the_file_it_is_read_as() {
        let (mut read_once, mut with_problems) = (0, 0);
        for line in [
            r#"{"name": "pdf", "description": "Reads PDFs."}"#,
            r#"{"name": "pdf", "description": "Reads PDFs.", "body": "Hidden\u200b in the body."}"#,
            r#"{"name": " PDF_tools ", "description": " Reads: PDFs.\n\nAnd more. "}"#,
            r#"{"name": "pdf", "description": "d\u200b", "metadata": {"version": 1.0, "a": null}}"#,
            r#"{"name": "pdf", "description": "d", "allowed_tools": ["Read", "Bash(git:*)"], "x": {"y": [1]}}"#,
            r#"{"description": "d", "name": "pdf", "license": null, "x": null, "user-invocable": "no"}"#,
        ] {
            let Line { mut skill, document, .. } = read(line.as_bytes(), false, 100).unwrap();
            skill.entry.origin = Origin::at(Location::Record { file: "f".into(), id: "pdf".into() });
            let head = SkillData::new(skill.entry.clone(), "").to_markdown();
            let written = found(&parse(head.as_bytes()), &skill.entry.origin).problems;
            let fences = document.fences().unwrap();
            read_once += usize::from(document.raw().get(..fences.body) == Some(head.as_bytes()));
            with_problems += usize::from(written.is_some());
            assert_eq!(found_of(skill.entry, &document).problems, written, "{line}");
        }
        assert!(read_once >= 2 && with_problems >= 2, "{read_once} {with_problems}");
    }
}
