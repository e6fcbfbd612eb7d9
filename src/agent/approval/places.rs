//! Where the words of a command lead, and whether it may go there, read there and write there without a question.

use std::path::{Path, PathBuf};

use super::{
    Approvals,
    command::{Gap, Judge},
    git::{GitShows, Texts, tops},
    ground::Kind,
    opened::Opened,
    readers::{self, Reading},
    shell::Word,
};
use crate::{
    tools::Effect,
    workspace::{
        paths,
        place::{Below, Nature, Place, may_be_secret},
    },
};

/// Folders that one text may go to; more is a script.
const MAX_FOLDERS: usize = 12;

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

    /// Whether these files may be shown without a question, and those below them of whose names one of `only` is the end;
    /// without any all of them.
    pub(super) fn may_read(
        &self,
        paths: &[&str],
        below: Below,
        only: &[String],
        folders: &[PathBuf],
    ) -> Result<(), Gap> {
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
                        if self.shows_secrets(&real, below, only) {
                            return Err(Gap::once(format!("it may show files with secrets below {path}")));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether what lies below a place shows a secret to a command.
    fn shows_secrets(&self, real: &Path, below: Below, only: &[String]) -> bool {
        let is_read = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            only.is_empty() || only.iter().any(|end| name.ends_with(end))
        };
        // Nobody sees in the sandbox what it hides; a link may lead elsewhere.
        let may_show = |path: &Path| {
            let place = real.join(path);
            let is_link = || below == Below::Linked && place.is_symlink();
            is_read(path) && (!self.hides_secrets && may_be_secret(&place) || is_link())
        };
        match below {
            Below::None => false,
            Below::Visible | Below::All | Below::Linked
                if self.hides_secrets && self.ground.shows_unhidden(real, below, &is_read) =>
            {
                true
            }
            Below::Visible | Below::All if self.hides_secrets => false,
            Below::Visible => self.ground.shows_secrets(real, below),
            Below::All | Below::Linked => {
                self.ground.shows_secrets(real, below) && self.ground.any_below(real, &may_show)
            }
        }
    }

    /// Whether a command only reads what `find` before it found, and nothing of that needs a question.
    pub(super) fn may_read_found(
        &self,
        command: &Opened,
        feeding: &Opened,
        folders: &[PathBuf],
    ) -> Result<bool, Gap> {
        let Some((found, besides)) = readers::reading_found(command, feeding) else { return Ok(false) };
        if self.runs_own_program(&[feeding, command]) {
            return Ok(false);
        }
        self.may_show_found(&found, &[besides], folders)?;
        Ok(!self.may_be_split(&found, folders))
    }

    /// Whether `xargs` may take one of the found names for several, or for another.
    pub(super) fn may_be_split(&self, found: &Reading, folders: &[PathBuf]) -> bool {
        let is_split = |path: &Path| path.to_string_lossy().contains([' ', '\t', '\n', '\'', '"', '\\']);
        let may_be_split = |folder: &PathBuf| {
            found.paths.iter().any(|path| match self.ground.place_in(folder, path) {
                Place::Inside { real, .. } => {
                    is_split(Path::new(path)) || self.ground.any_below(&real, &is_split)
                }
                Place::Outside { .. } => true,
            })
        };
        folders.iter().any(may_be_split)
    }

    /// Whether `find` has nothing run but readers of what it finds, and nothing of that needs a question.
    pub(super) fn may_read_each(&self, command: &Opened, folders: &[PathBuf]) -> Result<bool, Gap> {
        let Some((found, besides)) = readers::reading_each(command) else { return Ok(false) };
        if self.runs_own_program(&[command]) {
            return Ok(false);
        }
        self.may_show_found(&found, &besides, folders).map(|()| true)
    }

    fn runs_own_program(&self, commands: &[&Opened]) -> bool {
        commands.iter().flat_map(|command| command.all()).any(|command| self.own_program(command).is_some())
    }

    fn may_show_found(&self, found: &Reading, besides: &[Reading], folders: &[PathBuf]) -> Result<(), Gap> {
        let words = |reading: &Reading| reading.paths.clone();
        let others: Vec<String> = besides.iter().flat_map(words).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        self.may_read(&others, Below::None, &[], folders)?;
        let paths: Vec<&str> = found.paths.iter().map(String::as_str).collect();
        self.may_read(&paths, found.below, &found.only, folders)
    }

    /// Why git may show more than the files that are named to it; `None` where it does not.
    pub(super) fn may_git_show(&self, git: &GitShows, folders: &[PathBuf]) -> Result<Option<String>, Gap> {
        if !git.from_top.is_empty() {
            let tops: Vec<PathBuf> = folders.iter().flat_map(|folder| tops(self.ground, folder)).collect();
            let inside = |top: &PathBuf| matches!(self.ground.place_in(top, "."), Place::Inside { .. });
            let tops: Vec<PathBuf> = tops.into_iter().filter(inside).collect();
            let named: Vec<&str> = git.from_top.iter().map(String::as_str).collect();
            self.may_read(&named, Below::None, &[], &tops)?;
        }
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
        let is_files = !limits.is_empty() && !git.follows && is_all(&limits, |kind| kind == Kind::File);
        // Of these the files that are named limit what is shown.
        let is_files = is_files && (is_of_now || git.is_of_commits());
        if is_files && git.texts == Texts::OfNow {
            return Ok(None);
        }
        let told = |folder: &PathBuf| {
            let names = git.names(self.ground, folder)?;
            Some(names.iter().any(|name| may_be_secret(name)))
        };
        // `None` where git does not tell of each folder.
        let shows_secrets = folders.iter().map(told).try_fold(false, |before, shows| Some(before || shows?));
        // Where it does not, what is a file now was hardly a folder with secrets before.
        if shows_secrets == Some(false) || is_files && shows_secrets.is_none() {
            return Ok(None);
        }
        if git.texts == Texts::OfCommits || !is_of_now {
            return Ok(Some("it may show files with secrets as they were in earlier commits".to_owned()));
        }
        let shows = folders.iter().any(|folder| self.ground.git_may_show_secrets(folder));
        Ok(shows
            .then(|| "git keeps files here that may hold keys or passwords, which it may show".to_owned()))
    }

    /// The folders that `cd` may lead to, in the workspace or not; `None` where they are not known.
    pub(super) fn follow(&self, words: &[Word], folders: &[PathBuf]) -> Option<Vec<PathBuf>> {
        let target = plain_target(words, folders)?;
        let places = folders.iter().map(|folder| {
            let (Place::Inside { real, .. } | Place::Outside { real, .. }) =
                self.ground.place_in(folder, target);
            // A shell remembers by which link it came; what `..` means then is its secret.
            (real == paths::normalized(&folder.join(target))).then_some(real)
        });
        places.collect()
    }

    /// The folders of the workspace that `cd` may lead to.
    pub(super) fn go(&self, words: &[Word], folders: &[PathBuf]) -> Result<Vec<PathBuf>, Gap> {
        let Some(target) = plain_target(words, folders) else {
            return Err(Gap::line("it goes to another folder"));
        };
        let places = folders.iter().map(|folder| match self.ground.place_in(folder, target) {
            // A shell remembers by which link it came; what `..` means then is its secret.
            Place::Inside { real, .. } if real == paths::normalized(&folder.join(target)) => Ok(real),
            Place::Inside { .. } => Err(Gap::line(format!("it goes through a link, {target}"))),
            Place::Outside { .. } => Err(Gap::line(format!("it goes outside the workspace, to {target}"))),
        });
        places.collect()
    }

    /// Whether a command makes folders in the workspace and nothing else: where edits need no question, that needs none.
    pub(super) fn only_makes_folders(&self, texts: &[&str], folders: &[PathBuf]) -> bool {
        let ["mkdir", words @ ..] = texts else { return false };
        let (options, paths): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
        // A pattern behind it would give a name that begins so as an option.
        let may_be_option = |path: &str| path.split('/').any(|part| part.starts_with('-'));
        let is_plain = |path: &&str| {
            !may_be_option(path)
                && folders.iter().all(|folder| {
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
            if !word.is_glob || !word.is_spelt() {
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
                expanded.words.extend(names.into_iter().map(Word::spelt));
            }
        }
        if command.inner_at == command.words.len() {
            expanded.inner_at = expanded.words.len();
        }
        Ok(Some(expanded))
    }
}

/// Adds the folders that are not among them.
pub(super) fn add_new(folders: &mut Vec<PathBuf>, more: Vec<PathBuf>) {
    for folder in more {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
}

/// The folder that `cd` names, if it is one and spelt out.
fn plain_target<'w>(words: &'w [Word], folders: &[PathBuf]) -> Option<&'w str> {
    let [_, target] = words else { return None };
    let is_plain = !target.is_glob && target.is_spelt() && !target.text.starts_with('-');
    (is_plain && folders.len() * 2 <= MAX_FOLDERS).then_some(target.text.as_str())
}
