//! The one question at the end of a turn: what shall become of its edits.

use std::{sync::Arc, time::Duration};

use super::{
    accept::{Conflicting, Way},
    names::named,
    offers::Viewed,
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
    workspace::{
        Workspace,
        review::{Remaining, Review, Selection},
    },
};

/// How long a question about edits stays open. After that the code actions remain.
pub(super) const QUESTION_LIMIT: Duration = Duration::from_secs(15 * 60);

/// How often one offer is asked about: each time its user has looked at it, or at the answer, and decided nothing.
const MAX_QUESTIONS: usize = 10;

const APPLY: &str = "Apply";
const REVIEW: &str = "Review";
const REJECT: &str = "Reject";

const NOTHING_TICKED: &str = "Nothing was ticked, so nothing was applied. ";

/// What the user is asked about: what a turn offers.
struct Subject<'a> {
    session: &'a Arc<Session>,
    thread_id: &'a ThreadId,
    /// See [`Proposer::number`].
    turn: u64,
}

/// What there is of it.
enum Open {
    Edits(Remaining),
    /// Nothing but what the editor has in hand.
    WithEditor,
    Nothing,
}

impl Session {
    /// Asks what to do with what a turn offers until there is an answer that settles it, or none. What the user looked at
    /// in between is not offered to them again. Where nothing is left but what the editor has in hand, the announcement
    /// comes by itself, and the question once it is known what comes back.
    pub(in crate::lsp) async fn ask_about(
        self: &Arc<Self>,
        thread_id: &ThreadId,
        turn: u64,
        settings: &Settings,
        mut announcement: Option<Announcement>,
    ) {
        let subject = Subject { session: self, thread_id, turn };
        let (mut kind, mut line, mut document) = (MessageType::INFO, String::new(), None);
        for _ in 0..MAX_QUESTIONS {
            let remaining = match subject.open().await {
                Open::Edits(remaining) => remaining,
                open => {
                    if let Some(announcement) = announcement.take() {
                        self.present(settings, announcement).await;
                    }
                    match open {
                        Open::WithEditor => subject.wait_for_editor().await,
                        _ => return,
                    }
                    continue;
                }
            };
            if let Some(announcement) = announcement.take() {
                let mut announcement = self.with_place(settings, announcement).await;
                (kind, line) = (announcement.kind, format!("{} — ", announcement.line()));
                document = announcement.take_document();
            }
            // Some editors show nothing new while they ask.
            self.refresh_hints().await;
            let viewed = subject.viewed();
            let note = if viewed == Viewed::InVain { NOTHING_TICKED } else { "" };
            let mut text = format!("{line}{note}{}", proposes(&remaining, &self.workspace));
            let mut actions = Vec::new();
            if self.client().apply_edit {
                actions.push(APPLY);
            } else {
                text.push_str("; this editor takes no edits from a language server, so they stay a diff");
            }
            if viewed != Viewed::Yes {
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
            if title == OPEN_ANSWER {
                let Some(document) = document.take() else { return };
                self.open_answer(settings, &document).await;
                continue;
            }
            let Some(review) = subject.review() else {
                let text =
                    "Agent edits: these have been decided about, or newer ones of the agent replace them";
                self.editor.show_message(MessageType::INFO, text).await;
                return;
            };
            match title.as_str() {
                APPLY => {
                    let selection = self.fitting_at_first(thread_id);
                    let accepted = self.accept(thread_id, &selection, Conflicting::Refuse, Way::AtOnce).await;
                    self.report(thread_id, &selection, &accepted).await;
                    return;
                }
                REVIEW if self.has_preview() => {
                    let selection = Selection::All;
                    subject.set_viewed(Viewed::Now);
                    let accepted =
                        self.accept(thread_id, &selection, Conflicting::LeaveOut, Way::Previewed).await;
                    // What the user did not tick they can still decide about.
                    subject.set_viewed(match accepted.files.is_empty() {
                        true => Viewed::InVain,
                        false => Viewed::Yes,
                    });
                    self.report(thread_id, &selection, &accepted).await;
                }
                REVIEW => {
                    subject.set_viewed(Viewed::Yes);
                    let workspace = Arc::clone(&self.workspace);
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

impl Subject<'_> {
    /// What the user decides elsewhere meanwhile leaves it what it is, and shrinks it. `None` once all of it is decided
    /// about, or is of a newer turn.
    fn review(&self) -> Option<Arc<Review>> {
        let offer = self.session.offers.get(self.thread_id)?;
        (offer.turn.number() == self.turn).then(|| Arc::clone(&offer.review))
    }

    async fn open(&self) -> Open {
        let Some(review) = self.review() else { return Open::Nothing };
        // Looked at before, too: what comes back in between may be none of what remains.
        let was_with_editor = review.is_with_editor();
        let remaining = self.session.remaining(Arc::clone(&review)).await;
        let is_with_editor = was_with_editor || review.is_with_editor();
        match (self.review().is_some(), remaining.is_empty()) {
            (true, false) => Open::Edits(remaining),
            (true, true) if is_with_editor => Open::WithEditor,
            _ => Open::Nothing,
        }
    }

    /// Waits until the editor has nothing of it in hand, and its preview is over.
    async fn wait_for_editor(&self) {
        let is_back = || {
            let review = self.review();
            review.is_none_or(|review| !review.is_with_editor() && self.viewed() != Viewed::Now)
        };
        self.session.wait_for_offers(QUESTION_LIMIT, is_back).await;
    }

    fn viewed(&self) -> Viewed {
        self.session.offers.get(self.thread_id).map_or(Viewed::No, |offer| offer.viewed)
    }

    /// Also for a newer turn, which has come to its end meanwhile.
    fn set_viewed(&self, viewed: Viewed) {
        if let Some(mut offer) = self.session.offers.get_mut(self.thread_id) {
            offer.viewed = viewed;
        }
        self.session.edits_changed();
    }
}

fn proposes(remaining: &Remaining, workspace: &Workspace) -> String {
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
    match files.iter().find(|file| file.is_run_unasked(workspace)) {
        Some(file) => {
            let path = visible_path(file.path.as_str());
            format!("{proposes}; mind that an editor or a shell runs {path} by itself")
        }
        None => proposes,
    }
}
