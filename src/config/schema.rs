//! The schema of the settings: names, types, allowed values, defaults, and what a project may set.

use std::{borrow::Cow, path::PathBuf, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use crate::{
    agent::{Approvals, OnLimit, limits::DEFAULT_MAX_STEPS},
    model::http::DEFAULT_CONNECT_TIMEOUT,
    protocol::Wire,
    tools::run_command,
};

/// A question that is still open after this long counts as a no: long enough to read a command line, short enough
/// that a forgotten one does not hold the thread all day.
pub const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_secs(120);

/// A day: longer waits are mistakes (milliseconds for seconds).
const MOST_SECONDS: u32 = 86_400;

/// Far beyond any task that ends; a number above it is a mistake.
const MOST_STEPS: u32 = 10_000;

/// Longest value that a warning repeats, in characters.
const LONGEST_SHOWN: usize = 60;

/// The settings of askls, under the same names in the user's file (`askls/config.toml` in the platform's folder for
/// settings), the project's file (`.askls/config.toml`), `initializationOptions`, and the section `askls` of
/// `workspace/didChangeConfiguration`. Each place overrides the ones before it; a project may only narrow.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "askls settings", rename = "Settings")]
pub struct Values {
    /// The model's name, as its server knows it; free text. `offline` is the model inside askls.
    pub model: Option<String>,
    /// How the model server is spoken to. Default: `responses` for api.openai.com, `chat` for any other server.
    pub wire: Option<Wire>,
    /// Where the model server's API begins, as `http://127.0.0.1:11434/v1`. A project may set it only when the user's
    /// file trusts its folder.
    #[serde(default, deserialize_with = "base_url")]
    #[schemars(!default)]
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key, in capitals; never the key itself. A project may set it only
    /// when the user's file trusts its folder.
    #[serde(default, deserialize_with = "variable")]
    #[schemars(!default, regex(pattern = "^[A-Z_][A-Z0-9_]*$"))]
    pub api_key_env: Option<String>,
    /// Program and arguments that print the key, as `["pass", "show", "openai"]`; run without a shell, and only when
    /// a request needs the key. A text is split at spaces. A project may set it only when the user's file trusts its folder.
    pub api_key_command: Option<CommandLine>,
    /// Most model requests in one turn.
    #[schemars(extend("default" = DEFAULT_MAX_STEPS))]
    pub max_steps: Option<Steps>,
    /// What happens when a turn has used all its steps.
    #[schemars(extend("default" = OnLimit::default()))]
    pub on_limit: Option<OnLimit>,
    /// What happens to the edits of a turn.
    #[schemars(extend("default" = Edits::default()))]
    pub edits: Option<Edits>,
    /// What goes ahead without a question.
    #[schemars(extend("default" = Approvals::default()))]
    pub approvals: Option<Approvals>,
    /// Seconds after which a question that nobody answers counts as a no.
    #[schemars(extend("default" = DEFAULT_APPROVAL_TIMEOUT.as_secs()))]
    pub approval_timeout: Option<Seconds>,
    /// Seconds to wait for a connection to the model server.
    #[schemars(extend("default" = DEFAULT_CONNECT_TIMEOUT.as_secs()))]
    pub connect_timeout: Option<Seconds>,
    /// Seconds without a byte from the model server after which its reply counts as stalled. Default: 120, and 300 for
    /// a server on this machine.
    pub idle_timeout: Option<Seconds>,
    /// Seconds that a command of the agent may run.
    #[schemars(extend("default" = run_command::DEFAULT_TIMEOUT.as_secs()))]
    pub command_timeout: Option<Seconds>,
    /// Program and first arguments that take a command line as their last one, as `["/bin/sh", "-c"]`. Default: the
    /// platform's shell. A project may set it only when the user's file trusts its folder.
    pub shell: Option<Shell>,
    /// Whether `askls.ask` is answered at once while the turn goes on.
    #[schemars(extend("default" = Background::default()))]
    pub background: Option<Background>,
    /// How the editor shows an answer.
    #[schemars(extend("default" = ShowAnswer::default()))]
    pub show_answer: Option<ShowAnswer>,
    /// Folders of projects whose own settings may set `base_url`, `wire`, `api_key_env`, `api_key_command` and `shell`.
    /// In the user's file only; a leading `~/` is the home folder.
    pub trusted_folders: Option<Vec<PathBuf>>,
}

/// The setting `edits`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edits {
    /// They are offered; nothing changes until the user accepts.
    #[default]
    Propose,
    /// They are applied through the editor when the turn ends.
    Apply,
}

/// The setting `background`: which clients get the response of `askls.ask` at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Background {
    /// For clients that are known to give up on a command after some seconds.
    #[default]
    Auto,
    /// For every client.
    Always,
    /// For none: the response waits for the turn's end.
    Never,
}

/// The setting `show_answer`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShowAnswer {
    /// The first paragraph as a message, with an action that opens the whole answer.
    #[default]
    Message,
    /// The whole answer opens as a document.
    Document,
    /// Only in the response of `askls.ask`.
    None,
}

/// A whole number within bounds; the error says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bounded<const LEAST: u32, const MOST: u32>(pub u32);

pub type Seconds = Bounded<1, MOST_SECONDS>;
pub type Steps = Bounded<1, MOST_STEPS>;

/// A program and its arguments: a list, or one text that is split at spaces. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine(pub Vec<String>);

/// A program and its first arguments. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell(pub Vec<String>);

/// What is known of one setting besides its type.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    /// Completes "must be".
    pub expects: &'static str,
    /// As it is shown when nothing sets it.
    pub default: &'static str,
    pub(super) project: ProjectRule,
    sight: Sight,
}

/// What a project's file may do with a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProjectRule {
    Free,
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
    /// The program only: arguments may be secrets.
    Program,
}

impl<const LEAST: u32, const MOST: u32> Bounded<LEAST, MOST> {
    /// The number as seconds.
    pub fn duration(self) -> Duration {
        Duration::from_secs(self.0.into())
    }
}

/// In the order in which they are shown.
pub const KEYS: &[Key] = &[
    Key::new("model", "a text", "", ProjectRule::Free),
    Key::new("wire", "one of responses, chat", "", ProjectRule::Trusted),
    Key {
        sight: Sight::Url,
        ..Key::new("base_url", "an address that begins with http:// or https://", "", ProjectRule::Trusted)
    },
    Key {
        sight: Sight::Variable,
        ..Key::new(
            "api_key_env",
            "the name of an environment variable in capitals, as OPENROUTER_API_KEY, and not the key itself",
            "",
            ProjectRule::Trusted,
        )
    },
    Key {
        sight: Sight::Program,
        ..Key::new(
            "api_key_command",
            "a list of texts (the program and its arguments) or one text",
            "",
            ProjectRule::Trusted,
        )
    },
    Key::new("max_steps", "a whole number from 1 to 10000", "50", ProjectRule::Narrower),
    Key::new("on_limit", "one of error, message, final_answer", "message", ProjectRule::Narrower),
    Key::new("edits", "one of propose, apply", "propose", ProjectRule::Narrower),
    Key::new("approvals", "one of none, edits, all", "edits", ProjectRule::Narrower),
    Key::new("approval_timeout", SECONDS, "120", ProjectRule::Narrower),
    Key::new("connect_timeout", SECONDS, "15", ProjectRule::Narrower),
    Key::new("idle_timeout", SECONDS, "120, or 300 for a server on this machine", ProjectRule::Narrower),
    Key::new("command_timeout", SECONDS, "120", ProjectRule::Narrower),
    Key {
        sight: Sight::Program,
        ..Key::new(
            "shell",
            "a list of texts: the program and its first arguments",
            "the platform's shell",
            ProjectRule::Trusted,
        )
    },
    Key::new("background", "one of auto, always, never", "auto", ProjectRule::Free),
    Key::new("show_answer", "one of message, document, none", "message", ProjectRule::Free),
    Key::new("trusted_folders", "a list of folders", "", ProjectRule::Never),
];

const SECONDS: &str = "a whole number of seconds from 1 to 86400";

impl Key {
    const fn new(
        name: &'static str,
        expects: &'static str,
        default: &'static str,
        project: ProjectRule,
    ) -> Self {
        Self { name, expects, default, project, sight: Sight::Whole }
    }

    /// The setting of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
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
            (_, Value::String(text)) => text.clone(),
            _ => value.to_string(),
        }
    }

    /// Whether a value fits. The error says what is allowed, and repeats the value only where that tells no secret.
    pub(super) fn check(&self, value: &Value) -> Result<Values, String> {
        let object = Value::Object([(self.name.to_owned(), value.clone())].into_iter().collect());
        serde_json::from_value(object).map_err(|_| match self.sight {
            Sight::Whole => {
                let shown: String = value.to_string().chars().take(LONGEST_SHOWN).collect();
                format!("{} must be {}, not {shown}", self.name, self.expects)
            }
            Sight::Variable | Sight::Url | Sight::Program => {
                format!("{} must be {}", self.name, self.expects)
            }
        })
    }
}

/// The JSON schema of the settings, for editors; shipped as `settings.schema.json`.
pub fn json_schema() -> String {
    let settings =
        schemars::generate::SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let schema = SchemaGenerator::from(settings).into_root_schema_for::<Values>();
    format!("{:#}\n", schema.to_value())
}

/// Scheme, host, port and path of a URL.
fn without_credentials(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

fn base_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let Some(url) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let url = url.trim().to_owned();
    let host = url
        .split_once("://")
        .filter(|(scheme, _)| ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)));
    let host = host.map(|(_, host)| host);
    if host.is_none_or(|host| host.starts_with('/') || host.is_empty() || host.contains(char::is_whitespace))
    {
        return Err(D::Error::custom("not an address"));
    }
    Ok(Some(url))
}

/// Keys have small letters or dashes; names of variables have not.
fn variable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let Some(name) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let fits = !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if fits { Ok(Some(name)) } else { Err(D::Error::custom("no name of a variable")) }
}

impl<'de, const LEAST: u32, const MOST: u32> Deserialize<'de> for Bounded<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u32::deserialize(deserializer)?;
        if (LEAST..=MOST).contains(&number) {
            Ok(Self(number))
        } else {
            Err(D::Error::custom("out of bounds"))
        }
    }
}

impl<const LEAST: u32, const MOST: u32> JsonSchema for Bounded<LEAST, MOST> {
    fn schema_name() -> Cow<'static, str> {
        format!("From{LEAST}To{MOST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": LEAST, "maximum": MOST})
    }
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelling {
            Line(String),
            Parts(Vec<String>),
        }
        let parts = match Spelling::deserialize(deserializer)? {
            Spelling::Line(line) => line.split_whitespace().map(str::to_owned).collect(),
            Spelling::Parts(parts) => parts,
        };
        not_empty(parts).map(Self)
    }
}

impl JsonSchema for CommandLine {
    fn schema_name() -> Cow<'static, str> {
        "CommandLine".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["array", "string"], "items": {"type": "string"}, "minItems": 1})
    }
}

impl<'de> Deserialize<'de> for Shell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        not_empty(Vec::deserialize(deserializer)?).map(Self)
    }
}

impl JsonSchema for Shell {
    fn schema_name() -> Cow<'static, str> {
        "Shell".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": {"type": "string"}, "minItems": 1})
    }
}

fn not_empty<E: serde::de::Error>(parts: Vec<String>) -> Result<Vec<String>, E> {
    match parts.first() {
        Some(program) if !program.trim().is_empty() => Ok(parts),
        _ => Err(E::custom("names no program")),
    }
}
