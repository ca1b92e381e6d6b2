//! Tests of whole sessions, with a host that keeps skills in memory.

mod answers;
mod approval;
mod hidden;
mod hints;
mod kept;
mod lifecycle;
mod property;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::catalog::{Catalog, Duplicates, Stamp};
use crate::files::manifest::{FileEntry, Manifest};
use crate::files::page::TooLarge;
use crate::parse;
use crate::path::RelPath;
use crate::select::{Hit, HitReason as Why};
use crate::skill::location::{Location, Origin, Scope};
use crate::skill::tool_list::HostTools;

/// Skills in memory, and the host that reads them.
#[derive(Clone, Default)]
struct Shelf {
    skills: BTreeMap<String, Held>,
}

#[derive(Clone)]
struct Held {
    text: String,
    files: BTreeMap<String, String>,
    /// Whether the host cannot list all of its files.
    incomplete: bool,
    change: fn(&mut Candidate),
    digest: Digest,
}

impl Shelf {
    fn with(skills: &[(&str, &str)]) -> Self {
        let mut shelf = Self::default();
        for (name, fields) in skills {
            shelf.put(name, fields, &format!("Body of {name}."));
        }
        shelf
    }

    /// Puts a skill there: `fields` are further lines of its frontmatter.
    fn put(&mut self, name: &str, fields: &str, body: &str) -> &mut Held {
        let fields = if fields.is_empty() { String::new() } else { format!("{fields}\n") };
        let text = format!("---\nname: {name}\ndescription: About {name}.\n{fields}---\n{body}\n");
        let files = BTreeMap::new();
        let held = Held { text, files, incomplete: false, change: |_| {}, digest: [1; 32].into() };
        self.skills.insert(name.to_owned(), held);
        self.skills.get_mut(name).unwrap()
    }

    fn catalog(&self) -> Arc<Catalog> {
        let candidates = self.skills.iter().map(|(name, held)| {
            let at = Origin::at(format!("/shelf/{name}/SKILL.md"));
            let mut candidate = Candidate::new(parse(held.text.as_bytes()).skill(&at).unwrap());
            candidate.virtual_path = format!("shelf/{name}");
            let sum = held.text.bytes().fold(7u64, |sum, byte| sum.wrapping_mul(31) ^ u64::from(byte));
            candidate.stamp = Stamp::new(0, [held.text.len() as u64, sum, 0, 0]);
            (held.change)(&mut candidate);
            Arc::new(candidate)
        });
        Arc::new(Catalog::new(candidates.collect(), Duplicates::First).unwrap())
    }

    fn session(&self, policy: Policy, options: Options) -> Session {
        Session::new("test", self.catalog(), policy, options)
    }

    /// What a host would answer. Its selector returns all skills, allowed or not.
    fn perform(&self, effect: &Effect) -> Outcome {
        let missing = Outcome::Failed { why: Failure::Missing };
        match effect {
            Effect::Files { key, .. } => {
                let Some(held) = self.skills.get(key) else { return missing };
                let file = |path: &String| FileEntry::new(RelPath::parse(path).unwrap(), 1);
                let files = Manifest::new(held.files.keys().map(file).collect());
                Outcome::Files { files: files.with_incomplete(held.incomplete) }
            }
            Effect::Read { key, path, offset, limit, expect_digest, .. } => {
                let Some(held) = self.skills.get(key) else { return missing };
                let own = (path.as_str() == "SKILL.md").then_some(&held.text);
                let Some(text) = own.or(held.files.get(path.as_str())) else { return missing };
                let start = usize::try_from(*offset).unwrap().min(text.len());
                let bytes = text.as_bytes()[start..].iter().take(*limit).copied().collect();
                let digest = expect_digest.map(|_| held.digest);
                Outcome::Read { bytes, size: text.len() as u64, digest }
            }
            Effect::Search { .. } => {
                let hit = |key: &String| Hit { key: key.clone(), score: 1.0, why: Vec::<Why>::new() };
                Outcome::Hits { hits: self.skills.keys().map(hit).collect() }
            }
            Effect::Approve { key, .. } => match self.skills.get(key) {
                Some(held) => Outcome::Approved { digest: held.digest },
                None => Outcome::Declined,
            },
            Effect::Run { .. } => Outcome::Ran { code: Some(0), output: "ran".into() },
        }
    }

    fn finish(&self, session: &mut Session, mut step: Step) -> ToolResult {
        loop {
            step = match step {
                Step::Done(result) => return result,
                Step::Need(ticket, effect) => session.resume(ticket, self.perform(&effect)),
            }
        }
    }

    fn call(&self, session: &mut Session, tool: &str, arguments: Value) -> ToolResult {
        let step = session.call(ToolCall::new(tool, arguments));
        self.finish(session, step)
    }

    fn load(&self, session: &mut Session, name: &str) -> ToolResult {
        self.call(session, "load_skill", json!({ "name": name }))
    }
}

fn code(result: &ToolResult) -> &'static str {
    result.reason.map_or("ok", Reason::code)
}
