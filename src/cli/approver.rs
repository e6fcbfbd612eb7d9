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
        self.printer.question(format!(
            "The agent wants to use {}:\n  {}\nAllow it? y = once, a = for the rest of this run, n = no: ",
            question.tool,
            question.preview.replace('\n', "\n  ")
        ));
        match tokio::time::timeout(self.timeout, lines.recv()).await {
            Ok(Some(line)) => understand(&line),
            Ok(None) => deny("the user closed the input"),
            Err(_) => {
                // The cursor still stands behind the question.
                self.printer.question("\n");
                self.printer.notice("no answer means no");
                deny("the user did not answer in time")
            }
        }
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

fn understand(line: &str) -> Answer {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Answer::AllowOnce,
        "a" | "always" => Answer::AllowForThread,
        _ => deny("the user said no"),
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
        assert_eq!(understand(" Y\r"), Answer::AllowOnce);
        assert_eq!(understand("always"), Answer::AllowForThread);
        for line in ["", "n", "yep", "y n", "ja"] {
            assert_eq!(understand(line), deny("the user said no"), "{line}");
        }
    }
}
