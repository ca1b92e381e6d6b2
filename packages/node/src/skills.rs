//! The skills of some sources, and sessions over them, as handles of JavaScript.

use std::sync::Arc;

use napi::bindgen_prelude::{AsyncTask, Uint8Array, Uint8ArraySlice};
use napi_derive::napi;
use prowess_native::{Cancel, Cause, Chat, Failure, Foreign, ForeignError, ForeignSource, Listed, Skills};

use crate::given::{Answer, Given};
use crate::watch::NodeWatch;
use crate::work::{Contents, Host, NodeCancel, Work, thrown, to_json};

/// A skill that a source in JavaScript listed, with its SKILL.md.
#[napi(object, object_to_js = false)]
pub struct GivenSkill {
    /// The number of the source.
    pub host: u32,
    /// What identifies the skill there.
    pub id: String,
    /// Where it is, if readers know it by a place.
    pub location: Option<String>,
    /// Its SKILL.md.
    pub bytes: Uint8Array,
}

/// What the sources in JavaScript listed. The bytes are copied: JavaScript may change them later.
fn by_source(sources: usize, given: Vec<GivenSkill>, failed: Vec<u32>) -> Vec<Answer> {
    let mut answers: Vec<Answer> = Vec::new();
    answers.resize_with(sources, || Ok(Vec::new()));
    for skill in given {
        let listed = Listed { id: skill.id, location: skill.location, text: Some(skill.bytes.to_vec()) };
        if let Some(Ok(of_source)) = answers.get_mut(skill.host as usize) {
            of_source.push(listed);
        }
    }
    for host in failed {
        if let Some(answer) = answers.get_mut(host as usize) {
            // JavaScript keeps what was thrown, and knows it by the number of its source.
            let error = ForeignError::new("the source could not list its skills");
            *answer = Err(error.with_cause(Cause(Arc::new(Host(host)))));
        }
    }
    answers
}

/// The skills of some sources.
#[napi(js_name = "Skills")]
pub struct NodeSkills {
    skills: Skills,
    given: Vec<Arc<Given>>,
}

/// Opens sources and reads them. `sources` is the number of those in JavaScript, `given` what they listed, and `failed` has
/// the numbers of those that could not list their skills.
#[napi(catch_unwind)]
pub fn open_skills(
    input: String,
    sources: u32,
    given: Vec<GivenSkill>,
    failed: Vec<u32>,
    cancel: &NodeCancel,
) -> AsyncTask<Work<NodeSkills>> {
    let answers = by_source(sources as usize, given, failed);
    Work::cancellable(cancel, move |cancel| {
        let given: Vec<Arc<Given>> = answers.into_iter().map(|answer| Arc::new(Given::new(answer))).collect();
        let sources = given.iter().map(|source| Arc::clone(source) as Arc<dyn ForeignSource>).collect();
        let foreign = Foreign { sources, ..Foreign::default() };
        let skills = Skills::open(&input, foreign, cancel)?;
        Ok(NodeSkills { skills, given })
    })
}

#[napi]
impl NodeSkills {
    /// Runs an operation that reads no files.
    #[napi(catch_unwind)]
    pub fn run(&self, operation: String, input: String) -> napi::Result<String> {
        self.skills.run(&operation, &input, &Cancel::new()).map_err(thrown)
    }

    /// Runs an operation that reads files: `refresh`, `rank`.
    #[napi(catch_unwind)]
    pub fn work(&self, operation: String, input: String, cancel: &NodeCancel) -> AsyncTask<Work<String>> {
        let skills = self.skills.clone();
        Work::cancellable(cancel, move |cancel| skills.run(&operation, &input, cancel))
    }

    /// What could not be read at the last refresh; only that about whole sources if `unlisted` is set.
    #[napi(catch_unwind)]
    pub fn problems(&self, unlisted: bool) -> napi::Result<Vec<String>> {
        let problems = if unlisted { self.skills.unlisted() } else { self.skills.problems() };
        Ok(problems.map_err(thrown)?.iter().map(to_json).collect())
    }

    /// Replaces what the sources in JavaScript listed, for the next refresh.
    #[napi(catch_unwind)]
    pub fn fill(&self, given: Vec<GivenSkill>, failed: Vec<u32>) {
        for (source, answer) in self.given.iter().zip(by_source(self.given.len(), given, failed)) {
            source.fill(answer);
        }
    }

    /// Lists the files of a skill, reads one or digests all, as a session asks for it.
    #[napi(catch_unwind)]
    pub fn perform(&self, effect: String, cancel: &NodeCancel) -> AsyncTask<Work<Contents>> {
        let skills = self.skills.clone();
        Work::cancellable(cancel, move |_| {
            let (json, bytes) = skills.perform(&effect)?;
            Ok(Contents::new(json, bytes))
        })
    }

    /// Starts a session.
    #[napi(catch_unwind)]
    pub fn session(&self, id: String, settings: String) -> napi::Result<NodeSession> {
        self.skills.chat(&id, &settings).map(NodeSession::of).map_err(thrown)
    }

    /// Restores a session from its state.
    #[napi(catch_unwind)]
    pub fn restore(&self, state: String, settings: String) -> napi::Result<NodeSession> {
        self.skills.restore(&state, &settings).map(NodeSession::of).map_err(thrown)
    }

    /// Watches the folders.
    #[napi(catch_unwind)]
    pub fn watch(&self, options: String) -> AsyncTask<Work<NodeWatch>> {
        let skills = self.skills.clone();
        Work::task(move || skills.watch(&options).map(NodeWatch::of))
    }

    /// Ends the use of the skills.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.skills.close();
    }
}

/// A session of a model. It follows every refresh of its skills.
#[napi(js_name = "Session")]
pub struct NodeSession(Option<Chat>);

impl NodeSession {
    fn of(chat: Chat) -> Self {
        Self(Some(chat))
    }
}

#[napi]
impl NodeSession {
    /// Runs an operation of the session. `bytes` are those of a file that was read.
    #[napi(catch_unwind)]
    pub fn run(&self, operation: String, input: String, bytes: Uint8ArraySlice<'_>) -> napi::Result<String> {
        let closed = || Failure::new("closed", "this chat is closed");
        let chat = self.0.as_ref().ok_or_else(closed).map_err(thrown)?;
        chat.step(&operation, &input, &bytes).map_err(thrown)
    }

    /// Frees the memory of the session.
    #[napi(catch_unwind)]
    pub fn free(&mut self) {
        self.0 = None;
    }
}
