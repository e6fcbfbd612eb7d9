//! A first try at the answer, by which is decided whether enough was read. Small models hardly ever say so themselves:
//! asked for the next step they read on for ever, asked whether they know enough they say yes.

use std::collections::BTreeSet;

use crate::model::offline::terms::is_stop_word;

use super::scene::{Role, Scene, Step};

/// What is said for an answer that is not known.
pub(super) const UNKNOWN: &str = "unknown";

/// Characters of a draft that are looked at: a name, a number, or the beginning of a sentence.
pub(super) const LONGEST: usize = 200;

/// Letters of a word that tells something.
const SHORTEST_WORD: usize = 3;

/// The answers to a question for yes or no, and how one begins.
const VERDICTS: &[&str] = &["yes", "no", "true", "false"];
const ASKS_FOR_VERDICT: &[&str] = &[
    "are", "can", "could", "did", "do", "does", "has", "have", "is", "may", "must", "should", "was", "were",
    "will",
];

/// What stands after `how` where a number is asked for.
const MEASURES: &[&str] = &[
    "big", "deep", "far", "fast", "few", "heavy", "high", "large", "long", "many", "much", "often", "old",
    "tall", "wide",
];

/// Words that say that nothing was found; none of them is an answer.
const NOTHING: &[&str] = &[
    "unknown",
    "none",
    "null",
    "nothing",
    "unclear",
    "unspecified",
    "undefined",
    "n",
    "a",
    "no",
    "not",
    "file",
    "files",
    "answer",
    "found",
    "project",
    "text",
];

/// Whether a draft names something that was read and that the question does not say itself. What small models make up
/// stands nowhere. A yes or no counts where the question asks for one and what it is about was read.
pub(super) fn is_found(draft: &str, scene: &Scene<'_>) -> bool {
    let said = words(draft);
    if said.iter().any(|word| word == UNKNOWN) {
        return false;
    }
    let read: Vec<String> = scene
        .steps
        .iter()
        .filter(|step| !step.is_error && step.role() != Role::List)
        .flat_map(Step::lines)
        .collect();
    let question = words(scene.question);
    let is_verdict = said.first().is_some_and(|first| VERDICTS.contains(&first.as_str()));
    if is_verdict && question.first().is_some_and(|first| ASKS_FOR_VERDICT.contains(&first.as_str())) {
        return read.iter().any(|line| scene.subject.weight_in(line) > 0);
    }
    let read: BTreeSet<String> = read.iter().flat_map(|line| words(line)).collect();
    let new: Vec<&String> =
        said.iter().filter(|word| !question.contains(word) && !NOTHING.contains(&word.as_str())).collect();
    let (numbers, names): (Vec<&String>, Vec<&String>) =
        new.into_iter().partition(|word| word.chars().any(|c| c.is_ascii_digit()));
    if !numbers.is_empty() {
        // A number is what the answer is about wherever there is one.
        return numbers.iter().all(|number| read.contains(*number));
    }
    // A line that speaks of the number is not the number.
    let asks_for_number = question
        .windows(2)
        .any(|pair| matches!(pair, [how, what] if how == "how" && MEASURES.contains(&what.as_str())));
    !asks_for_number
        && names
            .iter()
            .any(|word| word.chars().count() >= SHORTEST_WORD && !is_stop_word(word) && read.contains(*word))
}

/// The words and numbers of a text in lower case, in their order. A number is one word however it is grouped: `1,250`,
/// `1_250`. A name is its parts.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in text.to_lowercase().split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ',')) {
        let is_number = part.chars().all(|c| c.is_ascii_digit() || matches!(c, '_' | ','));
        if is_number {
            words.push(part.replace(['_', ','], ""));
        } else {
            words.extend(part.split(['_', ',']).map(str::to_owned));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::tests::{done, user},
        *,
    };

    /// Whether the draft of an answer is taken for one after `text` was read.
    fn check(question: &str, text: &str, draft: &str) -> bool {
        let lines: String =
            text.lines().enumerate().map(|(at, line)| format!("{:>6}\t{line}\n", at + 1)).collect();
        let output = format!("a.c (lines 1-{0} of {0})\n{lines}", text.lines().count());
        let items = [vec![user(question)], done("read_file", json!({"path": "a.c"}), &output)].concat();
        is_found(draft, &Scene::of(&items))
    }

    #[test]
    fn an_answer_stands_in_what_was_read() {
        let text = "int max_tries = 1_250;\nchar *host = \"relay.example.org\";\n";
        for draft in ["1250", "1,250 tries", "relay.example.org", "The relay", "max_tries is 1_250"] {
            assert!(check("what is it?", text, draft), "{draft}");
        }
        for draft in
            ["", "unknown", "Unknown (see b.c)", "none", "2", "1250 or 3", "some value", "a", "mail.test"]
        {
            assert!(!check("what is it?", text, draft), "{draft}");
        }
    }

    #[test]
    fn words_of_the_question_and_numbers_of_lines_answer_nothing() {
        let text = "wide();\nopen();\n";
        assert!(!check("is it wide or open?", text, "wide"));
        assert!(!check("how many doors are there?", text, "2"));
    }

    #[test]
    fn a_line_about_a_number_is_not_the_number() {
        let text = "limit = LIMIT; // of open doors\n";
        assert!(!check("How many doors can be open?", text, "the LIMIT of open doors"));
        assert!(check("How are doors counted?", text, "by a limit"));
    }

    #[test]
    fn yes_answers_only_what_asks_for_it_once_the_subject_was_read() {
        assert!(check("Does the door lock?", "lock(door);\n", "Yes"));
        assert!(!check("Does the door lock?", "window();\n", "yes"));
        assert!(!check("How does the door lock?", "lock(door);\n", "yes"));
    }
}
