//! Files for texts that an editor shows but cannot be handed: in the cache folder, for the user's eyes only.

use std::{
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Files that are kept; older ones are deleted as new ones come.
const MAX_FILES: usize = 50;

/// Writes a new file into `folder`, which is made if need be, and returns its path. Its name ends with `name`.
pub fn write(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    remove_old(folder)?;
    let mut file = tempfile::Builder::new().prefix("").suffix(&format!("-{name}")).tempfile_in(folder)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    let (_, path) = file.keep().map_err(|error| error.error)?;
    Ok(path)
}

fn remove_old(folder: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = std::fs::read_dir(folder)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some((metadata.modified().ok()?, entry.path()))
        })
        .collect();
    files.sort();
    let surplus = (files.len() + 1).saturating_sub(MAX_FILES);
    for (_, path) in files.iter().take(surplus) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_the_text_and_keeps_its_ending() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder.path().join("answers"), "answer.md", "It works.\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "It works.\n");
        assert!(path.to_string_lossy().ends_with("-answer.md"));
    }

    #[test]
    fn only_the_newest_files_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..MAX_FILES + 3 {
            let path = write(folder.path(), "answer.md", "").unwrap();
            assert!(path.exists());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), MAX_FILES);
    }
}
