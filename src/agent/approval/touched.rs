//! What files a command touches besides those that it only names: for rules about paths. Known programs are told apart by
//! tables; what an unknown one does (a script, a build) cannot be seen here.

mod programs;

use super::{
    git,
    opened::{Opened, Tail, file_name},
    options::{self, Does},
    readers,
};
use crate::workspace::place::Below;
use programs::{EDITORS, NOT_READING, READING_BELOW, SEARCHERS, SWEEPERS, WRITERS, Writes};

/// What a command touches, by its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Touched {
    /// Files that it may show.
    pub(super) reads: Vec<String>,
    /// Folders of which it shows what lies below.
    pub(super) below: Vec<String>,
    /// Folders of which git may show what it keeps.
    pub(super) kept: Vec<String>,
    /// Files that git may show, from the top of its repository.
    pub(super) from_top: Vec<String>,
    pub(super) writes: Vec<String>,
    /// Gone afterwards, with what lies below.
    pub(super) removes: Vec<String>,
    /// Why it may show files that its words do not tell, in words that follow "it".
    pub(super) reads_unseen: Option<&'static str>,
    /// The same for what it may write.
    pub(super) writes_unseen: Option<&'static str>,
}

pub(super) fn touched(command: &Opened) -> Touched {
    let text = |words: &[super::shell::Word]| words.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
    let mut touched =
        Touched { reads: text(&command.reads), writes: text(&command.writes), ..Touched::default() };
    let texts = command.texts();
    let Some((program, words)) = texts.split_first() else { return touched };
    let name = file_name(program);
    let line = git::Line::of(&texts);
    // What a command runs has its own words.
    let words = words.get(..command.inner_at.saturating_sub(1)).unwrap_or(words);
    if !NOT_READING.contains(&name) && !line.is_some_and(|line| line.only_names()) {
        touched.reads.extend(words.iter().flat_map(|word| named(word)));
    }
    let operands: Vec<&str> = words.iter().filter(|word| !word.starts_with('-')).copied().collect();
    if READING_BELOW.iter().any(|(reader, letters, long)| *reader == name && has(words, letters, long)) {
        match readers::as_written(command).filter(|reading| reading.below != Below::None) {
            Some(reading) => touched.below.extend(reading.paths),
            None => {
                // A pattern that is also a folder counts as one: a rule that forbids shall hold.
                touched.below.extend(operands.iter().map(|word| (*word).to_owned()));
                if operands.len() < 2 || SEARCHERS.contains(&name) && without_values(words) < 2 {
                    touched.below.push(".".to_owned());
                }
            }
        }
    }
    if let Some(line) = line {
        touched.git(&line);
    }
    if name == "find" && words.contains(&"-delete") {
        touched
            .removes
            .extend(words.iter().take_while(|word| !word.starts_with('-')).map(|word| (*word).to_owned()));
    }
    if name == "dd" {
        touched.writes.extend(words.iter().filter_map(|word| word.strip_prefix("of=")).map(str::to_owned));
    }
    touched.write(name, &operands, words);
    let named = options::values(name, words, Does::Writes);
    if options::saves_here(name, words) {
        let saved = saved_names(&operands);
        // One of the options may name the folder.
        let within = named.iter().flat_map(|folder| saved.iter().map(move |name| format!("{folder}/{name}")));
        touched.writes.extend(within.collect::<Vec<_>>());
        touched.writes.extend(saved);
    }
    touched.writes.extend(named);
    if name == "sed" {
        touched.writes.extend(readers::written_by_sed(words));
    }
    if SWEEPERS.contains(&name) && only_packs(name, words) {
        // The archive is one of them.
        touched.writes.extend(words.iter().flat_map(|word| packed_into(word)));
    } else if SWEEPERS.contains(&name) {
        touched.writes_unseen = Some("may write any file of the project");
    }
    let values = command.words.iter().skip(1).any(|word| !word.is_spelt());
    if values {
        let unseen = Some("uses values that are not known");
        let is_plain_git = line.is_some_and(|line| line.only_takes());
        if !NOT_READING.contains(&name) && command.inner.is_empty() && !is_plain_git {
            touched.reads_unseen = unseen;
        }
        let writes =
            writer(name).is_some() || is_editor(name, words) || options::may_write(name) && !is_plain_git;
        touched.writes_unseen = touched.writes_unseen.or(unseen.filter(|_| writes));
    }
    if command.tail == Tail::Unknown {
        let unseen = Some("touches files that are not named in it");
        if !NOT_READING.contains(&name) && command.inner.is_empty() {
            touched.reads_unseen = unseen;
        }
        let writes = !touched.writes.is_empty() || writer(name).is_some() || is_editor(name, words);
        touched.writes_unseen = touched.writes_unseen.or(unseen.filter(|_| writes));
    }
    if git::set_variable(command).is_some() {
        let unseen = Some("sets a variable by which git may run another program or look elsewhere");
        touched.reads_unseen = touched.reads_unseen.or(unseen);
        touched.writes_unseen = touched.writes_unseen.or(unseen);
    }
    touched
}

/// Whether an option may have a program read or write more than its words name.
pub(super) fn heeds_options(program: &str) -> bool {
    READING_BELOW.iter().any(|(reader, ..)| *reader == program)
        || options::may_write(program)
        || EDITORS.iter().any(|(editor, ..)| *editor == program)
        || matches!(program, "sort" | "wc" | "du")
}

/// How many words are no options, and no value of one if each takes what follows it.
fn without_values(words: &[&str]) -> usize {
    let before = std::iter::once(&"").chain(words);
    words
        .iter()
        .zip(before)
        .filter(|(word, before)| !word.starts_with('-') && !before.starts_with('-'))
        .count()
}

/// Whether a packer only reads files and writes its archive, which is among its words, or lists one.
fn only_packs(name: &str, words: &[&str]) -> bool {
    let Some(first) = words.first() else { return false };
    let letters =
        |word: &str| word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).map(str::to_owned);
    match name {
        "tar" | "bsdtar" => {
            let bundled = if first.starts_with('-') { letters(first) } else { Some((*first).to_owned()) };
            let does = |letter: char, long: &[&str]| {
                bundled.as_ref().is_some_and(|letters| letters.contains(letter))
                    || words.iter().any(|word| {
                        long.contains(word) || letters(word).is_some_and(|rest| rest.starts_with(letter))
                    })
            };
            let may_unpack = words.iter().any(|word| {
                matches!(*word, "--extract" | "--get") || letters(word).is_some_and(|rest| rest.contains('x'))
            }) || bundled.as_ref().is_some_and(|letters| letters.contains('x'));
            !may_unpack && (does('c', &["--create"]) || does('t', &["--list"]) || does('r', &["--append"]))
        }
        "7z" => matches!(*first, "a" | "l" | "t"),
        "unzip" => matches!(*first, "-l" | "-t" | "-p" | "-Z"),
        _ => false,
    }
}

/// What may be the archive that a packer writes.
fn packed_into(word: &str) -> Vec<String> {
    const ENDINGS: &[&str] = &[".7z", ".bz2", ".gz", ".tar", ".tgz", ".txz", ".xz", ".zip", ".zst"];
    named(word).into_iter().filter(|word| ENDINGS.iter().any(|ending| word.ends_with(ending))).collect()
}

/// The files in which what is fetched is kept, by the last parts of addresses.
fn saved_names(operands: &[&str]) -> Vec<String> {
    let last = |address: &&str| {
        let address = address.split(['?', '#']).next()?;
        Some(file_name(address.trim_end_matches('/')).to_owned())
    };
    operands.iter().filter_map(last).filter(|name| !name.is_empty()).collect()
}

fn writer(name: &str) -> Option<Writes> {
    WRITERS.iter().find(|(writer, _)| *writer == name).map(|(_, writes)| *writes)
}

fn is_editor(name: &str, words: &[&str]) -> bool {
    EDITORS.iter().any(|(editor, letters, valued, long)| {
        let is_one = |word: &&str| match word.strip_prefix('-') {
            Some(rest) if rest.starts_with('-') => {
                let written = word.split('=').next().unwrap_or(word);
                long.iter().any(|long| written.len() > 2 && long.starts_with(written))
            }
            // What follows the value of a letter is part of it.
            Some(rest) => {
                let at = rest.find(|letter| letters.contains(letter) || valued.contains(letter));
                at.and_then(|at| rest.get(at..)).is_some_and(|rest| rest.starts_with(|c| letters.contains(c)))
            }
            None => false,
        };
        *editor == name && (letters.is_empty() && long.is_empty() || words.iter().any(is_one))
    })
}

/// Whether one of the options is among the words; without any there is always one.
fn has(words: &[&str], letters: &str, long: &[&str]) -> bool {
    letters.is_empty()
        || words.iter().any(|word| match word.strip_prefix('-') {
            Some(rest) if rest.starts_with('-') => {
                long.iter().any(|long| word.len() > 3 && long.starts_with(*word))
            }
            Some(rest) => rest.contains(|letter| letters.contains(letter)),
            None => false,
        })
}

/// The files that a word may mean: the word, and what an option, an assignment or a mark in it is followed by.
fn named(word: &str) -> Vec<String> {
    let mut named = vec![word.to_owned()];
    named.extend(
        word.match_indices(['=', ':', '@', ',']).filter_map(|(at, _)| word.get(at + 1..)).map(str::to_owned),
    );
    if word.starts_with('-') && !word.starts_with("--") {
        named.extend(word.get(2..).map(str::to_owned));
    }
    named.retain(|path| !path.is_empty());
    named
}

impl Touched {
    fn write(&mut self, name: &str, operands: &[&str], words: &[&str]) {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        if is_editor(name, words) {
            self.writes.extend(owned(operands));
            // `sort -oFILE`
            self.writes.extend(words.iter().flat_map(|word| named(word)).filter(|_| name == "sort"));
        }
        if name == "ar" && words.first().is_some_and(|letters| letters.contains(['r', 'q', 'd', 'm', 's'])) {
            self.writes.extend(owned(words.get(1..).unwrap_or_default()));
        }
        let Some(writes) = writer(name) else { return };
        match writes {
            Writes::All => self.writes.extend(owned(operands)),
            Writes::Within => {
                self.writes.extend(operands.iter().map(|word| format!("{word}/tmp")));
                self.writes.extend(owned(operands));
            }
            Writes::Second => {
                const VALUED: &[&str] = &["-c", "-f", "-g", "-l", "-o", "-s", "-w"];
                let is_value = |at: usize| {
                    at.checked_sub(1).and_then(|at| words.get(at)).is_some_and(|word| VALUED.contains(word))
                };
                let files =
                    words.iter().enumerate().filter(|(at, word)| !word.starts_with('-') && !is_value(*at));
                self.writes.extend(files.skip(1).map(|(_, word)| (*word).to_owned()));
            }
            Writes::Removed => self.removes.extend(owned(operands)),
            Writes::Last | Writes::Moved => {
                let target = words.iter().position(|word| *word == "-t" || word.starts_with("--t"));
                let target = target.map(|at| {
                    let word = words.get(at).copied().unwrap_or_default();
                    word.split_once('=')
                        .map_or_else(|| words.get(at + 1).copied().unwrap_or_default(), |(_, value)| value)
                });
                let sources = match (target, operands) {
                    (None, [sources @ .., _]) => sources,
                    (_, operands) => operands,
                };
                // What is alone is a source of `ln`, which writes beside it.
                let target =
                    target.or(operands.last().copied().filter(|_| operands.len() > 1)).unwrap_or(".");
                if matches!(name, "ln" | "mv") {
                    // What lies below is shown under another name from then on.
                    self.below.extend(owned(sources));
                }
                if name == "ln" {
                    // What a link says counts from where it lies.
                    let beside = target.rsplit_once('/').map(|(folder, _)| folder);
                    let from = beside.into_iter().chain([target]);
                    let named: Vec<_> = from
                        .flat_map(|folder| sources.iter().map(move |source| format!("{folder}/{source}")))
                        .collect();
                    self.reads.extend(named.iter().cloned());
                    self.below.extend(named);
                }
                self.writes.push(target.to_owned());
                let inside = sources
                    .iter()
                    .map(|source| format!("{target}/{}", file_name(source.trim_end_matches('/'))));
                self.writes.extend(inside);
                if writes == Writes::Moved {
                    self.removes.extend(owned(sources));
                }
            }
        }
    }

    fn git(&mut self, line: &git::Line<'_>) {
        let git::Effects { removes, moved, writes, sweeps } = line.effects();
        self.removes.extend(removes);
        self.writes.extend(writes);
        if sweeps {
            self.writes_unseen = Some("may write any file of the project");
        }
        // What lies below is shown under another name from then on.
        self.below.extend(moved);
        if line.shows().is_some() {
            self.kept.push(".".to_owned());
        }
        self.from_top = line.named_from_top();
    }
}
