//! The store of offers: what waits for the user's word, by the thread that proposed it.

use std::{collections::BTreeSet, sync::Arc};

use super::names::named;
use crate::{
    lsp::{commands::EditParams, session::Session},
    protocol::ThreadId,
    workspace::{
        EditProposal, FileEdit, FilePath,
        review::{HunkView, Remaining, Review, Selection},
    },
};

/// Offers that are kept; more than anybody decides about, and each may hold the text of many files.
const MAX_OFFERS: usize = 100;

/// Edits that wait for the user's word.
#[derive(Clone, Debug)]
pub(in crate::lsp) struct Offer {
    /// Grows with each offer, and each time that something of one is decided.
    pub(in crate::lsp) number: u64,
    pub(in crate::lsp) review: Arc<Review>,
    /// What the running turn of the thread has staged again of it.
    pub(super) restaged: EditProposal,
}

impl Session {
    /// Replaces what the thread had on offer. The number of the new offer.
    pub(super) fn offer(self: &Arc<Self>, thread_id: &ThreadId, proposal: EditProposal) -> u64 {
        let number = self.next_number();
        let offer = Offer {
            number,
            review: Arc::new(Review::new(proposal, &self.workspace)),
            restaged: EditProposal::default(),
        };
        self.offers.insert(thread_id.clone(), offer);
        self.drop_old_offers();
        self.edits_changed();
        number
    }

    /// Offers more, except for files of which the thread has something on offer already: that is newer.
    pub(super) fn offer_more(self: &Arc<Self>, thread_id: &ThreadId, files: Vec<FileEdit>) {
        if files.is_empty() {
            return;
        }
        let proposal = EditProposal { files };
        match self.review(thread_id) {
            Some(review) => {
                review.add(proposal, &self.workspace);
                self.offer_changed(thread_id);
            }
            None => {
                self.offer(thread_id, proposal);
            }
        }
    }

    /// Something of an offer was taken, decided about, or came back. An offer with nothing left goes.
    pub(super) fn offer_changed(&self, thread_id: &ThreadId) {
        let over = self.offers.remove_if(thread_id, |_, offer| offer.review.is_empty());
        if over.is_none()
            && let Some(mut offer) = self.offers.get_mut(thread_id)
        {
            offer.number = self.next_number();
        }
        self.edits_changed();
    }

    /// Drops an offer of which nothing is left to decide.
    pub(in crate::lsp) fn drop_offer(&self, thread_id: &ThreadId, number: u64) {
        self.offers.remove_if(thread_id, |_, offer| offer.number == number);
    }

    /// Drops what nobody has decided about for longest, and tells the user.
    fn drop_old_offers(self: &Arc<Self>) {
        while self.offers.len() > MAX_OFFERS {
            let oldest = self.offers.iter().min_by_key(|offer| offer.number).map(|offer| offer.key().clone());
            let Some((_, offer)) = oldest.and_then(|oldest| self.offers.remove(&oldest)) else { return };
            let session = Arc::clone(self);
            self.spawn(async move {
                let remaining = session.remaining(offer.review).await;
                session.warn_soon(format!(
                    "more than {MAX_OFFERS} proposals wait; askls dropped the oldest edits, in {}",
                    named(&remaining.proposal.files)
                ));
            });
        }
    }

    /// The thread that was named, when it has an offer; without a name the one with the newest.
    pub(super) fn thread_with_offer(&self, named: Option<&ThreadId>) -> Option<ThreadId> {
        match named {
            Some(id) => self.offers.contains_key(id).then(|| id.clone()),
            None => self.offers.iter().max_by_key(|offer| offer.number).map(|offer| offer.key().clone()),
        }
    }

    pub(super) fn review(&self, thread_id: &ThreadId) -> Option<Arc<Review>> {
        Some(Arc::clone(&self.offers.get(thread_id)?.review))
    }

    /// What waits, the newest first.
    pub(in crate::lsp) fn offers_by_age(&self) -> Vec<(ThreadId, Offer)> {
        let mut offers: Vec<_> =
            self.offers.iter().map(|offer| (offer.key().clone(), offer.value().clone())).collect();
        offers.sort_by_key(|(_, offer)| std::cmp::Reverse(offer.number));
        offers
    }

    /// The offers with hunks in a file, the newest first, with those. Reads the disk for a file that is not open.
    pub(in crate::lsp) fn offered_in(&self, path: &FilePath) -> Vec<(ThreadId, Offer, Vec<HunkView>)> {
        let offers = self.offers_by_age().into_iter().map(|(thread_id, offer)| {
            let hunks = offer.review.hunks_of(&self.workspace, path);
            (thread_id, offer, hunks)
        });
        offers.filter(|(.., hunks)| !hunks.is_empty()).collect()
    }

    /// The threads that the user's word is about, the newest first: the one that was named, else those with something
    /// in the file when all of one is meant, else the newest. Reads the disk.
    pub(super) fn threads_meant(&self, params: &EditParams) -> Vec<ThreadId> {
        let path = params.uri.as_deref().and_then(|uri| self.workspace.resolve(uri).ok());
        match (&params.thread_id, path) {
            (None, Some(path)) => {
                let count = if params.hunks.is_some() { 1 } else { MAX_OFFERS };
                let threads = self.offered_in(&path).into_iter().map(|(thread_id, ..)| thread_id);
                let threads: Vec<_> = threads.take(count).collect();
                // Who asks for what is not there is told so by the newest.
                if threads.is_empty() { self.thread_with_offer(None).into_iter().collect() } else { threads }
            }
            (named, _) => self.thread_with_offer(named.as_ref()).into_iter().collect(),
        }
    }

    pub(super) async fn remaining(&self, review: Arc<Review>) -> Remaining {
        let workspace = Arc::clone(&self.workspace);
        let remaining = tokio::task::spawn_blocking(move || review.remaining(&workspace)).await;
        remaining.unwrap_or_else(|error| {
            tracing::error!(%error, "proposed edits cannot be compared with their files");
            Remaining::default()
        })
    }

    /// The edits of these files that are on offer, for the texts of now.
    pub(super) async fn offered(&self, thread_id: &ThreadId, paths: &BTreeSet<FilePath>) -> Vec<FileEdit> {
        let Some(review) = self.review(thread_id).filter(|_| !paths.is_empty()) else { return Vec::new() };
        let files = self.remaining(review).await.proposal.files;
        files.into_iter().filter(|file| paths.contains(&file.path)).collect()
    }

    /// Takes edits out of an offer that came about otherwise, or that newer ones replace.
    pub(super) fn forget_edits(&self, thread_id: &ThreadId, files: &[FileEdit]) {
        let Some(review) = self.review(thread_id) else { return };
        let known = review.paths();
        let mut is_changed = false;
        for file in files.iter().filter(|file| known.contains(&file.path)) {
            is_changed |= !review.rejected(&Selection::File(file.path.clone())).is_empty();
        }
        if is_changed {
            self.offer_changed(thread_id);
        }
    }
}
