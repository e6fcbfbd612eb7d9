//! Whole outputs of commands that were too long to be shown: files in the cache folder, for a while, and under names
//! that say nothing of where they lie.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tempfile::NamedTempFile;

use super::{FileError, disk};

/// How the name of an output begins. What follows is a number that cannot be guessed, so that one thread does not come
/// upon the outputs of another.
const PREFIX: &str = "output:";

/// Hexadecimal digits of that number: short enough for a model to repeat, too many to try.
const DIGITS: usize = 10;

/// Bytes that are kept of one output. Whatever is longer is noise, and all of it has to fit into memory to be paged.
const MAX_BYTES: u64 = 16 << 20;

/// How long an output is kept: a week, after which nobody goes on with the thread that it belongs to.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Outputs that are kept, so that a week of long ones does not fill the disk.
const MAX_FILES: usize = 100;

/// The folder of all outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outputs {
    folder: PathBuf,
}

impl Outputs {
    /// Nothing is made yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Begins a file that only the user can read, and deletes what is too old to be kept.
    pub fn create(&self) -> io::Result<OutputFile> {
        create_private(&self.folder)?;
        let now = SystemTime::now();
        // What cannot be deleted now can be the next time.
        let _ = self.sweep(now);
        let file = tempfile::Builder::new().prefix(".part-").tempfile_in(&self.folder)?;
        Ok(OutputFile {
            file: io::BufWriter::new(file),
            folder: self.folder.clone(),
            room: MAX_BYTES,
            left_out: 0,
        })
    }

    /// The text of the output with that name. The error says why there is none.
    pub fn read(&self, name: &OutputName) -> Result<String, FileError> {
        let text = disk::read(&self.folder.join(name.file()), &name.to_string())?;
        Ok(text.text.to_string())
    }

    fn sweep(&self, now: SystemTime) -> io::Result<()> {
        let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(&self.folder)?
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((metadata.modified().ok()?, entry.path()))
            })
            .collect();
        files.sort();
        let surplus = (files.len() + 1).saturating_sub(MAX_FILES);
        for (index, (modified, path)) in files.iter().enumerate() {
            let is_old = now.duration_since(*modified).is_ok_and(|age| age > KEPT_FOR);
            if is_old || index < surplus {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The name by which a model pages an output: `output:` and a number. It can mean nothing but a file of that folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputName(String);

impl OutputName {
    /// `None` for what is no such name, as every other path.
    pub fn parse(path: &str) -> Option<Self> {
        let number = path.trim().strip_prefix(PREFIX)?;
        let is_number = number.len() == DIGITS && number.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_number.then(|| Self(number.to_ascii_lowercase()))
    }

    fn new() -> Self {
        let number = rand::random::<u64>() & ((1 << (4 * DIGITS)) - 1);
        Self(format!("{number:0DIGITS$x}"))
    }

    fn file(&self) -> String {
        format!("{}.txt", self.0)
    }
}

impl std::fmt::Display for OutputName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

/// An output that is being written. Dropping it deletes it.
#[derive(Debug)]
pub struct OutputFile {
    file: io::BufWriter<NamedTempFile>,
    folder: PathBuf,
    /// Bytes that may still come.
    room: u64,
    left_out: u64,
}

impl OutputFile {
    /// Takes the next piece. What is beyond the bound is counted and not kept.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        let fits = usize::try_from(self.room).unwrap_or(usize::MAX).min(text.len());
        let fits = (0..=fits).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let (kept, rest) = text.split_at(fits);
        // Once something is left out, all that follows is: the text has its gap at the end.
        self.room = if rest.is_empty() { self.room - fits as u64 } else { 0 };
        self.left_out += rest.len() as u64;
        self.file.write_all(kept.as_bytes())
    }

    /// Keeps the file under a name of its own.
    pub fn keep(mut self) -> io::Result<OutputName> {
        if self.left_out > 0 {
            write!(self.file, "\n… {} more bytes were not kept …\n", self.left_out)?;
        }
        let file = self.file.into_inner().map_err(|error| error.into_error())?;
        let name = OutputName::new();
        file.persist_noclobber(self.folder.join(name.file())).map_err(|error| error.error)?;
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(outputs: &Outputs, text: &str) -> OutputName {
        let mut file = outputs.create().unwrap();
        file.write(text).unwrap();
        file.keep().unwrap()
    }

    fn outputs(folder: &tempfile::TempDir) -> Outputs {
        Outputs::new(folder.path().join("askls").join("outputs"))
    }

    #[test]
    fn an_output_is_read_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let outputs = outputs(&folder);
        let name = keep(&outputs, "größe\n");
        let again = OutputName::parse(&format!(" {name}\n")).unwrap();
        assert_eq!(outputs.read(&again).unwrap(), "größe\n");
    }

    #[test]
    fn no_other_path_is_a_name() {
        for path in [
            "output:",
            "output:..",
            "output:012345678",
            "output:0123456789a",
            "output:../../0123",
            "output:01234567/9",
            "out/output:0123456789",
            "./output:0123456789",
            "0123456789",
        ] {
            assert_eq!(OutputName::parse(path), None, "{path}");
        }
    }

    #[test]
    fn an_output_that_is_gone_is_said_to_be_missing() {
        let folder = tempfile::tempdir().unwrap();
        let name = OutputName::parse("output:0123456789").unwrap();
        let error = outputs(&folder).read(&name).unwrap_err().to_string();
        assert!(error.contains("output:0123456789") && !error.contains("askls"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_it() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let outputs = outputs(&folder);
        let name = keep(&outputs, "x");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&outputs.folder), 0o700);
        assert_eq!(mode(&outputs.folder.join(name.file())), 0o600);
    }

    #[test]
    fn what_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let outputs = outputs(&folder);
        let mut file = outputs.create().unwrap();
        file.write("half").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(&outputs.folder).unwrap().count(), 0);
    }

    #[test]
    fn an_output_without_end_is_cut_on_a_character_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let outputs = outputs(&folder);
        let mut file = outputs.create().unwrap();
        let piece = "漢".repeat(1 << 20);
        for _ in 0..7 {
            file.write(&piece).unwrap();
        }
        let text = outputs.read(&file.keep().unwrap()).unwrap();
        let (kept, notice) = text.split_once('\n').unwrap();
        assert_eq!(kept.replace('漢', ""), "");
        let missing = 7 * piece.len() - kept.len();
        assert_eq!(notice, format!("… {missing} more bytes were not kept …\n"));
    }

    #[test]
    fn old_outputs_go_when_new_ones_come() {
        let folder = tempfile::tempdir().unwrap();
        let outputs = outputs(&folder);
        let name = keep(&outputs, "old");
        let later = SystemTime::now() + KEPT_FOR;
        outputs.sweep(later - Duration::from_secs(60)).unwrap();
        assert!(outputs.read(&name).is_ok());
        outputs.sweep(later + Duration::from_secs(60)).unwrap();
        assert!(outputs.read(&name).is_err());
        for _ in 0..MAX_FILES + 3 {
            keep(&outputs, "new");
        }
        assert_eq!(fs::read_dir(&outputs.folder).unwrap().count(), MAX_FILES);
    }
}
