use std::path::Path;

use expect_test::{Expect, expect};

use super::*;

/// Far more than anything here takes; only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time for a shell to start and print, on a busy machine too.
const ENOUGH: Duration = Duration::from_secs(1);

/// The kill ladder takes a quarter of a second; the rest is for a busy machine.
const SOON: Duration = Duration::from_secs(2);

fn line(shell: &[&str], command: &str, folder: &Path) -> CommandLine {
    CommandLine {
        shell: shell.iter().map(|&word| word.to_owned()).collect(),
        command: command.to_owned(),
        folder: folder.to_owned(),
        hidden_variable: None,
        keeper: None,
    }
}

async fn run_for(
    command: &str,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Result<Finished, ToolError> {
    let folder = tempfile::tempdir().unwrap();
    let line = line(&["/bin/sh", "-c"], command, folder.path());
    let tasks = TaskTracker::new();
    let recorder = Recorder::new(None, Printed::default());
    let watch = Watch { timeout: Some(timeout), cancel, recorder, tasks: &tasks };
    tokio::time::timeout(PATIENCE, run(line, watch)).await.expect("the command hangs")
}

async fn run_to_end(command: &str) -> Finished {
    run_for(command, PATIENCE, &CancellationToken::new()).await.unwrap()
}

fn show(finished: &Finished) -> String {
    let ended = match finished.ended {
        Ended::Exited(status) => status.to_string(),
        other => format!("{other:?}"),
    };
    format!("{ended}, left: {:?}\n{}", finished.left, finished.record.text)
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
        tokio::time::sleep(Duration::from_millis(5)).await;
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
    assert!(finished.record.text.contains("definitely-not-a-command-7f3a"), "{}", finished.record.text);
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
    let lines: Vec<&str> = finished.record.text.lines().collect();
    assert!(finished.record.text.len() <= super::super::super::output::MAX_BYTES);
    assert_eq!((lines[0], lines[lines.len() - 1]), ("1", "200000"));
    assert_eq!(lines.iter().filter(|line| line.contains("left out here")).count(), 1);
}

#[tokio::test]
async fn a_background_process_does_not_hold_the_answer_and_is_ended() {
    for keep in ["", ">/dev/null", ">/dev/null 2>&1"] {
        let finished = run_to_end(&format!("echo started; sleep 31417 {keep} & echo pid $!; exit 7")).await;
        assert_eq!(finished.left, Left::Ended, "{keep}");
        assert!(show(&finished).starts_with("exit status: 7"), "{}", show(&finished));
        assert!(finished.duration < DRAIN, "the time of the command, not of the wait for its output");
        assert_ends(pid(&finished.record.text, "pid ")).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_left_the_group_is_ended_too() {
    for keep in ["", ">/dev/null 2>&1"] {
        let refuses = "trap \"\" TERM; echo $$ >pid; sleep 27105; sleep 27106";
        let command = format!(
            "setsid sh -c '{refuses}' {keep} & until [ -s pid ]; do sleep 0.01; done; echo pid $(cat pid)"
        );
        let finished = run_to_end(&command).await;
        assert_eq!(finished.left, Left::Ended, "{keep}");
        assert_ends(pid(&finished.record.text, "pid ")).await;
    }
}

/// Without the mark only who is whose child tells.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_cleared_its_environment_is_ended_with_its_parents() {
    let command = "env -i setsid -w sh -c 'echo pid $$; sleep 27107; sleep 27108'";
    let finished = run_for(command, ENOUGH, &CancellationToken::new()).await.unwrap();
    assert_eq!((finished.ended, finished.left), (Ended::TimedOut, Left::All));
    assert_ends(pid(&finished.record.text, "pid ")).await;
}

/// It holds the output open: nothing but its end tells that it was found.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_cannot_be_found_does_not_hold_the_answer() {
    let command = "env -i sh -c 'setsid sh -c \"echo pid \\$\\$; exec sleep 30\" &'; echo done";
    let finished = run_to_end(command).await;
    std::process::Command::new("kill").arg(pid(&finished.record.text, "pid ").to_string()).status().unwrap();
    assert_eq!(finished.left, Left::Escaped);
}

#[tokio::test]
async fn output_that_comes_through_a_helper_after_the_exit_is_read() {
    let finished = run_to_end("{ echo started; echo done; } | { sleep 0.3; cat; } & exit 0").await;
    assert_eq!(finished.record.text, "started\ndone\n");
}

// SPEC E11
#[tokio::test]
async fn a_time_out_keeps_what_was_printed_and_ends_the_tree() {
    let start = Instant::now();
    let command = "echo tick; sh -c 'echo pid $$; sleep 60; echo late' | cat";
    let finished = run_for(command, ENOUGH, &CancellationToken::new()).await.unwrap();
    assert_eq!(finished.ended, Ended::TimedOut);
    assert!(
        finished.record.text.starts_with("tick\npid ") && !finished.record.text.contains("late"),
        "{}",
        finished.record.text
    );
    assert!(start.elapsed() < ENOUGH * 3, "{:?}", start.elapsed());
    assert_ends(pid(&finished.record.text, "pid ")).await;
}

#[tokio::test]
async fn a_command_that_ignores_the_polite_signal_is_killed() {
    let command = "trap '' TERM INT; sleep 27100 & echo pid $!; wait; sleep 27101";
    let finished = run_for(command, ENOUGH, &CancellationToken::new()).await.unwrap();
    assert_eq!(finished.ended, Ended::TimedOut);
    assert_ends(pid(&finished.record.text, "pid ")).await;
}

#[tokio::test]
async fn a_command_that_heeds_the_polite_signal_may_tidy_up() {
    let command = "trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
    let finished = run_for(command, ENOUGH, &CancellationToken::new()).await.unwrap();
    assert!(finished.record.text.ends_with("tidy\n"), "{}", finished.record.text);
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
    let line = line(&["/no/such/shell"], "true", Path::new("/"));
    let (cancel, tasks) = (CancellationToken::new(), TaskTracker::new());
    let recorder = Recorder::new(None, Printed::default());
    let watch = Watch { timeout: Some(PATIENCE), cancel: &cancel, recorder, tasks: &tasks };
    let answer = run(line, watch).await;
    let text = answer.err().unwrap().to_string();
    assert!(text.starts_with("the shell /no/such/shell could not be started in /: "), "{text}");
}
