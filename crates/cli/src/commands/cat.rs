//! `prowess cat`: the instructions of a skill, or one of its files, byte for byte.

use prowess::source::Slice;

use super::{not_had, registry};
use crate::Outcome;
use crate::args::Cat;
use crate::error::CommandError;
use crate::ui::Ui;

/// The largest file that is written out.
const LIMIT: usize = 64 << 20;

/// Runs the command.
pub(crate) fn run(args: &Cat, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let registry = registry(&args.places)?;
    let (path, bytes) = match &args.resource {
        None => {
            let document = registry.document(&args.name).map_err(|error| not_had(&error, &registry, ui))?;
            let body = document.raw().get(document.body_offset()..).unwrap_or(&[]).to_vec();
            ("SKILL.md".to_owned(), body)
        }
        Some(path) => {
            let chunk = registry
                .read_bytes(&args.name, path, Slice::first(LIMIT))
                .map_err(|error| not_had(&error, &registry, ui))?;
            (path.clone(), chunk.bytes)
        }
    };
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
