//! [`Skills`]: the skills of folders, of the user and of sources of the host, behind operations in JSON.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use prowess::select::{Hit, Query, SelectOptions, Selector, search};
use prowess::session::{Actor, Filter, Session};
use prowess::source::Slice;
use prowess::{Candidate, Catalog, Entry, Registry, RelPath, Skill};
use prowess_engine::input::{GivenOptions, Narrowing};
use prowess_engine::{
    Failure, GivenSkill, Usual, candidate_json, delta_json, document_json, hits_json, over_catalog, read,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::asked::{Cancel, Rules, forget_thrown, within};
use crate::chat::Chat;
use crate::errors::{of_lookup, of_registry, of_select, of_skills, of_source};
use crate::files::manifest_json;
use crate::foreign::{Foreign, ForeignHost};
use crate::handle::{Handle, InUse};
use crate::opening;
use crate::watch::Watch;

/// What [`Skills`] are made of.
pub(crate) struct Parts {
    pub(crate) front: prowess::Skills,
    pub(crate) registry: Arc<Registry>,
    pub(crate) selector: Arc<dyn Selector>,
    pub(crate) usual: Usual,
    pub(crate) prompt: Map<String, Value>,
    pub(crate) host: Option<Arc<dyn ForeignHost>>,
    pub(crate) rules: Rules,
}

/// Skills, ready for any number of chats. Clones share them.
#[derive(Clone)]
pub struct Skills {
    shared: Arc<Shared>,
}

struct Shared {
    parts: Parts,
    handle: Handle,
}

impl fmt::Debug for Skills {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Skills").field(&self.shared.parts.registry).finish()
    }
}

impl Skills {
    /// Opens the sources and reads them. The input has the members `sources`, `user`, `judge`, `duplicates`,
    /// `sourceErrors`, `policy`, `options`, `prompt` and `selector`, all optional.
    ///
    /// A source is a text as after `--in`; an object with the keys of a source in `prowess.toml`, such as `{"dir": …}`;
    /// `{"source": text or object, prefix, mount, keyFrom, scope, preload}` for the same with other options;
    /// `{"host": 0, label, prefix, mount, keyFrom, scope, preload, trusted}` for a source of the host; or
    /// `{"skill": fields or path}` for one skill.
    pub fn open(input: &str, foreign: Foreign, cancel: &Cancel) -> Result<Self, Failure> {
        let closed = Arc::new(AtomicBool::new(false));
        let rules = Rules { timeout: foreign.timeout, closed: Arc::clone(&closed) };
        let parts = within(cancel, || opening::open(input, foreign, rules))?;
        Ok(Self { shared: Arc::new(Shared { parts, handle: Handle::new(closed) }) })
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.shared.parts
    }

    /// Begins a use of the skills.
    pub(crate) fn enter(&self) -> Result<InUse<'_>, Failure> {
        self.shared.handle.enter()
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.parts().registry.catalog()
    }

    /// Ends the use of the skills. Callbacks that are under way are abandoned, and later operations fail as `closed`.
    pub fn close(&self) {
        self.shared.handle.close();
    }

    /// Runs an operation:
    ///
    /// | operation | input | output |
    /// | --- | --- | --- |
    /// | `list`, `all`, `keys`, `size` | – | the skills that are offered; all that were found; keys; a number |
    /// | `get`, `has` | a key | the skill as listed, or null; whether it is offered |
    /// | `skill` | a key | the skill with its text, read now |
    /// | `files` | a key | its files |
    /// | `digest` | a key | the digest over its files |
    /// | `activation` | `{key, options}` | the text that gives it to a model |
    /// | `search` | `{query, tags, narrowing, filter}` | hits, the best first |
    /// | `refresh` | – | what changed |
    /// | `problems` | – | what could not be read at the last refresh |
    /// | `register` | `{skill or path, replace}` | what changed |
    /// | `unregister`, `restore` | a key | what changed |
    /// | `rank` | `{among, asked}` | the hits among some keys; `asked` is that of the engine |
    /// | `embeddedTexts` | keys | the texts that an embedder gets for them |
    pub fn run(&self, operation: &str, input: &str, cancel: &Cancel) -> Result<String, Failure> {
        let _in_use = self.enter()?;
        cancel.check()?;
        within(cancel, || self.operate(operation, input))
    }

    fn operate(&self, operation: &str, input: &str) -> Result<String, Failure> {
        let Parts { registry, front, rules, .. } = self.parts();
        let value: Value = match operation {
            "keys" => self.catalog().iter().map(|skill| Value::from(skill.entry.key.as_str())).collect(),
            "size" => self.catalog().iter().count().into(),
            "has" => self.catalog().get(&read::<String>(input)?).is_some().into(),
            "skill" => self.whole(&read::<String>(input)?)?,
            "files" => {
                let skill = self.named(&read::<String>(input)?)?;
                manifest_json(&registry.files_of(&skill).map_err(|error| of_source(&error))?)
            }
            "digest" => {
                let skill = self.named(&read::<String>(input)?)?;
                registry.digest_of(&skill).map_err(|error| of_source(&error))?.to_string().into()
            }
            "activation" => {
                let asked: Activation = read(input)?;
                let options = asked.options.unwrap_or_default().over(&self.parts().usual.options)?;
                let skill = front.get(&asked.key).map_err(of_skills)?;
                skill.to_prompt_with(&options).map_err(of_skills)?.into()
            }
            "search" => {
                let asked: Search = read(input)?;
                let query = Query::text(asked.query).with_tags(asked.tags);
                hits_json(&self.search(&query, asked.filter, &asked.narrowing.options())?)
            }
            "refresh" => {
                rules.not_in_callback("refresh")?;
                delta_json(&registry.refresh().map_err(of_registry)?)
            }
            "rank" => return self.rank(input),
            "problems" => self.problems()?.into_iter().map(problem).collect(),
            "register" => {
                rules.not_in_callback("change")?;
                let asked: Register = read(input)?;
                let replace = asked.replace;
                delta_json(&registry.register(&asked.skill()?, replace).map_err(of_registry)?)
            }
            "unregister" => {
                rules.not_in_callback("change")?;
                delta_json(&registry.unregister(&read::<String>(input)?).map_err(of_registry)?)
            }
            "restore" => {
                rules.not_in_callback("change")?;
                delta_json(&registry.restore(&read::<String>(input)?).map_err(of_registry)?)
            }
            other => return over_catalog(&self.catalog(), other, input),
        };
        Ok(value.to_string())
    }

    fn named(&self, key: &str) -> Result<Arc<Candidate>, Failure> {
        self.parts().registry.get(key).map_err(|error| of_lookup(&error))
    }

    /// A skill with its text.
    fn whole(&self, key: &str) -> Result<Value, Failure> {
        let skill = self.named(key)?;
        let document = self.parts().registry.document_of(&skill).map_err(|error| of_source(&error))?;
        let mut value = document_json(&document, &skill.entry.origin);
        // What is listed counts: its key, and what was decided about it.
        if let (Some(members), Value::Object(listed)) = (value.as_object_mut(), candidate_json(&skill, None))
        {
            members.extend(listed);
        }
        Ok(value)
    }

    /// The skills that fit a query, among those that a model may see.
    pub(crate) fn search(
        &self,
        query: &Query,
        filter: Option<Filter>,
        options: &SelectOptions,
    ) -> Result<Vec<Hit>, Failure> {
        let Usual { policy, options: of_chats } = &self.parts().usual;
        let session = Session::new("search", self.catalog(), policy.clone(), of_chats.clone());
        let filter = filter.as_ref().unwrap_or_else(|| session.filter());
        let visible = session.visible(Actor::Model, filter);
        let among: Vec<&Entry> = visible.into_iter().map(|skill| &skill.entry).collect();
        self.ranked(query, &among, options)
    }

    /// Ranks some skills.
    pub(crate) fn ranked(
        &self,
        query: &Query,
        among: &[&Entry],
        options: &SelectOptions,
    ) -> Result<Vec<Hit>, Failure> {
        forget_thrown();
        search(&*self.parts().selector, query, among, options).map_err(|error| of_select(&error))
    }

    /// What could not be read at the last refresh, with what callbacks threw.
    pub fn problems(&self) -> Result<Vec<Failure>, Failure> {
        let _in_use = self.enter()?;
        Ok(self.parts().registry.problems().iter().map(|error| of_source(error)).collect())
    }

    /// Those of the [`problems`](Self::problems) that are about whole sources: each could not be listed.
    pub fn unlisted(&self) -> Result<Vec<Failure>, Failure> {
        let _in_use = self.enter()?;
        Ok(self.parts().registry.unlisted().iter().map(|error| of_source(error)).collect())
    }

    /// Bytes of a file of a skill, at most `limit` from `offset` on, and the size of the whole file.
    pub fn read(
        &self,
        key: &str,
        path: &str,
        offset: u64,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<(Vec<u8>, u64), Failure> {
        let _in_use = self.enter()?;
        cancel.check()?;
        within(cancel, || {
            let skill = self.named(key)?;
            let path =
                RelPath::from_request(path).map_err(|error| Failure::new("outside", error.to_string()))?;
            let chunk = self.parts().registry.read(&skill, &path, Slice { offset, limit });
            let chunk = chunk.map_err(|error| of_source(&error))?;
            Ok((chunk.bytes, chunk.size))
        })
    }

    /// Starts a chat: `{policy, options, prompt}`, all optional. Its preloaded skills are activated by the operation
    /// `preload`.
    pub fn chat(&self, id: &str, settings: &str) -> Result<Chat, Failure> {
        let _in_use = self.enter()?;
        Chat::new(self.clone(), id, settings)
    }

    /// Restores a chat from its state.
    pub fn restore(&self, state: &str, settings: &str) -> Result<Chat, Failure> {
        let _in_use = self.enter()?;
        Chat::restored(self.clone(), state, settings)
    }

    /// Watches the folders of the skills: `{quiet, longest, poll, ask}` in seconds, all optional.
    pub fn watch(&self, options: &str) -> Result<Watch, Failure> {
        let _in_use = self.enter()?;
        Watch::new(self.clone(), options)
    }
}

/// Something that could not be read.
fn problem(failure: Failure) -> Value {
    let Failure { code, message, hint, .. } = failure;
    json!({"code": code, "message": message, "hint": hint})
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Activation {
    key: String,
    options: Option<GivenOptions>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    narrowing: Narrowing,
    filter: Option<Filter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Register {
    skill: Option<GivenSkill>,
    path: Option<String>,
    #[serde(default)]
    replace: bool,
}

impl Register {
    fn skill(self) -> Result<Skill, Failure> {
        match (self.skill, self.path) {
            (Some(skill), None) => Ok(Skill::from(skill.skill()?)),
            (None, Some(path)) => Skill::load(path).map_err(of_skills),
            _ => Err(Failure::argument("register needs a skill or a path, and not both")),
        }
    }
}
