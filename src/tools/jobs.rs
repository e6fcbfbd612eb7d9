//! Jobs: commands that go on in the background while the agent does other things. They belong to a thread and end with
//! it.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    ToolError,
    output::{MAX_BYTES, one_line},
    printed::{Bookmark, Printed},
};
use crate::workspace::keys::masked;

/// Jobs of one thread that run at a time: a few servers and watchers. Each is a process tree on the user's machine.
pub const MAX_JOBS: usize = 10;

/// Jobs that have ended and can still be read; beyond that the oldest is forgotten.
const MAX_ENDED: usize = 10;

/// Characters of a command in a list of jobs.
const MAX_COMMAND_CHARS: usize = 200;

/// Bytes of one answer about a job's output: room for what is said around it.
const MAX_NEWS_BYTES: usize = MAX_BYTES - 1_024;

/// How long jobs may take to end when askls ends: the kill ladder and some.
const END_WAIT: Duration = Duration::from_millis(800);

/// The jobs of one thread. Clones are the same; when the last one is dropped, all jobs are ended.
#[derive(Clone, Debug, Default)]
pub struct Jobs(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    list: Mutex<List>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[derive(Debug, Default)]
struct List {
    last_id: u64,
    /// The oldest first.
    jobs: Vec<Arc<Job>>,
}

/// One command in the background.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: u64,
    /// Without the keys in it, and cut.
    command: String,
    started: Instant,
    printed: Printed,
    /// How far its output was read.
    read: Mutex<Bookmark>,
    stop: CancellationToken,
    end: watch::Receiver<Option<JobEnd>>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobEnd {
    /// In a few words: `exit code 0 (1.2 s)`.
    pub(super) how: String,
    /// What is to be said of what it made, each a line that begins with its end of line.
    pub(super) notes: String,
    /// The answer of a call that has waited for it.
    pub(super) answer: Result<String, ToolError>,
}

/// What of a job's output is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What came since it was read last.
    New,
    /// All that is kept.
    Kept,
}

impl Jobs {
    /// Keeps the tasks that end what a cancelled command leaves behind.
    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }

    /// Starts a job; `work` is to end soon once its token fires. That happens with [`Job::stop`], with the end of the
    /// thread, and when `turn` is cancelled: who stops a turn wants nothing of it to go on.
    pub(super) fn start<F>(
        &self,
        command: &str,
        turn: CancellationToken,
        printed: Printed,
        work: impl FnOnce(CancellationToken, TaskTracker) -> F,
    ) -> Result<Arc<Job>, ToolError>
    where
        F: Future<Output = JobEnd> + Send + 'static,
    {
        let mut list = self.list();
        if list.jobs.iter().filter(|job| job.is_running()).count() >= MAX_JOBS {
            return Err(ToolError(format!(
                "{MAX_JOBS} jobs run already, and no more may; stop one that is not needed with stop_job:\n{}",
                list.describe()
            )));
        }
        list.last_id += 1;
        let (sender, end) = watch::channel(None);
        let stop = self.0.stop.child_token();
        let job = Arc::new(Job {
            id: list.last_id,
            command: one_line(&masked(command), MAX_COMMAND_CHARS),
            started: Instant::now(),
            printed,
            read: Mutex::default(),
            stop: stop.clone(),
            end,
        });
        let work = work(stop.clone(), self.0.tasks.clone());
        self.0.tasks.spawn(async move {
            tokio::pin!(work);
            let end = tokio::select! {
                biased;
                end = &mut work => end,
                () = turn.cancelled() => {
                    stop.cancel();
                    work.await
                }
            };
            // Whoever has forgotten the job does not wait for its end.
            let _ = sender.send(Some(end));
        });
        list.jobs.push(Arc::clone(&job));
        list.forget_old();
        Ok(job)
    }

    /// Takes a job out of the list that has told its end already.
    pub(super) fn forget(&self, job: &Job) {
        self.list().jobs.retain(|other| other.id != job.id);
    }

    pub(super) fn find(&self, id: u64) -> Result<Arc<Job>, ToolError> {
        let list = self.list();
        let found = list.jobs.iter().find(|job| job.id == id).cloned();
        found.ok_or_else(|| ToolError(format!("there is no job {id}; {}", list.describe())))
    }

    /// One line a job.
    pub(super) fn describe(&self) -> String {
        self.list().describe()
    }

    /// Jobs that run, each in a few words for the user.
    pub fn running(&self) -> Vec<String> {
        let list = self.list();
        list.jobs.iter().filter(|job| job.is_running()).map(|job| job.command.clone()).collect()
    }

    /// Tells all running jobs to end, and says how many that are.
    pub fn stop(&self) -> usize {
        let list = self.list();
        list.jobs.iter().filter(|job| job.is_running()).map(|job| job.stop()).count()
    }

    /// Ends all jobs for good, and waits for what commands have left behind. Takes no longer than the kill ladder.
    pub async fn end(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        if tokio::time::timeout(END_WAIT, self.0.tasks.wait()).await.is_err() {
            tracing::warn!("a command did not end in time");
        }
    }

    /// A list is whole at any moment, so a panic elsewhere does not spoil it.
    fn list(&self) -> MutexGuard<'_, List> {
        self.0.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    fn forget_old(&mut self) {
        let ended = self.jobs.iter().filter(|job| !job.is_running()).count();
        for _ in MAX_ENDED..ended {
            if let Some(oldest) = self.jobs.iter().position(|job| !job.is_running()) {
                self.jobs.remove(oldest);
            }
        }
    }

    fn describe(&self) -> String {
        if self.jobs.is_empty() {
            return "there are no jobs; run_command starts one with background".to_owned();
        }
        let lines: Vec<_> = self.jobs.iter().map(|job| job.describe()).collect();
        lines.join("\n")
    }
}

impl Job {
    pub(super) fn is_running(&self) -> bool {
        self.end.borrow().is_none()
    }

    /// Returns when the job has ended.
    pub(super) async fn ended(&self) -> JobEnd {
        let mut end = self.end.clone();
        let ended = end.wait_for(Option::is_some).await.ok().and_then(|end| end.clone());
        // Its task was dropped, which happens only at the end of askls.
        ended.unwrap_or_else(|| JobEnd {
            how: "ended with askls".to_owned(),
            notes: String::new(),
            answer: Err(super::cancelled()),
        })
    }

    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Which one it is and how it stands, on one line.
    pub(super) fn describe(&self) -> String {
        let state = match &*self.end.borrow() {
            None => format!("running for {} s", self.started.elapsed().as_secs()),
            Some(end) => end.how.clone(),
        };
        let mut line = format!("job {}: {state}: {}", self.id, self.command);
        let unread = self.printed.count_since(*self.read());
        if unread > 0 {
            let noun = if unread == 1 { "line" } else { "lines" };
            // Writing to a string cannot fail.
            let _ = write!(line, " ({unread} {noun} not read)");
        }
        line
    }

    /// How it stands and what it has printed, which counts as read from now on.
    pub(super) fn report(&self, part: Part) -> String {
        let notes = self.end.borrow().as_ref().map(|end| end.notes.clone()).unwrap_or_default();
        self.printed_as_text(part) + &notes
    }

    fn printed_as_text(&self, part: Part) -> String {
        let mut read = self.read();
        let mut bookmark = match part {
            Part::New => *read,
            Part::Kept => Bookmark::default(),
        };
        let news = self.printed.news(&mut bookmark, MAX_NEWS_BYTES);
        *read = bookmark;
        drop(read);
        let mut text = self.describe();
        let Some(news) = news else {
            text.push_str(match part {
                Part::New => "\n(no new output)",
                Part::Kept => "\n(no output)",
            });
            return text;
        };
        if news.skipped > 0 {
            let noun = if news.skipped == 1 { "line" } else { "lines" };
            // As above.
            let _ = write!(text, "\n… {} {noun} left out here …", news.skipped);
        }
        for part in [&news.text, &news.unfinished] {
            let part = part.trim_end_matches('\n');
            if !part.is_empty() {
                text.push('\n');
                text.push_str(part);
            }
        }
        text
    }

    fn read(&self) -> MutexGuard<'_, Bookmark> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// A job that prints nothing by itself, and ends when it is told to.
    fn start(jobs: &Jobs, turn: &CancellationToken) -> Result<Arc<Job>, ToolError> {
        jobs.start("npm\nrun dev", turn.clone(), Printed::default(), |stop, _| async move {
            stop.cancelled().await;
            JobEnd { how: "stopped".to_owned(), notes: String::new(), answer: Ok(String::new()) }
        })
    }

    fn check(job: &Job, part: Part, expected: Expect) {
        expected.assert_eq(&job.report(part));
    }

    #[tokio::test]
    async fn output_is_told_once_and_can_be_had_again() {
        let (jobs, turn) = (Jobs::default(), CancellationToken::new());
        let job = start(&jobs, &turn).unwrap();
        check(
            &job,
            Part::New,
            expect![[r#"
            job 1: running for 0 s: npm run dev
            (no new output)"#]],
        );
        job.printed.push("one\ntwo\n", "three");
        assert_eq!(job.describe(), "job 1: running for 0 s: npm run dev (2 lines not read)");
        check(
            &job,
            Part::New,
            expect![[r#"
            job 1: running for 0 s: npm run dev
            one
            two
            three"#]],
        );
        check(
            &job,
            Part::New,
            expect![[r#"
            job 1: running for 0 s: npm run dev
            (no new output)"#]],
        );
        check(
            &job,
            Part::Kept,
            expect![[r#"
            job 1: running for 0 s: npm run dev
            one
            two
            three"#]],
        );
    }

    #[tokio::test]
    async fn a_job_ends_when_it_is_stopped_with_its_turn_and_with_its_thread() {
        let ends: [fn(&Jobs, &Job, &CancellationToken); 3] =
            [|_, job, _| job.stop(), |jobs, _, _| assert_eq!(jobs.stop(), 1), |_, _, turn| turn.cancel()];
        for end in ends {
            let (jobs, turn) = (Jobs::default(), CancellationToken::new());
            let job = start(&jobs, &turn).unwrap();
            end(&jobs, &job, &turn);
            assert_eq!(job.ended().await.how, "stopped");
            assert_eq!(jobs.describe(), "job 1: stopped: npm run dev");
        }
        let jobs = Jobs::default();
        let job = start(&jobs, &CancellationToken::new()).unwrap();
        drop(jobs);
        assert_eq!(job.ended().await.how, "stopped");
    }

    #[tokio::test]
    async fn so_many_jobs_run_and_so_many_that_ended_are_kept() {
        let (jobs, turn) = (Jobs::default(), CancellationToken::new());
        for _ in 0..MAX_JOBS {
            start(&jobs, &turn).unwrap();
        }
        let refused = start(&jobs, &turn).err().map(|error| error.0).unwrap_or_default();
        assert!(refused.starts_with("10 jobs run already") && refused.contains("\njob 10: "), "{refused}");
        for _ in 0..3 * MAX_ENDED {
            let oldest = jobs.list().jobs.iter().find(|job| job.is_running()).cloned().unwrap();
            oldest.stop();
            oldest.ended().await;
            start(&jobs, &turn).unwrap();
        }
        assert_eq!(jobs.list().jobs.len(), MAX_JOBS + MAX_ENDED);
        assert_eq!(jobs.running().len(), MAX_JOBS);
        let unknown = jobs.find(1).err().map(|error| error.0).unwrap_or_default();
        assert!(unknown.starts_with("there is no job 1; job "), "{unknown}");
    }
}
