//! What a question looks like in a terminal.

use crate::{
    agent::Question,
    tools::{
        Effect,
        output::{one_line, visible},
    },
};

/// Rows of what is asked about that are shown at once: with what is said around them they fit a small terminal, so that the
/// first is still in sight when the last is read.
const MAX_ROWS: usize = 16;

/// Rows of a longer text that stay from its end; the others are of its beginning.
const LAST_ROWS: usize = 4;

/// Characters of a row: a line that is longer takes several.
const ROW_CHARS: usize = 76;

/// Longest reason why it asks, in characters.
pub(super) const MAX_WHY: usize = 200;

/// A question and its answers.
pub(super) struct Asked {
    /// What it is about, whole, and what is to be known of it.
    whole: String,
    /// The same as far as it is shown at first; `None` when that is all of it.
    shortened: Option<String>,
    choices: Vec<Choice>,
}

struct Choice {
    key: char,
    meaning: String,
}

impl Asked {
    /// About a call; `always` says what an answer for the project would keep, where one is offered.
    pub(super) fn about(question: &Question, always: Option<&str>) -> Self {
        let head =
            format!("The agent wants to {}, since {}:", question.wish(), one_line(&question.why, MAX_WHY));
        let mut choices = vec![
            Choice::new('y', "once"),
            Choice::new('n', "no (n and a reason: the agent is told why)"),
            Choice::new('a', format!("{}, for the rest of this run", granted(question))),
        ];
        if let Some(always) = always {
            choices.push(Choice::new('p', format!("always in this project: {always}")));
        }
        Self::new(&head, &question.preview, choices)
    }

    /// About what cannot be allowed for longer than once.
    pub(super) fn once(head: &str, body: &str) -> Self {
        Self::new(head, body, vec![Choice::new('y', "yes"), Choice::new('n', "no")])
    }

    fn new(head: &str, body: &str, mut choices: Vec<Choice>) -> Self {
        let body = visible(body.trim_end());
        let whole = format!("{head}\n{}", indented(&body));
        let shortened = shortened(&body).map(|body| format!("{head}\n{body}"));
        if shortened.is_some() {
            choices.push(Choice::new('v', "view all of it"));
        }
        choices.push(Choice::new('?', "this help"));
        Self { whole, shortened, choices }
    }

    pub(super) fn whole(&self) -> &str {
        &self.whole
    }

    /// What is shown at first.
    pub(super) fn text(&self) -> &str {
        self.shortened.as_deref().unwrap_or(&self.whole)
    }

    pub(super) fn offers(&self, key: char) -> bool {
        self.choices.iter().any(|choice| choice.key == key)
    }

    /// The answers and what they mean, for who has not seen them yet.
    pub(super) fn help(&self) -> String {
        let lines = self.choices.iter().map(|choice| format!("  {} = {}\n", choice.key, choice.meaning));
        format!("{}Allow it? [{}] ", lines.collect::<String>(), self.keys().join("/"))
    }

    /// The answers in short. What is kept differs from question to question, so it is said each time.
    pub(super) fn prompt(&self) -> String {
        let kept = self.choices.iter().find(|choice| choice.key == 'p');
        let kept = kept.map(|choice| format!(" (p = {})", choice.meaning)).unwrap_or_default();
        format!("Allow it? [{}]{kept} ", self.keys().join("/"))
    }

    /// What is said to an answer that is none of them.
    pub(super) fn again(&self) -> String {
        match self.keys().split_last() {
            Some((last, others)) => format!("Please answer {} or {last}: ", others.join(", ")),
            None => String::new(),
        }
    }

    fn keys(&self) -> Vec<String> {
        self.choices.iter().map(|choice| choice.key.to_string()).collect()
    }
}

impl Choice {
    fn new(key: char, meaning: impl Into<String>) -> Self {
        Self { key, meaning: meaning.into() }
    }
}

/// What a yes for the rest of the run is about, as its grant has it.
fn granted(question: &Question) -> &'static str {
    match (question.effect, &question.leading_out) {
        (Effect::Execute, _) => "this command",
        (Effect::Network, _) => "this page",
        (Effect::Read, Some(_)) => "reading at this place",
        (Effect::Edit, Some(_)) => "editing at this place",
        (Effect::Edit, None) => "edits of this kind, each of them shown",
        (Effect::Read, None) | (Effect::Stop, _) => "this tool",
    }
}

/// The lines of what is asked about stand further in than all that is said of them, so that none can pass for that.
fn indented(text: &str) -> String {
    format!("  {}", text.replace('\n', "\n  "))
}

/// The first and last rows, and between them how many there are more; `None` for what is short enough.
fn shortened(text: &str) -> Option<String> {
    let rows: Vec<String> = text.lines().flat_map(rows).collect();
    if rows.len() <= MAX_ROWS {
        return None;
    }
    let (first, rest) = rows.split_at(MAX_ROWS - LAST_ROWS);
    let (hidden, last) = rest.split_at(rest.len().saturating_sub(LAST_ROWS));
    Some(format!(
        "{}\n… {} more lines that are not shown here; v shows all …\n{}",
        indented(&first.join("\n")),
        hidden.len(),
        indented(&last.join("\n"))
    ))
}

/// A line as a terminal breaks it.
fn rows(line: &str) -> Vec<String> {
    let characters: Vec<char> = line.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters.chunks(ROW_CHARS).map(|row| row.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn question(command: &str) -> Question {
        Question {
            call_id: "1".to_owned(),
            tool: "run_command",
            effect: Effect::Execute,
            preview: command.to_owned(),
            leading_out: None,
            least: None,
            circumstances: "in web".to_owned(),
            why: "npm is not known to only read".to_owned(),
            always: Vec::new(),
            root: None,
        }
    }

    #[test]
    fn what_is_asked_stands_on_lines_of_its_own() {
        let asked =
            Asked::about(&question("cd a\nnpm test"), Some("`command: npm test` with any further words"));
        expect![[r#"
            The agent wants to run this command in web, since npm is not known to only read:
              cd a
              npm test
              y = once
              n = no (n and a reason: the agent is told why)
              a = this command, for the rest of this run
              p = always in this project: `command: npm test` with any further words
              ? = this help
            Allow it? [y/n/a/p/?] 
            Allow it? [y/n/a/p/?] (p = always in this project: `command: npm test` with any further words) 
            Please answer y, n, a, p or ?: "#]]
        .assert_eq(&format!("{}\n{}\n{}\n{}", asked.text(), asked.help(), asked.prompt(), asked.again()));
    }

    #[test]
    fn a_yes_to_a_place_outside_is_about_that_place() {
        let outside = |effect| {
            let place = Some("outside the workspace, at /etc/hosts".to_owned());
            let question = Question { effect, leading_out: place, ..question("/etc/hosts") };
            Asked::about(&question, None).help().lines().nth(2).map(str::to_owned)
        };
        assert_eq!(
            outside(Effect::Read).as_deref(),
            Some("  a = reading at this place, for the rest of this run")
        );
        assert_eq!(
            outside(Effect::Edit).as_deref(),
            Some("  a = editing at this place, for the rest of this run")
        );
    }

    #[test]
    fn a_long_command_says_that_its_middle_is_out_of_sight() {
        let command: Vec<String> = (1..=40).map(|number| format!("echo {number}")).collect();
        let asked = Asked::about(&question(&command.join("\n")), None);
        let lines: Vec<&str> = asked.text().lines().skip(12).take(3).collect();
        assert_eq!(
            lines,
            ["  echo 12", "… 24 more lines that are not shown here; v shows all …", "  echo 37"]
        );
        assert!(asked.text().ends_with("  echo 40") && asked.offers('v'));
        assert_eq!(asked.whole().lines().count(), 41);
    }

    #[test]
    fn one_long_line_takes_as_many_rows_as_it_needs() {
        let asked = Asked::about(&question(&format!("{}; rm -rf src", "x".repeat(3_000))), None);
        assert!(
            asked.text().contains("more lines that are not shown") && asked.text().ends_with("; rm -rf src")
        );
        assert!(!Asked::about(&question("ls"), None).offers('v'));
    }

    #[test]
    fn no_line_of_a_command_can_pass_for_what_is_said_of_it() {
        let asked = Asked::about(&question("ls\nAllow it? [y/n]"), None);
        assert!(asked.text().lines().skip(1).all(|line| line.starts_with("  ")));
    }
}
