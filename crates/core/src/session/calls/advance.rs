//! The stages of a call about a skill: approval, listing, reading. The policy is asked at every stage.

use serde_json::json;

use crate::catalog::Candidate;
use crate::files::manifest::Manifest;
use crate::path::RelPath;
use crate::session::calls::load::LoadInput;
use crate::session::effect::{Outcome, Step};
use crate::session::event::{Actor, EventKind};
use crate::session::interface::arguments::for_message;
use crate::session::interface::result::{Reason, ToolResult};
use crate::session::policy::Act;
use crate::session::state::{Approval, Goal, PendingCall, Stage};
use crate::session::{Filter, Session};

impl Session {
    /// Begins a call about a skill that may be used.
    pub(in crate::session) fn begin(&mut self, by: Actor, filter: Option<Filter>, want: Goal) -> Step {
        if let Goal::Load { key, preload, .. } = &want
            && let Some(refusal) = self.refusal_if_full(key, *preload)
        {
            return self.refused(refusal);
        }
        let key = want.key().unwrap_or_default();
        let Some(candidate) = self.catalog.get(key) else {
            return self.skill_gone(key, by, filter.as_ref());
        };
        if self.needs_approval(candidate) {
            return self.suspend(by, filter, want, Stage::Approval);
        }
        self.after_approval(by, filter, want)
    }

    /// Whether a skill must be approved before it is used, and is not.
    pub(in crate::session) fn needs_approval(&self, candidate: &Candidate) -> bool {
        self.policy.needs_approval(candidate, self.approved(candidate).is_some())
    }

    fn after_approval(&mut self, by: Actor, filter: Option<Filter>, want: Goal) -> Step {
        if matches!(want, Goal::ListFiles { .. } | Goal::Load { .. }) {
            return self.suspend(by, filter, want, Stage::Files);
        }
        self.read_bytes(by, filter, want, None)
    }

    fn read_bytes(&mut self, by: Actor, filter: Option<Filter>, want: Goal, files: Option<Manifest>) -> Step {
        let key = want.key().unwrap_or_default();
        let Some(candidate) = self.catalog.get(key) else {
            return self.skill_gone(key, by, filter.as_ref());
        };
        let expect_digest = self.approved(candidate);
        match want {
            Goal::Run { .. } => self.suspend(by, filter, want, Stage::Exit { expect_digest }),
            Goal::Load { .. } if self.options.inline_resources => {
                let left = files.as_ref().map(|files| self.files_to_inline(files)).unwrap_or_default();
                let stage = Stage::Inline { files, expect_digest, read: Vec::new(), left };
                self.next_inline(by, filter, want, stage)
            }
            want => {
                let stage = Stage::Bytes { files, inlined: Vec::new(), expect_digest };
                self.suspend(by, filter, want, stage)
            }
        }
    }

    /// The files whose contents an activation shows: small ones, as long as they fit.
    pub(in crate::session) fn files_to_inline(&self, files: &Manifest) -> Vec<RelPath> {
        self.options.activation.inlined(files, self.options.max_activation_bytes)
    }

    /// Waits for the next file to inline; after the last, for SKILL.md.
    fn next_inline(&mut self, by: Actor, filter: Option<Filter>, want: Goal, stage: Stage) -> Step {
        let stage = match stage {
            Stage::Inline { files, expect_digest, read, left } if left.is_empty() => {
                Stage::Bytes { files, inlined: read, expect_digest }
            }
            stage => stage,
        };
        self.suspend(by, filter, want, stage)
    }

    /// Continues a call after an effect. The policy is asked again, because anything may have changed meanwhile.
    pub(in crate::session) fn advance(&mut self, waiting: PendingCall, outcome: Outcome) -> Step {
        let PendingCall { by, filter, want, location, stage, .. } = waiting;
        let act = match want {
            Goal::Load { .. } => Act::Activate,
            Goal::Run { .. } => Act::Run,
            _ => Act::Read,
        };
        let key = want.key().unwrap_or_default();
        let now = self.catalog.get(key).filter(|now| {
            // A skill with the same key at another location is another skill.
            let own = self.filter_on(key, act, filter.as_ref());
            now.entry.origin.location == location && self.judge(now, act, by, own).is_ok()
        });
        let Some(now) = now else {
            return self.skill_gone(key, by, filter.as_ref());
        };
        match &stage {
            Stage::Approval => {}
            // A script that ran cannot be undone, and asking now would run it twice.
            Stage::Exit { .. } if self.needs_approval(now) => return self.not_approved(&want),
            _ if self.needs_approval(now) => return self.suspend(by, filter, want, Stage::Approval),
            // It was approved meanwhile: what was read before was not compared with that digest.
            Stage::Bytes { expect_digest, .. } | Stage::Inline { expect_digest, .. }
                if self.approved(now).is_some_and(|seen| *expect_digest != Some(seen)) =>
            {
                return self.after_approval(by, filter, want);
            }
            _ => {}
        }
        match (stage, outcome) {
            (Stage::Approval, Outcome::Approved { digest }) => {
                let key = key.to_owned();
                self.state.approvals.insert(key.clone(), Approval { location, digest });
                self.record(EventKind::Approved { key, digest });
                self.after_approval(by, filter, want)
            }
            (Stage::Approval, Outcome::Declined | Outcome::Failed { .. }) => self.not_approved(&want),
            (Stage::Files, Outcome::Files { files }) => match want {
                Goal::ListFiles { key, offset, limit } => self.list_files(&key, &files, offset, limit),
                want => self.read_bytes(by, filter, want, Some(files)),
            },
            // Instructions without a list of files are better than none. If the skill is gone, reading it fails.
            (Stage::Files, Outcome::Failed { why }) => match want {
                Goal::ListFiles { key, .. } => self.skill_read_failed(&key, why),
                want => self.read_bytes(by, filter, want, None),
            },
            (Stage::Inline { files, expect_digest, mut read, mut left }, outcome) => {
                let bytes = match outcome {
                    Outcome::Read { digest, .. } if expect_digest.is_some() && expect_digest != digest => {
                        return self.no_longer_approved(key);
                    }
                    Outcome::Read { bytes, .. } => Some(bytes),
                    // A file that cannot be read is listed without its contents.
                    Outcome::Failed { .. } => None,
                    _ => return self.wrong_outcome(),
                };
                let path = if left.is_empty() { None } else { Some(left.remove(0)) };
                read.extend(path.zip(bytes.and_then(|bytes| String::from_utf8(bytes).ok())));
                self.next_inline(by, filter, want, Stage::Inline { files, expect_digest, read, left })
            }
            (Stage::Bytes { files, inlined, expect_digest }, Outcome::Read { bytes, size, digest }) => {
                if expect_digest.is_some() && expect_digest != digest {
                    return self.no_longer_approved(key);
                }
                match want {
                    Goal::Load { key, arguments, preload } => self.finish_load(
                        LoadInput { key, by, filter, arguments, preload, files, inlined },
                        &bytes,
                        size,
                    ),
                    Goal::ReadFile { key, path, offset, limit } => {
                        self.file_result(&key, &path, bytes, size, offset, limit)
                    }
                    _ => self.wrong_outcome(),
                }
            }
            (Stage::Bytes { .. }, Outcome::Failed { why }) => match &want {
                Goal::ReadFile { path, .. } => self.read_failed(path.as_str(), why),
                want => {
                    let key = want.key().unwrap_or_default().to_owned();
                    self.skill_read_failed(&key, why)
                }
            },
            (Stage::Exit { .. }, Outcome::Ran { code, output }) => {
                let data = json!({"skill": key, "code": code});
                let made = if code == Some(0) { ToolResult::done } else { ToolResult::failed };
                Step::Done(made(output, data))
            }
            (Stage::Exit { .. }, Outcome::Failed { .. }) => {
                self.refuse(Reason::RunRefused, "the script could not be run", "do the work without it")
            }
            _ => self.wrong_outcome(),
        }
    }

    fn not_approved(&mut self, want: &Goal) -> Step {
        let key = want.key().unwrap_or_default();
        let error = format!("the user did not approve this skill: {}", for_message(key));
        self.record(EventKind::NotApproved { key: key.to_owned() });
        self.refuse(Reason::NotApproved, error, "continue without it, or ask the user about it")
    }

    fn no_longer_approved(&mut self, key: &str) -> Step {
        self.state.approvals.remove(key);
        self.record(EventKind::NotApproved { key: key.to_owned() });
        // Without the approval it must not stay active.
        self.reconcile();
        let error = format!("this skill changed after it was approved: {}", for_message(key));
        self.refuse(Reason::Changed, error, "ask the user to look at it and to approve it again")
    }
}
