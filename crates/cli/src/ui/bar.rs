//! [`Bar`]: one line on the terminal that says what is going on, how far it is, and for how long. It goes with the work.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use prowess::internal::locked;

use super::cells::fit;
use super::clean;

/// How often the line is drawn.
const REDRAW: Duration = Duration::from_millis(200);
/// When it is first drawn. Work that is done sooner shows none.
const FIRST: Duration = Duration::from_millis(500);
/// How many characters the bar itself has.
const WIDTH: usize = 20;
/// The most cells of what is worked on.
const MAX_ITEM: usize = 40;
/// Goes back to the start of the line and empties it.
const EMPTY: &str = "\r\u{1b}[2K";

/// A line that a thread of its own keeps up to date; nothing where there is no terminal.
#[derive(Debug, Default)]
pub(crate) struct Bar {
    running: Option<(Arc<Shared>, JoinHandle<()>)>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the thread when the work is done.
    over: Condvar,
}

#[derive(Debug)]
struct State {
    doing: &'static str,
    item: String,
    done: usize,
    /// How many there are; nothing when that is not known.
    of: usize,
    started: Instant,
    is_drawn: bool,
    is_over: bool,
}

impl Bar {
    pub(super) fn start(doing: &'static str, of: usize) -> Self {
        let started = Instant::now();
        let item = String::new();
        let state = State { doing, item, done: 0, of, started, is_drawn: false, is_over: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), over: Condvar::new() });
        let drawn = Arc::clone(&shared);
        let thread = std::thread::spawn(move || drawn.draw());
        Self { running: Some((shared, thread)) }
    }

    /// Goes on with the next of what has to be done.
    pub(crate) fn next(&self, item: &str) {
        if let Some((shared, _)) = &self.running {
            let mut state = shared.lock();
            state.item = fit(&clean(item), MAX_ITEM);
            state.done = (state.done + 1).min(state.of);
        }
    }

    /// Lets something else be written, which is not drawn over.
    pub(crate) fn aside(&self, write: impl FnOnce()) {
        let mut state = self.running.as_ref().map(|(shared, _)| shared.lock());
        if let Some(state) = &mut state {
            state.clear();
        }
        write();
    }
}

/// Writes a note from any thread, also while a bar is drawn: the bar is drawn again below it.
pub(crate) fn note_beside(text: &str) {
    let empty = if io::stderr().is_terminal() { EMPTY } else { "" };
    show(&format!("{empty}{}\n", clean(text)));
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some((shared, thread)) = self.running.take() {
            shared.lock().is_over = true;
            shared.over.notify_all();
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    fn draw(&self) {
        let mut state = self.lock();
        while !state.is_over {
            let waited = self.over.wait_timeout(state, REDRAW).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            let time = state.started.elapsed();
            if waited.1.timed_out() && !state.is_over && time >= FIRST {
                let columns =
                    terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0));
                show(&format!("{EMPTY}{}", state.fitted(time, columns)));
                state.is_drawn = true;
            }
        }
        state.clear();
    }
}

impl State {
    fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            show(EMPTY);
        }
    }

    /// The line in at most this many columns: one that is broken into two could not be emptied. The last column stays
    /// free, because some terminals go on in the next line after it.
    fn fitted(&self, time: Duration, columns: Option<usize>) -> String {
        let line = self.line(time);
        columns.map_or(line.clone(), |columns| fit(&line, columns.saturating_sub(1)))
    }

    /// Such as `fetching pdf  [##########··········] 3/6  4 s`. The one that is worked on is not done yet.
    fn line(&self, time: Duration) -> String {
        let mut line = self.doing.to_owned();
        if !self.item.is_empty() {
            line.push(' ');
            line.push_str(&self.item);
        }
        if self.of > 1 {
            let filled = WIDTH * self.done.saturating_sub(1) / self.of;
            let bar = "#".repeat(filled) + &"\u{b7}".repeat(WIDTH - filled);
            let _ = write!(line, "  [{bar}] {}/{}", self.done, self.of);
        }
        let _ = write!(line, "  {} s", time.as_secs());
        line
    }
}

/// A terminal that is gone is not missed.
fn show(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::super::cells::width;
    use super::*;

    #[test]
    fn a_line_is_never_wider_than_the_terminal() {
        let (started, item) = (Instant::now(), "\u{8b70}".repeat(15));
        let state =
            State { doing: "fetching", item, done: 3, of: 4, started, is_drawn: false, is_over: false };
        for columns in 1..100 {
            assert!(width(&state.fitted(Duration::from_secs(4), Some(columns))) < columns.max(2));
        }
        assert_eq!(state.fitted(Duration::ZERO, None), state.line(Duration::ZERO));
    }

    fn line(item: &str, done: usize, of: usize) -> String {
        let (started, item) = (Instant::now(), item.to_owned());
        let state = State { doing: "fetching", item, done, of, started, is_drawn: false, is_over: false };
        state.line(Duration::from_millis(4_200))
    }

    #[test]
    fn a_line_says_what_is_worked_on_how_far_it_is_and_for_how_long() {
        assert_eq!(line("", 0, 0), "fetching  4 s");
        assert_eq!(line("pdf", 1, 1), "fetching pdf  4 s");
        assert_eq!(line("pdf", 1, 4), format!("fetching pdf  [{}] 1/4  4 s", "\u{b7}".repeat(20)));
        let half = "#".repeat(10) + &"\u{b7}".repeat(10);
        assert_eq!(line("pdf", 3, 4), format!("fetching pdf  [{half}] 3/4  4 s"));
    }

    #[test]
    fn what_a_source_calls_a_skill_does_not_control_the_terminal() {
        let bar = Bar::start("fetching", 2);
        bar.next("a\u{1b}[2Jb");
        let (shared, _) = bar.running.as_ref().unwrap();
        assert!(!shared.lock().item.contains('\u{1b}'));
        bar.next(&"long".repeat(100));
        assert!(width(&shared.lock().item) <= MAX_ITEM);
        bar.next(&"\u{8b70}".repeat(100));
        assert!(width(&shared.lock().item) <= MAX_ITEM);
        assert_eq!(shared.lock().done, 2);
    }
}
