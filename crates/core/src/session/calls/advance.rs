//! What a skill is wanted for, step by step: approval, listing and reading, with the policy asked at every step.

use serde_json::json;

use crate::catalog::Candidate;
use crate::files::manifest::Manifest;
use crate::path::RelPath;
use crate::session::calls::load::Given;
use crate::session::effect::{Outcome, Step};
use crate::session::event::{Actor, What};
use crate::session::interface::arguments::shown;
use crate::session::interface::result::{Reason, ToolResult};
use crate::session::policy::Act;
use crate::session::state::{Approval, Stage, Waiting, Want};
use crate::session::{Filter, Session};

impl Session {
    /// Begins what somebody wants of a skill that they may use.
    pub(in crate::session) fn begin(&mut self, by: Actor, filter: Option<Filter>, want: Want) -> Step {
        if let Want::Load { key, preload, .. } = &want
            && let Some(refusal) = self.full(key, *preload)
        {
            self.note(What::Refused { reason: Reason::TooManyActive.code().to_owned() });
            return Step::Done(refusal);
        }
        let Some(candidate) = want.key().and_then(|key| self.catalog.get(key)) else {
            return self.gone(&want);
        };
        if self.unapproved(candidate) {
            return self.wait(by, filter, want, Stage::Approval);
        }
        self.after_approval(by, filter, want)
    }

    /// Whether somebody must approve a skill before it is used, and nobody did.
    pub(in crate::session) fn unapproved(&self, candidate: &Candidate) -> bool {
        self.policy.needs_approval(candidate, self.approved(candidate).is_some())
    }

    fn after_approval(&mut self, by: Actor, filter: Option<Filter>, want: Want) -> Step {
        if matches!(want, Want::ListFiles { .. } | Want::Load { .. }) {
            return self.wait(by, filter, want, Stage::Files);
        }
        self.read_bytes(by, filter, want, None)
    }

    fn read_bytes(&mut self, by: Actor, filter: Option<Filter>, want: Want, files: Option<Manifest>) -> Step {
        let Some(candidate) = want.key().and_then(|key| self.catalog.get(key)) else {
            return self.gone(&want);
        };
        let expect_digest = self.approved(candidate).map(str::to_owned);
        match want {
            Want::Run { .. } => self.wait(by, filter, want, Stage::Exit { expect_digest }),
            Want::Load { .. } if self.options.inline_resources => {
                let left = files.as_ref().map(|files| self.inlined(files)).unwrap_or_default();
                let stage = Stage::Inline { files, expect_digest, read: Vec::new(), left };
                self.next_inline(by, filter, want, stage)
            }
            want => {
                let stage = Stage::Bytes { files, inlined: Vec::new(), expect_digest };
                self.wait(by, filter, want, stage)
            }
        }
    }

    /// The files that an activation shows: those that are small, as long as all of them have room.
    pub(in crate::session) fn inlined(&self, files: &Manifest) -> Vec<RelPath> {
        self.options.activation.inlined(files, self.options.max_activation_bytes)
    }

    /// Waits for the next file that is to be shown; after the last, for the skill's own.
    fn next_inline(&mut self, by: Actor, filter: Option<Filter>, want: Want, stage: Stage) -> Step {
        let stage = match stage {
            Stage::Inline { files, expect_digest, read, left } if left.is_empty() => {
                Stage::Bytes { files, inlined: read, expect_digest }
            }
            stage => stage,
        };
        self.wait(by, filter, want, stage)
    }

    /// Goes on with what is wanted of a skill. The policy is asked again: much may have changed meanwhile.
    pub(in crate::session) fn go_on(&mut self, waiting: Waiting, outcome: Outcome) -> Step {
        let Waiting { by, filter, want, location, stage, .. } = waiting;
        let act = match want {
            Want::Load { .. } => Act::Activate,
            Want::Run { .. } => Act::Run,
            _ => Act::Read,
        };
        let key = want.key().unwrap_or_default();
        let now = self.catalog.get(key).filter(|now| {
            // A skill of the same key at another place is another skill.
            let own = self.filter_on(key, act, filter.as_ref());
            now.entry.origin.location == location && self.judge(now, act, by, own).is_ok()
        });
        let Some(now) = now else {
            return self.gone_for(&want, by, filter.as_ref());
        };
        match &stage {
            Stage::Approval => {}
            // What ran cannot be undone, and to ask now would run it twice.
            Stage::Exit { .. } if self.unapproved(now) => return self.not_approved(&want),
            _ if self.unapproved(now) => return self.wait(by, filter, want, Stage::Approval),
            // Somebody approved it meanwhile: what was read before is not held to what they saw.
            Stage::Bytes { expect_digest, .. } | Stage::Inline { expect_digest, .. }
                if self.approved(now).is_some_and(|seen| expect_digest.as_deref() != Some(seen)) =>
            {
                return self.after_approval(by, filter, want);
            }
            _ => {}
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
            (Stage::Approval, Outcome::Declined | Outcome::Failed { .. }) => self.not_approved(&want),
            (Stage::Files, Outcome::Files { files }) => match want {
                Want::ListFiles { key, offset, limit } => self.list_files(&key, &files, offset, limit),
                want => self.read_bytes(by, filter, want, Some(files)),
            },
            // Instructions without a list of files are better than none; if the skill is gone, reading it tells.
            (Stage::Files, Outcome::Failed { why }) => match want {
                Want::ListFiles { key, .. } => self.unread_skill(&key, why),
                want => self.read_bytes(by, filter, want, None),
            },
            (Stage::Inline { files, expect_digest, mut read, mut left }, outcome) => {
                let bytes = match outcome {
                    Outcome::Read { digest, .. } if expect_digest.is_some() && expect_digest != digest => {
                        return self.no_longer_approved(key);
                    }
                    Outcome::Read { bytes, .. } => Some(bytes),
                    // A file that cannot be read is named like one that is not text.
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
                    Want::Load { key, arguments, preload } => {
                        self.give(Given { key, by, filter, arguments, preload, files, inlined }, &bytes, size)
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

    fn not_approved(&mut self, want: &Want) -> Step {
        let key = want.key().unwrap_or_default();
        let error = format!("the user did not approve this skill: {}", shown(key));
        self.note(What::NotApproved { key: key.to_owned() });
        self.refuse(Reason::NotApproved, error, "go on without it, or ask the user about it")
    }

    fn no_longer_approved(&mut self, key: &str) -> Step {
        self.state.approvals.remove(key);
        self.note(What::NotApproved { key: key.to_owned() });
        // Without the approval it may not stay active either.
        self.settle();
        let error = format!("this skill changed after it was approved: {}", shown(key));
        self.refuse(Reason::Changed, error, "ask the user to look at it and to approve it again")
    }
}
