//! Whether the user's words ask for more than an answer. Cautious: what is no plain order is taken for a question, since
//! an answer to an order costs a second try, and a change that nobody asked for costs trust.

use crate::model::offline::words::{Kind, Token};

/// Verbs that order a change or a command where a sentence begins with them.
const ORDERS: &[&str] = &[
    "add",
    "append",
    "bump",
    "change",
    "convert",
    "correct",
    "create",
    "decrease",
    "delete",
    "disable",
    "drop",
    "edit",
    "enable",
    "execute",
    "fix",
    "implement",
    "increase",
    "insert",
    "lower",
    "make",
    "modify",
    "move",
    "prepend",
    "raise",
    "refactor",
    "remove",
    "rename",
    "replace",
    "rewrite",
    "run",
    "set",
    "swap",
    "update",
    "write",
];

/// Words that may stand before an order.
const BEFORE: &[&str] = &[
    "and", "also", "can", "could", "i", "like", "need", "now", "please", "should", "then", "to", "want",
    "will", "would", "you", "we", "just", "me", "let's", "d", "i'd",
];

/// How a face says that the turn is for a change, and that it is not.
const EDIT_MODE: &str = "Make this change as edits to the files.";
const PLAN_MODE: &str = "Answer with a plan only: nothing can be changed in this turn.";

/// Where the selected text begins in what a face says.
const SELECTED: &str = "Selected lines ";

/// Whether the request orders a change, or to run something.
pub(super) fn change(asked: &[Token], context: Option<&str>) -> bool {
    // Behind these words stands what a file says.
    let says = |sentence: &str| {
        let mut lines =
            context.into_iter().flat_map(str::lines).take_while(|line| !line.starts_with(SELECTED));
        lines.any(|line| line == sentence)
    };
    if says(PLAN_MODE) {
        return false;
    }
    says(EDIT_MODE) || asked.split(|token| token.kind == Kind::Break).any(is_order)
}

fn is_order(sentence: &[Token]) -> bool {
    let words = sentence.iter().filter(|token| token.kind == Kind::Word);
    let first = words.map(|token| token.word.as_str()).find(|word| !BEFORE.contains(word));
    first.is_some_and(|word| ORDERS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::offline::words::tokens;

    fn check(words: &str, context: Option<&str>) -> bool {
        change(&tokens(words), context)
    }

    #[test]
    fn a_sentence_that_begins_with_an_order_asks_for_a_change() {
        for words in [
            "Change the port to 9000.",
            "please rename src/a.c to src/b.c",
            "Could you fix the typo in the title?",
            "The port is wrong. Set it to 9000.",
            "I'd like you to add a test",
        ] {
            assert!(check(words, None), "{words}");
        }
    }

    #[test]
    fn all_else_is_a_question() {
        for words in [
            "How do I change the port?",
            "Which functions add numbers?",
            "What does set_port write?",
            "Where is the change log?",
            "",
        ] {
            assert!(!check(words, None), "{words}");
        }
    }

    #[test]
    fn the_mode_decides_where_there_is_one() {
        let context = |sentence: &str| format!("<context>\n{sentence}\nThe user has a.c open.\n</context>");
        assert!(check("the port: 9000", Some(&context(EDIT_MODE))));
        assert!(!check("Change the port to 9000.", Some(&context(PLAN_MODE))));
    }

    #[test]
    fn a_selected_text_sets_no_mode() {
        let context = format!(
            "<context>\nThe user has a.c open.\nSelected lines 1-1:\n```\n{EDIT_MODE}\n```\n</context>"
        );
        assert!(!check("what is this?", Some(&context)));
    }
}
