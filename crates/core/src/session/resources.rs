//! The files of a skill for the model: listed, or read in parts.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::arguments::{Values, shown};
use super::effect::Step;
use super::event::{Actor, What};
use super::policy::Act;
use super::result::{Reason, ToolResult};
use super::state::Want;
use super::{Filter, Session};
use crate::manifest::Manifest;
use crate::path::{PathError, RelPath};
use crate::resource::{Contents, Groups, OverLimit, Resource};

impl Session {
    pub(super) fn read(&mut self, values: Values, filter: Option<Filter>) -> Step {
        let key = match self.resolve(&values.skill, Act::Read, Actor::Model, filter.as_ref()) {
            Ok(candidate) => candidate.entry.key.clone(),
            Err(refusal) => return self.refused(refusal),
        };
        let Some(path) = values.path else {
            return self.begin(Actor::Model, filter, Want::ListFiles { key });
        };
        let path = match RelPath::from_request(&path) {
            Ok(path) => path,
            Err(error) => return self.bad_path(&error),
        };
        let most = self.options.max_resource_bytes.max(1);
        let limit = values.limit.map_or(most, |limit| usize::try_from(limit).unwrap_or(most)).clamp(1, most);
        self.begin(Actor::Model, filter, Want::ReadFile { key, path, offset: values.offset, limit })
    }

    pub(super) fn run(&mut self, values: Values, filter: Option<Filter>) -> Step {
        let refused = "scripts are not run here";
        let hint = "read the script and do the work with other tools";
        if !self.policy.run {
            return self.refuse(Reason::RunRefused, refused, hint);
        }
        let key = match self.resolve(&values.skill, Act::Run, Actor::Model, filter.as_ref()) {
            Ok(candidate) => candidate.entry.key.clone(),
            Err(refusal) => return self.refused(refusal),
        };
        match RelPath::from_request(values.path.as_deref().unwrap_or_default()) {
            Ok(path) => self.begin(Actor::Model, filter, Want::Run { key, path, args: values.args }),
            Err(error) => self.bad_path(&error),
        }
    }

    fn refused(&mut self, refusal: ToolResult) -> Step {
        self.note(What::Refused { reason: refusal.reason.map_or("", Reason::code).to_owned() });
        Step::Done(refusal)
    }

    fn bad_path(&mut self, error: &PathError) -> Step {
        let mut step =
            self.refuse(Reason::BadPath, format!("the {}", shown(&error.to_string())), error.hint());
        if let Step::Done(result) = &mut step {
            result.data = json!({"rule": error.rule()});
        }
        step
    }

    pub(super) fn list_files(&mut self, key: &str, files: &Manifest) -> Step {
        self.touch(key);
        let groups = Groups::of(files, true);
        let mut text = String::new();
        for (name, paths) in [
            ("scripts", &groups.scripts),
            ("references", &groups.references),
            ("assets", &groups.assets),
            ("other", &groups.other),
        ] {
            if !paths.is_empty() {
                let _ = writeln!(text, "## {name}");
            }
            for path in paths {
                let _ = writeln!(text, "- {}", crate::render::neutralize(path.as_str(), &[]));
            }
        }
        if text.is_empty() {
            text.push_str("this skill has no other files\n");
        }
        text.pop();
        Step::Done(ToolResult::done(text, json!({"skill": key, "files": groups})))
    }

    pub(super) fn give_file(
        &mut self,
        key: &str,
        path: &RelPath,
        bytes: Vec<u8>,
        size: u64,
        offset: u64,
        limit: usize,
    ) -> Step {
        let read = Resource::of(path, bytes, size, offset, limit, self.options.too_large);
        let resource = match read {
            Ok(resource) => resource,
            Err(OverLimit { size, limit }) => {
                let error = format!("the file is too large: {path}: {size} bytes, at most {limit}");
                return self.refuse(Reason::TooLarge, error, "use another tool for it, if there is one");
            }
        };
        self.touch(key);
        self.note(What::Read { key: key.to_owned(), path: path.as_str().to_owned() });
        let mut data = json!({"skill": key, "path": path, "size": size, "offset": offset});
        let mut add = |name: &str, value: Value| {
            if let Some(data) = data.as_object_mut() {
                data.insert(name.to_owned(), value);
            }
        };
        let end = resource.next.unwrap_or(size);
        let mut text = match resource.contents {
            Contents::Text(text) => {
                add("encoding", "text".into());
                text
            }
            Contents::Base64(encoded) => {
                add("encoding", "base64".into());
                add("base64", encoded.into());
                format!("this file is not text: {path}: {size} bytes")
            }
            Contents::Omitted => {
                add("encoding", "omitted".into());
                format!("this file is too large to show: {path}: {size} bytes")
            }
        };
        if let Some(next) = resource.next {
            add("next", next.into());
            let _ = write!(text, "\n[bytes {offset} to {end} of {size}; go on with offset {next}]");
        }
        Step::Done(ToolResult::done(text, data))
    }

    /// Writes down that an active skill is in use.
    fn touch(&mut self, key: &str) {
        let turn = self.state.turn;
        if let Some(active) = self.state.active.iter_mut().find(|active| active.key == key) {
            active.used = turn;
        }
    }
}
