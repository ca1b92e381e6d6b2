//! `prowess activate`: what a model gets when a user starts a skill.

use prowess::drive::{Performer, failed};
use prowess::select::All;
use prowess::session::{Actor, Arguments, Session, Step, ToolResult};
use prowess::shell_word;
use serde_json::json;

use super::{registry, say_problems, session_defaults, usable};
use crate::Outcome;
use crate::args::Activate;
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::Ui;

/// Runs the command.
pub(crate) fn run(args: &Activate, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let registry = registry(&args.places)?;
    let skill = usable(&args.name, &registry, ui)?;
    say_problems(&registry, ui);
    let said = session_defaults(None, None)?;
    let mut options = said.options();
    options.activation.plain |= args.plain;
    let mut session = Session::new("activate", registry.catalog(), said.policy(), options);
    let mut step = session.activate(&skill.entry.key, Actor::User, Some(Arguments::words(&args.args)), None);
    let performer = Performer::new(&registry, &All);
    // What went wrong last: a person may know more of it than a model.
    let mut error = None;
    let result = loop {
        step = match step {
            Step::Done(result) => break result,
            Step::Need(ticket, effect) => {
                let done = performer.try_perform(&effect);
                let outcome = match &done {
                    Ok(outcome) => outcome.clone(),
                    Err(error) => failed(error),
                };
                error = done.err();
                session.resume(ticket, outcome)
            }
        }
    };
    match error {
        Some(error) if !result.ok => return Err(Failure::from(&error).into()),
        None if !result.ok => return Err(refusal(&args.name, &result).into()),
        _ => {}
    }
    if json {
        let ToolResult { text, data, .. } = result;
        ui.json(&json!({"version": VERSION, "text": text, "data": data}))?;
    } else {
        ui.raw(format!("{}\n", result.text).as_bytes())?;
    }
    Ok(Outcome::Fine)
}

/// A refusal as people see it.
fn refusal(name: &str, result: &ToolResult) -> Failure {
    let (error, hint) = result.text.split_once("\nhint: ").unwrap_or((&result.text, ""));
    let mut failure = Failure::new(error, format!("see why: prowess why {}", shell_word(name)));
    if !hint.is_empty() {
        failure.hints.insert(0, hint.to_owned());
    }
    failure
}
