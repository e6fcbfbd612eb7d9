//! What becomes of staged edits while the turn goes on.

use std::sync::Arc;

use super::{
    TurnFiles,
    known::{Author, Known},
};
use crate::workspace::FileEdit;

impl TurnFiles {
    /// Takes edits out of what is staged that have come about: the buffer or the disk shows them from now on.
    ///
    /// What they say counts as seen by the model, which wrote it, unless the editor has made something else of it.
    pub fn applied(&self, edits: &[FileEdit]) {
        for edit in edits {
            let now = self.workspace.read(&edit.path).ok().map(|now| now.text);
            let mut state = self.state();
            state.staged.remove(&edit.path);
            state.seen.remove(edit.origin());
            let known = state.written.remove(&edit.path);
            if let Some(after) = &edit.after {
                // An editor may write other line ends.
                let is_same = |now: &Arc<str>| now.lines().eq(after.lines());
                let seen = now.filter(is_same).unwrap_or_else(|| after.as_str().into());
                let known = match known {
                    // The user may have typed in between: what the model wrote is among what it knows already.
                    Some(known) => known.in_text(seen, Author::Other),
                    None => Known::nothing_of(seen),
                };
                state.seen.insert(edit.path.clone(), known);
            }
        }
    }

    /// Takes edits out of what is staged that will not come about: reads see the files as they are.
    pub fn discard(&self, edits: &[FileEdit]) {
        let mut state = self.state();
        for edit in edits {
            state.staged.remove(&edit.path);
            state.written.remove(&edit.path);
        }
    }

    /// A command begins. Gives whether something is staged, which it then does not see.
    pub fn begin_command(&self) -> bool {
        let mut state = self.state();
        let staged: Vec<_> = state.staged.keys().cloned().collect();
        let is_unseen = !staged.is_empty();
        state.unseen.extend(staged);
        is_unseen
    }

    /// Whether commands of the turn ran without edits of files for which something is staged now.
    pub fn commands_ran_without(&self) -> bool {
        let state = self.state();
        state.staged.keys().any(|path| state.unseen.contains(path))
    }
}
