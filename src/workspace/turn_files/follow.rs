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
    review::{HunkId, Review},
};

/// Hunks of earlier turns that wait for the user's word while this turn works on top of them.
#[derive(Debug)]
pub(super) struct Earlier {
    review: Arc<Review>,
    hunks: Arc<BTreeSet<HunkId>>,
    /// Those of them that wait, as they are staged where this turn has left them alone.
    edits: BTreeMap<FilePath, FileEdit>,
}

/// The same of one file.
struct Waiting {
    edit: FileEdit,
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
    /// Not all of it fits.
    Unfit,
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
    /// What is staged so far are hunks of a review that the user may decide about while the turn goes on: what is
    /// accepted stands in the file then, and what is rejected is staged no longer.
    pub fn follow_review(&self, review: &Arc<Review>, hunks: BTreeSet<HunkId>) {
        let mut state = self.state();
        let edits = state.staged.clone();
        state.earlier = Some(Earlier { review: Arc::clone(review), hunks: Arc::new(hunks), edits });
    }

    /// Brings what is staged up to what the files say now and the user has decided. What does not fit stays as it is.
    pub fn follow_all(&self) {
        let state = self.state();
        let earlier = state.earlier.iter().flat_map(|earlier| earlier.edits.keys());
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
        let edits = state.earlier.iter().flat_map(|earlier| earlier.edits.values());
        EditProposal { files: edits.cloned().collect() }
    }

    pub(super) fn follow(&self, path: &FilePath, unfit: Unfit) -> Result<Followed, FileError> {
        let (staged, waiting) = {
            let state = self.state();
            (state.staged.get(path).cloned(), state.waiting(path))
        };
        let Some(edit) = staged.as_ref().or(waiting.as_ref().map(|waiting| &waiting.edit)) else {
            return Ok(Followed::Same);
        };
        let now = self.base(edit.origin())?;
        let Some(Waiting { edit, review, hunks }) = waiting else {
            let Some(staged) = staged.filter(|staged| !staged.is_made_for(now.as_ref())) else {
                return Ok(Followed::Same);
            };
            let texts = staged.before.as_ref().zip(now.as_ref());
            let texts = texts.map(|(before, now)| (before.text.to_string(), now.text.to_string()));
            return Ok(self.rebase(&staged, texts, now, unfit));
        };
        let waits = review.undecided_of(&self.workspace, path, |hunk| hunks.contains(&hunk));
        let waits = waits.map(|waits| FileEdit { stretches: None, ..waits });
        if waits.as_ref().is_some_and(|waits| waits.says_the_same(&edit)) {
            return Ok(Followed::Same);
        }
        let followed = match staged {
            // Nothing of this turn is in it.
            Some(staged) if staged.says_the_same(&edit) => {
                self.put_followed(path, &staged, waits.clone(), now);
                Followed::Moved
            }
            Some(staged) => {
                let under = waits
                    .as_ref()
                    .map_or(now.as_ref().map(|now| now.text.to_string()), |waits| waits.after.clone());
                self.rebase(&staged, edit.after.clone().zip(under), now, unfit)
            }
            None => Followed::Same,
        };
        if followed != Followed::Unfit || unfit == Unfit::Dropped {
            let mut state = self.state();
            if let Some(earlier) = &mut state.earlier {
                match waits {
                    Some(waits) => earlier.edits.insert(path.clone(), waits),
                    None => earlier.edits.remove(path),
                };
            }
        }
        Ok(followed)
    }

    /// What a staged edit makes of the first of two texts, it makes of the second; then it leads there from what the file
    /// says now. `None`: the texts are none, or no such pair.
    fn rebase(
        &self,
        staged: &FileEdit,
        texts: Option<(String, String)>,
        now: Option<FileText>,
        unfit: Unfit,
    ) -> Followed {
        let path = &staged.path;
        let is_text_alone = staged.moved_from.is_none() && staged.after.is_some();
        let Some((under, under_now)) = texts.filter(|_| is_text_alone && now.is_some()) else {
            if unfit == Unfit::Dropped {
                self.put_followed(path, staged, None, now);
            }
            return Followed::Unfit;
        };
        let of = |text: String| FileText { text: text.into(), version: None, bom: false };
        let own = FileEdit::of(path, Some(of(under)), staged.after.clone());
        let onto = own.onto_text(of(under_now));
        let followed = if onto.is_part { Followed::Unfit } else { Followed::Moved };
        if followed == Followed::Moved || unfit == Unfit::Dropped {
            let edit = FileEdit { before: now.clone(), after: onto.edit.after, ..staged.clone() };
            self.put_followed(path, staged, Some(edit), now);
        }
        followed
    }

    /// Stages an edit in place of the one that it follows, unless that one has changed since it was looked at.
    fn put_followed(
        &self,
        path: &FilePath,
        staged: &FileEdit,
        edit: Option<FileEdit>,
        now: Option<FileText>,
    ) {
        let mut state = self.state();
        if state.staged.get(path) != Some(staged) {
            return;
        }
        let origin = staged.origin();
        let known = state.written.remove(path).or_else(|| state.seen.get(origin).cloned());
        state.staged.remove(path);
        if let Some(edit) = edit.filter(|edit| !edit.changes_nothing()) {
            state.staged.insert(path.clone(), edit);
        }
        let known_in = |text: Arc<str>| match &known {
            Some(known) => known.in_text(text, Author::Other),
            None => Known::nothing_of(text),
        };
        match state.staged.get(path).and_then(|edit| edit.after.clone()) {
            Some(after) => {
                state.written.insert(path.clone(), known_in(after.as_str().into()));
                if let Some(now) = &now {
                    state.see(origin, &now.text);
                }
            }
            None => match &now {
                Some(now) => drop(state.seen.insert(origin.clone(), known_in(Arc::clone(&now.text)))),
                None => drop(state.seen.remove(origin)),
            },
        }
    }
}

impl State {
    /// What of earlier turns waits in a file.
    fn waiting(&self, path: &FilePath) -> Option<Waiting> {
        let Earlier { review, hunks, edits } = self.earlier.as_ref()?;
        let edit = edits.get(path)?.clone();
        Some(Waiting { edit, review: Arc::clone(review), hunks: Arc::clone(hunks) })
    }
}
