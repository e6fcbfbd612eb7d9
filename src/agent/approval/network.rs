//! Which machines a command talks to, as far as its words tell: for rules about the network. What a program does by
//! itself (a build that fetches, a script) cannot be seen here.

use super::{
    git::{self, Talk},
    opened::{Opened, Tail, file_name},
};

/// Programs that talk to the machines that their words name.
const TALKERS: &[&str] = &[
    "aria2c",
    "axel",
    "curl",
    "dig",
    "ftp",
    "host",
    "http",
    "https",
    "lynx",
    "mosh",
    "mtr",
    "nc",
    "ncat",
    "netcat",
    "nmap",
    "nslookup",
    "ping",
    "rclone",
    "sftp",
    "socat",
    "ssh",
    "ssh-copy-id",
    "ssh-keyscan",
    "telnet",
    "tftp",
    "traceroute",
    "w3m",
    "wget",
    "whois",
    "xh",
];

/// Programs that do so where a word names a machine, as in `host:path`.
const COPIERS: &[&str] = &["rsync", "scp"];

/// Programs that talk to machines which other settings name, with the words that make them do so; none means always.
const CLIENTS: &[(&str, &[&str])] = &[
    ("apk", &["add", "fetch", "update", "upgrade"]),
    ("apt", &["download", "full-upgrade", "install", "update", "upgrade"]),
    ("apt-get", &["dist-upgrade", "download", "install", "source", "update", "upgrade"]),
    ("aws", &[]),
    ("az", &[]),
    ("brew", &["fetch", "install", "update", "upgrade"]),
    ("bun", &["add", "install", "publish", "update", "x"]),
    ("bundle", &["install", "update"]),
    ("bunx", &[]),
    ("cargo", &["add", "fetch", "install", "login", "owner", "publish", "search", "update", "yank"]),
    ("composer", &["create-project", "install", "require", "update"]),
    ("dnf", &[]),
    ("docker", &["build", "login", "pull", "push", "search"]),
    ("dotnet", &["add", "restore", "tool"]),
    ("gcloud", &[]),
    ("gem", &["fetch", "install", "push", "update"]),
    ("gh", &[]),
    ("glab", &[]),
    ("go", &["get", "install"]),
    ("helm", &[]),
    ("kubectl", &[]),
    (
        "npm",
        &[
            "add", "audit", "ci", "create", "exec", "i", "info", "init", "install", "outdated", "publish",
            "search", "update", "view", "x",
        ],
    ),
    ("npx", &[]),
    ("pip", &["download", "install", "search", "wheel"]),
    ("pip3", &["download", "install", "search", "wheel"]),
    ("pipx", &["install", "run", "upgrade"]),
    ("pnpm", &["add", "dlx", "i", "install", "publish", "update"]),
    ("podman", &["build", "login", "pull", "push", "search"]),
    ("poetry", &["add", "install", "publish", "update"]),
    ("terraform", &["apply", "init", "plan"]),
    ("uv", &["add", "pip", "publish", "sync", "tool"]),
    ("yarn", &["add", "dlx", "install", "publish", "up", "upgrade"]),
    ("yum", &[]),
];

/// What reaches a machine by the name of a file, in bash.
const DEVICES: &[&str] = &["/dev/tcp/", "/dev/udp/"];

/// Options by which a program gets its machines, or a way to them, from elsewhere.
const ELSEWHERE: &[&str] = &["-K", "--config", "-i", "--input-file", "-F", "-J", "-x", "--proxy"];

/// What a command reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    /// Machines that its words name, in small letters; besides them perhaps other words that look like one.
    pub(super) hosts: Vec<String>,
    /// Whether it may talk to others as well.
    pub(super) is_open: bool,
    /// Whether it talks to any for certain.
    pub(super) is_certain: bool,
}

/// `None` for a command of which it is not known that it talks to another machine.
pub(super) fn reach(command: &Opened) -> Option<Reach> {
    let devices: Vec<&str> =
        command.reads.iter().chain(&command.writes).map(|word| word.text.as_str()).collect();
    let devices =
        devices.iter().filter_map(|path| DEVICES.iter().find_map(|device| path.strip_prefix(device)));
    let devices: Vec<String> =
        devices.filter_map(|rest| rest.split('/').next()).map(str::to_lowercase).collect();
    let of_device = (!devices.is_empty()).then(|| Reach {
        is_open: !devices.iter().all(|host| is_name(host)),
        hosts: devices,
        is_certain: true,
    });
    let texts = command.texts();
    let Some((program, words)) = texts.split_first() else { return of_device };
    let name = file_name(program);
    let operands = || words.iter().filter(|word| !word.starts_with('-')).copied();
    let reach = match name {
        name if name == "git" || name.starts_with("git-") => match of_git(command, &texts) {
            Some(reach) => reach,
            None => return of_device,
        },
        // `python -m pip install`
        name if name.starts_with("python") => match words {
            ["-m", client, rest @ ..] => clients(client, rest)?,
            _ => return of_device,
        },
        name if TALKERS.contains(&name) => named(words),
        name if COPIERS.contains(&name) => operands().any(|word| word.contains(':')).then(|| named(words))?,
        name => match clients(name, words) {
            Some(reach) => reach,
            None => return of_device,
        },
    };
    let is_open = reach.is_open
        || command.tail == Tail::Unknown
        || command.words.iter().any(|word| word.is_glob || !word.is_spelt())
        || words.iter().any(|word| ELSEWHERE.contains(word));
    let is_certain = reach.is_certain || of_device.is_some();
    let hosts = reach.hosts.into_iter().chain(of_device.into_iter().flat_map(|reach| reach.hosts)).collect();
    Some(Reach { hosts, is_open, is_certain })
}

fn of_git(command: &Opened, texts: &[&str]) -> Option<Reach> {
    let line = git::Line::of(texts)?;
    // A word that is not known may be the subcommand.
    let is_open = command.words.get(1).is_some_and(|word| !word.is_spelt());
    let words = texts.get(1..).unwrap_or_default();
    match line.talks() {
        Talk::Surely => Some(named(words)),
        Talk::Perhaps => Some(Reach { is_open: true, is_certain: false, ..named(words) }),
        Talk::No => (is_open || git::set_variable(command).is_some()).then(|| Reach {
            hosts: Vec::new(),
            is_open: true,
            is_certain: false,
        }),
    }
}

fn clients(name: &str, words: &[&str]) -> Option<Reach> {
    let (_, subcommands) = CLIENTS.iter().find(|(client, _)| *client == name)?;
    // `yarn` alone installs.
    let is_alone = name == "yarn" && words.is_empty();
    let does = is_alone || subcommands.is_empty() || words.iter().any(|word| subcommands.contains(word));
    does.then(|| Reach { is_open: true, ..named(words) })
}

/// The machines that words name: whatever in them looks like one counts, since a rule that forbids shall hold.
fn named(words: &[&str]) -> Reach {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let parts = words.iter().flat_map(|word| word.split(|c| !is_part(c)));
    let mut hosts: Vec<String> =
        parts.filter(|part| part.contains('.') || *part == "localhost").map(str::to_lowercase).collect();
    if hosts.iter().any(|host| is_loopback(host)) {
        hosts.push("localhost".to_owned());
    }
    // Of each word with a place the machine has to be spelt by its name.
    let places = words.iter().filter(|word| !word.starts_with('-'));
    let machines: Vec<&str> = places.filter_map(|word| machine(word)).collect();
    let is_open = machines.is_empty() || !machines.iter().all(|host| is_name(host));
    Reach { hosts, is_open, is_certain: true }
}

/// The machine that a word names: of a URL, or of `user@machine:path`.
fn machine(word: &str) -> Option<&str> {
    let rest = word.split_once("://").map_or(word, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next()?;
    let host = rest.rsplit('@').next()?.split(':').next()?;
    (word.contains("://") || host.contains(['.', '%']) || host == "localhost").then_some(host)
}

/// Whether a machine is called by a name that can be compared; a number may be any machine's.
fn is_name(host: &str) -> bool {
    let is_plain = host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    is_plain && last.starts_with(|c: char| c.is_ascii_alphabetic()) || is_loopback(host)
}

/// Whether a number is that of the machine itself.
fn is_loopback(host: &str) -> bool {
    host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{
        super::{opened, shell},
        *,
    };

    fn check(texts: &[&str], expected: Expect) {
        let line = |text: &&str| {
            let command = opened::open(shell::parse(text).unwrap().remove(0));
            let reach = reach(&command).map(|reach| {
                format!("{}{}", reach.hosts.join(" "), if reach.is_open { " and others" } else { "" })
            });
            format!("{text} => {}\n", reach.as_deref().unwrap_or("-"))
        };
        expected.assert_eq(&texts.iter().map(line).collect::<String>());
    }

    #[test]
    fn known_programs_reach_the_machines_that_their_words_name() {
        check(
            &[
                "curl -s https://user:pw@Example.com:8080/a?b=c.d",
                "curl example.com",
                "curl -K file",
                "curl https://ex%61mple.com",
                "curl http://93.184.216.34/",
                "curl http://0x5db8d822/",
                "wget -q https://a.example/x.tar.gz",
                "git clone git@github.com:a/b.git",
                "git push origin main",
                "git clone ../other",
                "git log",
                "scp a.txt me@h.example:x",
                "scp a.txt b.txt",
                "ssh box",
                "npm install left-pad",
                "npm test",
                "python3 -m pip install x",
                "cat < /dev/tcp/evil.example/80",
                "ls example.com",
            ],
            expect![[r#"
                curl -s https://user:pw@Example.com:8080/a?b=c.d => example.com c.d and others
                curl example.com => example.com
                curl -K file =>  and others
                curl https://ex%61mple.com => 61mple.com and others
                curl http://93.184.216.34/ => 93.184.216.34 and others
                curl http://0x5db8d822/ =>  and others
                wget -q https://a.example/x.tar.gz => a.example x.tar.gz
                git clone git@github.com:a/b.git => github.com b.git
                git push origin main =>  and others
                git clone ../other => -
                git log => -
                scp a.txt me@h.example:x => a.txt h.example
                scp a.txt b.txt => -
                ssh box =>  and others
                npm install left-pad =>  and others
                npm test => -
                python3 -m pip install x =>  and others
                cat < /dev/tcp/evil.example/80 => evil.example
                ls example.com => -
            "#]],
        );
    }
}
