//! The selectors by name, over skills with bodies in memory.

use std::path::Path;

use prowess::Entry;
use prowess::fs::read;
use prowess::select::{Bm25, Embedding, Fused, MEANING_WEIGHT, Selector, Settings, Texts, Vectors};
use serde_json::Value;

use crate::args::Eval;
use crate::error::{CommandError, Failure};
use crate::rank::index;
use crate::selector::SelectorName;

/// The maximum size of a file with skills, queries or vectors.
const MAX_LINES_BYTES: usize = 1 << 30;

/// A skill to rank, and its body.
pub(super) struct Skill {
    pub(super) entry: Entry,
    pub(super) body: Option<String>,
}

/// The objects of a file, one per line.
pub(super) fn lines(path: &Path) -> Result<Vec<(usize, Value)>, CommandError> {
    let bytes = read::read_small(path, MAX_LINES_BYTES)?;
    let mut values = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let value = serde_json::from_slice(line).map_err(|error| {
            let what = format!("this line is not JSON: {}:{number}", path.display());
            Failure::new(what, "the file must have one JSON object per line").with_cause(error)
        })?;
        values.push((number, value));
    }
    Ok(values)
}

/// The selector that the command line names.
pub(super) fn selector(args: &Eval, skills: &[Skill]) -> Result<Box<dyn Selector>, CommandError> {
    if let Some(selector) = args.selector.without_index() {
        return Ok(selector);
    }
    let words = || bm25(skills, args.settings.clone());
    Ok(match args.selector {
        SelectorName::Embedding => Box::new(embedding(args, skills)?),
        SelectorName::Fused => {
            let weight = args.weight.unwrap_or(MEANING_WEIGHT);
            Box::new(Fused::new(words(), embedding(args, skills)?, weight))
        }
        _ => Box::new(words()),
    })
}

pub(super) fn bm25(skills: &[Skill], settings: Option<Settings>) -> Bm25 {
    let texts = skills.iter().map(|Skill { entry, body }| (&*entry.key, Texts::of(entry, body.as_deref())));
    index(texts, settings.unwrap_or_default())
}

/// Vectors come from a file: the model is not part of Prowess.
fn embedding(args: &Eval, skills: &[Skill]) -> Result<Embedding, CommandError> {
    let hint = "write one {\"text\", \"vector\"} per line for every skill and query; docs/project/retrieval.md shows how";
    let Some(path) = &args.vectors else {
        return Err(Failure::new("this selector needs vectors: --vectors", hint).into());
    };
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format!("the vectors cannot be used: {}", path.display()), hint).with_cause(error)
    };
    let mut vectors = Vectors::default();
    for (_, line) in lines(path)? {
        let text = line.get("text").and_then(Value::as_str);
        let numbers = line.get("vector").and_then(Value::as_array);
        let (Some(text), Some(numbers)) = (text, numbers) else {
            return Err(failed(&"a line has no text or no vector").into());
        };
        #[expect(clippy::cast_possible_truncation, reason = "vectors are 32-bit floats")]
        let vector = numbers.iter().map(|number| number.as_f64().unwrap_or(f64::NAN) as f32).collect();
        vectors.insert(text.to_owned(), vector).map_err(|error| failed(&error))?;
    }
    let unknown = |texts: &[&str]| -> Result<Vec<Vec<f32>>, String> {
        let shown: String = texts.first().unwrap_or(&"").chars().take(60).collect();
        Err(format!("no vector for this text: {shown}"))
    };
    let entries: Vec<&Entry> = skills.iter().map(|skill| &skill.entry).collect();
    Embedding::new(&entries, Box::new(unknown), vectors).map_err(|error| failed(&error).into())
}
