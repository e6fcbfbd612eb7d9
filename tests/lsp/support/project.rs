//! A folder of files for one test, written as one string, and a second folder beside it that is none of the agent's business.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What a path may hold unescaped in a `file:` URI.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A workspace on disk that is removed when the test and its clients are done with it.
#[derive(Clone)]
pub struct Project {
    folder: Arc<tempfile::TempDir>,
    root: PathBuf,
}

impl Project {
    /// Reads a text such as
    ///
    /// ```text
    /// //- /src/main.rs
    /// fn main() {}
    /// //- /notes.txt
    /// ```
    ///
    /// Each header starts a file whose text runs to the next header. The root's name holds a space, so that every
    /// test shows that URIs are decoded.
    pub fn new(fixture: &str) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
        let root = folder.path().canonicalize().expect("its real path").join("my project");
        fs::create_dir_all(&root).expect("the root");
        let project = Self { folder, root };
        for (path, text) in files(fixture) {
            project.write(path, text);
        }
        project
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn root_uri(&self) -> String {
        file_uri(&self.root)
    }

    /// The process's home, empty at first.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A folder next to the root.
    pub fn beside(&self, name: &str) -> PathBuf {
        let path = self.root.with_file_name(name);
        fs::create_dir_all(&path).expect("a folder beside the root");
        path
    }

    /// From `/src/main.rs` to its place on disk.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub fn uri(&self, path: &str) -> String {
        file_uri(&self.path(path))
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("its folder");
        fs::write(path, text).expect("a file");
    }

    /// The text on disk.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path} on disk: {error}"))
    }

    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }
}

fn files(fixture: &str) -> Vec<(&str, String)> {
    let mut files: Vec<(&str, String)> = Vec::new();
    for line in fixture.split_inclusive('\n') {
        match (line.strip_prefix("//- "), files.last_mut()) {
            (Some(path), _) => files.push((path.trim_end(), String::new())),
            (None, Some((_, text))) => text.push_str(line),
            (None, None) => assert!(line.trim().is_empty(), "a fixture begins with `//- /path`: {line}"),
        }
    }
    files
}

pub fn file_uri(path: &Path) -> String {
    format!("file://{}", utf8_percent_encode(path.to_str().expect("a path in UTF-8"), PATH))
}

/// The place on disk that a `file:` URI means; `None` for other schemes.
pub fn uri_path(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    Some(percent_decode_str(path).decode_utf8().ok()?.into_owned().into())
}
