//! [`SkillsBuilder`]: where skills come from, what is trusted, and how chats behave.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::render::{Budget, CatalogStyle, Shape};
use prowess_core::select::{self, Selector};
use prowess_core::session::{Options, Policy};
use prowess_core::{Candidate, Digest, Duplicates, Profile, RelPath, with_methods};

use super::{Shared, Skill, Skills, SkillsError};
use crate::env::Environment;
use crate::fs::walk::OnError;
use crate::library::{LibraryOptions, add_library, terms_file};
use crate::registry::Registry;
use crate::registry::trust::Trust;
use crate::search::LazyIndex;
use crate::source::Layer;
use crate::source::open::{OpenServer, Opening};
use crate::source::spec::SourceSpec;

/// Asks whether a skill with this digest may be used.
pub(super) type Approver = dyn Fn(&Candidate, Digest) -> bool + Send + Sync;

/// Runs a script of a skill.
pub(super) type Runner =
    dyn Fn(&Candidate, &RelPath, &[String]) -> io::Result<(Option<i32>, String)> + Send + Sync;

/// The context window, in tokens, from which the default budget of the list of skills is computed.
const WINDOW: usize = 200_000;

/// A builder for [`Skills`]: its sources, what is trusted, and how chats behave.
///
/// ```
/// use prowess::session::Policy;
/// use prowess::{Entry, Profile, Skill, Skills, SourceSpec};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().to_str().unwrap();
/// let entry = Entry::builder("hello", "Greets the user. Use it when a chat begins.").build()?;
/// let skills = Skills::builder()
///     .with_source(SourceSpec::parse(folder)?)
///     .with_skill(Skill::new(entry, "Say hello."))
///     .with_profile(Profile::spec())
///     .build()?;
/// assert_eq!(skills.get("hello")?.body(), "Say hello.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct SkillsBuilder {
    skills: Vec<Skill>,
    sources: Vec<Part>,
    library: Option<(PathBuf, Environment, LibraryOptions)>,
    servers: Option<Arc<dyn OpenServer>>,
    trust: Option<Trust>,
    approve: Option<Box<Approver>>,
    run: Option<Box<Runner>>,
    profile: Option<Profile>,
    duplicates: Option<Duplicates>,
    source_errors: Option<OnError>,
    policy: Option<Policy>,
    options: Option<Options>,
    selector: Option<Box<dyn Selector>>,
    narrowing: select::SelectOptions,
    style: Option<CatalogStyle>,
    budget: Option<Budget>,
}

/// One source of skills.
enum Part {
    Spec(SourceSpec),
    Layer(Box<Layer>),
}

impl fmt::Debug for SkillsBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SkillsBuilder").field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}

impl SkillsBuilder {
    /// Adds a source by its spec: a folder, an archive, a site, a server. Of two skills with the same key, the one of
    /// the source that was added first is offered.
    #[must_use]
    pub fn with_source(mut self, source: SourceSpec) -> Self {
        self.sources.push(Part::Spec(source));
        self
    }

    /// Adds a source of the host: any [`Source`](crate::Source), or a [`Layer`] with options for its skills.
    #[must_use]
    pub fn with_layer(mut self, source: impl Into<Layer>) -> Self {
        self.sources.push(Part::Layer(Box::new(source.into())));
        self
    }

    /// Adds one skill, before all sources.
    #[must_use]
    pub fn with_skill(mut self, skill: Skill) -> Self {
        self.skills.push(skill);
        self
    }

    /// Adds the user's skills as seen from a folder, after the other sources. The user's configuration and approvals
    /// count, unless the builder sets something else.
    #[must_use]
    pub fn with_library(
        mut self,
        from: impl Into<PathBuf>,
        environment: Environment,
        options: LibraryOptions,
    ) -> Self {
        self.library = Some((from.into(), environment, options));
        self
    }

    /// Sets the function that asks the user whether a skill with this digest may be used. Without it, nothing is
    /// approved.
    ///
    /// Trust and the policy decide when it is called: for skills that are not trusted if the policy has
    /// [`Untrusted::Ask`], and for the skills of a scope whose [`OriginRule`] has `approve`. With any other policy it is
    /// never called, and skills that are not trusted are hidden. By default, only the skills of a layer with
    /// [`Layer::with_approval_required`] and those of MCP servers are not trusted.
    ///
    /// ```
    /// use prowess::session::{Policy, Untrusted};
    /// use prowess::source::Layer;
    /// use prowess::{MemorySource, Scope, Skills};
    ///
    /// let shared = MemorySource::new("shared");
    /// shared.insert("tidy-up", "---\nname: tidy-up\ndescription: Tidies up.\n---\nDo.\n", Scope::Explicit);
    /// let skills = Skills::builder()
    ///     .with_layer(Layer::from(shared).with_approval_required(true))
    ///     .with_policy(Policy::default().with_untrusted(Untrusted::Ask))
    ///     .with_approval(|skill, digest| {
    ///         println!("may {} be used? {digest}", skill.entry.key);
    ///         false
    ///     })
    ///     .build()?;
    /// assert!(!skills.chat("chat-1").activate("tidy-up", "").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`OriginRule`]: prowess_core::session::OriginRule
    /// [`Untrusted::Ask`]: prowess_core::session::Untrusted::Ask
    #[must_use]
    pub fn with_approval(
        mut self,
        approve: impl Fn(&Candidate, Digest) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.approve = Some(Box::new(approve));
        self
    }

    /// Sets the function that runs the scripts of skills: it gets the skill, the file and the arguments, and returns the
    /// exit code, which is none when a signal ended the script, and what it wrote. Without it, no script is run.
    ///
    /// It is called if the policy allows scripts and offers the tool for them, only for a regular file of a skill that the
    /// model may use and, if the skill was approved, only while its files have the approved digest. Which files it wants to
    /// run, and how, is for the host to decide: with a time limit, in a sandbox, without secrets in the environment. The
    /// model reads the output as it is.
    ///
    /// ```
    /// use prowess::session::{Options, Policy, Tool, ToolCall};
    /// use prowess::{MemorySource, Scope, Skills};
    /// use serde_json::json;
    ///
    /// let own = MemorySource::new("own");
    /// own.insert("tidy-up", "---\nname: tidy-up\ndescription: Tidies up.\n---\nDo.\n", Scope::Explicit);
    /// own.insert_file("tidy-up", "scripts/sweep.sh".parse()?, "echo swept\n");
    /// let skills = Skills::builder()
    ///     .with_layer(own)
    ///     .with_policy(Policy::default().with_run(true))
    ///     .with_options(Options::default().with_tools([Tool::Load, Tool::Run].into()))
    ///     .with_run(|skill, script, arguments| {
    ///         let output = format!("{} {script} {}", skill.entry.key, arguments.join(" "));
    ///         Ok((Some(0), output))
    ///     })
    ///     .build()?;
    /// let call = ToolCall::new("run_skill_script", json!({"name": "tidy-up", "path": "scripts/sweep.sh"}));
    /// let result = skills.chat("chat-1").call(call);
    /// assert!(result.text.contains("tidy-up scripts/sweep.sh"), "{}", result.text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_run(
        mut self,
        run: impl Fn(&Candidate, &RelPath, &[String]) -> io::Result<(Option<i32>, String)> + Send + Sync + 'static,
    ) -> Self {
        self.run = Some(Box::new(run));
        self
    }

    /// Sets the selector that ranks skills. The default is an index over names, descriptions and bodies.
    #[must_use]
    pub fn with_selector(mut self, selector: impl Selector + 'static) -> Self {
        self.selector = Some(Box::new(selector));
        self
    }

    /// Sets how many skills a search and [`Chat::prompt_for`](crate::Chat::prompt_for) find, and the minimum score.
    #[must_use]
    pub fn with_narrowing(mut self, narrowing: select::SelectOptions) -> Self {
        self.narrowing = narrowing;
        self
    }

    /// Opens the sources and reads them for the first time.
    pub fn build(mut self) -> Result<Skills, SkillsError> {
        let mut registry = Registry::new();
        let mut opening = Opening::named(Path::new("."), None);
        opening.servers.clone_from(&self.servers);
        for skill in &self.skills {
            registry.hold(skill, false)?;
        }
        for source in self.sources.drain(..) {
            _ = match source {
                Part::Spec(spec) => registry.add(opening.open(&spec, &Environment::current())?),
                Part::Layer(layer) => registry.add(*layer),
            };
        }
        let mut terms = None;
        if let Some((from, environment, mut options)) = self.library.take() {
            options.servers = options.servers.or_else(|| self.servers.clone());
            let said = add_library(&mut registry, &from, &environment, &options)?;
            self.policy.get_or_insert_with(|| said.policy());
            self.options.get_or_insert_with(|| said.options());
            self.style.get_or_insert_with(|| usual_style().with_location(said.location.unwrap_or_default()));
            terms = terms_file(&environment, &registry).filter(|_| options.cache);
        }
        if let Some(trust) = self.trust.take() {
            registry.set_trust(trust);
        }
        if let Some(profile) = self.profile.take() {
            registry.set_profile(profile);
        }
        if let Some(duplicates) = self.duplicates {
            registry.set_duplicates(duplicates);
        }
        if let Some(on_error) = self.source_errors {
            registry.set_on_error(on_error).require_one();
        }
        registry.refresh()?;
        Ok(self.over(Arc::new(registry), terms))
    }

    /// Builds on the host's own registry, as of its last refresh. Sources, single skills, the library, trust, profile and
    /// duplicates of the builder are ignored; all other settings apply.
    pub fn build_on(self, registry: impl Into<Arc<Registry>>) -> Skills {
        self.over(registry.into(), None)
    }

    fn over(self, registry: Arc<Registry>, terms: Option<PathBuf>) -> Skills {
        let index = || Box::new(LazyIndex::new(Arc::clone(&registry)).with_cache(terms));
        let shared = Shared {
            selector: self.selector.unwrap_or_else(|| index()),
            registry,
            policy: self.policy.unwrap_or_default(),
            options: self.options.unwrap_or_default(),
            approve: self.approve,
            run: self.run,
            style: self.style.unwrap_or_else(usual_style),
            budget: self.budget.unwrap_or(Budget::two_percent(WINDOW)),
            narrowing: self.narrowing,
            #[cfg(feature = "watch")]
            watching: std::sync::Mutex::default(),
        };
        Skills { shared: Arc::new(shared) }
    }
}

with_methods! { SkillsBuilder:
    /// Sets what opens MCP servers. Without it, an MCP server is an error. The crate `prowess-mcp` has an
    /// implementation.
    with_servers Some(servers): Arc<dyn OpenServer>;
    /// Sets which skills are trusted. By default, what the host names is trusted, except the skills of MCP servers and of
    /// a layer with [`Layer::with_approval_required`]. With a library, the user's approvals decide.
    with_trust Some(trust): Trust;
    /// Sets the profile that skills must pass. Skills with errors stay in the catalog, marked as broken.
    with_profile Some(profile): Profile;
    /// Sets which of two skills with the same key is offered.
    with_duplicates Some(duplicates): Duplicates;
    /// Sets what happens when a source cannot be listed: the others are offered, and the error is among
    /// [`Registry::problems`] ([`OnError::Report`]), or opening and refreshing fail ([`OnError::Fail`], the default
    /// without a library). If none can be listed and no skill is registered, they fail in any case.
    with_source_errors Some(source_errors): OnError;
    /// Sets what chats may show and do.
    with_policy Some(policy): Policy;
    /// Sets how chats behave: the names of the tools, limits, lifetimes.
    with_options Some(options): Options;
    /// Sets how prompts lay out the list of skills.
    with_style Some(style): CatalogStyle;
    /// Sets the budget of the list of skills in a prompt: 4,000 tokens by default.
    with_budget Some(budget): Budget;
}

fn usual_style() -> CatalogStyle {
    CatalogStyle::new(Shape::Compact)
}
