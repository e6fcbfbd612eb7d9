//! Rules that forbid or ask, held against a command line: against its programs, the files that it touches and the machines
//! that it talks to. Where it is not certain that a rule is about it, the user is asked and told why.

mod spots;

use super::{
    Ground,
    command::{Judge, Text},
    git, network,
    opened::{self, Opened, Tail, may_change},
    pattern::Holds,
    readers,
    rules::{Coverage, Rule},
    scripts, shell,
};
use crate::tools::{CommandText, Effect, Grammar};
use spots::{Placed, Spot};

/// What the rules that forbid and those that ask make of a text.
pub(super) enum Guarded<'r> {
    No,
    Forbidden(&'r Rule),
    Asks {
        /// In words that follow "since".
        why: String,
        certainty: Certainty,
    },
}

/// Whether a rule is about a text for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Sure,
    Unsure,
}

/// How one rule is about a text.
enum About {
    Surely,
    /// Why it is not certain, as a sentence that goes on.
    Perhaps(String),
}

impl Judge<'_> {
    pub(super) fn guarded(&self, command: &CommandText, text: &Text) -> Guarded<'_> {
        let rules = &self.policy.rules;
        if rules.guarding().next().is_none() {
            return Guarded::No;
        }
        let placed = match text {
            Text::Read(commands) => self.placed(command, commands),
            Text::Unread(_) => Vec::new(),
        };
        // What is spelt out in a text that is not understood may run.
        let spelt_out: Vec<Opened> = match (text, command.grammar) {
            (Text::Unread(_), Grammar::Posix) => {
                shell::commands_of_script(&command.text).into_iter().map(opened::open).collect()
            }
            _ => Vec::new(),
        };
        let mut asks = None;
        for (rules, kind) in [(&rules.deny, "deny"), (&rules.ask, "ask")] {
            for rule in rules {
                match self.about(rule, &command.text, text, &placed, &spelt_out) {
                    None => {}
                    Some(About::Surely) if kind == "deny" => return Guarded::Forbidden(rule),
                    // What is certain goes before what is not.
                    Some(About::Surely) if !matches!(asks, Some((_, Certainty::Sure))) => {
                        asks = Some((format!("the rule `{rule}` in ask is about it"), Certainty::Sure));
                    }
                    Some(About::Surely) => {}
                    Some(About::Perhaps(detail)) => {
                        let why = format!(
                            "the rule `{rule}` in {kind} may be about it: {detail}; with a yes it runs all the same"
                        );
                        asks.get_or_insert((why, Certainty::Unsure));
                    }
                }
            }
        }
        asks.map_or(Guarded::No, |(why, certainty)| Guarded::Asks { why, certainty })
    }
}

impl Judge<'_> {
    /// How a rule is about a text; `None` when it is not.
    fn about(
        &self,
        rule: &Rule,
        line: &str,
        text: &Text,
        placed: &[Placed<'_>],
        spelt_out: &[Opened],
    ) -> Option<About> {
        if !rule.is_about_commands() && !rule.is_about_places() && !rule.is_about_network() {
            return None;
        }
        if rule.is_line(line) {
            return Some(About::Surely);
        }
        if let Text::Unread(reason) = text {
            let mut may_run = spelt_out.iter().flat_map(Opened::all);
            if may_run.any(|command| {
                matches!(rule.guard(&command.texts()), Coverage::Words(_))
                    || rule.is_about_network() && matches!(of_machines(rule, command), Some(About::Surely))
            }) {
                return Some(About::Surely);
            }
            // Nobody knows what else it runs.
            return Some(About::Perhaps(format!("it {reason}")));
        }
        let mut perhaps = None;
        let commands: Vec<&Opened> = placed.iter().map(|placed| placed.command).collect();
        if rule.is_about_commands() && scripts::are_written(&commands) {
            perhaps = Some(About::Perhaps("it runs a script that it writes itself".to_owned()));
        }
        for placed in placed {
            let about = if rule.is_about_commands() {
                of_words(rule, placed.command)
            } else if rule.is_about_network() {
                of_machines(rule, placed.command)
            } else {
                of_files(rule, placed, self.ground)
            };
            match about {
                Some(About::Surely) => return about,
                Some(About::Perhaps(_)) => perhaps = perhaps.or(about),
                None => {}
            }
        }
        perhaps
    }
}

fn of_words(rule: &Rule, command: &Opened) -> Option<About> {
    let texts = command.texts();
    let texts = git::spelt_apart(&texts);
    let glob = command.words.iter().position(|word| word.is_glob);
    let coverage = match rule.guard(&texts) {
        // `echo rm` runs nothing of that name.
        Coverage::Scattered if !rule.is_of_program(&texts) && readers::runs_nothing(command) => {
            Coverage::None
        }
        coverage => coverage,
    };
    let detail = match coverage {
        Coverage::Words(_) => return Some(About::Surely),
        Coverage::Scattered => "its words stand in it with others between them".to_owned(),
        Coverage::None => match command.doubt_of_deeds() {
            Some(doubt) if !command.sets_only => format!("it {doubt}"),
            Some(doubt) if sets_another_program(rule, command) => format!("it {doubt}"),
            None | Some(_) if command.tail == Tail::Unknown && rule.begins_with(&texts) => {
                "it gets further words that are not known".to_owned()
            }
            None | Some(_) if sets_another_program(rule, command) => {
                "a variable that it sets may name what it is about".to_owned()
            }
            None | Some(_) if rule.may_be_completed(&command.words) => {
                "values that are not known may complete it".to_owned()
            }
            None | Some(_) if rule.program().is_some_and(|program| readers::may_run(command, program)) => {
                "a text in it may run what it names".to_owned()
            }
            None | Some(_) => {
                let may_complete =
                    glob.and_then(|at| texts.get(..at)).is_some_and(|before| rule.begins_with(before));
                let completed = may_complete.then(|| "the names of files may complete it".to_owned());
                completed.or_else(|| other_name(rule, &texts))?
            }
        },
    };
    Some(About::Perhaps(detail))
}

/// Why a command of git may be what a rule for one of its subcommands is about, though it is called otherwise.
fn other_name(rule: &Rule, texts: &[&str]) -> Option<String> {
    let [program, subcommand, ..] = rule.words()? else { return None };
    let is_of_git = program == "git" && !subcommand.starts_with('-');
    is_of_git.then(|| git::Line::of(texts)?.may_be(subcommand))?
}

/// Whether a variable that a command sets may have the program run that a rule is about.
fn sets_another_program(rule: &Rule, command: &Opened) -> bool {
    let program = rule.program().unwrap_or_default();
    command.sets.iter().any(|assignment| may_change(assignment, program))
}

fn of_machines(rule: &Rule, command: &Opened) -> Option<About> {
    let Some(reach) = network::reach(command) else {
        let doubt = command.doubt_of_deeds().filter(|_| !command.sets_only)?;
        return Some(About::Perhaps(format!("it {doubt}")));
    };
    if rule.covers_effect(Effect::Network) && !reach.is_certain {
        return Some(About::Perhaps("it may talk to another machine".to_owned()));
    }
    if rule.covers_effect(Effect::Network) || reach.hosts.iter().any(|host| rule.covers_host(host)) {
        return Some(About::Surely);
    }
    reach.is_open.then(|| About::Perhaps("its words do not tell to which machines it talks".to_owned()))
}

/// Whether git, which runs in a folder, may show a file that a rule is about: as far as it tells the names.
fn may_git_show(rule: &Rule, command: &Opened, folder: &Spot, ground: &dyn Ground) -> bool {
    let texts = command.texts();
    // An option before the subcommand, or a variable, can lead to another repository.
    let is_here = !command.is_open() && git::set_variable(command).is_none();
    let line = git::Line::of(&texts).filter(|line| is_here && line.is_plain());
    let shown = line.and_then(|line| line.shows());
    let Some(names) = shown.and_then(|git| git.names(ground, &folder.real)) else { return true };
    let depth = folder.relative.as_ref().map(|relative| relative.components().count());
    let root = depth.and_then(|depth| folder.real.ancestors().nth(depth));
    names.iter().any(|name| {
        let relative = root.and_then(|root| name.strip_prefix(root).ok());
        rule.covers_path(Effect::Read, relative, name)
    })
}

fn of_files(rule: &Rule, placed: &Placed<'_>, ground: &dyn Ground) -> Option<About> {
    let Placed { command, touched, only, is_lost } = placed;
    if rule.is_about_editing() {
        let written = touched.writes.iter().chain(&touched.removes);
        if rule.covers_effect(Effect::Edit) {
            let is_kept = |spot: &Spot| !spot.real.starts_with("/dev");
            return written.into_iter().any(is_kept).then_some(About::Surely);
        }
        let covers = |spot: &Spot| rule.covers_path(Effect::Edit, spot.relative.as_deref(), &spot.real);
        let holds = |spot: &Spot| rule.lies_below(spot.relative.as_deref(), &spot.real);
        if written.into_iter().any(covers) {
            return Some(About::Surely);
        }
        match touched.removes.iter().map(holds).max() {
            Some(Holds::Surely) => return Some(About::Surely),
            Some(Holds::Perhaps) if touched.removes.iter().any(|spot| spot.real.is_dir()) => {
                return Some(About::Perhaps("it removes a folder".to_owned()));
            }
            _ => {}
        }
        if let Some(unseen) = touched.writes_unseen {
            return Some(About::Perhaps(format!("it {unseen}")));
        }
    } else {
        let covers = |spot: &Spot| rule.covers_path(Effect::Read, spot.relative.as_deref(), &spot.real);
        if touched.reads.iter().any(covers) {
            return Some(About::Surely);
        }
        let holds = |spot: &Spot| {
            rule.lies_below(spot.relative.as_deref(), &spot.real) != Holds::No
                && ground.any_below(&spot.real, &|below| {
                    let name = below.file_name().unwrap_or_default().to_string_lossy();
                    if !only.is_empty() && !only.iter().any(|end| name.ends_with(end)) {
                        return false;
                    }
                    let relative = spot.relative.as_ref().map(|folder| folder.join(below));
                    rule.covers_path(Effect::Read, relative.as_deref(), &spot.real.join(below))
                })
        };
        let keeps = |spot: &Spot| {
            rule.lies_below(spot.relative.as_deref(), &spot.real) != Holds::No
                && may_git_show(rule, command, spot, ground)
        };
        if touched.below.iter().any(holds) || touched.kept.iter().any(keeps) {
            return Some(About::Perhaps("it shows what lies below a folder".to_owned()));
        }
        if let Some(unseen) = touched.reads_unseen {
            return Some(About::Perhaps(format!("it {unseen}")));
        }
    }
    if *is_lost {
        return Some(About::Perhaps("it goes to a folder that is not known".to_owned()));
    }
    let doubt = command.doubt_of_deeds().filter(|_| !command.sets_only || command.sets_paths())?;
    Some(About::Perhaps(format!("it {doubt}")))
}
