//! What this machine's kernel can do for the sandbox, found out by doing it: in a process that ends right after.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, Write as _},
    net::{TcpListener, UdpSocket},
    os::fd::AsFd as _,
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use rustix::fs::{MemfdFlags, StatVfsMountFlags};

use super::{
    calls,
    entry::{MAX_REASON_BYTES, MODE, PROBE, PROBE_PROCESSES, SELF},
    files, namespaces,
    plan::{Network, Plan, Walls},
};

/// What can be promised to hold. Where something cannot, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Powers {
    /// The version of Landlock's interface.
    pub(super) landlock: Result<u8, String>,
    pub(super) namespaces: Result<(), String>,
    /// The filter of system calls.
    pub(super) calls: Result<(), String>,
    /// A namespace for processes.
    pub(super) processes: Result<(), String>,
    /// Whether the hidden mode could be started.
    pub(super) has_answered: bool,
}

impl Powers {
    pub(super) fn none(why: &str) -> Self {
        Self {
            landlock: Err(why.to_owned()),
            namespaces: Err(why.to_owned()),
            calls: Err(why.to_owned()),
            processes: Err(why.to_owned()),
            has_answered: false,
        }
    }

    /// Asks `askls`, the program that has the hidden mode. Takes some milliseconds.
    pub(in super::super) fn ask(askls: &Path) -> Self {
        match ask(askls) {
            Err(error) => Self::none(&format!("{} could not be started: {error}", askls.display())),
            Ok(answer) => Self::parse(&answer),
        }
    }

    /// Lines of a name and a value.
    fn parse(text: &str) -> Self {
        let mut powers = Self::none("askls could not find out");
        for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            let done = || if value == "ok" { Ok(()) } else { Err(value.to_owned()) };
            match name {
                "landlock" => powers.landlock = value.parse().map_err(|_| value.to_owned()),
                "namespaces" => powers.namespaces = done(),
                "calls" => powers.calls = done(),
                "processes" => powers.processes = done(),
                _ => continue,
            }
            powers.has_answered = true;
        }
        powers
    }

    fn lines(&self) -> String {
        let one_line = |text: &str| text.replace('\n', " ");
        let done = |power: &Result<(), String>| match power {
            Ok(()) => "ok".to_owned(),
            Err(why) => one_line(why),
        };
        let landlock = match &self.landlock {
            Ok(version) => version.to_string(),
            Err(why) => one_line(why),
        };
        format!(
            "landlock {landlock}\nnamespaces {}\ncalls {}\nprocesses {}\n",
            done(&self.namespaces),
            done(&self.calls),
            done(&self.processes)
        )
    }
}

/// The answer comes back in the input, a file in memory.
fn ask(askls: &Path) -> io::Result<String> {
    let mut control = File::from(rustix::fs::memfd_create("askls-sandbox", MemfdFlags::CLOEXEC)?);
    Command::new(askls)
        .args([MODE, PROBE])
        .env_clear()
        .stdin(Stdio::from(control.try_clone()?))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    control.rewind()?;
    let mut answer = String::new();
    control.take(MAX_REASON_BYTES).read_to_string(&mut answer)?;
    Ok(answer)
}

/// The hidden mode's other half: puts up every wall, looks whether it holds, and writes that to the input.
pub(super) fn tell() -> ExitCode {
    let Ok(mut control) = io::stdin().as_fd().try_clone_to_owned().map(File::from) else {
        return ExitCode::FAILURE;
    };
    let mut plan = Plan {
        walls: Walls { files: true, namespaces: true, calls: true, processes: true },
        network: Network::Loopback,
        // A file and a folder that are everywhere.
        hidden: ["/dev/shm", "/etc/passwd"].map(Into::into).to_vec(),
        fixed: vec!["/etc".into()],
        ..Plan::default()
    };
    let namespaces = namespaces::enter(&plan).and_then(|()| hold(&plan));
    plan.walls.namespaces = namespaces.is_ok();
    if namespaces.is_err() {
        plan.network = Network::None;
        plan.hidden.clear();
    }
    let processes = namespaces.clone().and_then(|()| processes());
    let landlock =
        namespaces::drop_capabilities().and_then(|()| files::restrict(&plan)).and_then(|version| {
            match OpenOptions::new().append(true).open("/proc/self/comm") {
                Ok(_) => Err("Landlock does not hold".to_owned()),
                Err(_) => Ok(version),
            }
        });
    let calls = calls::restrict(&plan, landlock.as_ref().ok().copied()).and_then(|()| {
        let is_refused =
            rustix::net::socket(rustix::net::AddressFamily::KEY, rustix::net::SocketType::RAW, None).err();
        match is_refused {
            Some(rustix::io::Errno::ACCESS) => Ok(()),
            _ => Err("the filter of system calls does not hold".to_owned()),
        }
    });
    let powers = Powers { landlock, namespaces, calls, processes, has_answered: true };
    match control.write_all(powers.lines().as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Whether processes can have a namespace of their own.
fn processes() -> Result<(), String> {
    namespaces::separate_processes()?;
    let mut first = Command::new(SELF);
    let answer = first.args([MODE, PROBE_PROCESSES]).stdin(Stdio::null()).output();
    let answer = answer.map_err(|error| format!("the first process: {error}"))?;
    if answer.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&answer.stderr).into_owned()) }
}

/// What the first process of a namespace finds out: whether it can be that, and if not why, on its error output.
pub(super) fn tell_of_processes() -> ExitCode {
    let shown =
        namespaces::show_processes(None).and_then(|()| match rustix::process::getpid().as_raw_pid() {
            1 if Path::new("/proc/1").is_dir() && !Path::new("/proc/2").exists() => Ok(()),
            _ => Err("processes can be seen".to_owned()),
        });
    match shown.map_err(|why| io::stderr().write_all(why.as_bytes())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Whether what was mounted and started does what it is for.
fn hold(plan: &Plan) -> Result<(), String> {
    for path in &plan.hidden {
        if path.is_dir() && std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(format!("{} is not hidden", path.display()));
        }
        if path.is_file() || OpenOptions::new().read(true).open(path).is_ok_and(|_| !path.is_dir()) {
            return Err(format!("{} is not hidden", path.display()));
        }
    }
    let root = rustix::fs::statvfs("/").map_err(|error| format!("/: {error}"))?;
    if !root.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err("/ can be changed".to_owned());
    }
    let loopback = TcpListener::bind("127.0.0.1:0").and_then(|_| UdpSocket::bind("127.0.0.1:0"));
    loopback.map(drop).map_err(|error| format!("loopback: {error}"))
}
