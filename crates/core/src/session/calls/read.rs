//! The files of a skill for the model: listed, or read in parts.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::files::manifest::Manifest;
use crate::files::page::{Contents, Groups, OverLimit, Resource, TooLarge};
use crate::path::{PathError, RelPath};
use crate::session::effect::Step;
use crate::session::event::{Actor, What};
use crate::session::interface::arguments::{Values, shown};
use crate::session::interface::result::{Reason, ToolResult};
use crate::session::policy::Act;
use crate::session::state::Want;
use crate::session::{Filter, Session};

impl Session {
    pub(in crate::session) fn read(&mut self, values: Values, filter: Option<Filter>) -> Step {
        let key = match self.resolve(&values.skill, Act::Read, Actor::Model, filter.as_ref()) {
            Ok(candidate) => candidate.entry.key.clone(),
            Err(refusal) => return self.refused(refusal),
        };
        let Some(path) = values.path else {
            let limit = at_most(values.limit, self.options.max_files);
            let want = Want::ListFiles { key, offset: values.offset, limit };
            return self.begin(Actor::Model, filter, want);
        };
        let path = match RelPath::from_request(&path) {
            Ok(path) => path,
            Err(error) => return self.bad_path(&error),
        };
        let limit = at_most(values.limit, self.options.max_resource_bytes);
        self.begin(Actor::Model, filter, Want::ReadFile { key, path, offset: values.offset, limit })
    }

    pub(in crate::session) fn run(&mut self, values: Values, filter: Option<Filter>) -> Step {
        let refused = "scripts are not run here";
        let hint = "read the script and do the work with other tools";
        if !self.policy.run {
            return self.refuse(Reason::RunRefused, refused, hint);
        }
        let key = match self.resolve(&values.skill, Act::Run, Actor::Model, filter.as_ref()) {
            Ok(candidate) => candidate.entry.key.clone(),
            Err(refusal) => return self.refused(refusal),
        };
        // What is run becomes an argument of a program, so the strict rules hold: a name with `-` could be an option.
        let asked = RelPath::from_request(values.path.as_deref().unwrap_or_default());
        match asked.and_then(|path| RelPath::parse(path.as_str())) {
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

    pub(in crate::session) fn list_files(
        &mut self,
        key: &str,
        files: &Manifest,
        offset: u64,
        limit: usize,
    ) -> Step {
        self.touch(key);
        let mut groups = Groups::of(files, true);
        let total = groups.all().map(|(_, paths)| paths.len()).sum::<usize>();
        let first = usize::try_from(offset).unwrap_or(total).min(total);
        let end = first.saturating_add(limit).min(total);
        groups.page(first, end - first);
        let mut text = String::new();
        for (name, paths) in groups.all() {
            if !paths.is_empty() {
                let _ = writeln!(text, "## {name}");
            }
            for path in paths {
                let _ = writeln!(text, "- {}", crate::render::neutralize(path.as_str(), &[]));
            }
        }
        let mut data = json!({"skill": key, "files": groups, "total": total});
        if total == 0 {
            text.push_str("this skill has no other files\n");
        } else if first == end {
            let _ = writeln!(text, "this is past the last file: offset {offset} of {total}");
        }
        if end < total {
            let more = total - end;
            let noun = if more == 1 { "file" } else { "files" };
            let _ = writeln!(text, "\n{more} more {noun}; go on with offset {end}");
            if let Some(data) = data.as_object_mut() {
                data.insert("next".to_owned(), end.into());
            }
        }
        text.pop();
        Step::Done(ToolResult::done(text, data))
    }

    pub(in crate::session) fn give_file(
        &mut self,
        key: &str,
        path: &RelPath,
        bytes: Vec<u8>,
        size: u64,
        offset: u64,
        limit: usize,
    ) -> Step {
        let resource = match self.resource(path, bytes, size, offset, limit) {
            Ok(resource) => resource,
            Err(OverLimit { size, limit }) => {
                let error = format!("the file is too large: {path}: {size} bytes, at most {limit}");
                return self.refuse(Reason::TooLarge, error, "use another tool for it, if there is one");
            }
        };
        self.touch(key);
        self.note(What::Read { key: key.to_owned(), path: path.as_str().to_owned() });
        let start = resource.offset;
        let mut data = json!({"skill": key, "path": path, "size": size, "offset": start});
        let mut add = |name: &str, value: Value| {
            if let Some(data) = data.as_object_mut() {
                data.insert(name.to_owned(), value);
            }
        };
        let end = resource.next.unwrap_or(size);
        let mut text = match resource.contents {
            Contents::Text(_) if offset > 0 && offset >= size => {
                add("encoding", "text".into());
                format!("this is past the end of the file: {path}: offset {offset} of {size} bytes")
            }
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
            let note = if self.cuts(size) {
                format!("cut here: bytes {start} to {end} of {size}; the rest begins at offset {next}")
            } else {
                format!("bytes {start} to {end} of {size}; go on with offset {next}")
            };
            let _ = write!(text, "\n[{note}]");
        }
        Step::Done(ToolResult::done(text, data))
    }

    /// A part of a file. Whether the file is too large is between it and the host: a model that wants only a little
    /// of a small file gets it in pages.
    fn resource(
        &self,
        path: &RelPath,
        bytes: Vec<u8>,
        size: u64,
        offset: u64,
        limit: usize,
    ) -> Result<Resource, OverLimit> {
        let most = self.options.max_resource_bytes.max(1) as u64;
        match self.options.too_large {
            TooLarge::Refuse if size > most => Err(OverLimit { size, limit: most }),
            TooLarge::List if size > most => {
                Ok(Resource { path: path.clone(), size, offset, contents: Contents::Omitted, next: None })
            }
            _ => Resource::of(path, bytes, size, offset, limit, TooLarge::Page),
        }
    }

    /// Whether a file of this size is cut, and not given in pages.
    fn cuts(&self, size: u64) -> bool {
        self.options.too_large == TooLarge::Truncate && size > self.options.max_resource_bytes.max(1) as u64
    }

    /// Writes down that an active skill is in use.
    fn touch(&mut self, key: &str) {
        let turn = self.state.turn;
        if let Some(active) = self.state.active.iter_mut().find(|active| active.key == key) {
            active.used = turn;
        }
    }
}

/// What a model wants at most, within what the host gives at most.
fn at_most(wanted: Option<u64>, most: usize) -> usize {
    let most = most.max(1);
    wanted.map_or(most, |wanted| usize::try_from(wanted).unwrap_or(most)).clamp(1, most)
}
