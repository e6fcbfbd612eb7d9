//! Where the words of commands lead: the places that rules about files are held against.

use std::path::{Path, PathBuf};

use crate::{
    agent::approval::{
        command::Judge,
        git,
        opened::{Opened, file_name},
        places::add_new,
        readers,
        rules::Rule,
        touched::{Touched, heeds_options, touched},
    },
    tools::CommandText,
    workspace::place::{Below, Place},
};

/// A command with the folders in which it may run, and what it touches there.
pub(super) struct Placed<'c> {
    pub(super) command: &'c Opened,
    pub(super) touched: Spots,
    /// How the names end of what it shows below folders; nothing is any name.
    pub(super) only: Vec<String>,
    /// Whether the text has gone to a folder that is not known.
    pub(super) is_lost: bool,
}

/// See [`Judge::may_be_given_option`].
const GIVES_OPTION: &str = "is given the names of files, of which one may be an option";

/// Whether a command may make files or folders, whatever their names are.
fn makes_names(command: &Opened) -> bool {
    let goes = matches!(command.texts().first(), Some(&("cd" | "pushd" | "popd")));
    !command.writes.is_empty() || !goes && readers::as_written(command).is_none()
}

/// Where the words of a command lead.
#[derive(Default)]
pub(super) struct Spots {
    pub(super) reads: Vec<Spot>,
    pub(super) below: Vec<Spot>,
    /// Of which git may show what it keeps, whether it is still there or not.
    pub(super) kept: Vec<Spot>,
    pub(super) writes: Vec<Spot>,
    pub(super) removes: Vec<Spot>,
    pub(super) reads_unseen: Option<&'static str>,
    pub(super) writes_unseen: Option<&'static str>,
}

/// A place as rules are held against it.
pub(super) struct Spot {
    /// From the root that holds it.
    pub(super) relative: Option<PathBuf>,
    pub(super) real: PathBuf,
}

impl Judge<'_> {
    pub(super) fn placed<'c>(&self, command: &CommandText, commands: &'c [Opened]) -> Vec<Placed<'c>> {
        let is_about_paths = self.policy.rules.guarding().any(Rule::is_about_places);
        let mut folders: Vec<PathBuf> = self.ground.folder(command.folder.as_deref()).into_iter().collect();
        let mut is_lost = folders.is_empty();
        let mut placed = Vec::new();
        let (mut feeding, mut may_make) = (None, false);
        for whole in commands {
            let found = if is_about_paths { self.found(whole, feeding, &folders) } else { None };
            for (depth, command) in whole.all().into_iter().enumerate() {
                let (mut spots, mut only) = (Spots::default(), Vec::new());
                match &found {
                    // What these hand to it is known of the first of them.
                    Some((touched, names)) if depth == 0 => {
                        (spots, only) = (self.spots(touched.clone(), &folders), names.clone());
                    }
                    Some(_) => {}
                    None if is_about_paths => {
                        spots = self.spots(touched(command), &folders);
                        only = readers::as_written(command).map(|reading| reading.only).unwrap_or_default();
                    }
                    None => {}
                }
                if is_about_paths && self.may_be_given_option(command, &folders, may_make) {
                    spots.reads_unseen = spots.reads_unseen.or(Some(GIVES_OPTION));
                    spots.writes_unseen = spots.writes_unseen.or(Some(GIVES_OPTION));
                }
                placed.push(Placed { command, touched: spots, only, is_lost });
                // Where the last one of them goes nothing runs.
                if command.texts().first() == Some(&"cd") {
                    match self.follow(&command.words, &folders) {
                        Some(more) => add_new(&mut folders, more),
                        None => is_lost = true,
                    }
                }
            }
            may_make |= whole.all().into_iter().any(makes_names);
            feeding = Some(whole);
        }
        placed
    }

    /// Whether a pattern of a command may give it an option by which it touches more: one of the names that are there, or
    /// of those that the line makes before it.
    fn may_be_given_option(&self, command: &Opened, folders: &[PathBuf], may_make: bool) -> bool {
        let program = command.words.first().map_or("", |word| file_name(&word.text));
        let mut patterns =
            command.words.iter().filter(|word| word.is_glob && word.text.starts_with(['*', '?', '[']));
        let is_option = |name: &String| name.starts_with('-');
        heeds_options(program)
            && patterns.any(|word| {
                may_make
                    || folders.iter().any(|folder| {
                        self.ground.expand(folder, &word.text).is_none_or(|names| names.iter().any(is_option))
                    })
            })
    }

    /// What readers show that `find` runs or hands names to, with how the names of the found files end; `None` where that
    /// is not known.
    fn found(
        &self,
        command: &Opened,
        feeding: Option<&Opened>,
        folders: &[PathBuf],
    ) -> Option<(Touched, Vec<String>)> {
        let handed = || {
            let (found, besides) = readers::reading_found(command, feeding?)?;
            (!self.may_be_split(&found, folders)).then(|| (found, vec![besides]))
        };
        let (found, besides) = readers::reading_each(command).or_else(handed)?;
        let redirects =
            command.all().into_iter().any(|command| !command.reads.is_empty() || !command.writes.is_empty());
        // A link has another name than what it leads to.
        let has_links = |folder: &PathBuf| {
            found.paths.iter().any(|path| {
                let real = self.spot(folder, path).real;
                self.ground.any_below(&real, &|below| real.join(below).is_symlink())
            })
        };
        if redirects || found.below == Below::Linked && folders.iter().any(has_links) {
            return None;
        }
        let reads = besides.into_iter().flat_map(|reading| reading.paths).collect();
        let below = if found.below == Below::None { Vec::new() } else { found.paths };
        Some((Touched { reads, below, ..Touched::default() }, found.only))
    }

    fn spots(&self, touched: Touched, folders: &[PathBuf]) -> Spots {
        let Touched { reads, below, kept, from_top, writes, removes, reads_unseen, writes_unseen } = touched;
        let tops = |folder: &PathBuf| git::tops(self.ground, folder);
        let tops: Vec<PathBuf> =
            if from_top.is_empty() { Vec::new() } else { folders.iter().flat_map(tops).collect() };
        let from_top = from_top.iter().flat_map(|word| tops.iter().map(|top| self.spot(top, word)));
        let spots = |words: &[String]| -> Option<Vec<Spot>> {
            let mut spots = Vec::new();
            for (word, folder) in
                words.iter().flat_map(|word| folders.iter().map(move |folder| (word, folder)))
            {
                spots.push(self.spot(folder, word));
                if word.contains(['*', '?', '[']) {
                    spots
                        .extend(self.ground.expand(folder, word)?.iter().map(|name| self.spot(folder, name)));
                }
            }
            Some(spots)
        };
        const MANY: &str = "names more files than are looked through";
        let (all_reads, all_below) = (spots(&reads), spots(&below));
        let (all_writes, all_removes) = (spots(&writes), spots(&removes));
        let many = |is_whole: bool| (!is_whole).then_some(MANY);
        Spots {
            reads_unseen: reads_unseen.or(many(all_reads.is_some() && all_below.is_some())),
            writes_unseen: writes_unseen.or(many(all_writes.is_some() && all_removes.is_some())),
            reads: all_reads.unwrap_or_default().into_iter().chain(from_top).collect(),
            below: self.with_roots(all_below.unwrap_or_default()),
            kept: self.with_roots(spots(&kept).unwrap_or_default()),
            writes: all_writes.unwrap_or_default(),
            removes: self.with_roots(all_removes.unwrap_or_default()),
        }
    }

    /// With the folders of the workspace that lie below those outside of it.
    fn with_roots(&self, mut spots: Vec<Spot>) -> Vec<Spot> {
        let outside = spots.iter().filter(|spot| spot.relative.is_none());
        let roots: Vec<_> = outside.flat_map(|spot| self.ground.roots_below(&spot.real)).collect();
        spots.extend(roots.into_iter().map(|real| Spot { relative: Some(PathBuf::new()), real }));
        spots
    }

    fn spot(&self, folder: &Path, word: &str) -> Spot {
        match self.ground.place_in(folder, word) {
            Place::Inside { real, relative, .. } => Spot { relative: Some(relative), real },
            Place::Outside { real, .. } => Spot { relative: None, real },
        }
    }
}
