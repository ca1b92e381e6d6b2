//! Activation: from a name to instructions in the model's context, past approval, listing and reading.

use serde_json::json;

use super::arguments::shown;
use super::call::listed;
use super::effect::{Effect, Failure, Outcome, Step};
use super::event::{Actor, Ended, What};
use super::naming::Tool;
use super::options::{Repeat, WhenFull};
use super::policy::Act;
use super::result::{Reason, ToolResult};
use super::scope::difference;
use super::state::{Active, Approval, Stage, Waiting, Want};
use super::substitute::substitute;
use super::{Filter, Session};
use crate::document::{Document, parse_head};
use crate::limits::MAX_FILE_BYTES;
use crate::manifest::{FileKind, Manifest};
use crate::origin::Origin;
use crate::path::RelPath;
use crate::render::render_activation;

impl Session {
    /// Activates a skill. The model's own way is a call of the tool that loads.
    ///
    /// `arguments` are what a user wrote behind the name; they take the place of `$ARGUMENTS`, `$0` and their like.
    pub fn activate(&mut self, name: &str, by: Actor, arguments: Option<&str>) -> Step {
        self.load(name, by, None, arguments.map(str::to_owned))
    }

    pub(super) fn load(
        &mut self,
        wanted: &str,
        by: Actor,
        filter: Option<Filter>,
        arguments: Option<String>,
    ) -> Step {
        match self.resolve(wanted, Act::Activate, by, filter.as_ref()) {
            Ok(candidate) => {
                let key = candidate.entry.key.clone();
                self.begin(by, filter, Want::Load { key, arguments, preload: by == Actor::Host })
            }
            Err(refusal) => {
                let refusal = self.explained(wanted, by).unwrap_or(refusal);
                let reason = refusal.reason.map_or("", Reason::code).to_owned();
                self.note(What::Refused { reason });
                Step::Done(refusal)
            }
        }
    }

    /// Begins what somebody wants of a skill that they may use.
    pub(super) fn begin(&mut self, by: Actor, filter: Option<Filter>, want: Want) -> Step {
        if let Want::Load { key, .. } = &want
            && let Some(refusal) = self.full(key)
        {
            self.note(What::Refused { reason: Reason::TooManyActive.code().to_owned() });
            return Step::Done(refusal);
        }
        let Some(candidate) = want.key().and_then(|key| self.catalog.get(key)) else {
            return self.gone(&want);
        };
        if self.policy.needs_approval(candidate, self.approved(candidate).is_some()) {
            let effect = Effect::Approve {
                key: candidate.entry.key.clone(),
                location: candidate.entry.origin.location.clone(),
                scope: candidate.entry.origin.scope,
            };
            return self.wait(by, filter, want, Stage::Approval, effect);
        }
        self.after_approval(by, filter, want)
    }

    fn after_approval(&mut self, by: Actor, filter: Option<Filter>, want: Want) -> Step {
        let listing = match &want {
            Want::ListFiles { .. } => true,
            Want::Load { .. } => self.options.hint_files,
            _ => false,
        };
        let Some(candidate) = want.key().and_then(|key| self.catalog.get(key)).filter(|_| listing) else {
            return self.read_bytes(by, filter, want, Manifest::default());
        };
        let key = candidate.entry.key.clone();
        let location = candidate.entry.origin.location.clone();
        self.wait(by, filter, want, Stage::Files, Effect::Files { key, location })
    }

    fn read_bytes(&mut self, by: Actor, filter: Option<Filter>, want: Want, files: Manifest) -> Step {
        let Some(candidate) = want.key().and_then(|key| self.catalog.get(key)) else {
            return self.gone(&want);
        };
        let (key, expect_digest) = (candidate.entry.key.clone(), self.approved(candidate).map(str::to_owned));
        let location = candidate.entry.origin.location.clone();
        let effect = match &want {
            Want::ReadFile { path, offset, limit, .. } => {
                let (path, offset, limit) = (path.clone(), *offset, *limit);
                Effect::Read { key, location, path, offset, limit, expect_digest: expect_digest.clone() }
            }
            Want::Run { path, args, .. } => {
                let (path, args) = (path.clone(), args.clone());
                let effect = Effect::Run { key, location, path, args, expect_digest };
                return self.wait(by, filter, want, Stage::Exit, effect);
            }
            _ => {
                let Ok(path) = RelPath::parse("SKILL.md") else { return self.gone(&want) };
                let limit = MAX_FILE_BYTES + 1;
                Effect::Read { key, location, path, offset: 0, limit, expect_digest: expect_digest.clone() }
            }
        };
        self.wait(by, filter, want, Stage::Bytes { files, expect_digest }, effect)
    }

    /// Goes on with what is wanted of a skill. The policy is asked again: much may have changed meanwhile.
    pub(super) fn go_on(&mut self, waiting: Waiting, outcome: Outcome) -> Step {
        let Waiting { by, filter, want, stage, .. } = waiting;
        let act = match want {
            Want::Load { .. } => Act::Activate,
            Want::Run { .. } => Act::Run,
            _ => Act::Read,
        };
        let key = want.key().unwrap_or_default();
        let allowed = self.catalog.get(key).is_some_and(|candidate| {
            self.judge(candidate, act, by, self.filter_for(filter.as_ref())).is_ok()
        });
        if !allowed {
            return self.gone_for(&want, by, filter.as_ref());
        }
        match (stage, outcome) {
            (Stage::Approval, Outcome::Approved { digest }) => {
                let Some(candidate) = self.catalog.get(key) else { return self.gone(&want) };
                let location = candidate.entry.origin.location.clone();
                let key = key.to_owned();
                self.state.approvals.insert(key.clone(), Approval { location, digest: digest.clone() });
                self.note(What::Approved { key, digest });
                self.after_approval(by, filter, want)
            }
            (Stage::Approval, Outcome::Declined | Outcome::Failed { .. }) => {
                let error = format!("the user did not approve this skill: {}", shown(key));
                self.note(What::NotApproved { key: key.to_owned() });
                self.refuse(Reason::NotApproved, error, "go on without it, or ask the user about it")
            }
            (Stage::Files, Outcome::Files { files }) => match want {
                Want::ListFiles { key } => self.list_files(&key, &files),
                want => self.read_bytes(by, filter, want, files),
            },
            // Instructions without a list of files are better than none; if the skill is gone, reading it tells.
            (Stage::Files, Outcome::Failed { why }) => match want {
                Want::ListFiles { key } => self.unread_skill(&key, why),
                want => self.read_bytes(by, filter, want, Manifest::default()),
            },
            (Stage::Bytes { files, expect_digest }, Outcome::Read { bytes, size, digest }) => {
                if expect_digest.is_some() && expect_digest != digest {
                    return self.no_longer_approved(key);
                }
                match want {
                    Want::Load { key, arguments, preload } => {
                        let document = parse_head(&bytes, size);
                        self.give(Given { key, by, filter, arguments, preload, files }, &document)
                    }
                    Want::ReadFile { key, path, offset, limit } => {
                        self.give_file(&key, &path, bytes, size, offset, limit)
                    }
                    _ => self.wrong_outcome(),
                }
            }
            (Stage::Bytes { .. }, Outcome::Failed { why }) => match &want {
                Want::ReadFile { path, .. } => self.unread(path.as_str(), why),
                want => {
                    let key = want.key().unwrap_or_default().to_owned();
                    self.unread_skill(&key, why)
                }
            },
            (Stage::Exit, Outcome::Ran { code, output }) => {
                let data = json!({"skill": key, "code": code});
                let ok = code == Some(0);
                Step::Done(ToolResult { ok, ..ToolResult::done(output, data) })
            }
            (Stage::Exit, Outcome::Failed { .. }) => {
                self.refuse(Reason::RunRefused, "the script could not be run", "do the work without it")
            }
            _ => self.wrong_outcome(),
        }
    }

    /// The catalog no longer has the skill.
    fn gone(&mut self, want: &Want) -> Step {
        self.gone_for(want, Actor::Model, None)
    }

    fn gone_for(&mut self, want: &Want, by: Actor, filter: Option<&Filter>) -> Step {
        let refusal = self.unknown(want.key().unwrap_or_default(), by, self.filter_for(filter));
        self.note(What::Refused { reason: refusal.reason.map_or("", Reason::code).to_owned() });
        Step::Done(refusal)
    }

    fn unread_skill(&mut self, key: &str, why: Failure) -> Step {
        match why {
            Failure::Missing => {
                let error = format!("this skill is no longer there: {}", shown(key));
                self.refuse(Reason::MissingSkill, error, "go on without it, or use another one")
            }
            why => self.unread(&format!("{key}/SKILL.md"), why),
        }
    }

    fn no_longer_approved(&mut self, key: &str) -> Step {
        self.state.approvals.remove(key);
        self.note(What::NotApproved { key: key.to_owned() });
        let error = format!("this skill changed after it was approved: {}", shown(key));
        self.refuse(Reason::Changed, error, "ask the user to look at it and to approve it again")
    }

    /// A refusal when one more active skill would be too many.
    fn full(&self, key: &str) -> Option<ToolResult> {
        let most = self.options.max_active;
        let full = most > 0 && self.state.active.len() >= most && self.options.when_full == WhenFull::Refuse;
        (full && self.state.find(key).is_none()).then(|| {
            ToolResult::refused(
                Reason::TooManyActive,
                format!("no more skills can be active: {most} of {most}"),
                format!(
                    "first put one away with {}; active are {}",
                    self.options.naming.tool_name(Tool::Unload),
                    listed(self.active_skills().into_iter())
                ),
            )
        })
    }

    /// Gives the model the instructions as they are now.
    fn give(&mut self, given: Given, document: &Document) -> Step {
        let Given { key, by, filter, arguments, preload, files } = given;
        let Some(candidate) = self.catalog.get(&key) else {
            return self.gone(&Want::ListFiles { key });
        };
        let Some(mut entry) = document.skill(&candidate.entry.origin) else {
            let error = format!("this skill can no longer be loaded: {}", shown(&key));
            return self.refuse(Reason::BrokenSkill, error, "its SKILL.md has a fault; go on without it");
        };
        if entry.name != candidate.entry.name {
            let error = format!("this skill is not what it was when it was listed: {}", shown(&key));
            return self.refuse(Reason::Changed, error, "list the skills again");
        }
        let own = filter.as_ref();
        if self.judge_as(candidate, Act::Activate, by, self.filter_for(own), entry.invocation).is_err() {
            return self.gone_for(&Want::ListFiles { key }, by, own);
        }
        if let Some(refusal) = self.full(&key) {
            self.note(What::Refused { reason: Reason::TooManyActive.code().to_owned() });
            return Step::Done(refusal);
        }
        entry.key.clone_from(&key);
        let text = self.text_of(&entry, document, arguments.as_deref(), &files);
        let (location, stamp) = (candidate.entry.origin.location.clone(), candidate.stamp);
        let before = self.active_tools();
        let old = self.state.active.iter().position(|active| active.key == key);
        let old = old.map(|at| self.state.active.remove(at));
        let evicted = self.make_room();
        let same = old.as_ref().is_some_and(|old| old.text == text);
        let preloaded = preload || old.as_ref().is_some_and(|old| old.preloaded);
        let folder = folder_of(&entry.origin).map(str::to_owned);
        self.state.active.push(Active {
            key: key.clone(),
            location,
            by: old.as_ref().map_or(by, |old| old.by),
            preloaded,
            text: text.clone(),
            tools: entry.allowed_tools,
            used: self.state.turn,
            changed: false,
            stamp,
            filter,
        });
        self.note(What::Activated { key: key.clone(), by, again: old.is_some() });
        let after = self.active_tools();
        let data = json!({
            "skill": key,
            "folder": folder,
            "resources": counts(&files),
            "added_tools": difference(&after, &before),
            "removed_tools": difference(&before, &after),
            "active_tools": after,
            "repeated": old.is_some(),
            "changed": old.is_some() && !same,
            "evicted": evicted,
        });
        if same && self.options.repeat == Repeat::Receipt {
            let receipt = format!("this skill is loaded already, and its text is the same: {}", shown(&key));
            return Step::Done(ToolResult::done(receipt, data));
        }
        Step::Done(ToolResult::done(text, data))
    }

    /// Deactivates the oldest skills until one more has a place.
    fn make_room(&mut self) -> Vec<String> {
        let most = self.options.max_active;
        let mut evicted = Vec::new();
        while most > 0 && self.state.active.len() >= most {
            let oldest = self.state.active.iter().find(|active| !active.preloaded);
            let Some(key) = oldest.or(self.state.active.first()).map(|active| active.key.clone()) else {
                break;
            };
            self.state.deactivate(&key, Ended::Evicted, self.options.max_events);
            evicted.push(key);
        }
        evicted
    }

    fn text_of(
        &self,
        entry: &crate::skill::Entry,
        document: &Document,
        arguments: Option<&str>,
        files: &Manifest,
    ) -> String {
        let substituted;
        let body = match arguments {
            Some(arguments) => {
                substituted = substitute(document.body(), arguments, &entry.client.arguments);
                &substituted
            }
            None => document.body(),
        };
        let folder = folder_of(&entry.origin);
        let mut text = render_activation(entry, body, folder, files, &[], &self.options.activation);
        let hint = self.hint(&entry.key, files);
        if !hint.is_empty() {
            text.push_str("\n\n");
            text.push_str(&hint);
        }
        text
    }

    /// What files the skill has and how to read them.
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
        if counted.is_empty() || !self.options.hint_files || !self.options.tools.contains(&Tool::Read) {
            return String::new();
        }
        let naming = &self.options.naming;
        format!(
            "This skill has {}. Read one with {} ({}: {}, {}: the file's path); without {} it lists them.",
            counted.join(", "),
            naming.tool_name(Tool::Read),
            naming.skill_argument(Tool::Read),
            serde_json::Value::from(shown(key)),
            naming.row().path,
            naming.row().path,
        )
    }

    pub(super) fn unload(&mut self, wanted: &str) -> Step {
        let named = |active: &&Active| {
            active.key == wanted || active.key.rsplit_once(':').is_some_and(|(_, name)| name == wanted)
        };
        let exact = self.state.find(wanted).or_else(|| self.state.active.iter().find(named));
        let Some(key) = exact.map(|active| active.key.clone()) else {
            let active = self.active_skills();
            let hint = if active.is_empty() {
                "no skill is active".to_owned()
            } else {
                format!("active are {}", listed(active.into_iter()))
            };
            return self.refuse(
                Reason::NotActive,
                format!("this skill is not active: {}", shown(wanted)),
                hint,
            );
        };
        let before = self.active_tools();
        self.state.deactivate(&key, Ended::Asked, self.options.max_events);
        let after = self.active_tools();
        let removed = difference(&before, &after);
        let text = format!(
            "this skill is no longer active: {}; do not follow its instructions any more",
            shown(&key)
        );
        let data = json!({"skill": key, "removed_tools": removed, "active_tools": after});
        Step::Done(ToolResult::done(text, data))
    }
}

/// What an activation needs when its bytes are there.
struct Given {
    key: String,
    by: Actor,
    filter: Option<Filter>,
    arguments: Option<String>,
    preload: bool,
    files: Manifest,
}

fn of_kind(files: &Manifest, kind: FileKind) -> usize {
    files.files.iter().filter(|file| file.kind == kind && file.path.as_str() != "SKILL.md").count()
}

fn counts(files: &Manifest) -> serde_json::Value {
    json!({
        "scripts": of_kind(files, FileKind::Script),
        "references": of_kind(files, FileKind::Reference),
        "assets": of_kind(files, FileKind::Asset),
        "other": of_kind(files, FileKind::Other),
    })
}

/// The folder of a skill that lies on a disk.
fn folder_of(origin: &Origin) -> Option<&str> {
    origin.file.as_ref()?;
    let absolute = origin.location.starts_with('/') || origin.location.get(1..3) == Some(":\\");
    let (folder, _) = origin.location.rsplit_once(['/', '\\'])?;
    (absolute && !folder.is_empty()).then_some(folder)
}
