//! `prowess cat`: the instructions of a skill, or one of its files, byte for byte.

use prowess::internal::base64;
use prowess::limits::{MAX_FILE_BYTES, MAX_SKILL_BYTES};
use prowess::path::RelPath;
use prowess::source::{Chunk, Slice};
use prowess::text::similar;
use prowess::{Candidate, Obstacle, Registry, SourceError, SourceErrorKind};
use serde_json::json;

use super::{Purpose, named, opened_for};
use crate::Outcome;
use crate::args::Cat;
use crate::error::{CommandError, Failure};
use crate::explain::unread::{answered, say_beside};
use crate::report::json::VERSION;
use crate::ui::command::command_for;
use crate::ui::{Ui, count, size};

/// How much of a file is read and written at once.
const PART: usize = 8 << 20;
/// The maximum number of bytes of a file written to a terminal; a pipe gets all of it.
const MAX_ON_TERMINAL: usize = 1 << 20;
/// The maximum number of bytes of a file in JSON, where they are in memory at once: the limit for all files of a skill.
#[expect(clippy::cast_possible_truncation, reason = "16 MiB fit everywhere")]
const MAX_IN_JSON: usize = MAX_SKILL_BYTES as usize;

/// Runs the command.
pub(crate) fn run(args: &Cat, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let (registry, _) = opened_for(&args.places, Purpose::Use)?;
    let skill = named(&args.name, &registry, &args.places, ui)?;
    say_beside(&registry, &args.places, ui);
    let file = File { registry: &registry, skill: &skill, path: requested(args)?, args };
    if let Some(Obstacle::Untrusted) = skill.obstacle {
        ui.note(&format!(
            "this skill is not trusted: {}; its text is for reading, not for following",
            skill.entry.key
        ));
    }
    let whole = args.resource.is_none();
    if json {
        let (bytes, size) = if whole { file.body()? } else { file.start(MAX_IN_JSON)? };
        let truncated = (bytes.len() as u64) < size;
        let (encoding, contents) = in_json(bytes, truncated);
        ui.json(&json!({
            "version": VERSION,
            "name": skill.entry.key,
            "path": file.path.as_str(),
            "part": if whole { "instructions" } else { "file" },
            "encoding": encoding,
            "contents": contents,
            "size": size,
            "truncated": truncated,
        }))?;
    } else if whole {
        ui.raw(&file.body()?.0)?;
    } else if ui.is_terminal() {
        let (bytes, whole) = file.start(MAX_ON_TERMINAL)?;
        ui.raw(&bytes)?;
        if (bytes.len() as u64) < whole {
            let (shown, whole) = (count(bytes.len(), "byte"), size(whole));
            ui.note(&format!("cut after {shown} of {whole}: write it to a file or a pipe to get all of it"));
        }
    } else {
        file.stream(ui)?;
    }
    Ok(answered(&registry, &args.places))
}

/// The requested file, as the user wrote it.
fn requested(args: &Cat) -> Result<RelPath, CommandError> {
    let path = args.resource.as_deref().unwrap_or("SKILL.md");
    RelPath::from_request(path).map_err(|error| SourceError::from(error).into())
}

/// Bytes as a JSON string: verbatim if they are text, otherwise Base64. Bytes with a zero byte are not text.
fn in_json(mut bytes: Vec<u8>, truncated: bool) -> (&'static str, String) {
    if bytes.contains(&0) {
        return ("base64", base64(&bytes));
    }
    if let Err(error) = std::str::from_utf8(&bytes)
        && truncated
        && error.error_len().is_none()
    {
        // The end of the part is inside a character.
        bytes.truncate(error.valid_up_to());
    }
    match String::from_utf8(bytes) {
        Ok(text) => ("text", text),
        Err(error) => ("base64", base64(error.as_bytes())),
    }
}

/// A file of a skill.
struct File<'f> {
    registry: &'f Registry,
    skill: &'f Candidate,
    path: RelPath,
    /// How it was asked for.
    args: &'f Cat,
}

impl File<'_> {
    /// A part of the file.
    fn read(&self, slice: Slice) -> Result<Chunk, CommandError> {
        self.registry.read(self.skill, &self.path, slice).map_err(|error| match error.kind {
            SourceErrorKind::Missing => self.missing().map_or_else(|| error.into(), CommandError::from),
            _ => error.into(),
        })
    }

    /// The failure of a path that is no file of the skill, with the files that have similar paths.
    fn missing(&self) -> Option<Failure> {
        let files = self.registry.files_of(self.skill).ok()?;
        let near = similar(self.path.as_str(), files.files.iter().map(|file| file.path.as_str()));
        let meant =
            if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
        let error = format!("there is no such file in the skill: {}{meant}", self.path.as_str());
        let show = command_for("show", &self.args.name, &self.args.places.options());
        Some(Failure::new(error, format!("list its files with: {show}")))
    }

    /// The instructions in SKILL.md, and their size; an error if the file is larger than the limit.
    fn body(&self) -> Result<(Vec<u8>, u64), SourceError> {
        let head = self.registry.head_of(self.skill)?;
        if !head.is_whole() {
            let kind = SourceErrorKind::TooLarge { size: head.size, limit: MAX_FILE_BYTES as u64 };
            return Err(kind.at_location(self.skill.entry.origin.location.clone()));
        }
        let document = head.document();
        let body = document.raw().get(document.body_offset()..).unwrap_or(&[]).to_vec();
        let size = body.len() as u64;
        Ok((body, size))
    }

    /// The first bytes, and the size of the whole file.
    fn start(&self, limit: usize) -> Result<(Vec<u8>, u64), CommandError> {
        let chunk = self.read(Slice::first(limit))?;
        Ok((chunk.bytes, chunk.size))
    }

    /// Writes all bytes in parts, so that memory does not grow with the file.
    fn stream(&self, ui: &mut Ui) -> Result<(), CommandError> {
        let mut offset = 0;
        let mut end = None;
        loop {
            let chunk = self.read(Slice { offset, limit: PART })?;
            // Bytes that are appended meanwhile are not read.
            let end = *end.get_or_insert(chunk.size);
            let left = usize::try_from(end - offset).unwrap_or(usize::MAX);
            let part = chunk.bytes.get(..left).unwrap_or(&chunk.bytes);
            ui.raw(part)?;
            offset += part.len() as u64;
            if offset >= end {
                return Ok(());
            }
            if part.is_empty() {
                let error = format!("the file became shorter while it was read: {}", self.path.as_str());
                return Err(Failure::new(error, "run the command again").into());
            }
        }
    }
}
