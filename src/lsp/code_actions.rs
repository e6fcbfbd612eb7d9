//! Code actions: a turn, or the word about its edits, from the light bulb of any editor. Each is a command and nothing
//! else, since some editors resolve nothing and apply no edits of their own.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    commands, documents,
    editor::one_line,
    edits::Offer,
    lsp_types::{
        CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, Command, Diagnostic,
        DiagnosticSeverity, NumberOrString,
    },
    session::Session,
};
use crate::workspace::{FileEdit, position};

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

pub(super) fn code_actions(session: &Arc<Session>, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
    let uri = params.text_document.uri.as_str();
    let mut actions = edit_actions(session, uri);
    actions.extend(question_action(session, uri, params));
    actions
        .extend(params.context.diagnostics.iter().take(MAX_DIAGNOSTICS).map(|it| diagnostic_action(uri, it)));
    actions.extend(selection_actions(uri, params));
    actions.retain(|action| is_wanted(&action.kind, params.context.only.as_deref()));
    let has_literals = session.client().code_action_literals;
    actions.into_iter().map(|action| action.into_lsp(has_literals)).collect()
}

/// What can become of edits that are proposed in this file.
fn edit_actions(session: &Arc<Session>, uri: &str) -> Vec<Action> {
    let Ok(path) = session.workspace.resolve(uri) else { return Vec::new() };
    let edit_of = |offer: &Offer| {
        offer.proposal.files.iter().find(|file| file.path == path || *file.origin() == path).cloned()
    };
    let newest = session.offers.iter().filter(|offer| edit_of(offer).is_some());
    let Some(offer) = newest.max_by_key(|offer| offer.number) else { return Vec::new() };
    let thread = offer.key();
    let count = offer.proposal.files.len();
    let action = |title: String, command, argument| Action {
        title,
        kind: CodeActionKind::QUICKFIX,
        command,
        argument,
        diagnostic: None,
    };
    let discard =
        action("Discard agent edits".to_owned(), commands::REJECT_EDITS, json!({ "threadId": thread }));
    if edit_of(&offer).is_some_and(|edit| is_stale(session, &edit)) {
        return vec![discard];
    }
    let uri = session.workspace.uri(&path);
    vec![
        action(
            "Apply agent edit (this file)".to_owned(),
            commands::ACCEPT_EDITS,
            json!({ "threadId": thread, "uri": uri, "report": true }),
        ),
        action(
            format!("Apply all agent edits ({count} {})", if count == 1 { "file" } else { "files" }),
            commands::ACCEPT_EDITS,
            json!({ "threadId": thread, "report": true }),
        ),
        discard,
    ]
}

/// Whether the open buffer is not what the edit was made for, so that applying it would be refused. Of a file that is
/// not open nothing is said here: reading it would keep the editor waiting.
fn is_stale(session: &Session, edit: &FileEdit) -> bool {
    let workspace = &session.workspace;
    if session.lost_documents.contains_key(&workspace.uri(edit.origin())) {
        return true;
    }
    let is_new = edit.before.is_none() || edit.moved_from.is_some();
    if is_new && workspace.open_document(&edit.path).is_some() {
        return true;
    }
    if workspace.open_document(edit.origin()).is_none() {
        return false;
    }
    let now = workspace.read(edit.origin()).ok().map(|now| now.text);
    now != edit.before.as_ref().map(|before| before.text.clone())
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
    let problems: Vec<_> =
        params.context.diagnostics.iter().take(MAX_DIAGNOSTICS).map(diagnostic_line).collect();
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
