//! The line that says what runs: written over as time goes by, and gone when something else is printed.

use std::time::{Duration, Instant};

use crate::tools::output::one_line;

/// Nothing is said of calls that are over sooner: most are.
const SHOWN_FROM: Duration = Duration::from_secs(1);

/// Columns of the line. It must not wrap, since only one line can be written over, and any terminal has so many.
const MAX_COLUMNS: usize = 78;

/// Characters of the call in it, so that what it prints has room too.
const MAX_CALL_CHARS: usize = 44;

/// The calls that run.
#[derive(Debug, Default)]
pub(super) struct Live {
    calls: Vec<Call>,
    /// What stands on the terminal.
    drawn: Option<String>,
    is_waiting: bool,
}

#[derive(Debug)]
struct Call {
    id: String,
    line: String,
    since: Instant,
    printed: String,
}

impl Live {
    pub(super) fn start(&mut self, id: &str, line: String, now: Instant) {
        self.calls.push(Call { id: id.to_owned(), line, since: now, printed: String::new() });
    }

    pub(super) fn printed(&mut self, id: &str, line: &str) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.printed = one_line(line, MAX_COLUMNS);
        }
    }

    /// What was said of the call as it started.
    pub(super) fn end(&mut self, id: &str) -> Option<String> {
        let at = self.calls.iter().position(|call| call.id == id)?;
        Some(self.calls.remove(at).line)
    }

    /// The cursor stands where the user types: nothing is drawn until [`Live::go_on`].
    pub(super) fn wait(&mut self) {
        self.is_waiting = true;
    }

    pub(super) fn go_on(&mut self) {
        self.is_waiting = false;
    }

    pub(super) fn is_wanted(&self) -> bool {
        !self.calls.is_empty() && !self.is_waiting
    }

    /// What is to stand there now; `None` when it stands there already.
    pub(super) fn draw(&mut self, now: Instant) -> Option<String> {
        let call = self.calls.last()?;
        let time = now.saturating_duration_since(call.since);
        if time < SHOWN_FROM {
            return None;
        }
        let mut line = format!(" {} · {} s", one_line(&call.line, MAX_CALL_CHARS), time.as_secs());
        if !call.printed.is_empty() {
            line.push_str(" · ");
            line.push_str(&call.printed);
        }
        let line = fitting(&line);
        if self.drawn.as_ref() == Some(&line) {
            return None;
        }
        self.drawn = Some(line.clone());
        Some(line)
    }

    /// Whether something stood there that has to go.
    pub(super) fn erase(&mut self) -> bool {
        self.drawn.take().is_some()
    }
}

/// As much of a line as surely fits: letters beyond ASCII may take two columns.
fn fitting(line: &str) -> String {
    let mut columns = 0;
    let fits = |c: &char| {
        columns += if c.is_ascii() { 1 } else { 2 };
        columns <= MAX_COLUMNS
    };
    line.chars().take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_shown_with_its_seconds_and_its_last_line() {
        let start = Instant::now();
        let mut live = Live::default();
        live.start("1", " [tool] run_command npm test".to_owned(), start);
        assert_eq!(live.draw(start), None, "most calls are over at once");
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(live.draw(at(2)).as_deref(), Some(" [tool] run_command npm test · 2 s"));
        assert_eq!(live.draw(at(2)), None, "it stands there");
        live.printed("1", "50 %");
        assert_eq!(live.draw(at(3)).as_deref(), Some(" [tool] run_command npm test · 3 s · 50 %"));
        assert_eq!(live.end("1").as_deref(), Some(" [tool] run_command npm test"));
        assert!(live.erase() && !live.erase() && !live.is_wanted());
    }

    #[test]
    fn nothing_is_drawn_over_a_question() {
        let mut live = Live::default();
        live.start("1", "x".to_owned(), Instant::now());
        live.wait();
        assert!(!live.is_wanted());
        live.go_on();
        assert!(live.is_wanted());
    }

    #[test]
    fn a_line_never_wraps() {
        assert_eq!(fitting(&"x".repeat(100)).len(), MAX_COLUMNS);
        assert_eq!(fitting(&"字".repeat(100)).chars().count(), MAX_COLUMNS / 2);
    }
}
