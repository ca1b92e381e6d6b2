//! `prowess activate`: what a model gets when a user starts a skill.

use prowess::drive::{Performer, failed, finish_with};
use prowess::select::All;
use prowess::session::{Act, Actor, Arguments, Hidden, Reason, Session, ToolResult};
use serde_json::json;

use super::{Purpose, filter_place, opened_for, usable};
use crate::Outcome;
use crate::args::Activate;
use crate::error::{CommandError, Failure, Hint};
use crate::explain::unread::{answered, say_beside};
use crate::report::json::VERSION;
use crate::ui::Ui;
use crate::ui::command::command_for;

/// Runs the command.
pub(crate) fn run(args: &Activate, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let (registry, session_config) = opened_for(&args.places, Purpose::Use)?;
    let first = usable(&args.name, &registry, &args.places, ui)?;
    let also: Result<Vec<_>, _> =
        args.also.iter().map(|name| usable(name, &registry, &args.places, ui)).collect();
    say_beside(&registry, &args.places, ui);
    let mut options = session_config.options();
    options.activation.plain |= args.plain;
    options.inline_resources |= args.inline;
    let mut session = Session::new("activate", registry.catalog(), session_config.policy(), options);
    let performer = Performer::new(&registry, &All);
    let also = also?;
    for key in [&first].into_iter().chain(&also).map(|skill| &skill.entry.key) {
        if session.why_hidden(key, Act::Activate, Actor::User) == Some(Hidden::Filtered) {
            let hint = format!("change {}", filter_place(&session_config));
            return Err(Failure::new(format!("the filter hides this skill: {key}"), hint).into());
        }
    }
    let options = args.places.options();
    let arguments = Arguments::words(&args.args);
    let ToolResult { mut text, data, .. } =
        start(&mut session, &performer, &first.entry.key, arguments, &options)?;
    let mut others = Vec::new();
    for skill in also {
        let result = start(&mut session, &performer, &skill.entry.key, Arguments::default(), &options)?;
        text.push_str("\n\n");
        text.push_str(&result.text);
        others.push(result.data);
    }
    if json {
        ui.json(&json!({"version": VERSION, "text": text, "data": data, "also": others}))?;
    } else {
        ui.raw(format!("{text}\n").as_bytes())?;
    }
    Ok(answered(&registry, &args.places))
}

/// Starts one skill for a user.
fn start(
    session: &mut Session,
    performer: &Performer<'_>,
    key: &str,
    arguments: Arguments,
    options: &str,
) -> Result<ToolResult, CommandError> {
    let has_arguments = !arguments.is_empty();
    let step = session.activate(key, Actor::User, Some(arguments), None);
    // The last error. The user may see more of it than a model.
    let mut error = None;
    let result = finish_with(session, step, |effect| {
        let done = performer.try_perform(effect);
        error = None;
        done.unwrap_or_else(|failure| {
            let outcome = failed(&failure);
            error = Some(failure);
            outcome
        })
    });
    match error {
        Some(error) if !result.is_ok() => Err(Failure::from(&error).into()),
        None if !result.is_ok() => Err(refusal(key, &result, has_arguments, options).into()),
        _ => Ok(result),
    }
}

/// A refusal as the user sees it.
fn refusal(name: &str, result: &ToolResult, has_arguments: bool, options: &str) -> Failure {
    let mut failure = Failure::new(&result.text, "");
    failure.hints = match (result.reason, &result.hint) {
        // The session's hint is for a model; only the author, or the user who sets the limit, can do more.
        (Some(Reason::TooLarge), hint) => {
            let raise = "or raise max_activation_bytes in the table [session] of the file that sets it: prowess config";
            let shorter = hint.as_deref().filter(|_| has_arguments).unwrap_or("make the skill shorter");
            vec![format!("{shorter}, {raise}").into()]
        }
        (_, hint) => {
            let why = format!("see why: {}", command_for("why", name, options));
            hint.iter().map(Hint::from).chain([why.into()]).collect()
        }
    };
    failure
}
