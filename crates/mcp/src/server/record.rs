//! What the log says about a request: the tool, the skill, and why a call was refused.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use prowess::internal::locked;
use rmcp::model::Extensions;

/// The record of a request, shared by its handler and its transport.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallRecord(Arc<Mutex<Recorded>>);

/// What a handler recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) tool: Option<Cow<'static, str>>,
    /// The key of a served skill.
    pub(crate) skill: Option<String>,
    /// The code of a refusal.
    pub(crate) reason: Option<&'static str>,
}

impl CallRecord {
    /// The record of a request over HTTP. On a pipe there is no log of requests, and the record is lost.
    pub(crate) fn of(request: &Extensions) -> Self {
        let over_http = || request.get::<http::request::Parts>()?.extensions.get::<Self>().cloned();
        over_http().unwrap_or_default()
    }

    pub(crate) fn set_skill(&self, skill: &str) {
        locked(&self.0).skill = Some(skill.to_owned());
    }

    pub(crate) fn set_call(
        &self,
        tool: Cow<'static, str>,
        skill: Option<String>,
        reason: Option<&'static str>,
    ) {
        *locked(&self.0) = Recorded { tool: Some(tool), skill, reason };
    }

    pub(crate) fn recorded(&self) -> Recorded {
        locked(&self.0).clone()
    }
}
