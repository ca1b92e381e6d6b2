//! The command `prowess`: checks, shows and explains Agent Skills.

mod args;
mod commands;
mod error;
mod explain;
mod prompt;
mod rank;
mod report;
mod selector;
mod signals;
mod ui;

use std::ffi::OsString;
use std::process::ExitCode;

use args::{Args, Command};
use clap::{ColorChoice, FromArgMatches as _};
use error::{CommandError, Failure};
use prowess::env::Environment;
use ui::Ui;

/// How a command ended, when it could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing is wrong.
    Fine,
    /// Problems were found.
    Problems,
    /// Some of the work could not be done; the rest was.
    Incomplete,
}

fn main() -> ExitCode {
    let words = words();
    match commands::completions::answer(&words) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(failure) => {
            Ui::new(ColorChoice::Auto).failure(&failure);
            return ExitCode::from(2);
        }
    }
    let parsed = args::help::command()
        .try_get_matches_from(words)
        .and_then(|mut matches| Args::from_arg_matches_mut(&mut matches));
    let args = match parsed {
        Ok(args) => args,
        Err(error) => return ui::usage(&error, asked_color(), asked_json()),
    };
    let mut ui = Ui::new(args.color);
    // The exit code of these commands is their answer, also for a reader that needs no more lines.
    if matches!(args.command, Command::Check(_) | Command::Eval(_) | Command::Verify(_)) {
        ui.outlive_reader();
    }
    if args.command.reads_skills() {
        ui.working("reading skills");
    }
    prowess::internal::close_roots(&Environment::current());
    let outcome = run(&args, &mut ui);
    for note in prowess::internal::state_notes() {
        ui.state_note(&note);
    }
    let outcome = outcome.and_then(|outcome| ui.finish().map(|()| outcome));
    // A server that is stopped does not wait for threads that may still hold a child process.
    prowess::process::end_children();
    // If a signal ended the child processes, it ends this process too, whatever the outcome says.
    signals::give_way();
    match outcome {
        // The reader closed the pipe, which is not an error.
        Ok(Outcome::Fine) | Err(CommandError::ClosedPipe) => ExitCode::SUCCESS,
        Ok(Outcome::Problems) => ExitCode::from(1),
        Ok(Outcome::Incomplete) => ExitCode::from(2),
        Err(CommandError::OutOfDate(failure)) => failed(&failure, 1, &args, &mut ui),
        Err(CommandError::Failed(failure)) => failed(&failure, 2, &args, &mut ui),
    }
}

/// Reports a failure, and returns the exit code.
fn failed(failure: &Failure, code: u8, args: &Args, ui: &mut Ui) -> ExitCode {
    ui.failure(failure);
    if args.wants_json() {
        // A program that reads JSON gets the failure as JSON too. If stdout is closed, stderr still has it.
        let _ = ui.json(&failure.json());
    }
    ExitCode::from(code)
}

/// Scripts for shells and manual pages have a format of their own.
fn no_json() -> CommandError {
    Failure::new("this command has no JSON output", "leave out --json").into()
}

/// The arguments of the process. The parser has no options for `help` itself, so `help --help` becomes `help`.
fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "help") {
        words.retain(|word| word != "--help" && word != "-h");
    }
    words
}

/// Whether a command line that was not parsed asks for JSON.
fn asked_json() -> bool {
    std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json")
}

/// The colour choice of a command line that was not parsed: it asks for help, or has a mistake.
fn asked_color() -> ColorChoice {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let together = words.iter().find_map(|word| word.strip_prefix("--color="));
    let apart = || words.iter().skip_while(|word| *word != "--color").nth(1).map(String::as_str);
    together.or_else(apart).and_then(|word| word.parse().ok()).unwrap_or(ColorChoice::Auto)
}

fn run(args: &Args, ui: &mut Ui) -> Result<Outcome, CommandError> {
    match &args.command {
        Command::Check(check) => commands::check::run(check, args.json, ui),
        Command::New(new) => commands::new::run(new, args.json, ui),
        Command::Show(show) => commands::show::run(show, args.json, ui),
        Command::Rule(rule) => commands::rule::run(rule, args.json, ui),
        Command::Eval(eval) => commands::eval::run(eval, args.json, ui),
        Command::Try(query) => commands::try_::run(query, args.json, ui),
        Command::List(list) => commands::list::run(list, args.json, ui),
        Command::Search(search) => commands::search::run(search, args.json, ui),
        Command::Prompt(prompt) => commands::prompt::run(prompt, args.json, ui),
        Command::Cat(cat) => commands::cat::run(cat, args.json, ui),
        Command::Why(why) => commands::why::run(why, args.json, ui),
        Command::Doctor(doctor) => commands::doctor::run(doctor, args.json, ui),
        Command::Trust(trust) => commands::trust::run(trust, args.json, ui),
        Command::Add(add) => commands::install::add::run(add, args.json, ui),
        Command::Remove(remove) => commands::install::remove(remove, args.json, ui),
        Command::Sync(sync) => commands::install::sync::run(sync, args.json, ui),
        Command::Verify(verify) => commands::install::verify::run(verify, args.json, ui),
        Command::Watch(watch) => commands::watch::run(watch, args.json, ui),
        Command::Activate(activate) => commands::activate::run(activate, args.json, ui),
        Command::Tools(tools) => commands::tools::run(tools, args.json, ui),
        Command::Replay(replay) => commands::replay::run(replay, ui),
        Command::Serve(serve) => commands::serve::run(serve, args.json, ui),
        Command::Completions(_) | Command::Man(_) if args.json => Err(no_json()),
        Command::Connect(connect) => commands::connect::run(connect, args.json, ui),
        Command::Disconnect(disconnect) => commands::connect::disconnect(disconnect, args.json, ui),
        Command::Config(config) => commands::config::run(config, args.json, ui),
        Command::Completions(completions) => commands::completions::run(completions, ui),
        Command::Man(man) => commands::man::run(man, ui),
    }
}
