//! The commands that an editor runs: parsed whole into [`Command`] before anything happens.

use std::sync::Arc;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};

use super::{
    editor::plain, edits::UndoParams, lsp_types::ExecuteCommandParams, session::Session, transport, turn,
};
use crate::{
    agent::Mode,
    config::{
        Origin, Settings,
        report::{Report, line, shown_json},
    },
    protocol::{ThreadId, with_whole_numbers},
    tools::{jobs::Jobs, run_command::sandbox},
    workspace::{checkpoints::Direction, position},
};

/// Registered with the editor. VS Code makes each of them a command of its own by this name.
pub(super) const NAMES: [&str; 9] =
    [ASK, STOP, ACCEPT_EDITS, REJECT_EDITS, SHOW_EDITS, UNDO_TURN, REDO_TURN, NEW_THREAD, STATUS];

pub(super) const ASK: &str = "askls.ask";
pub(super) const ACCEPT_EDITS: &str = "askls.acceptEdits";
pub(super) const REJECT_EDITS: &str = "askls.rejectEdits";
const STOP: &str = "askls.stop";
pub(super) const SHOW_EDITS: &str = "askls.showEdits";
const UNDO_TURN: &str = "askls.undoTurn";
const REDO_TURN: &str = "askls.redoTurn";
const NEW_THREAD: &str = "askls.newThread";
const STATUS: &str = "askls.status";

#[derive(Clone, Debug, PartialEq, Eq)]
enum Command {
    Ask(AskParams),
    Stop(StopParams),
    AcceptEdits(AcceptParams),
    RejectEdits(EditParams),
    ShowEdits(EditParams),
    /// `askls.undoTurn` and `askls.redoTurn`.
    Undo(Direction, UndoParams),
    NewThread,
    Status,
}

/// The arguments of `askls.ask`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AskParams {
    pub(super) prompt: String,
    /// The document that the question is about, and the selection in it.
    pub(super) uri: Option<String>,
    pub(super) range: Option<Range>,
    /// Absent: a new thread.
    pub(super) thread_id: Option<ThreadId>,
    /// Absent: the model of the settings.
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) mode: Mode,
    /// Problems at the place, one a line; our own code actions fill it in.
    #[serde(default)]
    pub(super) diagnostics: Vec<String>,
}

/// The arguments of `askls.stop`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StopParams {
    /// Absent: all threads.
    thread_id: Option<ThreadId>,
    #[serde(default)]
    after: StopAfter,
}

/// When a turn stops that is told to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StopAfter {
    /// At once, and background jobs with it.
    #[default]
    Nothing,
    /// When the calls of its step have come to their ends.
    Step,
}

/// Which proposed edits are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EditParams {
    /// Absent: the newest proposal.
    pub(super) thread_id: Option<ThreadId>,
    /// Absent: all its files.
    pub(super) uri: Option<String>,
    /// Ids of hunks as `askls.showEdits` lists them. Absent: all of the file or files.
    pub(super) hunks: Option<Vec<u32>>,
}

/// The arguments of `askls.acceptEdits`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AcceptParams {
    /// As in [`EditParams`].
    thread_id: Option<ThreadId>,
    uri: Option<String>,
    hunks: Option<Vec<u32>>,
    /// Whether hunks that still fit are applied when others do not.
    #[serde(default)]
    partial: bool,
    /// Whether the user is shown why edits did not come about. Our own code actions say so: an editor that runs the
    /// command of an action shows nobody its result.
    #[serde(default)]
    report: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParams {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Range {
    start: Position,
    end: Position,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
struct Position {
    line: u32,
    character: u32,
}

impl From<Range> for position::Range {
    fn from(range: Range) -> Self {
        let position =
            |position: Position| position::Position { line: position.line, character: position.character };
        Self { start: position(range.start), end: position(range.end) }
    }
}

pub(super) async fn execute(session: &Arc<Session>, params: ExecuteCommandParams) -> Result<Value> {
    let token = params.work_done_progress_params.work_done_token;
    let cancelled = transport::request_cancelled();
    let command = match parse(&params.command, params.arguments)? {
        Command::Ask(ask) => return turn::ask(session, ask, token, cancelled).await,
        command => command,
    };
    tokio::select! {
        result = run(session, command) => result,
        () = cancelled.cancelled() => Err(Error::request_cancelled()),
    }
}

async fn run(session: &Arc<Session>, command: Command) -> Result<Value> {
    match command {
        Command::Ask(ask) => turn::ask(session, ask, None, transport::request_cancelled()).await,
        Command::Stop(params) => Ok(stop(session, &params)),
        Command::AcceptEdits(AcceptParams { thread_id, uri, hunks, partial, report }) => {
            let params = EditParams { thread_id, uri, hunks };
            Ok(session.accept_edits(&params, partial, report).await.to_json())
        }
        Command::RejectEdits(params) => Ok(match session.reject_edits(&params).await {
            Ok(files) => json!({ "rejected": files.len(), "files": files }),
            Err(reason) => json!({ "rejected": 0, "files": [], "reason": plain(&reason) }),
        }),
        Command::ShowEdits(params) => session.show_edits(&params).await,
        Command::Undo(direction, params) => Ok(session.undo_turn(direction, params).await),
        Command::NewThread => Ok(json!({ "threadId": session.new_thread() })),
        Command::Status => Ok(status(session).await),
    }
}

/// Stops turns, and what agents left running in the background.
fn stop(session: &Session, StopParams { thread_id, after }: &StopParams) -> Value {
    let is_meant = |id: &ThreadId| thread_id.as_ref().is_none_or(|meant| meant == id);
    if *after == StopAfter::Step {
        return json!({ "stopped": session.stop_turns_after_step(|turn| is_meant(&turn.thread_id)) });
    }
    let stopped = session.stop_turns(|turn| is_meant(&turn.thread_id));
    let mut result = json!({ "stopped": stopped });
    let jobs: usize = session.all_jobs(is_meant).iter().map(Jobs::stop).sum();
    if jobs > 0 {
        result["jobs"] = json!(jobs);
    }
    result
}

/// Which model answers and why, and what goes on. May ask local servers whether they are there.
async fn status(session: &Arc<Session>) -> Value {
    let settings = session.settings().await;
    let warnings = session.settings.warnings();
    let (running, proposals) = (session.turn_count(), session.offers.len());
    let jobs: Vec<String> = session.all_jobs(|_| true).iter().flat_map(Jobs::running).collect();
    let mut status = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "running": running,
        "proposals": proposals,
        "jobs": jobs,
        "warnings": warnings,
        "settings": {},
    });
    let mut lines = match session.choose_model(&settings, None).await {
        Ok(chosen) => {
            let info = chosen.client.info();
            status["model"] = json!(info.name);
            status["why"] = json!(chosen.why);
            if let Some(wire) = info.wire {
                status["wire"] = json!(wire);
            }
            if let Some(server) = &info.server {
                status["server"] = json!(server);
            }
            let report = Report::new(&settings, info);
            for (name, value) in report.model_json() {
                status[name] = value;
            }
            let first = line(format!("askls {}: {info}. {}", env!("CARGO_PKG_VERSION"), chosen.why));
            [vec![first], report.model_lines()].concat()
        }
        Err(error) => {
            status["model"] = Value::Null;
            status["why"] = json!(error.to_string());
            vec![line(format!("askls {}: no model. {error}", env!("CARGO_PKG_VERSION")))]
        }
    };
    let sandbox = sandbox(session, &settings).await;
    status["sandbox"] = sandbox.to_json();
    lines.push(format!("running turns: {running}"));
    lines.push(format!("proposed edits: {proposals}"));
    lines.extend(jobs.iter().map(|job| line(format!("background job: {job}"))));
    lines.extend(sandbox.lines().into_iter().map(line));
    let set = settings.shown().into_iter().filter(|shown| shown.origin != Origin::Default);
    for shown in set {
        status["settings"][shown.name] = shown_json(&shown);
        lines.push(line(format!("setting: {} = {} ({})", shown.name, shown.value, shown.origins())));
    }
    lines.extend(warnings.iter().map(|warning| line(format!("warning: {warning}"))));
    status["text"] = json!(lines.join("\n"));
    status
}

/// Looks at the disk.
async fn sandbox(session: &Session, settings: &Settings) -> sandbox::Report {
    let roots = session.workspace.roots();
    let sandbox = settings.sandbox();
    let report = move || sandbox.map_or_else(sandbox::Report::unavailable, |sandbox| sandbox.report(&roots));
    tokio::task::spawn_blocking(report).await.unwrap_or_else(|_| sandbox::Report::unavailable())
}

fn parse(name: &str, arguments: Vec<Value>) -> Result<Command> {
    if arguments.len() > 1 {
        return Err(Error::invalid_params(format!("arguments[1]: {name} takes one argument, an object")));
    }
    let argument = arguments.into_iter().next().unwrap_or_default();
    match name {
        ASK => parse_ask(argument).map(Command::Ask),
        STOP => parse_argument(argument).map(Command::Stop),
        ACCEPT_EDITS => parse_argument(argument).map(Command::AcceptEdits),
        REJECT_EDITS => parse_argument(argument).map(Command::RejectEdits),
        SHOW_EDITS => parse_argument(argument).map(Command::ShowEdits),
        UNDO_TURN => parse_argument(argument).map(|params| Command::Undo(Direction::Undo, params)),
        REDO_TURN => parse_argument(argument).map(|params| Command::Undo(Direction::Redo, params)),
        NEW_THREAD => parse_argument(argument).map(|NoParams {}| Command::NewThread),
        STATUS => parse_argument(argument).map(|NoParams {}| Command::Status),
        _ => {
            let known = NAMES.join(", ");
            Err(Error::invalid_params(format!(
                "command: there is no command {name}; the commands are {known}"
            )))
        }
    }
}

/// The prompt alone may stand for the object, for editors whose users type arguments by hand.
fn parse_ask(argument: Value) -> Result<AskParams> {
    let argument = match argument {
        Value::String(prompt) => json!({ "prompt": prompt }),
        argument => argument,
    };
    let ask: AskParams = parse_argument(argument)?;
    if ask.prompt.trim().is_empty() {
        return Err(Error::invalid_params("arguments[0].prompt: must not be empty"));
    }
    if ask.range.is_some() && ask.uri.is_none() {
        return Err(Error::invalid_params("arguments[0].uri: must be there when range is"));
    }
    Ok(ask)
}

/// No argument, or `null`, is an object without members.
fn parse_argument<T: DeserializeOwned>(argument: Value) -> Result<T> {
    let argument = match argument {
        Value::Null => json!({}),
        Value::Object(_) => with_whole_numbers(argument),
        _ => return Err(Error::invalid_params("arguments[0]: must be an object")),
    };
    serde_path_to_error::deserialize(argument).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { format!(".{path}") };
        Error::invalid_params(format!("arguments[0]{path}: {}", error.inner()))
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(name: &str, arguments: Value, expect: Expect) {
        let arguments = serde_json::from_value(arguments).unwrap();
        match parse(name, arguments) {
            Ok(command) => expect.assert_eq(&format!("{command:?}")),
            Err(error) => expect.assert_eq(&format!("{}: {}", error.code, error.message)),
        }
    }

    #[test]
    fn an_ask_needs_only_its_prompt() {
        check(
            "askls.ask",
            json!([{ "prompt": "why?" }]),
            expect![[
                r#"Ask(AskParams { prompt: "why?", uri: None, range: None, thread_id: None, model: None, mode: Ask, diagnostics: [] })"#
            ]],
        );
        check(
            "askls.ask",
            json!(["why?"]),
            expect![[
                r#"Ask(AskParams { prompt: "why?", uri: None, range: None, thread_id: None, model: None, mode: Ask, diagnostics: [] })"#
            ]],
        );
    }

    #[test]
    fn a_wrong_argument_is_named_by_its_path() {
        let range =
            json!({ "start": { "line": "one", "character": 0 }, "end": { "line": 1, "character": 0 } });
        check(
            "askls.ask",
            json!([{ "prompt": "why?", "uri": "file:///a", "range": range }]),
            expect![[r#"-32602: arguments[0].range.start.line: invalid type: string "one", expected u32"#]],
        );
        check(
            "askls.ask",
            json!([{ "prompt": 1 }]),
            expect![[r#"-32602: arguments[0].prompt: invalid type: integer `1`, expected a string"#]],
        );
        check(
            "askls.ask",
            json!([{ "prompt": " " }]),
            expect![[r#"-32602: arguments[0].prompt: must not be empty"#]],
        );
        check("askls.ask", json!([]), expect![[r#"-32602: arguments[0]: missing field `prompt`"#]]);
        check(
            "askls.ask",
            json!([{ "prompt": "why?", "mode": "guess" }]),
            expect![
                "-32602: arguments[0].mode: unknown variant `guess`, expected one of `ask`, `edit`, `plan`"
            ],
        );
        check(
            "askls.ask",
            json!([{ "prompt": "why?", "promt": "" }]),
            expect![
                "-32602: arguments[0].promt: unknown field `promt`, expected one of `prompt`, `uri`, `range`, `threadId`, `model`, `mode`, `diagnostics`"
            ],
        );
        check("askls.stop", json!([[]]), expect!["-32602: arguments[0]: must be an object"]);
        check(
            "askls.status",
            json!([{}, {}]),
            expect!["-32602: arguments[1]: askls.status takes one argument, an object"],
        );
    }

    #[test]
    fn a_whole_number_may_have_a_point_and_no_part_of_one() {
        check(
            "askls.acceptEdits",
            json!([{ "hunks": [1.0, 2.0] }]),
            expect![
                "AcceptEdits(AcceptParams { thread_id: None, uri: None, hunks: Some([1, 2]), partial: false, report: false })"
            ],
        );
        check(
            "askls.acceptEdits",
            json!([{ "hunks": [1.5] }]),
            expect!["-32602: arguments[0].hunks[0]: invalid type: floating point `1.5`, expected u32"],
        );
    }

    #[test]
    fn commands_without_needs_take_nothing() {
        check("askls.stop", json!([]), expect!["Stop(StopParams { thread_id: None, after: Nothing })"]);
        check("askls.newThread", json!([null]), expect!["NewThread"]);
        check(
            "askls.undoTurn",
            json!([]),
            expect!["Undo(Undo, UndoParams { thread_id: None, on_conflict: Ask })"],
        );
        check(
            "askls.redoTurn",
            json!([{ "onConflict": "merge" }]),
            expect!["Undo(Redo, UndoParams { thread_id: None, on_conflict: Merge })"],
        );
        check(
            "askls.acceptEdits",
            json!([{}]),
            expect![
                "AcceptEdits(AcceptParams { thread_id: None, uri: None, hunks: None, partial: false, report: false })"
            ],
        );
    }

    #[test]
    fn an_unknown_command_is_refused_with_the_known_ones() {
        check(
            "askls.sing",
            json!([]),
            expect![
                "-32602: command: there is no command askls.sing; the commands are askls.ask, askls.stop, askls.acceptEdits, askls.rejectEdits, askls.showEdits, askls.undoTurn, askls.redoTurn, askls.newThread, askls.status"
            ],
        );
    }
}
