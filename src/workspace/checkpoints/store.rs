//! The files of one workspace's journal: texts and records, each written whole and never changed.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{
    blob::BlobId,
    record::{Record, VERSION},
};
use crate::workspace::bounded::{self, Unread};

/// The longest text that is read back: more than the largest that an edit may have, and memory stays bounded.
const MAX_BLOB_BYTES: u64 = 20_000_000;

/// The longest record that is read: a turn of tens of thousands of files.
const MAX_RECORD_BYTES: u64 = 16_000_000;

/// Digits of a stamp: nanoseconds since 1970, for five centuries.
const STAMP_DIGITS: usize = 20;

/// Attempts to find a free name; each has 32 random bits and a stamp of its own, so that the second is never needed.
const MAX_ATTEMPTS: usize = 10;

const RECORD_ENDING: &str = ".json";

#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
}

/// Records in the order in which they were written.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// With their ids.
    pub(super) records: Vec<(String, Record)>,
    /// What cannot be read, and what became of it.
    pub(super) problems: Vec<String>,
}

/// A file of a store, by its name.
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) length: u64,
}

/// Why a kept text is not to be had, in words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextError {
    /// It does not read back as it was kept, and never will.
    Damaged(String),
    /// It cannot be read now; that may pass.
    Unread(String),
}

impl Stored {
    /// Of a record.
    pub(super) fn id(&self) -> &str {
        self.name.strip_suffix(RECORD_ENDING).unwrap_or(&self.name)
    }
}

impl Store {
    /// What who writes the project's files locks.
    pub(super) fn lock_file(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// Makes the folders, which only their owner can look into.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let store = Self { folder: folder.to_owned() };
        create_private(&store.records_folder())?;
        create_private(&store.blobs_folder())?;
        Ok(store)
    }

    /// The store in a folder that may be another workspace's; makes nothing.
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn records_folder(&self) -> PathBuf {
        self.folder.join("records")
    }

    pub(super) fn blobs_folder(&self) -> PathBuf {
        self.folder.join("blobs")
    }

    pub(super) fn damaged_folder(&self) -> PathBuf {
        self.folder.join("damaged")
    }

    /// Keeps a text, and returns once it is on the disk. A text that is kept already counts as new again, so that no sweep
    /// of another process takes it before the record that will name it is there.
    pub(super) fn put(&self, bytes: &[u8], now: SystemTime) -> io::Result<BlobId> {
        let id = BlobId::of(bytes);
        let path = self.blob_path(&id);
        let is_there =
            File::options().write(true).open(&path).and_then(|file| file.set_modified(now)).is_ok()
                && read_bounded(&path, bytes.len() as u64).is_ok_and(|kept| kept == bytes);
        if !is_there {
            let file = write_new(&self.blobs_folder(), bytes)?;
            file.persist(&path)?;
        }
        Ok(id)
    }

    /// A kept text. A text that is not what its name says is set aside.
    pub(super) fn text(&self, id: &BlobId) -> Result<String, TextError> {
        let path = self.blob_path(id);
        let bytes = read_bounded(&path, MAX_BLOB_BYTES).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if self.damaged_folder().join(id.as_str()).exists() => {
                TextError::Damaged("its text among the checkpoints is damaged".to_owned())
            }
            io::ErrorKind::NotFound => {
                TextError::Unread("its text is not among the checkpoints any more".to_owned())
            }
            _ => TextError::Unread(format!("its text among the checkpoints cannot be read: {error}")),
        })?;
        let is_whole = BlobId::of(&bytes) == *id;
        match String::from_utf8(bytes) {
            Ok(text) if is_whole => Ok(text),
            _ => {
                let place = self.set_aside(&path);
                Err(TextError::Damaged(format!("its text among the checkpoints is damaged{place}")))
            }
        }
    }

    /// Writes a record under a name that comes after all others, and returns its id once it is on the disk.
    pub(super) fn write_record(&self, record: &Record, now: SystemTime) -> io::Result<String> {
        let bytes = serde_json::to_vec(record)?;
        let folder = self.records_folder();
        // Before the record that names them.
        sync_folder(&self.blobs_folder())?;
        let mut file = write_new(&folder, &bytes)?;
        let mut problem = None;
        for _ in 0..MAX_ATTEMPTS {
            let id = format!("{:0STAMP_DIGITS$}-{:08x}", self.next_stamp(now)?, rand::random::<u32>());
            match file.persist_noclobber(folder.join(format!("{id}{RECORD_ENDING}"))) {
                Ok(_) => {
                    sync_folder(&folder)?;
                    return Ok(id);
                }
                Err(error) => {
                    file = error.file;
                    problem = Some(error.error);
                }
            }
        }
        Err(problem.unwrap_or_else(|| io::Error::other("no name is free")))
    }

    /// For a record of what did not come about, or of which another one tells.
    pub(super) fn remove_record(&self, id: &str) -> io::Result<()> {
        let folder = self.records_folder();
        fs::remove_file(folder.join(format!("{id}{RECORD_ENDING}")))?;
        sync_folder(&folder)
    }

    /// All records that can be read. What cannot is set aside, so that it is told of once.
    pub(super) fn records(&self) -> io::Result<Read> {
        let mut read = Read::default();
        for file in self.record_files()? {
            let id = file.id();
            let parsed = match read_bounded(&file.path, MAX_RECORD_BYTES) {
                Ok(bytes) => parse(&bytes),
                // Another process has swept it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    read.problems.push(format!("the checkpoint {id} cannot be read: {error}"));
                    continue;
                }
            };
            match parsed {
                Parsed::Record(record) => read.records.push((id.to_owned(), *record)),
                Parsed::Newer => {
                    read.problems.push(format!("the checkpoint {id} was written by a newer askls"));
                }
                Parsed::Damaged => {
                    let place = self.set_aside(&file.path);
                    read.problems.push(format!("the checkpoint {id} is damaged{place}"));
                }
            }
        }
        Ok(read)
    }

    /// The files of records, oldest first; those that are only being written are not among them.
    pub(super) fn record_files(&self) -> io::Result<Vec<Stored>> {
        let mut files = stored(&self.records_folder())?;
        files.retain(|file| stamp(&file.name).is_some());
        files.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(files)
    }

    fn blob_path(&self, id: &BlobId) -> PathBuf {
        self.blobs_folder().join(id.as_str())
    }

    /// Later than that of any record, so that the order of names is the order of events though clocks are set back.
    fn next_stamp(&self, now: SystemTime) -> io::Result<u128> {
        let last = self.record_files()?.iter().filter_map(|file| stamp(&file.name)).max();
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        Ok(last.map_or(now, |last| now.max(last + 1)))
    }

    /// Says where the file is now, if it could be moved.
    fn set_aside(&self, path: &Path) -> String {
        let folder = self.damaged_folder();
        let Some(name) = path.file_name() else { return String::new() };
        match create_private(&folder).and_then(|()| fs::rename(path, folder.join(name))) {
            Ok(()) => format!("; it was put aside in {}", folder.display()),
            Err(error) => format!("; it could not be put aside: {error}"),
        }
    }
}

enum Parsed {
    Record(Box<Record>),
    Newer,
    Damaged,
}

fn parse(bytes: &[u8]) -> Parsed {
    #[derive(serde::Deserialize)]
    struct Version {
        version: u32,
    }
    match serde_json::from_slice::<Version>(bytes) {
        Ok(Version { version }) if version > VERSION => return Parsed::Newer,
        _ => {}
    }
    serde_json::from_slice(bytes).map_or(Parsed::Damaged, |record| Parsed::Record(Box::new(record)))
}

/// When a record was written, by its name; `None` for what is no record.
pub(super) fn stamp(name: &str) -> Option<u128> {
    let (stamp, _) = name.strip_suffix(RECORD_ENDING)?.split_once('-')?;
    if stamp.len() == STAMP_DIGITS && stamp.bytes().all(|byte| byte.is_ascii_digit()) {
        return stamp.parse().ok();
    }
    None
}

/// The age of a stamp in front of `now`.
pub(super) fn age(stamp: u128, now: SystemTime) -> Duration {
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    Duration::from_nanos(u64::try_from(now.saturating_sub(stamp)).unwrap_or(u64::MAX))
}

/// The files of a folder; nothing for a folder that is not there.
pub(super) fn stored(folder: &Path) -> io::Result<Vec<Stored>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        // What is gone by now is gone, and a name that is none of ours is left alone.
        let (Ok(metadata), Ok(name)) = (entry.metadata(), entry.file_name().into_string()) else { continue };
        if metadata.is_file() {
            files.push(Stored { name, path: entry.path(), length: metadata.len() });
        }
    }
    Ok(files)
}

/// The beginning of the names of files that have none yet.
pub(super) const UNFINISHED: &str = ".new-";

/// A file without a name yet, whose bytes are on the disk. Its owner alone can read it: that is how `tempfile` makes them.
fn write_new(folder: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn read_bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bounded::read(path, most).map_err(|unread| match unread {
        Unread::TooLarge(_) => io::Error::other("it is larger than anything that askls writes"),
        other => other.into(),
    })
}

fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Makes the names in a folder last. Where a folder cannot be opened, the system does so by itself.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
