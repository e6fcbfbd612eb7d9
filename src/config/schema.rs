//! The schema of the settings: names, types, allowed values, defaults, and what a project may set.

mod key;
mod types;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::{
    agent::{Approvals, OnLimit, RetryPolicy, limits::DEFAULT_MAX_STEPS},
    model::{Tuning, http::DEFAULT_CONNECT_TIMEOUT},
    protocol::Wire,
    tools::run_command,
};

pub use key::{KEYS, Key};
pub use types::{
    Attempts, Bounded, CommandLine, FilePath, Header, ProxyText, Seconds, SecretText, Shell, Steps,
    ToolChoiceText,
};

pub(super) use key::{ProjectRule, Shape};
use types::{base_url, variable};

/// A question that is still open after this long counts as a no: long enough to read a command line, short enough
/// that a forgotten one does not hold the thread all day.
pub const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_secs(120);

/// The settings of askls, under the same names in the user's file (`askls/config.toml` in the platform's folder for
/// settings), the project's file (`.askls/config.toml`), `initializationOptions`, and the section `askls` of
/// `workspace/didChangeConfiguration`. Each place overrides the ones before it; a project may only narrow.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[schemars(title = "askls settings", rename = "Settings", extend("additionalProperties" = false))]
pub struct Values {
    /// The model's name, as its server knows it; free text. `offline` is the model inside askls.
    pub model: Option<String>,
    /// How the model server is spoken to. Default: `responses` for api.openai.com, `messages` for
    /// api.anthropic.com, `chat` for any other server.
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
    /// The header that carries the key. `authorization` carries it as `Bearer …`; any other carries the key alone. Default:
    /// `authorization`, on the wire `messages` `x-api-key`, and at Azure `api-key`. A project may set it only when the user's file trusts its folder.
    pub auth_header: Option<Header>,
    /// Headers that go with every request to the model server, by their names; the values are never shown. A project may
    /// set them only when the user's file trusts its folder.
    pub headers: Option<BTreeMap<Header, SecretText>>,
    /// What is added to the query of the server's address, as `{ api-version = "preview" }`. A project may set it only when
    /// the user's file trusts its folder.
    pub query: Option<BTreeMap<String, SecretText>>,
    /// The proxy on the way to the model server, as `http://host:3128`; `none` for no proxy. Default: `HTTPS_PROXY`,
    /// `HTTP_PROXY` and `NO_PROXY`, or the system's. A server on this machine is reached without one. A project may set it
    /// only when the user's file trusts its folder.
    pub proxy: Option<ProxyText>,
    /// A file with certificates (PEM) of authorities that are believed besides those of the machine, as that of a company's
    /// proxy. A project may set it only when the user's file trusts its folder.
    pub ca_file: Option<FilePath>,
    /// Seconds to wait for a connection to the model server.
    #[schemars(extend("default" = DEFAULT_CONNECT_TIMEOUT.as_secs()))]
    pub connect_timeout: Option<Seconds>,
    /// Seconds without a byte from the model server after which its reply counts as stalled. Default: 120, and 300 for
    /// a server on this machine.
    pub idle_timeout: Option<Seconds>,
    /// Seconds that one whole reply of the model server may take. Default: as long as it takes.
    pub reply_timeout: Option<Seconds>,
    /// Most requests for one step while the model server is busy or breaks off; 1 is no second attempt.
    #[schemars(extend("default" = RetryPolicy::default().max_attempts))]
    pub max_attempts: Option<Attempts>,
    /// Seconds before the second attempt; each further wait is twice as long.
    #[schemars(extend("default" = RetryPolicy::default().first_wait.as_secs()))]
    pub retry_wait: Option<Seconds>,
    /// The longest wait in seconds that a model server asks for and that is waited for.
    #[schemars(extend("default" = RetryPolicy::default().longest_server_wait.as_secs()))]
    pub max_retry_wait: Option<Seconds>,
    /// Whether a turn begins with a call: `auto`, `none` (it goes without calls), `required`, or the name of a tool.
    #[schemars(extend("default" = "auto"))]
    pub tool_choice: Option<ToolChoiceText>,
    /// What may differ from model to model.
    #[serde(flatten)]
    pub tuning: Tuning,
    /// Settings of single models, by their names or by the beginning of their names and a `*`; they come over the general
    /// ones. In the user's file only.
    pub models: Option<BTreeMap<String, Tuning>>,
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
    /// Folders of projects whose own settings may also choose servers, ways to them, and programs. In the user's file only; a leading `~/` is the home folder.
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
    /// They are applied through the editor after each step, and the model is told what became of them.
    Immediate,
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

/// The JSON schema of the settings, for editors; shipped as `settings.schema.json`.
pub fn json_schema() -> String {
    let settings =
        schemars::generate::SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let schema = SchemaGenerator::from(settings).into_root_schema_for::<Values>();
    format!("{:#}\n", schema.to_value())
}
