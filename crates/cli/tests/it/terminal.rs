//! A command on a terminal of its own: what it writes, what is typed, and a deadline for both.

use std::io::{BufReader, Read as _, Write as _};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::shelf::command;
use crate::{Place, Started, skipped};

/// A running command.
pub(crate) struct Terminal {
    running: Started,
    input: ChildStdin,
    output: Receiver<u8>,
    said: Vec<u8>,
    id: String,
}

impl Terminal {
    /// Starts the command with these arguments, which a shell splits. None where `script` cannot make a terminal.
    pub(crate) fn start(place: &Place, args: &str) -> Option<Self> {
        // Other programs of this name take other options.
        let version = Command::new("script").arg("--version").stdin(Stdio::null()).output();
        if !version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("util-linux")) {
            skipped("there is no script of util-linux here");
            return None;
        }
        let own = command(place);
        let line = format!("echo $$; exec '{}' {args}", own.get_program().display());
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).current_dir(place.path());
        script.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // Without the colours and bars of a real terminal.
        script.env("PATH", "/usr/bin:/bin").env("TERM", "dumb").env("SHELL", "/bin/sh");
        let mut running = Started::spawn(script.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let (input, bytes) = (running.stdin.take().unwrap(), running.stdout.take().unwrap());
        let (read, output) = channel();
        std::thread::spawn(move || {
            BufReader::new(bytes).bytes().map_while(Result::ok).all(|byte| read.send(byte).is_ok())
        });
        let mut terminal = Self { running, input, output, said: Vec::new(), id: String::new() };
        assert!(terminal.read_until("\n"));
        let id = std::mem::take(&mut terminal.said);
        String::from_utf8_lossy(&id).trim().clone_into(&mut terminal.id);
        Some(terminal)
    }

    /// Runs the command with this input to its end.
    pub(crate) fn run(place: &Place, args: &str, input: &str) -> Option<String> {
        let mut terminal = Self::start(place, args)?;
        terminal.type_in(input);
        // The end of the input.
        terminal.type_in("\u{4}");
        Some(terminal.end())
    }

    /// Waits until the command has written this; false if it ends before.
    pub(crate) fn read_until(&mut self, question: &str) -> bool {
        while !self.said.ends_with(question.as_bytes()) {
            let Some(byte) = self.next() else { return false };
            self.said.push(byte);
        }
        true
    }

    /// Types this. A command that has ended reads nothing.
    pub(crate) fn type_in(&mut self, text: &str) {
        let _ = self.input.write_all(text.as_bytes());
    }

    /// Sends a signal to the command.
    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill").args([&format!("-{name}"), &self.id]).status().unwrap();
        assert!(done.success());
    }

    /// Waits until the command ends, and returns all that it wrote.
    pub(crate) fn end(mut self) -> String {
        while let Some(byte) = self.next() {
            self.said.push(byte);
        }
        self.running.wait().unwrap();
        String::from_utf8_lossy(&self.said).replace('\r', "")
    }

    fn next(&self) -> Option<u8> {
        use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
        match self.output.recv_timeout(Duration::from_secs(60)) {
            Ok(byte) => Some(byte),
            Err(Disconnected) => None,
            Err(Timeout) => panic!("a command waits: {}", String::from_utf8_lossy(&self.said)),
        }
    }
}
