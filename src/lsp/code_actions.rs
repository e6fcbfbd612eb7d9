//! Code actions: a turn, or the word about its edits, from the light bulb of any editor. Each is a command and nothing
//! else, since some editors resolve nothing and apply no edits of their own.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    commands, documents,
    editor::one_line,
    edits::{Offer, anchor, line_count, place},
    hints,
    lsp_types::{
        self, CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, Command, Diagnostic,
        DiagnosticSeverity, NumberOrString,
    },
    session::Session,
};
use crate::{
    protocol::ThreadId,
    workspace::{
        position,
        review::{HunkKind, HunkState, HunkView},
    },
};

/// Longest part of a title that the user or a tool wrote.
const MAX_TITLE: usize = 80;

/// Longest question in a comment.
const MAX_QUESTION: usize = 2000;

/// Diagnostics that become actions; editors send all that touch the selection.
const MAX_DIAGNOSTICS: usize = 5;

/// What opens a comment in some language, at the start of a line.
const COMMENT_MARKS: [&str; 13] =
    ["///", "//!", "//", "##", "#", "--", ";;", ";", "/**", "/*", "*", "<!--", "%"];

/// One line of the editor's menu.
struct Action {
    title: String,
    kind: CodeActionKind,
    command: &'static str,
    argument: Value,
    diagnostic: Option<Diagnostic>,
}

pub(super) async fn code_actions(
    session: &Arc<Session>,
    params: &CodeActionParams,
) -> Vec<CodeActionOrCommand> {
    let uri = params.text_document.uri.as_str();
    let mut actions = edit_actions(session, uri, params.range).await;
    actions.extend(question_action(session, uri, params));
    // Our own hints are no problems.
    let problems = params.context.diagnostics.iter().filter(|it| it.source.as_deref() != Some(hints::SOURCE));
    actions.extend(problems.take(MAX_DIAGNOSTICS).map(|it| diagnostic_action(uri, it)));
    actions.extend(selection_actions(uri, params));
    actions.retain(|action| is_wanted(&action.kind, params.context.only.as_deref()));
    let has_literals = session.client().code_action_literals;
    actions.into_iter().map(|action| action.into_lsp(has_literals)).collect()
}

/// What can become of edits that are proposed in this file: of those on the selected lines, of all in the file, of all
/// that a turn proposes.
async fn edit_actions(session: &Arc<Session>, uri: &str, range: lsp_types::Range) -> Vec<Action> {
    if session.offers.is_empty() {
        return Vec::new();
    }
    let Ok(path) = session.workspace.locate(uri) else { return Vec::new() };
    let looking = Arc::clone(session);
    let look = move || {
        let lines = looking.workspace.open_document(&path).map_or(usize::MAX, |it| line_count(&it.text));
        let uri = looking.workspace.uri(&path);
        let is_lost = looking.lost_documents.contains_key(&uri);
        let offered = |(thread_id, offer, hunks): (ThreadId, Offer, Vec<HunkView>)| {
            let files = offer.review.paths().len();
            Offered { thread_id, uri: uri.clone(), files, hunks, lines, is_lost }
        };
        looking.offered_in(&path).into_iter().map(offered).collect::<Vec<_>>()
    };
    let offered = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    let mut actions: Vec<Action> = offered.iter().flat_map(|offered| offered.hunk_actions(range)).collect();
    actions.extend(file_actions(&offered));
    // Where several turns wait, it is the one whose edit is selected, else the newest.
    let selected = offered.iter().find(|offered| !offered.hunk_actions(range).is_empty());
    actions.extend(selected.or(offered.first()).into_iter().flat_map(Offered::turn_actions));
    actions
}

/// Of everything in the file, whichever turn proposes it.
fn file_actions(offered: &[Offered]) -> Vec<Action> {
    let Some(first) = offered.first() else { return Vec::new() };
    let mut argument = json!({ "uri": first.uri });
    if offered.len() == 1 {
        argument["threadId"] = json!(first.thread_id);
    }
    let mut actions = Vec::new();
    if offered.iter().any(Offered::can_be_applied) {
        let mut accept = argument.clone();
        accept["report"] = json!(true);
        actions.push(edit_action("Apply all agent edits in this file", commands::ACCEPT_EDITS, accept));
    }
    actions.push(edit_action("Reject all agent edits in this file", commands::REJECT_EDITS, argument));
    actions
}

/// What one turn offers in one file.
struct Offered {
    thread_id: ThreadId,
    uri: String,
    /// All files of the offer.
    files: usize,
    hunks: Vec<HunkView>,
    /// Of the file.
    lines: usize,
    /// Nothing can be applied to a text that is not known.
    is_lost: bool,
}

impl Offered {
    fn can_be_applied(&self) -> bool {
        !self.is_lost && self.hunks.iter().any(|view| view.state == HunkState::Pending)
    }

    fn turn_actions(&self) -> Vec<Action> {
        let files = if self.files == 1 { "1 file".to_owned() } else { format!("{} files", self.files) };
        let mut actions = Vec::new();
        if self.can_be_applied() {
            let argument = json!({ "threadId": self.thread_id, "report": true });
            let title = format!("Apply every edit of this turn ({files})");
            actions.push(edit_action(title, commands::ACCEPT_EDITS, argument));
        }
        let argument = json!({ "threadId": self.thread_id });
        let title = format!("Reject every edit of this turn ({files})");
        actions.push(edit_action(title, commands::REJECT_EDITS, argument));
        actions
    }

    /// Of the hunks of lines that the selection touches; several are one action.
    fn hunk_actions(&self, range: lsp_types::Range) -> Vec<Action> {
        let is_touched = |view: &&HunkView| {
            let anchor = anchor(view, self.lines);
            let is_decidable = view.kind == HunkKind::Lines && view.state != HunkState::Taken;
            is_decidable && *anchor.start() <= range.end.line && range.start.line <= *anchor.end()
        };
        let touched = self.hunks.iter().filter(is_touched);
        let (pending, unfit): (Vec<&HunkView>, Vec<&HunkView>) =
            touched.partition(|view| view.state == HunkState::Pending && !self.is_lost);
        let argument = |views: &[&HunkView]| {
            let ids: Vec<u32> = views.iter().map(|view| view.id.0).collect();
            json!({ "threadId": self.thread_id, "uri": self.uri, "hunks": ids })
        };
        let mut actions = Vec::new();
        if !pending.is_empty() {
            let (which, places) = match pending.as_slice() {
                [one] => ("this agent edit".to_owned(), place(one)),
                many => (format!("these {} agent edits", many.len()), places(many)),
            };
            let mut accept = argument(&pending);
            accept["report"] = json!(true);
            let title = format!("Apply {which} ({places})");
            actions.push(edit_action(title, commands::ACCEPT_EDITS, accept));
            let title = format!("Reject {which}");
            actions.push(edit_action(title, commands::REJECT_EDITS, argument(&pending)));
        }
        for view in unfit {
            let reason = match &view.state {
                HunkState::Conflict(_) if view.lines_now.len() > 1 => "you changed these lines",
                HunkState::Conflict(_) => "you changed this line",
                HunkState::Pending | HunkState::Taken => "the text of the file is not known",
            };
            let title = format!("Reject this agent edit ({reason})");
            actions.push(edit_action(title, commands::REJECT_EDITS, argument(&[view])));
        }
        actions
    }
}

/// From the first line to the last.
fn places(views: &[&HunkView]) -> String {
    let first = views.iter().map(|view| view.lines_now.start + 1).min().unwrap_or(1);
    let last = views.iter().map(|view| view.lines_now.end.max(view.lines_now.start + 1)).max();
    format!("lines {first}-{}", last.unwrap_or(first))
}

fn edit_action(title: impl Into<String>, command: &'static str, argument: Value) -> Action {
    Action { title: title.into(), kind: CodeActionKind::QUICKFIX, command, argument, diagnostic: None }
}

/// `// ask: how does this work?`
fn question_action(session: &Session, uri: &str, params: &CodeActionParams) -> Option<Action> {
    let document = session.workspace.overlay().by_uri(uri)?;
    let line = usize::try_from(params.range.start.line).ok()?;
    let question = question(document.text.lines().nth(line)?)?;
    Some(Action {
        title: format!("Ask agent: {}", one_line(&question, MAX_TITLE)),
        kind: CodeActionKind::QUICKFIX,
        command: commands::ASK,
        argument: json!({ "prompt": question, "uri": uri, "range": params.range }),
        diagnostic: None,
    })
}

fn question(line: &str) -> Option<String> {
    let line = line.trim();
    let mark = COMMENT_MARKS.iter().find(|&&mark| line.starts_with(mark))?;
    let text = line[mark.len()..].trim_end_matches("*/").trim_end_matches("-->").trim();
    let (ask, question) = text.split_once(':')?;
    let question = question.trim();
    let is_question = ask.trim().eq_ignore_ascii_case("ask") && !question.is_empty();
    is_question.then(|| one_line(question, MAX_QUESTION))
}

fn diagnostic_action(uri: &str, diagnostic: &Diagnostic) -> Action {
    Action {
        title: format!("Fix with agent: {}", one_line(&diagnostic.message, MAX_TITLE)),
        kind: CodeActionKind::QUICKFIX,
        command: commands::ASK,
        argument: json!({
            "prompt": format!("Fix this problem: {}", one_line(&diagnostic.message, MAX_QUESTION)),
            "uri": uri,
            "range": diagnostic.range,
            "mode": "edit",
            "diagnostics": [diagnostic_line(diagnostic)],
        }),
        diagnostic: Some(diagnostic.clone()),
    }
}

/// `line 3: error E0308 (rustc): mismatched types`
fn diagnostic_line(diagnostic: &Diagnostic) -> String {
    let severity = match diagnostic.severity {
        Some(DiagnosticSeverity::WARNING) => "warning",
        Some(DiagnosticSeverity::INFORMATION) => "information",
        Some(DiagnosticSeverity::HINT) => "hint",
        _ => "error",
    };
    let code = match &diagnostic.code {
        Some(NumberOrString::Number(code)) => format!(" {code}"),
        Some(NumberOrString::String(code)) => format!(" {code}"),
        None => String::new(),
    };
    let source = diagnostic.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
    let line = u64::from(diagnostic.range.start.line) + 1;
    format!("line {line}: {severity}{code}{source}: {}", one_line(&diagnostic.message, MAX_QUESTION))
}

fn selection_actions(uri: &str, params: &CodeActionParams) -> Vec<Action> {
    let range: position::Range = documents::range(params.range);
    if range.start == range.end {
        return Vec::new();
    }
    let problems = params.context.diagnostics.iter().filter(|it| it.source.as_deref() != Some(hints::SOURCE));
    let problems: Vec<_> = problems.take(MAX_DIAGNOSTICS).map(diagnostic_line).collect();
    let action = |title: &str, prompt: &str, mode: &str| Action {
        title: title.to_owned(),
        kind: CodeActionKind::REFACTOR,
        command: commands::ASK,
        argument: json!({
            "prompt": prompt,
            "uri": uri,
            "range": params.range,
            "mode": mode,
            "diagnostics": problems,
        }),
        diagnostic: None,
    };
    vec![
        action("Explain with agent", "Explain the selected code.", "ask"),
        action("Fix with agent", "Find what is wrong in the selected code and fix it.", "edit"),
        action("Document with agent", "Document the selected code in the style of the file.", "edit"),
        action(
            "Write tests with agent",
            "Write tests for the selected code where this project has its tests.",
            "edit",
        ),
    ]
}

/// A kind is wanted when it is, or lies below, one that the client names.
fn is_wanted(kind: &CodeActionKind, only: Option<&[CodeActionKind]>) -> bool {
    let Some(only) = only else { return true };
    only.iter().any(|wanted| {
        let rest = kind.as_str().strip_prefix(wanted.as_str());
        rest.is_some_and(|rest| wanted.as_str().is_empty() || rest.is_empty() || rest.starts_with('.'))
    })
}

impl Action {
    fn into_lsp(self, has_literals: bool) -> CodeActionOrCommand {
        let command = Command {
            title: self.title.clone(),
            command: self.command.to_owned(),
            arguments: Some(vec![self.argument]),
        };
        if !has_literals {
            return command.into();
        }
        let action = CodeAction {
            title: self.title,
            kind: Some(self.kind),
            diagnostics: self.diagnostic.map(|diagnostic| vec![diagnostic]),
            command: Some(command),
            ..CodeAction::default()
        };
        action.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_in_a_comment_is_found_in_many_languages() {
        for line in [
            "    // ask: how does it work?",
            "# Ask: how does it work?",
            "/* ask: how does it work? */",
            "<!-- ask: how does it work? -->",
            "-- ask : how does it work?",
            "/// ask:how does it work?",
        ] {
            assert_eq!(question(line).as_deref(), Some("how does it work?"), "{line}");
        }
    }

    #[test]
    fn code_and_empty_questions_are_no_questions() {
        for line in ["ask: how?", "let ask: u32 = 1;", "// task: how?", "// ask:", "// ask", ""] {
            assert_eq!(question(line), None, "{line}");
        }
    }

    #[test]
    fn only_wanted_kinds_are_offered() {
        let only = |kind: &'static str| [CodeActionKind::new(kind)];
        assert!(is_wanted(&CodeActionKind::QUICKFIX, None));
        assert!(is_wanted(&CodeActionKind::QUICKFIX, Some(&only(""))));
        assert!(is_wanted(&CodeActionKind::REFACTOR, Some(&only("refactor"))));
        assert!(!is_wanted(&CodeActionKind::REFACTOR, Some(&only("refactor.extract"))));
        assert!(!is_wanted(&CodeActionKind::QUICKFIX, Some(&only("quick"))));
        assert!(!is_wanted(&CodeActionKind::QUICKFIX, Some(&[])));
    }
}
