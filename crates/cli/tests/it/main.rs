//! Whole commands, as users run them.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails, and tests start the command and read what it wrote"
)]

mod check;
mod check_levels;
mod check_links;
mod check_names;
mod client_answers;
mod client_choice;
mod client_counts;
mod client_homes;
mod client_prompt;
mod client_trust;
mod clients;
mod config;
mod config_command;
mod config_places;
mod connect;
mod connect_refused;
mod connect_texts;
mod corpus;
mod docs;
mod doctor;
mod escapes;
mod eval;
mod every_command;
mod fix;
mod fix_diff;
mod fix_links;
mod hard_input;
mod hints;
mod hostile;
mod hostile_server;
mod install;
mod install_advice;
mod install_all;
mod install_clients;
mod install_declined;
mod install_forks;
mod install_frozen;
mod install_git;
mod install_interrupted;
mod install_kept;
mod install_line_ends;
mod install_losses;
mod install_mounts;
mod install_names;
mod install_places;
mod install_preview;
mod install_records;
mod install_refused;
mod install_reports;
mod install_repositories;
mod install_said;
mod install_scopes;
mod install_sources;
mod install_symlinks;
mod install_sync;
mod install_trust;
mod install_words;
mod library_reports;
mod linked;
mod list;
mod mcp_source;
mod messages;
mod names;
mod new;
#[cfg(unix)]
mod operate;
mod places;
mod printed_commands;
mod project_links;
mod prompt_numbers;
mod provenance;
mod rule_and_try;
mod schemas;
mod screen_limits;
mod screens;
mod search;
mod serve;
mod server_trust;
mod session;
mod session_vectors;
mod shelf;
mod shells;
mod show;
mod state;
#[cfg(unix)]
mod state_denied;
#[cfg(unix)]
mod state_owners;
mod surroundings;
mod terminal;
mod transcripts;
mod trust;
mod trust_consent;
mod trust_folder;
mod untrusted_project;
mod watch;
mod why;
mod why_copies;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// A skill without problems under every profile.
pub(crate) const GOOD: &str = "---\nname: good\ndescription: Does it well when asked.\n---\n# Good\n";
/// A skill with an error, a warning and an info under `spec`.
pub(crate) const BAD: &str =
    "---\nname: Bad\ndescription: Does it badly when asked.\nmood: grim\n---\n[more](more.md)\n";

/// A folder with skills, to run commands in.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// A folder with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        prowess_testing::usual_process();
        let folder = tempfile::tempdir().unwrap();
        // The search for prowess.toml ends here.
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        let place = Self { folder };
        for (path, text) in files {
            place.write(path, text.as_bytes());
        }
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // As Prowess makes its own folders, whatever the umask of the tests is.
        #[cfg(unix)]
        for own in path.ancestors().skip(1).filter(|folder| folder.ends_with("prowess")) {
            use std::os::unix::fs::PermissionsExt as _;
            if own.starts_with(self.path()) {
                std::fs::set_permissions(own, std::fs::Permissions::from_mode(0o700)).unwrap();
            }
        }
        std::fs::write(path, bytes).unwrap();
    }

    /// The command, in this folder, with an empty environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
        command.current_dir(self.path()).env_clear().stdin(Stdio::null());
        command
    }

    /// Runs the command.
    pub(crate) fn output<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        self.command().args(args).output().unwrap()
    }

    /// Runs the command, and returns its exit code and output.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        self.transcript(&self.output(args))
    }

    /// The same with standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &[u8]) -> String {
        let mut command = self.command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        self.transcript(&child.wait_with_output().unwrap())
    }

    pub(crate) fn transcript(&self, output: &Output) -> String {
        let text = |bytes: &[u8]| {
            String::from_utf8(bytes.to_vec()).unwrap().replace(&*self.path().to_string_lossy(), "[DIR]")
        };
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let mut transcript = format!("exit {}\n", output.status.code().unwrap());
        for (label, text) in [("stdout", out), ("stderr", err)] {
            if !text.is_empty() {
                let _ = write!(transcript, "--- {label}\n{text}");
            }
        }
        transcript
    }

    /// Runs the command for a JSON object.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_slice(&self.output(args).stdout).unwrap()
    }
}

/// A process that ends with its test, even if the test fails.
pub(crate) struct Started(Child);

impl Started {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            // This signal is passed on to what the process started; SIGKILL would not be.
            let id = self.0.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &id]).stderr(Stdio::null()).status();
            let _ = self.0.wait();
        }
    }
}

impl Deref for Started {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Started {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

/// Sends messages to a server on a pipe, and ends its input once every request among them is answered: after the end, a
/// server answers what is open for a few seconds only.
pub(crate) fn answered(command: &mut Command, messages: &[Value]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Started::spawn(command);
    let (tell, lines) = channel();
    let stdout = BufReader::new(server.stdout.take().unwrap());
    std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
    let mut stderr = server.stderr.take().unwrap();
    let log = std::thread::spawn(move || {
        let mut log = Vec::new();
        stderr.read_to_end(&mut log).map(|_| log)
    });
    let mut stdin = server.stdin.take().unwrap();
    for message in messages {
        writeln!(stdin, "{message}").unwrap();
    }
    let mut open: Vec<&Value> = messages.iter().filter_map(|message| message.get("id")).collect();
    let mut answers = String::new();
    while !open.is_empty() {
        let line = lines.recv_timeout(Duration::from_secs(60));
        let line = line.unwrap_or_else(|_| panic!("no answer to {open:?}, but {answers}"));
        let message: Value = serde_json::from_str(&line).unwrap();
        open.retain(|id| **id != message["id"]);
        answers.extend([&line, "\n"]);
    }
    drop(stdin);
    answers.extend(lines.iter().map(|line| line + "\n"));
    let (status, stderr) = (server.wait().unwrap(), log.join().unwrap().unwrap());
    Output { status, stdout: answers.into_bytes(), stderr }
}

/// Says why a test is skipped. Written directly to standard error, since the output of passing tests is captured.
pub(crate) fn skipped(reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// The exit code of a run.
pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}
