//! `prowess cat`: the instructions of a skill, or one of its files, byte for byte.

use prowess::source::Slice;
use prowess::{Registry, SourceError};

use super::{not_had, registry};
use crate::Outcome;
use crate::args::Cat;
use crate::error::CommandError;
use crate::ui::Ui;

/// How much of a file is read at once.
const PART: usize = 1 << 20;

/// Runs the command.
pub(crate) fn run(args: &Cat, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let registry = registry(&args.places)?;
    let path = args.resource.as_deref().unwrap_or("SKILL.md");
    let whole = match &args.resource {
        None => body(&registry, &args.name),
        Some(path) => file(&registry, &args.name, path),
    };
    let bytes = whole.map_err(|error| not_had(&error, &registry, ui))?;
    if json {
        let text = String::from_utf8(bytes);
        let (encoding, contents) = match text {
            Ok(text) => ("text", text),
            Err(error) => ("base64", prowess::resources::base64(error.as_bytes())),
        };
        let version = crate::report::json::VERSION;
        ui.json(&serde_json::json!({"version": version, "name": args.name, "path": path, "encoding": encoding, "contents": contents}))?;
    } else {
        ui.raw(&bytes)?;
    }
    Ok(Outcome::Fine)
}

/// The instructions of a skill; an error when there is more than a reader takes.
fn body(registry: &Registry, name: &str) -> Result<Vec<u8>, SourceError> {
    let head = registry.head_of(&*registry.get(name)?)?;
    if !head.is_whole() {
        let limit = prowess::limits::MAX_FILE_BYTES as u64;
        return Err(SourceError::TooLarge { path: "SKILL.md".into(), size: head.size, limit });
    }
    let document = head.document();
    Ok(document.raw().get(document.body_offset()..).unwrap_or(&[]).to_vec())
}

/// All bytes of a file, however many.
fn file(registry: &Registry, name: &str, path: &str) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    loop {
        let slice = Slice { offset: bytes.len() as u64, limit: PART };
        let chunk = registry.read_bytes(name, path, slice)?;
        bytes.extend_from_slice(&chunk.bytes);
        if chunk.bytes.is_empty() || bytes.len() as u64 >= chunk.size {
            return Ok(bytes);
        }
    }
}
