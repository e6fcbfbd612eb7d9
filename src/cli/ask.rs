//! `askls ask`: one turn over a folder.

use std::{
    io::{self, IsTerminal as _, Read as _},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    agent::{
        Agent, Approver, EditApplier, EventSink as _, Limits, Mode, OnLimit, Thread, TurnContext, TurnResult,
        UserInput,
    },
    config::{Environment, KeptRules, Settings},
    model::{ModelError, select},
    protocol::{Event, StopReason, ThreadId, tokens_in_short},
    signals::Signals,
    tools::{Toolbox, jobs::Jobs},
    workspace::{Outlook, TurnFiles, Workspace, checkpoints::TurnMark},
};

use super::{
    AskArguments, Exit,
    approver::{Nobody, Terminal},
    complain, here,
    printer::Printer,
    view::{Detail, Format, Style, at_limit},
    writer::{End, Keeper, Writer, counted},
};

/// Longest prompt from stdin: far more than any model's window holds.
const LONGEST_PROMPT: u64 = 16 << 20;

/// What is said of edits that wait.
const COMMANDS_RAN_WITHOUT: &str = "the commands of this turn ran without the edits above";

/// How long a turn that is given up may take to end its child processes.
const LAST_MOMENT: Duration = Duration::from_millis(300);

pub(super) async fn run(arguments: AskArguments, environment: &Environment) -> anyhow::Result<Exit> {
    let roots = arguments.common.roots(environment)?;
    let others = [
        ("approvals", arguments.approve.as_deref().map(Into::into)),
        ("on_limit", arguments.on_limit.as_deref().map(Into::into)),
    ];
    let others = others.into_iter().chain(arguments.bounds.settings());
    let loaded = arguments.common.settings(environment, &roots, others)?;
    let prompt = prompt(&arguments.prompt)?;
    let mut signals = Signals::listen().context("signals")?;
    let style = style(&arguments, environment, loaded.settings.limits().on_limit);
    let printer = Printer::start(style)?;
    for warning in loaded.warnings_beside_error() {
        printer.notice(format!("warning: {warning}"));
    }
    let outlook = if arguments.apply { Outlook::Written } else { Outlook::Proposed };
    let folder = arguments.common.root.is_default().then(|| folder_in(&roots)).flatten();
    let files = TurnFiles::new(Arc::new(Workspace::new(roots))).with_outlook(outlook);
    let files = files.with_masking(loaded.settings.masking());
    let files = Arc::new(files.with_surroundings(loaded.settings.surroundings()));
    let cancel = CancellationToken::new();
    let jobs = Jobs::default();
    let terminal = terminal(&printer, loaded.settings.approval_timeout(), loaded.settings.kept_rules())?;
    let thread = Thread::new();
    let thread_id = thread.id().clone();
    let keeper =
        Keeper { folder: loaded.settings.checkpoints_folder(), turn: TurnMark::new(&thread_id, &prompt) };
    let writer = arguments.apply.then(|| {
        Arc::new(Writer {
            files: Arc::clone(&files),
            printer: printer.clone(),
            terminal: terminal.clone(),
            keeper: Arc::new(keeper),
            account: Arc::default(),
        })
    });
    let context = TurnContext {
        files: Arc::clone(&files),
        events: Arc::new(printer.clone()),
        approver: match &terminal {
            Some(terminal) => Arc::clone(terminal) as Arc<dyn Approver>,
            None => Arc::new(Nobody { printer: printer.clone() }),
        },
        guardrails: loaded.settings.guardrails(),
        applier: writer.clone().map(|writer| writer as Arc<dyn EditApplier>),
        jobs: jobs.clone(),
        cancel: cancel.clone(),
        last_step: CancellationToken::new(),
    };
    let mode = arguments.mode.unwrap_or_default().mode();
    let input = UserInput { prompt, mode, folder, ..UserInput::default() };
    let turn = turn(loaded.settings, thread, input, context, printer.clone(), style.format);
    let mut turn = AbortOnDropHandle::new(tokio::spawn(turn));
    let ended = tokio::select! {
        ended = &mut turn => ended,
        () = signals.next() => {
            cancel.cancel();
            tokio::select! {
                ended = &mut turn => ended,
                () = signals.next() => {
                    turn.abort();
                    // Its child processes end when it is dropped, which is when this has waited for it.
                    if !matches!(tokio::time::timeout(LAST_MOMENT, turn).await, Ok(Ok(_))) {
                        let detail = "given up at once, so its steps and tokens are not counted".to_owned();
                        printer.emit(&end_of(&thread_id, &uncounted(StopReason::Cancelled, Some(detail))));
                    }
                    jobs.end().await;
                    if let Some(writer) = &writer {
                        let _ = tokio::time::timeout(LAST_MOMENT, writer.report(End::Stopped)).await;
                    }
                    let _ = tokio::time::timeout(LAST_MOMENT, printer.flush()).await;
                    return Ok(Exit::Turn(StopReason::Cancelled));
                }
            }
        }
    };
    for job in jobs.running() {
        printer.notice(format!("a background job ends with this turn: {job}"));
    }
    jobs.end().await;
    let exit = match ended {
        Ok(result) => finish(&result, &files, &printer, writer.as_deref(), &mut signals).await,
        Err(error) => {
            printer.notice(format!("error: the turn broke off, which is a fault of askls: {error}"));
            if let Some(writer) = &writer {
                writer.report(End::Unfinished).await;
            }
            Exit::Turn(StopReason::Interrupted)
        }
    };
    let failure = tokio::select! {
        failure = printer.flush() => failure,
        // A terminal that is stopped, or a pipe that nobody reads: the answer may not arrive, but its end gets a moment.
        () = signals.next() => {
            let _ = tokio::time::timeout(LAST_MOMENT, printer.flush()).await;
            return Ok(Exit::Turn(StopReason::Cancelled));
        }
    };
    Ok(match failure {
        Some(error) => {
            complain(&format!("error: the answer could not be written to stdout: {error}\n"));
            if exit == Exit::Turn(StopReason::Answer) { Exit::NotWritten } else { exit }
        }
        None => exit,
    })
}

/// Chooses a model and runs the turn; tells the printer which model it is when the user did not name it.
async fn turn(
    settings: Settings,
    mut thread: Thread,
    input: UserInput,
    context: TurnContext,
    printer: Printer,
    format: Format,
) -> TurnResult {
    let choice = settings.model_choice();
    let limits = settings.limits();
    let chosen = tokio::select! {
        chosen = limits.in_time(select::choose(&choice)) => chosen,
        () = context.cancel.cancelled() => Err(uncounted(StopReason::Cancelled, None)),
    };
    let (chosen, waited) = match chosen {
        Ok((Ok(chosen), waited)) => (chosen, waited),
        Ok((Err(ModelError { kind, message, .. }), _)) => {
            printer.notice(format!("error: {message}"));
            return not_begun(uncounted(kind.stop_reason(), Some(message)), thread.id(), &printer, format);
        }
        Err(ended) => {
            if let Some(limit) = ended.stop_reason.limit() {
                let detail = ended.detail.as_deref().unwrap_or_default();
                printer.notice(at_limit(limit, detail, limits.on_limit));
            }
            return not_begun(ended, thread.id(), &printer, format);
        }
    };
    tracing::info!(model = %chosen.client.info(), why = %chosen.why, "model chosen");
    // As JSON the first event names the model.
    if format == Format::Text && choice.model.is_none() {
        printer.notice(format!("model: {}, since {}", chosen.client.info(), chosen.why));
    }
    let limits = settings.limits_for(&chosen.client.info().name);
    if let Some(warning) = limits.unheld(chosen.client.info()) {
        printer.notice(format!("warning: {warning}"));
    }
    let tools = Toolbox::standard(&settings.tools()).for_model(&chosen.client.info().name);
    let tools = if input.mode == Mode::Plan { tools.only_reading() } else { tools };
    let agent = Agent {
        model: chosen.client,
        tools,
        limits,
        policy: settings.policy(),
        retries: settings.retries(),
        first_tool: settings.first_tool(),
    };
    let limits = agent.limits.clone();
    let result = agent.run_turn_after(waited, &mut thread, input, &context).await;
    for exceeded in exceeded(&result, &limits) {
        printer.notice(exceeded);
    }
    result
}

/// Tells whoever reads events how the ask ended: people have been told.
fn not_begun(ended: TurnResult, thread: &ThreadId, printer: &Printer, format: Format) -> TurnResult {
    if format == Format::Json {
        printer.emit(&end_of(thread, &ended));
    }
    ended
}

/// The bounds beyond which the turn went with its answer: they are looked at after each reply, and a whole answer is kept.
fn exceeded(result: &TurnResult, limits: &Limits) -> Vec<String> {
    if result.stop_reason != StopReason::Answer {
        return Vec::new();
    }
    let tokens = limits.max_turn_tokens.filter(|most| result.usage.total() > *most);
    let cost = limits.max_cost.filter(|most| result.cost.is_some_and(|cost| cost > *most));
    let tokens = tokens.map(|most| format!("max_turn_tokens ({})", tokens_in_short(most)));
    let cost = cost.map(|most| format!("max_cost ({most})"));
    let beyond =
        |bound| format!("warning: {bound}: the answer took it beyond, and is kept, since it is whole");
    tokens.into_iter().chain(cost).map(beyond).collect()
}

/// Shows the edits, and writes those that are still staged when the agent came to its end, if that was asked for.
async fn finish(
    result: &TurnResult,
    files: &TurnFiles,
    printer: &Printer,
    writer: Option<&Writer>,
    signals: &mut Signals,
) -> Exit {
    let exit = Exit::Turn(result.stop_reason);
    let Some(writer) = writer else {
        let proposal = files.proposal();
        if !proposal.is_empty() {
            printer.diff(proposal.diff());
            printer.notice(match result.is_whole() {
                true => format!("nothing was written: --apply writes this change of {}", counted(&proposal)),
                false => format!("nothing was written{}", End::Unfinished.of_change(&proposal)),
            });
        }
        if files.commands_ran_without() {
            printer.notice(COMMANDS_RAN_WITHOUT);
        }
        return exit;
    };
    printer.diff(writer.whole().await.diff());
    if !result.is_whole() {
        let is_written = writer.report(End::Unfinished).await;
        // A turn that its limit ends with an answer has not done what was asked for.
        return if exit == Exit::Turn(StopReason::Answer) && !is_written { Exit::NotWritten } else { exit };
    }
    tokio::select! {
        () = writer.write_rest() => {}
        () = signals.next() => {
            writer.report(End::Stopped).await;
            return Exit::Turn(StopReason::Cancelled);
        }
    }
    if writer.report(End::Whole).await { exit } else { Exit::NotWritten }
}

/// The end of a turn that has no other event to tell of it.
fn end_of(thread_id: &ThreadId, ended: &TurnResult) -> Event {
    Event::TurnEnded {
        thread_id: thread_id.clone(),
        stop_reason: ended.stop_reason,
        limit: ended.stop_reason.limit(),
        fault: ended.stop_reason.fault(),
        detail: ended.detail.clone(),
        answer: ended.answer.clone(),
        steps: ended.steps,
        usage: ended.usage,
        cost: ended.cost,
        is_estimated: ended.is_estimated,
    }
}

fn uncounted(stop_reason: StopReason, detail: Option<String>) -> TurnResult {
    TurnResult::without_request(stop_reason, detail, String::new())
}

/// The folder in which the command runs, as a path in the project; `None` when it is the project's own.
fn folder_in(roots: &[PathBuf]) -> Option<String> {
    let here = here().ok()?;
    let folder = roots.iter().find_map(|root| here.strip_prefix(root).ok())?;
    let parts: Vec<_> = folder.iter().map(|part| part.to_string_lossy()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The words of the command line, or all of stdin for `-`.
fn prompt(words: &[String]) -> anyhow::Result<String> {
    let prompt = if words == ["-"] {
        let mut bytes = Vec::new();
        io::stdin().lock().take(LONGEST_PROMPT + 1).read_to_end(&mut bytes).context("stdin")?;
        anyhow::ensure!(bytes.len() as u64 <= LONGEST_PROMPT, "stdin: more than {LONGEST_PROMPT} bytes");
        String::from_utf8(bytes).context("stdin")?
    } else {
        words.join(" ")
    };
    anyhow::ensure!(!prompt.trim().is_empty(), "the prompt is empty: say what to ask");
    Ok(prompt)
}

fn style(arguments: &AskArguments, environment: &Environment, on_limit: OnLimit) -> Style {
    Style {
        format: if arguments.json { Format::Json } else { Format::Text },
        detail: if arguments.verbose { Detail::All } else { Detail::Names },
        stdout_is_terminal: io::stdout().is_terminal(),
        dim: io::stderr().is_terminal() && !environment.no_color(),
        live: io::stderr().is_terminal() && !arguments.json && !arguments.verbose,
        on_limit,
    }
}

/// `None` where nobody can be asked.
fn terminal(
    printer: &Printer,
    timeout: Duration,
    kept_rules: Option<KeptRules>,
) -> io::Result<Option<Arc<Terminal>>> {
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        Ok(Some(Arc::new(Terminal::start(printer.clone(), timeout, kept_rules)?)))
    } else {
        Ok(None)
    }
}
