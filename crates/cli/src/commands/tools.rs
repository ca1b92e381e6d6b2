//! `prowess tools`: the tools with which a model uses skills, in the form of its interface.

use prowess::session::Session;
use serde_json::json;

use super::opened;
use crate::Outcome;
use crate::args::Tools;
use crate::error::CommandError;
use crate::explain::unread::{answered, say_beside};
use crate::report::json::VERSION;
use crate::ui::Ui;

/// Runs the command.
pub(crate) fn run(args: &Tools, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let (registry, session_config) = opened(&args.places)?;
    say_beside(&registry, &args.places, ui);
    let options = session_config.options().with_naming(args.naming.clone());
    let session = Session::new("tools", registry.catalog(), session_config.policy(), options);
    let tools = args.dialect.tools(&session.tools());
    if json {
        let (dialect, naming) = (args.dialect.name(), args.naming.row().name);
        ui.json(&json!({"version": VERSION, "dialect": dialect, "naming": naming, "tools": tools}))?;
    } else {
        ui.json(&tools)?;
    }
    // No tools may mean no skills, or that they could not be looked at.
    Ok(answered(&registry, &args.places))
}
