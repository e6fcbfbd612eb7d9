//! What a turn looks like in a terminal: the answer on stdout, everything about it on stderr; or its events as JSON.

mod ending;
mod lines;
mod live;

use std::{
    fmt::Display,
    io::{self, Write},
    time::Instant,
};

use serde::Serialize;
use serde_json::json;

use crate::{
    agent::{OnLimit, retry::in_words},
    protocol::{Event, HookAction, HookKind, StopReason},
    tools::output::visible,
};
use ending::{ending, tokens, total};
use lines::{arguments_on_one_line, one_line, printable};
use live::Live;

pub(super) use ending::at_limit;

/// Longest preview of a result, in characters.
const LONGEST_PREVIEW: usize = 100;

/// Longest line about a call or a failure, in characters: arguments may hold whole files.
const LONGEST_CALL: usize = 300;

/// Longest name of a tool, in characters: a model may say any.
const LONGEST_NAME: usize = 100;

/// Longest line about anything, in characters: what servers and files say may be long.
const LONGEST_NOTICE: usize = 2_000;

/// Stands after words on a terminal that are void; on a pipe they never come.
const VOID: &str = "… void: the reply comes anew";

/// How a turn is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) format: Format,
    pub(super) detail: Detail,
    /// Whether stdout is a terminal, which would obey control characters in the model's words.
    pub(super) stdout_is_terminal: bool,
    /// Whether lines about the turn may be dimmed.
    pub(super) dim: bool,
    /// Whether a line may say what runs, and be written over.
    pub(super) live: bool,
    /// How a turn is shown that used all its steps.
    pub(super) on_limit: OnLimit,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Format {
    #[default]
    Text,
    /// One [`Event`] a line.
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Detail {
    /// Tools by name and target.
    #[default]
    Names,
    /// Their arguments and results too, the reasoning, the tokens.
    All,
}

/// Writes events as they come. A reader that is gone has what it wanted; whatever else goes wrong is kept for the end,
/// and the turn goes on.
pub(super) struct View<Out, Err> {
    style: Style,
    out: Out,
    err: Err,
    /// Whether the last line on stdout is without its end.
    line_is_open: bool,
    /// Whether the model said something in this step.
    step_has_text: bool,
    /// The words of this step, as long as they may be void: a pipe cannot take them back.
    held: String,
    /// Reasoning that was not shown yet.
    reasoning: String,
    /// The calls that run.
    live: Live,
    /// What the turn came to, until nothing else is said of it.
    total: Option<String>,
    /// The first error of stdout.
    failure: Option<io::Error>,
}

impl<Out: Write, Err: Write> View<Out, Err> {
    pub(super) fn new(style: Style, out: Out, err: Err) -> Self {
        Self {
            style,
            out,
            err,
            line_is_open: false,
            step_has_text: false,
            held: String::new(),
            reasoning: String::new(),
            live: Live::default(),
            total: None,
            failure: None,
        }
    }

    /// Whether something runs whose seconds are to be shown.
    pub(super) fn is_live(&self) -> bool {
        self.style.live && self.live.is_wanted()
    }

    /// Shows how long it has been running.
    pub(super) fn tick(&mut self, now: Instant) {
        if !self.is_live() {
            return;
        }
        // No line of stdout is open: the one before the call was ended as it started.
        if let Some(line) = self.live.draw(now) {
            let (dim, reset) = if self.style.dim { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
            let _ = write!(self.err, "\r\x1b[K{dim}{line}{reset}").and_then(|()| self.err.flush());
        }
    }

    /// Takes the line away that says what runs.
    fn clear_live(&mut self) {
        if self.live.erase() {
            let _ = write!(self.err, "\r\x1b[K").and_then(|()| self.err.flush());
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        match self.style.format {
            Format::Json => {
                if let Ok(json) = serde_json::to_string(event) {
                    self.write(&format!("{json}\n"));
                }
            }
            Format::Text => self.show(event),
        }
    }

    /// Everything was said: what the turn came to is the last line.
    pub(super) fn end(&mut self) {
        if let Some(total) = self.total.take() {
            self.notice(&total);
        }
    }

    /// Why something did not reach stdout.
    pub(super) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// A line about the turn; always one, so that nothing a model, a server or a file says can pass for another.
    pub(super) fn notice(&mut self, text: &str) {
        self.end_line();
        let mut text = visible(text).replace('\n', "\\n");
        if let Some((end, _)) = text.char_indices().nth(LONGEST_NOTICE) {
            text.truncate(end);
            text.push('…');
        }
        let _ = if self.style.dim {
            writeln!(self.err, "\x1b[2m{text}\x1b[0m")
        } else {
            writeln!(self.err, "{text}")
        };
    }

    /// A question: like a notice, but the cursor stays behind it and it is not dimmed. Until the turn goes on, nothing is
    /// written over it.
    pub(super) fn question(&mut self, text: &str) {
        self.end_line();
        self.live.wait();
        let _ = write!(self.err, "{}", visible(text)).and_then(|()| self.err.flush());
    }

    /// The edits, after the answer.
    pub(super) fn diff(&mut self, diff: &str) {
        if self.style.format == Format::Text && !diff.is_empty() {
            self.end_line();
            self.write_text(diff);
            self.end_line();
        }
    }

    /// What became of files that were to be written: a line for each, and an event for all of them after the turn's own.
    pub(super) fn files<F: Display + Serialize>(&mut self, what: &str, files: &[F]) {
        for file in files {
            self.notice(&file.to_string());
        }
        if self.style.format == Format::Json {
            self.write(&format!("{}\n", json!({ "type": what, "files": files })));
        }
    }

    fn show(&mut self, event: &Event) {
        self.live.go_on();
        match event {
            Event::Reasoning { .. } => {}
            Event::Discarded => self.reasoning.clear(),
            _ => self.show_reasoning(),
        }
        if is_step_whole(event) {
            self.release();
        }
        match event {
            Event::TurnStarted { .. } => {}
            Event::StepStarted { .. } => {
                self.end_line();
                self.step_has_text = false;
            }
            Event::Text { text } => {
                self.step_has_text |= !text.is_empty();
                if self.style.stdout_is_terminal {
                    self.write_text(text);
                } else {
                    self.held.push_str(text);
                }
            }
            Event::Reasoning { text } if self.style.detail == Detail::All => self.reasoning.push_str(text),
            Event::Reasoning { .. } | Event::EditProposed { .. } => {}
            Event::ToolStarted { name, arguments, .. } if self.style.detail == Detail::All => {
                self.notice(&call_line(name, &arguments_on_one_line(arguments, LONGEST_CALL)));
            }
            Event::ToolStarted { call_id, name, target, .. } => {
                self.end_line();
                let call = call_line(name, &one_line(target, LONGEST_CALL));
                self.live.start(call_id, call, Instant::now());
            }
            Event::ToolOutput { skipped_lines, text, .. } if self.style.detail == Detail::All => {
                if *skipped_lines > 0 {
                    self.notice(&format!(" | … {skipped_lines} lines"));
                }
                for line in text.lines() {
                    self.notice(format!(" | {}", one_line(line, LONGEST_CALL)).trim_end());
                }
            }
            Event::ToolOutput { call_id, text, unfinished, .. } => {
                let last = [unfinished].into_iter().map(String::as_str).chain(text.lines().rev());
                if let Some(line) = last.map(str::trim).find(|line| !line.is_empty()) {
                    self.live.printed(call_id, line);
                }
            }
            Event::ToolEnded { call_id, name, output, is_error, denied, ending, .. } => {
                let call = self.live.end(call_id).unwrap_or_else(|| call_line(name, ""));
                let how = match (denied, is_error, self.style.detail) {
                    (Some(reason), _, _) => format!(": denied: {}", one_line(reason, LONGEST_CALL)),
                    (None, true, _) => format!(": failed: {}", one_line(output, LONGEST_CALL)),
                    (None, false, Detail::All) => format!(" -> {}", one_line(output, LONGEST_PREVIEW)),
                    (None, false, Detail::Names) => match ending {
                        Some(ending) => format!(" … {}", one_line(ending, LONGEST_CALL)),
                        None => String::new(),
                    },
                };
                self.notice(&format!("{call}{how}"));
            }
            Event::Usage { step, step_usage, step_cost, step_is_estimated, .. } => {
                if self.style.detail == Detail::All {
                    let tokens = tokens(step_usage, *step_cost, *step_is_estimated);
                    self.notice(&format!(" [step {step}] {tokens}"));
                }
            }
            Event::Discarded => {
                self.held.clear();
                self.end_line();
                if std::mem::take(&mut self.step_has_text) && self.style.stdout_is_terminal {
                    self.write(&format!("{VOID}\n"));
                }
            }
            Event::Retrying { attempt, max_attempts, reason, detail, wait } => {
                let detail = one_line(detail, LONGEST_CALL);
                let next = match wait.is_zero() {
                    true => "trying again at once".to_owned(),
                    false => format!("next try in {}", in_words(*wait)),
                };
                let of = max_attempts.map(|most| format!(" (attempt {attempt} of {most})"));
                self.notice(&format!("{reason}, {next}{}: {detail}", of.unwrap_or_default()));
            }
            // The end of the turn, which it brings about, says it.
            Event::HookActed { kind, action, .. }
                if !kind.is_of_calls() && *action != HookAction::Replaced => {}
            Event::HookActed { hook, kind, action, tool, reason, .. } => {
                let reason = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
                let what = hooked(*kind, *action, tool.as_deref());
                self.notice(&format!(" [hook] {hook} {what}{reason}"));
            }
            Event::TurnEnded { stop_reason, detail, answer, steps, usage, cost, is_estimated, .. } => {
                if !self.step_has_text && !answer.is_empty() {
                    self.write_text(answer);
                }
                self.end_line();
                match (stop_reason, detail) {
                    (StopReason::Limit(limit), Some(detail)) if limit.is_set() => {
                        self.notice(&at_limit(*limit, detail, self.style.on_limit));
                    }
                    (_, detail) => {
                        if let Some(ending) = ending(*stop_reason, detail.as_deref()) {
                            self.notice(&ending);
                        }
                    }
                }
                self.total = cost.map(|cost| total(*steps, usage, cost, *is_estimated));
            }
        }
    }

    fn show_reasoning(&mut self) {
        if self.reasoning.trim().is_empty() {
            return self.reasoning.clear();
        }
        let reasoning = std::mem::take(&mut self.reasoning);
        self.notice(&format!(" [thinking] {}", one_line(&reasoning, LONGEST_CALL)));
    }

    /// The words of the step are no longer void, whatever comes.
    fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.write_text(&held);
    }

    fn write_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.clear_live();
        self.line_is_open = !text.ends_with('\n');
        if self.style.stdout_is_terminal {
            self.write(&printable(text));
        } else {
            self.write(text);
        }
    }

    fn end_line(&mut self) {
        self.clear_live();
        if std::mem::take(&mut self.line_is_open) {
            self.write("\n");
        }
    }

    fn write(&mut self, text: &str) {
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Err(error) if self.failure.is_none() && error.kind() != io::ErrorKind::BrokenPipe => {
                self.failure = Some(error);
            }
            _ => {}
        }
    }
}

/// Whether the reply before this event cannot break off any more.
fn is_step_whole(event: &Event) -> bool {
    match event {
        Event::Usage { .. }
        | Event::StepStarted { .. }
        | Event::ToolStarted { .. }
        | Event::ToolOutput { .. }
        | Event::ToolEnded { .. }
        | Event::HookActed { .. }
        | Event::EditProposed { .. }
        | Event::TurnEnded { .. } => true,
        Event::TurnStarted { .. }
        | Event::Text { .. }
        | Event::Reasoning { .. }
        | Event::Discarded
        | Event::Retrying { .. } => false,
    }
}

/// What a hook did, in words that follow its name.
fn hooked(kind: HookKind, action: HookAction, tool: Option<&str>) -> String {
    let what = match kind {
        HookKind::Input => "the question".to_owned(),
        HookKind::Tool => format!("the call of {}", tool.unwrap_or("a tool")),
        HookKind::ToolOutput => format!("the output of {}", tool.unwrap_or("a tool")),
        HookKind::Output => "what the model said".to_owned(),
    };
    match action {
        HookAction::Denied => format!("stopped {what}"),
        HookAction::Replaced => format!("replaced {what}"),
        HookAction::Failed => format!("failed, which stops {what}"),
    }
}

/// A call: its tool, and what it is about, on one line.
fn call_line(name: &str, about: &str) -> String {
    format!(" [tool] {} {about}", one_line(name, LONGEST_NAME)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::protocol::{Cost, Fault, Limit, ThreadId, Usage};

    /// What both streams show, stderr's lines after `2>`.
    fn check(style: Style, events: &[Event], stdout: Expect, stderr: Expect) {
        let mut view = View::new(style, Vec::new(), Vec::new());
        for event in events {
            view.event(event);
        }
        view.end();
        stdout.assert_eq(&String::from_utf8(view.out).unwrap());
        let lines: Vec<_> =
            String::from_utf8(view.err).unwrap().lines().map(|line| format!("2>{line}\n")).collect();
        stderr.assert_eq(&lines.concat());
    }

    fn step(step: u32) -> Event {
        Event::StepStarted { step, max_steps: 50 }
    }

    fn text(text: &str) -> Event {
        Event::Text { text: text.to_owned() }
    }

    fn started(arguments: &str) -> Event {
        Event::ToolStarted {
            call_id: "c1".to_owned(),
            name: "read_file".to_owned(),
            target: "src/main.rs".to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    fn ended(output: &str, is_error: bool) -> Event {
        Event::ToolEnded {
            call_id: "c1".to_owned(),
            name: "read_file".to_owned(),
            output: output.to_owned(),
            is_error,
            denied: None,
            ending: None,
            duration: Duration::from_millis(3),
        }
    }

    fn turn_ended(stop_reason: StopReason, detail: Option<&str>, answer: &str) -> Event {
        Event::TurnEnded {
            thread_id: ThreadId::from("t"),
            stop_reason,
            limit: stop_reason.limit(),
            fault: stop_reason.fault(),
            detail: detail.map(str::to_owned),
            answer: answer.to_owned(),
            steps: 1,
            usage: Usage::default(),
            cost: None,
            is_estimated: false,
        }
    }

    fn all() -> Style {
        Style { detail: Detail::All, ..Style::default() }
    }

    // SPEC C4, C5
    #[test]
    fn tools_are_shown_by_name_and_target() {
        let events = [
            step(1),
            text("I lo"),
            text("ok."),
            started(r#"{"path":"src/main.rs"}"#),
            ended("1 fn main() {}", false),
            step(2),
            text("It is empty."),
            turn_ended(StopReason::Answer, None, "It is empty."),
        ];
        check(
            Style::default(),
            &events,
            expect![[r#"
                I look.
                It is empty.
            "#]],
            expect![[r#"
                2> [tool] read_file src/main.rs
            "#]],
        );
        check(
            all(),
            &events,
            expect![[r#"
                I look.
                It is empty.
            "#]],
            expect![[r#"
                2> [tool] read_file {"path":"src/main.rs"}
                2> [tool] read_file -> 1 fn main() {}
            "#]],
        );
    }

    // SPEC C4
    #[test]
    fn a_preview_is_one_line_of_a_hundred_characters_however_wide_they_are() {
        check(
            all(),
            &[ended(&"é\n".repeat(200), false), ended(&"界".repeat(100), false)],
            expect![""],
            expect![[r#"
                2> [tool] read_file -> é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é é …
                2> [tool] read_file -> 界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界界
            "#]],
        );
    }

    // SPEC C5
    #[test]
    fn what_a_call_prints_is_for_those_who_want_all() {
        let output = Event::ToolOutput {
            call_id: "c1".to_owned(),
            skipped_lines: 3,
            text: "one\n\ntwo\n".to_owned(),
            unfinished: "50 %".to_owned(),
        };
        check(Style::default(), std::slice::from_ref(&output), expect![""], expect![""]);
        check(
            all(),
            &[output],
            expect![""],
            expect![[r#"
                2> | … 3 lines
                2> | one
                2> |
                2> | two
            "#]],
        );
    }

    #[test]
    fn a_call_that_failed_is_shown_with_its_reason() {
        check(
            Style::default(),
            &[started("{"), ended("the arguments do not parse", true)],
            expect![""],
            expect![[r#"
                2> [tool] read_file src/main.rs: failed: the arguments do not parse
            "#]],
        );
    }

    #[test]
    fn a_command_is_shown_with_its_end_and_what_was_denied_is_said_not_to_have_run() {
        let mut done = ended("exit code 1 (3.2 s)\nno such test", false);
        if let Event::ToolEnded { ending, .. } = &mut done {
            *ending = Some("exit code 1 (3.2 s)".to_owned());
        }
        let mut refused = ended("this call was not allowed and did not run: the user said no", true);
        if let Event::ToolEnded { denied, .. } = &mut refused {
            *denied = Some("the user said no".to_owned());
        }
        check(
            Style::default(),
            &[started("{}"), done, started("{}"), refused],
            expect![""],
            expect![[r#"
                2> [tool] read_file src/main.rs … exit code 1 (3.2 s)
                2> [tool] read_file src/main.rs: denied: the user said no
            "#]],
        );
    }

    #[test]
    fn what_runs_is_written_over_and_never_over_anything_else() {
        let style = Style { live: true, stdout_is_terminal: true, ..Style::default() };
        let mut view = View::new(style, Vec::new(), Vec::new());
        let later = |seconds| Instant::now() + Duration::from_secs(seconds);
        view.event(&text("I run it."));
        view.event(&started("{}"));
        view.tick(later(5));
        view.question("Allow it? ");
        view.tick(later(9));
        view.event(&ended("", false));
        assert!(!view.is_live());
        assert_eq!(String::from_utf8(view.out).unwrap(), "I run it.\n");
        let shown = String::from_utf8(view.err).unwrap();
        let seconds = shown.split("· ").nth(1).and_then(|rest| rest.split(' ').next());
        assert!(seconds.is_some(), "{shown:?}");
        let shown = shown.replace(&format!("· {} s", seconds.unwrap_or_default()), "· N s");
        expect![[r#""\r\u{1b}[K [tool] read_file src/main.rs · N s\r\u{1b}[KAllow it?  [tool] read_file src/main.rs\n""#]]
            .assert_eq(&format!("{shown:?}"));
    }

    #[test]
    fn every_ending_but_an_answer_is_named_on_stderr() {
        check(
            Style::default(),
            &[
                text("Half an ans"),
                turn_ended(StopReason::Interrupted, Some("the server hung up"), "Half an ans"),
            ],
            expect![[r#"
                Half an ans
            "#]],
            expect![[r#"
                2>interrupted: the server hung up
            "#]],
        );
        check(
            Style::default(),
            &[turn_ended(StopReason::Limit(Limit::Steps), None, "")],
            expect![""],
            expect![[r#"
                2>limit: all steps are used
            "#]],
        );
    }

    #[test]
    fn a_turn_at_a_bound_ends_as_an_error_or_with_a_note_as_was_set_and_with_what_can_be_done() {
        for (limit, on_limit, said) in [
            (
                Limit::Steps,
                OnLimit::Error,
                "error: stopped (here: --max-steps N, or --on-limit final_answer)",
            ),
            (Limit::Steps, OnLimit::Message, "stopped (here: --max-steps N, or --on-limit final_answer)"),
            (Limit::Steps, OnLimit::FinalAnswer, "stopped (here: --max-steps N)"),
            (Limit::ToolCalls, OnLimit::FinalAnswer, "stopped (here: --max-tool-calls N)"),
            // What leaves no room for a request leaves none for a last one.
            (Limit::TurnTokens, OnLimit::Message, "stopped (here: --max-tokens N)"),
            (Limit::Time, OnLimit::Message, "stopped (here: --timeout SECONDS)"),
            (Limit::Cost, OnLimit::Error, "error: stopped (here: --max-cost DOLLARS)"),
        ] {
            let events = [
                text("I look."),
                started("{}"),
                ended("fn main() {}", false),
                turn_ended(StopReason::Limit(limit), Some("stopped"), "I look."),
            ];
            let style = Style { on_limit, ..Style::default() };
            let mut view = View::new(style, Vec::new(), Vec::new());
            events.iter().for_each(|event| view.event(event));
            assert_eq!(
                String::from_utf8(view.err).unwrap(),
                format!(" [tool] read_file src/main.rs\n{said}\n")
            );
            assert_eq!(String::from_utf8(view.out).unwrap(), "I look.\n");
        }
    }

    fn retrying(max_attempts: Option<u32>, wait: Duration) -> Event {
        Event::Retrying {
            attempt: 2,
            max_attempts,
            reason: "rate limited".to_owned(),
            detail: "busy (429)".to_owned(),
            wait,
        }
    }

    #[test]
    fn a_wait_says_why_how_long_and_which_try_is_next() {
        let events = [
            retrying(Some(6), Duration::from_millis(11_200)),
            retrying(None, Duration::from_secs(300)),
            retrying(None, Duration::ZERO),
        ];
        check(
            Style::default(),
            &events,
            expect![""],
            expect![[r#"
                2>rate limited, next try in 12 s (attempt 2 of 6): busy (429)
                2>rate limited, next try in 5 min: busy (429)
                2>rate limited, trying again at once: busy (429)
            "#]],
        );
    }

    #[test]
    fn void_words_are_marked_on_a_terminal_and_never_reach_a_pipe() {
        let events = [
            step(1),
            text("Hel"),
            Event::Discarded,
            retrying(Some(6), Duration::from_secs(1)),
            text("Hello "),
            text("world"),
            turn_ended(StopReason::Answer, None, "Hello world"),
        ];
        let terminal = Style { stdout_is_terminal: true, ..Style::default() };
        check(
            terminal,
            &events,
            expect![[r#"
                Hel
                … void: the reply comes anew
                Hello world
            "#]],
            expect![[r#"
                2>rate limited, next try in 1 s (attempt 2 of 6): busy (429)
            "#]],
        );
        check(
            Style::default(),
            &events,
            expect![[r#"
                Hello world
            "#]],
            expect![[r#"
                2>rate limited, next try in 1 s (attempt 2 of 6): busy (429)
            "#]],
        );
    }

    #[test]
    fn the_words_of_a_step_reach_a_pipe_before_its_calls_run() {
        let mut view = View::new(Style::default(), Vec::new(), Vec::new());
        [step(1), text("I look."), usage(None)].iter().for_each(|event| view.event(event));
        assert_eq!(String::from_utf8(view.out).unwrap(), "I look.");
    }

    fn usage(cost: Option<Cost>) -> Event {
        let usage = Usage {
            input_tokens: 1200,
            cached_tokens: 800,
            output_tokens: 34,
            reasoning_tokens: 10,
            ..Usage::default()
        };
        Event::Usage {
            step: 2,
            usage: Usage::default(),
            cost: None,
            is_estimated: false,
            step_usage: usage,
            step_cost: cost,
            step_is_estimated: false,
        }
    }

    #[test]
    fn tokens_and_money_are_for_those_who_want_all() {
        check(
            all(),
            &[usage(None), usage(Some(Cost(12_300)))],
            expect![""],
            expect![[r#"
                2> [step 2] 1200 tokens in (800 cached), 34 out (10 reasoning)
                2> [step 2] 1200 tokens in (800 cached), 34 out (10 reasoning), $0.0123
            "#]],
        );
        check(Style::default(), &[usage(Some(Cost(12_300)))], expect![""], expect![""]);
    }

    #[test]
    fn what_is_estimated_is_said_to_be_and_the_total_is_the_last_line() {
        let mut ended = turn_ended(StopReason::Answer, None, "Done.");
        if let Event::TurnEnded { usage, cost, is_estimated, .. } = &mut ended {
            *usage = Usage { input_tokens: 1200, output_tokens: 34, ..Usage::default() };
            (*cost, *is_estimated) = (Some(Cost(12_300)), true);
        }
        let mut view = View::new(Style::default(), Vec::new(), Vec::new());
        view.event(&ended);
        view.notice("wrote a.rs");
        view.end();
        expect![[r#"
            wrote a.rs
             [total] 1 step, about 1200 tokens in, about 34 out, about $0.0123
        "#]]
        .assert_eq(&String::from_utf8(view.err).unwrap());
    }

    #[test]
    fn the_blanks_in_what_a_call_says_are_kept() {
        check(
            all(),
            &[started("{\"text\":  \"a   \\\" b\",\n  \"n\": 1}")],
            expect![""],
            expect![[r#"
                2> [tool] read_file {"text": "a   \" b", "n": 1}
            "#]],
        );
    }

    #[test]
    fn what_a_hook_ends_the_turn_with_is_said_once() {
        let stopped = |kind, action| Event::HookActed {
            hook: "hook 1 (sh)".to_owned(),
            kind,
            action,
            call_id: None,
            tool: None,
            reason: Some("no".to_owned()),
        };
        check(
            Style::default(),
            &[
                stopped(HookKind::Input, HookAction::Replaced),
                stopped(HookKind::Input, HookAction::Failed),
                stopped(HookKind::Output, HookAction::Denied),
                turn_ended(StopReason::Guardrail, Some("the question was not sent: hook 1 (sh) failed"), ""),
            ],
            expect![""],
            expect![[r#"
                2> [hook] hook 1 (sh) replaced the question: no
                2>guardrail: the question was not sent: hook 1 (sh) failed
            "#]],
        );
    }

    #[test]
    fn a_cut_answer_says_what_can_be_done_here() {
        let detail = Some("the answer was cut off at the model's output limit; ask it to go on");
        check(
            Style::default(),
            &[turn_ended(StopReason::Limit(Limit::OutputTokens), detail, "Half")],
            expect![[r#"
                Half
            "#]],
            expect![[r#"
                2>limit: the answer was cut off at the model's output limit; ask it to go on (here: ask in parts, or with a larger max_output_tokens)
            "#]],
        );
    }

    #[test]
    fn an_answer_that_was_not_streamed_is_printed_at_the_end() {
        check(
            Style::default(),
            &[text("Looking."), step(2), turn_ended(StopReason::Answer, None, "Stopped after 1 step.\n")],
            expect![[r#"
                Looking.
                Stopped after 1 step.
            "#]],
            expect![""],
        );
    }

    #[test]
    fn reasoning_is_no_part_of_the_answer() {
        let events = [
            Event::Reasoning { text: "hm ".to_owned() },
            Event::Reasoning { text: "so".to_owned() },
            text("4"),
            step(2),
        ];
        check(
            Style::default(),
            &events,
            expect![[r#"
                4
            "#]],
            expect![""],
        );
        check(
            all(),
            &events,
            expect![[r#"
                4
            "#]],
            expect![[r#"
                2> [thinking] hm so
            "#]],
        );
    }

    #[test]
    fn a_terminal_is_not_moved_by_what_a_model_says() {
        let style = Style { stdout_is_terminal: true, ..Style::default() };
        check(style, &[text("a\x1b[2Jb\tc\r\n")], expect![["a�[2Jb\tc�\n"]], expect![""]);
        check(Style::default(), &[text("a\x1b[2Jb")], expect![""], expect![""]);
        check(
            style,
            &[text("if a \u{202e}\u{2066}// {\u{200d}")],
            expect![["if a ��// {\u{200d}"]],
            expect![""],
        );
    }

    #[test]
    fn what_a_model_or_a_server_says_is_one_line_about_the_turn() {
        let forged = "list_files\n1 file written\r\nwarning: \u{202e}x";
        let mut ended = ended("1\n1 file written", true);
        if let Event::ToolEnded { name, .. } = &mut ended {
            *name = forged.to_owned();
        }
        let started = Event::ToolStarted {
            call_id: "c1".to_owned(),
            name: forged.repeat(9),
            target: forged.to_owned(),
            arguments: "{}".to_owned(),
        };
        check(
            Style::default(),
            &[
                started,
                ended,
                turn_ended(StopReason::ProviderError(Fault::Failed), Some("500\n1 file written"), ""),
            ],
            expect![""],
            expect![[r#"
                2> [tool] list_files 1 file written warning: \u{202e}xlist_files 1 file written warning: \u{202e}xlist_files 1 file written … list_files 1 file written warning: \u{202e}x: failed: 1 1 file written
                2>error: 500\n1 file written
            "#]],
        );
    }

    #[test]
    fn a_line_about_the_turn_has_an_end() {
        let mut view = View::new(Style::default(), Vec::new(), Vec::new());
        view.notice(&"é".repeat(LONGEST_NOTICE + 1));
        let line = String::from_utf8(view.err).unwrap();
        assert_eq!(line, format!("{}…\n", "é".repeat(LONGEST_NOTICE)));
    }

    // SPEC C1
    #[test]
    fn as_json_each_event_is_one_line_and_stderr_is_quiet() {
        let style = Style { format: Format::Json, ..Style::default() };
        check(
            style,
            &[text("a\nb"), started("{}"), turn_ended(StopReason::Limit(Limit::Steps), None, "")],
            expect![[r#"
                {"type":"text","text":"a\nb"}
                {"type":"tool_started","call_id":"c1","name":"read_file","target":"src/main.rs","arguments":"{}"}
                {"type":"turn_ended","thread_id":"t","stop_reason":"limit","limit":"steps","answer":"","steps":1,"input_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"output_tokens":0,"reasoning_tokens":0}
            "#]],
            expect![""],
        );
    }

    /// A pipe whose reader is gone.
    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_reader_that_is_gone_is_no_error() {
        let mut view = View::new(Style::default(), Gone, Vec::new());
        view.event(&text("a"));
        view.notice("still here");
        assert!(view.take_failure().is_none());
        assert_eq!(String::from_utf8(view.err).unwrap(), "still here\n");
    }
}
