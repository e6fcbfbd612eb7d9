//! The sandbox of commands: each test runs real commands through the tool and the real binary's hidden mode, on this machine
//! and on machines that can do less. These are made of this one by a filter of system calls that refuses what they do not
//! have, as containers do. Where something cannot be shown, the report has to say so.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails where its machine does, and says what it left out"
)]

#[path = "sandbox/later.rs"]
mod later;
#[path = "sandbox/outside.rs"]
mod outside;
#[path = "sandbox/processes.rs"]
mod processes;

use std::{
    fs::{self, File},
    net::{TcpListener, UdpSocket},
    os::{fd::AsRawFd as _, unix::net::UnixListener},
    path::{Path, PathBuf},
    sync::Arc,
};

use askls::{
    protocol::ToolCall,
    tools::{
        ToolContext, ToolSettings, Toolbox,
        run_command::sandbox::{Launcher, Sandbox, SandboxMode, State},
    },
    workspace::{TurnFiles, Workspace},
};
use landlock::{ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A home with a key in it, a project in that home, and a folder for files of a while.
struct Place {
    folder: tempfile::TempDir,
    sandbox: Sandbox,
}

/// What a machine does not have: system calls, and how it refuses them.
type Lacks = &'static [(i64, i32)];

/// Not asked for by old kernels, not allowed by containers, neither.
const MACHINES: [Lacks; 4] = [
    &[],
    &[(libc::SYS_unshare, libc::EPERM)],
    &[(libc::SYS_landlock_create_ruleset, libc::ENOSYS)],
    &[(libc::SYS_unshare, libc::EPERM), (libc::SYS_landlock_create_ruleset, libc::ENOSYS)],
];

fn on_each_machine(test: impl AsyncFn(Place) + Sync) {
    for lacks in MACHINES {
        on(lacks, &test);
    }
}

/// Filters hold for the thread that they are set in, and for what it starts.
fn on(lacks: Lacks, test: &(impl AsyncFn(Place) + Sync)) {
    let run = || {
        for (call, error) in lacks {
            let refuse = SeccompAction::Errno(error.unsigned_abs());
            let arch = std::env::consts::ARCH.try_into().unwrap();
            let rules = [(*call, Vec::new())].into();
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap();
            seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(test(Place::new()));
    };
    let ended = std::thread::scope(|scope| scope.spawn(run).join());
    assert!(ended.is_ok(), "on a machine without {lacks:?}");
}

/// The answer of a command.
struct Answer {
    text: String,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let sandbox = Sandbox {
            mode: SandboxMode::Auto,
            network: false,
            writable: Vec::new(),
            temporary: vec![path.join("tmp")],
            git_settings: Vec::new(),
            home: Some(path.join("home")),
            private: Vec::new(),
            launcher: Launcher::new(env!("CARGO_BIN_EXE_askls").into()),
        };
        let place = Self { folder, sandbox };
        place.write("home/.ssh/id_rsa", "the key\n");
        place.write("home/notes.txt", "notes\n");
        place.write("home/project/a.txt", "one\n");
        fs::create_dir(place.path("tmp")).unwrap();
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    async fn call(&self, arguments: Value) -> Answer {
        let settings = ToolSettings { sandbox: Some(self.sandbox.clone()), ..ToolSettings::default() };
        let roots = vec![self.path("home/project")];
        let files = Arc::new(TurnFiles::new(Arc::new(Workspace::new(roots))));
        let context = ToolContext::new(files, CancellationToken::new());
        let call = ToolCall {
            id: "1".into(),
            name: "run_command".into(),
            arguments: arguments.to_string(),
            raw: None,
        };
        let prepared = Toolbox::standard(&settings).prepare(&call).unwrap();
        let text = prepared.run(context).await.unwrap_or_else(|error| format!("error: {error}"));
        Answer { text }
    }

    async fn run(&self, command: &str) -> Answer {
        self.call(json!({"command": command})).await
    }

    /// Whether this machine has what a wall is made of. If not, that is said here, and must be said to the user.
    fn can(&self, wall: &str) -> bool {
        let report = self.sandbox.report(&[self.path("home/project")]);
        let is_missing = report.missing.iter().find(|missing| missing.starts_with(wall));
        match (is_missing, report.state) {
            (Some(missing), _) => {
                eprintln!("could not be shown here: {missing}");
                false
            }
            (None, State::Unavailable) => panic!("nothing is missing, and there is nothing: {report:?}"),
            (None, _) => true,
        }
    }

    /// What the report says is missing, without the reasons.
    fn missing(&self) -> Vec<String> {
        let missing = self.sandbox.report(&[]).missing;
        missing.iter().map(|missing| missing.split(':').next().unwrap().to_owned()).collect()
    }

    /// What programs say of a change outside the workspace.
    fn refusal_outside(&self) -> &'static str {
        if self.has_namespaces() { "Read-only file system" } else { "Permission denied" }
    }

    fn has_namespaces(&self) -> bool {
        self.can("secrets in the workspace:") && self.can("secrets:")
    }
}

impl Answer {
    #[track_caller]
    fn assert_refused(&self, by: &str) {
        assert!(!self.text.starts_with("exit code 0"), "{}", self.text);
        assert!(self.text.contains(by), "{by} is not in {}", self.text);
        let notes = ["note: this may be the sandbox", "note: the sandbox hides "];
        assert!(notes.iter().any(|note| self.text.contains(note)), "{}", self.text);
    }

    #[track_caller]
    fn assert_fails(&self) {
        assert!(
            self.text.starts_with("exit code ") && !self.text.starts_with("exit code 0"),
            "{}",
            self.text
        );
    }

    #[track_caller]
    fn assert_printed(&self, output: &str) {
        let (first, rest) = self.text.split_once('\n').unwrap_or_default();
        assert!(first.starts_with("exit code 0") && rest == output, "{}", self.text);
    }
}

#[test]
fn a_write_outside_the_workspace_is_refused() {
    on_each_machine(async |place| {
        if !place.can("changes:") {
            return;
        }
        let outside = place.path("home/outside.txt");
        for command in [
            "echo x >../outside.txt",
            "rm ../notes.txt",
            "mv a.txt ..",
            "ln -s ../notes.txt link && echo x >link",
            "truncate -s 0 ../notes.txt",
        ] {
            place.run(command).await.assert_refused(place.refusal_outside());
        }
        assert!(!outside.exists());
        assert_eq!(fs::read_to_string(place.path("home/notes.txt")).unwrap(), "notes\n");
    });
}

#[test]
fn the_workspace_and_temporary_folders_can_be_changed() {
    on_each_machine(async |place| {
        let temporary = place.path("tmp");
        let command = format!(
            "mkdir d && mv a.txt d/b.txt && cat d/b.txt ../notes.txt && rm -r d && echo x >{}/x",
            temporary.display()
        );
        place.run(&command).await.assert_printed("one\nnotes");
        assert!(!place.path("home/project/a.txt").exists() && temporary.join("x").exists());
    });
}

#[test]
fn a_secret_outside_the_workspace_cannot_be_read() {
    on_each_machine(async |place| {
        if !place.can("secrets:") {
            return;
        }
        let answer = place.run("cat ../.ssh/id_rsa").await;
        assert!(
            answer.text.starts_with("exit code 1") && !answer.text.contains("the key"),
            "{}",
            answer.text
        );
        // What stands beside it can.
        place.run("cat ../notes.txt").await.assert_printed("notes");
    });
}

#[test]
fn a_secret_in_the_workspace_cannot_be_read_and_what_comes_beside_it_can() {
    on_each_machine(async |place| {
        place.write("home/project/.env", "SECRET=1\n");
        place.write("home/project/deep/er/server.pem", "pem\n");
        place.write("home/project/.env.example", "SECRET=\n");
        place.write("home/project/packages/secrets/package.json", "{\"name\": \"secrets\"}\n");
        place.write("home/project/ca.pem", "-----BEGIN CERTIFICATE-----\n");
        if !place.has_namespaces() {
            return;
        }
        place.run("cat .env").await.assert_refused("Permission denied");
        place.run("cd deep/er && cat server.pem").await.assert_refused("Permission denied");
        place.run("cat packages/secrets/package.json").await.assert_printed("{\"name\": \"secrets\"}");
        place.run("cat ca.pem").await.assert_printed("-----BEGIN CERTIFICATE-----");
        place.run("mv .env env").await.assert_refused("Device or resource busy");
        place.run("cat .env.example; echo new >new.txt; cat new.txt").await.assert_printed("SECRET=\nnew");
        assert_eq!(fs::read_to_string(place.path("home/project/.env")).unwrap(), "SECRET=1\n");
    });
}

#[test]
fn a_secret_in_the_workspace_is_hidden_under_each_of_its_names() {
    on_each_machine(async |place| {
        place.write("home/project/.env", "SECRET=1\n");
        place.write("home/project/node_modules/x/a.txt", "a\n");
        for name in ["notes.txt", "node_modules/x/notes.txt"] {
            fs::hard_link(place.path("home/project/.env"), place.path("home/project").join(name)).unwrap();
        }
        fs::hard_link(place.path("home/project/a.txt"), place.path("home/project/b.txt")).unwrap();
        if !place.has_namespaces() {
            return;
        }
        place.run("cat notes.txt").await.assert_refused("Permission denied");
        place.run("cat node_modules/x/notes.txt").await.assert_refused("Permission denied");
        place.run("cat b.txt node_modules/x/a.txt").await.assert_printed("one\na");
    });
}

#[test]
fn a_secret_that_commands_may_read_is_not_printed() {
    on_each_machine(async |mut place| {
        place.write("home/project/.env", "QUEUE_PASS=kP93nfw0XbLq72vRtaYz\n");
        // On some machines it can be read in any case; here the user has opened it.
        place.sandbox.writable = vec![place.path("home/project/.env")];
        place.run("cat .env").await.assert_printed("QUEUE_PASS=<key hidden by askls>");
    });
}

#[test]
fn no_program_outside_can_be_connected_to() {
    on_each_machine(async |place| {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let unix = place.path("home/program.sock");
        let _listener = UnixListener::bind(&unix).unwrap();
        if !place.can("network:") {
            return;
        }
        let (tcp, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
        for script in [
            format!("socket.create_connection(('127.0.0.1', {tcp}), 5)"),
            format!("s = socket.socket(socket.AF_UNIX); s.connect('{}')", unix.display()),
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('192.0.2.1', 53))"
                .to_owned(),
            "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)".to_owned(),
        ] {
            let answer = place.run(&python(&script)).await;
            assert!(answer.text.starts_with("exit code 1"), "{script}: {}", answer.text);
        }
        let script = format!(
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', {udp_port}))"
        );
        place.run(&python(&script)).await;
        assert!(udp.recv(&mut [0; 1]).is_err(), "a datagram came through");
    });
}

/// A Python program for sockets.
fn python(script: &str) -> String {
    format!("python3 -c \"import socket; {script}\"")
}

#[test]
fn a_command_can_talk_to_itself_where_it_has_a_network_of_its_own() {
    on_each_machine(async |place| {
        let script = "a = socket.create_server(('127.0.0.1', 0)); b = socket.create_connection(a.getsockname()); print('ok')";
        let answer = place.run(&python(script)).await;
        let report = place.sandbox.report(&[]);
        let network = report.walls.iter().find(|wall| wall.name == "network").unwrap();
        if network.holds.starts_with("none but 127.0.0.1") {
            answer.assert_printed("ok");
        } else {
            answer.assert_refused("Permission denied");
        }
    });
}

#[test]
fn the_network_is_open_when_the_user_says_so() {
    on_each_machine(async |mut place| {
        place.sandbox.network = true;
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let script = format!("socket.create_connection(('127.0.0.1', {port}), 5); print('ok')");
        place.run(&python(&script)).await.assert_printed("ok");
    });
}

#[test]
fn git_commits_and_its_settings_and_hooks_stay_as_they_are() {
    on_each_machine(async |place| {
        let project = place.path("home/project");
        git(&project, &["init", "-q"]);
        let commit = "git add -A && git -c user.name=n -c user.email=e commit -qm one && git log --format=%s";
        place.run(commit).await.assert_printed("one");
        if !place.has_namespaces() {
            return;
        }
        place.run("git config user.name other").await.assert_refused("Device or resource busy");
        place.run("echo x >>.git/config").await.assert_refused("Read-only file system");
        place.run("echo x >.git/hooks/pre-commit").await.assert_refused("Read-only file system");
        place.run("mv .git old").await.assert_refused("Device or resource busy");
    });
}

#[test]
fn git_commits_in_a_working_tree_whose_repository_lies_elsewhere() {
    on_each_machine(async |place| {
        let main = place.path("home/main");
        fs::create_dir(&main).unwrap();
        git(&main, &["init", "-q"]);
        git(
            &main,
            &["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "zero"],
        );
        fs::remove_dir_all(place.path("home/project")).unwrap();
        git(&main, &["worktree", "add", "-q", "../project"]);
        let commit = "echo x >x && git add x && git -c user.name=n -c user.email=e commit -qm one && git log --format=%s";
        place.run(commit).await.assert_printed("one\nzero");
        if place.can("changes:") {
            place.run("echo x >../main/file").await.assert_refused(place.refusal_outside());
        }
        // A project that only says so gets nothing.
        place.write("home/project/.git", &format!("gitdir: {}\n", place.path("home").display()));
        if place.can("changes:") {
            place.run("echo x >../file").await.assert_refused(place.refusal_outside());
        }
    });
}

fn git(folder: &Path, arguments: &[&str]) {
    let status = std::process::Command::new("git").arg("-C").arg(folder).args(arguments).status().unwrap();
    assert!(status.success(), "git {arguments:?}");
}

#[test]
fn what_editors_run_by_themselves_cannot_be_changed() {
    on_each_machine(async |place| {
        place.write("home/project/.vscode/tasks.json", "{}");
        place.write("home/project/.envrc", "");
        place.write("home/project/.askls/config.toml", "");
        place.write("home/project/sub/.cargo/config.toml", "");
        place.write("home/project/.githooks/pre-commit", "");
        if !place.has_namespaces() {
            return;
        }
        for file in [
            ".vscode/tasks.json",
            ".vscode/new.json",
            ".askls/config.toml",
            "sub/.cargo/config.toml",
            ".githooks/new",
        ] {
            place.run(&format!("echo x >{file}")).await.assert_refused("Read-only file system");
        }
        // Where the command runs is no way around.
        let answer = place.call(json!({"command": "echo x >tasks.json", "path": ".vscode"})).await;
        answer.assert_refused("Read-only file system");
    });
}

#[test]
fn what_an_editor_left_open_is_closed() {
    on_each_machine(async |place| {
        let open = File::open(place.path("home/.ssh/id_rsa")).unwrap();
        rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
        let command = format!("cat /proc/self/fd/{0} || cat <&{0}", open.as_raw_fd());
        let answer = place.run(&command).await;
        assert!(!answer.text.contains("the key"), "{}", answer.text);
    });
}

#[test]
fn exit_codes_and_signals_pass_through() {
    on_each_machine(async |place| {
        assert!(place.run("exit 126").await.text.starts_with("exit code 126 ("));
        assert!(place.run("kill -9 $$").await.text.starts_with("killed by signal 9"));
        assert!(place.run("definitely-not-a-command-7f3a").await.text.starts_with("exit code 127 ("));
        place.run("cat; echo end").await.assert_printed("end");
    });
}

#[test]
fn a_command_that_leaves_the_sandbox_has_all_rights() {
    on_each_machine(async |place| {
        let answer = place
            .call(json!({"command": "cat ../.ssh/id_rsa", "unsandboxed": true, "reason": "to see"}))
            .await;
        answer.assert_printed("the key");
    });
}

#[test]
fn what_was_promised_and_cannot_be_held_keeps_the_command_from_running() {
    on_each_machine(async |mut place| {
        // A program that is not askls puts up nothing.
        let powers = place.sandbox.launcher.powers().clone();
        place.sandbox.launcher = Launcher::new("/bin/true".into()).with_powers(powers);
        let answer = place.run("touch ran").await;
        assert!(
            answer.text.starts_with("error: the command did not run, since its sandbox could not be put up"),
            "{}",
            answer.text
        );
        // A machine that can do nothing, and a user who wants all.
        place.sandbox.launcher = Launcher::new("/bin/true".into());
        place.sandbox.mode = SandboxMode::On;
        let answer = place.run("touch ran").await;
        assert!(
            answer.text.starts_with("error: the command did not run: the setting sandbox is on"),
            "{}",
            answer.text
        );
        assert!(!place.path("home/project/ran").exists());
        place.sandbox.mode = SandboxMode::Auto;
        place.run("touch ran").await.assert_printed("(no output)");
    });
}

#[test]
fn folders_that_the_user_named_can_be_changed_and_seen() {
    on_each_machine(async |mut place| {
        place.sandbox.writable = vec![place.path("home/.ssh")];
        place.run("cat ../.ssh/id_rsa; echo x >../.ssh/known_hosts").await.assert_printed("the key");
    });
}

/// Whether this machine has Landlock, and namespaces for everybody; found out without askls.
fn this_machine_has() -> (bool, bool) {
    let landlock = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create);
    let namespaces =
        std::process::Command::new("unshare").args(["-rmn", "mount", "-t", "tmpfs", "none", "/tmp"]).status();
    (landlock.is_ok(), namespaces.is_ok_and(|status| status.success()))
}

#[test]
fn what_is_missing_is_said_by_the_status() {
    let (has_landlock, has_namespaces) = this_machine_has();
    for lacks in MACHINES {
        let is_lacking = |wanted: i64| lacks.iter().any(|(call, _)| *call == wanted);
        let has_landlock = has_landlock && !is_lacking(libc::SYS_landlock_create_ruleset);
        let has_namespaces = has_namespaces && !is_lacking(libc::SYS_unshare);
        let expected: &[&str] = match (has_landlock, has_namespaces) {
            (true, true) => &[],
            (true, false) => &["secrets in the workspace"],
            (false, _) => &["changes", "secrets"],
        };
        on(lacks, &async |place: Place| {
            let project = place.path("home/project");
            let status = std::process::Command::new(env!("CARGO_BIN_EXE_askls"))
                .args(["status", "--json", "--model", "offline"])
                .current_dir(&project)
                .env_clear()
                .env("HOME", place.path("home"))
                .output()
                .unwrap();
            let status: Value = serde_json::from_slice(&status.stdout).unwrap();
            let missing = status["sandbox"]["missing"].as_array().unwrap().iter();
            let missing: Vec<_> = missing
                .map(|missing| missing.as_str().unwrap().split(':').next().unwrap())
                // That differs by the version of Landlock too.
                .filter(|missing| *missing != "programs")
                .collect();
            assert_eq!(missing, expected, "{status:#}");
        });
    }
}

#[test]
fn a_promise_that_cannot_be_kept_any_more_keeps_the_command_from_running() {
    let able = Place::new();
    let promised = able.missing();
    let powers = able.sandbox.launcher.powers();
    for lacks in &MACHINES[1..] {
        on(lacks, &async |mut place: Place| {
            if place.missing() == promised {
                eprintln!("could not be shown here: this machine is no better than one without {lacks:?}");
                return;
            }
            place.sandbox.launcher = place.sandbox.launcher.clone().with_powers(powers.clone());
            let answer = place.run("touch ran").await;
            let start = "error: the command did not run, since its sandbox could not be put up: ";
            assert!(answer.text.starts_with(start), "{}", answer.text);
            assert!(!place.path("home/project/ran").exists());
        });
    }
}
