//! Walking the files as a turn sees them: ignore rules as git has them, without what the turn has taken away, and with
//! what it and the editor have that is not on disk.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use ignore::{
    DirEntry, WalkBuilder,
    gitignore::{Gitignore, GitignoreBuilder},
};

use super::{
    FileError, FilePath, FileText, Surroundings, TurnFiles, ignore_rules::IgnoreRules, paths,
    search::ListQuery,
};

/// So many entries are looked at, ignored ones aside: some seconds of work in the largest of projects.
const MAX_WALKED: usize = 200_000;

/// One file, directory or buffer on the way.
pub(super) struct Found {
    pub path: FilePath,
    pub is_dir: bool,
    /// A link is shown under its own name, but leads to a file that comes by itself.
    pub is_link: bool,
    /// The text that counts instead of what is on disk.
    pub text: Option<Arc<str>>,
    /// Bytes on disk; 0 for a directory.
    pub disk_size: u64,
}

type Visit<'a> = dyn FnMut(Found) -> ControlFlow<()> + 'a;

/// Whether the walk came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walked {
    Whole,
    /// By the visitor or by the bound on entries.
    Stopped,
}

impl TurnFiles {
    /// Visits what the query asks for, its limit aside, in the order of paths; buffers that are no files come last.
    pub(super) fn walk(&self, query: &ListQuery, visit: &mut Visit<'_>) -> Result<Walked, FileError> {
        let glob = query.glob.as_deref().map(Glob::new).transpose()?;
        let (there, gone) = self.staged_places();
        let mut extra = Extra::new(self, &there);
        let roots = self.workspace().folders();
        let places = match &query.under {
            None => self.outer_roots(),
            Some(under) => match under.disk().filter(|_| !roots.is_empty() || !extra.has_buffer(under)) {
                None => {
                    return match extra.buffers.iter().find(|(path, _)| path == under) {
                        Some((path, text)) => {
                            let found = Found::of(path.clone(), Some(Arc::clone(text)), 0);
                            Ok(if visit(found).is_break() { Walked::Stopped } else { Walked::Whole })
                        }
                        None => Err(FileError::Missing(format!("{under}; its buffer is not open"))),
                    };
                }
                Some(_) if under.as_str().split('/').any(|part| part == ".git") => {
                    return Err(FileError::Other(format!(
                        "what is in {under} is neither listed nor searched"
                    )));
                }
                // Put there since it was looked up.
                Some(disk) if paths::real(disk).is_ok_and(|real| real != disk) => {
                    return Err(FileError::Moved(under.to_string()));
                }
                Some(disk) => {
                    let known = extra.is_at_or_below(disk);
                    if gone.contains(under) || (!known && !disk.exists()) {
                        let missing = FileError::Missing(under.to_string());
                        return Err(self.with_names(missing, under));
                    }
                    extra.buffers.clear();
                    vec![disk.to_owned()]
                }
            },
        };
        let mut walked = 0;
        for place in places {
            let scope = Scope { place: &place, depth: query.depth, glob: glob.as_ref() };
            let mut extra = extra.below(&scope).into_iter().peekable();
            for entry in self.walker(&place, query).filter_map(Result::ok) {
                walked += 1;
                if walked > MAX_WALKED {
                    return Ok(Walked::Stopped);
                }
                let Some(found) = self.found(&entry, &scope) else { continue };
                let disk = entry.path();
                while let Some((_, found)) = extra.next_if(|(path, _)| path.as_path() < disk) {
                    if visit(found).is_break() {
                        return Ok(Walked::Stopped);
                    }
                }
                // What is staged or opened says more than what is on disk.
                let found = extra.next_if(|(path, _)| path == disk).map_or(found, |(_, found)| found);
                if gone.contains(&found.path) || !scope.wants(disk, found.is_dir) {
                    continue;
                }
                if visit(found).is_break() {
                    return Ok(Walked::Stopped);
                }
            }
            for (_, found) in extra {
                if visit(found).is_break() {
                    return Ok(Walked::Stopped);
                }
            }
        }
        for (path, text) in extra.buffers {
            let wanted = glob.as_ref().is_none_or(|glob| glob.matches(Path::new(path.as_str()), false));
            if wanted && visit(Found::of(path, Some(text), 0)).is_break() {
                return Ok(Walked::Stopped);
            }
        }
        Ok(Walked::Whole)
    }

    /// Names of files that there are, for a hint: as many as can be looked through at once.
    pub(super) fn some_files(&self) -> Vec<String> {
        const MAX_NAMES: usize = 10_000;
        let mut names = Vec::new();
        let result = self.walk(&ListQuery::default(), &mut |found| {
            if !found.is_dir {
                names.push(found.path.to_string());
            }
            if names.len() < MAX_NAMES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        result.map_or_else(|_| Vec::new(), |_| names)
    }

    /// The roots that lie in no other root, whose files would come twice.
    fn outer_roots(&self) -> Vec<PathBuf> {
        let mut roots = self.workspace().roots();
        roots.sort_unstable();
        let mut outer: Vec<PathBuf> = Vec::new();
        for root in roots {
            if !outer.iter().any(|other| root.starts_with(other)) {
                outer.push(root);
            }
        }
        outer
    }

    /// What a walked entry is; nothing for what an agent may not reach, and for the place itself if it is a directory.
    fn found(&self, entry: &DirEntry, scope: &Scope<'_>) -> Option<Found> {
        let roots = self.workspace().folders();
        let disk = entry.path();
        let is_link = entry.path_is_symlink();
        let metadata = if is_link { disk.metadata() } else { disk.symlink_metadata() }.ok()?;
        let is_dir = metadata.is_dir();
        if (is_dir && disk == scope.place) || !(is_dir || metadata.is_file()) {
            return None;
        }
        // A place outside was let in with what lies below it, and all of that is called as the place is.
        let is_outside = roots.file(scope.place).is_none();
        let around = |path: &Path| path.starts_with(scope.place).then(|| FilePath::outside(path));
        let shown = |path: &Path| if is_outside { around(path) } else { roots.file(path) };
        let path = if is_link {
            let real = paths::real(disk).ok().filter(|real| shown(real).is_some())?;
            FilePath::file(&real, shown(disk)?.as_str())
        } else {
            shown(disk)?
        };
        let text = if is_dir { None } else { self.workspace().open_document(&path).map(|open| open.text) };
        let disk_size = if is_dir { 0 } else { metadata.len() };
        Some(Found { path, is_dir, is_link, text, disk_size })
    }

    /// Ignore rules hold also where there is no repository. The library's own reading of ignore files is off: it opens
    /// whatever stands under their names.
    fn walker(&self, place: &Path, query: &ListQuery) -> ignore::Walk {
        let rules = (!query.hidden).then(|| IgnoreRules::new(place));
        let roots = self.workspace().folders();
        let is_outside = roots.file(place).is_none();
        let surroundings = self.surroundings().clone();
        let is_withheld = move |path: &Path| Surroundings::are_of_system(path) || surroundings.withhold(path);
        WalkBuilder::new(place)
            .standard_filters(false)
            .follow_links(false)
            .max_depth(query.depth)
            .filter_entry(move |entry| {
                let is_below = entry.depth() > 0;
                let is_hidden = is_below && rules.as_ref().is_some_and(|rules| rules.hide(entry));
                let is_withheld =
                    is_outside && roots.file(entry.path()).is_none() && is_withheld(entry.path());
                entry.file_name() != ".git" && !is_hidden && !is_withheld
            })
            .sort_by_file_name(Ord::cmp)
            .build()
    }
}

impl Found {
    fn of(path: FilePath, text: Option<Arc<str>>, disk_size: u64) -> Self {
        Self { path, is_dir: false, is_link: false, text, disk_size }
    }
}

/// Which part of a walk's entries is asked for.
struct Scope<'a> {
    place: &'a Path,
    depth: Option<usize>,
    glob: Option<&'a Glob>,
}

impl Scope<'_> {
    fn wants(&self, disk: &Path, is_dir: bool) -> bool {
        let Ok(relative) = disk.strip_prefix(self.place) else { return false };
        let depth = relative.components().count();
        if self.depth.is_some_and(|most| depth > most) {
            return false;
        }
        let Some(glob) = self.glob else { return true };
        if depth == 0 {
            let name = disk.file_name().map(Path::new).unwrap_or(disk);
            return glob.matches(name, is_dir);
        }
        glob.matches(relative, is_dir)
    }
}

/// Files and buffers that the disk does not know, or not as they are.
struct Extra {
    files: BTreeMap<PathBuf, (FilePath, Arc<str>)>,
    /// Open buffers that are no files.
    buffers: Vec<(FilePath, Arc<str>)>,
}

impl Extra {
    fn new(turn: &TurnFiles, staged: &BTreeMap<FilePath, FileText>) -> Self {
        let workspace = turn.workspace();
        let roots = workspace.folders();
        let mut files = BTreeMap::new();
        let mut buffers = Vec::new();
        let mut shown: Vec<(FilePath, Arc<str>)> = Vec::new();
        for document in workspace.overlay().documents() {
            if paths::from_uri(&document.uri).is_none() {
                let path = FilePath::buffer(&document.uri);
                let text = staged.get(&path).map_or(document.text, |staged| Arc::clone(&staged.text));
                buffers.push((path, text));
            }
        }
        for disk in workspace.overlay().files() {
            let inside = roots.file(&disk);
            let without_roots = roots.is_empty().then(|| FilePath::file(&disk, &disk.to_string_lossy()));
            let on_disk_too = inside.is_some() && disk.exists();
            let open = workspace.overlay().by_real_path(&disk);
            if let (Some(path), Some(open), false) = (inside.or(without_roots), open, on_disk_too) {
                shown.push((path, open.text));
            }
        }
        shown.extend(staged.iter().map(|(path, staged)| (path.clone(), Arc::clone(&staged.text))));
        for (path, text) in shown {
            match path.disk().map(Path::to_owned) {
                Some(disk) if !roots.is_empty() => {
                    files.insert(disk, (path, text));
                }
                // Without a root no walk comes by the files: they are listed as the buffers are.
                Some(_) => {
                    buffers.retain(|(other, _)| *other != path);
                    buffers.push((path, text));
                }
                None => {}
            }
        }
        Self { files, buffers }
    }

    fn has_buffer(&self, path: &FilePath) -> bool {
        self.buffers.iter().any(|(other, _)| other == path)
    }

    fn is_at_or_below(&self, disk: &Path) -> bool {
        self.files.keys().any(|file| file.starts_with(disk))
    }

    /// Those that the scope wants, and the directories that will be made for them, by path.
    fn below(&self, scope: &Scope<'_>) -> BTreeMap<PathBuf, Found> {
        let mut found = BTreeMap::new();
        for (disk, (path, text)) in self.files.iter().filter(|(disk, _)| disk.starts_with(scope.place)) {
            if scope.wants(disk, false) {
                let size = text.len() as u64;
                found.insert(disk.clone(), Found::of(path.clone(), Some(Arc::clone(text)), size));
            }
            let above = disk.ancestors().skip(1).take_while(|above| *above != scope.place && !above.exists());
            let mut shown = path.as_str();
            for folder in above {
                let Some((parent, _)) = shown.rsplit_once('/') else { break };
                shown = parent;
                if scope.wants(folder, true) {
                    let path = FilePath::file(folder, parent);
                    let dir = Found { path, is_dir: true, is_link: false, text: None, disk_size: 0 };
                    found.insert(folder.to_owned(), dir);
                }
            }
        }
        found
    }
}

/// A pattern as in .gitignore; with `!` before it, everything else.
struct Glob {
    matcher: Gitignore,
    is_inverted: bool,
}

impl Glob {
    fn new(pattern: &str) -> Result<Self, FileError> {
        let pattern = pattern.trim();
        let (is_inverted, pattern) = match pattern.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        // Without a folder of its own: the paths that are matched are relative.
        let mut builder = GitignoreBuilder::new("");
        let error = |error: ignore::Error| FileError::Glob(error.to_string());
        builder.allow_unclosed_class(false).add_line(None, pattern).map_err(error)?;
        let matcher = builder.build().map_err(error)?;
        if matcher.num_ignores() == 0 {
            return Err(FileError::Glob(format!("`{pattern}` matches nothing")));
        }
        Ok(Self { matcher, is_inverted })
    }

    fn matches(&self, relative: &Path, is_dir: bool) -> bool {
        self.matcher.matched_path_or_any_parents(relative, is_dir).is_ignore() != self.is_inverted
    }
}
