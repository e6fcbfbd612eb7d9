//! Runs one command to its end, its time-out, or the turn's cancelling, and ends its whole process tree.

use std::{
    fmt, io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use process_wrap::tokio::{ChildWrapper, CommandWrap};
#[cfg(unix)]
use tokio::signal::unix::SignalKind;
use tokio::{
    process::Command,
    time::{Instant, sleep, sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    super::{ToolError, cancelled},
    clean::Cleaner,
    environment,
    pipe::{self, Reader},
    sandbox::{Entry, Failure, Plan},
};

/// How long the output is awaited after the shell has ended: a background process may hold the pipe for ever, and what
/// was printed just before the end may still be in it.
const DRAIN: Duration = Duration::from_secs(2);

/// Between the polite signal and the one that cannot be refused.
const MERCY: Duration = Duration::from_millis(200);

/// How long a killed process may take to be gone. Only one that hangs in the kernel takes longer.
const LAST_WAIT: Duration = Duration::from_millis(500);

/// Between two looks at whether the processes that got a signal are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Bytes read at once; the size of a Linux pipe.
const READ_BYTES: usize = 64 * 1024;

/// What is run, and where.
pub(super) struct CommandLine<'a> {
    /// Program and first arguments; not empty.
    pub(super) shell: &'a [String],
    pub(super) command: &'a str,
    pub(super) folder: &'a Path,
    /// A variable that the command must not see, beside those whose names tell that they are secret.
    pub(super) hidden_variable: Option<&'a str>,
    /// The walls around it, and the program that puts them up.
    pub(super) sandbox: Option<(&'a Path, &'a Plan)>,
}

/// How a command ended, and what it printed until then.
pub(super) struct Finished {
    pub(super) ended: Ended,
    pub(super) output: String,
    pub(super) duration: Duration,
    pub(super) left: Left,
}

impl Finished {
    /// Whether it ended by itself, and by its own word not well.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.ended, Ended::Exited(status) if !status.success())
    }
}

/// What of a command was still running after its shell had ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    /// Processes of its group; none of them runs on. (Some may have ended by themselves just before.) Of what left the
    /// group nothing is known.
    Ended,
    /// Something that left the group, holds the output open, and cannot be reached.
    Escaped,
    /// The shell did not end by itself: its group was ended, and of what left the group nothing is known.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
}

/// Runs the command. Whatever way this ends, by being dropped too, nothing of the command's process group runs on.
pub(super) async fn run(
    line: CommandLine<'_>,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Result<Finished, ToolError> {
    if cancel.is_cancelled() {
        return Err(cancelled());
    }
    let start = Instant::now();
    let Spawned { tree, output, mut entry } = spawn(&line).map_err(|error| not_started(&line, &error))?;
    let mut running =
        Running { tree, output: Some(output), cleaner: Cleaner::default(), buffer: vec![0; READ_BYTES] };
    let deadline = start + timeout;
    let ended = tokio::select! {
        biased;
        () = cancel.cancelled() => Ended::Cancelled,
        () = sleep_until(deadline) => Ended::TimedOut,
        status = running.exit() => Ended::Exited(status.map_err(|error| {
            ToolError(format!("the command's end could not be awaited: {error}"))
        })?),
    };
    let duration = start.elapsed();
    if let Ended::Exited(_) = ended {
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            _ = timeout_at(Instant::now() + DRAIN, running.read_to_end()) => {}
        }
    }
    let there_were_more = running.end_tree().await;
    if let Ended::Exited(_) = ended {
        match entry.as_mut().and_then(Entry::failure) {
            None => {}
            Some(Failure::NotStarted(error)) => return Err(not_started(&line, &error)),
            Some(Failure::NotHeld(reason)) => {
                return Err(ToolError(format!(
                    "the command did not run, since its sandbox could not be put up: {reason}. Tell the user, who can look at \
                     askls status"
                )));
            }
        }
    }
    let left = match ended {
        _ if running.output.is_some() => Left::Escaped,
        Ended::Exited(_) if there_were_more => Left::Ended,
        Ended::Exited(_) => Left::Nothing,
        Ended::TimedOut | Ended::Cancelled => Left::Unknown,
    };
    Ok(Finished { ended, output: running.cleaner.finish(), duration, left })
}

fn not_started(line: &CommandLine<'_>, error: &dyn fmt::Display) -> ToolError {
    let shell = line.shell.first().map_or("", String::as_str);
    ToolError(format!("the shell {shell} could not be started in {}: {error}", line.folder.display()))
}

/// A command that was started.
struct Spawned {
    tree: Tree,
    output: Reader,
    /// How it got into its sandbox, if it has one.
    entry: Option<Entry>,
}

fn spawn(line: &CommandLine<'_>) -> io::Result<Spawned> {
    let [program, first_arguments @ ..] = line.shell else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no shell is set"));
    };
    let (output, stdout, stderr) = pipe::pipe()?;
    let entry = line.sandbox.map(|(askls, plan)| Entry::new(askls, plan)).transpose()?;
    let mut command = match &entry {
        Some(entry) => Command::from(entry.command(program.as_ref())?),
        None => {
            let mut command = Command::new(program);
            command.stdin(Stdio::null());
            command
        }
    };
    command.args(first_arguments).current_dir(line.folder);
    // `cmd` reads its command line by rules of its own, which quoting as for other programs would break.
    #[cfg(windows)]
    if program.eq_ignore_ascii_case("cmd.exe") || program.eq_ignore_ascii_case("cmd") {
        command.raw_arg(line.command);
    } else {
        command.arg(line.command);
    }
    #[cfg(not(windows))]
    command.arg(line.command);
    environment::prepare(&mut command, line.hidden_variable);
    command.stdout(stdout).stderr(stderr);

    let mut command = CommandWrap::from(command);
    // A session of its own, so that no program in it can ask on the terminal that askls was started from.
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessSession);
    #[cfg(windows)]
    command.wrap(process_wrap::tokio::KillOnDrop).wrap(process_wrap::tokio::JobObject);
    // The writing ends go with `command` when this returns: only the child's own are left.
    Ok(Spawned { tree: Tree { child: command.spawn()?, is_over: false }, output, entry })
}

/// The shell and all that it started and that did not leave its process group.
struct Tree {
    child: Box<dyn ChildWrapper>,
    /// The tree was ended: its group's number may belong to someone else by now.
    is_over: bool,
}

impl Tree {
    /// Whether any process is left. Where that cannot be asked, there may always be one.
    fn is_alive(&self) -> bool {
        #[cfg(unix)]
        {
            // The one signal that does nothing to programs that have not asked for it.
            self.child.signal(SignalKind::window_change().as_raw_value()).is_ok()
        }
        #[cfg(not(unix))]
        {
            true
        }
    }

    /// Asks all processes to end.
    fn terminate(&self) {
        #[cfg(unix)]
        // There may be none left.
        let _ = self.child.signal(SignalKind::terminate().as_raw_value());
    }

    fn kill(&mut self) {
        // There may be none left.
        let _ = self.child.start_kill();
    }

    /// Waits for the shell alone: the wrapper would wait for its whole group, which a background process may
    /// keep for ever.
    async fn shell_exit(&mut self) -> io::Result<ExitStatus> {
        self.child.inner_mut().wait().await
    }
}

impl Drop for Tree {
    /// The call was dropped: there is no time for more than the signal that cannot be refused.
    fn drop(&mut self) {
        if !self.is_over {
            self.kill();
        }
    }
}

struct Running {
    tree: Tree,
    /// `None` after its end.
    output: Option<Reader>,
    cleaner: Cleaner,
    buffer: Vec<u8>,
}

impl Running {
    /// Reads output until the shell has ended.
    async fn exit(&mut self) -> io::Result<ExitStatus> {
        let Self { tree, output, cleaner, buffer } = self;
        tokio::select! {
            biased;
            status = tree.shell_exit() => status,
            () = read_to_end(output, cleaner, buffer) => tree.shell_exit().await,
        }
    }

    /// Reads until no process holds the pipe any more.
    async fn read_to_end(&mut self) {
        read_to_end(&mut self.output, &mut self.cleaner, &mut self.buffer).await;
    }

    /// The kill ladder; says whether there was anything to end.
    async fn end_tree(&mut self) -> bool {
        let held_output = self.output.is_some();
        let was_alive = self.tree.is_alive();
        if was_alive {
            self.tree.terminate();
            let _ = timeout_at(Instant::now() + MERCY, self.gone()).await;
            self.tree.kill();
            // None can refuse this signal, so it is enough to see the shell go and to read what is in the pipe.
            let last = async {
                let _ = self.exit().await;
                self.read_to_end().await;
            };
            let _ = timeout_at(Instant::now() + LAST_WAIT, last).await;
        }
        self.tree.is_over = true;
        was_alive && (cfg!(unix) || held_output)
    }

    /// Waits until no process is left, and reads what they had printed.
    async fn gone(&mut self) {
        // An error means that there is nothing to wait for.
        let _ = self.exit().await;
        while cfg!(unix) && self.tree.is_alive() {
            tokio::select! {
                () = sleep(LOOK_AGAIN) => {}
                () = self.read_for_ever() => {}
            }
        }
        self.read_to_end().await;
    }

    async fn read_for_ever(&mut self) {
        self.read_to_end().await;
        std::future::pending().await
    }
}

/// Cancel-safe: what was read is in `cleaner` before the next wait.
async fn read_to_end(output: &mut Option<Reader>, cleaner: &mut Cleaner, buffer: &mut [u8]) {
    while let Some(reader) = output {
        // A command that prints without end must not keep a time-out or a cancel from being seen.
        tokio::task::yield_now().await;
        match reader.read(buffer).await {
            Ok(0) | Err(_) => *output = None,
            Ok(count) => cleaner.push(buffer.get(..count).unwrap_or_default()),
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Far more than anything here takes; only a hang reaches it.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// Time for a shell to start and print, on a busy machine too.
    const ENOUGH: Duration = Duration::from_secs(1);

    /// The kill ladder takes a quarter of a second; the rest is for a busy machine.
    const SOON: Duration = Duration::from_secs(2);

    async fn run_for(
        command: &str,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<Finished, ToolError> {
        let shell = ["/bin/sh".to_owned(), "-c".to_owned()];
        let folder = tempfile::tempdir().unwrap();
        let line = CommandLine {
            shell: &shell,
            command,
            folder: folder.path(),
            hidden_variable: None,
            sandbox: None,
        };
        tokio::time::timeout(PATIENCE, run(line, timeout, cancel)).await.expect("the command hangs")
    }

    async fn run_to_end(command: &str) -> Finished {
        run_for(command, PATIENCE, &CancellationToken::new()).await.unwrap()
    }

    fn show(finished: &Finished) -> String {
        let ended = match finished.ended {
            Ended::Exited(status) => status.to_string(),
            other => format!("{other:?}"),
        };
        format!("{ended}, left: {:?}\n{}", finished.left, finished.output)
    }

    async fn check(command: &str, expected: Expect) {
        expected.assert_eq(&show(&run_to_end(command).await));
    }

    /// The number after `word` in the output.
    fn pid(output: &str, word: &str) -> u32 {
        let rest = output.split_once(word).unwrap_or_else(|| panic!("no {word} in {output:?}")).1;
        rest.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Whether the process runs; one that only waits for its parent to look at it does not.
    fn is_running(pid: u32) -> bool {
        if let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) {
            return !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z');
        }
        std::process::Command::new("kill")
            .args(["-0", &pid.to_string()])
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    }

    async fn wait_until(what: &str, condition: impl Fn() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition() {
            assert!(Instant::now() < deadline, "waited in vain: {what}");
            sleep(Duration::from_millis(5)).await;
        }
    }

    async fn assert_ends(pid: u32) {
        wait_until("process is still running", || !is_running(pid)).await;
    }

    #[tokio::test]
    async fn both_streams_are_kept_in_the_order_of_writing() {
        check(
            "echo one; echo two >&2; echo three; exit 3",
            expect![[r#"
            exit status: 3, left: Nothing
            one
            two
            three
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_command_that_is_not_there_is_the_shells_exit_code() {
        let finished = run_to_end("definitely-not-a-command-7f3a").await;
        assert!(show(&finished).starts_with("exit status: 127"), "{}", show(&finished));
        assert!(finished.output.contains("definitely-not-a-command-7f3a"), "{}", finished.output);
    }

    #[tokio::test]
    async fn a_signal_is_not_an_exit_code() {
        check(
            "echo x; kill -9 $$",
            expect![[r#"
            signal: 9 (SIGKILL), left: Nothing
            x
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn there_is_no_input_and_no_terminal() {
        check(
            "cat; (: </dev/tty) 2>/dev/null && echo terminal; echo end",
            expect![[r#"
            exit status: 0, left: Nothing
            end
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn bytes_cut_between_two_writes_are_one_character() {
        check(
            r"printf 'ok \346\274'; sleep 0.1; printf '\242 \377 end\n'",
            expect![[r#"
            exit status: 0, left: Nothing
            ok 漢 � end
        "#]],
        )
        .await;
    }

    // SPEC T8
    #[tokio::test]
    async fn long_output_keeps_head_and_tail() {
        let finished = run_to_end("seq 1 200000").await;
        let lines: Vec<&str> = finished.output.lines().collect();
        assert!(finished.output.len() <= super::super::super::output::MAX_BYTES);
        assert_eq!((lines[0], lines[lines.len() - 1]), ("1", "200000"));
        assert_eq!(lines.iter().filter(|line| line.contains("left out here")).count(), 1);
    }

    #[tokio::test]
    async fn a_background_process_does_not_hold_the_answer_and_is_ended() {
        for keep in ["", ">/dev/null", ">/dev/null 2>&1"] {
            let finished =
                run_to_end(&format!("echo started; sleep 31417 {keep} & echo pid $!; exit 7")).await;
            assert_eq!(finished.left, Left::Ended, "{keep}");
            assert!(show(&finished).starts_with("exit status: 7"), "{}", show(&finished));
            assert!(finished.duration < DRAIN, "the time of the command, not of the wait for its output");
            assert_ends(pid(&finished.output, "pid ")).await;
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_process_that_left_the_group_does_not_hold_the_answer() {
        let start = Instant::now();
        let finished = run_to_end("setsid sh -c 'echo pid $$; exec sleep 30' & echo done").await;
        let stray = pid(&finished.output, "pid ");
        std::process::Command::new("kill").arg(stray.to_string()).status().unwrap();
        assert_eq!(finished.left, Left::Escaped);
        assert!(start.elapsed() < DRAIN * 3, "{:?}", start.elapsed());
    }

    #[tokio::test]
    async fn output_that_comes_through_a_helper_after_the_exit_is_read() {
        let finished = run_to_end("{ echo started; echo done; } | { sleep 0.3; cat; } & exit 0").await;
        assert_eq!(finished.output, "started\ndone\n");
    }

    // SPEC E11
    #[tokio::test]
    async fn a_time_out_keeps_what_was_printed_and_ends_the_tree() {
        let start = Instant::now();
        let command = "echo tick; sh -c 'echo pid $$; sleep 60; echo late' | cat";
        let finished = run_for(command, ENOUGH, &CancellationToken::new()).await.unwrap();
        assert_eq!(finished.ended, Ended::TimedOut);
        assert!(
            finished.output.starts_with("tick\npid ") && !finished.output.contains("late"),
            "{}",
            finished.output
        );
        assert!(start.elapsed() < ENOUGH * 3, "{:?}", start.elapsed());
        assert_ends(pid(&finished.output, "pid ")).await;
    }

    #[tokio::test]
    async fn a_command_that_ignores_the_polite_signal_is_killed() {
        let command = "trap '' TERM INT; sleep 27100 & echo pid $!; wait; sleep 27101";
        let finished = run_for(command, ENOUGH, &CancellationToken::new()).await.unwrap();
        assert_eq!(finished.ended, Ended::TimedOut);
        assert_ends(pid(&finished.output, "pid ")).await;
    }

    #[tokio::test]
    async fn a_command_that_heeds_the_polite_signal_may_tidy_up() {
        let command = "trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
        let finished = run_for(command, ENOUGH, &CancellationToken::new()).await.unwrap();
        assert!(finished.output.ends_with("tidy\n"), "{}", finished.output);
    }

    /// Starts a command that prints its process id into a file, and waits until it has.
    async fn started(folder: &Path, tail: &str) -> (String, std::path::PathBuf) {
        let file = folder.join("pid");
        (format!("echo $$ >{0}.new; mv {0}.new {0}; {tail}", file.display()), file)
    }

    // SPEC C9
    #[tokio::test]
    async fn cancelling_ends_the_tree_soon_however_much_it_prints() {
        for tail in ["trap '' TERM; while :; do sleep 1; done", "yes"] {
            let folder = tempfile::tempdir().unwrap();
            let (command, file) = started(folder.path(), tail).await;
            let cancel = CancellationToken::new();
            let run = run_for(&command, PATIENCE, &cancel);
            let stop = async {
                wait_until("the command starts", || file.exists()).await;
                cancel.cancel();
                Instant::now()
            };
            let (finished, stopped) = tokio::join!(run, stop);
            assert_eq!(finished.unwrap().ended, Ended::Cancelled);
            assert!(stopped.elapsed() < SOON, "{:?}", stopped.elapsed());
            assert_ends(std::fs::read_to_string(&file).unwrap().trim().parse().unwrap()).await;
        }
    }

    #[tokio::test]
    async fn nothing_starts_after_a_cancel() {
        let folder = tempfile::tempdir().unwrap();
        let cancel = CancellationToken::new();
        cancel.cancel();
        let file = folder.path().join("LATE");
        let answer = run_for(&format!("touch {}", file.display()), PATIENCE, &cancel).await;
        assert_eq!(answer.err(), Some(cancelled()));
        assert!(!file.exists());
    }

    #[tokio::test]
    async fn dropping_the_call_kills_the_tree() {
        let folder = tempfile::tempdir().unwrap();
        let (command, file) = started(folder.path(), "trap '' TERM HUP; sleep 31418").await;
        let cancel = CancellationToken::new();
        let run = run_for(&command, PATIENCE, &cancel);
        tokio::select! {
            _ = run => panic!("the command ended by itself"),
            () = wait_until("the command starts", || file.exists()) => {}
        }
        assert_ends(std::fs::read_to_string(&file).unwrap().trim().parse().unwrap()).await;
    }

    #[tokio::test]
    async fn a_shell_that_is_not_there_is_named() {
        let shell = ["/no/such/shell".to_owned()];
        let line = CommandLine {
            shell: &shell,
            command: "true",
            folder: Path::new("/"),
            hidden_variable: None,
            sandbox: None,
        };
        let answer = run(line, PATIENCE, &CancellationToken::new()).await;
        let text = answer.err().unwrap().to_string();
        assert!(text.starts_with("the shell /no/such/shell could not be started in /: "), "{text}");
    }
}
