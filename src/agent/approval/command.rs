//! Whether a command line goes ahead: every command in it has to be allowed, by a rule or because it only reads.

use std::path::{Path, PathBuf};

use super::{
    ApprovalPolicy, Decision, Grants, Ground,
    destructive::{destroys, is_disk, text_destroys},
    opened::{self, Opened, Tail},
    programs::{has_risky, last_risky, narrow, spelt},
    readers,
    rules::{Coverage, Rule},
    scripts::{self, Forbidden},
    shell::{self, Word},
};
use crate::{
    tools::{CommandText, Effect, Grammar},
    workspace::{
        paths,
        place::{Below, Nature, Place, names_settings},
    },
};

/// Folders that one text goes to; more is a script.
const MAX_FOLDERS: usize = 6;

/// Where output goes that no file keeps.
const NOWHERE: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];

/// What a text would do, taken apart.
enum Text {
    Read(Vec<Opened>),
    /// Why not, in words that follow "it".
    Unread(String),
}

/// Why a command is not covered.
enum Gap {
    /// A rule of its words would cover it.
    Rule(Vec<String>, String),
    Other(String),
}

pub(super) struct Judge<'a> {
    pub(super) policy: &'a ApprovalPolicy,
    pub(super) grants: &'a Grants,
    pub(super) ground: &'a dyn Ground,
    /// Whether the whole line is already granted, or all commands are.
    pub(super) is_granted: bool,
    pub(super) is_allowed: bool,
}

impl Judge<'_> {
    pub(super) fn decide(&self, command: &CommandText) -> Decision {
        let text = match command.grammar {
            Grammar::Posix => match shell::parse(&command.text) {
                Ok(commands) => Text::Read(commands.into_iter().map(opened::open).collect()),
                Err(reason) => Text::Unread(reason),
            },
            Grammar::Unknown => Text::Unread("is for a shell whose language askls does not read".to_owned()),
        };
        if let Some(reason) = refused(&command.text, &text) {
            return Decision::Deny { reason: format!("askls never runs this, since {reason}") };
        }
        let rules = &self.policy.rules;
        if let Some(rule) =
            rules.deny.iter().find(|rule| self.is_about(rule, &command.text, &text) == Some(true))
        {
            return forbidden(rule);
        }
        if let Text::Read(commands) = &text
            && let Some(rule) = self.forbidden_path(command, commands)
        {
            return forbidden(rule);
        }
        if let Text::Read(commands) = &text
            && let Some(Forbidden { rule, script }) =
                scripts::forbidden(commands, &self.folders(command, commands), self.ground, &rules.deny)
        {
            return Decision::Deny {
                reason: format!("the user's rule `{rule}` forbids what is in {script}"),
            };
        }
        if self.is_granted {
            return Decision::Allow;
        }
        if speaks_of_settings(&command.text, &text) {
            return ask("it may change the settings of askls");
        }
        for (rules, kind) in [(&rules.deny, "deny"), (&rules.ask, "ask")] {
            let rule = rules.iter().find(|rule| self.is_about(rule, &command.text, &text).is_some());
            if let Some(rule) = rule {
                return ask(&format!("of the rule `{rule}` in {kind}"));
            }
        }
        let is_spelt = self.allowing().any(|rule| rule.is_line(&command.text));
        if self.is_allowed || is_spelt {
            return Decision::Allow;
        }
        let commands = match &text {
            Text::Read(commands) => commands,
            Text::Unread(reason) => {
                let why = format!("it {reason}");
                return Decision::Ask { why, always: spelt(&command.text) };
            }
        };
        let gaps = self.gaps(command, commands);
        let Some(first) = gaps.first() else { return Decision::Allow };
        let why = match first {
            Gap::Rule(_, why) | Gap::Other(why) => why.clone(),
        };
        let rules = gaps.iter().map(|gap| match gap {
            Gap::Rule(words, _) => Rule::of_command(words),
            Gap::Other(_) => None,
        });
        let mut always: Vec<Rule> = rules.collect::<Option<_>>().unwrap_or_default();
        always.dedup();
        Decision::Ask { why, always }
    }

    fn allowing(&self) -> impl Iterator<Item = &Rule> {
        self.policy.rules.allow.iter().chain(&self.grants.rules)
    }

    /// Whether a rule that forbids or asks is about a text: certainly, perhaps (`Some(false)`), or not.
    fn is_about(&self, rule: &Rule, line: &str, text: &Text) -> Option<bool> {
        if !rule.is_about_commands() {
            return None;
        }
        if rule.is_line(line) {
            return Some(true);
        }
        let commands = match text {
            Text::Read(commands) => commands,
            // Nobody knows what it runs.
            Text::Unread(_) => return Some(false),
        };
        let mut perhaps = None;
        for command in commands.iter().flat_map(Opened::all) {
            match rule.coverage(&command.texts()) {
                Coverage::Words(_) => return Some(true),
                Coverage::Scattered => perhaps = Some(false),
                Coverage::None if command.doubt.is_some() => perhaps = Some(false),
                Coverage::None if command.tail == Tail::Unknown && rule.begins_with(&command.texts()) => {
                    perhaps = Some(false);
                }
                Coverage::None => {}
            }
        }
        perhaps
    }

    /// The rule that forbids a file which a command reads or writes.
    fn forbidden_path(&self, command: &CommandText, commands: &[Opened]) -> Option<&Rule> {
        let folder = self.ground.folder(command.folder.as_deref())?;
        let denied = |effect: Effect, word: &str| match self.ground.place_in(&folder, word) {
            Place::Outside { .. } => None,
            Place::Inside { relative, .. } => {
                self.policy.rules.deny.iter().find(|rule| rule.covers_path(effect, &relative))
            }
        };
        commands.iter().flat_map(Opened::all).find_map(|command| {
            let written = command.writes.iter().find_map(|word| denied(Effect::Edit, &word.text));
            let words = command.words.iter().skip(1).chain(&command.reads);
            written.or_else(|| words.filter_map(|word| denied(Effect::Read, &word.text)).next())
        })
    }

    /// The folders in which its commands may run, as far as they are known.
    fn folders(&self, command: &CommandText, commands: &[Opened]) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self.ground.folder(command.folder.as_deref()).into_iter().collect();
        for command in commands.iter().filter(|command| command.texts().first() == Some(&"cd")) {
            folders.extend(self.go(&command.words, &folders).unwrap_or_default());
        }
        folders
    }

    /// What of the commands is allowed by nothing.
    fn gaps(&self, command: &CommandText, commands: &[Opened]) -> Vec<Gap> {
        let Some(folder) = self.ground.folder(command.folder.as_deref()) else {
            return vec![Gap::Other("it runs in a folder that is not known".to_owned())];
        };
        let mut folders = vec![folder];
        let mut gaps = Vec::new();
        for command in commands {
            self.look(command, &mut folders, &mut gaps);
        }
        gaps
    }

    fn look(&self, command: &Opened, folders: &mut Vec<PathBuf>, gaps: &mut Vec<Gap>) {
        if let Some(doubt) = &command.doubt {
            return gaps.push(Gap::Other(format!("it {doubt}")));
        }
        for target in &command.writes {
            if let Err(why) = self.may_write(target, folders) {
                return gaps.push(Gap::Other(why));
            }
        }
        let reads: Vec<&str> = command.reads.iter().map(|word| word.text.as_str()).collect();
        if let Err(why) = self.may_read(&reads, Below::None, folders) {
            return gaps.push(Gap::Other(why));
        }
        let texts = command.texts();
        let Some(program) = texts.first() else { return };
        if *program == "cd" {
            return match self.go(&command.words, folders) {
                Ok(more) => folders.extend(more),
                Err(why) => gaps.push(Gap::Other(why)),
            };
        }
        if self.is_ruled(command, folders) {
            // What `find` runs is not covered by a rule for `find`.
            if command.inner_at == command.words.len() {
                command.inner.iter().for_each(|inner| self.look(inner, folders, gaps));
            }
            return;
        }
        if !command.inner.is_empty() && command.inner_at < command.words.len() {
            return command.inner.iter().for_each(|inner| self.look(inner, folders, gaps));
        }
        let why = match readers::reading(command) {
            Some(reading) => {
                let paths: Vec<&str> = reading.paths.iter().map(String::as_str).collect();
                let runs_git = || folders.iter().any(|folder| self.ground.git_may_run_programs(folder));
                match self.may_read(&paths, reading.below, folders) {
                    Ok(()) if reading.is_git && runs_git() => {
                        "the repository's own settings name programs that git would run".to_owned()
                    }
                    Ok(()) => return,
                    Err(why) => return gaps.push(Gap::Other(why)),
                }
            }
            None => format!("{} is not known to only read", shown(&texts)),
        };
        gaps.push(match narrow(command) {
            Some(words) => Gap::Rule(words, why),
            None => Gap::Other(why),
        });
    }

    /// Whether a rule allows a command and nothing in the words that the rule leaves open speaks against it.
    fn is_ruled(&self, command: &Opened, folders: &[PathBuf]) -> bool {
        let texts = command.texts();
        let risky = last_risky(&texts);
        self.allowing().any(|rule| {
            let Coverage::Words(covered) = rule.coverage(&texts) else { return false };
            let reaches = command.inner.is_empty()
                || command.inner_at == command.words.len()
                || covered > command.inner_at;
            let open = command.words.get(covered..).unwrap_or_default();
            reaches
                && risky.is_none_or(|risky| risky < covered)
                && (command.tail == Tail::None || !has_risky(texts.first().copied().unwrap_or_default()))
                && open.iter().all(|word| self.is_harmless(&word.text, folders))
        })
    }

    /// Whether a word that a rule leaves open names no file with secrets or with rights, not even behind `=`.
    fn is_harmless(&self, word: &str, folders: &[PathBuf]) -> bool {
        let value = word.split_once('=').map(|(_, value)| value);
        [Some(word), value].into_iter().flatten().all(|word| {
            folders.iter().all(|folder| match self.ground.place_in(folder, word) {
                Place::Outside { is_secret } => !is_secret,
                Place::Inside { nature, .. } => nature == Nature::Plain,
            })
        })
    }

    fn may_write(&self, target: &Word, folders: &[PathBuf]) -> Result<(), String> {
        let target = target.text.as_str();
        if NOWHERE.contains(&target) {
            return Ok(());
        }
        for folder in folders {
            match self.ground.place_in(folder, target) {
                Place::Outside { .. } => return Err(format!("it writes outside the workspace, to {target}")),
                Place::Inside { relative, .. }
                    if self.policy.rules.guarding().any(|rule| rule.covers_path(Effect::Edit, &relative)) =>
                {
                    return Err(format!("a rule is about writing {target}"));
                }
                Place::Inside { nature: Nature::Plain, relative, .. }
                    if self
                        .policy
                        .rules
                        .allow
                        .iter()
                        .any(|rule| rule.covers_path(Effect::Edit, &relative)) => {}
                Place::Inside { .. } => return Err(format!("it writes to {target}")),
            }
        }
        Ok(())
    }

    fn may_read(&self, paths: &[&str], below: Below, folders: &[PathBuf]) -> Result<(), String> {
        for path in paths.iter().filter(|path| !NOWHERE.contains(path)) {
            for folder in folders {
                match self.ground.place_in(folder, path) {
                    Place::Outside { .. } => {
                        return Err(format!("it reads outside the workspace, at {path}"));
                    }
                    Place::Inside { nature: Nature::Secret, .. } => {
                        return Err(format!("{path} may hold keys or passwords"));
                    }
                    Place::Inside { relative, .. }
                        if self
                            .policy
                            .rules
                            .guarding()
                            .any(|rule| rule.covers_path(Effect::Read, &relative)) =>
                    {
                        return Err(format!("a rule is about reading {path}"));
                    }
                    Place::Inside { real, .. } => {
                        let is_ruled =
                            below != Below::None && self.policy.rules.guarding().any(Rule::is_about_reading);
                        if is_ruled || self.ground.shows_secrets(&real, below) {
                            return Err(format!("it may show secrets below {path}"));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The folders that `cd` may lead to.
    fn go(&self, words: &[Word], folders: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
        let [_, target] = words else { return Err("it goes to another folder".to_owned()) };
        if target.is_glob || target.text.starts_with('-') || folders.len() * 2 > MAX_FOLDERS {
            return Err("it goes to another folder".to_owned());
        }
        let places = folders.iter().map(|folder| match self.ground.place_in(folder, &target.text) {
            // A shell remembers by which link it came; what `..` means then is its secret.
            Place::Inside { real, .. } if real == paths::normalized(&folder.join(&target.text)) => Ok(real),
            Place::Inside { .. } => Err(format!("it goes through a link, {}", target.text)),
            Place::Outside { .. } => Err(format!("it goes outside the workspace, to {}", target.text)),
        });
        places.collect()
    }
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

/// Whether a text may be about the files in which the rules stand.
fn speaks_of_settings(line: &str, text: &Text) -> bool {
    let mentions = |text: &str| {
        let text = text.to_lowercase();
        let is_file = text.contains("config.toml") || text.contains("projects.toml");
        text.contains(".askls") || (is_file && text.contains("askls"))
    };
    let words = match text {
        Text::Unread(_) => Vec::new(),
        Text::Read(commands) => commands.iter().flat_map(Opened::all).collect(),
    };
    let names = |word: &Word| mentions(&word.text) || names_settings(Path::new(&word.text));
    mentions(line) || words.iter().any(|command| command.words.iter().chain(&command.writes).any(names))
}

fn shown(texts: &[&str]) -> String {
    texts.first().copied().unwrap_or_default().to_owned()
}

fn ask(why: &str) -> Decision {
    Decision::Ask { why: why.to_owned(), always: Vec::new() }
}

fn forbidden(rule: &Rule) -> Decision {
    Decision::Deny { reason: format!("the user's rule `{rule}` forbids it") }
}
