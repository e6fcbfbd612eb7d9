//! Asking the user in the terminal, about calls and about writing; where there is none, nobody said yes.

mod asked;

use std::{
    io,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use futures::future::BoxFuture;
use tokio::sync::{
    Mutex,
    mpsc::{self, Receiver, error::TryRecvError},
};

use crate::{
    agent::{Answer, Approvals, Approver, Question, Rule},
    config::KeptRules,
    tools::output::{one_line, visible, visible_path},
    workspace::EditProposal,
};

use super::printer::Printer;
use asked::{Asked, MAX_WHY};

/// Lines that were typed and not asked for; more wait in the terminal.
const MOST_LINES: usize = 8;

/// Answers that are not understood before they count as a no.
const MAX_TRIES: usize = 2;

/// How often one question is shown anew: whoever asks for its help for ever has no answer.
const MAX_LOOKS: usize = 10;

/// Longest reason that goes to the model, in characters.
const MAX_REASON: usize = 500;

/// Asks on stderr and reads the answer from stdin.
pub(super) struct Terminal {
    printer: Printer,
    timeout: Duration,
    lines: Mutex<Receiver<String>>,
    /// Where answers go that hold for the project; without it none is offered.
    kept_rules: Option<KeptRules>,
    /// Whether the user has seen what the answers mean.
    has_told_help: AtomicBool,
}

/// Says no, and to the user how to say yes.
pub(super) struct Nobody {
    pub(super) printer: Printer,
}

impl Terminal {
    /// Reads stdin from now on. The thread ends with stdin or with the process: a read cannot be called off.
    pub(super) fn start(
        printer: Printer,
        timeout: Duration,
        kept_rules: Option<KeptRules>,
    ) -> io::Result<Self> {
        let (sender, lines) = mpsc::channel(MOST_LINES);
        thread::Builder::new().name("answers".to_owned()).spawn(move || {
            for line in io::stdin().lines().map_while(Result::ok) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self {
            printer,
            timeout,
            lines: Mutex::new(lines),
            kept_rules,
            has_told_help: AtomicBool::new(false),
        })
    }

    async fn answer(&self, question: Question) -> Answer {
        let can_keep = self.kept_rules.is_some() && question.root.is_some();
        let kept = question.kept_in_words().filter(|_| can_keep);
        let asked = Asked::about(&question, kept.as_deref());
        let understand = |line: &str| {
            understand(line).filter(|answer| *answer != Answer::AllowAlways || asked.offers('p'))
        };
        match self.answer_to(&asked, understand).await {
            Ok(Answer::AllowAlways) => self.keep(question.root, question.always).await,
            Ok(answer) => answer,
            Err(reason) => Answer::Unanswered { reason: reason.to_owned() },
        }
    }

    /// Asks whether these edits may be written, and shows them: editors and shells run what their files say.
    ///
    /// # Errors
    /// Why they may not.
    pub(super) async fn may_write(&self, edits: &EditProposal) -> Result<(), &'static str> {
        let paths: Vec<_> = edits.files.iter().map(|file| visible_path(file.path.as_str())).collect();
        let head =
            "Editors and shells run what these files say without asking, so write them only if you trust it:";
        let body = format!("{}\n{}", paths.join("\n"), edits.diff());
        match self.answer_to(&Asked::once(head, &body), understand_once).await {
            Ok(Answer::AllowOnce | Answer::AllowForThread | Answer::AllowAlways) => Ok(()),
            Ok(Answer::Deny { .. } | Answer::Unanswered { .. }) => Err("the user said no"),
            Err(reason) => Err(reason),
        }
    }

    /// Asks, and once more when the answer is not understood. The meaning of the answers is told with the first question,
    /// and to whoever asks for it.
    ///
    /// # Errors
    /// Why there is no answer.
    async fn answer_to(
        &self,
        asked: &Asked,
        understand: impl Fn(&str) -> Option<Answer>,
    ) -> Result<Answer, &'static str> {
        let mut lines = self.lines.lock().await;
        // What was typed before the question is no answer to it.
        while !matches!(lines.try_recv(), Err(TryRecvError::Empty | TryRecvError::Disconnected)) {}
        let answers = match self.has_told_help.swap(true, Ordering::Relaxed) {
            true => asked.prompt(),
            false => asked.help(),
        };
        let mut next = format!("{}\n{answers}", asked.text());
        let (mut looks, mut tries) = (0, 0);
        while looks <= MAX_LOOKS && tries < MAX_TRIES {
            self.printer.question(next);
            let line = match tokio::time::timeout(self.timeout, lines.recv()).await {
                Ok(Some(line)) => line,
                Ok(None) => return Err("the user closed the input"),
                Err(_) => {
                    // The cursor still stands behind the question.
                    self.printer.question("\n");
                    self.printer.notice("no answer means no");
                    return Err("the user did not answer in time");
                }
            };
            next = match line.trim() {
                "?" => asked.help(),
                "v" | "V" if asked.offers('v') => format!("{}\n{}", asked.whole(), asked.prompt()),
                line => match understand(line) {
                    Some(answer) => return Ok(answer),
                    None => {
                        tries += 1;
                        asked.again()
                    }
                },
            };
            looks += 1;
        }
        self.printer.notice("taken for a no");
        Err("the user said neither yes nor no")
    }
}

impl Terminal {
    /// Keeps what was allowed for the project; a yes that cannot be kept counts for this run.
    async fn keep(&self, root: Option<PathBuf>, rules: Vec<Rule>) -> Answer {
        let (Some(kept_rules), Some(root)) = (self.kept_rules.clone(), root) else {
            return Answer::AllowForThread;
        };
        let file = kept_rules.file().display().to_string();
        let kept = tokio::task::spawn_blocking(move || kept_rules.allow(&root, &rules)).await;
        match kept.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Ok(()) => Answer::AllowAlways,
            Err(error) => {
                self.printer
                    .notice(format!("the answer holds for this run only: {file} was not written: {error}"));
                Answer::AllowForThread
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
        // Where a rule asks, or what always does, no value of it helps.
        let approve = question.least.map(|least| format!("--approve {}", approval(least)));
        let ways: Vec<String> = approve.into_iter().chain(rules_for(&question.always)).collect();
        let ways = match ways.as_slice() {
            [] => String::new(),
            [first, others @ ..] => {
                let others: String = others.iter().map(|other| format!(", and so does {other}")).collect();
                format!("; {first} lets it go ahead{others}")
            }
        };
        self.printer.notice(format!(
            " [denied] {} ({}): nobody can be asked without a terminal{ways}",
            question.tool,
            one_line(&question.why, MAX_WHY),
        ));
        let reason = "nobody can be asked, since askls runs without a terminal".to_owned();
        Box::pin(async { Answer::Unanswered { reason } })
    }
}

/// What the settings would have to say.
fn rules_for(rules: &[Rule]) -> Option<String> {
    let rules: Vec<String> = rules.iter().map(|rule| format!("{:?}", rule.to_string())).collect();
    (!rules.is_empty()).then(|| visible(&format!("allow = [{}]", rules.join(", "))))
}

/// As `--approve` takes it.
const fn approval(approvals: Approvals) -> &'static str {
    match approvals {
        Approvals::None => "none",
        Approvals::Edits => "edits",
        Approvals::All => "all",
    }
}

/// `None` for what is neither yes nor no.
fn understand(line: &str) -> Option<Answer> {
    let line = line.trim();
    match line.to_ascii_lowercase().as_str() {
        "y" | "yes" => return Some(Answer::AllowOnce),
        "a" | "always" => return Some(Answer::AllowForThread),
        "p" | "project" => return Some(Answer::AllowAlways),
        "n" | "no" => return Some(deny("the user said no")),
        _ => {}
    }
    let (word, reason) = line.split_once([' ', ':', ','])?;
    let reason = one_line(reason.trim_start_matches([' ', ':', ',']), MAX_REASON);
    let is_no = ["n", "no"].contains(&word.to_ascii_lowercase().as_str());
    (is_no && !reason.is_empty()).then(|| deny(&format!("the user said no: {reason}")))
}

/// The same where there is only this one time.
fn understand_once(line: &str) -> Option<Answer> {
    understand(line).filter(|answer| !matches!(answer, Answer::AllowForThread | Answer::AllowAlways))
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
        assert_eq!(understand("p"), Some(Answer::AllowAlways));
        assert_eq!(understand("No"), Some(deny("the user said no")));
        assert_eq!(understand("n: use make"), Some(deny("the user said no: use make")));
        assert_eq!(understand_once("yes"), Some(Answer::AllowOnce));
        assert_eq!(understand_once("always"), None);
        for line in ["", "yep", "y n", "ja", "nein", "not now", "n:"] {
            assert_eq!(understand(line), None, "{line}");
        }
    }
}
