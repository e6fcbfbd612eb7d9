//! What one command is held to, as askls decides it and as the process that will be the command reads it.

use std::{
    convert::Infallible,
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{super::UNSANDBOXED, arrivals::Survey};

/// The walls around one command. Each that is named is put up, or the command does not run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::tools::run_command) struct Plan {
    pub(super) walls: Walls,
    pub(super) network: Network,
    /// Folders and files that may be changed; nothing else may, where Landlock holds it.
    pub(super) writable: Vec<PathBuf>,
    /// What cannot be read, though everything else can. Real paths, a folder before what lies in it.
    pub(super) hidden: Vec<PathBuf>,
    /// What of that has to be there when the walls go up: of a file that is gone by then nobody knows what it is called now.
    pub(super) staying: Vec<PathBuf>,
    /// What cannot be changed, though it lies in a writable folder. Real paths.
    pub(super) fixed: Vec<PathBuf>,
    /// Folders that can neither be moved nor removed, so that what is fixed in them is not got rid of with them.
    pub(super) anchored: Vec<PathBuf>,
    /// Folders that are made, empty, where they are not there, so that they can be held like the others.
    pub(super) made: Vec<PathBuf>,
    /// Whether the program has something to read, which comes over the lifeline.
    pub(super) has_input: bool,
    /// For askls to look at afterwards; it is not sent.
    pub(super) survey: Arc<Survey>,
    /// What of `hidden` lies in the workspace, relative to its root. For askls; it is not sent.
    pub(super) hidden_here: Vec<String>,
    /// The files of the workspace that hold secrets, whether they are hidden or not; `None` when they were not looked for. For
    /// askls; it is not sent.
    pub(super) secrets: Option<Vec<PathBuf>>,
}

/// By which means of the kernel a command is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Walls {
    /// Landlock: what may be read and written.
    pub(super) files: bool,
    /// Namespaces of its own for mounts and the network.
    pub(super) namespaces: bool,
    /// A filter of system calls: which sockets there can be.
    pub(super) calls: bool,
    /// A namespace for its processes, which see no others and end with it. Not without those for mounts.
    pub(super) processes: bool,
}

/// Whom a command can talk to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Network {
    /// Nobody, not even itself over the network.
    #[default]
    None,
    /// The processes that it started.
    Loopback,
    Open,
}

/// Most hidden files that are named; the others are of the same kind.
const MOST: usize = 10;

/// Longest plan that is read: thousands of long paths.
pub(super) const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Between two looks while a command runs.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The same for the few names that git would obey in the repositories that are there.
const LOOK_FOR_SETTINGS_EVERY: Duration = Duration::from_millis(100);

/// How many times as long as a look takes there is none: in a large workspace they must not take the machine.
const LEAST_REST: u32 = 20;

const WALLS: &str = "walls";
const NETWORK: &str = "network";
const INPUT: &str = "input";
const PATHS: [&str; 6] = ["write", "hide", "stay", "fix", "anchor", "make"];

impl Plan {
    pub(in crate::tools::run_command) fn has_walls(&self) -> bool {
        self.walls != Walls::default()
    }

    /// The files of the workspace that hold secrets, where they are known.
    pub(in crate::tools::run_command) fn secrets(&self) -> Option<&[PathBuf]> {
        self.secrets.as_deref()
    }

    /// See [`Survey::arrived`].
    pub(in crate::tools::run_command) async fn arrived(&self) -> Option<String> {
        let survey = Arc::clone(&self.survey);
        tokio::task::spawn_blocking(move || survey.arrived()).await.ok().flatten()
    }

    /// Looks from time to time for what may not be there even while the command runs, since the user may use version control
    /// then; adds to `said` what it put aside. Never ends by itself; dropped, it ends within one look.
    pub(in crate::tools::run_command) async fn look_meanwhile(&self, said: &mut String) -> Infallible {
        if self.survey.is_empty() {
            return std::future::pending().await;
        }
        let mut next_look = Instant::now() + LOOK_EVERY;
        let mut rest = LOOK_FOR_SETTINGS_EVERY;
        loop {
            tokio::time::sleep(rest).await;
            let (survey, started) = (Arc::clone(&self.survey), Instant::now());
            let is_full = started >= next_look;
            let looking = move || if is_full { survey.put_aside() } else { survey.put_aside_settings() };
            said.extend(tokio::task::spawn_blocking(looking).await.ok().flatten());
            let wait = started.elapsed() * LEAST_REST;
            match is_full {
                true => next_look = Instant::now() + LOOK_EVERY.max(wait),
                false => rest = LOOK_FOR_SETTINGS_EVERY.max(wait),
            }
        }
    }

    /// What is to be said of hidden files that got in a command's way; `None` where its output does not say that any did. A text that only
    /// has their names says nothing of it. Programs that find a file and cannot read it say so in words of their own, and git takes
    /// it for changed.
    pub(in crate::tools::run_command) fn hidden_in(&self, output: &str) -> Option<String> {
        if self.hidden_here.is_empty() {
            return None;
        }
        let lines: Vec<(String, Telling)> =
            output.lines().filter_map(|line| Some((line.to_lowercase(), Telling::of(line)?))).collect();
        let found = |wanted: Telling| -> Vec<&str> {
            let is_said = |path: &&String| {
                let path = path.to_lowercase();
                lines.iter().any(|(line, telling)| *telling == wanted && names(line, &path))
            };
            self.hidden_here.iter().filter(is_said).take(MOST).map(String::as_str).collect()
        };
        let refused = found(Telling::Refusal);
        if !refused.is_empty() {
            return Some(in_the_way(&refused));
        }
        let shown = found(Telling::Change);
        let is_stopped = lines.iter().any(|(_, telling)| *telling == Telling::Stop);
        if shown.is_empty() && !is_stopped {
            return None;
        }
        let hidden = match shown.is_empty() {
            false => shown,
            true => self.hidden_here.iter().take(MOST).map(String::as_str).collect(),
        };
        Some(format!(
            "\nnote: the sandbox hides {} from commands, since it may hold secrets: where git tracks it, git takes it for changed though \
             it is not, and cannot add, stash or overwrite it. For that call run_command again with {UNSANDBOXED} and the reason; the \
             user is asked, and can open it to commands for good with sandbox_write",
            hidden.join(", ")
        ))
    }

    /// Whether files of the workspace are hidden.
    pub(in crate::tools::run_command) fn hides_here(&self) -> bool {
        !self.hidden_here.is_empty()
    }

    /// Whether a command may change what lies at a path.
    pub(in crate::tools::run_command) fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|folder| path.starts_with(folder))
    }

    /// What is to be said of the hidden files that got in a command's way which said nothing of it; each is told by its path from
    /// its root.
    pub(in crate::tools::run_command) fn hidden_among(
        &self,
        got_in: &dyn Fn(&Path) -> bool,
    ) -> Option<String> {
        let hidden = self.hidden_here.iter().filter(|path| got_in(Path::new(path))).take(MOST);
        let hidden: Vec<&str> = hidden.map(String::as_str).collect();
        (!hidden.is_empty()).then(|| in_the_way(&hidden))
    }

    /// Records that end with NUL, which no path holds: a word, a blank, and what it is about.
    pub(super) fn encode(&self) -> Vec<u8> {
        let Walls { files, namespaces, calls, processes } = self.walls;
        let walls: String = [(files, 'f'), (namespaces, 'n'), (calls, 'c'), (processes, 'p')]
            .into_iter()
            .filter_map(|(is_up, letter)| is_up.then_some(letter))
            .collect();
        let network = match self.network {
            Network::None => "none",
            Network::Loopback => "loopback",
            Network::Open => "open",
        };
        let mut bytes = Vec::new();
        let mut record = |word: &str, value: &OsStr| {
            bytes.extend_from_slice(word.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(value.as_bytes());
            bytes.push(0);
        };
        record(WALLS, OsStr::new(&walls));
        record(NETWORK, OsStr::new(network));
        if self.has_input {
            record(INPUT, OsStr::new(""));
        }
        let all = [&self.writable, &self.hidden, &self.staying, &self.fixed, &self.anchored, &self.made];
        for (word, paths) in PATHS.iter().zip(all) {
            for path in paths {
                record(word, path.as_os_str());
            }
        }
        bytes
    }

    /// The error says which record was not understood; none is left out.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut plan = Self::default();
        let mut has_walls = false;
        for record in bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
            let unknown = || format!("no such wall: {}", String::from_utf8_lossy(record));
            let blank = record.iter().position(|byte| *byte == b' ').ok_or_else(unknown)?;
            let (word, value) = (&record[..blank], &record[blank + 1..]);
            let word = std::str::from_utf8(word).map_err(|_| unknown())?;
            let paths = match word {
                WALLS => {
                    has_walls = true;
                    plan.walls = Walls::decode(value).ok_or_else(unknown)?;
                    continue;
                }
                NETWORK => {
                    plan.network = match value {
                        b"none" => Network::None,
                        b"loopback" => Network::Loopback,
                        b"open" => Network::Open,
                        _ => return Err(unknown()),
                    };
                    continue;
                }
                INPUT => {
                    plan.has_input = true;
                    continue;
                }
                "write" => &mut plan.writable,
                "hide" => &mut plan.hidden,
                "stay" => &mut plan.staying,
                "fix" => &mut plan.fixed,
                "anchor" => &mut plan.anchored,
                "make" => &mut plan.made,
                _ => return Err(unknown()),
            };
            paths.push(PathBuf::from(OsString::from_vec(value.to_owned())));
        }
        if has_walls { Ok(plan) } else { Err("it came without walls".to_owned()) }
    }
}

fn in_the_way(hidden: &[&str]) -> String {
    format!(
        "\nnote: the sandbox hides {} from commands, since it may hold secrets, so this command could not do its work with \
         it. Leave it out, or call run_command again with {UNSANDBOXED} and the reason; the user is asked, and can open it \
         to commands for good with sandbox_write",
        hidden.join(", ")
    )
}

/// What a line says of a file that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    /// It could not be read or written.
    Refusal,
    /// Git takes it for changed.
    Change,
    /// Some file, which need not be named, is changed, and git does not go on for it.
    Stop,
}

/// How programs say the first, in small letters.
const REFUSED: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "device or resource busy",
    "eacces",
    "eperm",
    "ebusy",
    "unsupported file type",
    "can only add regular files",
    "unable to process path",
    "unable to unlink",
    "unable to index",
    "cannot hash",
];
/// How git says the last.
const STOPPED: &[&str] = &[
    "you have unstaged changes",
    "your index contains uncommitted changes",
    "please commit or stash them",
    "your local changes",
    "contains modified or untracked files",
];

impl Telling {
    fn of(line: &str) -> Option<Self> {
        let small = line.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| small.contains(word));
        // In the two columns of a short status, in a long one, and as a list of names.
        let mut columns = line.chars();
        let is_short = matches!(columns.next(), Some(' ' | 'M' | 'A' | 'R' | 'C'))
            && matches!(columns.next(), Some('M' | 'T'))
            && columns.next() == Some(' ');
        let is_changed = is_short
            || ["modified:", "typechange:"].iter().any(|word| small.trim_start().starts_with(word))
            || ["M\t", "T\t"].iter().any(|start| line.starts_with(start));
        match () {
            () if has(REFUSED) => Some(Self::Refusal),
            () if is_changed => Some(Self::Change),
            () if has(STOPPED) => Some(Self::Stop),
            () => None,
        }
    }
}

/// Whether a text has a path as a word of its own or the end of one: `.env` stands in ` M a/.env`, not in `.env.example`.
fn names(text: &str, path: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices(path).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let behind = text.get(at + path.len()..).unwrap_or_default();
        let goes_on = behind.starts_with(is_part)
            || behind.strip_prefix('.').is_some_and(|behind| behind.starts_with(is_part));
        !goes_on && !before.ends_with(is_part) && !before.ends_with('.')
    })
}

impl Walls {
    fn decode(letters: &[u8]) -> Option<Self> {
        let mut walls = Self::default();
        for letter in letters {
            match letter {
                b'f' => walls.files = true,
                b'n' => walls.namespaces = true,
                b'c' => walls.calls = true,
                b'p' => walls.processes = true,
                _ => return None,
            }
        }
        Some(walls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_arrives_as_it_was_sent() {
        let odd = PathBuf::from(OsString::from_vec(b"/a b\n/\xff".to_vec()));
        let plan = Plan {
            has_input: true,
            walls: Walls { files: true, namespaces: false, calls: true, processes: true },
            network: Network::Loopback,
            writable: vec!["/project".into(), odd],
            hidden: vec!["/home/u/.ssh".into()],
            staying: vec!["/project/.env".into()],
            fixed: vec!["/project/.git/config".into()],
            anchored: vec!["/project/.git".into()],
            made: vec!["/project/.git/hooks".into()],
            survey: Arc::default(),
            hidden_here: Vec::new(),
            secrets: None,
        };
        assert_eq!(Plan::decode(&plan.encode()), Ok(plan));
        assert_eq!(Plan::decode(&Plan::default().encode()), Ok(Plan::default()));
    }

    #[test]
    fn a_hidden_file_is_named_by_an_output_where_its_path_is_a_word() {
        for (text, is_named) in [
            (" M .env", true),
            (" M a/.env\n", true),
            ("cannot hash .env.", true),
            ("cat: '.env': Permission denied", true),
            (" M .env.example", false),
            ("x.env", false),
            (".environment", false),
            (".env_2", false),
        ] {
            assert_eq!(names(text, ".env"), is_named, "{text}");
        }
    }

    #[test]
    fn a_hidden_file_is_told_of_where_it_was_in_the_way_and_not_where_it_is_only_named() {
        let plan = Plan { hidden_here: vec![".env".to_owned(), "web/.env".to_owned()], ..Plan::default() };
        let told = |output: &str| {
            let note = plan.hidden_in(output)?;
            assert!(note.contains(UNSANDBOXED), "{note}");
            Some(note.split_once("hides ").unwrap().1.split_once(" from").unwrap().0.to_owned())
        };
        for (output, hidden) in [
            ("error: .env: can only add regular files, symbolic links or git-directories\nfatal: x", ".env"),
            ("error: .env: unsupported file type\nfatal: Unable to process path .env", ".env"),
            ("error: unable to unlink old 'web/.env': Device or resource busy", ".env, web/.env"),
            ("cat: .env: Permission denied", ".env"),
            (" M .env\n M a.txt", ".env"),
            ("\tmodified:   .env\n", ".env"),
            ("M\t.env\n", ".env"),
            ("error: cannot rebase: You have unstaged changes.", ".env, web/.env"),
        ] {
            assert_eq!(told(output).as_deref(), Some(hidden), "{output}");
        }
        for output in [
            "Copy .env.example to .env first.",
            ".\n..\n.env\na.txt",
            "rm '.env'",
            " .env | 1 +",
            "cat: b.txt: Permission denied",
            "?? .env",
        ] {
            assert_eq!(told(output), None, "{output}");
        }
    }

    #[test]
    fn what_is_not_understood_is_never_left_out() {
        for (text, error) in [
            ("", "it came without walls"),
            ("write /project\0", "it came without walls"),
            ("walls fx\0", "no such wall: walls fx"),
            ("walls f\0network some\0", "no such wall: network some"),
            ("walls f\0hold /project\0", "no such wall: hold /project"),
            ("walls\0", "no such wall: walls"),
        ] {
            assert_eq!(Plan::decode(text.as_bytes()), Err(error.to_owned()), "{text:?}");
        }
    }
}
