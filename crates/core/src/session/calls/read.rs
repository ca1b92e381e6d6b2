//! The tool that lists the files of a skill, or reads one in parts.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::files::manifest::Manifest;
use crate::files::page::{Contents, Groups, OverLimit, Resource, TooLarge};
use crate::path::{PathError, RelPath};
use crate::session::effect::{Failure, Step};
use crate::session::event::{Actor, EventKind};
use crate::session::interface::arguments::{Values, for_message};
use crate::session::interface::naming::Tool;
use crate::session::interface::result::{Reason, ToolResult};
use crate::session::policy::Act;
use crate::session::state::Goal;
use crate::session::{Filter, Session};

impl Session {
    pub(in crate::session) fn read(&mut self, values: Values, filter: Option<Filter>) -> Step {
        let key = match self.resolve(&values.skill, Act::Read, Actor::Model, filter.as_ref()) {
            Ok(candidate) => candidate.entry.key.clone(),
            Err(refusal) => return self.refused(*refusal),
        };
        let Some(path) = values.path else {
            let limit = at_most(values.limit, self.options.max_files);
            let want = Goal::ListFiles { key, offset: values.offset, limit };
            return self.begin(Actor::Model, filter, want);
        };
        let path = match RelPath::from_request(&path) {
            Ok(path) => path,
            Err(error) => return self.bad_path(&error),
        };
        let limit = at_most(values.limit, self.options.max_resource_bytes);
        self.begin(Actor::Model, filter, Goal::ReadFile { key, path, offset: values.offset, limit })
    }

    pub(in crate::session) fn bad_path(&mut self, error: &PathError) -> Step {
        let text = format!("the {}", for_message(&error.to_string()));
        let refusal = ToolResult::refused(Reason::BadPath, text, error.hint());
        self.refused(refusal.with_data(json!({"rule": error.rule()})))
    }

    pub(in crate::session) fn list_files(
        &mut self,
        key: &str,
        files: &Manifest,
        offset: u64,
        limit: usize,
    ) -> Step {
        self.mark_used(key);
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
                let _ = writeln!(text, "- {}", crate::text::neutralize(path.as_str(), &[]));
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
            let _ = writeln!(text, "\n{more} more {noun}; continue with offset {end}");
            if let Some(data) = data.as_object_mut() {
                data.insert("next".to_owned(), end.into());
            }
        }
        if files.incomplete {
            text.push_str("\nthe skill has more files than can be listed\n");
            if let Some(data) = data.as_object_mut() {
                data.insert("incomplete".to_owned(), true.into());
            }
        }
        text.pop();
        Step::Done(ToolResult::done(text, data))
    }

    pub(in crate::session) fn file_result(
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
        self.mark_used(key);
        self.record(EventKind::Read { key: key.to_owned(), path: path.as_str().to_owned() });
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
            let note = if self.truncates(size) {
                format!("cut here: bytes {start} to {end} of {size}; the rest begins at offset {next}")
            } else {
                format!("bytes {start} to {end} of {size}; continue with offset {next}")
            };
            let _ = write!(text, "\n[{note}]");
        }
        Step::Done(ToolResult::done(text, data))
    }

    /// A part of a file. Whether the file is too large depends on the limit of the host, not on what the model asks
    /// for: a small part of a small file is a page.
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

    /// Whether a file of this size is truncated instead of paged.
    fn truncates(&self, size: u64) -> bool {
        self.options.too_large == TooLarge::Truncate && size > self.options.max_resource_bytes.max(1) as u64
    }

    /// Records that an active skill was used in this turn.
    fn mark_used(&mut self, key: &str) {
        let turn = self.state.turn;
        if let Some(active) = self.state.active.iter_mut().find(|active| active.key == key) {
            active.used = turn;
        }
    }

    /// Refuses what could not be read, without details of the disk of the host.
    pub(in crate::session) fn read_failed(&mut self, what: &str, why: Failure) -> Step {
        let what = for_message(what);
        let files = match self.offered_name(Tool::Read) {
            Some(read) => format!("list the files with {read}"),
            None => "continue without it".to_owned(),
        };
        let (reason, error, hint) = match why {
            Failure::Missing => (Reason::MissingFile, "there is no such file", &*files),
            Failure::Outside => (
                Reason::BadPath,
                "this leads out of the skill",
                "only files below the skill's own folder can be read",
            ),
            Failure::NotAFile => (Reason::BadPath, "this is not a file", &*files),
            Failure::TooLarge => {
                (Reason::TooLarge, "the file is too large", "read a part of it, with offset and limit")
            }
            Failure::Broken => (
                Reason::BrokenSkill,
                "this skill can no longer be loaded",
                "its SKILL.md is broken; continue without it",
            ),
            Failure::NotAsListed => (
                Reason::Changed,
                "it has changed since it was listed",
                "continue without it, and tell the user",
            ),
            Failure::Failed => {
                (Reason::ReadFailed, "this could not be read", "try again later, or continue without it")
            }
        };
        self.refuse(reason, format!("{error}: {what}"), hint)
    }

    pub(in crate::session) fn skill_read_failed(&mut self, key: &str, why: Failure) -> Step {
        match why {
            Failure::Missing => {
                let error = format!("this skill no longer exists: {}", for_message(key));
                self.refuse(Reason::MissingSkill, error, "continue without it, or use another one")
            }
            Failure::Broken => self.read_failed(key, why),
            why => self.read_failed(&format!("{key}/SKILL.md"), why),
        }
    }
}

/// The limit of a model, within the limit of the host.
fn at_most(wanted: Option<u64>, most: usize) -> usize {
    let most = most.max(1);
    wanted.map_or(most, |wanted| usize::try_from(wanted).unwrap_or(most)).clamp(1, most)
}
