//! The tool that loads a skill: its instructions for the model, and the skills that are evicted for it.

use serde_json::json;

use crate::document::{Document, parse_head};
use crate::files::manifest::{FileKind, Manifest};
use crate::path::RelPath;
use crate::render::{Activation, Inlined};
use crate::session::calls::join_names;
use crate::session::calls::substitute::{Arguments, substitute, substituted_size};
use crate::session::effect::Step;
use crate::session::event::{Actor, EventKind};
use crate::session::interface::arguments::for_message;
use crate::session::interface::naming::Tool;
use crate::session::interface::result::{Reason, ToolResult};
use crate::session::kept::active_bytes;
use crate::session::options::{Repeat, WhenFull};
use crate::session::policy::Act;
use crate::session::state::{Active, Goal};
use crate::session::tool_scope::difference;
use crate::session::{Filter, Session};
use crate::skill::Entry;
use crate::skill::location::Origin;

impl Session {
    /// Activates a skill for the host or a user. A model calls the load tool instead.
    ///
    /// `arguments` are what a user wrote after the name; they replace `$ARGUMENTS`, `$0` and similar placeholders.
    /// `filter` replaces that of the session, as that of a [`crate::session::ToolCall`] does. The skill ends as any other;
    /// [`Session::preload`] is for skills that stay.
    pub fn activate(
        &mut self,
        name: &str,
        by: Actor,
        arguments: Option<Arguments>,
        filter: Option<Filter>,
    ) -> Step {
        self.load(name, by, filter, arguments, false)
    }

    pub(in crate::session) fn load(
        &mut self,
        wanted: &str,
        by: Actor,
        filter: Option<Filter>,
        arguments: Option<Arguments>,
        preload: bool,
    ) -> Step {
        match self.resolve(wanted, Act::Activate, by, filter.as_ref()) {
            Ok(candidate) => {
                let key = candidate.entry.key.clone();
                self.begin(by, filter, Goal::Load { key, arguments, preload })
            }
            Err(refusal) => {
                let refusal = self.explain_to_person(wanted, by, filter.as_ref()).unwrap_or(*refusal);
                self.refused(refusal)
            }
        }
    }

    /// The refusal of a skill when the limit of active skills is reached.
    pub(in crate::session) fn refusal_if_full(&self, key: &str, preload: bool) -> Option<ToolResult> {
        let most = self.options.max_active;
        // A preloaded skill never evicts another: a host that preloads more than its limit gets a refusal.
        let stuck = || preload && self.state.active.iter().all(|active| active.preloaded);
        let full = most > 0
            && self.state.active.len() >= most
            && (self.options.when_full == WhenFull::Refuse || stuck());
        (full && self.state.find(key).is_none()).then(|| {
            let active = join_names(self.active_skills().into_iter());
            let hint = match self.offered_name(Tool::Unload) {
                Some(unload) => format!("first unload one with {unload}; active are {active}"),
                None => format!("continue with those that are active: {active}"),
            };
            let error = format!("no more skills can be active: {most} of {most}");
            ToolResult::refused(Reason::TooManyActive, error, hint)
        })
    }

    /// Activates a skill whose file was read, and returns its instructions.
    pub(in crate::session) fn finish_load(&mut self, given: LoadInput, bytes: &[u8], size: u64) -> Step {
        let LoadInput { key, by, filter, arguments, preload, files, inlined } = given;
        let (document, fingerprint) = (parse_head(bytes, size), fingerprint(bytes));
        let own = filter.as_ref();
        let Some(candidate) = self.catalog.get(&key) else {
            return self.skill_gone(&key, by, own);
        };
        let Some(mut entry) = document.skill(&candidate.entry.origin) else {
            let error = format!("this skill can no longer be loaded: {}", for_message(&key));
            return self.refuse(Reason::BrokenSkill, error, "its SKILL.md is broken; continue without it");
        };
        if entry.name != candidate.entry.name {
            let error = format!("this skill has changed since it was listed: {}", for_message(&key));
            let hint = match self.offered_name(Tool::List) {
                Some(list) => format!("see the present skills with {list}"),
                None => "continue without it".to_owned(),
            };
            return self.refuse(Reason::Changed, error, hint);
        }
        if self.judge_as(candidate, Act::Activate, by, self.filter_for(own), entry.invocation).is_err() {
            return self.skill_gone(&key, by, own);
        }
        if let Some(refusal) = self.refusal_if_full(&key, preload) {
            return self.refused(refusal);
        }
        entry.key.clone_from(&key);
        let (activation, text) =
            match self.activation(&entry, &document, arguments.as_ref(), files.as_ref(), &inlined) {
                Ok(made) => made,
                Err(size) => {
                    let given = arguments.as_ref().is_some_and(|given| !given.is_empty());
                    return self.too_long(&key, size, given);
                }
            };
        let mut active = Active {
            key: key.clone(),
            location: candidate.entry.origin.location.clone(),
            by,
            preloaded: preload,
            activation,
            tools: entry.allowed_tools,
            used: self.state.turn,
            changed: false,
            stamp: candidate.stamp,
            fingerprint,
            filter,
        };
        let at = self.state.active.iter().position(|active| active.key == key);
        let given = arguments.as_ref().is_some_and(|given| !given.is_empty());
        if let Err(refusal) = self.admit_active(&mut active, at, given) {
            return self.refused(*refusal);
        }
        let before = self.active_tools();
        let old = at.map(|at| self.state.active.remove(at));
        let evicted = self.evict(1, active_bytes(&active));
        let same = old.as_ref().is_some_and(|old| old.fingerprint == fingerprint);
        // With other arguments the text differs even when the file is the same.
        let receipt = self.options.repeat == Repeat::Receipt
            && old
                .as_ref()
                .is_some_and(|old| same && (arguments.is_none() || old.activation == active.activation));
        let repeated = old.is_some();
        let folder = self.folder_of(&entry.origin).map(str::to_owned);
        if let Some(old) = old {
            active.by = old.by;
            active.preloaded |= old.preloaded;
            // A receipt leaves the model with the text that it got before.
            if receipt {
                active.activation = old.activation;
            }
        }
        self.state.active.push(active);
        self.recount();
        self.record(EventKind::Activated { key: key.clone(), by, again: repeated });
        let after = self.active_tools();
        let data = json!({
            "skill": key,
            "folder": folder,
            "resources": files.as_ref().map(counts),
            "added_tools": difference(&after, &before),
            "removed_tools": difference(&before, &after),
            "active_tools": after,
            "repeated": repeated,
            "changed": repeated && !same,
            "evicted": evicted,
        });
        if receipt {
            let receipt =
                format!("this skill is loaded already, and its text is the same: {}", for_message(&key));
            return Step::Done(ToolResult::done(receipt, data));
        }
        Step::Done(ToolResult::done(text, data))
    }

    /// Refuses a skill whose text is too long.
    fn too_long(&mut self, key: &str, size: usize, with_arguments: bool) -> Step {
        let most = self.options.max_activation_bytes;
        let error =
            format!("the text of this skill is too long: {}: {size} bytes, at most {most}", for_message(key));
        let hint = if with_arguments { "give it shorter arguments" } else { "continue without it" };
        self.refuse(Reason::TooLarge, error, hint)
    }

    /// The activation and its text; the size when the text is too long. The size of the instructions with their
    /// arguments is counted before anything is built.
    fn activation(
        &self,
        entry: &Entry,
        document: &Document,
        arguments: Option<&Arguments>,
        files: Option<&Manifest>,
        inlined: &[(RelPath, String)],
    ) -> Result<(Activation, String), usize> {
        let names = &entry.client.arguments;
        let size =
            arguments.map_or(document.body().len(), |given| substituted_size(document.body(), given, names));
        let size = inlined.iter().fold(size, |size, (_, text)| size.saturating_add(text.len()));
        let within = |size: usize| if size > self.options.max_activation_bytes { Err(size) } else { Ok(()) };
        within(size)?;
        let listing = self.options.hint_files || self.options.inline_resources;
        let none = Manifest::default();
        let files = files.filter(|_| listing).unwrap_or(&none);
        let substituted;
        let body = match arguments {
            Some(arguments) => {
                substituted = substitute(document.body(), arguments, names);
                &substituted
            }
            None => document.body(),
        };
        let folder = self.folder_of(&entry.origin);
        let inlined: Vec<Inlined<'_>> = inlined
            .iter()
            .map(|(path, text)| Inlined { path: path.clone(), bytes: text.as_bytes() })
            .collect();
        let activation = Activation::new(entry, body, folder, files, &inlined, &self.options.activation)
            .with_hint(self.hint(&entry.key, files));
        let text = activation.text();
        // Escaping and the list of files make it longer.
        within(text.len())?;
        Ok((activation, text))
    }

    /// The folder of a skill, if the options show it.
    fn folder_of<'o>(&self, origin: &'o Origin) -> Option<&'o str> {
        folder_of(origin).filter(|_| self.options.show_folders)
    }

    /// The hint about the files of the skill and how to read them.
    fn hint(&self, key: &str, files: &Manifest) -> String {
        let kinds = [
            (FileKind::Script, "script"),
            (FileKind::Reference, "reference"),
            (FileKind::Asset, "asset"),
            (FileKind::Other, "other file"),
        ];
        let counted = kinds.iter().filter_map(|(kind, noun)| {
            let count = of_kind(files, *kind);
            (count > 0).then(|| format!("{count} {noun}{}", if count == 1 { "" } else { "s" }))
        });
        let counted: Vec<String> = counted.collect();
        let wanted = self.options.hint_files && !self.options.activation.plain && !counted.is_empty();
        let Some(read) = self.offered_name(Tool::Read).filter(|_| wanted) else { return String::new() };
        let naming = &self.options.naming;
        format!(
            "This skill has {}. Read one with {read} ({}: {}, {}: the file's path); without {} it lists them.",
            counted.join(", "),
            naming.skill_argument(Tool::Read),
            serde_json::Value::from(for_message(key)),
            naming.row().path,
            naming.row().path,
        )
    }
}

/// What a load needs besides the bytes of the file.
pub(in crate::session) struct LoadInput {
    pub(in crate::session) key: String,
    pub(in crate::session) by: Actor,
    pub(in crate::session) filter: Option<Filter>,
    pub(in crate::session) arguments: Option<Arguments>,
    pub(in crate::session) preload: bool,
    /// The files of the skill, if they could be listed.
    pub(in crate::session) files: Option<Manifest>,
    pub(in crate::session) inlined: Vec<(RelPath, String)>,
}

/// A checksum of a file. It guards against mistakes, not against forgery.
pub(in crate::session) fn fingerprint(bytes: &[u8]) -> u64 {
    let mut sum = bytes.len() as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut add = |word: u64| {
        sum = (sum ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        sum ^= sum >> 32;
    };
    let words = bytes.chunks_exact(8);
    let rest = words.remainder();
    for word in words {
        add(u64::from_le_bytes(word.try_into().unwrap_or_default()));
    }
    for byte in rest {
        add(u64::from(*byte));
    }
    sum
}

fn of_kind(files: &Manifest, kind: FileKind) -> usize {
    files.others().filter(|file| file.kind == kind).count()
}

fn counts(files: &Manifest) -> serde_json::Value {
    let mut counts = json!({
        "scripts": of_kind(files, FileKind::Script),
        "references": of_kind(files, FileKind::Reference),
        "assets": of_kind(files, FileKind::Asset),
        "other": of_kind(files, FileKind::Other),
    });
    if let Some(counts) = counts.as_object_mut().filter(|_| files.incomplete) {
        counts.insert("incomplete".to_owned(), true.into());
    }
    counts
}

/// The folder of a skill on disk.
fn folder_of(origin: &Origin) -> Option<&str> {
    let path = origin.location.path()?;
    let absolute = path.starts_with('/') || path.get(1..3) == Some(":\\");
    let (folder, _) = path.rsplit_once(['/', '\\'])?;
    (absolute && !folder.is_empty()).then_some(folder)
}
