//! `prowess man`: the manual page of a command, made of its help.

use clap::Command;
use clap_mangen::Man as Page;
use prowess::internal::did_you_mean;
use prowess::text::similar;

use crate::Outcome;
use crate::args::{Man, help};
use crate::error::{CommandError, Failure};
use crate::ui::Ui;

/// Runs the command.
pub(crate) fn run(args: &Man, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let mut whole = help::command();
    whole.build();
    let command = match &args.command {
        None => &whole,
        Some(name) => whole.find_subcommand(name).ok_or_else(|| {
            let names = whole.get_subcommands().map(Command::get_name);
            let meant = did_you_mean(&similar(name, names)).map(|meant| format!("; {meant}"));
            let error = format!("there is no such command: {name}{}", meant.unwrap_or_default());
            Failure::new(error, "list the commands with: prowess help")
        })?,
    };
    ui.print(&page(command)?)?;
    Ok(Outcome::Fine)
}

fn page(command: &Command) -> Result<String, CommandError> {
    let mut text = Vec::new();
    let version = env!("CARGO_PKG_VERSION");
    let title = match command.get_name() {
        "prowess" => "prowess".to_owned(),
        name => format!("prowess-{name}"),
    };
    let page = Page::new(command.clone()).title(title).source(format!("prowess {version}"));
    page.render(&mut text).map_err(|error| CommandError::writing(&error))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
