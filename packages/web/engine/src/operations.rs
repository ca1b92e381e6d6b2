//! The operations without state: reading, checking, fixing, tools and paths.

use prowess_core::path::first_collision;
use prowess_core::session::scope_tools;
use prowess_core::{
    Document, FixMode, Level, LoadError, Manifest, Origin, Preset, Problem, Profile, RelPath, ToolList,
    check, check_description, check_name, fix, parse,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, read};
use crate::input::{GivenFile, Judge, Place, Units, manifest, rel_path};
use crate::output::{self, Places};
use crate::{render, search};

/// Runs an operation: JSON in, JSON out, the bytes of a file beside it.
pub fn run(operation: &str, input: &str, bytes: &[u8]) -> Result<String, Failure> {
    let value = match operation {
        "parse" => parsed(read(input)?, bytes),
        "parseTexts" => parsed_texts(bytes),
        "load" => loaded(read(input)?, bytes)?,
        "check" => checked(read(input)?, bytes)?,
        "fix" => fixed(read(input)?, bytes)?,
        "findings" => findings(read(input)?, bytes)?,
        "rules" => rules(),
        "checkName" => text_problems(read(input)?, check_name)?,
        "checkDescription" => text_problems(read(input)?, check_description)?,
        "tools" => output::tools(&tools(read(input)?)),
        "allows" => allows(read(input)?),
        "scopeTools" => scoped(read(input)?),
        "path" => path(read(input)?, bytes)?,
        "collision" => collision(read(input)?)?,
        "renderCatalog" => render::catalog(read(input)?)?,
        "renderActivation" => render::activation(read(input)?)?,
        "compose" => render::composed(read(input)?),
        "describe" => render::described(read(input)?)?,
        "toDict" => render::to_dict(read(input)?, bytes)?,
        "fromDict" => render::from_dict(read(input)?)?,
        "tokens" => render::tokens(read(input)?),
        "search" => search::over_skills(read(input)?)?,
        "embeddedTexts" => search::embedded_texts(read(input)?)?,
        other => return Err(Failure::argument(format!("there is no such operation: {other}"))),
    };
    Ok(value.to_string())
}

fn parsed(place: Place, bytes: &[u8]) -> Value {
    let (document, at) = (parse(bytes), place.origin());
    let mut value = document_json(&document, &at);
    if let Some(members) = value.as_object_mut() {
        members.insert("loads".to_owned(), document.skill(&at).is_some().into());
    }
    value
}

/// A skill with its text, its frontmatter with each scalar as it is written, and what is not read of it.
fn parsed_texts(bytes: &[u8]) -> Value {
    let document = parse(bytes);
    let mut value = document_json(&document, &Origin::default());
    if let Some(members) = value.as_object_mut() {
        let texts = document.pairs().iter().map(|pair| (pair.key.clone(), pair.value.to_json_texts()));
        members.insert("texts".to_owned(), texts.collect());
        let cuts = document.findings().iter().filter(|finding| CUT.contains(&finding.code()));
        members.insert("cuts".to_owned(), cuts.map(|finding| finding.message.as_str()).collect());
    }
    value
}

/// The rules about what is not read to its end.
const CUT: [&str; 2] = ["file-too-large", "frontmatter-too-large"];

/// A skill with its text.
pub fn document_json(document: &Document, at: &Origin) -> Value {
    let mut value = output::entry(&document.entry(at));
    if let Some(members) = value.as_object_mut() {
        members.insert("body".to_owned(), document.body().into());
        members.insert("bodyOffset".to_owned(), document.body_offset().into());
        members.insert("rawBody".to_owned(), document.body_raw().into());
        members.insert("frontmatter".to_owned(), document.frontmatter().into());
        members.insert("data".to_owned(), document.frontmatter_json().into());
    }
    value
}

/// A text to judge.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Judged {
    place: Place,
    judge: Judge,
    files: Option<Vec<GivenFile>>,
    /// For fixes: also those that rename or remove something.
    all: bool,
    units: Units,
}

impl Judged {
    fn parts(self, usual: Preset) -> Result<(Origin, Option<Manifest>, Profile), Failure> {
        let files = self.files.map(manifest).transpose()?;
        Ok((self.place.origin(), files, self.judge.profile(usual)?))
    }
}

fn loaded(asked: Judged, bytes: &[u8]) -> Result<Value, Failure> {
    let units = asked.units;
    let (at, files, profile) = asked.parts(Preset::Lenient)?;
    let document = parse(bytes);
    match document.load(&at, files.as_ref(), &profile) {
        Ok(_) => Ok(document_json(&document, &at)),
        Err(error) => Err(load_failure(&document, &error, units)),
    }
}

/// The failure of a skill that does not load.
pub fn load_failure(document: &Document, error: &LoadError, units: Units) -> Failure {
    let problems = problems_json(document, &error.problems, units);
    Failure { problems: Some(Box::new(problems)), ..Failure::new("load", error.to_string()) }
}

/// Problems of a document, with their places.
pub fn problems_json(document: &Document, problems: &[Problem], units: Units) -> Value {
    Places::of(document, units).problems(problems)
}

fn checked(asked: Judged, bytes: &[u8]) -> Result<Value, Failure> {
    let units = asked.units;
    let (at, files, profile) = asked.parts(Preset::Spec)?;
    let document = parse(bytes);
    Ok(problems_json(&document, &profile.check(&document, files.as_ref(), &at), units))
}

fn fixed(asked: Judged, bytes: &[u8]) -> Result<Value, Failure> {
    let (mode, units) = (if asked.all { FixMode::All } else { FixMode::Safe }, asked.units);
    let (at, files, profile) = asked.parts(Preset::Spec)?;
    // In the text of a document, each byte that is not UTF-8 is another character.
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let place = error.valid_up_to();
        Failure::argument(format!("only UTF-8 can be fixed; this is another encoding from byte {place} on"))
    })?;
    let document = parse(bytes);
    let fixed = fix(&document, files.as_ref(), &at, &profile, mode);
    let left = profile.check(&fixed.document, files.as_ref(), &at);
    let places = Places::of(&document, units);
    Ok(json!({
        // The text of a document that is too large is only its start.
        "text": if fixed.document.text() == document.text() { text } else { fixed.document.text() },
        // Later rounds find problems in a text that was fixed before, so only the words count here.
        "applied": fixed.applied.iter().map(|problem| places.problem(problem)).collect::<Value>(),
        "problems": problems_json(&fixed.document, &left, units),
    }))
}

/// Everything that the rules find, whatever a profile makes of it.
fn findings(asked: Judged, bytes: &[u8]) -> Result<Value, Failure> {
    let (at, files, _) = asked.parts(Preset::Spec)?;
    let document = parse(bytes);
    let findings = check(&document, files.as_ref(), &at);
    let text = document.text();
    let finding = |finding: &prowess_core::Finding| {
        let shown = finding.span.and_then(|span| span.slice(text));
        json!({"code": finding.code(), "field": finding.field, "message": finding.message, "text": shown})
    };
    Ok(findings.iter().map(finding).collect())
}

fn rules() -> Value {
    let level = |level: Level| json!(level);
    let rule = |rule: &'static prowess_core::Rule| {
        let levels: Map<String, Value> =
            Preset::ALL.iter().map(|&preset| (preset.name().to_owned(), level(rule.level(preset)))).collect();
        json!({"code": rule.code, "summary": rule.summary, "explanation": rule.explanation, "levels": levels})
    };
    prowess_core::check::rules().map(rule).collect()
}

/// One field to judge.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneField {
    text: String,
    #[serde(default)]
    judge: Judge,
    #[serde(default)]
    units: Units,
}

fn text_problems(asked: OneField, check: fn(&str) -> Vec<prowess_core::Finding>) -> Result<Value, Failure> {
    let profile = asked.judge.profile(Preset::Spec)?;
    let document = parse(asked.text.as_bytes());
    Ok(problems_json(&document, &profile.judge(check(&asked.text)), asked.units))
}

/// The value of `allowed-tools`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "tools are a text or a list of texts")]
enum Tools {
    Text(String),
    Items(Vec<String>),
}

fn tools(tools: Tools) -> ToolList {
    match tools {
        Tools::Text(text) => ToolList::parse(&text),
        Tools::Items(items) => ToolList::from_items(items.iter().map(String::as_str)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Allows {
    tools: Tools,
    tool: String,
    argument: Option<String>,
}

fn allows(asked: Allows) -> Value {
    tools(asked.tools).allows(&asked.tool, asked.argument.as_deref()).into()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scoped {
    tools: Vec<String>,
    lists: Vec<Option<Tools>>,
}

fn scoped(asked: Scoped) -> Value {
    let lists: Vec<Option<ToolList>> = asked.lists.into_iter().map(|list| list.map(tools)).collect();
    let names: Vec<&str> = asked.tools.iter().map(String::as_str).collect();
    json!(scope_tools(&names, lists.iter().map(Option::as_ref)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Path {
    path: Option<String>,
    /// `strict` for a stored path, `request` for one of a model or a user, `name` for a single name, `bytes`.
    reading: String,
}

fn path(asked: Path, bytes: &[u8]) -> Result<Value, Failure> {
    let path = asked.path.unwrap_or_default();
    let read = match asked.reading.as_str() {
        "strict" => RelPath::parse(&path),
        "request" => RelPath::from_request(&path),
        "name" => RelPath::from_name(&path),
        "bytes" => RelPath::from_bytes(bytes),
        other => return Err(Failure::argument(format!("a path has no such reading: {other}"))),
    };
    Ok(match read {
        Ok(path) => json!({"path": path}),
        Err(error) => json!({"rule": error.rule().code(), "message": error.to_string()}),
    })
}

fn collision(paths: Vec<String>) -> Result<Value, Failure> {
    let paths: Vec<RelPath> = paths.iter().map(|path| rel_path(path)).collect::<Result<_, _>>()?;
    Ok(json!(first_collision(&paths).map(|(one, other)| [one.as_str(), other.as_str()])))
}
