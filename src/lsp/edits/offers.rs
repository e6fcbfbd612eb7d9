//! The store of offers: what waits for the user's word, by the thread that proposed it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    names::named,
    proposers::{self, MadeByPath, Proposer, Rest, Restaged, Whose},
};
use crate::{
    lsp::{commands::EditParams, session::Session},
    protocol::ThreadId,
    tools::output::visible_path,
    workspace::{
        EditProposal, FileEdit, FilePath,
        checkpoints::TurnMark,
        review::{HunkId, HunkView, Remaining, Review, Selection, Taken},
    },
};

/// Offers that are kept; more than anybody decides about, and each may hold the text of many files.
const MAX_OFFERS: usize = 100;

/// Places that a message names; the others are counted.
const MAX_PLACES: usize = 5;

/// What a turn has worked on top of, as it was when it ended.
pub(super) struct Earlier {
    pub(super) proposal: EditProposal,
    /// Those of the proposal.
    pub(super) hunks: BTreeSet<HunkId>,
}

/// Edits that wait for the user's word.
#[derive(Clone, Debug)]
pub(in crate::lsp) struct Offer {
    /// Grows with each offer, and each time that something of one is decided.
    pub(in crate::lsp) number: u64,
    pub(in crate::lsp) review: Arc<Review>,
    /// The newest turn that has made something of it.
    pub(super) turn: Proposer,
    /// Of hunks that are not the newest turn's.
    earlier: Arc<BTreeMap<HunkId, Proposer>>,
    /// Hunks of earlier turns that did not fit when the newest looked at their files, so that it knows nothing of them.
    unfit: Arc<BTreeSet<HunkId>>,
    /// What the running turn of the thread has staged again of it.
    pub(super) restaged: Arc<Restaged>,
    pub(super) viewed: Viewed,
}

/// What the user has made of a look at an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Viewed {
    No,
    /// The editor shows them a preview.
    Now,
    /// They have ticked nothing of a preview, and may want another one.
    InVain,
    Yes,
}

impl Offer {
    fn new(number: u64, review: Review, turn: &Proposer) -> Self {
        Self {
            number,
            review: Arc::new(review),
            turn: turn.clone(),
            earlier: Arc::default(),
            unfit: Arc::default(),
            restaged: Arc::default(),
            viewed: Viewed::No,
        }
    }

    pub(super) fn proposer(&self, hunk: HunkId) -> &Proposer {
        self.earlier.get(&hunk).unwrap_or(&self.turn)
    }

    fn note(&mut self, proposers: BTreeMap<HunkId, Proposer>) {
        let mut earlier = BTreeMap::clone(&self.earlier);
        earlier.extend(proposers);
        earlier.retain(|_, proposer| !proposer.is_same(&self.turn));
        self.earlier = Arc::new(earlier);
    }
}

impl Session {
    /// Offers what a turn has left staged, with what of earlier ones it has left alone. Tells the user of hunks that make
    /// way though the turn did not know them.
    pub(super) async fn offer_of_turn(
        self: &Arc<Self>,
        thread_id: &ThreadId,
        proposal: EditProposal,
        earlier: Earlier,
        turn: &Proposer,
    ) {
        let (session, thread_id, turn) = (Arc::clone(self), thread_id.clone(), turn.clone());
        // Looks at files on the disk.
        let offer = move || {
            let old = session.offers.get(&thread_id).map(|offer| offer.clone());
            let Some(mut offer) = old else { return session.offer(&thread_id, proposal, &turn) };
            let before = offer.review.hunks(&session.workspace);
            let restaged = std::mem::take(&mut offer.restaged);
            let Earlier { proposal: earlier, hunks: known } = &earlier;
            let (added, made_way) = offer.review.renew(proposal, (earlier, known), &session.workspace);
            let waiting = offer.review.ids();
            let kept = before.iter().map(|view| view.id).filter(|id| waiting.contains(id));
            let kept: BTreeMap<_, _> = kept.map(|id| (id, offer.proposer(id).clone())).collect();
            offer.unfit = Arc::new(kept.keys().copied().filter(|id| !known.contains(id)).collect());
            offer.turn = turn;
            if offer.viewed != Viewed::Now {
                offer.viewed = Viewed::No;
            }
            offer.earlier = Arc::new(kept);
            offer.note(proposers::of_added(&added, &restaged.made, &offer.turn));
            offer.number = session.next_number();
            session.offers.insert(thread_id, offer);
            session.drop_old_offers();
            session.edits_changed();
            let gone: Vec<_> = before.iter().filter(|view| made_way.contains(&view.id)).collect();
            if let Some(told) = made_way_for_newer(&gone) {
                session.warn_soon(told);
            }
        };
        if let Err(error) = tokio::task::spawn_blocking(offer).await {
            tracing::error!(%error, "proposed edits cannot be compared with their files");
        }
    }

    /// Puts the first edits of a thread on offer.
    fn offer(self: &Arc<Self>, thread_id: &ThreadId, proposal: EditProposal, turn: &Proposer) {
        let number = self.next_number();
        let review = Review::named_by(self.hunk_names.clone(), proposal, &self.workspace);
        self.offers.insert(thread_id.clone(), Offer::new(number, review, turn));
        self.drop_old_offers();
        self.edits_changed();
    }

    /// Offers more, except for files of which the thread has something on offer already: that is newer. They are of
    /// `whose` turns.
    pub(super) fn offer_more(self: &Arc<Self>, thread_id: &ThreadId, files: Vec<FileEdit>, whose: &Whose) {
        if files.is_empty() {
            return;
        }
        let proposal = EditProposal { files };
        let Whose { made, turn, .. } = whose;
        let first = || {
            let none = EditProposal::default();
            let review = Review::named_by(self.hunk_names.clone(), none, &self.workspace);
            Offer::new(self.next_number(), review, turn)
        };
        let mut offer = self.offers.entry(thread_id.clone()).or_insert_with(first);
        let added = offer.review.add(proposal, &self.workspace);
        offer.note(proposers::of_added(&added, made, turn));
        drop(offer);
        self.drop_old_offers();
        self.offer_changed(thread_id);
    }

    /// All that the newest turn of a thread offers, with what it knows of earlier ones: not what was in conflict before.
    /// Everything where there is nothing else.
    pub(super) fn fitting_at_first(&self, thread_id: &ThreadId) -> Selection {
        let Some(offer) = self.offers.get(thread_id).map(|offer| offer.clone()) else {
            return Selection::All;
        };
        let mut waiting = offer.review.ids();
        let count = waiting.len();
        waiting.retain(|id| !offer.unfit.contains(id));
        match waiting.is_empty() || waiting.len() == count {
            true => Selection::All,
            false => Selection::Hunks(waiting),
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

    /// What the running turn of a thread has staged again.
    pub(super) fn restaged(&self, thread_id: &ThreadId) -> Arc<Restaged> {
        self.offers.get(thread_id).map(|offer| Arc::clone(&offer.restaged)).unwrap_or_default()
    }

    /// Whose hunks were taken out of a review. Reads the disk.
    pub(super) fn whose(&self, thread_id: &ThreadId, review: &Review, taken: &Taken) -> Whose {
        let Some(offer) = self.offers.get(thread_id).map(|offer| offer.clone()) else {
            let turn = Proposer::new(self.next_number(), TurnMark::new(thread_id, ""));
            return Whose { made: MadeByPath::new(), turn, rest: Rest::OfNewest };
        };
        if offer.earlier.is_empty() {
            return Whose { made: MadeByPath::new(), turn: offer.turn, rest: Rest::OfNewest };
        }
        let views = taken.files.iter().flat_map(|file| {
            let views = review.hunks_of(&self.workspace, &file.edit.path);
            views.into_iter().filter(|view| file.hunks.contains(&view.id))
        });
        let views: Vec<_> = views.collect();
        let made = proposers::made(&views, |id| offer.proposer(id));
        Whose { made, turn: offer.turn, rest: Rest::OfNewest }
    }

    pub(super) fn review(&self, thread_id: &ThreadId) -> Option<Arc<Review>> {
        Some(Arc::clone(&self.offers.get(thread_id)?.review))
    }

    /// A buffer has changed, maybe by an edit that was taken.
    pub(in crate::lsp) fn follow_taken(&self) {
        for offer in self.offers.iter() {
            offer.review.follow_taken(&self.workspace);
        }
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
        let path = params.uri.as_deref().and_then(|uri| self.workspace.locate(uri).ok());
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

    /// Takes edits out of an offer that came about otherwise, or that newer ones replace. What the running turn does not
    /// know stays: of what was on offer when it began it has `restaged` these.
    pub(super) fn forget_edits(&self, thread_id: &ThreadId, files: &[FileEdit], restaged: &BTreeSet<HunkId>) {
        let Some(review) = self.review(thread_id) else { return };
        let known = review.paths();
        let mut is_changed = false;
        let offered = &self.restaged(thread_id).offered;
        for file in files.iter().filter(|file| known.contains(&file.path)) {
            let is_known = |id: &HunkId| restaged.contains(id) || !offered.contains(id);
            let hunks = review.ids_of(&file.path).into_iter().filter(is_known).collect();
            is_changed |= !review.rejected(&Selection::Hunks(hunks)).is_empty();
        }
        if is_changed {
            self.offer_changed(thread_id);
        }
    }
}

/// `2 earlier edits no longer fit and make way for newer ones: a.txt:3, a.txt:9`; `None` for none.
fn made_way_for_newer(gone: &[&HunkView]) -> Option<String> {
    let places =
        gone.iter().map(|view| format!("{}:{}", visible_path(view.path.as_str()), view.lines_now.start + 1));
    let mut places: Vec<_> = places.collect();
    let what = match places.len() {
        0 => return None,
        1 => "1 earlier edit no longer fits and makes".to_owned(),
        count => format!("{count} earlier edits no longer fit and make"),
    };
    let others = match places.len().saturating_sub(MAX_PLACES) {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    places.truncate(MAX_PLACES);
    Some(format!("Agent edits: {what} way for newer ones: {}{others}", places.join(", ")))
}
