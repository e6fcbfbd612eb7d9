//! Checkpoints: what each applied turn has changed, kept outside the project, so that it can be taken back as one.
//!
//! ```text
//! <folder>/<hash of the roots>/records/<stamp>-<random>.json   one for each time that edits were applied
//!                              blobs/<SHA-256 of the text>     each text once
//!                              damaged/                        what could not be read any more
//! ```
//!
//! Nothing is ever changed in place. A text is on the disk before the record that names it, a record appears whole or not
//! at all, and no two writers use one name: any number of processes may write at once, and one that is killed leaves the
//! journal as it was or with its record. Who writes the files of the project itself, or takes a turn back, holds a lock
//! meanwhile (`lock`), which goes with its process.
//!
//! A turn's edits may come about in several goes (hunk by hunk, step by step): each has a record, and all records of a turn
//! are taken back together, the newest first. An undo is recorded like a turn, and so can be taken back: that is a redo.
//! `history` tells from the records which turns are applied and which are undone; `plan` makes the edits that take one
//! back, for the same way that all edits go.

mod blob;
mod history;
mod intent;
pub(super) mod lock;
mod merge;
mod plan;
mod record;
mod store;
mod sweep;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use crate::protocol::ThreadId;

use super::{FileEdit, FilePath, Workspace};
use record::{Kind, Record};
use store::{Read, Store};

pub use history::{Entry, State};
pub use intent::{Intent, Unapplied};
pub use lock::{Busy, Held};
pub use plan::{MovedOn, OnConflict, UndoPlan};
pub use record::{ChangedFile, TurnMark};

/// The journal of one workspace. Methods block on file I/O.
#[derive(Debug)]
pub struct Checkpoints {
    store: Store,
    /// What could not be read when it was opened, until somebody is told.
    problems: Mutex<Vec<String>>,
    /// What somebody was told of: what stays unreadable would be told of again and again.
    told: Mutex<BTreeSet<String>>,
    /// What was there before an editor changed it, until its record is written.
    noted: Mutex<BTreeMap<FilePath, Noted>>,
}

/// What only somebody can see who looks before an edit comes about.
#[derive(Clone, Copy, Debug, Default)]
struct Noted {
    /// Of a file that goes.
    mode: Option<u32>,
    /// See [`record::FileRecord::made_folders`].
    made_folders: usize,
    /// Of the look, one more each time.
    number: u64,
}

/// Files of which something is noted: more than an editor has in hand at once. What it was asked for longest ago, and has
/// refused or left out since, makes way.
const MAX_NOTED: usize = 10_000;

/// Which way a turn is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// An applied turn is taken back.
    Undo,
    /// An undone turn is applied again.
    Redo,
}

/// Why there is nothing to undo or redo, for people.
#[derive(Debug, thiserror::Error)]
pub enum NoPlan {
    #[error("{0}")]
    Nothing(String),
    #[error("the checkpoints cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Busy(#[from] Busy),
}

impl Checkpoints {
    /// Opens the journal of the workspace with these `roots` below `folder`, and makes it if need be. What is too old, or
    /// more than is kept, goes: see `sweep`.
    pub fn open(folder: &Path, roots: &[PathBuf], now: SystemTime) -> io::Result<Self> {
        let store = Store::open(&folder.join(workspace_name(roots)))?;
        let problems = sweep::sweep_all(folder, &store, now);
        Ok(Self { store, problems: Mutex::new(problems), told: Mutex::default(), noted: Mutex::default() })
    }

    /// Whether anything was kept of the workspace with these `roots`. Makes nothing.
    pub fn exist(folder: &Path, roots: &[PathBuf]) -> bool {
        let store = Store::at(folder.join(workspace_name(roots)));
        store.record_files().is_ok_and(|records| !records.is_empty())
    }

    /// Looks at the files that these edits make, move and delete, for the records that are written once that has come
    /// about: an undo gives deleted files their mode bits back, and removes the folders that were made. For edits that an
    /// editor makes.
    pub fn note_before(&self, edits: &[FileEdit]) {
        let found = edits.iter().filter(|edit| edit.comes_or_goes()).map(|edit| {
            let deleted = edit.path.disk().filter(|_| edit.after.is_none());
            let made_folders = record::missing_folders(edit);
            (edit.path.clone(), Noted { mode: deleted.and_then(intent::mode), made_folders, number: 0 })
        });
        let found: Vec<_> = found.take(MAX_NOTED).collect();
        let mut noted = self.noted();
        let number = noted.values().map(|noted| noted.number).max().unwrap_or_default() + 1;
        noted.extend(found.into_iter().map(|(path, now)| (path, Noted { number, ..now })));
        if let Some(too_many) = noted.len().checked_sub(MAX_NOTED) {
            let mut oldest: Vec<_> = noted.iter().map(|(path, noted)| (noted.number, path.clone())).collect();
            oldest.sort();
            oldest.iter().take(too_many).for_each(|(_, path)| _ = noted.remove(path));
        }
    }

    fn noted(&self) -> MutexGuard<'_, BTreeMap<FilePath, Noted>> {
        // Whole at any moment, so a panic elsewhere does not spoil it.
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what has come about of a turn's edits; `done` as they were applied; how the editor ends lines is read from
    /// the workspace. Returns the checkpoint's id; `None` when nothing has changed.
    pub fn keep(
        &self,
        turn: &TurnMark,
        done: &[FileEdit],
        workspace: &Workspace,
        now: SystemTime,
    ) -> io::Result<Option<String>> {
        if done.is_empty() {
            return Ok(None);
        }
        self.write(Kind::Turn, turn, Vec::new(), done, workspace, now).map(Some)
    }

    /// Keeps what has come about of an undo or redo. Unless it `is_whole`, the turn stays as it counts now, so that the rest
    /// can be had later.
    pub fn keep_undo(
        &self,
        plan: &UndoPlan,
        done: &[FileEdit],
        is_whole: bool,
        workspace: &Workspace,
        now: SystemTime,
    ) -> io::Result<Option<String>> {
        let undoes = if is_whole && plan.is_reachable { plan.records.clone() } else { Vec::new() };
        if done.is_empty() && undoes.is_empty() {
            return Ok(None);
        }
        let kind = match plan.direction {
            Direction::Undo => Kind::Undo,
            Direction::Redo => Kind::Redo,
        };
        self.write(kind, &plan.turn, undoes, done, workspace, now).map(Some)
    }

    /// The turns that were kept, newest first, and what of them cannot be read, in words.
    pub fn list(&self) -> io::Result<(Vec<Entry>, Vec<String>)> {
        let read = self.read()?;
        Ok((history::entries(&read.records), read.problems))
    }

    /// Blocks until nobody else applies or takes back edits of this project, but not for long.
    pub fn lock(&self) -> Result<Held, Busy> {
        lock::lock(&self.store.lock_file())
    }

    /// The lock for a [`Checkpoints::plan`] that is to be carried out. Who has to wait means the turn that was the newest
    /// when they asked, not one that is so by then.
    pub fn lock_for_undo(
        &self,
        direction: Direction,
        thread: Option<&ThreadId>,
        workspace: &Workspace,
    ) -> Result<Held, NoPlan> {
        let before = self.newest(direction, thread, workspace)?;
        let held = self.lock()?;
        if held.has_waited {
            self.refuse_another(direction, before, thread, workspace)?;
        }
        Ok(held)
    }

    /// The turn that an undo or redo is about.
    fn newest(
        &self,
        direction: Direction,
        thread: Option<&ThreadId>,
        workspace: &Workspace,
    ) -> io::Result<Option<TurnMark>> {
        let is_meant = |record: &Record| {
            thread.is_none_or(|thread| record.turn.thread == *thread) && is_here(record, workspace)
        };
        let records = self.store.records()?.records;
        Ok(history::newest(&records, direction, is_meant).map(|(turn, _)| turn))
    }

    /// # Errors
    /// That an undo or redo is about another turn than `before`.
    fn refuse_another(
        &self,
        direction: Direction,
        before: Option<TurnMark>,
        thread: Option<&ThreadId>,
        workspace: &Workspace,
    ) -> Result<(), NoPlan> {
        let now = self.newest(direction, thread, workspace)?;
        if now == before {
            return Ok(());
        }
        let records = self.store.records()?.records;
        let gone = before.filter(|before| !history::is_there(&records, direction, before));
        Err(NoPlan::Nothing(went_on(direction, gone, now)))
    }

    /// The edits that take the newest applied turn back, or the last undone turn forward: of one thread, or of all.
    pub fn plan(
        &self,
        direction: Direction,
        thread: Option<&ThreadId>,
        workspace: &Arc<Workspace>,
    ) -> Result<UndoPlan, NoPlan> {
        let read = self.read()?;
        let is_of_thread = |record: &Record| thread.is_none_or(|thread| record.turn.thread == *thread);
        let is_meant = |record: &Record| is_of_thread(record) && is_here(record, workspace);
        let Some((turn, records)) = history::newest(&read.records, direction, is_meant) else {
            let mut problems = read.problems;
            // Without folders the turns of other files are none of this editor's.
            let is_elsewhere = !workspace.roots().is_empty();
            let elsewhere = history::newest(&read.records, direction, is_of_thread).filter(|_| is_elsewhere);
            problems.extend(elsewhere.and_then(|(turn, records)| out_of_reach(&turn, &records, workspace)));
            return Err(NoPlan::Nothing(nothing(direction, thread, &problems)));
        };
        Ok(plan::plan(&self.store, direction, turn, &records, workspace, read.problems))
    }

    fn read(&self) -> io::Result<Read> {
        let mut read = self.store.records()?;
        // Whole at any moment, so a panic elsewhere does not spoil it.
        let mut found = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        read.problems.splice(0..0, found.drain(..));
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        read.problems.retain(|problem| told.insert(problem.clone()));
        Ok(read)
    }

    fn write(
        &self,
        kind: Kind,
        turn: &TurnMark,
        undoes: Vec<String>,
        done: &[FileEdit],
        workspace: &Workspace,
        now: SystemTime,
    ) -> io::Result<String> {
        let mut files = Vec::with_capacity(done.len());
        for edit in done {
            let mut file = record::file(&self.store, edit, workspace, now)?;
            let noted = self.noted().remove(&edit.path).filter(|_| edit.comes_or_goes());
            Noted { mode: file.mode, made_folders: file.made_folders, .. } = noted.unwrap_or_default();
            files.push(file);
        }
        self.store.write_record(&Record::new(kind, turn, undoes, files, now), now)
    }
}

/// With no folder open, all that is edited so shares one journal, and only what is open here can be undone here.
fn is_here(record: &Record, workspace: &Workspace) -> bool {
    record.files.iter().any(|file| workspace.recorded(&file.uri).is_ok())
}

/// Why nothing of a turn can be found here, by its first file.
fn out_of_reach(turn: &TurnMark, records: &[(String, Record)], workspace: &Workspace) -> Option<String> {
    let mut files = records.iter().flat_map(|(_, record)| &record.files);
    let reason = files.find_map(|file| workspace.recorded(&file.uri).err())?;
    Some(format!("the files of \"{}\" are out of reach: {reason}", turn.label))
}

fn nothing(direction: Direction, thread: Option<&ThreadId>, problems: &[String]) -> String {
    let what = match direction {
        Direction::Undo => "nothing left to undo",
        Direction::Redo => "nothing to redo",
    };
    let thread = thread.map(|id| format!(" in thread {id}")).unwrap_or_default();
    let problems: String = problems.iter().map(|problem| format!("; {problem}")).collect();
    format!("{what}{thread}{problems}")
}

/// Why nothing is done for who has waited: the turn that they meant has gone, or is not the newest any more, since another
/// askls worked meanwhile.
fn went_on(direction: Direction, gone: Option<TurnMark>, now: Option<TurnMark>) -> String {
    let (done, came, aim) = match direction {
        Direction::Undo => ("undone", "applied", "undo"),
        Direction::Redo => ("redone", "undone", "redo"),
    };
    match (gone, now) {
        (Some(gone), _) => format!("\"{}\" was {done} already by another askls", gone.label),
        (None, Some(now)) => format!(
            "nothing was changed: \"{}\" was {came} meanwhile by another askls; ask again to {aim} that turn",
            now.label
        ),
        (None, None) => {
            format!("nothing was changed: another askls worked meanwhile, and nothing is left to {aim}")
        }
    }
}

/// The name of a workspace's folder: the same for the same set of roots, whatever their order.
fn workspace_name(roots: &[PathBuf]) -> String {
    let real = |root: &PathBuf| root.canonicalize().unwrap_or_else(|_| root.clone());
    let mut roots: Vec<_> = roots.iter().map(real).collect();
    roots.sort();
    let mut bytes = Vec::new();
    for root in roots {
        bytes.extend_from_slice(root.as_os_str().as_encoded_bytes());
        // In no path.
        bytes.push(0);
    }
    let mut name = blob::BlobId::of(&bytes).to_string();
    name.truncate(WORKSPACE_NAME_LENGTH);
    name
}

/// Hexadecimal digits: 128 bits are enough never to meet by chance.
const WORKSPACE_NAME_LENGTH: usize = 32;
