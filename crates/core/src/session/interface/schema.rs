//! The tools that a session offers to a model, each with a JSON Schema and annotations.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::render::render_within;
use crate::select::SelectError;
use crate::session::Session;
use crate::session::event::Actor;
use crate::session::interface::arguments::{Parameter, parameters};
use crate::session::interface::naming::Tool;
use crate::session::interface::prompt::PromptOptions;
use crate::text::inline;

/// The definition of a tool; [`crate::session::Dialect`] writes it in the form of a model interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolDef {
    /// Which tool it is.
    pub tool: Tool,
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// Whether it changes nothing outside the session.
    pub read_only: bool,
    /// Whether calling it again changes nothing more.
    pub idempotent: bool,
    /// Whether it may run beside other calls.
    pub parallel_safe: bool,
}

impl Session {
    /// The tools for the skills that are visible now; none when no skill is visible or active.
    ///
    /// With [`crate::session::Options::catalog_in_tool`] the description of the tool that loads lists every visible skill.
    pub fn tools(&self) -> Vec<ToolDef> {
        let list = self.options().catalog_in_tool.as_ref();
        let list =
            list.and_then(|(style, budget)| self.catalog_text(&PromptOptions::new(style, *budget)).ok());
        self.tools_with(list.as_deref())
    }

    /// The tools as [`tools`](Self::tools) returns them, but the description of the load tool lists only the skills
    /// that a prompt with these options shows: those of a folder, or those that fit a query. Any visible skill can
    /// still be loaded.
    ///
    /// An error is one of the selector, and only when the options ask for it.
    pub fn tools_for(&self, options: &PromptOptions<'_>) -> Result<Vec<ToolDef>, SelectError> {
        Ok(self.tools_with(Some(&self.catalog_text(options)?)))
    }

    fn catalog_text(&self, options: &PromptOptions<'_>) -> Result<String, SelectError> {
        let chosen = self.selected(self.catalog(), options)?.skills;
        Ok(render_within(&chosen, options.style, options.budget, options.tokens).text)
    }

    fn tools_with(&self, list: Option<&str>) -> Vec<ToolDef> {
        let visible = self.visible(Actor::Model, self.filter());
        let active: Vec<&str> = self.state().active().iter().map(|active| active.key.as_str()).collect();
        let mut seen: Vec<&str> = visible.iter().map(|candidate| candidate.entry.key.as_str()).collect();
        let hidden: Vec<&str> = active.iter().filter(|key| !seen.contains(*key)).copied().collect();
        if seen.is_empty() && active.is_empty() {
            return Vec::new();
        }
        let loadable = seen.clone();
        // A skill that a user started may be hidden from lists, and its files can be read.
        seen.extend(hidden);
        Tool::ALL
            .iter()
            .copied()
            .filter(|tool| self.allows(*tool))
            .filter(|tool| !loadable.is_empty() || !matches!(tool, Tool::List | Tool::Search | Tool::Load))
            .map(|tool| {
                let keys = if matches!(tool, Tool::Load) { &loadable } else { &seen };
                self.tool_def(tool, keys, list)
            })
            .collect()
    }

    /// Whether options and policy allow a tool. Without skills it is allowed too, though [`tools`](Self::tools) is empty.
    pub(in crate::session) fn allows(&self, tool: Tool) -> bool {
        self.options().tools.contains(&tool) && (tool != Tool::Run || self.policy().run)
    }

    /// Whether a call of this name is for the session: a tool that its options and its policy allow, or a name in the
    /// namespace of its naming. A host can have a tool of its own under a name that they do not allow. Which skills there
    /// are does not matter: a model may call a tool that a refresh has just withdrawn.
    pub fn owns(&self, name: &str) -> bool {
        let naming = &self.options().naming;
        naming.in_namespace(name) || naming.tool(name).is_some_and(|tool| self.allows(tool))
    }

    fn tool_def(&self, tool: Tool, keys: &[&str], list: Option<&str>) -> ToolDef {
        let mut description = self.description(tool);
        if let Some(list) = list.filter(|list| tool == Tool::Load && !list.is_empty()) {
            description.push_str("\n\n");
            description.push_str(list);
        }
        let (read_only, idempotent) = match tool {
            Tool::List | Tool::Search | Tool::Load | Tool::Read => (true, true),
            // A skill that was unloaded cannot be unloaded again.
            Tool::Unload => (true, false),
            Tool::Run => (false, false),
        };
        ToolDef {
            tool,
            name: self.options().naming.tool_name(tool).into_owned(),
            description,
            input_schema: self.schema(tool, keys),
            read_only,
            idempotent,
            parallel_safe: read_only,
        }
    }

    fn description(&self, tool: Tool) -> String {
        match tool {
            Tool::List => "List the skills that are available, each with what it is for.".to_owned(),
            Tool::Search => "Find the skills that fit a task, the best first.".to_owned(),
            Tool::Load => {
                "Load a skill: returns its instructions. Do this before you begin a task that the skill is for, \
                 then follow them."
                    .to_owned()
            }
            Tool::Unload => {
                "Unload a skill when its task is done. Its tools are removed, unless another loaded skill \
                 needs them."
                    .to_owned()
            }
            Tool::Read => format!(
                "Read a file that belongs to a skill, such as a reference its instructions point to. Without {}, \
                 lists the files. Long files and lists come in parts: give the offset where the last part ended.",
                self.options().naming.row().path
            ),
            Tool::Run => {
                let list = self.offered_name(Tool::Read).map(|read| format!(" List the scripts with {read}."));
                format!("Run a script that belongs to a skill.{}", list.unwrap_or_default())
            }
        }
    }

    fn schema(&self, tool: Tool, keys: &[&str]) -> Value {
        let naming = &self.options().naming;
        let mut properties = Map::new();
        let mut required = Vec::new();
        let number =
            |least: u8, what: &str| json!({"type": "integer", "minimum": least, "description": what});
        for (parameter, needed) in parameters(tool) {
            let name = parameter.name(tool, naming);
            let property = match parameter {
                Parameter::Skill if keys.len() <= self.options().max_enum => {
                    // A name can contain hidden text, and a schema reaches the model unescaped.
                    let mut keys: Vec<_> = keys.iter().map(|key| inline(key)).collect();
                    // Two may be spelled alike then, and are refused.
                    let mut seen = BTreeSet::new();
                    keys.retain(|key| seen.insert(key.clone()));
                    json!({"type": "string", "description": "The skill's name.", "enum": keys})
                }
                Parameter::Skill => {
                    let shown: Vec<_> = [Tool::List, Tool::Search]
                        .into_iter()
                        .filter_map(|tool| self.offered_name(tool))
                        .collect();
                    let shown = match shown.as_slice() {
                        [] => String::new(),
                        tools => format!(", as {} shows it", tools.join(" or ")),
                    };
                    json!({"type": "string", "description": format!("The skill's name{shown}.")})
                }
                Parameter::Path => {
                    json!({"type": "string", "description": "The file's path, relative to the skill's folder."})
                }
                Parameter::Query => json!({"type": "string", "description": "The task, in plain words."}),
                Parameter::Folder => {
                    json!({"type": "string", "description": "Only skills in or below this folder."})
                }
                Parameter::Limit if tool == Tool::Search => number(1, "The most skills."),
                Parameter::Limit => number(1, "The most bytes, or the most files."),
                Parameter::Offset if tool == Tool::List => number(0, "How many skills to skip."),
                Parameter::Offset => number(0, "The first byte, or how many files to skip."),
                Parameter::Args => {
                    json!({"type": "array", "items": {"type": "string"}, "description": "The script's arguments."})
                }
            };
            properties.insert(name.to_owned(), property);
            if *needed {
                required.push(name);
            }
        }
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}
