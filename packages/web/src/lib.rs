//! The engine as WebAssembly: functions and handles that take and return JSON as text, and bytes beside it.
//!
//! `js/` has the interface for programs. Every failure is thrown as the JSON text of its code, message and problems,
//! from which `js/errors.js` makes an error of the right class.

use prowess_engine::{Failure, Library, Session, Usual};
use wasm_bindgen::prelude::wasm_bindgen;

fn thrown(failure: Failure) -> String {
    failure.to_json()
}

/// Runs an operation that needs no state.
#[wasm_bindgen]
pub fn run(operation: &str, input: &str, bytes: &[u8]) -> Result<String, String> {
    prowess_engine::run(operation, input, bytes).map_err(thrown)
}

/// The skills of some sources.
#[wasm_bindgen(js_name = Library)]
pub struct WebLibrary(Library);

#[wasm_bindgen(js_class = Library)]
impl WebLibrary {
    /// An empty library.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str) -> Result<Self, String> {
        Library::new(options).map(Self).map_err(thrown)
    }

    /// Adds a SKILL.md, and returns the skill that it is.
    pub fn add(&mut self, input: &str, bytes: &[u8]) -> Result<String, String> {
        self.0.add(input, bytes).map_err(thrown)
    }

    /// Decides which skills are offered. Nothing can be added afterwards.
    pub fn seal(&mut self) -> Result<(), String> {
        self.0.seal().map_err(thrown)
    }

    /// Runs an operation over the skills.
    pub fn run(&self, operation: &str, input: &str) -> Result<String, String> {
        self.0.run(operation, input).map_err(thrown)
    }

    /// What changed since an earlier library.
    pub fn since(&self, before: &Self) -> String {
        self.0.since(&before.0)
    }

    /// Starts a session over the skills.
    pub fn session(&self, id: &str, options: &str) -> Result<WebSession, String> {
        Session::new(id, self.0.catalog(), &Usual::default(), options).map(WebSession).map_err(thrown)
    }

    /// Restores a session from its state.
    pub fn restore(&self, state: &str, options: &str) -> Result<WebSession, String> {
        Session::restore(state, self.0.catalog(), &Usual::default(), options).map(WebSession).map_err(thrown)
    }

    /// Gives a session these skills.
    pub fn update(&self, session: &mut WebSession) {
        session.0.follow(&self.0.catalog());
    }
}

/// A session of a model.
#[wasm_bindgen(js_name = Session)]
pub struct WebSession(Session);

#[wasm_bindgen(js_class = Session)]
impl WebSession {
    /// Runs an operation of the session.
    pub fn run(&mut self, operation: &str, input: &str, bytes: &[u8]) -> Result<String, String> {
        self.0.run(operation, input, bytes).map_err(thrown)
    }
}
