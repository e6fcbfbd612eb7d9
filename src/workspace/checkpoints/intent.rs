//! Applying edits to the disk with their texts kept first.
//!
//! The record is on the disk before the first file changes, so that a process that is killed in the middle leaves a turn
//! that can be undone: its files are as they were before the turn or as it was to leave them, and `plan` knows both. An
//! undo is recorded so as well, but takes its turn back only once it is done: cut off, the turn can be undone on, and what
//! the undo has replaced can be had by a redo.

use std::{convert::Infallible, io, path::Path, time::SystemTime};

use crate::workspace::{
    EditProposal, FileEdit, Workspace,
    apply::{self, AttributesByPath, NotApplied},
    disk,
    edit::Conflict,
};

use super::{
    Checkpoints, Direction, Held, UndoPlan,
    record::{self, Kind, Record, TurnMark},
};

/// The record of an undo whose files are written, while it does not count yet.
#[derive(Debug)]
#[must_use = "the undo counts only once it is concluded"]
pub struct Intent {
    id: String,
    record: Record,
}

/// Why edits were not applied; no file has changed unless a conflict says so.
#[derive(Debug)]
pub enum Unapplied {
    Conflicts(Vec<Conflict>),
    /// The texts that would go cannot be kept.
    NotKept(io::Error),
}

impl Checkpoints {
    /// Applies the edits of a turn, with its checkpoint written before.
    pub fn apply(
        &self,
        turn: &TurnMark,
        proposal: &EditProposal,
        workspace: &Workspace,
        now: SystemTime,
    ) -> Result<(), Unapplied> {
        let _held = match (self.lock(), proposal.files.first()) {
            (Err(busy), Some(file)) => {
                let conflict = Conflict { path: file.path.clone(), reason: busy.to_string() };
                return Err(Unapplied::Conflicts(vec![conflict]));
            }
            (held, _) => held,
        };
        self.apply_as(Kind::Turn, turn, proposal, &AttributesByPath::new(), workspace, now).map(|_| ())
    }

    /// Applies edits of an undo or redo, with what they replace kept before. When it cannot be kept and somebody has
    /// changed the files since the turn, nothing changes: what they wrote would be nowhere. Otherwise the edits are made
    /// all the same, since the texts that go are those of the turn's own checkpoint.
    ///
    /// Gives whether they were kept; the error says why nothing has changed, in words for people.
    ///
    /// Who has made the plan holds the lock since before that.
    pub fn apply_undo(
        &self,
        _held: &Held,
        plan: &UndoPlan,
        proposal: &EditProposal,
        workspace: &Workspace,
        now: SystemTime,
    ) -> Result<io::Result<Intent>, Vec<String>> {
        let reasons = |conflicts: Vec<Conflict>| -> Vec<String> {
            conflicts.into_iter().map(|conflict| conflict.reason).collect()
        };
        let kind = match plan.direction {
            Direction::Undo => Kind::Undo,
            Direction::Redo => Kind::Redo,
        };
        match self.apply_as(kind, &plan.turn, proposal, &plan.attributes, workspace, now) {
            Ok(intent) => Ok(Ok(intent)),
            Err(Unapplied::Conflicts(conflicts)) => Err(reasons(conflicts)),
            Err(Unapplied::NotKept(error)) if plan.moved_on.is_empty() => {
                let applied = apply::apply(proposal, workspace, &plan.attributes, || Ok::<_, Infallible>(()));
                let Ok(applied) = applied;
                applied.map_err(|not_applied| reasons(not_applied.conflicts))?;
                Ok(Err(error))
            }
            Err(Unapplied::NotKept(error)) => {
                Err(vec![format!("what changed since cannot be kept among the checkpoints: {error}")])
            }
        }
    }

    /// From now on the undo counts. Unless it `is_whole`, the turn stays as it counts now, so that the rest can be had
    /// later. After an error it can still be redone, and the turn can be undone again.
    pub fn conclude_undo(
        &self,
        plan: &UndoPlan,
        intent: Intent,
        is_whole: bool,
        now: SystemTime,
    ) -> io::Result<()> {
        if !is_whole || !plan.is_reachable {
            return Ok(());
        }
        let undoes = plan.records.clone();
        self.store.write_record(&Record { undoes, ..intent.record }, now)?;
        self.store.remove_record(&intent.id)
    }

    /// For an undo of which another record tells.
    pub fn forget_intent(&self, intent: &Intent) -> io::Result<()> {
        self.store.remove_record(&intent.id)
    }

    fn apply_as(
        &self,
        kind: Kind,
        turn: &TurnMark,
        proposal: &EditProposal,
        attributes: &AttributesByPath,
        workspace: &Workspace,
        now: SystemTime,
    ) -> Result<Intent, Unapplied> {
        // Applying makes them first of all.
        let made_folders: Vec<usize> = proposal.files.iter().map(record::missing_folders).collect();
        let mut intent = None;
        let keep = || -> io::Result<()> {
            let mut record = self.intended(kind, turn, &proposal.files, attributes, workspace, now)?;
            for (file, made_folders) in record.files.iter_mut().zip(made_folders) {
                file.made_folders = made_folders;
            }
            let id = self.store.write_record(&record, now)?;
            intent = Some(Intent { id, record });
            Ok(())
        };
        let applied = apply::apply(proposal, workspace, attributes, keep).map_err(Unapplied::NotKept)?;
        match (applied, intent) {
            (Ok(()), Some(intent)) => Ok(intent),
            (Ok(()), None) => Err(Unapplied::Conflicts(Vec::new())),
            (Err(NotApplied { conflicts, is_untouched }), intent) => {
                if let Some(intent) = intent.filter(|_| is_untouched)
                    && let Err(error) = self.store.remove_record(&intent.id)
                {
                    // It says what is true: the files are as before.
                    tracing::warn!(%error, "the checkpoint of edits that were not applied stays");
                }
                Err(Unapplied::Conflicts(conflicts))
            }
        }
    }

    fn intended(
        &self,
        kind: Kind,
        turn: &TurnMark,
        edits: &[FileEdit],
        attributes: &AttributesByPath,
        workspace: &Workspace,
        now: SystemTime,
    ) -> io::Result<Record> {
        let mut files = Vec::with_capacity(edits.len());
        for edit in edits {
            let mut file = record::file(&self.store, edit, workspace, now)?;
            // What will be there, and not what is.
            file.unsaved = false;
            if let (Some(after), Some(text)) = (&mut file.after, &edit.after) {
                after.bom = apply::has_mark(edit, edits, attributes) || disk::without_mark(text, None).bom;
            }
            file.mode = edit.origin().disk().filter(|_| edit.before.is_some()).and_then(mode);
            files.push(file);
        }
        Ok(Record::new(kind, turn, Vec::new(), files, now))
    }
}

/// `None` where there are no mode bits.
pub(super) fn mode(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        Some(std::fs::metadata(path).ok()?.permissions().mode() & MODE_BITS)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// Without the kind of the file.
#[cfg(unix)]
const MODE_BITS: u32 = 0o7777;

#[cfg(test)]
mod tests;
