//! What to write instead of a line that is not valid TOML. The parser says what it expected next; a person wants to
//! know what to write.

use serde_json::{Number, Value, json};

use super::schema::{KEYS, Key, LONGEST_NAME, Notation};

/// Words that people write for what TOML calls true and false.
const WORDS_FOR_TRUE: [&str; 4] = ["yes", "on", "true", "enabled"];
const WORDS_FOR_FALSE: [&str; 4] = ["no", "off", "false", "disabled"];

/// One of these fits each setting that is a text.
const TEXTS: [&str; 4] = ["text", "http://localhost", "NAME", "/path"];

/// What is said of the line at `offset`, which the parser refused for `reason`. Repeats of it only its name, and values
/// that are words or numbers of the setting: others may be keys.
pub(super) fn of_line(text: &str, offset: usize, reason: &str) -> String {
    // It is found at the end of the file, far from where it begins.
    if reason.contains("multi-line") {
        return "a text that begins with three quotes is not closed, and nothing after it is used: write the three \
                quotes at its end"
            .to_owned();
    }
    let line = line_at(text, offset);
    let advice = instead(line).unwrap_or_else(|| {
        format!("a line is name = value, with text in quotes, or [table] (the fault: {reason})")
    });
    format!("this line is not valid TOML and is not used: {advice}")
}

/// The line in which `offset` stands, without its comment.
fn line_at(text: &str, offset: usize) -> &str {
    let before = text.get(..offset).unwrap_or(text);
    // A fault that is found at the end of the line may stand behind its line feed.
    let before = before.strip_suffix('\n').unwrap_or(before);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
    line.split(" #").next().unwrap_or_default().trim()
}

/// What to write instead; `None` when the line does not tell what it means.
fn instead(line: &str) -> Option<String> {
    if line.starts_with('[') {
        return Some("the name of a table stands between [ and ], such as [models.\"qwen*\"]".to_owned());
    }
    let end = line.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '"' | '\'')))?;
    let (name, rest) = line.split_at(end);
    let name = name.trim_matches(['"', '\'']);
    let shown: String = name.chars().take(LONGEST_NAME).collect();
    if name.is_empty() {
        return Some("a name stands before =, such as model".to_owned());
    }
    let key = Key::named(name);
    let rest = rest.trim_start();
    let Some(value) = rest.strip_prefix('=') else {
        return Some(match rest.starts_with(':') {
            true => format!("write = in place of : after {shown}"),
            false => format!("write = between {shown} and its value"),
        });
    };
    let value = value.trim();
    if value.is_empty() {
        return Some(match key {
            Some(key) => format!("{shown} has no value: it must be {}", key.expects),
            None => format!("{shown} has no value"),
        });
    }
    if KEYS.iter().any(|key| key.parts.contains(&name)) {
        return Some(format!("{name} is a number without sign or unit, such as {name} = 1.25"));
    }
    let of_value = key.and_then(|key| of_value(key, value));
    of_value.or_else(|| of_quotes(&shown, value)).or_else(|| key.map(expected))
}

/// A value that says in other words what the setting takes.
fn of_value(key: &Key, value: &str) -> Option<String> {
    let name = key.name;
    let bare = value.trim_end_matches([';', ',']).trim();
    let write = |value: &str| format!("{}: write {name} = {value}", expected(key));
    if key.words().any(|word| word == bare) {
        return Some(format!("write {name} = \"{bare}\", in quotes"));
    }
    if key.fits(&json!(true)) {
        let word = bare.trim_matches(['"', '\'']).to_ascii_lowercase();
        let is_one_of = |words: &[&str]| words.contains(&word.as_str());
        let boolean = match word.as_str() {
            _ if is_one_of(&WORDS_FOR_TRUE) => "true",
            _ if is_one_of(&WORDS_FOR_FALSE) => "false",
            _ => return None,
        };
        return Some(write(boolean));
    }
    let number = number(bare)?;
    let value = Value::Number(number);
    key.fits(&value).then(|| write(&value.to_string()))
}

/// The number in `$1`, `30s`, `.5` or `5.`; `None` for what might count in anything else.
fn number(text: &str) -> Option<Number> {
    let text = text.strip_prefix('$').unwrap_or(text);
    let text = ["seconds", "sec", "s"].iter().find_map(|unit| text.strip_suffix(unit)).unwrap_or(text).trim();
    if text.is_empty() || !text.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return None;
    }
    match text.parse::<u64>() {
        Ok(whole) => Some(whole.into()),
        Err(_) => Number::from_f64(text.parse().ok()?),
    }
}

/// Quotes that are missing, or are not closed.
fn of_quotes(name: &str, value: &str) -> Option<String> {
    let key = Key::named(name);
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    match quote {
        Some(quote) if value.matches(quote).count() == 1 => {
            Some(format!("the text after {name} = is not closed: write a second {quote} at its end"))
        }
        Some(_) => Some(format!(
            "nothing may follow the text after {name} = but a comment, and a \\ in it is written twice or the text in '…'"
        )),
        None => match key {
            Some(key) if key.expects.starts_with("one of ") => Some(format!("{}, in quotes", expected(key))),
            Some(key) if !TEXTS.iter().any(|text| key.fits(&json!(text))) => None,
            _ => Some(format!("text stands in quotes: write {name} = \"…\"")),
        },
    }
}

fn expected(key: &Key) -> String {
    format!("{} must be {}", key.name, key.expects)
}

impl Key {
    /// Whether the value is one that the setting takes.
    fn fits(&self, value: &Value) -> bool {
        self.check(value, Notation::Toml).is_ok()
    }

    /// The fixed words that the setting takes.
    fn words(&self) -> impl Iterator<Item = &'static str> {
        let words = self.expects.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        words.filter(|word| !word.is_empty() && !self.fits(&json!(true)) && self.fits(&json!(word)))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// What is said of each line, without what is said of all.
    fn check(lines: &[&str], expected: Expect) {
        let said = lines.iter().map(|line| {
            let (_, errors) = toml::de::DeTable::parse_recoverable(line);
            let error = errors.first().expect(line);
            let said = of_line(line, error.span().map_or(0, |span| span.start), error.message());
            format!("{line} -> {}\n", said.split_once(": ").unwrap().1)
        });
        expected.assert_eq(&said.collect::<String>());
    }

    #[test]
    fn a_word_without_quotes_is_given_back_in_quotes() {
        check(
            &[
                "edits = immediate",
                "approvals = none # only reading",
                "unknown_tools = tell",
                "on_limit = final_answer",
                "null_content = null",
                "proxy = none",
                "tool_choice = auto;",
                "edits = aply",
            ],
            expect![[r#"
                edits = immediate -> write edits = "immediate", in quotes
                approvals = none # only reading -> write approvals = "none", in quotes
                unknown_tools = tell -> write unknown_tools = "tell", in quotes
                on_limit = final_answer -> write on_limit = "final_answer", in quotes
                null_content = null -> write null_content = "null", in quotes
                proxy = none -> write proxy = "none", in quotes
                tool_choice = auto; -> write tool_choice = "auto", in quotes
                edits = aply -> edits must be one of propose, apply, immediate, in quotes
            "#]],
        );
    }

    #[test]
    fn a_number_with_a_sign_or_a_unit_is_given_back_without() {
        check(
            &[
                "max_cost = $1",
                "turn_timeout = 30s",
                "turn_timeout = 5 min",
                "max_steps = 5;",
                "temperature = .5",
                "max_cost = €1",
                "max_turn_tokens = 10k",
                "strict_tools = yes",
                "store = False",
                "price = 3$",
                "input = $1",
            ],
            expect![[r#"
                max_cost = $1 -> max_cost must be a number of dollars from 0.0001 to 1000000: write max_cost = 1
                turn_timeout = 30s -> turn_timeout must be a number of seconds from 0.001 to 86400: write turn_timeout = 30
                turn_timeout = 5 min -> turn_timeout must be a number of seconds from 0.001 to 86400
                max_steps = 5; -> max_steps must be a whole number from 1 to 10000: write max_steps = 5
                temperature = .5 -> temperature must be a number from 0 to 2: write temperature = 0.5
                max_cost = €1 -> max_cost must be a number of dollars from 0.0001 to 1000000
                max_turn_tokens = 10k -> max_turn_tokens must be a whole number from 1 to 100000000
                strict_tools = yes -> strict_tools must be true or false: write strict_tools = true
                store = False -> store must be true or false: write store = false
                price = 3$ -> price must be dollars per million tokens, such as { input = 1.25, output = 10 } (cached and cache_write may be added)
                input = $1 -> input is a number without sign or unit, such as input = 1.25
            "#]],
        );
    }

    #[test]
    fn what_may_be_a_key_is_not_repeated() {
        check(
            &[
                "model = sk-secret",
                "model: \"sk-secret\"",
                "model \"sk-secret\"",
                "model = \"sk-secret",
                "model = 'sk-secret' sk-secret",
                "model =",
                "modell = sk-secret",
                "[models.\"sk-secret",
                "= sk-secret",
                "base_url = http://localhost",
                "api_key_env = $OPENAI_API_KEY",
            ],
            expect![[r#"
                model = sk-secret -> text stands in quotes: write model = "…"
                model: "sk-secret" -> write = in place of : after model
                model "sk-secret" -> write = between model and its value
                model = "sk-secret -> the text after model = is not closed: write a second " at its end
                model = 'sk-secret' sk-secret -> nothing may follow the text after model = but a comment, and a \ in it is written twice or the text in '…'
                model = -> model has no value: it must be text
                modell = sk-secret -> text stands in quotes: write modell = "…"
                [models."sk-secret -> the name of a table stands between [ and ], such as [models."qwen*"]
                = sk-secret -> a name stands before =, such as model
                base_url = http://localhost -> text stands in quotes: write base_url = "…"
                api_key_env = $OPENAI_API_KEY -> text stands in quotes: write api_key_env = "…"
            "#]],
        );
    }
}
