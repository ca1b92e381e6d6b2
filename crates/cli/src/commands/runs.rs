//! Which agents run what a skill asks for, in words: Prowess never does.

use prowess::client::{Execution, Runs};
use prowess::library::clients::{self, Client};

/// A column of the table of clients.
type Column = fn(&Execution) -> Runs;

/// The rules about something that some agents run, each with the column of the table of clients.
const RUN: [(&str, Column); 2] =
    [("hooks-present", |runs| runs.hooks), ("dynamic-command", |runs| runs.commands)];

/// Who runs what a problem is about: the client that was asked about, or all that are known to.
pub(super) fn who(code: &str, client: Option<&Client>) -> Option<String> {
    let (_, column) = RUN.iter().find(|(other, _)| *other == code)?;
    Some(said(*column, client))
}

/// Which agents run hooks.
pub(super) fn hooks() -> String {
    said(|runs| runs.hooks, None)
}

/// Which agents run commands in the instructions.
pub(super) fn commands() -> String {
    said(|runs| runs.commands, None)
}

fn said(column: Column, client: Option<&Client>) -> String {
    let Some(client) = client else {
        let names: Vec<&str> = clients::running(column).iter().map(|client| client.name).collect();
        return format!("known to run it: {}", names.join(", "));
    };
    match column(&client.reads().runs) {
        Runs::Yes => format!("{} runs it", client.name),
        Runs::Sometimes(condition) => format!("{} runs it, {condition}", client.name),
        Runs::No => format!("{} does not run it", client.name),
        _ => format!("it is not known whether {} runs it; some agents do", client.name),
    }
}
