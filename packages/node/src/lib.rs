//! Prowess as an addon of Node: functions and handles that take and return JSON as text, and bytes beside it.
//!
//! `js/` has the interface for programs. Every failure is thrown as the JSON text of its code, message and problems, from
//! which `errors.js` makes an error of the right class. What reads files runs on the threads of Node for such work; a
//! watch has a thread of its own. No thread ever waits for JavaScript.

mod folder;
mod given;
pub mod skills;
mod watch;
mod work;

use napi::bindgen_prelude::{AsyncTask, Uint8ArraySlice};
use napi_derive::napi;

use work::{Contents, Work, thrown};

/// Runs an operation that needs no state and reads no files.
#[napi(catch_unwind)]
pub fn run(operation: String, input: String, bytes: Uint8ArraySlice<'_>) -> napi::Result<String> {
    prowess_native::run(&operation, &input, &bytes).map_err(thrown)
}

/// Runs an operation that needs no state and reads files.
#[napi(catch_unwind)]
pub fn work(operation: String, input: String) -> AsyncTask<Work<String>> {
    Work::task(move || folder::run(&operation, &input))
}

/// Reads a SKILL.md, or a file of the folder of a skill.
#[napi(catch_unwind)]
pub fn read_file(input: String) -> AsyncTask<Work<Contents>> {
    Work::task(move || folder::read(&input).map(|bytes| Contents::new(String::new(), bytes)))
}
