//! All that is known of git: what a command line of it shows, writes, talks to and runs. What a subcommand does stands in one
//! table; what it is known to show with which options, beside it. Whatever is known of neither may do anything.

mod commits;
mod configuration;
mod looks;
mod search;
mod shown;
mod subcommands;

use super::{
    opened::{Opened, file_name},
    readers::Reading,
    shell::Word,
};
use shown::everything;
pub(super) use shown::{GitShows, Texts, tops};
use subcommands::{Shows, Subcommand, Talks, Writes};

/// Options before the subcommand that change nothing of what git does.
const HARMLESS_OPTIONS: &[&str] =
    &["--no-pager", "-P", "--no-optional-locks", "--no-advice", "--no-lazy-fetch"];

/// The others that have their value in the next word.
const VALUED_OPTIONS: &[&str] = &[
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--git-dir",
    "--namespace",
    "--super-prefix",
    "--work-tree",
];

/// Options with which git does nothing else but tell about itself.
const TELLING_OPTIONS: &[&str] =
    &["--exec-path", "--help", "--html-path", "--info-path", "--man-path", "--version", "-h", "-v"];

/// Beginnings of settings that change how git prints, or who commits.
const HARMLESS_SETTINGS: &[&str] = &[
    "advice.",
    "color.",
    "commit.gpgsign=",
    "core.pager=cat",
    "core.quotepath=",
    "init.defaultbranch=",
    "user.email=",
    "user.name=",
];

/// Variables by which git neither runs another program nor looks elsewhere.
const HARMLESS_VARIABLES: &[&str] = &[
    "GIT_ADVICE",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_LITERAL_PATHSPECS",
    "GIT_MERGE_AUTOEDIT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
];

/// Other variables by which git finds its settings or another program.
const OTHER_VARIABLES: &[&str] = &["EDITOR", "HOME", "PAGER", "VISUAL", "XDG_CONFIG_HOME"];

/// A command line of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'w> {
    does: Does<'w>,
    /// What follows the subcommand.
    words: &'w [&'w str],
    /// Whether it goes by the repository of its folder and the settings that are there.
    is_plain: bool,
    /// Whether an option may give another meaning to a subcommand that is none of git's own.
    renames: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does<'w> {
    /// It tells about itself.
    Tells,
    Known(&'static Subcommand),
    Unknown(&'w str),
}

/// Whether a command talks to another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Talk {
    No,
    Perhaps,
    Surely,
}

/// What a command of git does to files that its words need not name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Effects {
    pub(super) removes: Vec<String>,
    /// Shown under another name afterwards.
    pub(super) moved: Vec<String>,
    pub(super) writes: Vec<String>,
    pub(super) sweeps: bool,
}

impl<'w> Line<'w> {
    /// `None` for a command of another program.
    pub(super) fn of(texts: &'w [&'w str]) -> Option<Self> {
        let (program, words) = texts.split_first()?;
        let name = file_name(program);
        if let Some(subcommand) = name.strip_prefix("git-") {
            return Some(Self { does: Does::of(subcommand), words, is_plain: true, renames: false });
        }
        (name == "git").then(|| Self::behind(words))
    }

    /// Of the words that follow `git`.
    fn behind(words: &'w [&'w str]) -> Self {
        let mut line = Self { does: Does::Tells, words: &[], is_plain: true, renames: false };
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let (name, value) =
                word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
            if !word.starts_with('-') {
                line.does = Does::of(word);
                line.words = words.get(at + 1..).unwrap_or_default();
                break;
            }
            if TELLING_OPTIONS.contains(word) {
                break;
            }
            at += 1;
            if HARMLESS_OPTIONS.contains(word) {
                continue;
            }
            let value = match value {
                None if VALUED_OPTIONS.contains(&name) => {
                    at += 1;
                    words.get(at - 1).copied().unwrap_or_default()
                }
                value => value.unwrap_or_default(),
            };
            let setting = value.to_ascii_lowercase();
            let is_harmless = || HARMLESS_SETTINGS.iter().any(|begin| setting.starts_with(begin));
            line.is_plain &= name == "-c" && is_harmless();
            line.renames |= matches!(name, "--config-env" | "--exec-path")
                || name == "-c" && (setting.starts_with("alias") || setting.starts_with("include"));
        }
        line
    }

    fn subcommand(&self) -> Option<&'static Subcommand> {
        match self.does {
            Does::Known(subcommand) => Some(subcommand),
            Does::Tells | Does::Unknown(_) => None,
        }
    }

    fn operands(&self) -> impl Iterator<Item = &'w str> {
        self.words.iter().copied().filter(|word| !word.starts_with('-'))
    }

    /// Whether its first operand is one with which it only looks at what git keeps of itself.
    fn only_looks(&self) -> bool {
        let first = self.operands().next();
        self.subcommand().zip(first).is_some_and(|(subcommand, first)| subcommand.looks.contains(&first))
    }

    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Whether it neither shows nor writes files that nobody named, with whichever operands.
    pub(super) fn only_takes(&self) -> bool {
        self.subcommand().is_some_and(|subcommand| {
            !matches!(subcommand.shows, Shows::Prints | Shows::Copies) && subcommand.writes == Writes::Nothing
        })
    }

    /// Whether it shows no more than names, of the files that it is given too.
    pub(super) fn only_names(&self) -> bool {
        looks::shows_names_alone(self.subcommand().map_or("", |known| known.name), self.words)
    }

    /// Whether no word of it may be a program that it runs.
    pub(super) fn runs_nothing(&self) -> bool {
        self.is_plain && self.subcommand().is_some_and(|subcommand| !subcommand.runs)
    }

    /// Whether some of its words are a command that it runs.
    pub(super) fn runs_words(&self) -> bool {
        match self.does {
            Does::Tells => false,
            Does::Unknown(_) => true,
            Does::Known(subcommand) => match subcommand.name {
                "bisect" | "submodule" => self.words.iter().any(|word| matches!(*word, "run" | "foreach")),
                "clone" => has_option(self.words, "u", "bcjo", &["--upload-pack"]),
                "filter-branch" => true,
                _ => false,
            },
        }
    }

    /// The files of which it may show what is in them, besides those that it names; `None` where there are none.
    pub(super) fn shows(&self) -> Option<GitShows> {
        let subcommand = match self.does {
            Does::Tells => return None,
            Does::Unknown(_) => return Some(everything(self.words)),
            Does::Known(subcommand) => subcommand,
        };
        let may_show = match subcommand.shows {
            Shows::Never => return None,
            Shows::With { letters, valued, long } => has_option(self.words, letters, valued, long),
            Shows::Copies => match subcommand.name {
                "clone" => self.operands().next().is_none_or(is_of_this_machine),
                _ => !self.only_looks(),
            },
            Shows::Prints => true,
        };
        if !may_show {
            return None;
        }
        let reading = looks::reading(subcommand.name, self.words).filter(|_| self.is_plain);
        match reading {
            Some(reading) => reading.git.filter(|git| git.texts != Texts::None),
            None => Some(everything(self.words)),
        }
    }

    /// The same as far as it prints them, and not only puts them elsewhere.
    pub(super) fn prints(&self) -> Option<GitShows> {
        let prints = |subcommand: &Subcommand| matches!(subcommand.shows, Shows::Prints | Shows::With { .. });
        self.subcommand().filter(|subcommand| prints(subcommand)).and_then(|_| self.shows())
    }

    /// Files that it shows which are named from the top of the repository, as in `HEAD:a/b`.
    pub(super) fn named_from_top(&self) -> Vec<String> {
        if self.only_takes() {
            return Vec::new();
        }
        self.words.iter().filter_map(|word| shown::blob(word)?.path_from_top()).map(str::to_owned).collect()
    }

    pub(super) fn effects(&self) -> Effects {
        let owned = |words: &mut dyn Iterator<Item = &str>| words.map(str::to_owned).collect::<Vec<_>>();
        let writes = match self.does {
            Does::Tells => Writes::Nothing,
            Does::Unknown(_) => Writes::Sweeps,
            Does::Known(_) if self.only_looks() => Writes::Nothing,
            Does::Known(subcommand) => subcommand.writes,
        };
        let mut effects = Effects::default();
        match writes {
            Writes::Nothing => {}
            // What is made in an operand is another file than that.
            Writes::Operands => {
                let made = self.operands().flat_map(|word| [word.to_owned(), format!("{word}/.git")]);
                effects.writes = made.collect();
            }
            Writes::Named => effects.writes = configuration::files(self.words),
            Writes::Removes => effects.removes = owned(&mut self.operands()),
            Writes::Moves => {
                effects.removes = owned(&mut self.operands());
                effects.moved =
                    effects.removes.split_last().map(|(_, moved)| moved.to_vec()).unwrap_or_default();
            }
            Writes::Sweeps => effects.sweeps = true,
            Writes::SweepsAndRemoves => {
                effects.removes = owned(&mut self.operands());
                effects.sweeps = true;
            }
        }
        effects
    }

    pub(super) fn talks(&self) -> Talk {
        let subcommand = match self.does {
            Does::Tells => return Talk::No,
            Does::Unknown(_) => return Talk::Perhaps,
            Does::Known(subcommand) => subcommand,
        };
        let is_local = || {
            self.is_plain
                && self
                    .operands()
                    .next()
                    .is_some_and(|word| word.starts_with(['.', '/']) && !word.contains("://"))
        };
        let does = match subcommand.talks {
            Talks::Never => false,
            Talks::Always => !is_local(),
            Talks::With(_) if subcommand.name == "remote" => self.remote_talks(),
            Talks::With(words) => self.words.iter().any(|word| {
                let name = word.split_once('=').map_or(*word, |(name, _)| name);
                words.iter().any(|known| name == *known || is_cut_short(name, known))
            }),
        };
        if does { Talk::Surely } else { Talk::No }
    }

    /// `git remote` lists what the settings say; with some words it asks the other machine.
    fn remote_talks(&self) -> bool {
        let mut operands = self.operands();
        let asks = |options: &[&str]| self.words.iter().any(|word| options.contains(word));
        match operands.next() {
            Some("update" | "prune") => true,
            Some("show") => operands.next().is_some() && !asks(&["-n"]),
            Some("set-head") => asks(&["-a", "--auto"]),
            Some("add") => {
                let may_fetch = |word: &&str| {
                    is_cut_short(word, "--fetch")
                        || word.starts_with('-') && !word.starts_with("--") && word.contains('f')
                };
                self.words.iter().any(may_fetch)
            }
            _ => false,
        }
    }

    /// Why it may do what a rule for another subcommand is about, as words that go on.
    pub(super) fn may_be(&self, subcommand: &str) -> Option<String> {
        match self.does {
            Does::Tells => None,
            Does::Unknown(name) => Some(format!(
                "git {name} is no subcommand that askls knows, so it may be another name for that"
            )),
            Does::Known(known) if known.stands_for.contains(&subcommand) => {
                Some(format!("git {} does what git {subcommand} does", known.name))
            }
            Does::Known(_) => self
                .renames
                .then(|| "one of its options may give git other names for what it does".to_owned()),
        }
    }
}

impl<'w> Does<'w> {
    fn of(name: &'w str) -> Self {
        subcommands::known(name).map_or(Self::Unknown(name), Self::Known)
    }
}

/// What a command of git that only reads looks at, by the words that follow `git`; `None` when it is not known to.
pub(super) fn reading(words: &[&str]) -> Option<Reading> {
    let line = Line::behind(words);
    let subcommand = line.subcommand().filter(|_| line.is_plain)?;
    looks::reading(subcommand.name, line.words)
}

/// A variable that is set for a command of git, and by which it may run other programs or look elsewhere.
pub(super) fn set_variable(command: &Opened) -> Option<&str> {
    Line::of(&command.texts())?;
    let changes = |name: &&str| {
        name.starts_with("GIT_") && !HARMLESS_VARIABLES.contains(name) || OTHER_VARIABLES.contains(name)
    };
    // What pages nothing runs nothing.
    let is_quiet = |value: &Word| value.is_spelt() && matches!(value.text.as_str(), "cat" | "" | "true");
    let mut sets = command.sets.iter().filter(|set| !(set.name.ends_with("PAGER") && is_quiet(&set.value)));
    sets.find(|set| changes(&set.name.as_str())).map(|set| set.name.as_str())
}

/// The words of `git-push` as those of `git push`.
pub(super) fn spelt_apart<'w>(texts: &[&'w str]) -> Vec<&'w str> {
    match texts.split_first() {
        Some((program, words)) => match file_name(program).strip_prefix("git-") {
            Some(subcommand) => ["git", subcommand].into_iter().chain(words.iter().copied()).collect(),
            None => texts.to_vec(),
        },
        None => Vec::new(),
    }
}

/// Whether what is cloned may be a repository of this machine.
fn is_of_this_machine(word: &str) -> bool {
    match word.split_once("://") {
        Some((scheme, _)) => scheme == "file",
        None => word.split('/').next().is_none_or(|first| !first.contains(':')),
    }
}

/// Whether a word is a long option, or one that is cut short.
fn is_cut_short(word: &str, option: &str) -> bool {
    word.len() > 2 && word.starts_with("--") && option.starts_with(word)
}

fn has_option(words: &[&str], letters: &str, valued: &str, long: &[&str]) -> bool {
    let is_one = |word: &&str| match word.strip_prefix('-') {
        Some(rest) if rest.starts_with('-') => {
            let name = word.split_once('=').map_or(*word, |(name, _)| name);
            long.iter().any(|long| is_cut_short(name, long))
        }
        Some(rest) => rest.chars().take_while(|c| !valued.contains(*c)).any(|c| letters.contains(c)),
        None => false,
    };
    words.iter().take_while(|word| **word != "--").any(is_one)
}
