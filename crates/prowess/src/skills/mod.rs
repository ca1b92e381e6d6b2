//! The main API: [`Skills`] finds skills, [`Chat`] gives them to a model, [`Skill`] is one of them.
//!
//! Most hosts need no other types, except a [`Dialect`](crate::Dialect). The parts are public too: [`Registry`],
//! [`Session`], and [`drive`](crate::drive) between them.

mod builder;
mod chat;
mod discover;
mod error;
mod skill;
#[cfg(feature = "watch")]
mod watching;

use std::collections::BTreeSet;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::conversation::Conversation;
use prowess_core::render::{Budget, CatalogStyle};
use prowess_core::select::{self, Hit, Query, Selector, search};
use prowess_core::session::{Actor, Options, Policy, Session, SessionState};
use prowess_core::{Catalog, Delta, Entry};

pub use builder::SkillsBuilder;
pub use chat::Chat;
pub use discover::{discover, discover_judged};
pub use error::SkillsError;
pub use skill::Skill;

use crate::drive::Performer;
use crate::env::Environment;
use crate::error::{SourceError, SourceErrorKind};
use crate::library::LibraryOptions;
use crate::registry::Registry;
use crate::source::open::Opening;
use crate::source::spec::SourceSpec;
use builder::{Approver, Runner};

/// A set of skills, from folders or from the user's library, shared by any number of chats.
///
/// A clone is another handle on the same skills. Handles can be used from several threads at once.
///
/// ```
/// use prowess::{Dialect, Skills};
/// # use serde_json::json;
///
/// # let folder = tempfile::tempdir()?;
/// # std::fs::create_dir(folder.path().join("tidy-up"))?;
/// # std::fs::write(folder.path().join("tidy-up/SKILL.md"), "---\nname: tidy-up\ndescription: Tidies up.\n---\nDo.\n")?;
/// # let folder = folder.path();
/// let skills = Skills::open([folder])?;
/// let mut chat = skills.chat("chat-1");
///
/// let system = chat.prompt()?; // text for the system prompt
/// let tools = chat.tools(Dialect::Anthropic); // JSON for the request
/// # assert!(system.contains("tidy-up") && tools.is_array());
/// # let tool_use = json!({"type": "tool_use", "id": "t1", "name": "load_skill", "input": {"name": "tidy-up"}});
/// let answer = chat.answer(Dialect::Anthropic, &tool_use); // None when the call is not ours
/// # assert_eq!(answer.unwrap()["is_error"], false);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Skills {
    shared: Arc<Shared>,
}

/// What all handles and chats share.
struct Shared {
    registry: Arc<Registry>,
    selector: Box<dyn Selector>,
    policy: Policy,
    options: Options,
    approve: Option<Box<Approver>>,
    run: Option<Box<Runner>>,
    style: CatalogStyle,
    budget: Budget,
    narrowing: select::SelectOptions,
    #[cfg(feature = "watch")]
    watching: std::sync::Mutex<Option<watching::Watching>>,
}

impl fmt::Debug for Skills {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Skills").field("registry", &self.shared.registry).finish_non_exhaustive()
    }
}

impl Skills {
    /// The skills in and below some folders. A folder that does not exist or cannot be read is an error.
    ///
    /// The host named these folders, so their skills are trusted. Nothing else is read: neither configurations nor
    /// records of installed skills. A leading `~` or `${VARIABLE}` is expanded. What cannot be read below these folders is
    /// in [`Skills::problems`]. Archives, files of records and sites are sources for [`SkillsBuilder::with_source`].
    pub fn open<P: Into<PathBuf>>(folders: impl IntoIterator<Item = P>) -> Result<Self, SkillsError> {
        let (opening, environment) = (Opening::named(Path::new("."), None), Environment::current());
        let mut builder = Self::builder();
        for path in folders {
            let path = path.into();
            // Not the current folder: it may come from a variable that is not set.
            if path.as_os_str().is_empty() {
                return Err(SourceErrorKind::Missing.at(path).into());
            }
            let spec = match path {
                // In a spec, `@org/name` is an installed skill.
                path if path.to_string_lossy().starts_with('@') => SourceSpec::dir(Path::new(".").join(path)),
                path => SourceSpec::dir(path),
            };
            let folder = opening.place(&spec, &environment)?;
            folder.as_deref().map_or(Ok(()), readable)?;
            builder = builder.with_source(spec);
        }
        builder.build()
    }

    /// The skills that the user has, seen from the current folder: those in the folders of clients and of the project,
    /// with the user's configuration and approvals.
    pub fn of_user() -> Result<Self, SkillsError> {
        let options = LibraryOptions { cache: true, ..LibraryOptions::default() };
        Self::builder().with_library(".", Environment::current(), options).build()
    }

    /// A builder for other sources, trust, a profile, a policy or a selector.
    #[must_use]
    pub fn builder() -> SkillsBuilder {
        SkillsBuilder::default()
    }

    /// Reads every source again and returns what changed. Chats use the new catalog from their next call on. After an
    /// error, the old catalog stays.
    pub fn refresh(&self) -> Result<Delta, SkillsError> {
        Ok(self.shared.registry.refresh()?)
    }

    /// The skills as of the last refresh. A catalog never changes; a refresh makes a new one.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.shared.registry.catalog()
    }

    /// What could not be read at the last refresh.
    pub fn problems(&self) -> Vec<Arc<SourceError>> {
        self.shared.registry.problems()
    }

    /// The skill with this key, read now, for the host: also one that is not trusted, or that the policy hides from
    /// models. [`Skill::is_usable`] says whether it is trusted; [`Chat::activate`] asks the policy too.
    pub fn get(&self, key: &str) -> Result<Skill, SkillsError> {
        Skill::of_registry(&self.shared.registry, self.shared.registry.get(key)?)
    }

    /// The skills that fit a task, the best first, among those that a model may see.
    pub fn search(&self, query: &str) -> Result<Vec<Hit>, SkillsError> {
        let Shared { selector, narrowing, .. } = &*self.shared;
        let session = self.session("search");
        let visible = session.visible(Actor::Model, session.filter());
        let among: Vec<&Entry> = visible.into_iter().map(|skill| &skill.entry).collect();
        let mut hits = search(&**selector, &Query::text(query), &among, narrowing)?;
        // A selector of the host may return anything: unknown keys, hidden skills, one skill twice.
        let named: BTreeSet<String> = hits.iter().map(|hit| hit.key.clone()).collect();
        let mut found: BTreeSet<&str> =
            among.iter().map(|entry| entry.key.as_str()).filter(|key| named.contains(*key)).collect();
        hits.retain(|hit| found.remove(hit.key.as_str()));
        Ok(hits)
    }

    /// Starts a chat: the skills as one conversation with a model sees them. The id distinguishes it from other chats.
    #[must_use]
    pub fn chat(&self, id: impl Into<String>) -> Chat {
        let mut chat = Chat::new(self.clone(), Conversation::new(self.session(id)));
        // Skills that could not be loaded are in the session's log.
        chat.preload(&[]);
        chat
    }

    /// Restores a chat from its [`Chat::state`]. Skills that no longer exist are no longer active; [`Chat::changes`] names
    /// them, and those that changed since the state was stored.
    pub fn restore(&self, state: SessionState) -> Result<Chat, SkillsError> {
        let Shared { policy, options, .. } = &*self.shared;
        let restored = Conversation::restore(state, self.catalog(), policy.clone(), options.clone())?;
        Ok(Chat::new(self.clone(), restored))
    }

    /// Refreshes by itself whenever the folders change, until the last handle and the last chat are dropped.
    ///
    /// `changed` is called in the watching thread, with the changes or with the error; after an error, the old catalog
    /// stays. A change that a call of [`Skills::refresh`] found first is returned by that call, and not passed to
    /// `changed`. If `changed` panics, the watching goes on. A second call replaces the first; nothing else stops it, so a
    /// `changed` that holds a handle keeps it running.
    #[cfg(feature = "watch")]
    pub fn watch(
        &self,
        options: crate::watch::WatchOptions,
        changed: impl Fn(Result<Delta, SkillsError>) + Send + 'static,
    ) -> Result<(), SkillsError> {
        let watching = watching::Watching::start(Arc::clone(&self.shared.registry), options, changed)?;
        let mut slot = crate::internal::locked(&self.shared.watching);
        *slot = Some(watching);
        Ok(())
    }

    /// What chats may show and do.
    pub fn policy(&self) -> &Policy {
        &self.shared.policy
    }

    /// How chats behave.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// How prompts lay out the list of skills.
    pub fn style(&self) -> &CatalogStyle {
        &self.shared.style
    }

    /// The registry, for a host that needs the parts.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.shared.registry
    }

    fn session(&self, id: impl Into<String>) -> Session {
        let Shared { policy, options, .. } = &*self.shared;
        Session::new(id, self.catalog(), policy.clone(), options.clone())
    }

    /// Performs the effects of a chat.
    fn performer(&self) -> Performer<'_> {
        let Shared { registry, selector, approve, run, .. } = &*self.shared;
        let mut performer = Performer::new(registry, &**selector);
        if let Some(approve) = approve {
            performer = performer.with_approval(&**approve);
        }
        if let Some(run) = run {
            performer = performer.with_run(&**run);
        }
        performer
    }
}

/// An error if a folder is there and cannot be listed. A list reports that one is missing or no folder.
fn readable(folder: &Path) -> Result<(), SourceError> {
    match std::fs::read_dir(folder) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(SourceError::io(folder, error))
        }
        _ => Ok(()),
    }
}
