//! A project on disk for the tests of this folder.

use std::{fs, path::PathBuf, sync::Arc};

use super::{FileError, FilePath, StagedChange, TurnFiles, Workspace, paths};

pub(super) struct Project {
    _dir: tempfile::TempDir,
    pub root: PathBuf,
    pub workspace: Arc<Workspace>,
    pub files: TurnFiles,
}

impl Project {
    /// One folder with these files; a name that ends with `/` is a directory.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        let workspace = Arc::new(Workspace::new(vec![root.clone()]));
        let project = Self { _dir: dir, root, files: TurnFiles::new(Arc::clone(&workspace)), workspace };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let place = self.root.join(path);
        if path.ends_with('/') {
            fs::create_dir_all(place).unwrap();
            return;
        }
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    pub(super) fn path(&self, path: &str) -> FilePath {
        self.files.resolve(path).unwrap()
    }

    pub(super) fn open(&self, path: &str, version: i32, text: &str) {
        let uri = paths::to_uri(&self.root.join(path));
        self.workspace.overlay().open(&uri, "text", version, text.to_owned());
    }

    pub(super) fn close(&self, path: &str) {
        self.workspace.overlay().close(&paths::to_uri(&self.root.join(path)));
    }

    /// As `read_file` reads a whole file.
    pub(super) fn read(&self, path: &str) -> Result<String, FileError> {
        let path = self.files.resolve(path)?;
        let text = self.files.read(&path)?.text;
        self.files.show(&path, &text, std::slice::from_ref(&(0..usize::MAX)));
        Ok(text.to_string())
    }

    /// As `edit_file` edits: made of what the file says now. What there is not is created.
    pub(super) fn stage(&self, path: &str, text: &str) -> Result<(), FileError> {
        let path = self.files.resolve(path)?;
        let change = match self.files.read(&path) {
            Ok(before) => StagedChange::Edit { path, before: before.text, after: text.to_owned() },
            Err(_) => StagedChange::Write { path, text: text.to_owned() },
        };
        self.files.stage_all(vec![change])
    }

    /// As `write_file` writes: whole, whatever the file says.
    pub(super) fn write_whole(&self, path: &str, text: &str) -> Result<(), FileError> {
        let path = self.files.resolve(path)?;
        self.files.stage_all(vec![StagedChange::Write { path, text: text.to_owned() }])
    }

    pub(super) fn delete(&self, path: &str) -> Result<(), FileError> {
        self.files.stage_all(vec![StagedChange::Delete { path: self.files.resolve(path)? }])
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> Result<(), FileError> {
        let (from, to) = (self.files.resolve(from)?, self.files.resolve(to)?);
        self.files.stage_all(vec![StagedChange::Move { from, to }])
    }

    /// Staged edits as short lines: `create b`, `edit a`, `delete c`, `move d -> e`, with ` = text` behind those that
    /// leave one.
    pub(super) fn staged(&self) -> String {
        let mut out = String::new();
        for edit in self.files.proposal().files {
            let what = match (&edit.moved_from, &edit.before, &edit.after) {
                (Some(from), _, _) => format!("move {from} -> {}", edit.path),
                (None, None, _) => format!("create {}", edit.path),
                (None, Some(_), None) => format!("delete {}", edit.path),
                (None, Some(_), Some(_)) => format!("edit {}", edit.path),
            };
            let after = edit.after.map(|after| format!(" = {after:?}")).unwrap_or_default();
            out.push_str(&format!("{what}{after}\n"));
        }
        out
    }

    /// Every file on disk with its text, sorted.
    pub(super) fn disk(&self) -> String {
        let mut out = String::new();
        for entry in ignore::WalkBuilder::new(&self.root)
            .standard_filters(false)
            .sort_by_file_name(Ord::cmp)
            .build()
            .filter_map(Result::ok)
        {
            let name = entry.path().strip_prefix(&self.root).unwrap().display();
            match fs::read(entry.path()) {
                Ok(bytes) => out.push_str(&format!("{name} = {:?}\n", String::from_utf8_lossy(&bytes))),
                Err(_) if entry.depth() > 0 => out.push_str(&format!("{name}/\n")),
                Err(_) => {}
            }
        }
        out
    }
}
