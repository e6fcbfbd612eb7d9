//! What a question says, the same in all faces.

use super::Question;
use crate::tools::{Effect, output::visible};

/// Longest line that a rule repeats, in characters: a longer one stands on several rows just above.
const MAX_REPEATED: usize = 80;

impl Question {
    /// What the agent wants, in words that follow "The agent wants to"; what it is about stands elsewhere.
    pub fn wish(&self) -> String {
        let verb = match self.effect {
            Effect::Execute => "run this command",
            Effect::Edit => "make this change",
            Effect::Network => "use the network for this",
            Effect::Read => "read this",
            Effect::Stop => "stop this",
        };
        let words = self.leading_out.as_deref().into_iter().chain([self.circumstances.as_str()]);
        let words: Vec<&str> = words.filter(|words| !words.is_empty()).collect();
        format!("{verb} {}", words.join(", ")).trim_end().to_owned()
    }

    /// What "always" allows: its rules as they are kept; `None` when it cannot be offered. Of a long line that stands in
    /// the question already, a rule only says that it is about that.
    pub fn kept_in_words(&self) -> Option<String> {
        let command = self.preview.trim();
        let rules = self.always.iter().map(|rule| {
            let text = visible(&rule.to_string());
            let named = match text.split_once(' ') {
                Some((kind, line)) if line == command && line.chars().count() > MAX_REPEATED => {
                    format!("`{kind}` this command")
                }
                _ => format!("`{text}`"),
            };
            if rule.covers_more_words() { format!("{named} with any further words") } else { named }
        });
        let rules: Vec<_> = rules.collect();
        (!rules.is_empty()).then(|| rules.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Rule;

    fn kept(command: &str, rules: &[&str]) -> Option<String> {
        let question = Question {
            call_id: "1".to_owned(),
            tool: "run_command",
            effect: Effect::Execute,
            preview: command.to_owned(),
            leading_out: None,
            least: None,
            circumstances: "in web".to_owned(),
            why: String::new(),
            root: None,
            always: rules.iter().map(|rule| rule.parse::<Rule>().unwrap()).collect(),
        };
        question.kept_in_words()
    }

    #[test]
    fn what_is_kept_says_that_further_words_go_too() {
        assert_eq!(kept("make", &[]), None);
        assert_eq!(
            kept("npm test", &["command: npm test"]).as_deref(),
            Some("`command: npm test` with any further words")
        );
        assert_eq!(
            kept("npm test && make", &["command: npm test", "command: make"]).as_deref(),
            Some("`command: npm test` with any further words, `command: make` with any further words")
        );
    }

    #[test]
    fn a_rule_is_shown_as_it_is_kept() {
        assert_eq!(kept("make > $OUT", &["exactly: make > $OUT"]).as_deref(), Some("`exactly: make > $OUT`"));
        assert_eq!(kept("rm a.txt", &["exactly: rm a.txt"]).as_deref(), Some("`exactly: rm a.txt`"));
    }

    #[test]
    fn a_rule_does_not_repeat_a_long_command() {
        let long = format!("echo {} > $OUT", "x".repeat(MAX_REPEATED));
        assert_eq!(kept(&long, &[&format!("exactly: {long}")]).as_deref(), Some("`exactly:` this command"));
    }
}
