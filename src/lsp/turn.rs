//! One ask from the parsed command to its result: the turn runs in a task of its own, and the handler only waits.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tracing::Instrument as _;

use super::{
    answer::{self, Announcement},
    approver::EditorApprover,
    commands::AskParams,
    editor::plain,
    edits::{self, EditsEnd, Proposer, StepApplier, StepEdits},
    lsp_types::{NumberOrString, ProgressToken},
    observer::{End, Observer, Token},
    session::{MAX_TURNS, RunningTurn, Session, ThreadError},
    settings::Fault,
};
use crate::{
    agent::{Agent, EditApplier, Focus, Mode, Thread, TurnContext, TurnResult, UserInput},
    config::{Background, Edits, Settings, ShowAnswer},
    protocol::{StopReason, ThreadId},
    tools::Toolbox,
    workspace::{Outlook, TurnFiles, checkpoints::TurnMark, position},
};

/// LSP's `RequestFailed`: the request was right and could not be done.
const REQUEST_FAILED: i64 = -32803;

/// Starts a turn and waits for its end, which is the result; a client that would not wait so long gets the thread's
/// id at once. Cancelling the request cancels the turn, and is answered when the turn has ended.
pub(super) async fn ask(
    session: &Arc<Session>,
    params: AskParams,
    token: Option<ProgressToken>,
    cancelled: CancellationToken,
) -> Result<Value> {
    if session.turn_count() >= MAX_TURNS {
        return Err(failed(format!("{MAX_TURNS} turns wait already; try again when some have ended")));
    }
    let thread_id = params.thread_id.clone().unwrap_or_else(|| session.new_thread());
    let thread = session.take_thread(&thread_id).map_err(|error| match error {
        ThreadError::Unknown(_) => Error::invalid_params(format!("arguments[0].threadId: {error}")),
        ThreadError::Busy(_) => failed(error.to_string()),
    })?;
    let cancel = session.turn_token();
    let last_step = CancellationToken::new();
    let own_token = || {
        let number = session.next_number();
        Token::Created(NumberOrString::String(format!("askls-turn-{number}")))
    };
    let token = token.map(Token::Given).or_else(|| session.client().work_done_progress.then(own_token));
    let progress = token.clone().map(|(Token::Given(token) | Token::Created(token))| token);
    let number = session.add_turn(RunningTurn {
        thread_id: thread_id.clone(),
        cancel: cancel.clone(),
        progress,
        task: None,
        last_step: last_step.clone(),
    });
    let (settings, fault) = session.settings_of_ask().await;
    let turn =
        Turn { session: Arc::clone(session), params, fault, cancel: cancel.clone(), last_step, number };
    let is_background = match settings.background() {
        Background::Always => true,
        Background::Never => false,
        Background::Auto => session.client().gives_up_on_commands,
    };
    let span = tracing::info_span!("turn", thread = %thread_id, number);
    let mut task = session.spawn_turn(turn.run(thread, settings, token).instrument(span));
    session.update_turn(number, |turn| turn.task = Some(task.abort_handle()));
    if is_background {
        return Ok(json!({ "threadId": thread_id, "background": true }));
    }
    // Should this future be dropped, nobody wants the turn any more.
    let unwanted = cancel.clone().drop_guard();
    let result = tokio::select! {
        result = &mut task => result,
        () = cancelled.cancelled() => {
            cancel.cancel();
            task.await
        }
    };
    unwanted.disarm();
    result.unwrap_or_else(|error| {
        tracing::error!(%error, "a turn did not end by itself");
        Err(Error::request_cancelled())
    })
}

fn failed(message: String) -> Error {
    Error { code: ErrorCode::ServerError(REQUEST_FAILED), message: message.into(), data: None }
}

struct Turn {
    session: Arc<Session>,
    params: AskParams,
    /// What of the settings it ends with.
    fault: Option<Fault>,
    cancel: CancellationToken,
    /// Ends the turn after the step that runs.
    last_step: CancellationToken,
    number: u64,
}

impl Turn {
    /// Runs the turn and everything that follows from its end. A panic costs this turn and nothing else: the thread is
    /// whole at any moment and goes on.
    async fn run(self, mut thread: Thread, settings: Settings, token: Option<Token>) -> Result<Value> {
        let thread_id = thread.id().clone();
        let observer = Observer::start(Arc::clone(&self.session.editor), token);
        let outlook = match settings.edits() {
            Edits::Apply => Outlook::Applied,
            Edits::Propose | Edits::Immediate => Outlook::Proposed,
        };
        let files = TurnFiles::new(Arc::clone(&self.session.workspace)).with_outlook(outlook);
        let files = files.with_masking(settings.masking()).with_surroundings(settings.surroundings());
        let files = Arc::new(files);
        let mark = TurnMark::new(&thread_id, &self.params.prompt);
        let steps = Arc::new(StepEdits::of(Proposer::new(self.session.next_number(), mark)));
        let work = self.work(&mut thread, &settings, &files, &steps, &observer);
        let result = AssertUnwindSafe(work).catch_unwind().await;
        let ended = match result {
            Ok(result) => {
                Some((self.end_edits(&thread_id, &settings, &files, &steps, &result).await, result))
            }
            Err(_panic) => None,
        };
        self.session.give_back_thread(thread);
        self.session.remove_turn(self.number);
        let Some((edits, result)) = ended else {
            observer.finish(End::of("failed by a fault of askls".to_owned())).await;
            return Err(Error {
                code: ErrorCode::InternalError,
                message: "internal error: the turn failed by a fault of askls; its thread can go on".into(),
                data: None,
            });
        };
        let Some(edits) = edits else {
            let told = "cancelled; its edits stay on offer".to_owned();
            observer.finish(End::cancelled(told, &result.answer, &thread_id)).await;
            return Err(Error::request_cancelled());
        };
        let told = answer::ending(&result);
        let end = match result.stop_reason {
            StopReason::Cancelled => End::cancelled(told, &result.answer, &thread_id),
            _ => End::of(told),
        };
        observer.finish(end).await;
        self.announce(&thread_id, &settings, &result, &edits).await;
        if result.stop_reason == StopReason::Cancelled {
            return Err(Error::request_cancelled());
        }
        let unsaved: Vec<_> = edits.unsaved.iter().map(|path| self.session.workspace.uri(path)).collect();
        let mut json = to_json(&thread_id, &result, &edits, &unsaved);
        let jobs = self.session.jobs(&thread_id).running();
        if !jobs.is_empty() {
            json["jobs"] = json!(jobs);
        }
        Ok(json)
    }

    /// Shows the answer, and asks about the edits: in one question, since two would lie over each other.
    async fn announce(
        &self,
        thread_id: &ThreadId,
        settings: &Settings,
        result: &TurnResult,
        edits: &EditsEnd,
    ) {
        let question = edits.question;
        let mut announcement = Announcement::of(settings, result);
        let in_short = || self.fault.as_ref()?.in_short(result.detail.as_deref()?);
        if let (Some(announcement), Some(words)) = (&mut announcement, in_short()) {
            announcement.say(words);
        }
        if let Some(announcement) = &mut announcement {
            let jobs = run_on(&self.session.jobs(thread_id).running());
            edits.notes().iter().chain(&jobs).for_each(|note| announcement.add(note));
        }
        let in_question = question.and_then(|_| {
            // An answer that opens as a document asks nothing.
            announcement.take_if(|_| settings.show_answer() == ShowAnswer::Message)
        });
        if let Some(announcement) = announcement {
            self.session.present(settings, announcement).await;
        }
        if let Some(number) = question {
            let (session, thread_id, settings) =
                (Arc::clone(&self.session), thread_id.clone(), settings.clone());
            let ask = async move { session.ask_about(&thread_id, number, &settings, in_question).await };
            self.session.spawn(ask);
        }
    }

    /// `None` when the turn is cancelled while its edits are being applied.
    async fn end_edits(
        &self,
        thread_id: &ThreadId,
        settings: &Settings,
        files: &Arc<TurnFiles>,
        steps: &StepEdits,
        result: &TurnResult,
    ) -> Option<EditsEnd> {
        let end = self.session.end_edits(thread_id, settings, files, steps, result);
        if result.stop_reason == StopReason::Cancelled {
            return Some(end.await);
        }
        self.cancel.run_until_cancelled(end).await
    }

    async fn work(
        &self,
        thread: &mut Thread,
        settings: &Settings,
        files: &Arc<TurnFiles>,
        steps: &Arc<StepEdits>,
        observer: &Observer,
    ) -> TurnResult {
        let session = &self.session;
        let prepare = async {
            // Closed never.
            let place = Arc::clone(&session.turn_permits).acquire_owned().await.ok();
            observer.started();
            let choose = session.choose_model(settings, self.params.model.clone());
            let chosen = settings.limits().in_time(choose).await;
            edits::restage(session, thread.id(), files).await;
            (place, chosen)
        };
        let (place, chosen, waited) = match self.cancel.run_until_cancelled(prepare).await {
            None => return no_answer(StopReason::Cancelled, None),
            Some((_, Err(ended))) => return ended,
            Some((_, Ok((Err(error), _)))) => {
                return no_answer(error.kind.stop_reason(), Some(error.message));
            }
            Some((place, Ok((Ok(chosen), waited)))) => (place, chosen, waited),
        };
        let tools = Toolbox::standard(&settings.tools()).for_model(&chosen.client.info().name);
        let limits = settings.limits_for(&chosen.client.info().name);
        if let Some(warning) = limits.unheld(chosen.client.info()) {
            session.warn_once(warning).await;
        }
        let agent = Agent {
            model: chosen.client,
            tools: if self.params.mode == Mode::Plan { tools.only_reading() } else { tools },
            limits,
            policy: settings.policy(),
            retries: settings.retries(),
            first_tool: settings.first_tool(),
        };
        let input = UserInput {
            prompt: self.params.prompt.clone(),
            mode: self.params.mode,
            focus: self.focus(files).await,
            folder: None,
            news: session.take_news(thread.id()),
        };
        let limit = settings.approval_timeout();
        let kept_rules = settings.kept_rules();
        let approver = EditorApprover::new(Arc::clone(session), limit, place, kept_rules, observer.events());
        let approver = Arc::new(approver);
        let applier = (settings.edits() == Edits::Immediate).then(|| {
            Arc::new(StepApplier {
                session: Arc::clone(session),
                thread_id: thread.id().clone(),
                files: Arc::clone(files),
                approver: Arc::clone(&approver),
                steps: Arc::clone(steps),
            }) as Arc<dyn EditApplier>
        });
        let context = TurnContext {
            files: Arc::clone(files),
            events: observer.events(),
            approver,
            guardrails: settings.guardrails(),
            applier,
            jobs: session.jobs(thread.id()),
            cancel: self.cancel.clone(),
            last_step: self.last_step.clone(),
        };
        agent.run_turn_after(waited, thread, input, &context).await
    }

    /// Where the user was when they asked; `None` when they did not say or the place is outside the workspace.
    async fn focus(&self, files: &Arc<TurnFiles>) -> Option<Focus> {
        let uri = self.params.uri.clone()?;
        let range = self.params.range.map(position::Range::from);
        let diagnostics = self.params.diagnostics.clone();
        let encoding = self.session.client().encoding;
        let files = Arc::clone(files);
        let focus = move || {
            let path = match files.resolve(&uri) {
                Ok(path) => path,
                Err(error) => {
                    tracing::warn!(%error, "the place of a question is not used");
                    return None;
                }
            };
            let selection = range.filter(|range| range.start != range.end).and_then(|range| {
                let text = files.read(&path).ok()?.text;
                let start = position::offset(&text, range.start, encoding);
                let end = position::offset(&text, range.end, encoding);
                Some(files.shown_part(&text, start..end).into_owned())
            });
            let diagnostics = diagnostics.iter().map(|line| files.shown(line).into_owned()).collect();
            Some(Focus { path, lines: range.map(lines), selection, diagnostics })
        };
        tokio::task::spawn_blocking(focus).await.ok().flatten()
    }
}

/// One-based, inclusive. A selection of whole lines ends at the start of the line after them.
fn lines(range: position::Range) -> (u32, u32) {
    let ends_before = range.end.character == 0 && range.end.line > range.start.line;
    let last = if ends_before { range.end.line - 1 } else { range.end.line };
    (range.start.line.saturating_add(1), last.saturating_add(1))
}

/// What the turn has left running, for the user; each job is named by its command.
fn run_on(jobs: &[String]) -> Option<String> {
    let (first, others) = jobs.split_first()?;
    Some(match others.len() {
        0 => format!("still running in the background: {first}; askls.stop ends it"),
        more => format!("still running in the background: {first} and {more} more; askls.stop ends them"),
    })
}

fn no_answer(stop_reason: StopReason, detail: Option<String>) -> TurnResult {
    TurnResult::without_request(stop_reason, detail, String::new())
}

fn to_json(thread_id: &ThreadId, result: &TurnResult, edits: &EditsEnd, unsaved: &[String]) -> Value {
    let mut json = json!({
        "threadId": thread_id,
        "answer": result.answer,
        "stopReason": result.stop_reason,
        "steps": result.steps,
        "files": edits.files,
        "edits": edits.word.as_str(),
        "usage": {
            "inputTokens": result.usage.input_tokens,
            "cachedTokens": result.usage.cached_tokens,
            "cacheWriteTokens": result.usage.cache_write_tokens,
            "outputTokens": result.usage.output_tokens,
            "reasoningTokens": result.usage.reasoning_tokens,
        },
    });
    if !unsaved.is_empty() {
        json["unsaved"] = json!(unsaved);
    }
    if result.is_estimated {
        json["usage"]["estimated"] = json!(true);
    }
    if let Some(cost) = result.cost {
        json["costUsd"] = json!(cost);
    }
    if let Some(limit) = result.stop_reason.limit() {
        json["limit"] = json!(limit);
    }
    if let Some(fault) = result.stop_reason.fault() {
        json["fault"] = json!(fault);
    }
    let detail: Vec<_> = result.detail.iter().chain(&edits.reason).map(String::as_str).collect();
    if !detail.is_empty() {
        json["detail"] = json!(plain(&detail.join("; ")));
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: (u32, u32), end: (u32, u32)) -> position::Range {
        let position = |(line, character)| position::Position { line, character };
        position::Range { start: position(start), end: position(end) }
    }

    #[test]
    fn jobs_that_run_on_are_told() {
        let told = |jobs: &[&str]| run_on(&jobs.iter().map(|&job| job.to_owned()).collect::<Vec<_>>());
        assert_eq!(told(&[]), None);
        assert_eq!(
            told(&["npm start"]).as_deref(),
            Some("still running in the background: npm start; askls.stop ends it")
        );
        assert_eq!(
            told(&["npm start", "make"]).as_deref(),
            Some("still running in the background: npm start and 1 more; askls.stop ends them")
        );
    }

    #[test]
    fn lines_of_a_selection_are_those_that_look_selected() {
        assert_eq!(lines(range((0, 0), (0, 0))), (1, 1));
        assert_eq!(lines(range((2, 4), (3, 1))), (3, 4));
        assert_eq!(lines(range((2, 0), (4, 0))), (3, 4));
    }
}
