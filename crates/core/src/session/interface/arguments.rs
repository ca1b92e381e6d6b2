//! Arguments of tool calls: other names and spellings are accepted, errors name the argument.

use serde_json::{Map, Value};

use crate::session::interface::naming::{Naming, Tool};
use crate::text::json::parse_json;
use crate::text::{cut, inline, neutralize};

/// One argument of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Parameter {
    Skill,
    Path,
    Query,
    Folder,
    Limit,
    Offset,
    Args,
}

impl Parameter {
    /// Every accepted name.
    const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Skill => &["name", "skill_name", "id", "skill"],
            Self::Path => &["path", "resource"],
            Self::Query => &["query"],
            Self::Folder => &["folder"],
            Self::Limit => &["limit"],
            Self::Offset => &["offset"],
            Self::Args => &["args"],
        }
    }

    /// The name in a schema.
    pub(in crate::session) fn name(self, tool: Tool, naming: &Naming) -> &'static str {
        match self {
            Self::Skill => naming.skill_argument(tool),
            Self::Path => naming.row().path,
            Self::Query => "query",
            Self::Folder => "folder",
            Self::Limit => "limit",
            Self::Offset => "offset",
            Self::Args => "args",
        }
    }
}

/// The arguments of a tool, and whether each is required.
pub(in crate::session) const fn parameters(tool: Tool) -> &'static [(Parameter, bool)] {
    match tool {
        Tool::List => &[(Parameter::Folder, false), (Parameter::Offset, false)],
        Tool::Search => &[(Parameter::Query, true), (Parameter::Limit, false)],
        Tool::Load | Tool::Unload => &[(Parameter::Skill, true)],
        Tool::Read => &[
            (Parameter::Skill, true),
            (Parameter::Path, false),
            (Parameter::Offset, false),
            (Parameter::Limit, false),
        ],
        Tool::Run => &[(Parameter::Skill, true), (Parameter::Path, true), (Parameter::Args, false)],
    }
}

/// The parsed arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::session) struct Values {
    pub(in crate::session) skill: String,
    pub(in crate::session) path: Option<String>,
    pub(in crate::session) query: String,
    pub(in crate::session) folder: String,
    pub(in crate::session) limit: Option<u64>,
    pub(in crate::session) offset: u64,
    pub(in crate::session) args: Vec<String>,
}

/// The error and the hint of refused arguments.
pub(in crate::session) type Refusal = (String, String);

/// Reads the arguments of a call.
pub(in crate::session) fn read(tool: Tool, naming: &Naming, arguments: &Value) -> Result<Values, Refusal> {
    let parsed;
    let object = match arguments {
        Value::Object(object) => object,
        Value::Null => &Map::new(),
        // Some models send the object as a string.
        Value::String(text) => {
            parsed = if text.trim().is_empty() { Value::Object(Map::new()) } else { reparsed(text)? };
            parsed.as_object().ok_or_else(|| not_an_object(tool, naming, arguments))?
        }
        _ => return Err(not_an_object(tool, naming, arguments)),
    };
    let known = parameters(tool);
    let mut found: Vec<Option<(&str, &Value)>> = vec![None; known.len()];
    for (name, value) in object {
        // Models often send null for an absent argument.
        if value.is_null() {
            continue;
        }
        let place = known.iter().position(|(parameter, _)| parameter.aliases().contains(&name.as_str()));
        let Some(slot) = place.and_then(|place| found.get_mut(place)) else {
            return Err((
                format!("there is no such argument: {}", for_message(name)),
                format!("the arguments of {} are {}", naming.tool_name(tool), names(tool, naming)),
            ));
        };
        match slot {
            Some((other, before)) if *before != value => {
                return Err((
                    format!("two arguments contradict each other: {other} and {}", for_message(name)),
                    "give one of them".to_owned(),
                ));
            }
            slot => *slot = Some((name, value)),
        }
    }
    let mut values = Values::default();
    for ((parameter, required), given) in known.iter().zip(found) {
        match given {
            Some((name, value)) => values.take(*parameter, name, value)?,
            None if *required => return Err(missing(*parameter, tool, naming)),
            None => {}
        }
        let blank = match parameter {
            Parameter::Skill => values.skill.is_empty(),
            Parameter::Query => values.query.is_empty(),
            _ => false,
        };
        if blank {
            let name = parameter.name(tool, naming);
            return Err((format!("an argument is empty: {name}"), format!("give a text for {name}")));
        }
    }
    Ok(values)
}

impl Values {
    fn take(&mut self, parameter: Parameter, name: &str, value: &Value) -> Result<(), Refusal> {
        match parameter {
            Parameter::Skill => text(name, value)?.trim().clone_into(&mut self.skill),
            Parameter::Path => self.path = Some(text(name, value)?.to_owned()),
            Parameter::Query => text(name, value)?.trim().clone_into(&mut self.query),
            Parameter::Folder => text(name, value)?.trim().clone_into(&mut self.folder),
            Parameter::Limit => self.limit = Some(number(name, value, 1)?),
            Parameter::Offset => self.offset = number(name, value, 0)?,
            Parameter::Args => self.args = texts(name, value)?,
        }
        Ok(())
    }
}

/// The value of a JSON text, or null when it is not JSON. An ambiguous one is refused as such.
fn reparsed(text: &str) -> Result<Value, Refusal> {
    match parse_json(text.as_bytes()) {
        Err(error) if error.is_data() => Err((
            format!("the arguments are ambiguous: {}", for_message(&error.to_string())),
            "give each argument once".to_owned(),
        )),
        parsed => Ok(parsed.unwrap_or_default()),
    }
}

fn text<'v>(name: &str, value: &'v Value) -> Result<&'v str, Refusal> {
    value.as_str().ok_or_else(|| mistyped(name, "a text", value))
}

fn number(name: &str, value: &Value, least: u64) -> Result<u64, Refusal> {
    let whole = match value {
        Value::String(text) => text.trim().parse().ok(),
        // `1e3` and `1000.0` are whole numbers of JSON.
        value => value.as_u64().or_else(|| value.as_f64().and_then(whole)),
    };
    let whole = whole.filter(|whole| *whole >= least);
    let wanted = format!("a whole number from {least}");
    whole.ok_or_else(|| match value {
        Value::Number(given) => (
            format!("the argument is not {wanted}: {}: {given}", for_message(name)),
            format!("give {wanted}"),
        ),
        other => mistyped(name, &wanted, other),
    })
}

/// A number without a fraction, in the range in which every such number can be told from the next.
fn whole(number: f64) -> Option<u64> {
    let text = format!("{number:.0}");
    let is_whole = (0.0..9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0;
    text.parse().ok().filter(|_| is_whole)
}

fn texts(name: &str, value: &Value) -> Result<Vec<String>, Refusal> {
    let all = value.as_array().and_then(|list| {
        list.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    });
    all.ok_or_else(|| mistyped(name, "a list of texts", value))
}

fn mistyped(name: &str, wanted: &str, value: &Value) -> Refusal {
    (
        format!("the argument is not {wanted}: {}: {}", for_message(name), kind(value)),
        format!("give {wanted}"),
    )
}

fn missing(parameter: Parameter, tool: Tool, naming: &Naming) -> Refusal {
    let name = parameter.name(tool, naming);
    let arguments = names(tool, naming);
    (
        format!("an argument is missing: {name}"),
        format!("the arguments of {} are {arguments}", naming.tool_name(tool)),
    )
}

fn not_an_object(tool: Tool, naming: &Naming, value: &Value) -> Refusal {
    (
        format!("the arguments are not an object: {}", kind(value)),
        format!("give an object; the arguments of {} are {}", naming.tool_name(tool), names(tool, naming)),
    )
}

fn names(tool: Tool, naming: &Naming) -> String {
    let listed: Vec<String> = parameters(tool)
        .iter()
        .map(|(parameter, required)| {
            let optional = if *required { "" } else { " (optional)" };
            format!("{}{optional}", parameter.name(tool, naming))
        })
        .collect();
    listed.join(", ")
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Text of a model or a skill, shortened and escaped for a message.
pub(in crate::session) fn for_message(text: &str) -> String {
    whole_for_message(&cut(text, Some(100)))
}

/// Text of a model or a skill, escaped for a message.
pub(in crate::session) fn whole_for_message(text: &str) -> String {
    neutralize(&inline(text), &[]).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(tool: Tool, arguments: Value) -> Result<Values, String> {
        read(tool, &Naming::default(), &arguments).map_err(|(error, _)| error)
    }

    #[test]
    fn every_alias_is_understood() {
        for alias in ["name", "skill_name", "id", "skill"] {
            assert_eq!(ask(Tool::Load, json!({ alias: " pdf " })).unwrap().skill, "pdf");
        }
        for alias in ["path", "resource"] {
            let values = ask(Tool::Read, json!({"name": "pdf", alias: "a.md", "limit": "7"})).unwrap();
            assert_eq!((values.path.as_deref(), values.limit), (Some("a.md"), Some(7)));
        }
        for (number, wanted) in [("1e3", 1000), ("7.0", 7), ("9007199254740991", 9_007_199_254_740_991)] {
            let arguments = serde_json::from_str(&format!(r#"{{"offset": {number}}}"#)).unwrap();
            assert_eq!(ask(Tool::List, arguments).unwrap().offset, wanted, "{number}");
        }
        assert!(ask(Tool::List, json!({"offset": 1e300})).is_err());
        assert_eq!(ask(Tool::Load, json!("{\"name\": \"pdf\"}")).unwrap().skill, "pdf");
        assert_eq!(ask(Tool::Load, json!({"name": "pdf", "skill": "pdf", "id": null})).unwrap().skill, "pdf");
        assert!(ask(Tool::List, Value::Null).is_ok() && ask(Tool::List, json!("")).is_ok());
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        for (tool, arguments, error) in [
            (Tool::Load, json!({}), "an argument is missing: name"),
            (Tool::Load, json!({"name": " "}), "an argument is empty: name"),
            (Tool::Search, json!({"query": ""}), "an argument is empty: query"),
            (Tool::Load, json!({"name": 3}), "the argument is not a text: name: a number"),
            (Tool::Load, json!({"name": "a", "why": 1}), "there is no such argument: why"),
            (Tool::Load, json!({"name": "a", "id": "b"}), "two arguments contradict each other: name and id"),
            (Tool::Load, json!([1]), "the arguments are not an object: a list"),
            (Tool::Load, json!("pdf"), "the arguments are not an object: a text"),
            // Two readers could take different values.
            (
                Tool::Load,
                json!(r#"{"name": "a", "name": "b"}"#),
                "the arguments are ambiguous: the member name appears twice at line 1 column 20",
            ),
            (
                Tool::Read,
                json!({"name": "a", "offset": -1}),
                "the argument is not a whole number from 0: offset: -1",
            ),
            (
                Tool::Search,
                json!({"query": "a", "limit": 0}),
                "the argument is not a whole number from 1: limit: 0",
            ),
            (Tool::List, json!({"offset": 1.5}), "the argument is not a whole number from 0: offset: 1.5"),
            (Tool::Read, json!({"name": "a", "path": ["x"]}), "the argument is not a text: path: a list"),
            (
                Tool::Run,
                json!({"name": "a", "path": "x", "args": [1]}),
                "the argument is not a list of texts: args: a list",
            ),
            (Tool::Load, json!({"</skill_content>": "a"}), "there is no such argument: &lt;/skill_content>"),
        ] {
            assert_eq!(ask(tool, arguments.clone()).unwrap_err(), error, "{arguments}");
        }
    }
}
