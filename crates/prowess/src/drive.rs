//! The loop around a session: performs its effects on a registry until a call is done.
//!
//! ```
//! use prowess::drive::{Performer, drive};
//! use prowess::search::LazyIndex;
//! use prowess::session::{Options, Policy, Session, ToolCall};
//! use prowess::{DirSource, Registry, ScanOptions};
//! use serde_json::json;
//!
//! # let folder = tempfile::tempdir()?;
//! # std::fs::create_dir(folder.path().join("tidy-up"))?;
//! # std::fs::write(folder.path().join("tidy-up/SKILL.md"), "---\nname: tidy-up\ndescription: Tidies up.\n---\nDo.\n")?;
//! # let folder = folder.path();
//! let mut registry = Registry::new();
//! registry.add(DirSource::new(folder, ScanOptions::unbounded()));
//! registry.refresh()?;
//!
//! let mut session = Session::new("chat-1", registry.catalog(), Policy::default(), Options::default());
//! let index = LazyIndex::new(&registry);
//! let performer = Performer::new(&registry, &index);
//! let result = drive(&mut session, &performer, ToolCall::new("load_skill", json!({"name": "tidy-up"})));
//! assert!(result.is_ok() && result.text.contains("Do."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A host with an async runtime uses [`drive_async`], which awaits each effect. For several calls at once, each with
//! its own ticket, a host calls [`Session::call`] and [`Session::resume`] itself.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;

use prowess_core::conversation::{self, SessionAccess};
use prowess_core::select::{SelectOptions, Selector, search};
use prowess_core::session::{Effect, Failure, Outcome, Session, Step, ToolCall, ToolResult};
use prowess_core::{Candidate, Catalog, Digest, Entry, Location, RelPath};

use crate::error::{SourceError, SourceErrorKind};
use crate::registry::Registry;
use crate::source::{Chunk, Slice};

/// Asks the user whether a skill with this digest may be used.
pub type Approve<'h> = &'h (dyn Fn(&Candidate, Digest) -> bool + Sync);

/// Runs a script of a skill: gets the skill, the file and the arguments, and returns the exit code, which is none when a
/// signal ended the script, and what it wrote. After an error, the model reads that the script could not be run.
pub type Run<'h> = &'h (dyn Fn(&Candidate, &RelPath, &[String]) -> io::Result<(Option<i32>, String)> + Sync);

/// Performs effects on a registry.
#[derive(Clone, Copy)]
pub struct Performer<'h> {
    registry: &'h Registry,
    catalog: Option<&'h Catalog>,
    selector: &'h dyn Selector,
    approve: Option<Approve<'h>>,
    run: Option<Run<'h>>,
    min_score: Option<f32>,
}

impl fmt::Debug for Performer<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Performer").field("registry", self.registry).finish_non_exhaustive()
    }
}

impl<'h> Performer<'h> {
    /// Reads through the sources of a registry, and searches with a selector. Approves nothing and runs nothing.
    pub fn new(registry: &'h Registry, selector: &'h dyn Selector) -> Self {
        Self { registry, catalog: None, selector, approve: None, run: None, min_score: None }
    }

    /// Finds skills in this catalog of the registry in place of its current one: one for a client that may see only some
    /// of the skills, by [`Catalog::among`].
    #[must_use]
    pub fn with_catalog(mut self, catalog: &'h Catalog) -> Self {
        self.catalog = Some(catalog);
        self
    }

    /// Sets the function that asks the user for approval.
    #[must_use]
    pub fn with_approval(mut self, approve: Approve<'h>) -> Self {
        self.approve = Some(approve);
        self
    }

    /// Sets the function that runs scripts. It is called only for a regular file of the skill and, if the skill was
    /// approved, only while its files have the approved digest.
    #[must_use]
    pub fn with_run(mut self, run: Run<'h>) -> Self {
        self.run = Some(run);
        self
    }

    /// Sets the minimum score of search results. Each selector has its own scale.
    #[must_use]
    pub fn with_min_score(mut self, score: f32) -> Self {
        self.min_score = Some(score);
        self
    }

    /// Performs one effect.
    pub fn perform(&self, effect: &Effect) -> Outcome {
        self.try_perform(effect).unwrap_or_else(|error| failed(&error))
    }

    /// Performs one effect. The error has details for the host; [`failed`] turns it into the outcome for the session.
    pub fn try_perform(&self, effect: &Effect) -> Result<Outcome, SourceError> {
        match effect {
            // Everything is read through the candidate that was looked up: after a refresh, its key could be another
            // skill's.
            Effect::Files { key, location } => {
                let skill = self.at(key, location)?;
                Ok(Outcome::Files { files: self.registry.files_of(&skill)? })
            }
            Effect::Read { key, location, path, offset, limit, expect_digest } => {
                let skill = self.at(key, location)?;
                let slice = Slice { offset: *offset, limit: *limit };
                let (chunk, digest) = self.read(&skill, path, slice, expect_digest.is_some())?;
                Ok(Outcome::Read { bytes: chunk.bytes, size: chunk.size, digest })
            }
            Effect::Search { query, among, limit } => {
                let current = self.registry.catalog();
                let catalog = self.catalog.unwrap_or(&current);
                let among: Vec<&Entry> =
                    among.iter().filter_map(|key| catalog.get(key)).map(|skill| &skill.entry).collect();
                let options =
                    SelectOptions::default().with_top_k(Some(*limit)).with_min_score(self.min_score);
                Ok(match search(self.selector, query, &among, &options) {
                    Ok(hits) => Outcome::Hits { hits },
                    Err(_) => Outcome::Failed { why: Failure::Failed },
                })
            }
            Effect::Approve { key, location, .. } => {
                let skill = self.at(key, location)?;
                // The digest is computed first, so that what the user approves is what was there when they were asked.
                let digest = self.registry.approvable(&skill)?;
                let approved = self.approve.is_some_and(|approve| approve(&skill, digest));
                Ok(if approved { Outcome::Approved { digest } } else { Outcome::Declined })
            }
            Effect::Run { key, location, path, args, expect_digest } => {
                let Some(run) = self.run else { return Ok(Outcome::Failed { why: Failure::Failed }) };
                let skill = self.at(key, location)?;
                // Only to check the path and the digest.
                let nothing = Slice { offset: 0, limit: 0 };
                let (_, digest) = self.read(&skill, path, nothing, expect_digest.is_some())?;
                if digest != *expect_digest {
                    return Ok(Outcome::Failed { why: Failure::NotAsListed });
                }
                Ok(match run(&skill, path, args) {
                    Ok((code, output)) => Outcome::Ran { code, output },
                    Err(_) => Outcome::Failed { why: Failure::Failed },
                })
            }
            // An effect of a later version cannot be performed.
            _ => Ok(Outcome::Failed { why: Failure::Failed }),
        }
    }

    /// Bytes of a file and, if it is wanted, the digest over all files of its skill.
    fn read(
        &self,
        skill: &Candidate,
        path: &RelPath,
        slice: Slice,
        with_digest: bool,
    ) -> Result<(Chunk, Option<Digest>), SourceError> {
        if with_digest {
            let (chunk, digest) = self.registry.read_with_digest_of(skill, path, slice)?;
            return Ok((chunk, Some(digest)));
        }
        Ok((self.registry.read(skill, path, slice)?, None))
    }

    /// The skill with this key, if it is still at the location that the session knows.
    fn at(&self, key: &str, location: &Location) -> Result<Arc<Candidate>, SourceError> {
        let candidate = match self.catalog.and_then(|catalog| catalog.shared(key)) {
            Some(own) => own,
            None => self.registry.get(key)?,
        };
        if candidate.entry.origin.location == *location {
            Ok(candidate)
        } else {
            Err(SourceErrorKind::NotListed.at_location(location.clone()))
        }
    }
}

/// The outcome of an error for a session: only what a model may know of it.
pub fn failed(error: &SourceError) -> Outcome {
    let why = match &error.kind {
        SourceErrorKind::Missing
        | SourceErrorKind::NotListed
        | SourceErrorKind::NoSkill
        | SourceErrorKind::Lookup(_) => Failure::Missing,
        SourceErrorKind::Outside | SourceErrorKind::BadPath(_) => Failure::Outside,
        SourceErrorKind::Folder
        | SourceErrorKind::NotFolder
        | SourceErrorKind::FileInPlace
        | SourceErrorKind::NotRegular { .. } => Failure::NotAFile,
        SourceErrorKind::TooLarge { .. } => Failure::TooLarge,
        SourceErrorKind::Broken => Failure::Broken,
        SourceErrorKind::NotAsListed { .. } | SourceErrorKind::Changed => Failure::NotAsListed,
        _ => Failure::Failed,
    };
    Outcome::Failed { why }
}

/// Activates the preloaded skills, and returns the result of each. If one fails, the others are still activated.
pub fn preload(session: &mut Session, performer: &Performer<'_>) -> Vec<(String, ToolResult)> {
    let steps = session.preload(&[]);
    steps.into_iter().map(|(name, step)| (name, finish(session, performer, step))).collect()
}

/// Answers a call.
pub fn drive(session: &mut Session, performer: &Performer<'_>, call: ToolCall) -> ToolResult {
    let step = session.call(call);
    finish(session, performer, step)
}

/// Continues from a step until it is done: an activation by a user, a preload, a stored call.
pub fn finish(session: &mut impl SessionAccess, performer: &Performer<'_>, step: Step) -> ToolResult {
    finish_with(session, step, |effect| performer.perform(effect))
}

/// Continues from a step until it is done, with effects that the host performs.
pub fn finish_with(
    session: &mut impl SessionAccess,
    step: Step,
    mut perform: impl FnMut(&Effect) -> Outcome,
) -> ToolResult {
    let Ok(result) = conversation::finish(session, step, |effect| Ok::<_, Infallible>(perform(effect)));
    result
}

/// Answers a call, awaiting each effect. The host provides `perform`; with tokio:
///
/// ```text
/// |effect| {
///     let (registry, index) = (registry.clone(), index.clone());
///     async move {
///         let work = move || Performer::new(&registry, &*index).perform(&effect);
///         tokio::task::spawn_blocking(work).await.unwrap_or(Outcome::Failed { why: Failure::Failed })
///     }
/// }
/// ```
pub async fn drive_async<P, F>(session: &mut Session, call: ToolCall, perform: P) -> ToolResult
where
    P: FnMut(Effect) -> F,
    F: Future<Output = Outcome>,
{
    let step = session.call(call);
    finish_async(session, step, perform).await
}

/// Continues from a step until it is done, awaiting each effect.
pub async fn finish_async<P, F>(session: &mut Session, mut step: Step, mut perform: P) -> ToolResult
where
    P: FnMut(Effect) -> F,
    F: Future<Output = Outcome>,
{
    loop {
        step = match step {
            Step::Done(result) => return result,
            Step::Need(ticket, effect) => {
                let outcome = perform(effect).await;
                session.resume(ticket, outcome)
            }
        }
    }
}
