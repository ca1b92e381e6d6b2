//! `prowess new`: creates a skill without errors or warnings under any profile.

use std::fmt::Write as _;
use std::path::Path;

use prowess::check::suggest_name;
use prowess::env::{self, Environment};
use prowess::internal::{ScaffoldPart, make_folder, scaffold};
use prowess::library::clients;
use prowess::path::RelPath;
use serde_json::json;

use super::{confined, shown};
use crate::Outcome;
use crate::args::{New, Part};
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::command::command_for;
use crate::ui::{FAINT, Ui, clean};

/// Runs the command.
pub(crate) fn run(args: &New, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let parts: Vec<ScaffoldPart> = args.with.iter().map(|part| part_of(*part)).collect();
    let files = scaffold(&args.name, args.description.as_deref(), &parts).map_err(|problems| {
        let about_name = problems.iter().any(|problem| problem.field.as_deref() == Some("name"));
        let what = if about_name { "name" } else { "description" };
        let value = if about_name { &args.name } else { args.description.as_ref().unwrap_or(&args.name) };
        let mut shown: String = value.chars().take(80).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        let mut failure =
            Failure::new(format!("this {what} is not valid for a skill: {shown}"), hint(args, about_name));
        failure.causes = problems.into_iter().map(|problem| problem.message).collect();
        failure
    })?;
    if let Err(error) = RelPath::parse(&args.name) {
        // The specification allows it, but the skill could not be copied to every system.
        let failure = Failure::new(
            format!("a folder cannot have this name on every system: {}", args.name),
            format!("choose another name, such as {}-skill", args.name),
        );
        return Err(failure.with_cause(error.rule().problem()).into());
    }
    let folder = args.dir.join(&args.name);
    let contents: Vec<(&str, &[u8])> = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    confined::check_written(&folder)?;
    make_folder(&folder, &contents).map_err(|error| Failure::from(&error))?;
    let (path, names) = (shown(&folder), files.iter().map(|(path, _)| *path).collect::<Vec<_>>());
    if json {
        ui.json(&json!({ "version": VERSION, "name": args.name, "path": path, "files": names }))?;
        return Ok(Outcome::Fine);
    }
    let check = command_for("check", &path, "");
    let (path, check) = (clean(&path), clean(&check));
    let mut text = String::new();
    for name in names {
        let _ = writeln!(text, "made {path}/{name}");
    }
    let _ = writeln!(
        text,
        "\n{FAINT}say in SKILL.md what the skill does and when to use it, then: {check}{FAINT:#}"
    );
    if !is_looked_into(&folder) {
        let add = add_command(&folder);
        let _ = writeln!(text, "{FAINT}no agent looks there; install it for them with: {add}{FAINT:#}");
    }
    ui.print(&text)?;
    Ok(Outcome::Fine)
}

/// Whether a client looks for skills in the folder that this one is in.
fn is_looked_into(folder: &Path) -> bool {
    let folder = env::absolute(folder);
    let roots = clients::common_roots(&env::absolute(Path::new(".")), &Environment::current());
    roots.iter().any(|root| folder.starts_with(&root.path))
}

/// The command that installs the skill in a folder.
pub(crate) fn add_command(folder: &Path) -> String {
    let path = shown(folder);
    // Without it, the path could be the name of a repository.
    let begin = if folder.is_absolute() || path.starts_with('.') { "" } else { "./" };
    // The user's own folder is no project.
    let own = super::install::is_own_folder();
    command_for("add", &format!("{begin}{path}"), if own { " --user" } else { "" })
}

fn part_of(part: Part) -> ScaffoldPart {
    match part {
        Part::Scripts => ScaffoldPart::Scripts,
        Part::References => ScaffoldPart::References,
        Part::Assets => ScaffoldPart::Assets,
        Part::Evals => ScaffoldPart::Evals,
    }
}

/// The hint for a name or description that is not valid.
fn hint(args: &New, about_name: bool) -> String {
    if !about_name {
        return "say in at most 1024 characters what the skill does and when to use it, without angle brackets"
            .to_owned();
    }
    let better = suggest_name(&args.name);
    if scaffold(&better, None, &[]).is_ok() {
        format!("call it {better}")
    } else {
        "use a-z, 0-9 and single hyphens, at most 64 characters, and no name of a vendor".to_owned()
    }
}
