//! The parts that a host writes: sources, selectors, embedders, approvals.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prowess_engine::Cause;
use serde_json::Value;

/// Why a callback failed.
#[derive(Clone, Debug)]
pub struct ForeignError {
    /// One of the codes of the crate for a source, such as `missing`; `failed` for anything else.
    pub code: &'static str,
    /// What went wrong.
    pub message: String,
    /// What was thrown, for the error that the operation becomes.
    pub cause: Option<Cause>,
}

impl ForeignError {
    /// A failure without a kind.
    pub fn new(message: impl Into<String>) -> Self {
        Self { code: "failed", message: message.into(), cause: None }
    }

    /// The failure with another code.
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.code = code;
        self
    }

    /// The failure with what was thrown.
    #[must_use]
    pub fn with_cause(mut self, cause: Cause) -> Self {
        self.cause = Some(cause);
        self
    }

    /// Whether the operation itself ended: it was cancelled, or its skills were closed.
    pub(crate) fn ends_operation(&self) -> bool {
        matches!(self.code, "cancelled" | "closed")
    }
}

impl fmt::Display for ForeignError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ForeignError {}

/// A skill that a source of the host lists.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// What identifies the skill in its source.
    pub id: String,
    /// The place of its SKILL.md, if readers know it by one.
    pub location: Option<String>,
    /// Its SKILL.md, if the source has it at hand. Without it, the file is read.
    pub text: Option<Vec<u8>>,
}

/// A source of the host.
pub trait ForeignSource: Send + Sync {
    /// The skills that it has now.
    fn list(&self) -> Result<Vec<Listed>, ForeignError>;

    /// The files of a skill as JSON, each its path or `{path, size, executable, leftOut}`. `None` if it cannot list them:
    /// then a skill has only its SKILL.md.
    fn files(&self, id: &str) -> Result<Option<Vec<Value>>, ForeignError>;

    /// The bytes of a file; `None` when there is none.
    fn read(&self, id: &str, path: &str) -> Result<Option<Vec<u8>>, ForeignError>;
}

/// A selector of the host.
pub trait ForeignSelector: Send + Sync {
    /// Ranks skills for a query. `asked` is `{query, tags, limit}`, and `skills` are those that may be found, as listed.
    /// The hits are JSON, each a key or `{key, score, why}`.
    fn select(&self, asked: Value, skills: Vec<Value>) -> Result<Vec<Value>, ForeignError>;
}

/// An embedder of the host.
pub trait ForeignEmbedder: Send + Sync {
    /// A vector for each text.
    fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, ForeignError>;
}

/// What else a host does for its chats. Each method has a default.
pub trait ForeignHost: Send + Sync {
    /// Asks the user whether a skill with this digest may be used. Nothing is approved by default.
    fn approve(&self, skill: Value, digest: String) -> Result<bool, ForeignError> {
        let _ = (skill, digest);
        Ok(false)
    }

    /// Runs a script: `{path, args, expectDigest}` in, its exit code and output out. Nothing is run by default.
    fn run(&self, skill: Value, asked: Value) -> Result<(Option<i32>, String), ForeignError> {
        let _ = (skill, asked);
        Err(ForeignError::new("the host runs no scripts"))
    }

    /// Gets what failed while a call was answered, with the effect. The model is told only what it may know. Its own
    /// failure is ignored, unless it ends the operation.
    fn report(&self, error: &ForeignError, effect: Value) -> Result<(), ForeignError> {
        let _ = (error, effect);
        Ok(())
    }
}

/// The parts of a host.
#[derive(Clone, Default)]
pub struct Foreign {
    /// The sources, to which the input of [`Skills::open`](crate::Skills::open) refers by their index.
    pub sources: Vec<Arc<dyn ForeignSource>>,
    /// The selector, if the input names `host`.
    pub selector: Option<Arc<dyn ForeignSelector>>,
    /// The embedder, for the selectors `embedding` and `fused`.
    pub embedder: Option<Arc<dyn ForeignEmbedder>>,
    /// Approvals, scripts and reports.
    pub host: Option<Arc<dyn ForeignHost>>,
    /// How long each call of a part may take; see [`CALLBACK_TIMEOUT`](crate::CALLBACK_TIMEOUT).
    pub timeout: Option<Duration>,
}

impl fmt::Debug for Foreign {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Foreign").field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}
