//! Asking the user in the terminal; where there is none, nobody said yes.

use std::{io, thread, time::Duration};

use futures::future::BoxFuture;
use tokio::sync::{
    Mutex,
    mpsc::{self, Receiver, error::TryRecvError},
};

use crate::{
    agent::{Answer, Approver, Question},
    tools::Effect,
};

use super::printer::Printer;

/// Lines that were typed and not asked for; more wait in the terminal.
const MOST_LINES: usize = 8;

const CHOICES: &str = "y = once, a = for the rest of this run, n = no";

/// Asks on stderr and reads the answer from stdin.
pub(super) struct Terminal {
    printer: Printer,
    timeout: Duration,
    lines: Mutex<Receiver<String>>,
}

/// Says no, and to the user how to say yes.
pub(super) struct Nobody {
    pub(super) printer: Printer,
}

impl Terminal {
    /// Reads stdin from now on. The thread ends with stdin or with the process: a read cannot be called off.
    pub(super) fn start(printer: Printer, timeout: Duration) -> io::Result<Self> {
        let (sender, lines) = mpsc::channel(MOST_LINES);
        thread::Builder::new().name("answers".to_owned()).spawn(move || {
            for line in io::stdin().lines().map_while(Result::ok) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { printer, timeout, lines: Mutex::new(lines) })
    }

    async fn answer(&self, question: Question) -> Answer {
        let mut lines = self.lines.lock().await;
        // What was typed before the question is no answer to it.
        while !matches!(lines.try_recv(), Err(TryRecvError::Empty | TryRecvError::Disconnected)) {}
        let asked = format!(
            "The agent wants to use {}:\n  {}\nAllow it? {CHOICES}: ",
            question.tool,
            question.preview.trim_end().replace('\n', "\n  ")
        );
        for asked in [asked, format!("Please answer y, a or n ({CHOICES}): ")] {
            self.printer.question(asked);
            match tokio::time::timeout(self.timeout, lines.recv()).await {
                Ok(Some(line)) => {
                    if let Some(answer) = understand(&line) {
                        return answer;
                    }
                }
                Ok(None) => return deny("the user closed the input"),
                Err(_) => {
                    // The cursor still stands behind the question.
                    self.printer.question("\n");
                    self.printer.notice("no answer means no");
                    return deny("the user did not answer in time");
                }
            }
        }
        self.printer.notice("taken for a no");
        deny("the user said neither yes nor no")
    }
}

impl Approver for Terminal {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(self.answer(question))
    }
}

impl Approver for Nobody {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        self.printer.notice(format!(
            " [denied] {}: nobody can be asked without a terminal; --approve {} lets it go ahead",
            question.tool,
            least_approval(question.effect)
        ));
        Box::pin(async { deny("nobody can be asked, since askls runs without a terminal") })
    }
}

/// The least that `--approve` has to say for a call to go ahead without a question.
fn least_approval(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "none",
        Effect::Edit => "edits",
        Effect::Execute | Effect::Network => "all",
    }
}

/// `None` for what is neither yes nor no.
fn understand(line: &str) -> Option<Answer> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(Answer::AllowOnce),
        "a" | "always" => Some(Answer::AllowForThread),
        "n" | "no" => Some(deny("the user said no")),
        _ => None,
    }
}

fn deny(reason: &str) -> Answer {
    Answer::Deny { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        assert_eq!(understand(" Y\r"), Some(Answer::AllowOnce));
        assert_eq!(understand("always"), Some(Answer::AllowForThread));
        assert_eq!(understand("No"), Some(deny("the user said no")));
        for line in ["", "yep", "y n", "ja", "nein"] {
            assert_eq!(understand(line), None, "{line}");
        }
    }
}
