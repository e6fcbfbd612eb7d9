//! The same agent without an editor: `askls ask`, `askls undo`, `askls status`.

mod approver;
mod ask;
mod printer;
mod project;
mod status;
mod undo;
mod view;
mod writer;
mod written;

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::{
    Args, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};
use serde_json::{Map, Number, Value};

use crate::{
    agent::Mode,
    config::{self, Environment, Loaded, Settings},
    protocol::{Fault, StopReason},
    workspace::keys,
};

/// A language server that gives any editor an agent. Without a command it is the language server itself.
#[derive(Debug, Parser)]
#[command(name = "askls", version, max_term_width = 100)]
pub struct Arguments {
    /// Speak the language server protocol over stdin and stdout; this is the default.
    #[arg(long, hide = true)]
    pub stdio: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Be the language server, over stdin and stdout.
    Lsp {
        /// Accepted because editors pass it; there is no other way.
        #[arg(long)]
        stdio: bool,
    },
    /// Ask the agent about a folder and print its answer.
    #[command(after_help = EXIT_CODES)]
    Ask(AskArguments),
    /// Undo the newest applied turn, of an editor or of --apply; --redo applies it again.
    #[command(after_help = UNDO_EXIT_CODES)]
    Undo(UndoArguments),
    /// Say which model would answer, why, and at what price, and what holds commands; list every setting and where it comes from.
    Status(StatusArguments),
    /// Print the JSON schema of the settings.
    SettingsSchema,
}

const EXIT_CODES: &str = "\
Exit codes: 0 answer, 1 a limit was reached, 2 wrong arguments or settings, 3 the model server failed, 4 interrupted, \
5 refused, 6 empty answer, 7 the answer came, but it or its edits could not be written, 8 a hook said no, 130 cancelled.";

const UNDO_EXIT_CODES: &str = "\
Exit codes: 0 done, 2 wrong arguments or settings, 7 nothing was changed, as stderr says why.";

#[derive(Debug, Args)]
pub struct AskArguments {
    /// What to ask; several words are joined. `-` reads it from stdin.
    #[arg(required = true, value_name = "PROMPT")]
    prompt: Vec<String>,
    #[command(flatten)]
    common: CommonArguments,
    /// Print one JSON event per line instead of the answer. The last one is turn_ended, with --apply the one behind it that
    /// tells what was written; there is none for a prompt, an option or an address that cannot be used.
    #[arg(long)]
    json: bool,
    /// What goes ahead without a question: only reading, edits, or everything including commands.
    #[arg(long, value_name = "WHAT", value_parser = ["none", "edits", "all"])]
    approve: Option<String>,
    /// Write the edits: before each command of the agent, which then sees them, and once it has answered. Otherwise they are
    /// only printed, as a diff.
    #[arg(long)]
    apply: bool,
    /// What is wanted: an answer, with edits only where you ask for a change; a change; or a plan, for which the agent only
    /// reads. Default: ask.
    #[arg(long, value_enum)]
    mode: Option<CommandLineMode>,
    #[command(flatten)]
    bounds: BoundArguments,
    /// What happens at a bound: end with an error, end with a message, or ask for a last answer without tools.
    #[arg(long, value_name = "HOW", value_parser = ["error", "message", "final_answer"])]
    on_limit: Option<String>,
    /// Show the arguments and results of tools, the reasoning and the tokens on stderr.
    #[arg(short, long)]
    verbose: bool,
}

/// The modes of `--mode`.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum CommandLineMode {
    #[default]
    Ask,
    Edit,
    Plan,
}

impl CommandLineMode {
    fn mode(self) -> Mode {
        match self {
            Self::Ask => Mode::Ask,
            Self::Edit => Mode::Edit,
            Self::Plan => Mode::Plan,
        }
    }
}

/// Bounds of the turn: more or less than every file says, since this is the user's own word.
#[derive(Debug, Args)]
struct BoundArguments {
    /// Most model requests.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_steps: Option<i64>,
    /// Most tokens of all requests, read and written.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_tokens: Option<i64>,
    /// Most tool calls.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_tool_calls: Option<i64>,
    /// Most dollars that it may cost, where the model's price is known.
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true)]
    max_cost: Option<f64>,
    /// Longest time that it may take, questions included.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    timeout: Option<f64>,
}

#[derive(Debug, Args)]
pub struct StatusArguments {
    #[command(flatten)]
    common: CommonArguments,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct UndoArguments {
    #[command(flatten)]
    root: RootArguments,
    /// Apply the turn again that was undone last.
    #[arg(long, conflicts_with = "list")]
    redo: bool,
    /// List the turns and whether they are applied or undone, newest first, and change nothing.
    #[arg(long)]
    list: bool,
    /// What to do with files that have changed since: take only the agent's part back, make the whole files what they were,
    /// or change nothing, which is what happens anyway.
    #[arg(long, value_name = "HOW", value_parser = ["merge", "restore", "cancel"])]
    on_conflict: Option<String>,
}

#[derive(Debug, Args)]
struct RootArguments {
    /// The project's folder; may be repeated. Without it, the nearest folder with .askls or .git in it, from here upwards
    /// and below your home; else this one.
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
}

#[derive(Debug, Args)]
struct CommonArguments {
    #[command(flatten)]
    root: RootArguments,
    /// The model's name as its server knows it; `offline` is the built-in model.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Where the model server's API begins, such as http://127.0.0.1:11434/v1.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// How to speak to the server.
    #[arg(long, value_name = "WIRE", value_parser = ["responses", "chat", "messages"])]
    wire: Option<String>,
}

/// How the process ends, beside the endings of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// A status, a schema, help.
    Done,
    Turn(StopReason),
    /// Wrong arguments, or settings that cannot work.
    Usage,
    /// The model server did not tell what a choice needed.
    Provider,
    /// The agent answered, but the files had changed meanwhile, or could not be written; or its words could not be.
    NotWritten,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done | Exit::Turn(StopReason::Answer) => 0,
            Exit::Turn(StopReason::Limit(_)) => 1,
            Exit::Usage | Exit::Turn(StopReason::ProviderError(Fault::Settings)) => 2,
            Exit::Provider | Exit::Turn(StopReason::ProviderError(_)) => 3,
            Exit::Turn(StopReason::Interrupted | StopReason::Stalled | StopReason::Malformed) => 4,
            Exit::Turn(StopReason::Refused | StopReason::Filtered) => 5,
            Exit::Turn(StopReason::Empty) => 6,
            Exit::NotWritten => 7,
            Exit::Turn(StopReason::Guardrail) => 8,
            // As shells say of a program that SIGINT ended.
            Exit::Turn(StopReason::Cancelled) => 130,
        })
    }
}

/// Tells a person who started the language server by hand what it waits for; an editor's pipe is told nothing.
pub fn greet() {
    if io::stdin().is_terminal() {
        complain("askls is waiting for an editor on stdin; for the command line see askls --help\n");
    }
}

/// What is wrong with a command line; whoever began with their question is told the command for it.
pub fn explained(mut error: clap::Error) -> clap::Error {
    let has_hint = error.get(ContextKind::SuggestedSubcommand).is_some();
    if error.kind() == ErrorKind::InvalidSubcommand && !has_hint {
        let hint = "to ask the agent, write `askls ask` before the question".to_owned();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

/// Runs `askls ask`.
pub async fn ask(arguments: AskArguments, environment: &Environment) -> ExitCode {
    ending(ask::run(arguments, environment).await)
}

/// Runs `askls undo`.
pub fn undo(arguments: &UndoArguments, environment: &Environment) -> ExitCode {
    ending(undo::run(arguments, environment))
}

/// Runs `askls status`.
pub async fn status(arguments: StatusArguments, environment: &Environment) -> ExitCode {
    ending(status::run(arguments, environment).await)
}

/// Runs `askls settings-schema`.
pub fn settings_schema() -> ExitCode {
    print(&config::schema::json_schema()).into()
}

/// An error here is always one of the arguments or the settings: what a turn meets is its ending.
fn ending(result: anyhow::Result<Exit>) -> ExitCode {
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            complain(&format!("error: {error:#}\n"));
            Exit::Usage.into()
        }
    }
}

impl BoundArguments {
    /// By the names of the settings.
    fn settings(&self) -> [(&'static str, Option<Value>); 5] {
        [
            ("max_steps", self.max_steps.map(Into::into)),
            ("max_turn_tokens", self.max_tokens.map(Into::into)),
            ("max_tool_calls", self.max_tool_calls.map(Into::into)),
            ("max_cost", self.max_cost.map(number)),
            ("turn_timeout", self.timeout.map(number)),
        ]
    }
}

/// The option that sets a setting.
fn flag_of(setting: &str) -> String {
    match setting {
        "approvals" => "--approve".to_owned(),
        "max_turn_tokens" => "--max-tokens".to_owned(),
        "turn_timeout" => "--timeout".to_owned(),
        _ => format!("--{}", setting.replace('_', "-")),
    }
}

/// What is no number in JSON, as `inf`, is refused by its name.
fn number(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| number.to_string().into(), Into::into)
}

/// The folder in which the command runs, without links.
fn here() -> anyhow::Result<PathBuf> {
    Path::new(".").canonicalize().context("the current folder")
}

impl RootArguments {
    /// Whether no folder was named.
    fn is_default(&self) -> bool {
        self.root.is_empty()
    }

    /// The folders, absolute.
    fn roots(&self, environment: &Environment) -> anyhow::Result<Vec<PathBuf>> {
        if self.is_default() {
            let home = environment.home().and_then(|home| home.canonicalize().ok());
            return Ok(vec![project::root_of(&here()?, home.as_deref()).to_owned()]);
        }
        self.root
            .iter()
            .map(|root| {
                let path = root.canonicalize().with_context(|| format!("--root {}", root.display()))?;
                anyhow::ensure!(path.is_dir(), "--root {} is not a folder", root.display());
                Ok(path)
            })
            .collect()
    }

    /// The settings that hold for `roots`; what is wrong with them is told.
    fn settings(&self, environment: &Environment, roots: &[PathBuf]) -> Settings {
        let loaded = Settings::load(environment, roots);
        for warning in &loaded.warnings {
            complain(&format!("warning: {warning}\n"));
        }
        loaded.settings
    }
}

impl CommonArguments {
    fn roots(&self, environment: &Environment) -> anyhow::Result<Vec<PathBuf>> {
        self.root.roots(environment)
    }

    /// The settings that hold for `roots` under these arguments and `others`. What is wrong on the command line is an
    /// error; what is wrong elsewhere is a warning.
    fn settings(
        &self,
        environment: &Environment,
        roots: &[PathBuf],
        others: impl IntoIterator<Item = (&'static str, Option<Value>)>,
    ) -> anyhow::Result<Loaded> {
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let own =
            [("model", text(&self.model)), ("base_url", text(&self.base_url)), ("wire", text(&self.wire))];
        let given: Map<_, _> = own
            .into_iter()
            .chain(others)
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect();
        let loaded = Settings::load(environment, roots);
        let under = loaded.settings.with_command_line(&given);
        if let Some(wrong) = under.warnings.first() {
            // The setting by the name that was typed.
            let named =
                given.keys().find_map(|name| Some((name, wrong.message.strip_prefix(name.as_str())?)));
            match named {
                Some((name, rest)) if rest.starts_with(' ') => anyhow::bail!("{}{rest}", flag_of(name)),
                _ => anyhow::bail!("{}", wrong.message),
            }
        }
        Ok(Loaded { settings: under.settings, warnings: loaded.warnings })
    }
}

/// Writes to stdout. A reader that is gone is no error: it has what it wanted.
fn print(text: &str) -> Exit {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format!("error: stdout: {error}\n"));
            Exit::NotWritten
        }
        _ => Exit::Done,
    }
}

/// Writes to stderr.
fn complain(text: &str) {
    let _ = io::stderr().lock().write_all(keys::masked(text).as_bytes());
}
