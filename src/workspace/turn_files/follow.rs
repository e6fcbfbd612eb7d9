//! Staged edits follow what the user does meanwhile: what they type in those files, and what they decide about hunks of
//! earlier turns that this turn has staged again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    State, TurnFiles,
    known::{Author, Known},
};
use crate::workspace::{
    EditProposal, FileEdit, FileError, FilePath, FileText,
    review::{HunkId, Review, TakenFile},
};

/// Hunks of earlier turns that wait for the user's word while this turn works on top of them.
#[derive(Debug)]
pub(super) struct Earlier {
    review: Arc<Review>,
    /// Those that waited when the turn began. What of them the user has not decided about may come to fit, or to fit again.
    hunks: Arc<BTreeSet<HunkId>>,
    /// By the paths of their edits in the review.
    files: BTreeMap<FilePath, Under>,
}

/// What this turn works on top of in a file, as it was looked at last.
#[derive(Clone, Debug)]
struct Under {
    /// What is staged where this turn has left it alone. Changes nothing while none of the hunks fits.
    edit: FileEdit,
    /// Those that it has.
    hunks: BTreeSet<HunkId>,
}

/// The same of one file.
struct Waiting {
    /// That of its edit in the review.
    path: FilePath,
    under: Under,
    review: Arc<Review>,
    hunks: Arc<BTreeSet<HunkId>>,
}

/// What following a file made of its staged edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Followed {
    /// The file is what the edit was made for.
    Same,
    /// It fits the file as it is now.
    Moved,
    /// Not all of it fits, so it stays as it is.
    Unfit,
    /// What of it does not fit was dropped.
    Cut,
}

/// What is done about edits that do not fit any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// They stay as they are, for the user to see what is in conflict.
    Kept,
    /// The turn is about to make them anew.
    Dropped,
}

impl TurnFiles {
    /// Stages, before the turn begins, what waits in a review, as far as it fits. The user may decide about it while the
    /// turn goes on: what is accepted stands in the file then, and what is rejected is staged no longer. What does not fit
    /// is staged once it does.
    pub fn restage_review(&self, review: &Arc<Review>) {
        let (mut hunks, mut fitting, mut unfit) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
        let paths = review.paths();
        // With what the editor has just now: it may refuse it.
        let mut waiting: BTreeMap<FilePath, TakenFile> = review
            .undecided(&self.workspace)
            .into_iter()
            .map(|file| (file.edit.path.clone(), file))
            .collect();
        for path in paths {
            let staged = match (waiting.remove(&path), review.edit_of(&path)) {
                (Some(TakenFile { edit, hunks }), _) => self.restage(&edit).map(|()| {
                    fitting.insert(path.clone(), hunks.into_iter().collect());
                }),
                (None, Some(edit)) => self.without_change(&edit).map(|edit| {
                    unfit.push((path.clone(), Under { edit, hunks: BTreeSet::new() }));
                }),
                (None, None) => continue,
            };
            match staged {
                Ok(()) => hunks.extend(review.ids_of(&path)),
                Err(error) => tracing::warn!(%error, "an earlier edit is not staged again"),
            }
        }
        // The turn has changed nothing yet.
        self.drain_changes();
        let mut state = self.state();
        let under = |edit: &FileEdit| {
            let hunks = fitting.remove(&edit.path).unwrap_or_default();
            (edit.path.clone(), Under { edit: edit.clone(), hunks })
        };
        let files = state.staged.values().map(under).chain(unfit).collect();
        state.earlier = Some(Earlier { review: Arc::clone(review), hunks: Arc::new(hunks), files });
    }

    /// Brings what is staged up to what the files say now and the user has decided. What does not fit stays as it is.
    pub fn follow_all(&self) {
        let state = self.state();
        let earlier = state.earlier.iter().flat_map(|earlier| earlier.files.keys());
        let paths: BTreeSet<FilePath> = state.staged.keys().chain(earlier).cloned().collect();
        drop(state);
        for path in paths {
            if let Err(error) = self.follow(&path, Unfit::Kept) {
                tracing::debug!(%path, %error, "a staged edit cannot follow its file");
            }
        }
    }

    /// Of [`TurnFiles::proposal`] what would be staged, had this turn changed nothing.
    pub fn earlier_proposal(&self) -> EditProposal {
        let state = self.state();
        let files = state.earlier.iter().flat_map(|earlier| earlier.files.values());
        let edits = files.map(|under| &under.edit).filter(|edit| !edit.changes_nothing());
        EditProposal { files: edits.cloned().collect() }
    }

    /// The hunks that it has. Others of the review did not fit when this turn looked at their files last.
    pub fn earlier_hunks(&self) -> BTreeSet<HunkId> {
        let state = self.state();
        let files = state.earlier.iter().flat_map(|earlier| earlier.files.values());
        files.flat_map(|under| under.hunks.iter().copied()).collect()
    }

    pub(super) fn follow(&self, path: &FilePath, unfit: Unfit) -> Result<Followed, FileError> {
        let (staged, waiting) = {
            let state = self.state();
            let waiting = state.waiting(path);
            let staged = match &waiting {
                Some(waiting) => state.staged_over(&waiting.under.edit),
                None => state.staged.get(path),
            };
            (staged.cloned(), waiting)
        };
        let Some(Waiting { path, under: Under { edit: under, .. }, review, hunks }) = waiting else {
            let Some(staged) = staged else { return Ok(Followed::Same) };
            let now = self.base(staged.origin())?;
            if staged.is_made_for(now.as_ref()) {
                return Ok(Followed::Same);
            }
            let [under, now] =
                [staged.before.clone(), now].map(|text| FileEdit::without_change(staged.origin(), text));
            return Ok(self.rebase(&staged, &under, &now, unfit));
        };
        let waits = review.undecided_of(&self.workspace, &path, |hunk| hunks.contains(&hunk));
        let now = match waits {
            Some(TakenFile { edit, hunks }) => {
                Under { edit: FileEdit { stretches: None, ..edit }, hunks: hunks.into_iter().collect() }
            }
            None => Under { edit: self.without_change(&under)?, hunks: BTreeSet::new() },
        };
        let is_left_alone = match &staged {
            Some(staged) => staged.says_the_same(&under),
            None => under.changes_nothing(),
        };
        let is_same = now.edit.says_the_same(&under);
        let followed = match &staged {
            _ if is_same => Followed::Same,
            _ if is_left_alone => self.put_followed(staged.as_ref(), now.edit.clone(), Followed::Moved),
            Some(staged) => self.rebase(staged, &under, &now.edit, unfit),
            None => Followed::Same,
        };
        let is_followed = match followed {
            Followed::Moved | Followed::Cut => true,
            // What the turn has taken back stays so, whether or not it fits for the moment.
            Followed::Same => is_same || staged.is_none() && !now.hunks.is_empty(),
            Followed::Unfit => false,
        };
        let is_decided = review.ids_of(&path).is_disjoint(&hunks);
        if let Some(earlier) = &mut self.state().earlier {
            if is_decided {
                earlier.files.remove(&path);
            } else if is_followed {
                // What is staged is equal to it where the turn has left that alone: its version too.
                let edit = if is_same { under } else { now.edit };
                earlier.files.insert(path, Under { edit, hunks: now.hunks });
            }
        }
        Ok(followed)
    }

    /// The file of an edit as it stands now, with nothing changed in it.
    fn without_change(&self, edit: &FileEdit) -> Result<FileEdit, FileError> {
        let now = self.base(edit.origin())?;
        if now.is_none() && edit.moved_from.is_some() {
            let moved = self.base(&edit.path)?;
            if moved.is_some() {
                return Ok(FileEdit::without_change(&edit.path, moved));
            }
        }
        Ok(FileEdit::without_change(edit.origin(), now))
    }

    /// What a staged edit makes of the text that the first of two edits of its file leaves, it makes of that of the second,
    /// which is for the file of now.
    fn rebase(&self, staged: &FileEdit, under: &FileEdit, under_now: &FileEdit, unfit: Unfit) -> Followed {
        let (place, before) = (under_now.origin(), &under_now.before);
        let (after, is_whole) = match (&under.after, &staged.after, &under_now.after) {
            (Some(text), Some(_), Some(text_now)) => {
                let of = |text: &String| FileText { text: text.as_str().into(), version: None, bom: false };
                let own = FileEdit::of(&staged.path, Some(of(text)), staged.after.clone());
                let onto = own.onto_text(of(text_now));
                (onto.edit.after, !onto.is_part)
            }
            // A deletion, or a text that was written where there was none.
            _ if under.after == under_now.after || staged.is_made_for(before.as_ref()) => {
                (staged.after.clone(), true)
            }
            _ if unfit == Unfit::Kept => return Followed::Unfit,
            _ => {
                let none = FileEdit::without_change(place, before.clone());
                return self.put_followed(Some(staged), none, Followed::Cut);
            }
        };
        let path = match &after {
            None => place,
            // The turn has not moved it.
            Some(_) if staged.path == under.path => &under_now.path,
            Some(_) => &staged.path,
        };
        let moved_from = Some(place.clone()).filter(|place| place != path && before.is_some());
        let text_from = staged.text_from.clone();
        let edit = FileEdit { moved_from, text_from, ..FileEdit::of(path, before.clone(), after) };
        match (is_whole, unfit) {
            (true, _) => self.put_followed(Some(staged), edit, Followed::Moved),
            (false, Unfit::Kept) => Followed::Unfit,
            (false, Unfit::Dropped) => self.put_followed(Some(staged), edit, Followed::Cut),
        }
    }

    /// Stages an edit, made for the file of now, in place of the one that it follows, unless that one has changed since it
    /// was looked at, or another edit has taken the place. Gives `followed` where it is staged.
    fn put_followed(&self, staged: Option<&FileEdit>, edit: FileEdit, followed: Followed) -> Followed {
        let mut state = self.state();
        if staged.is_some_and(|staged| state.staged.get(&staged.path) != Some(staged)) {
            return Followed::Same;
        }
        let mut others = state.staged.values().filter(|other| Some(*other) != staged);
        let is_free = edit.changes_nothing() || {
            let meets = |path: &FilePath| *path == edit.path || path == edit.origin();
            !others.any(|other| meets(&other.path) || meets(other.origin()))
        };
        if !is_free {
            return Followed::Unfit;
        }
        let written = staged.and_then(|staged| state.written.remove(&staged.path));
        let known = written.or_else(|| state.seen.get(staged.unwrap_or(&edit).origin()).cloned());
        let known_in = |text: Arc<str>| match &known {
            Some(known) => known.in_text(text, Author::Other),
            None => Known::nothing_of(text),
        };
        if let Some(staged) = staged {
            state.staged.remove(&staged.path);
        }
        let after = edit.after.as_deref().filter(|_| !edit.changes_nothing());
        match (after, &edit.before) {
            (Some(after), before) => {
                state.written.insert(edit.path.clone(), known_in(after.into()));
                if let Some(before) = before {
                    state.see(edit.origin(), &before.text);
                }
            }
            (None, Some(before)) => {
                state.seen.insert(edit.origin().clone(), known_in(Arc::clone(&before.text)));
            }
            (None, None) => {
                state.seen.remove(edit.origin());
            }
        }
        if !edit.changes_nothing() {
            state.staged.insert(edit.path.clone(), edit);
        }
        followed
    }
}

impl State {
    /// What of earlier turns waits where the text of a path, or its file, comes from.
    fn waiting(&self, path: &FilePath) -> Option<Waiting> {
        let Earlier { review, hunks, files } = self.earlier.as_ref()?;
        let (path, under) = match self.staged.get(path) {
            Some(staged) => files.iter().find(|(_, under)| staged.is_over(&under.edit))?,
            None => files.get_key_value(path)?,
        };
        let (review, hunks) = (Arc::clone(review), Arc::clone(hunks));
        Some(Waiting { path: path.clone(), under: under.clone(), review, hunks })
    }

    /// What is staged of the file of an edit that waits.
    fn staged_over(&self, under: &FileEdit) -> Option<&FileEdit> {
        self.staged.values().find(|staged| staged.is_over(under))
    }
}

impl FileEdit {
    fn without_change(path: &FilePath, text: Option<FileText>) -> Self {
        let after = text.as_ref().map(|text| text.text.to_string());
        Self::of(path, text, after)
    }

    /// Whether both are of the same file, or make one at the same place.
    fn is_over(&self, under: &Self) -> bool {
        self.origin() == under.origin() && self.before.is_some() == under.before.is_some()
    }
}
