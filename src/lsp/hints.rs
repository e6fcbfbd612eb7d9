//! Keeps what an editor shows of proposed edits in line with them: hints at their places, and code lenses.
//!
//! Everything that may move a hunk only rings a bell, so typing pays nothing. One task answers it, a moment after the
//! last ring, and tells the editor what is new.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::{
    editor::one_line,
    edits::{anchor, line_count, what},
    session::Session,
};
use crate::{
    protocol::ThreadId,
    workspace::{
        FilePath,
        position::{self, Encoding, LineStarts},
        review::{HunkKind, HunkState, HunkView},
    },
};

/// Who says it, in the editor's list of problems.
pub(super) const SOURCE: &str = "askls";

/// How long nothing may change before the editor is told: typing should not make hints flicker.
const QUIET: Duration = Duration::from_millis(100);

/// How old what the editor shows may become while its user types on.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Hints in one file; editors draw each of them.
const MAX_HINTS: usize = 100;

/// Longest beginning of a new text in a hint.
const MAX_QUOTE: usize = 60;

/// How long the editor may take to say that it asks for its code lenses anew.
const REFRESH_LIMIT: Duration = Duration::from_secs(10);

const INFORMATION: u8 = 3;
const HINT: u8 = 4;

#[derive(Debug)]
pub(super) struct Hints {
    changed: Notify,
    has_lenses: AtomicBool,
    has_hints: AtomicBool,
    /// The session ends; nothing is shown any more. Held while the editor is told, so that nothing overtakes it.
    is_over: tokio::sync::Mutex<bool>,
    shown: Mutex<Shown>,
}

/// What the editor knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Shown {
    /// Diagnostics by URI; empty where the editor may know them or not.
    hints: BTreeMap<String, Vec<Value>>,
    /// What lenses depend on.
    lenses: Vec<(String, HunkView)>,
}

/// A look at all offers.
#[derive(Default)]
struct Looked {
    shown: Shown,
    /// Offers of which every hunk is in its file already.
    over: Vec<(ThreadId, u64)>,
}

impl Default for Hints {
    fn default() -> Self {
        Self {
            changed: Notify::new(),
            has_lenses: AtomicBool::new(true),
            has_hints: AtomicBool::new(true),
            is_over: tokio::sync::Mutex::new(false),
            shown: Mutex::default(),
        }
    }
}

impl Hints {
    /// The settings say so.
    pub(super) fn set(&self, has_lenses: bool, has_hints: bool) {
        self.has_lenses.store(has_lenses, Ordering::Relaxed);
        self.has_hints.store(has_hints, Ordering::Relaxed);
        self.changed.notify_one();
    }

    pub(super) fn has_lenses(&self) -> bool {
        self.has_lenses.load(Ordering::Relaxed)
    }

    /// An editor that opens a document may have dropped what it knew of it.
    pub(super) fn forget(&self, uri: &str) {
        let mut known = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hints) = known.hints.get_mut(uri) {
            // Unlike what is there, and unlike nothing.
            hints.clear();
        }
    }

    /// Replaces what the editor knows: the URIs whose hints are new, with those, and whether lenses are.
    fn replace(&self, shown: Shown) -> (Vec<(String, Vec<Value>)>, bool) {
        let mut known = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *known, shown);
        let is_new = |(uri, hints): &(&String, &Vec<Value>)| old.hints.get(*uri) != Some(hints);
        let new = known.hints.iter().filter(is_new).map(|(uri, hints)| (uri.clone(), hints.clone()));
        let gone = old.hints.keys().filter(|uri| !known.hints.contains_key(*uri));
        let changes = new.chain(gone.map(|uri| (uri.clone(), Vec::new()))).collect();
        (changes, known.lenses != old.lenses)
    }
}

impl Session {
    /// Offers or the texts below them are not what they were. Takes no time.
    pub(super) fn edits_changed(&self) {
        self.hints.changed.notify_one();
        self.offer_changes.notify_waiters();
    }

    /// For as long as the session lives.
    pub(super) async fn keep_hints(self: Arc<Self>) {
        loop {
            self.hints.changed.notified().await;
            let latest = Instant::now() + LONGEST_WAIT;
            loop {
                let quiet = (Instant::now() + QUIET).min(latest);
                if timeout_at(quiet, self.hints.changed.notified()).await.is_err() {
                    break;
                }
            }
            self.refresh_hints().await;
        }
    }

    /// Tells the editor what is new of the proposed edits, now: who is asked about edits should see where they are.
    pub(super) async fn refresh_hints(self: &Arc<Self>) {
        // Held from the look on, so that no older look overtakes it.
        let is_over = self.hints.is_over.lock().await;
        if *is_over {
            return;
        }
        let session = Arc::clone(self);
        let looked = match tokio::task::spawn_blocking(move || session.look_at_offers()).await {
            Ok(looked) => looked,
            Err(error) => {
                tracing::error!(%error, "hints are not brought in line with the proposed edits");
                return;
            }
        };
        for (thread_id, number) in &looked.over {
            self.drop_offer(thread_id, *number);
        }
        let (hints, has_new_lenses) = self.hints.replace(looked.shown);
        self.publish(hints).await;
        drop(is_over);
        if has_new_lenses && self.client().code_lens_refresh {
            let session = Arc::clone(self);
            self.spawn(async move {
                let refresh =
                    session.editor.request("workspace/codeLens/refresh", Value::Null, REFRESH_LIMIT);
                if let Err(error) = refresh.await {
                    tracing::debug!(%error, "the editor does not ask for code lenses anew");
                }
            });
        }
    }

    async fn publish(&self, hints: Vec<(String, Vec<Value>)>) {
        for (uri, diagnostics) in hints {
            let params = json!({ "uri": uri, "diagnostics": diagnostics });
            self.editor.notify("textDocument/publishDiagnostics", params).await;
        }
    }

    /// `shutdown`: editors keep what they were told last.
    pub(super) async fn clear_hints(&self) {
        let mut is_over = self.hints.is_over.lock().await;
        *is_over = true;
        let (hints, _) = self.hints.replace(Shown::default());
        self.publish(hints).await;
    }

    fn look_at_offers(&self) -> Looked {
        let client = self.client();
        let has_hints = client.publish_diagnostics && self.hints.has_hints.load(Ordering::Relaxed);
        let has_lenses = client.code_lens && self.hints.has_lenses();
        let mut looked = Looked::default();
        let mut by_file: BTreeMap<FilePath, Vec<HunkView>> = BTreeMap::new();
        for (thread_id, offer) in self.offers_by_age() {
            let hunks = offer.review.hunks(&self.workspace);
            if hunks.is_empty() {
                looked.over.push((thread_id, offer.number));
            }
            for view in hunks {
                by_file.entry(view.path.clone()).or_default().push(view);
            }
        }
        for (path, views) in by_file {
            let uri = self.workspace.uri(&path);
            if has_hints && let Some(hints) = self.hints_of(&path, &views) {
                looked.shown.hints.insert(uri.clone(), hints);
            }
            if has_lenses {
                looked.shown.lenses.extend(views.into_iter().map(|view| (uri.clone(), view)));
            }
        }
        looked
    }

    /// `None` for a file that is not there: no editor shows anything in it.
    fn hints_of(&self, path: &FilePath, views: &[HunkView]) -> Option<Vec<Value>> {
        let views: Vec<&HunkView> = views.iter().filter(|view| view.kind != HunkKind::Create).collect();
        views.first()?;
        let text = match self.workspace.open_document(path) {
            Some(document) => document.text,
            None => self.workspace.read(path).ok()?.text,
        };
        let encoding = self.client().encoding;
        let lines = LineStarts::new(&text);
        let count = line_count(&text);
        let hint = |view: &HunkView, message: String, severity: u8| {
            let anchor = anchor(view, count);
            let end = end_of_line(&text, &lines, *anchor.end(), encoding);
            json!({
                "range": {
                    "start": { "line": anchor.start(), "character": 0 },
                    "end": { "line": end.line, "character": end.character },
                },
                "severity": severity,
                "source": SOURCE,
                "message": message,
            })
        };
        let mut hints: Vec<Value> = views
            .iter()
            .take(MAX_HINTS)
            .map(|view| match &view.state {
                HunkState::Conflict(reason) => {
                    hint(view, format!("agent edit no longer fits: {reason}"), INFORMATION)
                }
                HunkState::Pending | HunkState::Taken => hint(view, message(view), HINT),
            })
            .collect();
        if let Some(first) = views.get(MAX_HINTS) {
            let more = views.len() - MAX_HINTS;
            let message = format!("{more} more agent edits from here on; askls.showEdits lists all");
            hints.push(hint(first, message, HINT));
        }
        Some(hints)
    }
}

/// `agent edit: replaces 2 lines by 3: "first line…"`
fn message(view: &HunkView) -> String {
    let first = view.after.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let is_more = view.after.trim().lines().count() > 1;
    match one_line(first, MAX_QUOTE) {
        quote if quote.is_empty() => format!("agent edit: {}", what(view)),
        quote => {
            let more = if is_more && !quote.ends_with('…') { "…" } else { "" };
            format!("agent edit: {}: \"{quote}{more}\"", what(view))
        }
    }
}

fn end_of_line(text: &str, lines: &LineStarts, line: u32, encoding: Encoding) -> position::Position {
    let range = lines.line(text, usize::try_from(line).unwrap_or(usize::MAX));
    lines.position(text, range.end, encoding)
}
