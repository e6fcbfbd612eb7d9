//! The folders of the workspace: from a path as a model writes it to a place inside one of them, or a clear refusal.

use std::path::{Component, Path, PathBuf};

use super::{
    FileError, FilePath, guard,
    overlay::Overlay,
    paths::{self, Style},
    secrets, spelling,
};

/// Where a path leads.
pub(crate) enum Located {
    /// Into one of the roots, or to an open buffer; no file with secrets.
    Inside(FilePath),
    Outside(Outside),
}

/// A file that lies in none of the roots.
pub(crate) struct Outside {
    /// Shown as its absolute path, links followed.
    pub(crate) file: FilePath,
    /// Whether it holds secrets by its name, or by that of a link to it.
    pub(crate) is_secret: bool,
}

/// What a path names before anything is followed.
enum Placed {
    /// An open buffer.
    Open(FilePath),
    /// Absolute.
    Disk(PathBuf),
}

/// The longest text that is looked at as a path, in bytes: in a URI each byte of a path can be written with three.
const MAX_WRITTEN_BYTES: usize = 3 * paths::MAX_PATH_BYTES;

/// The folders, and how each is called when there are several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roots {
    roots: Vec<Root>,
}

#[derive(Clone, Debug)]
struct Root {
    /// Absolute, links resolved.
    path: PathBuf,
    /// Unlike those of the others.
    name: String,
}

impl Roots {
    /// Folders that are the same by another spelling count once.
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        let mut roots: Vec<Root> = Vec::new();
        for path in paths {
            let path = std::path::absolute(&path).unwrap_or(path);
            let path = paths::real(&paths::normalized(&path)).unwrap_or(path);
            if roots.iter().any(|root| root.path == path) {
                continue;
            }
            let base = path
                .file_name()
                .map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned());
            let mut name = base.clone();
            let mut number = 2;
            while roots.iter().any(|root| root.name == name) {
                name = format!("{base}-{number}");
                number += 1;
            }
            roots.push(Root { path, name });
        }
        Self { roots }
    }

    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|root| root.path.clone()).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// A real path inside the roots as the model and the user read it; of roots inside each other the inner one counts.
    pub(crate) fn file(&self, real: &Path) -> Option<FilePath> {
        let (root, rest) = self.containing(real)?;
        let mut parts: Vec<_> =
            rest.components().map(|component| component.as_os_str().to_string_lossy()).collect();
        if self.roots.len() > 1 {
            parts.insert(0, root.name.as_str().into());
        }
        let shown = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
        Some(FilePath::file(real, &shown))
    }

    /// Whether edits of this file could run programs or widen the agent's rights.
    pub(crate) fn is_protected(&self, real: &Path) -> bool {
        guard::is_settings_file(real)
            || guard::is_protected(self.containing(real).map_or(real, |(_, rest)| rest))
    }

    /// See [`super::TurnFiles::resolve`]; `known` tells which files exist beside those on disk.
    pub(crate) fn resolve(
        &self,
        path: &str,
        overlay: &Overlay,
        known: impl Fn(&Path) -> bool,
    ) -> Result<FilePath, FileError> {
        match self.locate(path, overlay, known)? {
            Located::Inside(file) => Ok(file),
            Located::Outside(_) => Err(self.refusal(path)),
        }
    }

    /// Where a path leads, inside or not; the file need not exist.
    pub(crate) fn locate(
        &self,
        path: &str,
        overlay: &Overlay,
        known: impl Fn(&Path) -> bool,
    ) -> Result<Located, FileError> {
        match self.place(path, overlay, known)? {
            Placed::Open(file) => unless_secret(file).map(Located::Inside),
            Placed::Disk(place) => self.at(&place, path.trim(), overlay),
        }
    }

    /// Why a path is refused that leads out of the roots.
    pub(crate) fn refusal(&self, path: &str) -> FileError {
        let path = path.trim().to_owned();
        if self.is_empty() { FileError::NoRoots(path) } else { FileError::Outside(path) }
    }

    /// Whether a path is that of a link itself, and not only leads through one.
    pub(crate) fn names_link(&self, path: &str, overlay: &Overlay, known: impl Fn(&Path) -> bool) -> bool {
        let Ok(Placed::Disk(place)) = self.place(path, overlay, known) else { return false };
        paths::normalized(&place).symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
    }

    /// What a path names, no link followed.
    fn place(
        &self,
        path: &str,
        overlay: &Overlay,
        known: impl Fn(&Path) -> bool,
    ) -> Result<Placed, FileError> {
        let path = path.trim();
        if path.contains('\0') {
            return Err(FileError::Other("a path cannot contain a NUL character".to_owned()));
        }
        if path.len() > MAX_WRITTEN_BYTES {
            return Err(FileError::Other("a path cannot be longer than 4,096 bytes".to_owned()));
        }
        if let Some(scheme) = paths::scheme(path) {
            if scheme.eq_ignore_ascii_case("file") {
                let Some(decoded) = paths::from_uri(path) else {
                    return Err(FileError::Outside(path.to_owned()));
                };
                self.check_spelling(&decoded.to_string_lossy())?;
                return Ok(Placed::Disk(decoded));
            }
            if let Some(document) = overlay.by_uri(path) {
                return Ok(Placed::Open(FilePath::buffer(&document.uri)));
            }
            // No file is ever made under the name of an editor's tab; a name with a colon in it must exist.
            if !self.roots.iter().any(|root| root.path.join(path).symlink_metadata().is_ok()) {
                return Err(FileError::Missing(format!("{path}, and no open buffer has this URI")));
            }
        }
        self.check_spelling(path)?;
        if Path::new(path).is_absolute() {
            return Ok(Placed::Disk(PathBuf::from(path)));
        }
        match self.roots.as_slice() {
            [] => open_file_named(path, overlay).map(Placed::Open),
            [root] => Ok(Placed::Disk(root.path.join(path))),
            several => among(several, path, known).map(Placed::Disk),
        }
    }

    /// Whether a path has one meaning on this system. Decided by its text alone: to look at another machine's share is to
    /// tell that machine who the user is.
    fn check_spelling(&self, path: &str) -> Result<(), FileError> {
        if let Some(flaw) = spelling::flaw(Style::HOST, path) {
            return Err(FileError::Other(format!("{path} cannot be used: {flaw}")));
        }
        let Some(share) = spelling::share(Style::HOST, path) else { return Ok(()) };
        let is_of_root = |root: &Root| {
            spelling::share(Style::HOST, &root.path.to_string_lossy()).is_some_and(|other| other == share)
        };
        if self.roots.iter().any(is_of_root) { Ok(()) } else { Err(self.refusal(path)) }
    }

    fn containing<'a>(&self, real: &'a Path) -> Option<(&Root, &'a Path)> {
        self.roots
            .iter()
            .filter_map(|root| Some((root, real.strip_prefix(&root.path).ok()?)))
            .min_by_key(|(_, rest)| rest.components().count())
    }

    fn at(&self, path: &Path, written: &str, overlay: &Overlay) -> Result<Located, FileError> {
        if path.as_os_str().len() > paths::MAX_PATH_BYTES {
            return Err(FileError::Other("a path cannot be longer than 4,096 bytes".to_owned()));
        }
        let path = paths::normalized(path);
        let real =
            paths::real(&path).map_err(|error| FileError::Io(written.to_owned(), error.to_string()))?;
        // A link's own name counts as well as that of the file behind it.
        let is_secret = (secrets::is_secret(&path) || secrets::is_secret(&real)) && !real.is_dir();
        let open = || FilePath::file(&real, &real.to_string_lossy());
        let is_open = self.is_empty() && overlay.by_real_path(&real).is_some();
        match self.file(&real).or_else(|| is_open.then(open)) {
            Some(file) if is_secret => Err(FileError::Secret(file.to_string())),
            Some(file) => Ok(Located::Inside(file)),
            None => Ok(Located::Outside(Outside { file: FilePath::outside(&real), is_secret })),
        }
    }
}

fn unless_secret(file: FilePath) -> Result<FilePath, FileError> {
    if file.is_secret() { Err(FileError::Secret(file.to_string())) } else { Ok(file) }
}

/// With no root, the open file whose path ends with these parts.
fn open_file_named(path: &str, overlay: &Overlay) -> Result<FilePath, FileError> {
    let mut files: Vec<PathBuf> = overlay.files();
    files.retain(|file| !path.is_empty() && file.ends_with(Path::new(path)));
    match files.as_slice() {
        [] => Err(FileError::NoRoots(if path.is_empty() { "a folder" } else { path }.to_owned())),
        [file] => Ok(FilePath::file(file, &file.to_string_lossy())),
        several => {
            let names: Vec<_> = several.iter().map(|file| file.to_string_lossy()).collect();
            Err(FileError::Ambiguous(format!("{path} could be {}; give the whole path", names.join(" or "))))
        }
    }
}

/// The place that a relative path means with several roots: below the root that it names, else the only one that exists.
fn among(roots: &[Root], path: &str, known: impl Fn(&Path) -> bool) -> Result<PathBuf, FileError> {
    let relative = paths::normalized(Path::new(path));
    let exists = |place: &Path| place.symlink_metadata().is_ok() || known(place);
    let existing: Vec<&Root> = roots.iter().filter(|root| exists(&root.path.join(path))).collect();
    let mut components = relative.components();
    let first = components.next();
    let named = roots.iter().find(
        |root| matches!(first, Some(Component::Normal(name)) if name.to_string_lossy() == root.name.as_str()),
    );
    if let Some(root) =
        named.filter(|root| existing.is_empty() || exists(&root.path.join(components.as_path())))
    {
        return Ok(root.path.join(components.as_path()));
    }
    let spelt = |roots: &[&Root]| {
        let names: Vec<String> =
            roots.iter().map(|root| format!("{}/{}", root.name, relative.display())).collect();
        names.join(" or ")
    };
    match existing.as_slice() {
        [root] if first.is_some() => Ok(root.path.join(path)),
        [] => Err(FileError::Ambiguous(format!(
            "there is no {path} in any of the workspace's folders; begin the path with the folder that it is meant for: {}",
            spelt(&roots.iter().collect::<Vec<_>>())
        ))),
        several => {
            Err(FileError::Ambiguous(format!("{path} could be {}; write one of these", spelt(several))))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        for file in files {
            fs::create_dir_all(path.join(file).parent().unwrap()).unwrap();
            fs::write(path.join(file), "").unwrap();
        }
        (dir, path)
    }

    fn resolve(roots: &[PathBuf], path: &str) -> Result<String, FileError> {
        let roots = Roots::new(roots.to_vec());
        roots.resolve(path, &Overlay::default(), |_| false).map(|file| file.to_string())
    }

    fn one(root: &Path, path: &str) -> Result<String, FileError> {
        resolve(&[root.to_owned()], path)
    }

    // SPEC T10
    #[test]
    fn every_spelling_inside_the_root_is_the_same_place() {
        let (_dir, root) = folder(&["src/a.rs"]);
        let absolute = root.join("src/a.rs");
        for path in ["src/a.rs", "./src//a.rs", "src/../src/a.rs", "gone/../src/a.rs", " src/a.rs\n"] {
            assert_eq!(one(&root, path).as_deref(), Ok("src/a.rs"), "{path:?}");
        }
        assert_eq!(one(&root, absolute.to_str().unwrap()).as_deref(), Ok("src/a.rs"));
        assert_eq!(one(&root, &paths::to_uri(&absolute)).as_deref(), Ok("src/a.rs"));
        assert_eq!(one(&root, "new/deep.rs").as_deref(), Ok("new/deep.rs"));
        assert_eq!(one(&root, ".").as_deref(), Ok("."));
    }

    // SPEC T10
    #[test]
    fn what_leads_outside_is_refused() {
        let (_dir, root) = folder(&["a"]);
        let beside = format!("{}-beside/a", root.display());
        for path in [
            "..",
            "../x",
            "a/../../x",
            "/etc/passwd",
            "file:///etc/passwd",
            "file://server/a",
            beside.as_str(),
        ] {
            assert_eq!(one(&root, path), Err(FileError::Outside(path.to_owned())), "{path}");
        }
    }

    // SPEC T10
    #[cfg(unix)]
    #[test]
    fn links_count_by_where_they_lead() {
        use std::os::unix::fs::symlink;
        let (_dir, root) = folder(&["src/a.rs"]);
        let (_other, outside) = folder(&["secret.txt"]);
        symlink(&outside, root.join("out")).unwrap();
        symlink("src", root.join("inner")).unwrap();
        symlink(outside.join("not-yet.txt"), root.join("dangling")).unwrap();
        let outside = |path: &str| Err(FileError::Outside(path.to_owned()));
        assert_eq!(one(&root, "out/secret.txt"), outside("out/secret.txt"));
        assert_eq!(one(&root, "out/new/leaf.txt"), outside("out/new/leaf.txt"));
        assert_eq!(one(&root, "dangling"), outside("dangling"));
        assert_eq!(one(&root, "inner/a.rs").as_deref(), Ok("src/a.rs"));
        let (_third, parent) = folder(&[]);
        symlink(&root, parent.join("linked-root")).unwrap();
        assert_eq!(resolve(&[parent.join("linked-root")], "src/a.rs").as_deref(), Ok("src/a.rs"));
        let by_link = parent.join("linked-root/src/a.rs");
        assert_eq!(one(&root, by_link.to_str().unwrap()).as_deref(), Ok("src/a.rs"));
    }

    #[test]
    fn with_several_roots_a_path_begins_with_its_root_or_is_the_only_one() {
        let (_dir, parent) = folder(&["app/a.rs", "app/both.rs", "lib/b.rs", "lib/both.rs", "lib/app/x.rs"]);
        let roots = [parent.join("app"), parent.join("lib")];
        assert_eq!(resolve(&roots, "app/a.rs").as_deref(), Ok("app/a.rs"));
        assert_eq!(resolve(&roots, "b.rs").as_deref(), Ok("lib/b.rs"));
        assert_eq!(resolve(&roots, "lib/new.rs").as_deref(), Ok("lib/new.rs"));
        assert_eq!(resolve(&roots, "app/x.rs").as_deref(), Ok("lib/app/x.rs"));
        assert_eq!(resolve(&roots, "lib").as_deref(), Ok("lib"));
        assert_eq!(
            resolve(&roots, "both.rs").unwrap_err().to_string(),
            "both.rs could be app/both.rs or lib/both.rs; write one of these"
        );
        assert_eq!(
            resolve(&roots, "new.rs").unwrap_err().to_string(),
            "there is no new.rs in any of the workspace's folders; begin the path with the folder that it is meant for: app/new.rs or lib/new.rs"
        );
    }

    #[test]
    fn roots_of_one_name_are_told_apart_and_the_same_root_counts_once() {
        let (_dir, parent) = folder(&["x/app/a", "y/app/b"]);
        let roots = [parent.join("x/app"), parent.join("y/app"), parent.join("x/../x/app")];
        assert_eq!(resolve(&roots, "a").as_deref(), Ok("app/a"));
        assert_eq!(resolve(&roots, "b").as_deref(), Ok("app-2/b"));
    }

    #[test]
    fn without_a_root_only_open_buffers_are_found() {
        let (_dir, parent) = folder(&["open.txt", "closed.txt"]);
        let overlay = Overlay::default();
        let open = parent.join("open.txt");
        overlay.open(&paths::to_uri(&open), "text", 1, String::new());
        overlay.open("untitled:1", "text", 1, String::new());
        let resolve =
            |path: &str| Roots::default().resolve(path, &overlay, |_| false).map(|file| file.to_string());
        let absolute = open.to_string_lossy().into_owned();
        assert_eq!(resolve(&absolute), Ok(absolute.clone()));
        assert_eq!(resolve("open.txt"), Ok(absolute));
        assert_eq!(resolve("untitled:1").as_deref(), Ok("untitled:1"));
        assert_eq!(resolve("closed.txt"), Err(FileError::NoRoots("closed.txt".to_owned())));
        assert_eq!(resolve("/etc/passwd"), Err(FileError::NoRoots("/etc/passwd".to_owned())));
    }

    #[test]
    fn a_path_that_no_system_takes_is_refused_without_being_repeated() {
        let (_dir, root) = folder(&["a"]);
        let refused = Err(FileError::Other("a path cannot be longer than 4,096 bytes".to_owned()));
        assert_eq!(one(&root, &"a/".repeat(2_049)), refused);
        assert_eq!(one(&root, &"../".repeat(100_000)), refused);
        assert_eq!(one(&root, &format!("file:///{}", "%61/".repeat(2_100))), refused);
        assert_eq!(one(&root, &format!("untitled:{}", "a".repeat(20_000))), refused);
        assert!(one(&root, &"a/".repeat(1_900)).is_ok());
    }

    #[test]
    fn a_uri_that_is_not_open_is_no_file_name() {
        let (_dir, root) = folder(&["a:b.txt"]);
        assert_eq!(
            one(&root, "untitled:Untitled-9").unwrap_err().to_string(),
            "there is no file untitled:Untitled-9, and no open buffer has this URI"
        );
        assert!(one(&root, "aa:b.txt").is_err());
    }

    #[test]
    fn a_file_with_secrets_is_refused_also_behind_a_link() {
        let (_dir, root) = folder(&[".env", "src/a.rs"]);
        assert_eq!(one(&root, ".env"), Err(FileError::Secret(".env".to_owned())));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(".env", root.join("notes.txt")).unwrap();
            assert_eq!(one(&root, "notes.txt"), Err(FileError::Secret(".env".to_owned())));
        }
    }
}
