//! A source in the configuration of another program, which starts the server in a folder of its own.

use std::ffi::OsStr;
use std::path::PathBuf;

use prowess::SourceErrorKind;
use prowess::env::{self, Environment};
use prowess::source::open::Opening;
use prowess::source::spec::{Place, Server, SourceSpec};

use crate::error::Failure;
use crate::ui::command::command_for;

/// A configuration is text: it cannot name this path.
pub(super) fn not_utf8(path: &OsStr) -> Failure {
    let error =
        format!("a configuration cannot name this path, which is not UTF-8: {}", path.to_string_lossy());
    Failure::new(error, "rename it, or make a link to it whose path is UTF-8; nothing was written")
}

/// Whether a reference is to a skill that is installed for the user.
fn is_of_user(reference: &SourceSpec) -> bool {
    let environment = Environment::current();
    // The home of the user is never a project.
    let found = environment.home().map(|home| Opening::named(&home, None).place(reference, &environment));
    found.is_some_and(|found| found.is_ok())
}

/// A source in the configuration of a client. In a file that applies in every folder, paths must be absolute.
pub(super) fn in_config(is_personal: bool, source: &str) -> Result<String, Failure> {
    let Ok(given) = SourceSpec::parse(source) else { return Ok(source.to_owned()) };
    if let Some(reference) = given.place.reference() {
        // The reference is kept, because it says whose skill it is. Another folder has other skills of its project.
        if is_personal && !is_of_user(&given) {
            let error = format!(
                "this skill is not installed for the user, and the server may start in any folder: {reference}"
            );
            let hint =
                format!("install it with: {}; or name its folder", command_for("add", reference, " --user"));
            return Err(Failure::new(error, hint));
        }
        return Ok(source.to_owned());
    }
    if !is_personal {
        return Ok(source.to_owned());
    }
    let environment = Environment::current();
    let mut spec = given.clone();
    let mut failed = None;
    let mut make_absolute = |path: &mut PathBuf| {
        if !path.starts_with("~") && !path.is_absolute() {
            // The client may start the server without the variables that are set here.
            match path.to_str().map_or_else(|| Some(path.clone()), |text| environment.expand(text)) {
                Some(expanded) => *path = env::absolute(&expanded),
                None => failed = Some(Failure::from(&SourceErrorKind::NoValue.at(&*path))),
            }
        }
        // The folder that it is relative to may have such a name.
        if path.to_str().is_none() {
            failed = Some(not_utf8(path.as_os_str()));
        }
    };
    match &mut spec.place {
        Place::Dir(path) | Place::Plugin(path) | Place::Archive(path) | Place::Jsonl(path) => {
            make_absolute(path);
        }
        Place::Url { ca_file, .. } => ca_file.iter_mut().for_each(&mut make_absolute),
        Place::Mcp(Server::At { ca_file, token_file, .. }) => {
            ca_file.iter_mut().chain(token_file).for_each(&mut make_absolute);
        }
        Place::Mcp(Server::Started { argv, .. }) => {
            // A name without a separator is searched in PATH.
            let program = argv.first_mut().filter(|program| program.contains(std::path::is_separator));
            if let Some(program) = program {
                let mut path = PathBuf::from(&*program);
                make_absolute(&mut path);
                *program = path.to_string_lossy().into_owned();
            }
        }
        // It has no paths.
        _ => {}
    }
    if let Some(failure) = failed {
        return Err(failure);
    }
    // The original text, if nothing had to change.
    Ok(if spec == given { source.to_owned() } else { spec.to_string() })
}
