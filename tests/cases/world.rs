//! The folders of one run: the workspace, a second folder beside it, and a home for the product.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// What a path may hold unescaped in a `file:` URI.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

pub(crate) struct World {
    folder: tempfile::TempDir,
    pub workspace: PathBuf,
    /// What is opened: the workspace or a link to it.
    pub opened: PathBuf,
    pub outside: PathBuf,
    pub home: PathBuf,
}

impl World {
    pub(crate) fn new() -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("askls-case-").tempdir().map_err(text)?;
        let base = folder.path().canonicalize().map_err(text)?;
        let [workspace, outside, home] = ["ws", "out", "home"].map(|name| base.join(name));
        for path in [&workspace, &outside, &home] {
            fs::create_dir_all(path).map_err(text)?;
        }
        Ok(Self { folder, opened: workspace.clone(), workspace, outside, home })
    }

    /// Everything of this run lies in it.
    pub(crate) fn base(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap_or_else(|_| self.folder.path().to_owned())
    }

    pub(crate) fn encoded(&self) -> String {
        encoded(&self.workspace)
    }

    /// Writes the files that `given` describes.
    pub(crate) fn furnish(&mut self, given: &Value) -> Result<(), String> {
        for file in given["files"].as_array().into_iter().flatten() {
            write(&self.workspace, file)?;
        }
        for file in given["outside_files"].as_array().into_iter().flatten() {
            write(&self.outside, file)?;
        }
        if let Some(sibling) = given.get("sibling_dir").filter(|sibling| sibling.is_object()) {
            let mut name = self.workspace.clone().into_os_string();
            name.push(sibling["suffix"].as_str().unwrap_or_default());
            let root = PathBuf::from(name);
            fs::create_dir_all(&root).map_err(text)?;
            for file in sibling["files"].as_array().into_iter().flatten() {
                write(&root, file)?;
            }
        }
        if given["workspace_via_symlink"] == true {
            self.opened = self.workspace.with_file_name("link");
            symlink(&self.workspace, &self.opened).map_err(text)?;
        }
        Ok(())
    }

    /// Where `given.workspace_folders` are, or the one folder that is opened.
    pub(crate) fn roots(&self, given: &Value) -> Vec<PathBuf> {
        match given["workspace_folders"].as_array() {
            None => vec![self.opened.clone()],
            Some(folders) => folders
                .iter()
                .filter_map(|folder| {
                    folder.as_str().or_else(|| folder["path"].as_str()).or_else(|| folder["uri"].as_str())
                })
                .map(|folder| self.place(folder))
                .collect(),
        }
    }

    /// From a path as cases write it, relative to the workspace, or a `file:` URI.
    pub(crate) fn place(&self, path: &str) -> PathBuf {
        match path.strip_prefix("file://") {
            Some(encoded) => {
                PathBuf::from(percent_encoding::percent_decode_str(encoded).decode_utf8_lossy().into_owned())
            }
            None => self.workspace.join(path),
        }
    }

    pub(crate) fn uri(&self, path: &str) -> String {
        if path.contains(':') {
            return path.to_owned();
        }
        format!("file://{}", encoded(&self.workspace.join(path)))
    }
}

pub(crate) fn encoded(path: &Path) -> String {
    utf8_percent_encode(&path.to_string_lossy(), PATH).to_string()
}

/// The bytes that a file of a case has; `None` when it gives none.
pub(crate) fn bytes(file: &Value) -> Option<Vec<u8>> {
    if let Some(text) = file["text"].as_str() {
        return Some(text.as_bytes().to_vec());
    }
    if let Some(encoded) = file["b64"].as_str() {
        return STANDARD.decode(encoded).ok();
    }
    let generate = file.get("generate")?;
    let line = generate["line"].as_str()?;
    let count = usize::try_from(generate["count"].as_u64()?).ok()?;
    Some((0..count).map(|i| line.replace("${i}", &i.to_string())).collect::<String>().into_bytes())
}

fn write(root: &Path, file: &Value) -> Result<(), String> {
    let name = file["path"].as_str().ok_or("a file without a path")?;
    let path = root.join(name);
    let fault = |error: io::Error| format!("{name}: {error}");
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(fault)?;
    }
    if let Some(target) = file["symlink"].as_str() {
        return symlink(Path::new(target), &path).map_err(fault);
    }
    if file["fifo"] == true {
        let status = Command::new("mkfifo").arg(&path).status().map_err(fault)?;
        return if status.success() { Ok(()) } else { Err(format!("{name}: mkfifo failed")) };
    }
    if file["dir"] == true {
        return fs::create_dir_all(&path).map_err(fault);
    }
    fs::write(&path, bytes(file).unwrap_or_default()).map_err(fault)?;
    match mode(file) {
        Some(mode) => set_mode(&path, mode).map_err(fault),
        None => Ok(()),
    }
}

/// As `"0755"`, or a number whose decimal digits are the octal ones.
pub(crate) fn mode(file: &Value) -> Option<u32> {
    let mode = file.get("mode")?;
    let digits = mode.as_str().map_or_else(|| mode.to_string(), str::to_owned);
    u32::from_str_radix(digits.trim_start_matches("0o"), 8).ok()
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_target: &Path, _link: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

fn text(error: io::Error) -> String {
    error.to_string()
}
