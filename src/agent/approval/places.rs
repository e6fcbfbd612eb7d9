//! Where the words of a command lead, and whether it may go there, read there and write there without a question.

use std::path::PathBuf;

use super::{
    Approvals,
    command::{Gap, Judge},
    ground::Kind,
    opened::Opened,
    readers::{GitShows, Texts},
    shell::Word,
};
use crate::{
    tools::Effect,
    workspace::{
        paths,
        place::{Below, Nature, Place},
    },
};

/// Folders that one text goes to; more is a script.
const MAX_FOLDERS: usize = 6;

/// Where output goes that no file keeps.
const NOWHERE: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];

impl Judge<'_> {
    /// Whether output may go to a file without a question; what rules forbid is decided before.
    pub(super) fn may_write(&self, target: &Word, folders: &[PathBuf]) -> Result<(), Gap> {
        let target = target.text.as_str();
        if NOWHERE.contains(&target) {
            return Ok(());
        }
        for folder in folders {
            match self.ground.place_in(folder, target) {
                Place::Outside { nature: Nature::Secret, .. }
                | Place::Inside { nature: Nature::Secret, .. } => {
                    return Err(Gap::once(format!(
                        "it writes to {target}, which may hold keys or passwords"
                    )));
                }
                Place::Outside { .. } => {
                    let held = self.held(", where the sandbox lets it change only temporary files");
                    return Err(Gap::line(format!("it writes outside the workspace, to {target}{held}")));
                }
                Place::Inside { nature: Nature::Protected | Nature::RunUnasked, .. } => {
                    return Err(Gap::once(format!("it writes to {target}, by which programs may be run")));
                }
                Place::Inside { nature: Nature::Plain, relative, real } => {
                    let allow = &self.policy.rules.allow;
                    if !allow.iter().any(|rule| rule.covers_path(Effect::Edit, Some(&relative), &real)) {
                        return Err(Gap::line(format!("it writes to {target}")));
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn may_read(&self, paths: &[&str], below: Below, folders: &[PathBuf]) -> Result<(), Gap> {
        for path in paths.iter().filter(|path| !NOWHERE.contains(path)) {
            for folder in folders {
                match self.ground.place_in(folder, path) {
                    Place::Outside { nature: Nature::Secret, .. }
                    | Place::Inside { nature: Nature::Secret, .. } => {
                        let held = self.held("; the sandbox hides it from the command all the same");
                        return Err(Gap::once(format!("{path} may hold keys or passwords{held}")));
                    }
                    Place::Outside { .. } => {
                        return Err(Gap::line(format!("it reads outside the workspace, at {path}")));
                    }
                    Place::Inside { real, .. } => {
                        if self.ground.shows_secrets(&real, below) {
                            return Err(Gap::once(format!("it may show files with secrets below {path}")));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Why git may show more than the files that are named to it; `None` where it does not.
    pub(super) fn may_git_show(&self, git: &GitShows, folders: &[PathBuf]) -> Result<Option<String>, Gap> {
        if git.texts == Texts::None {
            return Ok(None);
        }
        let is_all = |words: &[String], fits: fn(Kind) -> bool| {
            words.iter().all(|word| folders.iter().all(|folder| fits(self.ground.kind(folder, word))))
        };
        // A word before `--` that names a file and a commit as well is refused by git.
        let is_of_now = is_all(&git.operands, |kind| kind != Kind::Nothing);
        let limits: Vec<String> =
            git.limits.iter().chain(git.operands.iter().filter(|_| is_of_now)).cloned().collect();
        if !limits.is_empty() && !git.follows && is_all(&limits, |kind| kind == Kind::File) {
            return Ok(None);
        }
        if git.texts == Texts::OfCommits || !is_of_now {
            return Ok(Some("it may show files with secrets as they were in earlier commits".to_owned()));
        }
        let shows = folders.iter().any(|folder| self.ground.git_may_show_secrets(folder));
        Ok(shows
            .then(|| "git keeps files here that may hold keys or passwords, which it may show".to_owned()))
    }

    /// The folders that `cd` may lead to.
    pub(super) fn go(&self, words: &[Word], folders: &[PathBuf]) -> Result<Vec<PathBuf>, Gap> {
        let [_, target] = words else { return Err(Gap::line("it goes to another folder")) };
        if target.is_glob || target.text.starts_with('-') || folders.len() * 2 > MAX_FOLDERS {
            return Err(Gap::line("it goes to another folder"));
        }
        let places = folders.iter().map(|folder| match self.ground.place_in(folder, &target.text) {
            // A shell remembers by which link it came; what `..` means then is its secret.
            Place::Inside { real, .. } if real == paths::normalized(&folder.join(&target.text)) => Ok(real),
            Place::Inside { .. } => Err(Gap::line(format!("it goes through a link, {}", target.text))),
            Place::Outside { .. } => {
                Err(Gap::line(format!("it goes outside the workspace, to {}", target.text)))
            }
        });
        places.collect()
    }

    /// Whether a command makes folders in the workspace and nothing else: where edits need no question, that needs none.
    pub(super) fn only_makes_folders(&self, texts: &[&str], folders: &[PathBuf]) -> bool {
        let ["mkdir", words @ ..] = texts else { return false };
        let (options, paths): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
        let is_plain = |path: &&str| {
            folders.iter().all(|folder| {
                matches!(self.ground.place_in(folder, path), Place::Inside { nature: Nature::Plain, .. })
            })
        };
        self.policy.approvals >= Approvals::Edits
            && options.iter().all(|option| matches!(*option, "-p" | "-v" | "-pv" | "--parents"))
            && !paths.is_empty()
            && paths.iter().all(is_plain)
    }

    /// A command with the names of files in the place of its patterns; `None` when it has none.
    pub(super) fn expanded(&self, command: &Opened, folders: &[PathBuf]) -> Result<Option<Opened>, Gap> {
        if !command.words.iter().any(|word| word.is_glob) {
            return Ok(None);
        }
        let mut expanded = command.clone();
        expanded.words.clear();
        for (index, word) in command.words.iter().enumerate() {
            if index == command.inner_at {
                expanded.inner_at = expanded.words.len();
            }
            if !word.is_glob {
                expanded.words.push(word.clone());
                continue;
            }
            for folder in folders {
                let Some(names) = self.ground.expand(folder, &word.text) else {
                    return Err(Gap::line(format!(
                        "{} stands for more files than are looked through",
                        word.text
                    )));
                };
                if let Some(name) = names.iter().find(|name| name.starts_with('-')) {
                    return Err(Gap::once(format!("{} would give it {name} as an option", word.text)));
                }
                // Without one that fits the pattern stays as it is.
                let names = if names.is_empty() { vec![word.text.clone()] } else { names };
                expanded.words.extend(names.into_iter().map(|text| Word { text, is_glob: false }));
            }
        }
        if command.inner_at == command.words.len() {
            expanded.inner_at = expanded.words.len();
        }
        Ok(Some(expanded))
    }
}
