//! The schema of the settings: names, types, allowed values, defaults, and what a project may set.

mod hook;
mod host;
mod key;
mod rule;
mod types;

use std::{collections::BTreeMap, time::Duration};

use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::{
    agent::{
        Approvals, OnLimit, Outside, RepeatedCalls, RetryPolicy, UnknownTools, limits::DEFAULT_MAX_STEPS,
    },
    model::{Tuning, http::DEFAULT_CONNECT_TIMEOUT, tuning::Tokens},
    protocol::Wire,
    tools::run_command::{self, sandbox::SandboxMode},
};

pub use hook::{HookTable, HookTables};
pub use host::HostText;
pub use key::{KEYS, Key};
pub use rule::{GuardText, RuleText};
pub use types::{
    Attempts, Bounded, Calls, CommandLine, Dollars, FilePath, Header, ProxyText, Seconds, SecretText, Shell,
    Steps, ToolChoiceText,
};

pub(super) use key::{LONGEST_NAME, NOT_IN_JSON, Notation, ProjectRule, Shape};
use types::{base_url, variable};

/// A question that is still open after this long counts as a no: long enough to read a command line, short enough
/// that a forgotten one does not hold the thread all day.
pub const DEFAULT_APPROVAL_TIMEOUT: Duration = Duration::from_secs(120);

/// The settings of askls. The names are the same in the user's file (`askls/config.toml` in the platform's configuration
/// folder), the project's file (`.askls/config.toml`), `initializationOptions`, and the `askls` section of
/// `workspace/didChangeConfiguration`. Each place overrides the ones before it; a project may only narrow. A project is trusted
/// when the user's file lists its folder in `trusted_folders`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[schemars(title = "askls settings", rename = "Settings", extend("additionalProperties" = false))]
pub struct Values {
    /// The model's name, as its server knows it; free text. `offline` is the built-in model.
    pub model: Option<String>,
    /// How the model server is spoken to. Default: `responses` for api.openai.com, `messages` for
    /// api.anthropic.com, `chat` for any other server.
    pub wire: Option<Wire>,
    /// Where the model server's API begins, such as `http://127.0.0.1:11434/v1`. Ignored in untrusted projects.
    #[serde(default, deserialize_with = "base_url")]
    #[schemars(!default)]
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key, in capitals; never the key itself. Ignored in untrusted projects.
    #[serde(default, deserialize_with = "variable")]
    #[schemars(!default, regex(pattern = "^[A-Z_][A-Z0-9_]*$"))]
    pub api_key_env: Option<String>,
    /// Program and arguments that print the key, such as `["pass", "show", "openai"]`; run without a shell, and only when
    /// a request needs the key. A string is split at spaces. Ignored in untrusted projects.
    pub api_key_command: Option<CommandLine>,
    /// The header that carries the key. `authorization` carries `Bearer …`; any other carries just the key. Default:
    /// `authorization`; `x-api-key` for the wire `messages`, and `api-key` at Azure. Ignored in untrusted projects.
    pub auth_header: Option<Header>,
    /// Headers to send with every request to the model server; the values are never shown. Ignored in untrusted projects.
    pub headers: Option<BTreeMap<Header, SecretText>>,
    /// What to add to the query of the server's address, such as `{ api-version = "preview" }`. Ignored in untrusted projects.
    pub query: Option<BTreeMap<String, SecretText>>,
    /// The proxy on the way to the model server, such as `http://host:3128`; `none` for no proxy. Default: `HTTPS_PROXY`,
    /// `HTTP_PROXY` and `NO_PROXY`, or the system's. A server on this machine is reached without one. Ignored in untrusted projects.
    pub proxy: Option<ProxyText>,
    /// A PEM file of certificate authorities to trust in addition to the system's, such as the one of a company's
    /// proxy. Ignored in untrusted projects.
    pub ca_file: Option<FilePath>,
    /// Seconds to wait for a connection to the model server.
    #[schemars(extend("default" = DEFAULT_CONNECT_TIMEOUT.as_secs()))]
    pub connect_timeout: Option<Seconds>,
    /// Seconds without a byte from the model server after which its reply counts as stalled. Default: 120, and 300 for
    /// a server on this machine.
    pub idle_timeout: Option<Seconds>,
    /// Seconds that a whole reply of the model server may take. Default: no limit.
    pub reply_timeout: Option<Seconds>,
    /// Most requests for one step while the model server is busy or replies break off; 1 means no second attempt.
    #[schemars(extend("default" = RetryPolicy::default().max_attempts))]
    pub max_attempts: Option<Attempts>,
    /// Seconds before the second attempt; each further wait is twice as long, plus or minus 50 % at random.
    #[schemars(extend("default" = RetryPolicy::default().first_wait.as_secs()))]
    pub retry_wait: Option<Seconds>,
    /// The longest wait in seconds that a model server may ask for.
    #[schemars(extend("default" = RetryPolicy::default().longest_server_wait.as_secs()))]
    pub max_retry_wait: Option<Seconds>,
    /// Whether a turn begins with a call: `auto`, `none` (no calls at all), `required`, or the name of a tool.
    #[schemars(extend("default" = "auto"))]
    pub tool_choice: Option<ToolChoiceText>,
    /// What may differ by model.
    #[serde(flatten)]
    pub tuning: Tuning,
    /// Settings for single models, by name or by the beginning of a name and a `*`; they override the general
    /// ones. Only in the user's file.
    pub models: Option<BTreeMap<String, Tuning>>,
    /// Most model requests in one turn.
    #[schemars(extend("default" = DEFAULT_MAX_STEPS))]
    pub max_steps: Option<Steps>,
    /// Most tokens of one turn, input plus output, over all its requests; the reply that exceeds it is the last one. By
    /// estimate for a server that counts none. Default: no bound.
    pub max_turn_tokens: Option<Tokens>,
    /// Most tool calls in one turn. Default: no bound.
    pub max_tool_calls: Option<Calls>,
    /// Seconds that one turn may take, with its questions to you and its waits for the server. Default: as long as it takes.
    pub turn_timeout: Option<Seconds>,
    /// Most dollars that one turn may cost; the reply that exceeds it is the last one. Where the model's price is not
    /// known, a warning says that this bound cannot be held. Default: no bound.
    pub max_cost: Option<Dollars>,
    /// What happens when a turn has reached `max_steps`, `max_turn_tokens`, `max_tool_calls`, `turn_timeout` or `max_cost`.
    /// After tokens, time and money no further request is made: there `final_answer` is the same as `message`. A project may
    /// only make it stricter: `error` is stricter than `message`, and `message` than `final_answer`.
    #[schemars(extend("default" = OnLimit::default()))]
    pub on_limit: Option<OnLimit>,
    /// What happens when the model calls a tool that does not exist.
    #[schemars(extend("default" = UnknownTools::default()))]
    pub unknown_tools: Option<UnknownTools>,
    /// What happens when the model makes the same call with the same arguments again and again.
    #[schemars(extend("default" = RepeatedCalls::default()))]
    pub repeated_calls: Option<RepeatedCalls>,
    /// What happens to the edits of a turn.
    #[schemars(extend("default" = Edits::default()))]
    pub edits: Option<Edits>,
    /// Whether the texts of applied turns are kept outside the project, so that `askls.undoTurn` and `askls undo` can take a
    /// turn back. A project may not change it.
    #[schemars(extend("default" = true))]
    pub checkpoints: Option<bool>,
    /// What goes ahead without a question. Staging an edit writes nothing.
    #[schemars(extend("default" = Approvals::default()))]
    pub approvals: Option<Approvals>,
    /// What becomes of a path outside the workspace that the agent wants to read, list, search or edit. With `ask` it asks
    /// each time, whatever `approvals` says, unless a rule with an absolute path (`read: /usr/include`) allows it. Files with
    /// keys and passwords stay refused. A project may only make it stricter.
    #[schemars(extend("default" = Outside::default()))]
    pub outside: Option<Outside>,
    /// Rules of what goes ahead without a question, such as `command: cargo test` (with any further words), `edit: docs/**`,
    /// `read: src/**`, `tool: search`, `effect: edit` or `host: docs.rs`. The lists of all places add up. Ignored in untrusted
    /// projects.
    pub allow: Option<Vec<RuleText>>,
    /// Rules of what asks, whatever is allowed.
    pub ask: Option<Vec<GuardText>>,
    /// Rules of what is refused, whatever is allowed.
    pub deny: Option<Vec<GuardText>>,
    /// Programs of yours that see what goes into a turn, what its calls do and answer, and what the model says, and that may stop
    /// or replace it. One that fails counts as a no. Only in the user's file.
    pub hooks: Option<HookTables>,
    /// Whether a mask takes the place of what looks like a key (`sk-…`, `ghp_…`, private keys …) in everything that the model
    /// and progress show of your files and commands. A project may not switch it off.
    #[schemars(extend("default" = true))]
    pub mask_secrets: Option<bool>,
    /// Seconds after which a question that nobody answers counts as a no.
    #[schemars(extend("default" = DEFAULT_APPROVAL_TIMEOUT.as_secs()))]
    pub approval_timeout: Option<Seconds>,
    /// Seconds that a command of the agent may run.
    #[schemars(extend("default" = run_command::DEFAULT_TIMEOUT.as_secs()))]
    pub command_timeout: Option<Seconds>,
    /// Program and first arguments that take a command line as the last argument, such as `["/bin/sh", "-c"]`. Default: the
    /// platform's shell. Ignored in untrusted projects.
    pub shell: Option<Shell>,
    /// Whether commands run in a sandbox, on Linux: they change only the workspace and temporary folders, see no secrets, and
    /// have no network. `askls status` says what of it this system can hold. A project may only make it stricter.
    #[schemars(extend("default" = SandboxMode::default()))]
    pub sandbox: Option<SandboxMode>,
    /// Whether commands in the sandbox may use the network.
    #[schemars(extend("default" = false))]
    pub sandbox_network: Option<bool>,
    /// Folders that commands in the sandbox may change too, such as `~/.cache/go-build`; absolute, or below the home folder
    /// as `~/…`. Only in the user's file.
    pub sandbox_write: Option<Vec<FilePath>>,
    /// Whether the agent may get pages of the web as text. Each page asks, unless a rule such as `host: docs.rs` in `allow` or
    /// `approvals` lets it go ahead. A project may only switch it off.
    #[schemars(extend("default" = false))]
    pub fetch: Option<bool>,
    /// Hosts that pages may come from though they are on this machine or in a network of your own, or on other ports than 80
    /// and 443, such as `wiki.corp` or `127.0.0.1:8080`. Only in the user's file.
    pub fetch_hosts: Option<Vec<HostText>>,
    /// Whether `askls.ask` is answered at once while the turn goes on.
    #[schemars(extend("default" = Background::default()))]
    pub background: Option<Background>,
    /// How the editor shows an answer.
    #[schemars(extend("default" = ShowAnswer::default()))]
    pub show_answer: Option<ShowAnswer>,
    /// Whether there are code lenses above proposed edits, to apply or reject them.
    #[schemars(extend("default" = true))]
    pub edit_lenses: Option<bool>,
    /// Whether hints (diagnostics of the lowest severity) show where edits are proposed.
    #[schemars(extend("default" = true))]
    pub edit_hints: Option<bool>,
    /// Folders of projects whose own settings may also choose servers, ways to reach them, and programs; absolute, or below
    /// the home folder as `~/…`. Only in the user's file.
    pub trusted_folders: Option<Vec<FilePath>>,
}

/// The setting `edits`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edits {
    /// Offered; nothing changes until the user accepts.
    #[default]
    Propose,
    /// Applied through the editor when the turn ends.
    Apply,
    /// Applied through the editor after each step; the model is told whether that worked.
    Immediate,
}

/// The setting `background`: which clients get the response of `askls.ask` at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Background {
    /// For clients that are known to give up on a command after a few seconds.
    #[default]
    Auto,
    /// For every client.
    Always,
    /// For no client: the response waits for the end of the turn.
    Never,
}

/// The setting `show_answer`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShowAnswer {
    /// The first paragraph as a message, with an action to open the whole answer.
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
