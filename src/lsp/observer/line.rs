//! What a report says of a turn: its step, what goes on and for how long, and what was used so far.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use super::MAX_REPORT;
use crate::{
    agent::retry::in_words,
    lsp::editor::one_line,
    protocol::{Cost, Event, Usage, about, tokens_in_short},
};

/// Longest target of a call in a report.
const MAX_TARGET: usize = 80;

/// From so many seconds on a report says how long the same thing has been going on.
const SHOW_SECONDS_FROM: u64 = 1;

/// What a report says.
#[derive(Debug)]
pub(super) struct Line {
    step: Option<(u32, u32)>,
    activity: Activity,
    since: Instant,
    /// Since when a question to the user has been open: nothing else goes on meanwhile.
    pub(super) asked: Option<Instant>,
    /// Calls that run, in the order of their starts: id, and name with target.
    calls: Vec<(String, String)>,
    /// The last line that a call has printed, and that call's id.
    printed: Option<(String, String)>,
    /// What a hook did last: it stays in sight, since it changed what the turn does.
    hook: Option<String>,
    usage: Usage,
    cost: Option<Cost>,
    /// Whether a part of both is an estimate.
    is_estimated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    InLine,
    Thinking,
    Reasoning,
    Answering {
        characters: usize,
    },
    Calls,
    /// Waiting until `Line::since`, and then for the next try.
    Retrying {
        reason: String,
        attempt: String,
    },
}

impl Line {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            step: None,
            activity: Activity::InLine,
            since: now,
            asked: None,
            calls: Vec::new(),
            printed: None,
            hook: None,
            usage: Usage::default(),
            cost: None,
            is_estimated: false,
        }
    }

    pub(super) fn turn_to(&mut self, activity: Activity, now: Instant) {
        self.activity = activity;
        self.since = now;
    }

    pub(super) fn take_in(&mut self, event: &Event, now: Instant) {
        match event {
            Event::StepStarted { step, max_steps } => {
                self.step = Some((*step, *max_steps));
                self.turn_to(Activity::Thinking, now);
            }
            Event::Text { text } => match &mut self.activity {
                Activity::Answering { characters } => *characters += text.chars().count(),
                _ => self.turn_to(Activity::Answering { characters: text.chars().count() }, now),
            },
            Event::Reasoning { .. } => {
                if self.activity != Activity::Reasoning {
                    self.turn_to(Activity::Reasoning, now);
                }
            }
            Event::ToolStarted { call_id, name, target, .. } => {
                let call = format!("{name} {}", one_line(target, MAX_TARGET));
                self.calls.push((call_id.clone(), call.trim_end().to_owned()));
                self.turn_to(Activity::Calls, now);
            }
            Event::ToolOutput { call_id, text, unfinished, .. } => {
                let last = [unfinished].into_iter().map(String::as_str).chain(text.lines().rev());
                if let Some(line) = last.map(str::trim).find(|line| !line.is_empty()) {
                    self.printed = Some((call_id.clone(), one_line(line, MAX_TARGET)));
                }
            }
            Event::ToolEnded { call_id, denied, .. } => {
                // It did not run, whatever the line has said so far.
                let denied = self.calls.iter_mut().filter(|(id, _)| denied.is_some() && id == call_id);
                denied.for_each(|(_, call)| call.push_str(": denied"));
                self.printed.take_if(|(id, _)| id == call_id);
                // The last call stays in sight until something else begins: most calls are over in a moment.
                if self.calls.len() > 1 {
                    self.calls.retain(|(id, _)| id != call_id);
                }
            }
            Event::Usage { usage, cost, is_estimated, .. } => {
                (self.usage, self.cost, self.is_estimated) = (*usage, *cost, *is_estimated);
            }
            Event::Retrying { attempt, max_attempts, reason, wait, .. } => {
                let of = max_attempts.map(|most| format!(" (attempt {attempt} of {most})"));
                let activity = Activity::Retrying { reason: reason.clone(), attempt: of.unwrap_or_default() };
                self.turn_to(activity, now + *wait);
            }
            Event::Discarded => self.turn_to(Activity::Thinking, now),
            Event::HookActed { hook, kind, action, tool, .. } => {
                let kind = kind.as_str().replace('_', " ");
                let of = tool.as_deref().map(|tool| format!(" of {tool}")).unwrap_or_default();
                self.hook = Some(format!("{hook} {} {kind}{of}", action.as_str()));
            }
            Event::TurnStarted { .. } | Event::EditProposed { .. } | Event::TurnEnded { .. } => {}
        }
        if !matches!(
            event,
            Event::ToolStarted { .. }
                | Event::ToolOutput { .. }
                | Event::ToolEnded { .. }
                | Event::EditProposed { .. }
        ) && self.activity != Activity::Calls
        {
            self.calls.clear();
        }
    }

    /// How long until the seconds in the text change.
    pub(super) fn next_second(&self, now: Instant) -> Duration {
        let since = self.asked.unwrap_or(self.since);
        let left = since.saturating_duration_since(now);
        if !left.is_zero() {
            // The seconds that are left are said rounded up.
            let part = Duration::from_nanos(left.subsec_nanos().into());
            return if part.is_zero() { Duration::from_secs(1) } else { part };
        }
        let elapsed = now.saturating_duration_since(since);
        Duration::from_secs(elapsed.as_secs() + 1).saturating_sub(elapsed)
    }

    pub(super) fn text(&self, now: Instant) -> String {
        let mut text = String::new();
        if let Some((step, of)) = self.step {
            let _ = write!(text, "step {step} of {of} · ");
        }
        let _ = match &self.activity {
            _ if self.asked.is_some() => write!(text, "waiting for your answer"),
            Activity::InLine => write!(text, "waiting for its turn"),
            Activity::Thinking => write!(text, "waiting for the model"),
            Activity::Reasoning => write!(text, "thinking"),
            Activity::Answering { characters } => write!(text, "answering, {characters} characters"),
            Activity::Calls => match self.calls.as_slice() {
                [] => write!(text, "waiting for the model"),
                [(_, call)] => write!(text, "{call}"),
                [.., (_, call)] => write!(text, "{call} and {} more", self.calls.len() - 1),
            },
            Activity::Retrying { reason, attempt } => match self.since.saturating_duration_since(now) {
                Duration::ZERO => write!(text, "{reason}, trying again{attempt}"),
                left => write!(text, "{reason}, next try in {}{attempt}", in_words(left)),
            },
        };
        let seconds = now.saturating_duration_since(self.asked.unwrap_or(self.since)).as_secs();
        if seconds >= SHOW_SECONDS_FROM {
            let _ = write!(text, " · {seconds} s");
        }
        if let Some((id, line)) = &self.printed
            && self.asked.is_none()
            && self.calls.last().is_some_and(|(last, _)| last == id)
        {
            let _ = write!(text, " · {line}");
        }
        if let Some(hook) = &self.hook {
            let _ = write!(text, " · {hook}");
        }
        let about = about(self.is_estimated);
        match self.usage.total() {
            0 => {}
            tokens => {
                let _ = write!(text, " · {about}{}", tokens_in_short(tokens));
            }
        }
        if let Some(cost) = self.cost.filter(|cost| *cost != Cost::default()) {
            let _ = write!(text, " · {about}{cost}");
        }
        one_line(&text, MAX_REPORT)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// The reports after each event, all one second apart.
    fn check(events: &[Event], expect: Expect) {
        let start = Instant::now();
        let mut line = Line::new(start);
        let mut now = start;
        let mut reports = format!("{}\n", line.text(now));
        for event in events {
            now += Duration::from_secs(1);
            line.take_in(event, now);
            let _ = writeln!(reports, "{}", line.text(now));
        }
        expect.assert_eq(&reports);
    }

    fn started(id: &str, target: &str) -> Event {
        Event::ToolStarted {
            call_id: id.to_owned(),
            name: "read_file".to_owned(),
            target: target.to_owned(),
            arguments: String::new(),
        }
    }

    fn used(usage: Usage, cost: Option<Cost>, is_estimated: bool) -> Event {
        Event::Usage {
            step: 1,
            usage,
            cost,
            is_estimated,
            step_usage: usage,
            step_cost: None,
            step_is_estimated: is_estimated,
        }
    }

    fn ended(id: &str) -> Event {
        Event::ToolEnded {
            call_id: id.to_owned(),
            name: "read_file".to_owned(),
            output: String::new(),
            is_error: false,
            denied: None,
            ending: None,
            duration: Duration::ZERO,
        }
    }

    #[test]
    fn a_report_says_step_call_and_tokens() {
        let usage = Usage { input_tokens: 1200, output_tokens: 34, ..Usage::default() };
        check(
            &[
                Event::StepStarted { step: 1, max_steps: 50 },
                Event::Text { text: "I look.".to_owned() },
                Event::Text { text: " Now.".to_owned() },
                started("a", "src/main.rs"),
                started("b", "src/lib.rs"),
                ended("b"),
                ended("a"),
                used(usage, None, false),
                Event::StepStarted { step: 2, max_steps: 50 },
                Event::Text { text: "Hel".to_owned() },
                Event::Discarded,
            ],
            expect![[r#"
                waiting for its turn
                step 1 of 50 · waiting for the model
                step 1 of 50 · answering, 7 characters
                step 1 of 50 · answering, 12 characters · 1 s
                step 1 of 50 · read_file src/main.rs
                step 1 of 50 · read_file src/lib.rs and 1 more
                step 1 of 50 · read_file src/main.rs · 1 s
                step 1 of 50 · read_file src/main.rs · 2 s
                step 1 of 50 · read_file src/main.rs · 3 s · 1.2k tokens
                step 2 of 50 · waiting for the model · 1.2k tokens
                step 2 of 50 · answering, 3 characters · 1.2k tokens
                step 2 of 50 · waiting for the model · 1.2k tokens
            "#]],
        );
    }

    #[test]
    fn while_a_question_is_open_the_turn_waits_for_its_user() {
        let start = Instant::now();
        let mut line = Line::new(start);
        line.take_in(&Event::StepStarted { step: 1, max_steps: 50 }, start);
        let asked = start + Duration::from_secs(5);
        line.asked = Some(asked);
        assert_eq!(line.text(asked), "step 1 of 50 · waiting for your answer");
        assert_eq!(line.text(asked + Duration::from_secs(3)), "step 1 of 50 · waiting for your answer · 3 s");
        line.asked = None;
        assert_eq!(line.text(asked), "step 1 of 50 · waiting for the model · 5 s");
    }

    fn printed(id: &str, text: &str, unfinished: &str) -> Event {
        Event::ToolOutput {
            call_id: id.to_owned(),
            skipped_lines: 0,
            text: text.to_owned(),
            unfinished: unfinished.to_owned(),
        }
    }

    #[test]
    fn the_last_line_that_the_call_in_sight_prints_is_shown() {
        check(
            &[
                started("a", "one"),
                printed("a", "Compiling\n\n", " "),
                printed("a", "", "50 %"),
                started("b", "two"),
                printed("b", "ok\n", ""),
                ended("b"),
                printed("a", "linking\n", ""),
                ended("a"),
            ],
            expect![[r#"
                waiting for its turn
                read_file one
                read_file one · 1 s · Compiling
                read_file one · 2 s · 50 %
                read_file two and 1 more
                read_file two and 1 more · 1 s · ok
                read_file one · 2 s
                read_file one · 3 s · linking
                read_file one · 4 s
            "#]],
        );
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
    fn a_wait_counts_down_each_second() {
        let start = Instant::now();
        let mut line = Line::new(start);
        line.take_in(&retrying(Some(6), Duration::from_millis(2500)), start);
        let (mut now, mut reports) = (start, String::new());
        for _ in 0..6 {
            let _ = writeln!(reports, "{}", line.text(now));
            now += line.next_second(now);
        }
        expect![[r#"
            rate limited, next try in 3 s (attempt 2 of 6)
            rate limited, next try in 2 s (attempt 2 of 6)
            rate limited, next try in 1 s (attempt 2 of 6)
            rate limited, trying again (attempt 2 of 6)
            rate limited, trying again (attempt 2 of 6) · 1 s
            rate limited, trying again (attempt 2 of 6) · 2 s
        "#]]
        .assert_eq(&reports);
    }

    #[test]
    fn a_wait_for_a_connection_counts_no_attempts() {
        check(
            &[retrying(None, Duration::from_secs(300))],
            expect![[r#"
                waiting for its turn
                rate limited, next try in 5 min
            "#]],
        );
    }

    #[test]
    fn what_it_cost_is_said_where_it_is_known() {
        let usage = Usage { input_tokens: 1200, output_tokens: 34, ..Usage::default() };
        check(
            &[used(usage, Some(Cost(12_300)), false), used(usage, Some(Cost(12_300)), true)],
            expect![[r#"
                waiting for its turn
                waiting for its turn · 1 s · 1.2k tokens · $0.0123
                waiting for its turn · 2 s · about 1.2k tokens · about $0.0123
            "#]],
        );
    }

    #[test]
    fn a_report_is_short_whatever_the_target_is() {
        let mut line = Line::new(Instant::now());
        line.take_in(&started("a", &"long\n".repeat(1000)), Instant::now());
        assert!(line.text(Instant::now()).chars().count() <= MAX_REPORT);
    }
}
