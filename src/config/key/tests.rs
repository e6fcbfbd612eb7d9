use secrecy::ExposeSecret;

use super::*;

async fn check(script: &str, expected: Result<&str, &str>) {
    let command = CommandLine(["/bin/sh", "-c", script].map(str::to_owned).to_vec());
    let key = KeyCommand::new(command, "a file".to_owned(), KnownKeys::default()).run().await;
    let key = key.as_ref().map(|key| key.expose_secret()).map_err(String::as_str);
    assert_eq!(key, expected);
}

#[tokio::test]
async fn the_key_is_the_first_line_without_its_blanks() {
    check("printf ' sk-1 \\nuser: me\\n'", Ok("sk-1")).await;
}

#[tokio::test]
async fn a_command_that_ends_badly_gives_no_key_and_none_of_its_output() {
    check(
        "echo sk-secret; echo sk-secret >&2; exit 3",
        Err("api_key_command: /bin/sh ended with exit status: 3; run it in a terminal to see why"),
    )
    .await;
}

#[tokio::test]
async fn what_cannot_be_a_key_is_none() {
    for script in ["true", "echo", "printf 'two words'", "printf '\\377'"] {
        check(script, Err("api_key_command: the first line that /bin/sh printed is not a key")).await;
    }
}

#[tokio::test]
async fn a_command_that_waits_for_ever_is_given_up() {
    let command = CommandLine(vec!["sleep".to_owned(), "600".to_owned()]);
    let error = KeyCommand {
        command,
        place: "a file".to_owned(),
        timeout: Duration::ZERO,
        known_keys: KnownKeys::default(),
    }
    .run()
    .await
    .unwrap_err();
    assert_eq!(error, "api_key_command: sleep did not end within 0 s");
}

/// A shell is killed with what it started; the pipe ends when the last of them has gone.
#[tokio::test]
async fn what_the_command_started_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("alive");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = format!("exec 3>{}; echo >&3; sleep 600; echo sk-1", fifo.display());
    let command = CommandLine(vec!["/bin/sh".to_owned(), "-c".to_owned(), script]);
    let known_keys = KnownKeys::default();
    let command =
        KeyCommand { command, place: "a file".to_owned(), timeout: Duration::from_secs(600), known_keys };
    let mut alive = tokio::net::unix::pipe::OpenOptions::new().open_receiver(&fifo).unwrap();
    let mut rest = Vec::new();
    let given_up = async {
        tokio::select! {
            key = command.run() => panic!("it ended by itself: {}", key.is_ok()),
            started = alive.read_u8() => assert_eq!(started.unwrap(), b'\n'),
        }
        alive.read_to_end(&mut rest).await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(20), given_up).await.expect("the child is still there");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let command = CommandLine(vec!["no-such-program".to_owned()]);
    let error = KeyCommand::new(command, "a file".to_owned(), KnownKeys::default()).run().await.unwrap_err();
    assert!(error.starts_with("api_key_command: no-such-program cannot be started: "), "{error}");
}
