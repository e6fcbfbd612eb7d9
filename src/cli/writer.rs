//! Writes the edits of a turn to the disk: before its commands, which see only that, and when it ends. What no command had
//! to see is written only once the agent has come to its end: half of a change is none.
//!
//! Each go writes all its files or none, with a checkpoint of the same turn, so that `askls undo` takes all of them back as
//! one.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
    sync::Arc,
    time::SystemTime,
};

use futures::{FutureExt as _, future::BoxFuture};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::{
    agent::{EditApplier, EditFate, EditOutcome, Occasion, Reach},
    workspace::{
        EditProposal, FileEdit, FilePath, Total, TurnFiles, Workspace,
        checkpoints::{Checkpoints, TurnMark, Unapplied},
        edit::Conflict,
    },
};

use super::{
    approver::Terminal,
    printer::Printer,
    written::{NotWritten, Since, Written},
};

/// Files that a warning names; the others are counted.
const MAX_NAMED: usize = 5;

/// Why an edit that fits is not written.
const BESIDE: &str = "another edit does not fit, and they are written together";

/// How the turn came to its end, and so why something may still be staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The agent has said all it wanted to.
    Whole,
    Unfinished,
    /// The user did not wait for the end.
    Stopped,
}

/// Writes what one turn stages.
pub(super) struct Writer {
    pub(super) files: Arc<TurnFiles>,
    pub(super) printer: Printer,
    /// `None` where nobody can be asked.
    pub(super) terminal: Option<Arc<Terminal>>,
    pub(super) keeper: Arc<Keeper>,
    /// Held while files are written, by writes too that nobody waits for any more.
    pub(super) account: Arc<Mutex<Account>>,
}

/// What has become of the edits so far.
#[derive(Default)]
pub(super) struct Account {
    written: Total,
    /// What was not written and is staged no longer, and why: the last edit of each file.
    refused: BTreeMap<FilePath, (FileEdit, String)>,
    /// Whether something of it can be undone.
    is_any_kept: bool,
    /// Files with something written that cannot be undone.
    not_kept: BTreeSet<FilePath>,
    /// Why the first of them cannot.
    keeping_error: Option<io::Error>,
}

/// Writes edits, and keeps what they replace first, so that `askls undo` can take them back.
pub(super) struct Keeper {
    /// `None` when no checkpoints are kept.
    pub(super) folder: Option<PathBuf>,
    pub(super) turn: TurnMark,
}

impl EditApplier for Writer {
    fn occasion(&self) -> Occasion {
        Occasion::Commands
    }

    fn apply(&self, paths: BTreeSet<FilePath>) -> BoxFuture<'_, Vec<EditOutcome>> {
        self.write_now(paths).boxed()
    }
}

impl Writer {
    /// Edits that do not fit are left out, since the model hears of them and can make them anew.
    async fn write_now(&self, paths: BTreeSet<FilePath>) -> Vec<EditOutcome> {
        let (meant, _) = self.files.proposal().split_with(&paths);
        let mut outcomes = Vec::new();
        let wanted = self.allowed(meant, &mut outcomes).await;
        let more = self.with_account(move |account, files, keeper| {
            let conflicts = wanted.conflicts(files.workspace());
            let unfit = conflicts.iter().map(|conflict| conflict.path.clone()).collect();
            let (unfit, fitting) = wanted.split_with(&unfit);
            let mut outcomes = account.refuse(files, unfit, |path| reason(path, &conflicts));
            outcomes.extend(account.write(files, keeper, fitting));
            outcomes
        });
        outcomes.extend(more.await);
        outcomes
    }

    /// Writes what is still staged when the turn has come to its end: all that the user lets be written, or nothing.
    pub(super) async fn write_rest(&self) {
        let wanted = self.allowed(self.files.proposal(), &mut Vec::new()).await;
        self.with_account(move |account, files, keeper| account.write(files, keeper, wanted)).await;
    }

    /// Asks about what editors and shells run by themselves. What may not be written is void.
    async fn allowed(&self, edits: EditProposal, outcomes: &mut Vec<EditOutcome>) -> EditProposal {
        let (run_unasked, mut others) = edits.split_run_unasked(self.files.workspace());
        let may_write = match &self.terminal {
            _ if run_unasked.is_empty() => Ok(()),
            None => Err("nobody can be asked, since askls runs without a terminal"),
            Some(terminal) => terminal.may_write(&run_unasked).await,
        };
        match may_write {
            Ok(()) => others.files.extend(run_unasked.files),
            Err(reason) => {
                let reason = format!(
                    "editors and shells run what it says, so it is only written after a yes, and {reason}"
                );
                let refuse = move |account: &mut Account, files: &TurnFiles, _: &Keeper| {
                    account.refuse(files, run_unasked, |_| reason.clone())
                };
                outcomes.extend(self.with_account(refuse).await);
            }
        }
        others
    }

    /// What the turn has made of the files, and was to make of them.
    pub(super) async fn whole(&self) -> EditProposal {
        let account = self.account.lock().await;
        let mut whole = account.written.clone();
        let refused: Vec<_> = account.refused.values().map(|(edit, _)| edit.clone()).collect();
        whole.add(&refused);
        whole.add(&self.files.proposal().files);
        whole.proposal()
    }

    /// Tells what was written and what was not. Gives whether all was that the agent wanted.
    pub(super) async fn report(&self, end: End) -> bool {
        let account = self.account.lock().await;
        let staged = self.files.proposal();
        let (files, edits) = (Arc::clone(&self.files), Arc::new(account.written.proposal().files));
        let looked_at = Arc::clone(&edits);
        let look =
            move || looked_at.iter().map(|edit| Since::of(edit, files.workspace())).collect::<Vec<_>>();
        // What was written is told whatever comes of the look at what became of it.
        let since = tokio::task::spawn_blocking(look).await.unwrap_or_else(|error| {
            tracing::error!(%error, "the written files were not looked at");
            Vec::new()
        });
        let mut since = since.into_iter();
        let written: Vec<_> = edits.iter().map(|edit| Written::of(edit, since.next().flatten())).collect();
        let has_written = !written.is_empty();
        let mut not_written: Vec<_> =
            account.refused.iter().map(|(path, (_, reason))| NotWritten::new(path, reason)).collect();
        if has_written {
            self.printer.written(written);
            not_written.extend(NotWritten::all(&staged, end.reason()));
        }
        if !not_written.is_empty() {
            self.printer.not_written(not_written);
        }
        if !has_written && (!staged.is_empty() || !account.refused.is_empty()) {
            self.printer.notice(format!("nothing was written{}", end.of_change(&staged)));
        }
        match &account.keeping_error {
            Some(error) => {
                let what = account.not_kept_in_words();
                self.printer.notice(format!("warning: askls undo cannot take {what} back: {error}"));
            }
            None if has_written && end != End::Whole && self.keeper.folder.is_some() => {
                self.printer.notice(format!("{}; askls undo takes back what was written", end.reason()));
            }
            None => {}
        }
        account.refused.is_empty() && staged.is_empty()
    }

    /// Off the async threads. Goes on to its end when nobody waits for it any more.
    async fn with_account(
        &self,
        work: impl FnOnce(&mut Account, &TurnFiles, &Keeper) -> Vec<EditOutcome> + Send + 'static,
    ) -> Vec<EditOutcome> {
        let mut account: OwnedMutexGuard<Account> = Arc::clone(&self.account).lock_owned().await;
        let (files, keeper) = (Arc::clone(&self.files), Arc::clone(&self.keeper));
        let worked = tokio::task::spawn_blocking(move || work(&mut account, &files, &keeper)).await;
        worked.unwrap_or_else(|error| {
            self.printer.notice(format!("writing broke off, which is a fault of askls: {error}"));
            Vec::new()
        })
    }
}

impl Account {
    /// Writes all of these edits, or none.
    fn write(&mut self, files: &TurnFiles, keeper: &Keeper, edits: EditProposal) -> Vec<EditOutcome> {
        if edits.is_empty() {
            return Vec::new();
        }
        match keeper.apply(&edits, files.workspace()) {
            Ok(kept) => {
                files.applied(&edits.files);
                self.written.add(&edits.files);
                match kept {
                    Ok(()) => self.is_any_kept = true,
                    Err(error) => {
                        self.not_kept.extend(edits.files.iter().map(|edit| edit.path.clone()));
                        self.keeping_error.get_or_insert(error);
                    }
                }
                let written = |edit: FileEdit| {
                    self.refused.remove(&edit.path);
                    EditOutcome { path: edit.path, fate: EditFate::Applied(Reach::Disk) }
                };
                edits.files.into_iter().map(written).collect()
            }
            Err(conflicts) => self.refuse(files, edits, |path| reason(path, &conflicts)),
        }
    }

    /// `this`, or where the part of it stands of which no checkpoint was written.
    fn not_kept_in_words(&self) -> String {
        if !self.is_any_kept {
            return "this".to_owned();
        }
        let named: Vec<_> = self.not_kept.iter().take(MAX_NAMED).map(ToString::to_string).collect();
        let others = match self.not_kept.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            others => format!(" and {others} more files"),
        };
        format!("what was written last to {}{others}", named.join(", "))
    }

    /// The edits are void: reads see the files as they are.
    fn refuse(
        &mut self,
        files: &TurnFiles,
        edits: EditProposal,
        reason: impl Fn(&FilePath) -> String,
    ) -> Vec<EditOutcome> {
        files.discard(&edits.files);
        let refuse = |edit: FileEdit| {
            let (path, reason) = (edit.path.clone(), reason(&edit.path));
            self.refused.insert(path.clone(), (edit, reason.clone()));
            EditOutcome { path, fate: EditFate::NotApplied(reason) }
        };
        edits.files.into_iter().map(refuse).collect()
    }
}

fn reason(path: &FilePath, conflicts: &[Conflict]) -> String {
    let own = conflicts.iter().find(|conflict| conflict.path == *path);
    own.map_or_else(|| BESIDE.to_owned(), |conflict| conflict.reason.clone())
}

impl End {
    /// Why something was not written, or may be half of a change.
    fn reason(self) -> &'static str {
        match self {
            Self::Whole => "writing broke off",
            Self::Unfinished => "the agent did not come to its end",
            Self::Stopped => "you stopped it",
        }
    }

    /// What is said of a change of which nothing was written.
    pub(super) fn of_change(self, staged: &EditProposal) -> String {
        match self {
            _ if staged.is_empty() => String::new(),
            Self::Unfinished => {
                format!(": this change of {} is not whole, since {}", counted(staged), self.reason())
            }
            Self::Whole | Self::Stopped => format!(", since {}", self.reason()),
        }
    }
}

/// `1 file`, `2 files`.
pub(super) fn counted(edits: &EditProposal) -> String {
    match edits.files.len() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

impl Keeper {
    /// Gives whether the edits were kept. Those that cannot be are written all the same: every file is exactly what its
    /// edit was made for and the user was shown, or nothing is written.
    fn apply(&self, proposal: &EditProposal, workspace: &Workspace) -> Result<io::Result<()>, Vec<Conflict>> {
        let kept = match self.kept(proposal, workspace) {
            Some(Ok(())) => return Ok(Ok(())),
            Some(Err(Unapplied::Conflicts(conflicts))) => return Err(conflicts),
            Some(Err(Unapplied::NotKept(error))) => Err(error),
            None => Ok(()),
        };
        proposal.apply_to_disk(workspace)?;
        Ok(kept)
    }

    /// `None` when no checkpoints are kept.
    fn kept(&self, proposal: &EditProposal, workspace: &Workspace) -> Option<Result<(), Unapplied>> {
        let folder = self.folder.as_ref()?;
        let now = SystemTime::now();
        let opened = Checkpoints::open(folder, &workspace.roots(), now).map_err(Unapplied::NotKept);
        Some(opened.and_then(|checkpoints| checkpoints.apply(&self.turn, proposal, workspace, now)))
    }
}
