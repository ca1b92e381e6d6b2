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

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
use crate::error::SourceError;
use crate::library::LibraryOptions;
use crate::registry::Registry;
use crate::source::spec::SourceSpec;
use builder::Approver;

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
    /// The skills in and below some folders. A folder that does not exist is an error.
    ///
    /// The host named these folders, so their skills are trusted. Nothing else is read: neither configurations nor
    /// records of installed skills. A leading `~` or `${VARIABLE}` is expanded.
    pub fn open<P: Into<PathBuf>>(folders: impl IntoIterator<Item = P>) -> Result<Self, SkillsError> {
        let folder = |path: P| match path.into() {
            // In a spec, `@org/name` is an installed skill.
            path if path.to_string_lossy().starts_with('@') => SourceSpec::dir(Path::new(".").join(path)),
            path => SourceSpec::dir(path),
        };
        let sources = folders.into_iter().map(folder);
        sources.fold(Self::builder(), SkillsBuilder::with_source).build()
    }

    /// The skills that the user has, seen from the current folder: those in the folders of clients and of the project,
    /// with the user's configuration and approvals.
    pub fn of_user() -> Result<Self, SkillsError> {
        let options = LibraryOptions { cache: true, ..LibraryOptions::default() };
        Self::builder().with_library(".", Environment::current(), options).build()
    }

    /// A builder for other sources, trust, a profile, a policy or a selector.
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

    /// The skill with this key, read now.
    pub fn get(&self, key: &str) -> Result<Skill, SkillsError> {
        Skill::of_registry(&self.shared.registry, self.shared.registry.get(key)?)
    }

    /// The skills that fit a task, the best first, among those that a model may see.
    pub fn search(&self, query: &str) -> Result<Vec<Hit>, SkillsError> {
        let Shared { selector, narrowing, .. } = &*self.shared;
        let session = self.session("search");
        let visible = session.visible(Actor::Model, session.filter());
        let among: Vec<&Entry> = visible.into_iter().map(|skill| &skill.entry).collect();
        Ok(search(&**selector, &Query::text(query), &among, narrowing)?)
    }

    /// Starts a chat: the skills as one conversation with a model sees them. The id distinguishes it from other chats.
    pub fn chat(&self, id: impl Into<String>) -> Chat {
        Chat::new(self.clone(), self.session(id))
    }

    /// Restores a chat from its [`Chat::state`]. Skills that no longer exist are no longer active.
    pub fn restore(&self, state: SessionState) -> Result<Chat, SkillsError> {
        let Shared { policy, options, .. } = &*self.shared;
        let session = Session::restore(state, self.catalog(), policy.clone(), options.clone())?;
        Ok(Chat::restored(self.clone(), session))
    }

    /// Refreshes by itself whenever the folders change, until the last handle and the last chat are dropped.
    ///
    /// `changed` is called in the watching thread, with the changes or with the error; after an error, the old catalog
    /// stays. A second call replaces the first.
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
        let Shared { registry, selector, approve, .. } = &*self.shared;
        let performer = Performer::new(registry, &**selector);
        match approve {
            Some(approve) => performer.with_approval(&**approve),
            None => performer,
        }
    }
}
