//! What is known of each setting besides its type: what fits, what holds without it, what a project may do with it, and
//! how much of it may be shown.

mod spelling;

use serde_json::{Map, Value};

use super::{Values, hook, rule::rule, types::is_reserved};
use crate::model::select::OFFLINE;

pub(in crate::config) use spelling::{NOT_IN_JSON, Notation};
use spelling::{spelling, whole_spelling, without_credentials};

/// Longest name of something unknown that a warning repeats, in characters.
pub(in crate::config) const LONGEST_NAME: usize = 60;

/// Bytes of the longest text that is shown though it does not fit; a longer one may be a key in the wrong place.
const LONGEST_WORD: usize = 15;

/// Members of a query that are no secrets.
const PUBLIC_QUERY: [&str; 2] = ["api-version", "version"];

/// What is known of one setting besides its type.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    /// Completes "must be".
    pub expects: &'static str,
    /// As it is shown when nothing sets it.
    pub default: &'static str,
    pub(in crate::config) project: ProjectRule,
    pub(in crate::config) shape: Shape,
    /// The members that a value which is a table has.
    pub(in crate::config) parts: &'static [&'static str],
    /// What an empty text in a file says; elsewhere it stands for what was left alone.
    pub(in crate::config) empty: Option<&'static str>,
    /// Whether it may be said of one model in `models`.
    pub(in crate::config) of_models: bool,
    sight: Sight,
}

/// Whether a setting is one value or a table of them, of which each stands for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum Shape {
    Value,
    /// Texts by their names.
    Table,
    /// Settings by the names of models.
    Models,
    /// Rules, to which each place adds its own.
    Rules,
}

/// What a project's file may do with a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum ProjectRule {
    Free,
    /// The same, except that a no stays one: whoever set this word does without, and no project brings it back.
    UnlessNo(&'static str),
    /// Only to less than what holds without it.
    Narrower,
    /// Only when the user's file trusts the folder: it could send the user's key away, or run a program.
    Trusted,
    Never,
}

/// How much of a value may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    Whole,
    /// Whole when it fits; what does not may be a key that was put in the wrong place.
    Variable,
    /// Without user, password and query.
    Url,
    /// The names only: the values may be secrets.
    Names,
    /// The program only: arguments may be secrets.
    Program,
    /// The same of each entry, and what it is about.
    Hooks,
}

/// In the order in which they are shown.
pub const KEYS: &[Key] = &[
    Key::new("model", "text", "", ProjectRule::UnlessNo(OFFLINE)),
    Key::new("wire", "one of responses, chat, messages", "", ProjectRule::Trusted),
    Key { sight: Sight::Url, ..Key::new("base_url", ADDRESS, "", ProjectRule::Trusted) },
    Key {
        sight: Sight::Variable,
        ..Key::new(
            "api_key_env",
            "the name of an environment variable in capitals, such as OPENROUTER_API_KEY, and not the key itself",
            "",
            ProjectRule::Trusted,
        )
    },
    Key {
        sight: Sight::Program,
        ..Key::new(
            "api_key_command",
            "a list such as [\"pass\", \"show\", \"openai\"] (the program and its arguments), or one text",
            "",
            ProjectRule::Trusted,
        )
    },
    Key {
        sight: Sight::Variable,
        ..Key::new(
            "auth_header",
            "the name of a header such as x-api-key, and not content-type or host",
            "authorization, or that of the wire or of Azure",
            ProjectRule::Trusted,
        )
    },
    Key::table("headers", "a table of names and texts, such as { \"X-Team\" = \"a\" }"),
    Key::table("query", "a table of names and texts, such as { api-version = \"preview\" }"),
    Key {
        sight: Sight::Url,
        ..Key::new(
            "proxy",
            "none, or an address that begins with http:// or https://",
            "the environment's",
            ProjectRule::Trusted,
        )
    },
    Key::new("ca_file", "the absolute path of a file, or one that begins with ~/", "", ProjectRule::Trusted),
    Key::new("connect_timeout", SECONDS, "15", ProjectRule::Narrower),
    Key::new("idle_timeout", SECONDS, "120, or 300 for a server on this machine", ProjectRule::Narrower),
    Key::new("reply_timeout", SECONDS, "none", ProjectRule::Narrower),
    Key::new("max_attempts", "a whole number from 1 to 100", "6", ProjectRule::Narrower),
    Key::new("retry_wait", SECONDS, "1", ProjectRule::Free),
    Key::new("max_retry_wait", SECONDS, "120", ProjectRule::Narrower),
    Key::new(
        "tool_choice",
        "auto, none, required, or the name of a tool",
        "auto",
        ProjectRule::UnlessNo("none"),
    ),
    Key::of_models("max_output_tokens", TOKENS, "", ProjectRule::Narrower),
    Key::of_models(
        "reasoning_effort",
        "one of none, minimal, low, medium, high, xhigh, max",
        "",
        ProjectRule::Narrower,
    ),
    Key::of_models("temperature", "a number from 0 to 2", "", ProjectRule::Free),
    Key::of_models("parallel_tool_calls", BOOLEAN, "", ProjectRule::UnlessNo("false")),
    Key::of_models("strict_tools", BOOLEAN, "false", ProjectRule::UnlessNo("false")),
    Key::of_models("store", BOOLEAN, "false", ProjectRule::Narrower),
    Key::of_models("context_tokens", TOKENS, "80 % of the model's window", ProjectRule::Narrower),
    Key::of_models("window", TOKENS, "", ProjectRule::Narrower),
    Key::of_models("echo_reasoning", BOOLEAN, "true", ProjectRule::UnlessNo("false")),
    Key::of_models("think_tags", BOOLEAN, "true", ProjectRule::UnlessNo("false")),
    Key::of_models("strict_alternation", BOOLEAN, "false", ProjectRule::UnlessNo("false")),
    Key {
        empty: Some("empty_string"),
        ..Key::of_models("null_content", "one of null, empty_string", "null", ProjectRule::Free)
    },
    Key::of_models(
        "text_calls",
        BOOLEAN,
        "true for a server on this machine, else false",
        ProjectRule::Narrower,
    ),
    Key::of_models("guided", "one of auto, on, off", "auto", ProjectRule::UnlessNo("off")),
    Key {
        parts: &["input", "output", "cached", "cache_write"],
        ..Key::of_models(
            "price",
            "dollars per million tokens, such as { input = 1.25, output = 10 } (cached and cache_write may be added)",
            "",
            ProjectRule::Trusted,
        )
    },
    Key {
        shape: Shape::Models,
        sight: Sight::Names,
        ..Key::new("models", "a table for each model, such as [models.\"qwen*\"]", "", ProjectRule::Never)
    },
    Key::new("max_steps", "a whole number from 1 to 10000", "50", ProjectRule::Narrower),
    Key::new("max_turn_tokens", TOKENS, "none", ProjectRule::Narrower),
    Key::new("max_tool_calls", "a whole number from 1 to 100000", "none", ProjectRule::Narrower),
    Key::new("turn_timeout", SECONDS, "none", ProjectRule::Narrower),
    Key::new("max_cost", "a number of dollars from 0.0001 to 1000000", "none", ProjectRule::Narrower),
    Key::new("on_limit", "one of error, message, final_answer", "message", ProjectRule::Narrower),
    Key::new("unknown_tools", "one of stop, tell", "tell", ProjectRule::Narrower),
    Key::new("repeated_calls", "one of stop, refuse", "refuse", ProjectRule::Narrower),
    Key::new("edits", "one of propose, apply, immediate", "propose", ProjectRule::Narrower),
    Key::new("checkpoints", BOOLEAN, "true", ProjectRule::Narrower),
    Key::new("approvals", "one of none, edits, all", "edits", ProjectRule::Narrower),
    Key::new("outside", "one of refuse, ask", "refuse", ProjectRule::Narrower),
    Key::rules("allow", ProjectRule::Trusted),
    Key::rules("ask", ProjectRule::Free),
    Key::rules("deny", ProjectRule::Free),
    Key {
        sight: Sight::Hooks,
        ..Key::new(
            "hooks",
            "a list of tables, such as [{ on = \"tool\", command = [\"/usr/local/bin/check\"] }]",
            "",
            ProjectRule::Never,
        )
    },
    Key::new("mask_secrets", BOOLEAN, "true", ProjectRule::Narrower),
    Key::new("approval_timeout", SECONDS, "120", ProjectRule::Narrower),
    Key::new("command_timeout", SECONDS, "120", ProjectRule::Narrower),
    Key::new(
        "shell",
        "a list such as [\"/bin/sh\", \"-c\"]: the program and its first arguments",
        "the platform's shell",
        ProjectRule::Trusted,
    ),
    Key::new("sandbox", "one of on, auto, off", "auto", ProjectRule::Narrower),
    Key::new("sandbox_network", BOOLEAN, "false", ProjectRule::Narrower),
    Key::new(
        "sandbox_write",
        "a list of absolute paths, or paths that begin with ~/, such as [\"~/.cache/go-build\"]",
        "",
        ProjectRule::Never,
    ),
    Key::new("fetch", BOOLEAN, "false", ProjectRule::Narrower),
    Key::new(
        "fetch_hosts",
        "a list of hosts, some with their port, such as [\"wiki.corp\", \"127.0.0.1:8080\"]",
        "",
        ProjectRule::Never,
    ),
    Key::new("background", "one of auto, always, never", "auto", ProjectRule::UnlessNo("never")),
    Key::new("show_answer", "one of message, document, none", "message", ProjectRule::UnlessNo("none")),
    Key::new("edit_lenses", BOOLEAN, "true", ProjectRule::UnlessNo("false")),
    Key::new("edit_hints", BOOLEAN, "true", ProjectRule::UnlessNo("false")),
    Key::new(
        "trusted_folders",
        "a list of absolute paths, or paths that begin with ~/, such as [\"~/work\"]",
        "",
        ProjectRule::Never,
    ),
];

const ADDRESS: &str = "an address that begins with http:// or https://";
const BOOLEAN: &str = "true or false";
const SECONDS: &str = "a number of seconds from 0.001 to 86400";
const TOKENS: &str = "a whole number from 1 to 100000000";

impl Key {
    const fn new(
        name: &'static str,
        expects: &'static str,
        default: &'static str,
        project: ProjectRule,
    ) -> Self {
        Self {
            name,
            expects,
            default,
            project,
            shape: Shape::Value,
            parts: &[],
            empty: None,
            of_models: false,
            sight: Sight::Whole,
        }
    }

    const fn of_models(
        name: &'static str,
        expects: &'static str,
        default: &'static str,
        project: ProjectRule,
    ) -> Self {
        Self { of_models: true, ..Self::new(name, expects, default, project) }
    }

    const fn table(name: &'static str, expects: &'static str) -> Self {
        let key = Self::new(name, expects, "", ProjectRule::Trusted);
        Self { shape: Shape::Table, sight: Sight::Names, ..key }
    }

    const fn rules(name: &'static str, project: ProjectRule) -> Self {
        let key = Self::new(name, "a list of rules, such as [\"command: cargo test\"]", "", project);
        Self { shape: Shape::Rules, ..key }
    }

    /// The setting of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The one spelling of a member's name: headers do not tell capitals from small letters.
    pub(in crate::config) fn spelling(&self, member: &str) -> String {
        if self.name == "headers" { member.trim().to_ascii_lowercase() } else { member.to_owned() }
    }

    /// A value of this setting as it may be shown.
    pub fn show(&self, value: &Value) -> String {
        match (self.sight, value) {
            (Sight::Url, Value::String(url)) => without_credentials(url),
            (Sight::Program, Value::String(line)) => {
                line.split_whitespace().next().unwrap_or_default().to_owned()
            }
            (Sight::Program, Value::Array(parts)) => {
                parts.first().and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            (Sight::Names, Value::Object(members)) => {
                let shown: Vec<String> =
                    members.iter().map(|(name, value)| self.show_member(name, value)).collect();
                shown.join(", ")
            }
            (Sight::Hooks, Value::Array(entries)) => {
                entries.iter().map(hook::shown).collect::<Vec<_>>().join("; ")
            }
            (_, Value::String(text)) => text.clone(),
            _ => whole_spelling(value, Notation::Toml),
        }
    }

    fn show_member(&self, name: &str, value: &Value) -> String {
        let is_public = self.name == "query" && PUBLIC_QUERY.contains(&name);
        match value.as_str().filter(|_| is_public) {
            Some(text) => format!("{name}={text}"),
            None => name.to_owned(),
        }
    }

    /// Whether a value, or a table with one member, fits. The error says what is allowed, and repeats the value only where
    /// that tells no secret.
    pub(in crate::config) fn check(&self, value: &Value, notation: Notation) -> Result<Values, String> {
        let object: Map<_, _> = [(self.name.to_owned(), value.clone())].into_iter().collect();
        serde_json::from_value(Value::Object(object)).map_err(|_| self.fault(value, notation))
    }

    fn fault(&self, value: &Value, notation: Notation) -> String {
        let is_shown = self.sight == Sight::Whole
            // Nothing that is asked for is as long as a key.
            && value.as_str().is_none_or(|text| text.len() <= LONGEST_WORD);
        if self.shape == Shape::Rules
            && let Some(fault) = value.as_array().and_then(|rules| self.rule_fault(rules))
        {
            return fault;
        }
        if self.sight == Sight::Hooks
            && let Some(Err(fault)) = value.as_array().map(|entries| hook::tables(entries))
        {
            return fault;
        }
        match value.as_object().and_then(|members| members.iter().next()) {
            Some((name, member)) if self.shape == Shape::Table => self.member_fault(name, member),
            _ if is_shown => {
                format!("{} must be {}, not {}", self.name, self.expects, spelling(value, notation))
            }
            _ => format!("{} must be {}", self.name, self.expects),
        }
    }

    /// What is wrong with the first faulty rule of a list.
    fn rule_fault(&self, rules: &[Value]) -> Option<String> {
        let faults = rules.iter().filter_map(|value| match value.as_str() {
            Some(text) => rule(self.name, text).err(),
            None => Some("a rule is a text, such as \"command: cargo test\"".to_owned()),
        });
        faults.map(|fault| format!("{}: {fault}", self.name)).next()
    }

    /// What is wrong with one member of a table of texts.
    fn member_fault(&self, name: &str, value: &Value) -> String {
        let shown: String = name.chars().take(LONGEST_NAME).collect();
        let place = format!("{}.{shown}", self.name);
        match value {
            Value::Number(_) | Value::Bool(_) if value.to_string().len() <= LONGEST_WORD => {
                format!("{place} must be text: write \"{value}\"")
            }
            Value::String(text) if text.contains(char::is_control) => {
                format!("{place} must be one line of text")
            }
            Value::String(_) if is_reserved(name) => {
                format!("{place} cannot be set: askls sets this header itself")
            }
            Value::String(_) => {
                format!("{place} is not the name of a header: it may hold letters, digits and dashes")
            }
            _ => format!("{place} must be text, such as \"1\""),
        }
    }
}
