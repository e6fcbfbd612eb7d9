//! A program of the user's that is given one text and prints one answer. It is part of their settings, as the command
//! that prints a key, so it runs without consent and without a sandbox; it gets no keys, and ends when its time is up.

use std::{path::PathBuf, pin::pin, time::Duration};

use futures::future::{FusedFuture, FutureExt};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    output::one_line,
    run_command::{
        kept::{Kept, Program},
        sandbox::Launcher,
        tree::Tree,
    },
};
use crate::workspace::keys;

/// As long as a look into a dictionary or at a small model takes; a person at the editor waits for each of them.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of an answer: far more than what it may replace, the longest output of a tool.
const MAX_ANSWER: usize = 1 << 20;

/// How long pipes are read after the program has ended: a helper that it left behind may hold them for ever.
const DRAIN: Duration = Duration::from_millis(500);

/// How long a killed program may take to be gone. Only one that hangs in the kernel takes longer.
const LAST_WAIT: Duration = Duration::from_millis(500);

/// Bytes of the end of its error output that are kept: a few lines.
const KEPT_ERRORS: usize = 4 * 1024;

/// Characters of the last line of its error output that are shown.
const MAX_ERROR_CHARS: usize = 200;

/// Bytes read at once.
const READ_BYTES: usize = 8 * 1024;

/// How it is run.
#[derive(Clone, Debug)]
pub struct HookProgram {
    /// A name in `PATH` or an absolute path.
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Where it runs. Not in the workspace, whose files a program may take for parts of itself.
    pub folder: PathBuf,
    /// From its start to its end.
    pub timeout: Duration,
    /// A variable that it must not see, beside those whose names tell that they are secret.
    pub hidden_variable: Option<String>,
    /// By which it gets a keeper, with which it ends when askls is killed; `None` for one without.
    pub launcher: Option<Launcher>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookFault {
    Cancelled,
    /// What it did in place of answering, in words that follow its name.
    Failed(String),
}

impl HookProgram {
    /// Runs it with `asked` on its standard input and gives what it printed on its standard output. Whatever way this ends, by
    /// being dropped too, nothing of it runs on that can be found.
    pub async fn ask(&self, asked: &[u8], cancel: &CancellationToken) -> Result<Vec<u8>, HookFault> {
        if cancel.is_cancelled() {
            return Err(HookFault::Cancelled);
        }
        if let Some(launcher) = self.launcher.clone() {
            // A look at this machine, the first time.
            let _ = tokio::task::spawn_blocking(move || launcher.powers().clone()).await;
        }
        let program = Program {
            program: self.program.as_os_str(),
            arguments: &self.arguments,
            folder: &self.folder,
            hidden_variable: self.hidden_variable.as_deref(),
            input: asked,
        };
        let mut kept = Kept::start(self.launcher.as_ref(), &program)
            .map_err(|error| HookFault::Failed(format!("it could not be started: {error}")))?;
        let mut errors = Vec::new();
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(HookFault::Cancelled),
            () = sleep(self.timeout) => {
                let within = self.timeout.as_secs_f64();
                Err(HookFault::Failed(format!("it did not answer within {within} s")))
            }
            answer = converse(&mut kept, asked, &mut errors) => answer.map_err(HookFault::Failed),
        };
        end(kept.tree).await;
        answer.map_err(|fault| match fault {
            HookFault::Failed(what) => HookFault::Failed(format!("{what}{}", last_line(&errors))),
            HookFault::Cancelled => HookFault::Cancelled,
        })
    }
}

/// Talks to the program until it has ended. The error says what it did.
async fn converse(kept: &mut Kept, asked: &[u8], errors: &mut Vec<u8>) -> Result<Vec<u8>, String> {
    let (stdin, stdout, stderr) = kept.tree.pipes();
    let mut answer = Vec::new();
    let talk = async {
        tokio::try_join!(tell(stdin, asked), listen(stdout, &mut answer), keep_end(stderr, errors))
            .map(|_| ())
    };
    let status = {
        let mut talk = pin!(talk.fuse());
        let status = tokio::select! {
            biased;
            status = kept.exit() => status,
            talked = &mut talk => {
                talked?;
                kept.exit().await
            }
        };
        if !talk.is_terminated() {
            // What was printed just before the end may still be in the pipes.
            timeout(DRAIN, talk).await.unwrap_or(Ok(()))?;
        }
        status
    };
    match status? {
        status if status.success() => Ok(answer),
        status => Err(format!("it ended with {status}")),
    }
}

/// A program need not read what it is told; one that has a keeper was given it when it started.
async fn tell(stdin: Option<ChildStdin>, asked: &[u8]) -> Result<(), String> {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(asked).await;
    }
    Ok(())
}

async fn listen(stdout: Option<ChildStdout>, answer: &mut Vec<u8>) -> Result<(), String> {
    let mut buffer = vec![0; READ_BYTES];
    let Some(mut stdout) = stdout else { return Ok(()) };
    while let Some(bytes) = next(&mut stdout, &mut buffer).await {
        answer.extend_from_slice(bytes);
        if answer.len() > MAX_ANSWER {
            return Err(format!("it answered more than {MAX_ANSWER} bytes"));
        }
    }
    Ok(())
}

async fn keep_end(stderr: Option<ChildStderr>, errors: &mut Vec<u8>) -> Result<(), String> {
    let mut buffer = vec![0; READ_BYTES];
    let Some(mut stderr) = stderr else { return Ok(()) };
    while let Some(bytes) = next(&mut stderr, &mut buffer).await {
        errors.extend_from_slice(bytes);
        errors.drain(..errors.len().saturating_sub(KEPT_ERRORS));
    }
    Ok(())
}

/// The next bytes; `None` at the end.
async fn next<'a>(pipe: &mut (impl AsyncRead + Unpin), buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let count = pipe.read(buffer).await.ok()?;
    buffer.get(..count).filter(|bytes| !bytes.is_empty())
}

/// A verdict leaves nothing behind that would have to be put in order: nobody is asked to end politely.
async fn end(mut tree: Tree) {
    tree.look().await;
    if tree.is_alive() {
        tree.kill().await;
        let _ = timeout(LAST_WAIT, tree.shell_exit()).await;
    }
    tree.set_over();
}

/// The last line that it printed as an error, behind a colon and without keys.
fn last_line(errors: &[u8]) -> String {
    let text = String::from_utf8_lossy(errors);
    let masked = keys::masked(&text);
    let line = masked.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.map(|line| format!(": {}", one_line(line, MAX_ERROR_CHARS))).unwrap_or_default()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn program(script: &str, timeout: Duration) -> HookProgram {
        HookProgram {
            program: "sh".into(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            folder: "/".into(),
            timeout,
            hidden_variable: Some("HOME".to_owned()),
            launcher: None,
        }
    }

    async fn check(script: &str, asked: &str, expected: Expect) {
        let (hook, cancel) = (program(script, Duration::from_secs(60)), CancellationToken::new());
        let answer = hook.ask(asked.as_bytes(), &cancel);
        let line = match answer.await {
            Ok(answer) => String::from_utf8(answer).unwrap(),
            Err(fault) => format!("{fault:?}"),
        };
        expected.assert_eq(&line);
    }

    #[tokio::test]
    async fn it_is_told_what_it_is_asked_and_its_output_is_the_answer() {
        check("cat; echo noise >&2", "question", expect!["question"]).await;
    }

    #[tokio::test]
    async fn it_need_not_read_the_question() {
        check("exec <&-; echo yes", &"x".repeat(1 << 20), expect!["yes\n"]).await;
    }

    // SPEC A7
    #[tokio::test]
    async fn one_that_fails_is_told_by_its_end_and_its_last_words() {
        check(
            "echo first >&2; echo sk-proj-abcdefghijklmnop is no key >&2; echo >&2; exit 3",
            "",
            expect![[r#"Failed("it ended with exit status: 3: <key hidden by askls> is no key")"#]],
        )
        .await;
        check("kill -9 $$", "", expect![[r#"Failed("it ended with signal: 9 (SIGKILL)")"#]]).await;
    }

    // SPEC A7
    #[tokio::test]
    async fn an_answer_without_an_end_is_none() {
        check("yes", "", expect![[r#"Failed("it answered more than 1048576 bytes")"#]]).await;
    }

    #[tokio::test]
    async fn what_it_leaves_behind_holds_nothing_up() {
        check("sleep 600 & echo done", "", expect!["done\n"]).await;
    }

    // SPEC A7
    #[tokio::test]
    async fn one_that_is_late_or_cancelled_is_ended_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("pid");
        let script =
            format!("trap '' TERM; sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait", mark.display());
        let hook = program(&script, Duration::from_secs(600));
        let cancel = CancellationToken::new();
        let started = async {
            while !mark.exists() {
                sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        };
        let (answer, ()) = tokio::join!(hook.ask(b"", &cancel), started);
        assert_eq!(answer, Err(HookFault::Cancelled));
        let id = std::fs::read_to_string(&mark).unwrap();
        let line = std::path::Path::new("/proc").join(id.trim()).join("cmdline");
        let gone = async {
            while !std::fs::read(&line).unwrap_or_default().is_empty() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(20), gone).await.unwrap();

        let late = program("sleep 600", Duration::from_millis(1)).ask(b"", &CancellationToken::new()).await;
        assert_eq!(late, Err(HookFault::Failed("it did not answer within 0.001 s".to_owned())));
    }

    #[tokio::test]
    async fn it_gets_no_key() {
        check("echo ${HOME-hidden} $TERM", "", expect!["hidden dumb\n"]).await;
    }
}
