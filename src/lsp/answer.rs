//! The answer on its way to the user: one line as a message, and the whole as a document for those who want it.

use std::{sync::Arc, time::Duration};

use dashmap::DashMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};

use super::{
    editor::{MAX_MESSAGE, one_line},
    lifecycle::VIRTUAL_SCHEME,
    lsp_types::MessageType,
    session::Session,
};
use crate::{
    agent::TurnResult,
    config::{Settings, ShowAnswer},
    protocol::{Fault, Limit, StopReason},
    workspace::{answer_file, paths},
};

/// Documents that stay readable under their `askls:` URI.
const MAX_DOCUMENTS: u64 = 50;

/// How long `Open answer` stays a live button: a coffee break.
const OFFER_LIMIT: Duration = Duration::from_secs(15 * 60);

/// How long the client may take to open a document.
const SHOW_LIMIT: Duration = Duration::from_secs(30);

/// Characters of what is said behind the first line of an answer: half of the message stays the answer's.
const MAX_TAIL: usize = MAX_MESSAGE / 2;

pub(super) const OPEN: &str = "Open answer";

/// The end of its name where it becomes a file.
const ANSWER_FILE: &str = "answer.md";

/// Texts that the client reads by `workspace/textDocumentContent`, by the number in their URI.
#[derive(Debug, Default)]
pub(super) struct Answers {
    documents: DashMap<u64, (String, Arc<str>)>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ContentParams {
    uri: String,
}

#[derive(Debug, Serialize)]
pub(super) struct ContentResult {
    text: Arc<str>,
}

impl Answers {
    /// `workspace/textDocumentContent`.
    pub(super) fn content(&self, params: &ContentParams) -> Result<ContentResult> {
        let document = self.documents.iter().find(|document| document.0 == params.uri);
        match document {
            Some(document) => Ok(ContentResult { text: Arc::clone(&document.1) }),
            None => Err(Error::invalid_params(format!("there is no document {} any more", params.uri))),
        }
    }

    fn add(&self, number: u64, name: &str, text: &str) -> String {
        let uri = format!("{VIRTUAL_SCHEME}:/{number}/{name}");
        self.documents.insert(number, (uri.clone(), text.into()));
        while self.documents.len() as u64 > MAX_DOCUMENTS {
            let Some(oldest) = self.documents.iter().map(|document| *document.key()).min() else { break };
            self.documents.remove(&oldest);
        }
        uri
    }
}

/// What the user is told at the end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Announcement {
    pub(super) kind: MessageType,
    /// May be cut.
    line: String,
    /// What stands behind the line, and is never cut.
    tail: String,
    /// The whole answer, of which the line may be all.
    whole: Option<String>,
    /// Whether nothing of it is missing in the line, unless what stands behind that cuts it.
    is_whole: bool,
}

impl Announcement {
    /// `None` when the settings, or the user who cancelled the turn, want to hear nothing.
    pub(super) fn of(settings: &Settings, result: &TurnResult) -> Option<Self> {
        if settings.show_answer() == ShowAnswer::None || result.stop_reason == StopReason::Cancelled {
            return None;
        }
        let line = message(result);
        let kind = match (result.stop_reason, &result.detail) {
            (StopReason::Answer, None) => MessageType::INFO,
            (StopReason::ProviderError(_), _) => MessageType::ERROR,
            _ => MessageType::WARNING,
        };
        let tail = tail(result);
        let is_whole = result.answer.trim() == line && tail.chars().count() <= MAX_TAIL;
        let whole = (!result.answer.trim().is_empty()).then(|| document(result));
        Some(Self { kind, line, tail, whole, is_whole })
    }

    /// Says this instead, on its line.
    pub(super) fn say(&mut self, words: String) {
        self.line = words;
    }

    /// Says one more thing, in few words.
    pub(super) fn add(&mut self, note: &str) {
        self.tail.push_str(&format!(" ({note})"));
        if let Some(whole) = &mut self.whole {
            whole.push_str(&format!("\n> {note}\n"));
        }
    }

    /// The whole answer, when the line that is shown is not all of it.
    pub(super) fn take_document(&mut self) -> Option<String> {
        let fits = self.line.chars().count() + self.tail.chars().count() <= MAX_MESSAGE;
        self.whole.take().filter(|_| !self.is_whole || !fits)
    }

    /// The one line that is shown.
    pub(super) fn line(&self) -> String {
        one_line(&self.line, MAX_MESSAGE.saturating_sub(self.tail.chars().count())) + &self.tail
    }
}

impl Session {
    /// Shows how a turn ended. Waits for nothing that the user does.
    pub(super) async fn present(self: &Arc<Self>, settings: &Settings, announcement: Announcement) {
        let mut announcement = self.with_place(settings, announcement).await;
        let (kind, line) = (announcement.kind, announcement.line());
        let Some(document) = announcement.take_document() else {
            self.editor.show_message(kind, &line).await;
            return;
        };
        let (session, settings) = (Arc::clone(self), settings.clone());
        self.spawn(async move {
            let is_wanted = settings.show_answer() == ShowAnswer::Document
                || matches!(session.editor.choose(kind, &line, &[OPEN], OFFER_LIMIT).await, Ok(Some(_open)));
            if is_wanted {
                session.open_answer(&settings, &document).await;
            }
        });
    }

    /// For an editor that opens no documents: the whole answer is written to a file, and the line says where.
    pub(super) async fn with_place(&self, settings: &Settings, announcement: Announcement) -> Announcement {
        let mut announcement = announcement;
        if self.client().show_document {
            return announcement;
        }
        let Some(document) = announcement.take_document() else { return announcement };
        if let Some(path) = self.write_document(settings, ANSWER_FILE, document).await {
            announcement.tail.push_str(&format!(" (whole answer: {path})"));
        }
        announcement
    }

    pub(super) async fn open_answer(&self, settings: &Settings, document: &str) -> bool {
        self.open_document(settings, ANSWER_FILE, document).await
    }

    /// Opens a text in the editor; `false` when the editor does not.
    pub(super) async fn open_document(&self, settings: &Settings, name: &str, text: &str) -> bool {
        match self.make_document(settings, name, text).await {
            Some(uri) => self.show_document(&uri).await,
            None => false,
        }
    }

    /// The URI under which the editor can open a text; `None` for an editor that opens none for a server.
    pub(super) async fn make_document(&self, settings: &Settings, name: &str, text: &str) -> Option<String> {
        if !self.client().show_document {
            return None;
        }
        if self.client().text_document_content {
            return Some(self.answers.add(self.next_number(), name, text));
        }
        let path = self.write_document(settings, name, text.to_owned()).await?;
        Some(paths::to_uri(path.as_ref()))
    }

    pub(super) async fn show_document(&self, uri: &str) -> bool {
        let params = json!({ "uri": uri, "takeFocus": true });
        match self.editor.request("window/showDocument", params, SHOW_LIMIT).await {
            Ok(shown) if shown.get("success").and_then(Value::as_bool) == Some(true) => true,
            Ok(_) => {
                self.editor
                    .show_message(MessageType::WARNING, &format!("the editor did not open {uri}"))
                    .await;
                false
            }
            Err(error) => {
                tracing::warn!(%error, "a document was not opened");
                false
            }
        }
    }

    /// Writes a text to the cache folder and returns its path.
    async fn write_document(&self, settings: &Settings, name: &str, text: String) -> Option<String> {
        let folder = settings.cache_folder()?.join("answers");
        let name = name.to_owned();
        let written = tokio::task::spawn_blocking(move || answer_file::write(&folder, &name, &text)).await;
        match written {
            Ok(Ok(path)) => Some(path.display().to_string()),
            Ok(Err(error)) => {
                tracing::warn!(%error, "an answer cannot be written");
                None
            }
            Err(error) => {
                tracing::error!(%error, "an answer was not written");
                None
            }
        }
    }
}

/// How a turn ended in a few words, as for the end of its progress.
pub(super) fn ending(result: &TurnResult) -> String {
    match result.stop_reason {
        StopReason::Answer => "answered".to_owned(),
        StopReason::Limit(limit) => match limit {
            Limit::Steps if result.steps == 1 => "stopped after 1 step".to_owned(),
            Limit::Steps => format!("stopped after {} steps", result.steps),
            Limit::TurnTokens => "stopped: the tokens of a turn are used".to_owned(),
            Limit::ToolCalls => "stopped: the calls of a turn are used".to_owned(),
            Limit::Time => "stopped: the time of a turn is up".to_owned(),
            Limit::Cost => "stopped: the turn costs all that it may".to_owned(),
            Limit::UnknownTool => "stopped: the model called a tool that does not exist".to_owned(),
            Limit::OutputTokens => "stopped: the reply was cut at its longest".to_owned(),
            Limit::Context => "stopped: the thread is too long for the model".to_owned(),
            Limit::RepeatedCall => "stopped: the same call again and again".to_owned(),
            Limit::MalformedCalls => "stopped: the model wrote calls that cannot be read".to_owned(),
            Limit::ToolErrors => "stopped: too many calls failed".to_owned(),
        },
        StopReason::Interrupted => "interrupted before the answer was whole".to_owned(),
        StopReason::Refused => "the model declined".to_owned(),
        StopReason::Cancelled => "cancelled".to_owned(),
        StopReason::Stalled => "the model server fell silent".to_owned(),
        StopReason::Malformed => "the model server sent no reply".to_owned(),
        StopReason::Filtered => "a content filter cut the answer off".to_owned(),
        StopReason::ProviderError(Fault::Settings) => "the settings cannot work".to_owned(),
        StopReason::ProviderError(_) => "the model server failed".to_owned(),
        StopReason::Empty => "the model said nothing".to_owned(),
        StopReason::Guardrail => "stopped by a hook".to_owned(),
    }
}

/// The one line that the user sees first.
fn message(result: &TurnResult) -> String {
    let text = match result.stop_reason {
        StopReason::Answer => first_paragraph(&result.answer).to_owned(),
        _ => format!("Agent: {}", explained(result, ending(result))),
    };
    one_line(&text, MAX_MESSAGE)
}

/// What has to be known about an answer, such as that it may be cut off: behind it, since it is an answer all the same.
fn tail(result: &TurnResult) -> String {
    match (result.stop_reason, &result.detail) {
        (StopReason::Answer, Some(detail)) => format!(" {}", one_line(&format!("({detail})"), MAX_TAIL)),
        _ => String::new(),
    }
}

/// The whole answer; a partial one says so at its top.
fn document(result: &TurnResult) -> String {
    let answer = result.answer.trim_end();
    match (result.stop_reason, &result.detail) {
        (StopReason::Answer, None) => format!("{answer}\n"),
        (StopReason::Answer, Some(detail)) => format!("{answer}\n\n> {detail}\n"),
        _ => format!("> {}\n\n{answer}\n", explained(result, format!("**{}**", ending(result)))),
    }
}

/// An ending in a few words, and what is known about it. What is said of a limit names it already.
fn explained(result: &TurnResult, ending: String) -> String {
    match (&result.detail, result.stop_reason) {
        (None, _) => ending,
        (Some(detail), StopReason::Limit(limit)) if limit.is_set() => format!("{detail}, or ask to go on"),
        (Some(detail), StopReason::Limit(_)) => detail.clone(),
        (Some(detail), _) => format!("{ending}. {detail}"),
    }
}

/// The text up to its first empty line, without the marks of a heading.
fn first_paragraph(text: &str) -> &str {
    let text = text.trim();
    let end = text.find("\n\n").or_else(|| text.find("\r\n\r\n")).unwrap_or(text.len());
    text.get(..end).unwrap_or(text).trim_start_matches('#').trim()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::config::Environment;

    fn result(stop_reason: StopReason, answer: &str, detail: Option<&str>) -> TurnResult {
        TurnResult {
            steps: 3,
            ..TurnResult::without_request(stop_reason, detail.map(str::to_owned), answer.to_owned())
        }
    }

    fn check(result: &TurnResult, expect: Expect) {
        expect.assert_eq(&format!("{}\n---\n{}", message(result), document(result)));
    }

    #[test]
    fn the_message_is_the_first_paragraph() {
        check(
            &result(StopReason::Answer, "## It reads\nthe file.\n\nThen more.\n", None),
            expect![[r#"
                It reads the file.
                ---
                ## It reads
                the file.

                Then more.
            "#]],
        );
    }

    #[test]
    fn an_ending_that_is_no_answer_says_so_first() {
        let limit = StopReason::Limit(Limit::Steps);
        check(
            &result(limit, "So far.", Some("stopped after 3 steps; raise it to go further")),
            expect![[r#"
                Agent: stopped after 3 steps; raise it to go further, or ask to go on
                ---
                > stopped after 3 steps; raise it to go further, or ask to go on

                So far.
            "#]],
        );
    }

    #[test]
    fn what_has_to_be_known_about_an_answer_stands_behind_its_first_line() {
        let settings = Settings::load(&Environment::default(), &[]).settings;
        let doubt = "the server ended it with \"other\": it may be cut off";
        let mut told =
            Announcement::of(&settings, &result(StopReason::Answer, "Here.", Some(doubt))).unwrap();
        assert_eq!(told.kind, MessageType::WARNING);
        assert_eq!(told.line(), format!("Here. ({doubt})"));
        assert_eq!(told.take_document(), None);

        let mut long =
            Announcement::of(&settings, &result(StopReason::Answer, "Here.\n\nMore.", Some(doubt))).unwrap();
        assert_eq!(long.line(), format!("Here. ({doubt})"));
        assert_eq!(long.take_document().unwrap(), format!("Here.\n\nMore.\n\n> {doubt}\n"));

        let words = "word ".repeat(1000);
        let mut told =
            Announcement::of(&settings, &result(StopReason::Answer, "Here.", Some(&words))).unwrap();
        assert!(told.line().starts_with("Here. (word"), "{}", told.line());
        assert!(told.line().chars().count() <= MAX_MESSAGE);
        assert!(
            told.take_document().unwrap().contains(words.trim_end()),
            "what is cut stands in the document"
        );
    }

    #[test]
    fn an_answer_that_is_cut_by_what_stands_behind_it_can_be_opened() {
        let settings = Settings::load(&Environment::default(), &[]).settings;
        let answer = "x".repeat(MAX_MESSAGE - 9);
        let told = |detail: Option<&str>, note: Option<&str>| {
            let result = result(StopReason::Answer, &answer, detail);
            let mut told = Announcement::of(&settings, &result).unwrap();
            note.into_iter().for_each(|note| told.add(note));
            (told.line().contains('…'), told.take_document())
        };
        assert_eq!(told(None, None), (false, None));
        assert_eq!(told(None, Some("1 file")), (false, None));
        assert_eq!(told(Some("cut off"), None), (true, Some(format!("{answer}\n\n> cut off\n"))));
        assert_eq!(told(None, Some("2 files")), (true, Some(format!("{answer}\n\n> 2 files\n"))));
    }

    #[test]
    fn one_step_is_not_several() {
        let limit = StopReason::Limit(Limit::Steps);
        assert_eq!(ending(&TurnResult { steps: 1, ..result(limit, "", None) }), "stopped after 1 step");
        assert_eq!(ending(&result(limit, "", None)), "stopped after 3 steps");
    }

    #[test]
    fn a_limit_is_named_once() {
        let limit = StopReason::Limit(Limit::RepeatedCall);
        check(
            &result(limit, "", Some("stopped: the model made the same call to search 5 times in a row")),
            expect![[r#"
                Agent: stopped: the model made the same call to search 5 times in a row
                ---
                > stopped: the model made the same call to search 5 times in a row


            "#]],
        );
    }

    #[test]
    fn a_fault_of_the_settings_is_not_said_of_the_server() {
        let settings = StopReason::ProviderError(Fault::Settings);
        check(
            &result(settings, "", Some("base_url must be an address")),
            expect![[r#"
                Agent: the settings cannot work. base_url must be an address
                ---
                > **the settings cannot work**. base_url must be an address


            "#]],
        );
    }

    #[test]
    fn a_message_is_never_long() {
        let long = "word ".repeat(1000);
        assert_eq!(message(&result(StopReason::Answer, &long, None)).chars().count(), MAX_MESSAGE);
    }

    #[test]
    fn old_documents_are_forgotten() {
        let answers = Answers::default();
        let first = answers.add(1, "answer.md", "one");
        assert_eq!(&*answers.content(&ContentParams { uri: first.clone() }).unwrap().text, "one");
        for number in 2..=MAX_DOCUMENTS + 1 {
            answers.add(number, "answer.md", "another");
        }
        assert!(answers.content(&ContentParams { uri: first }).is_err());
    }
}
