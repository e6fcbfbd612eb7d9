//! Nothing of a command outlives it, whatever it does to get away, nor askls, however that ends; and other programs are not touched.
//!
//! Each command here holds a lock that all it starts inherit: as long as anything of it lives, the lock is not free.

use std::{
    fs::{self, File},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use askls::tools::run_command::sandbox::SandboxMode;
use rustix::fs::FlockOperation;
use serde_json::json;

use super::{MACHINES, Place, on, on_each_machine};

/// Far more than anything here takes; only what survives reaches it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Without the environment, the session and the parent that it came from.
const GETS_AWAY: &str = "(env -i setsid sleep 600 </dev/null >/dev/null 2>&1 &)";

/// A folder, by an environment variable, and which machine it is: for the process that is killed.
const FOLDER: &str = "SANDBOX_TEST_FOLDER";
const MACHINE: &str = "SANDBOX_TEST_MACHINE";

fn holding_lock(folder: &Path, command: &str) -> String {
    format!("exec 9>{0}/held; flock 9; echo >{0}/ready; {command}", folder.display())
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn assert_nothing_lives(folder: &Path) {
    let held = File::open(folder.join("held")).unwrap();
    wait_until("something of the command lives", || {
        rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok()
    });
}

#[test]
fn what_gets_away_from_its_environment_session_and_parent_ends_with_the_command() {
    on_each_machine(async |mut place| {
        for mode in [SandboxMode::Auto, SandboxMode::Off] {
            place.sandbox.mode = mode;
            let project = place.path("home/project");
            let answer = place.run(&holding_lock(&project, &format!("{GETS_AWAY}; exit 3"))).await;
            assert!(answer.text.starts_with("exit code 3"), "{}", answer.text);
            assert!(answer.text.contains("what the command left running was ended"), "{}", answer.text);
            assert_nothing_lives(&project);
        }
    });
}

#[test]
fn a_time_out_ends_what_got_away_too() {
    on_each_machine(async |place| {
        let project = place.path("home/project");
        let command = holding_lock(&project, &format!("trap '' TERM; {GETS_AWAY}; sleep 600"));
        let answer = place.call(json!({"command": command, "timeout": 1})).await;
        assert!(answer.text.starts_with("timed out after 1 s"), "{}", answer.text);
        assert_nothing_lives(&project);
    });
}

#[test]
fn only_what_holds_the_output_is_waited_for() {
    on_each_machine(async |place| {
        let start = Instant::now();
        place.run("sleep 600 >/dev/null 2>&1 & echo").await;
        let let_go = start.elapsed();
        place.run("sleep 600 & echo").await;
        let held = start.elapsed() - let_go;
        assert!(let_go < held, "{let_go:?} {held:?}");
    });
}

#[test]
fn a_command_that_leaves_the_sandbox_is_kept_all_the_same() {
    on_each_machine(async |place| {
        let project = place.path("home/project");
        let command = holding_lock(&project, GETS_AWAY);
        place.call(json!({"command": command, "unsandboxed": true, "reason": "to see"})).await;
        assert_nothing_lives(&project);
    });
}

#[test]
fn nothing_outlives_askls_when_it_is_killed() {
    for machine in 0..MACHINES.len() {
        let folder = tempfile::tempdir().unwrap();
        let mut askls = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::runs_a_command_until_it_is_killed", "--ignored"])
            .env(FOLDER, folder.path())
            .env(MACHINE, machine.to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the command starts", || folder.path().join("ready").exists());
        askls.kill().unwrap();
        askls.wait().unwrap();
        assert_nothing_lives(folder.path());
    }
}

/// What the test above starts and kills.
#[test]
#[ignore = "it is no test: it ends by being killed"]
fn runs_a_command_until_it_is_killed() {
    let folder = std::env::var_os(FOLDER).unwrap();
    let folder = Path::new(&folder);
    let machine: usize = std::env::var(MACHINE).unwrap().parse().unwrap();
    on(MACHINES[machine], &async |mut place: Place| {
        place.sandbox.writable = vec![folder.to_owned()];
        let command = holding_lock(folder, &format!("trap '' TERM HUP; {GETS_AWAY}; sleep 600"));
        place.run(&command).await;
    });
}

#[test]
fn other_processes_are_out_of_reach() {
    on_each_machine(async |place| {
        if !place.can("changes:") {
            return;
        }
        let (askls, other) = (std::process::id(), Other::start());
        place.run(&format!("cat /proc/{askls}/environ")).await.assert_fails();
        let limits = other.limits();
        place.run(&format!("prlimit --pid {} --nofile=7:7", other.id())).await.assert_fails();
        assert_eq!(other.limits(), limits);
        if place.can("programs:") {
            for id in [askls, other.id()] {
                place.run(&format!("kill -0 {id}")).await.assert_fails();
            }
        }
    });
}

#[test]
fn a_process_number_is_not_given_to_two_commands_at_once() {
    on_each_machine(async |place| {
        let command = "echo $$ >$$.number; until [ $(ls *.number | wc -l) = 2 ]; do sleep 0.01; done";
        tokio::join!(place.run(command), place.run(command));
        let numbers = fs::read_dir(place.path("home/project")).unwrap().flatten();
        let numbers = numbers.filter(|entry| entry.path().extension().is_some_and(|end| end == "number"));
        assert_eq!(numbers.count(), 2);
    });
}

/// A process that no command has started.
struct Other(Child);

impl Other {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").spawn().unwrap())
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    fn limits(&self) -> String {
        fs::read_to_string(format!("/proc/{}/limits", self.id())).unwrap()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
