//! One connected editor: what it can do, its settings, its threads, running turns and proposed edits.

use std::{
    future::Future,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dashmap::DashMap;
use futures::future::join_all;
use serde_json::Value;
use tokio::{
    sync::{Notify, Semaphore},
    task::AbortHandle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    answer::Answers,
    capabilities::{self, Capabilities},
    editor::Editor,
    edits::{Journal, Offer, Trails},
    hints::Hints,
    lsp_types::ProgressToken,
    settings::SettingsSource,
};
use crate::{
    agent::Thread,
    config::Environment,
    protocol::ThreadId,
    tools::jobs::Jobs,
    workspace::{Workspace, paths, review::HunkNames},
};

/// Turns that run at once; more wait in line. Each may hold a connection, a command and a thread's history.
const MAX_RUNNING_TURNS: usize = 8;

/// Turns that may wait in line, so that a client in a loop does not fill the memory.
pub(super) const MAX_TURNS: usize = 256;

/// Idle threads without proposed edits that are kept; beyond it the one that was used least recently is forgotten.
/// Those with a turn or with edits do not count: both have limits of their own.
const MAX_IDLE_THREADS: usize = 100;

/// Sentences that wait to be told to a model: the last ones say how things are.
const MAX_NEWS: usize = 10;

/// How long turns get at the end of the process to stop their commands.
const END_GRACE: Duration = Duration::from_millis(900);

pub(super) struct Session {
    pub(super) editor: Arc<Editor>,
    pub(super) workspace: Arc<Workspace>,
    pub(super) settings: SettingsSource,
    pub(super) answers: Answers,
    pub(super) hints: Hints,
    /// Edits that wait for the user's word, by the thread that made them.
    pub(super) offers: DashMap<ThreadId, Offer>,
    pub(super) journal: Journal,
    /// What documents go through while the editor has edits of them in hand.
    pub(super) trails: Trails,
    /// Buffers whose text is not known since a change did not fit.
    pub(super) lost_documents: DashMap<String, ()>,
    /// One question of an agent at a time: the user must know what they answer.
    pub(super) questions: Semaphore,
    pub(super) turn_permits: Arc<Semaphore>,
    client: OnceLock<Capabilities>,
    client_process: OnceLock<u64>,
    client_known: Notify,
    threads: DashMap<ThreadId, Slot>,
    turns: DashMap<u64, RunningTurn>,
    /// Told at each change of a buffer.
    document_changes: Notify,
    /// Told when offers, or the texts below them, are not what they were.
    pub(super) offer_changes: Notify,
    /// Numbers turns, proposals and uses of threads in one order.
    counter: AtomicU64,
    /// An editor may still show the lenses of a hunk that was decided about: no other has its name.
    pub(super) hunk_names: HunkNames,
    shut_down: CancellationToken,
    tasks: TaskTracker,
}

/// A thread's place: empty while a turn has it.
struct Slot {
    thread: Option<Thread>,
    last_used: u64,
    /// What the model is to be told with the next turn.
    news: Vec<String>,
    /// What it has running in the background; ended when the thread is forgotten.
    jobs: Jobs,
}

/// A turn that runs or waits in line.
pub(super) struct RunningTurn {
    pub(super) thread_id: ThreadId,
    pub(super) cancel: CancellationToken,
    /// The token under which the client sees its progress.
    pub(super) progress: Option<ProgressToken>,
    pub(super) task: Option<AbortHandle>,
    /// Ends it after the step that runs.
    pub(super) last_step: CancellationToken,
}

/// Why a turn cannot have a thread.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ThreadError {
    #[error("there is no thread {0}; leave threadId out to start a new one")]
    Unknown(ThreadId),
    #[error("thread {0} is busy with another turn; wait for it, or stop it with askls.stop")]
    Busy(ThreadId),
}

impl Session {
    pub(super) fn new(editor: Arc<Editor>, environment: Environment) -> Self {
        Self {
            editor,
            workspace: Arc::new(Workspace::new(Vec::new())),
            settings: SettingsSource::new(environment),
            answers: Answers::default(),
            hints: Hints::default(),
            offers: DashMap::new(),
            journal: Journal::default(),
            trails: Trails::default(),
            lost_documents: DashMap::new(),
            questions: Semaphore::new(1),
            turn_permits: Arc::new(Semaphore::new(MAX_RUNNING_TURNS)),
            client: OnceLock::new(),
            client_process: OnceLock::new(),
            client_known: Notify::new(),
            threads: DashMap::new(),
            turns: DashMap::new(),
            document_changes: Notify::new(),
            offer_changes: Notify::new(),
            counter: AtomicU64::new(1),
            hunk_names: HunkNames::default(),
            shut_down: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// Takes in what the client says in `initialize`.
    pub(super) fn initialize(&self, params: &Value) -> &Capabilities {
        self.workspace.set_roots(capabilities::roots(params));
        if let Some(options) = params.get("initializationOptions") {
            self.settings.set_options(options.clone());
        }
        if let Some(id) = params.get("processId").and_then(Value::as_u64) {
            // Only the first `initialize` counts, and the library lets no other through.
            let _ = self.client_process.set(id);
        }
        self.client_known.notify_one();
        let client = self.client.get_or_init(|| Capabilities::of(params));
        if client.question_ended {
            self.editor.tell_ends();
        }
        client
    }

    /// Before `initialize` the client can do nothing.
    pub(super) fn client(&self) -> &Capabilities {
        static NOTHING: OnceLock<Capabilities> = OnceLock::new();
        self.client.get().unwrap_or_else(|| NOTHING.get_or_init(Capabilities::default))
    }

    /// The id that the client gave for its process, once it has said `initialize`. For one waiter.
    pub(super) async fn client_process(&self) -> Option<u64> {
        self.client_known.notified().await;
        self.client_process.get().copied()
    }

    /// `workspace/didChangeWorkspaceFolders`.
    pub(super) fn change_roots<'a>(
        &self,
        added: impl IntoIterator<Item = &'a str>,
        removed: impl IntoIterator<Item = &'a str>,
    ) {
        let removed: Vec<_> = removed.into_iter().filter_map(paths::from_uri).map(canonical).collect();
        let mut roots = self.workspace.roots();
        roots.retain(|root| !removed.contains(root));
        for root in added.into_iter().filter_map(paths::from_uri).map(canonical) {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        self.workspace.set_roots(roots);
    }

    pub(super) fn next_number(&self) -> u64 {
        self.counter.fetch_add(1, Ordering::Relaxed)
    }

    /// Runs a task that ends with the session.
    pub(super) fn spawn<F>(&self, task: F) -> tokio::task::JoinHandle<Option<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let shut_down = self.shut_down.clone();
        self.tasks.spawn(async move { shut_down.run_until_cancelled(task).await })
    }

    /// Runs a turn's task: it is cancelled with the session, and gets a moment to stop its commands.
    pub(super) fn spawn_turn<F>(&self, task: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tasks.spawn(task)
    }

    pub(super) fn document_changed(&self) {
        self.document_changes.notify_waiters();
        // Hunks move with what is typed.
        self.edits_changed();
    }

    /// Waits until `is_so` holds, looking anew at each change of a buffer; `false` when the limit passes first.
    pub(super) async fn wait_for_documents(&self, limit: Duration, is_so: impl FnMut() -> bool) -> bool {
        wait_for(&self.document_changes, limit, is_so).await
    }

    /// The same, looking anew whenever something of an offer is decided or comes back.
    pub(super) async fn wait_for_offers(&self, limit: Duration, is_so: impl FnMut() -> bool) -> bool {
        wait_for(&self.offer_changes, limit, is_so).await
    }
}

async fn wait_for(changes: &Notify, limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let wait = async {
        loop {
            // Registered before the look, so that a change between look and wait is not missed.
            let changed = changes.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if is_so() {
                return;
            }
            changed.await;
        }
    };
    tokio::time::timeout(limit, wait).await.is_ok()
}

/// Threads.
impl Session {
    pub(super) fn new_thread(&self) -> ThreadId {
        let thread = Thread::new();
        let id = thread.id().clone();
        let slot = Slot {
            thread: Some(thread),
            last_used: self.next_number(),
            news: Vec::new(),
            jobs: Jobs::default(),
        };
        self.threads.insert(id.clone(), slot);
        self.forget_old_threads();
        id
    }

    /// Takes the thread for a turn, which must give it back.
    pub(super) fn take_thread(&self, id: &ThreadId) -> Result<Thread, ThreadError> {
        let mut slot = self.threads.get_mut(id).ok_or_else(|| ThreadError::Unknown(id.clone()))?;
        slot.last_used = self.next_number();
        slot.thread.take().ok_or_else(|| ThreadError::Busy(id.clone()))
    }

    pub(super) fn give_back_thread(&self, thread: Thread) {
        if let Some(mut slot) = self.threads.get_mut(thread.id()) {
            slot.thread = Some(thread);
        }
    }

    /// Has the model told something with the thread's next turn; nothing for a thread that is not of this session.
    pub(super) fn add_news(&self, id: &ThreadId, news: String) {
        if let Some(mut slot) = self.threads.get_mut(id) {
            let surplus = (slot.news.len() + 1).saturating_sub(MAX_NEWS);
            slot.news.drain(..surplus);
            slot.news.push(news);
        }
    }

    pub(super) fn take_news(&self, id: &ThreadId) -> Vec<String> {
        self.threads.get_mut(id).map(|mut slot| std::mem::take(&mut slot.news)).unwrap_or_default()
    }

    /// The background jobs of a thread.
    pub(super) fn jobs(&self, id: &ThreadId) -> Jobs {
        self.threads.get(id).map(|slot| slot.jobs.clone()).unwrap_or_default()
    }

    /// Those of all threads that `is_meant` picks.
    pub(super) fn all_jobs(&self, is_meant: impl Fn(&ThreadId) -> bool) -> Vec<Jobs> {
        self.threads.iter().filter(|slot| is_meant(slot.key())).map(|slot| slot.jobs.clone()).collect()
    }

    /// A thread that was just made is the last to go.
    fn forget_old_threads(&self) {
        let idle =
            self.threads.iter().filter(|slot| slot.thread.is_some() && !self.offers.contains_key(slot.key()));
        let mut idle: Vec<_> = idle.map(|slot| (slot.last_used, slot.key().clone())).collect();
        let surplus = idle.len().saturating_sub(MAX_IDLE_THREADS);
        idle.sort_unstable_by_key(|(last_used, _)| *last_used);
        for (last_used, id) in idle.into_iter().take(surplus) {
            // Unless a turn has taken it just now.
            self.threads.remove_if(&id, |_, slot| slot.thread.is_some() && slot.last_used == last_used);
        }
    }
}

/// Running turns.
impl Session {
    /// The token that cancels the turn; fires when the session ends, too.
    pub(super) fn turn_token(&self) -> CancellationToken {
        self.shut_down.child_token()
    }

    pub(super) fn add_turn(&self, turn: RunningTurn) -> u64 {
        let number = self.next_number();
        self.turns.insert(number, turn);
        number
    }

    pub(super) fn update_turn(&self, number: u64, change: impl FnOnce(&mut RunningTurn)) {
        if let Some(mut turn) = self.turns.get_mut(&number) {
            change(&mut turn);
        }
    }

    pub(super) fn remove_turn(&self, number: u64) {
        self.turns.remove(&number);
    }

    pub(super) fn turn_count(&self) -> usize {
        self.turns.len()
    }

    /// Cancels the turns that `is_meant` picks and says how many there were.
    pub(super) fn stop_turns(&self, is_meant: impl Fn(&RunningTurn) -> bool) -> usize {
        let meant = self.turns.iter().filter(|turn| is_meant(turn.value()));
        meant.map(|turn| turn.cancel.cancel()).count()
    }

    /// Has the turns that `is_meant` picks end after the step that runs, and says how many there are.
    pub(super) fn stop_turns_after_step(&self, is_meant: impl Fn(&RunningTurn) -> bool) -> usize {
        let meant = self.turns.iter().filter(|turn| is_meant(turn.value()));
        meant.map(|turn| turn.last_step.cancel()).count()
    }

    /// `shutdown`: no turn goes on.
    pub(super) fn stop(&self) {
        self.shut_down.cancel();
    }

    /// Whether there was a `shutdown`.
    pub(super) fn is_shut_down(&self) -> bool {
        self.shut_down.is_cancelled()
    }

    /// Ends everything that runs: turns are cancelled, and aborted when they do not end soon, so that no command
    /// outlives the server.
    pub(super) async fn end(&self) {
        self.stop();
        self.tasks.close();
        let jobs = self.all_jobs(|_| true);
        let all_end = async {
            // A turn may leave a command to be ended.
            self.tasks.wait().await;
            join_all(jobs.iter().map(Jobs::end)).await;
        };
        if tokio::time::timeout(END_GRACE, all_end).await.is_ok() {
            return;
        }
        tracing::warn!("some turns did not end in time");
        for turn in &self.turns {
            if let Some(task) = &turn.task {
                task.abort();
            }
        }
        // Dropping a turn's future ends its commands; that takes no time worth more waiting.
        let _ = tokio::time::timeout(END_GRACE / 9, self.tasks.wait()).await;
    }
}

/// As the workspace keeps its roots, so that they compare.
fn canonical(path: std::path::PathBuf) -> std::path::PathBuf {
    path.canonicalize().unwrap_or(path)
}
