//! The one question at the end of a turn: what shall become of its edits.

use std::{sync::Arc, time::Duration};

use super::{
    accept::{Conflicting, Way},
    names::named,
};
use crate::{
    config::Settings,
    lsp::{
        answer::{Announcement, OPEN as OPEN_ANSWER},
        lsp_types::MessageType,
        session::Session,
    },
    protocol::ThreadId,
    tools::output::visible_path,
    workspace::review::{Remaining, Selection},
};

/// How long a question about edits stays open. After that the code actions remain.
pub(super) const QUESTION_LIMIT: Duration = Duration::from_secs(15 * 60);

/// How often one offer is asked about: each time its user has looked at it, or at the answer, and decided nothing.
const MAX_QUESTIONS: usize = 10;

const APPLY: &str = "Apply";
const REVIEW: &str = "Review";
const REJECT: &str = "Reject";

impl Session {
    /// Asks what to do with an offer until there is an answer that settles it, or none. What the user looked at in
    /// between is not offered to them again.
    pub(in crate::lsp) async fn ask_about(
        self: &Arc<Self>,
        thread_id: &ThreadId,
        number: u64,
        settings: &Settings,
        announcement: Option<Announcement>,
    ) {
        let announcement = match announcement {
            Some(announcement) => Some(self.with_place(settings, announcement).await),
            None => None,
        };
        let (kind, line, mut document) = match announcement {
            Some(announcement) => {
                (announcement.kind, format!("{} — ", announcement.line()), announcement.document)
            }
            None => (MessageType::INFO, String::new(), None),
        };
        let offer = self.offers.get(thread_id).filter(|offer| offer.number == number);
        let Some((review, turn)) = offer.map(|offer| (Arc::clone(&offer.review), offer.turn.clone())) else {
            return;
        };
        // What the user decides elsewhere meanwhile leaves the question where it is; what it is about has then shrunk.
        let stands = || {
            let now = self.offers.get(thread_id);
            now.is_some_and(|now| Arc::ptr_eq(&now.review, &review) && now.turn.is_same(&turn))
        };
        // Some editors show nothing new while they ask.
        self.refresh_hints().await;
        let mut is_reviewed = false;
        let mut note = "";
        for _ in 0..MAX_QUESTIONS {
            if !stands() {
                return;
            }
            let remaining = self.remaining(Arc::clone(&review)).await;
            let mut text = format!("{line}{note}{}", proposes(&remaining));
            let mut actions = Vec::new();
            if self.client().apply_edit {
                actions.push(APPLY);
            } else {
                text.push_str("; this editor takes no edits from a language server, so they stay a diff");
            }
            if !is_reviewed {
                actions.push(REVIEW);
            }
            actions.push(REJECT);
            if document.is_some() {
                actions.push(OPEN_ANSWER);
            }
            // Nothing is asked behind the answer to `shutdown`.
            if self.is_shut_down() {
                return;
            }
            let answer = self.editor.choose(kind, &text, &actions, QUESTION_LIMIT).await;
            let Ok(Some(title)) = answer else { return };
            match title.as_str() {
                OPEN_ANSWER => {
                    let Some(document) = document.take() else { return };
                    self.open_answer(settings, &document).await;
                }
                _ if !stands() => {
                    let text =
                        "Agent edits: these have been decided about, or newer ones of the agent replace them";
                    self.editor.show_message(MessageType::INFO, text).await;
                    return;
                }
                APPLY => {
                    let selection = self.fitting_at_first(thread_id);
                    let accepted = self.accept(thread_id, &selection, Conflicting::Refuse, Way::AtOnce).await;
                    self.report(thread_id, &selection, &accepted).await;
                    return;
                }
                REVIEW if !is_reviewed && self.has_preview() => {
                    let selection = Selection::All;
                    let accepted =
                        self.accept(thread_id, &selection, Conflicting::LeaveOut, Way::Previewed).await;
                    self.report(thread_id, &selection, &accepted).await;
                    // What the user did not tick they can still decide about.
                    is_reviewed = !accepted.files.is_empty();
                    note = if is_reviewed { "" } else { "Nothing was ticked, so nothing was applied. " };
                }
                REVIEW if !is_reviewed => {
                    is_reviewed = true;
                    let workspace = Arc::clone(&self.workspace);
                    let review = Arc::clone(&review);
                    let diff = tokio::task::spawn_blocking(move || review.diff(&workspace)).await;
                    self.open_document(settings, "edits.diff", &diff.unwrap_or_default()).await;
                }
                REJECT => {
                    review.rejected(&Selection::All);
                    self.offer_changed(thread_id);
                    return;
                }
                _ => return,
            }
        }
    }

    /// Whether the editor shows edits before it applies what its user ticks of them.
    pub(super) fn has_preview(&self) -> bool {
        let client = self.client();
        client.apply_edit && client.edits.preview && client.edits.document_changes
    }
}

fn proposes(remaining: &Remaining) -> String {
    let files = &remaining.proposal.files;
    let unfit = match remaining.left_out.len() {
        0 => String::new(),
        1 => "1 edit no longer fits".to_owned(),
        count => format!("{count} edits no longer fit"),
    };
    let proposes = match (files.is_empty(), unfit.is_empty()) {
        (_, true) => format!("The agent proposes edits in {}", named(files)),
        (true, false) => format!("The agent proposed edits, and the files have changed since: {unfit}"),
        (false, false) => format!("The agent proposes edits in {}; {unfit}", named(files)),
    };
    // Also why the user is asked who wants all edits applied.
    match files.iter().find(|file| file.is_run_unasked()) {
        Some(file) => {
            let path = visible_path(file.path.as_str());
            format!("{proposes}; mind that an editor or a shell runs {path} by itself")
        }
        None => proposes,
    }
}
