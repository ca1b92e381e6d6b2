//! The values of the core as packages read them: names in camel case, places in the units of the language.

use prowess_core::select::Hit;
use prowess_core::session::{Effect, Event, Step, ToolResult};
use prowess_core::{Candidate, Document, Entry, LineIndex, Obstacle, Problem, Span, Standing, ToolList};
use serde_json::{Map, Value, json};

use crate::input::Units;

/// A name in camel case: `when_to_use` is `whenToUse`.
fn camel(name: &str) -> String {
    let mut parts = name.split(['_', '-']);
    let mut camel = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// The members of an object with their names in camel case; their values stay.
fn camel_members(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (camel(&name), value)).collect::<Map<_, _>>().into()
        }
        value => value,
    }
}

/// The tools of a skill: as written, and what each grants.
pub(crate) fn tools(tools: &ToolList) -> Value {
    let grants: Vec<Value> = tools
        .grants
        .iter()
        .map(|grant| {
            json!({"raw": grant.raw, "name": grant.name, "pattern": grant.pattern, "balanced": grant.balanced})
        })
        .collect();
    json!({"form": tools.form, "grants": grants, "text": tools.to_spec_string()})
}

/// A skill without its body.
pub(crate) fn entry(entry: &Entry) -> Value {
    let metadata: Map<String, Value> =
        entry.metadata.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    let written = |tools: &ToolList| -> Vec<Value> {
        tools.grants.iter().map(|grant| grant.raw.clone().into()).collect()
    };
    json!({
        "key": entry.key,
        "name": entry.name,
        "description": entry.description,
        "license": entry.license,
        "compatibility": entry.compatibility,
        "metadata": metadata,
        "allowedTools": entry.allowed_tools.as_ref().map(written),
        "invocation": {"model": entry.invocation.model, "user": entry.invocation.user},
        "tags": entry.tags,
        "version": entry.version,
        "extra": entry.extra,
        "fields": entry.to_dict(),
        "scope": entry.origin.scope,
        "location": entry.origin.location,
        "folder": entry.origin.folder,
        "repaired": entry.repaired,
    })
}

/// A skill of a catalog: its entry, and what was decided about it.
pub fn candidate(skill: &Candidate, standing: Option<&Standing>) -> Value {
    let mut value = entry(&skill.entry);
    let obstacle = skill.obstacle.as_ref().map(|obstacle| match obstacle {
        Obstacle::Broken { .. } => "broken",
        Obstacle::Disabled { .. } => "disabled",
        Obstacle::Untrusted => "untrusted",
    });
    if let Some(members) = value.as_object_mut() {
        members.insert("source".to_owned(), skill.source.as_ref().into());
        members.insert("virtualPath".to_owned(), skill.virtual_path.clone().into());
        members.insert("preload".to_owned(), skill.preload.into());
        members.insert("obstacle".to_owned(), obstacle.into());
        let problems = match &skill.obstacle {
            Some(Obstacle::Broken { problems, .. }) => problems.as_slice(),
            _ => skill.problems.as_deref().unwrap_or_default(),
        };
        members.insert("problems".to_owned(), problems.iter().map(brief).collect());
        if let Some(standing) = standing {
            let why = standing.why_not().map(|why| why.about(&skill.entry.key));
            members.insert("offered".to_owned(), matches!(standing, Standing::Listed).into());
            members.insert("whyNot".to_owned(), why.into());
        }
    }
    value
}

/// A problem without its place, for a skill whose text is not at hand.
pub fn brief(problem: &Problem) -> Value {
    json!({
        "code": problem.code,
        "severity": problem.severity,
        "field": problem.field,
        "message": problem.message,
        "help": problem.help,
    })
}

/// Places of a text in units of a language, lines and columns.
pub(crate) struct Places<'t> {
    text: &'t str,
    of: Units,
    lines: LineIndex<'t>,
    /// The offset of every 1024th byte or so, with that byte.
    marks: Vec<(usize, usize)>,
}

const DISTANCE: usize = 1024;

impl<'t> Places<'t> {
    pub(crate) fn of(document: &'t Document, of: Units) -> Self {
        let text = document.text();
        let mut marks = vec![(0, 0)];
        let (mut units, mut next) = (0, DISTANCE);
        for (byte, character) in text.char_indices() {
            if byte >= next {
                marks.push((byte, units));
                next = byte + DISTANCE;
            }
            units += of.of(character);
        }
        Self { text, of, lines: LineIndex::new(text), marks }
    }

    fn units(&self, byte: usize) -> usize {
        let at = self.marks.partition_point(|(start, _)| *start <= byte).saturating_sub(1);
        let (start, units) = self.marks.get(at).copied().unwrap_or_default();
        let between = self.text.get(start..byte).unwrap_or_default();
        units + between.chars().map(|character| self.of.of(character)).sum::<usize>()
    }

    /// A place: units from the start of the text, and the line and column of its start.
    fn span(&self, span: Span) -> Value {
        let start = self.lines.position(span.start);
        json!({
            "start": self.units(span.start),
            "end": self.units(span.end),
            "line": start.line,
            "column": start.column,
        })
    }

    pub(crate) fn problem(&self, problem: &Problem) -> Value {
        let related: Vec<Value> = problem
            .related
            .iter()
            .map(|other| json!({"message": other.message, "span": self.span(other.span)}))
            .collect();
        let fix = problem.fix.as_ref().map(|fix| {
            let edits: Vec<Value> = fix
                .edits
                .iter()
                .map(|edit| {
                    json!({
                        "start": self.units(edit.span.start),
                        "end": self.units(edit.span.end),
                        "replacement": edit.replacement,
                    })
                })
                .collect();
            json!({"title": fix.title, "safe": fix.safe, "edits": edits})
        });
        let mut value = brief(problem);
        if let Some(members) = value.as_object_mut() {
            members.insert("span".to_owned(), problem.span.map(|span| self.span(span)).into());
            members.insert("related".to_owned(), related.into());
            members.insert("fix".to_owned(), fix.into());
        }
        value
    }

    pub(crate) fn problems(&self, problems: &[Problem]) -> Value {
        problems.iter().map(|problem| self.problem(problem)).collect()
    }
}

/// The hits of a search.
pub fn hits(hits: &[Hit]) -> Value {
    let hit = |hit: &Hit| {
        let why: Vec<Value> = hit.why.iter().map(|why| camel_members(json!(why))).collect();
        json!({"key": hit.key, "score": hit.score, "why": why})
    };
    hits.iter().map(hit).collect()
}

/// An event of a session.
pub fn event(event: &Event) -> Value {
    camel_members(json!(event))
}

/// The next step of a call: `done` with its result, or `ticket` and `effect`.
pub(crate) fn step(step: &Step) -> Value {
    match step {
        Step::Done(result) => json!({"done": result_json(result)}),
        Step::Need(ticket, effect) => json!({"ticket": ticket, "effect": effect_json(effect)}),
    }
}

/// The result of a call.
pub fn result_json(result: &ToolResult) -> Value {
    json!(result)
}

/// What a session needs.
pub fn effect_json(effect: &Effect) -> Value {
    let mut value = camel_members(json!(effect));
    if let Some(members) = value.as_object_mut()
        && let Some(kind) = members.shift_remove("effect")
    {
        members.shift_insert(0, "kind".to_owned(), kind);
    }
    value
}
