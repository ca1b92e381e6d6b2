//! `prowess activate`: what a model gets when a user starts a skill.

use prowess::drive::{Performer, finish};
use prowess::select::All;
use prowess::session::{Actor, Options, Policy, Session, ToolResult};
use serde_json::json;

use super::{registry, say_problems};
use crate::Outcome;
use crate::args::Activate;
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::Ui;

/// Runs the command.
pub(crate) fn run(args: &Activate, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let registry = registry(&args.places)?;
    say_problems(&registry, ui);
    let mut session = Session::new(registry.catalog(), Policy::default(), Options::default());
    let step = session.activate(&args.name, Actor::User, Some(&args.args.join(" ")));
    let result = finish(&mut session, &Performer::new(&registry, &All), step);
    if !result.ok {
        return Err(refusal(&result).into());
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
fn refusal(result: &ToolResult) -> Failure {
    let (error, hint) = result.text.split_once("\nhint: ").unwrap_or((&result.text, ""));
    Failure::new(error, format!("{hint}; prowess why NAME explains a skill"))
}
