//! Whether a command line goes ahead: every command in it has to be allowed, by a rule or because it only reads.

mod named;

use std::path::{Path, PathBuf};

use super::{
    ApprovalPolicy, Decision, Grants, Ground,
    destructive::{destroys, is_disk, text_destroys},
    ground::Kind,
    guards::{Certainty, Guarded},
    opened::{self, Opened, Tail},
    places::add_new,
    programs::{last_risky, narrow, spelt},
    readers::{self, Reading},
    rules::{Coverage, Rule},
    scripts::{self, Forbidden},
    shell::{self, Simple},
};
use crate::{
    tools::{CommandText, Grammar},
    workspace::place::{Below, Place},
};

/// What a text would do, taken apart.
pub(super) enum Text {
    Read(Vec<Opened>),
    /// Why not, in words that follow "it".
    Unread(String),
}

/// Why a command is not covered.
pub(super) struct Gap {
    /// In words that follow "since".
    pub(super) why: String,
    pub(super) always: Always,
}

/// What would cover a command from now on.
pub(super) enum Always {
    /// A rule of its words.
    Rule(Box<Rule>),
    /// A rule for the whole line to the letter.
    Line,
    /// Nothing that can be said once and for all.
    Nothing,
}

impl Gap {
    pub(super) fn line(why: impl Into<String>) -> Self {
        Self { why: why.into(), always: Always::Line }
    }

    pub(super) fn once(why: impl Into<String>) -> Self {
        Self { why: why.into(), always: Always::Nothing }
    }
}

pub(super) struct Judge<'a> {
    pub(super) policy: &'a ApprovalPolicy,
    pub(super) grants: &'a Grants,
    pub(super) ground: &'a dyn Ground,
    /// Whether the whole line is already granted, or all commands are.
    pub(super) is_granted: bool,
    pub(super) is_allowed: bool,
    /// Whether the sandbox holds the command even if the user allows it.
    pub(super) is_held: bool,
    /// Whether it hides all files with secrets of the workspace from the command.
    pub(super) hides_secrets: bool,
}

impl Judge<'_> {
    pub(super) fn decide(&self, command: &CommandText) -> Decision {
        let text = match command.grammar {
            Grammar::Posix => match shell::parse(&command.text) {
                Ok(commands) => Text::Read(self.opened(&command.text, commands)),
                Err(reason) => Text::Unread(reason),
            },
            Grammar::Unknown => Text::Unread("is for a shell whose language askls does not read".to_owned()),
        };
        if let Some(reason) = refused(&command.text, &text) {
            return Decision::Deny { reason: format!("askls never runs this, since {reason}") };
        }
        let guarded = self.guarded(command, &text);
        if let Guarded::Forbidden(rule) = guarded {
            return forbidden(rule);
        }
        if let Text::Read(commands) = &text
            && let Some(Forbidden { rule, script }) = scripts::forbidden(
                commands,
                &self.folders(command, commands),
                self.ground,
                &self.policy.rules.deny,
            )
        {
            return Decision::Deny {
                reason: format!("the user's rule `{rule}` forbids what is in {script}"),
            };
        }
        if self.is_granted {
            return Decision::Allow;
        }
        if self.speaks_of_settings(command, &text) {
            return ask("it may show or change the settings of askls");
        }
        // Who has read the whole line and allowed it to the letter knows better than a rule that may be about it.
        let is_spelt = self.allowing().any(|rule| rule.is_line(&command.text));
        if let Guarded::Asks { why, certainty } = guarded {
            match certainty {
                Certainty::Sure => return ask(&why),
                Certainty::Unsure if is_spelt => {}
                Certainty::Unsure => {
                    let always = self.secret_in(command).map_or_else(|| spelt(&command.text), |_| Vec::new());
                    return Decision::Ask { why, always };
                }
            }
        }
        if self.is_allowed || is_spelt {
            return Decision::Allow;
        }
        let gaps = match &text {
            Text::Read(commands) => self.gaps(command, commands),
            Text::Unread(reason) => vec![match self.secret_in(command) {
                Some(secret) => Gap::once(format!("{secret} may hold keys or passwords")),
                None => Gap::line(format!("it {reason}")),
            }],
        };
        let Some(first) = gaps.first() else { return Decision::Allow };
        let why = first.why.clone();
        Decision::Ask { why, always: always(&gaps, &command.text) }
    }

    /// With the home folder in its place.
    fn opened(&self, text: &str, mut commands: Vec<Simple>) -> Vec<Opened> {
        let home = self.ground.home();
        // With another value nobody knows where it leads.
        let is_kept = shell::keeps(text, "HOME");
        if let Some(home) = home.as_deref().and_then(Path::to_str).filter(|_| is_kept) {
            let words = commands.iter_mut().flat_map(|command| &mut command.words);
            words.for_each(|word| word.settle(home));
        }
        commands.into_iter().map(opened::open).collect()
    }

    /// What a yes will not change, where the sandbox is in force.
    pub(super) fn held(&self, words: &'static str) -> &'static str {
        if self.is_held { words } else { "" }
    }

    fn allowing(&self) -> impl Iterator<Item = &Rule> {
        self.policy.rules.allow.iter().chain(&self.grants.rules)
    }

    /// The folders in which its commands may run, as far as they are known.
    fn folders(&self, command: &CommandText, commands: &[Opened]) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self.ground.folder(command.folder.as_deref()).into_iter().collect();
        for command in commands.iter().filter(|command| command.texts().first() == Some(&"cd")) {
            let more = self.go(&command.words, &folders).unwrap_or_default();
            add_new(&mut folders, more);
        }
        folders
    }

    /// What of the commands is allowed by nothing.
    fn gaps(&self, command: &CommandText, commands: &[Opened]) -> Vec<Gap> {
        let Some(folder) = self.ground.folder(command.folder.as_deref()) else {
            return vec![Gap::once("it runs in a folder that is not known")];
        };
        let mut folders = vec![folder];
        let mut gaps = Vec::new();
        let mut before = None;
        for (index, command) in commands.iter().enumerate() {
            let may_read = before.is_some_and(|before| {
                command.doubt.is_none() && matches!(self.may_read_found(command, before, &folders), Ok(true))
            });
            if index + 1 == commands.len() && only_goes(command) {
                break;
            }
            if !may_read || !command.writes.is_empty() || !command.reads.is_empty() {
                self.look(command, &mut folders, &mut gaps);
            }
            before = Some(command);
        }
        gaps
    }

    fn look(&self, command: &Opened, folders: &mut Vec<PathBuf>, gaps: &mut Vec<Gap>) {
        if let Err(gap) = self.try_look(command, folders, gaps) {
            gaps.push(gap);
        }
    }

    fn try_look(&self, written: &Opened, folders: &mut Vec<PathBuf>, gaps: &mut Vec<Gap>) -> Result<(), Gap> {
        if let Some(doubt) = &written.doubt {
            let why = format!("it {doubt}");
            return Err(if written.sets_only { Gap::line(why) } else { Gap::once(why) });
        }
        if written.is_open() && !readers::only_repeats(written) {
            let mut words = written.words.iter().map(|word| word.text.as_str());
            if let Some(word) = words.find(|word| self.names_secret(word, folders)) {
                return Err(Gap::once(format!("{word} may hold keys or passwords")));
            }
            return Err(Gap::line("it uses the values of variables or of other commands"));
        }
        for target in &written.writes {
            self.may_write(target, folders)?;
        }
        let reads: Vec<&str> = written.reads.iter().map(|word| word.text.as_str()).collect();
        self.may_read(&reads, Below::None, &[], folders)?;
        if written.words.first().is_some_and(|program| program.text == "cd") {
            let more = self.go(&written.words, folders)?;
            add_new(folders, more);
            return Ok(());
        }
        let expanded = self.expanded(written, folders)?;
        let command = expanded.as_ref().unwrap_or(written);
        if command.words.is_empty() {
            return Ok(());
        }
        if self.is_ruled(command, folders) {
            // What `find` runs is not covered by a rule for `find`.
            if command.inner_at == command.words.len() {
                command.inner.iter().for_each(|inner| self.look(inner, folders, gaps));
            }
            return Ok(());
        }
        if let Some(program) = self.own_program(command) {
            let rule = expanded.is_none().then(|| narrow(command)).flatten();
            return Err(Gap {
                why: format!(
                    "it runs {program}, a program of this project, which PATH has before all others"
                ),
                always: rule.map_or(Always::Line, |rule| Always::Rule(Box::new(rule))),
            });
        }
        if !command.inner.is_empty() && command.inner_at < command.words.len() {
            command.inner.iter().for_each(|inner| self.look(inner, folders, gaps));
            return Ok(());
        }
        let texts = command.texts();
        let why = match readers::reading(command) {
            Some(reading) => match self.may_show(&reading, folders)? {
                None => return Ok(()),
                Some(why) => why,
            },
            None if self.only_makes_folders(&texts, folders) => return Ok(()),
            None if self.may_read_each(command, folders)? => return Ok(()),
            None => match texts.iter().skip(1).find(|word| self.names_secret(word, folders)) {
                Some(word) => format!("{word} may hold keys or passwords"),
                None => readers::why_unknown(command),
            },
        };
        let rule = expanded.is_none().then(|| narrow(command)).flatten();
        Err(Gap { why, always: rule.map_or(Always::Line, |rule| Always::Rule(Box::new(rule))) })
    }

    /// The program of the workspace that runs in the place of the system's.
    pub(super) fn own_program(&self, command: &Opened) -> Option<String> {
        let program = &command.words.first()?.text;
        (!program.contains('/')).then(|| self.ground.own_program(program)).flatten()
    }

    /// Why a command that only reads may show too much though no file that it names speaks against it.
    fn may_show(&self, reading: &Reading, folders: &[PathBuf]) -> Result<Option<String>, Gap> {
        let paths: Vec<&str> = reading.paths.iter().map(String::as_str).collect();
        self.may_read(&paths, reading.below, &reading.only, folders)?;
        let settings = |folder: &PathBuf| {
            let above = folder
                .ancestors()
                .take_while(|folder| matches!(self.ground.place_in(folder, "."), Place::Inside { .. }));
            let names = above.flat_map(|folder| reading.unless.iter().map(move |name| (folder, name)));
            names.filter(|(folder, name)| self.ground.kind(folder, name) != Kind::Nothing).count() > 0
        };
        if folders.iter().any(settings) {
            return Ok(Some("files of the project choose programs that it would run".to_owned()));
        }
        let Some(git) = &reading.git else { return Ok(None) };
        if folders.iter().any(|folder| self.ground.git_may_run_programs(folder)) {
            return Ok(Some("the repository's own settings name programs that git would run".to_owned()));
        }
        self.may_git_show(git, folders)
    }

    /// Whether a rule allows a command and nothing in the words that the rule leaves open speaks against it.
    fn is_ruled(&self, command: &Opened, folders: &[PathBuf]) -> bool {
        // Nobody knows which files, or options, its further words are.
        if command.tail == Tail::Unknown || command.is_open() {
            return false;
        }
        let texts = command.texts();
        let risky = last_risky(&texts);
        // What git shows with further words may be another thing than what the rule spells.
        let shown = readers::shown_by_git(command);
        let shows_more =
            || shown.as_ref().is_some_and(|git| !matches!(self.may_git_show(git, folders), Ok(None)));
        self.allowing().any(|rule| {
            let Coverage::Words(covered) = rule.coverage(&texts) else { return false };
            if covered < texts.len() && !spells_patches(&texts, covered) && shows_more() {
                return false;
            }
            let reaches = command.inner.is_empty()
                || command.inner_at == command.words.len()
                || covered > command.inner_at;
            let open = command.words.get(covered..).unwrap_or_default();
            reaches
                && risky.is_none_or(|risky| risky < covered)
                && open.iter().all(|word| self.is_harmless(&word.text, folders))
        })
    }
}

/// Whether the words that a rule spells already say that git is to print the texts of files, and of what.
fn spells_patches(texts: &[&str], covered: usize) -> bool {
    let spelt = texts.get(2..covered).unwrap_or_default();
    texts.get(1) == Some(&"log") && spelt.iter().any(|word| matches!(*word, "-p" | "-u" | "--patch"))
}

/// Whether a command goes to another folder and does nothing else: where nothing follows it does not matter where to.
fn only_goes(command: &Opened) -> bool {
    let is_plain = command.doubt.is_none() && command.writes.is_empty() && command.reads.is_empty();
    // What it cannot go to it says, which may be the value of a variable.
    is_plain && !command.is_open() && command.texts().first() == Some(&"cd") && command.words.len() == 2
}

/// Why a text is refused whatever is allowed.
fn refused(line: &str, text: &Text) -> Option<&'static str> {
    match text {
        Text::Unread(_) => text_destroys(line),
        Text::Read(commands) => commands.iter().flat_map(Opened::all).find_map(|command| {
            if command.writes.iter().any(|word| is_disk(&word.text)) {
                return Some("it overwrites a disk");
            }
            let texts = command.texts();
            // What a doubtful command is given may be a command.
            let starts = if command.doubt.is_some() { texts.len() } else { 1 };
            (0..starts).find_map(|start| {
                let words = texts.get(start..).unwrap_or_default();
                destroys(words).or_else(|| {
                    command.doubt.as_ref().and_then(|_| words.first().and_then(|word| text_destroys(word)))
                })
            })
        }),
    }
}

/// The rules that would cover all gaps; none when there is one that no rule can.
fn always(gaps: &[Gap], line: &str) -> Vec<Rule> {
    let mut rules = Vec::new();
    for gap in gaps {
        match &gap.always {
            Always::Nothing => return Vec::new(),
            Always::Rule(rule) if !rules.contains(rule.as_ref()) => rules.push(rule.as_ref().clone()),
            Always::Rule(_) | Always::Line => {}
        }
    }
    let needs_line = gaps.iter().any(|gap| matches!(gap.always, Always::Line));
    if needs_line { spelt(line) } else { rules }
}

fn ask(why: &str) -> Decision {
    Decision::Ask { why: why.to_owned(), always: Vec::new() }
}

fn forbidden(rule: &Rule) -> Decision {
    Decision::Deny { reason: format!("the user's rule `{rule}` forbids it") }
}
