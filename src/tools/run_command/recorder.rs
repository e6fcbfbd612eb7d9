//! What becomes of a command's output: cleaned, without what files of secrets say, told to those who look on, its head and tail kept for the model, and the
//! whole of it in a file when that is not all.

use std::time::Duration;

use tokio::{sync::mpsc, task::JoinHandle};

use super::{
    super::{output::HeadTail, printed::Printed},
    clean::Cleaner,
};
use crate::workspace::{
    keys::HeldKeys,
    outputs::{OutputName, Outputs},
};

/// Bytes that are held in memory before a file is begun: more than head and tail together.
const HELD_BYTES: usize = 128 * 1024;

/// Pieces on their way to the file; a command that prints faster than the disk takes has to wait.
const WAITING_PIECES: usize = 4;

/// How long the file may take to be finished after its command has ended. A disk that is slower has other troubles.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// Takes the bytes of one command.
#[derive(Debug)]
pub(super) struct Recorder {
    cleaner: Cleaner,
    held: HeldKeys,
    /// What is clean and may have the beginning of a value that is hidden.
    unsettled: String,
    kept: HeadTail,
    printed: Printed,
    whole: Whole,
}

/// All that was printed so far.
#[derive(Debug)]
enum Whole {
    /// There is no place for a file, or it could not be written.
    Lost,
    Held {
        text: String,
        outputs: Outputs,
    },
    Sent {
        /// What waits to be sent.
        text: String,
        sender: mpsc::Sender<Piece>,
        writer: JoinHandle<Option<OutputName>>,
    },
}

#[derive(Debug)]
enum Piece {
    Text(String),
    /// Only a file that has its end is kept.
    End,
}

/// What is left of an output for the model.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) text: String,
    /// Where the whole of it can be read, when `text` is not all.
    pub(super) whole: Option<OutputName>,
}

impl Recorder {
    /// `outputs` is where the whole of a long output goes; without it only head and tail are kept.
    pub(super) fn new(outputs: Option<Outputs>, printed: Printed) -> Self {
        let whole = match outputs {
            Some(outputs) => Whole::Held { text: String::new(), outputs },
            None => Whole::Lost,
        };
        Self {
            cleaner: Cleaner::default(),
            held: HeldKeys::default(),
            unsettled: String::new(),
            kept: HeadTail::default(),
            printed,
            whole,
        }
    }

    /// What is `held` goes nowhere.
    pub(super) fn without(self, held: HeldKeys) -> Self {
        Self { held, ..self }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.cleaner.push(bytes);
        self.pass_on();
    }

    fn pass_on(&mut self) {
        self.unsettled.push_str(&self.cleaner.take());
        let settled = self.held.settled(&self.unsettled);
        self.pass_on_to(settled);
    }

    fn pass_on_to(&mut self, settled: usize) {
        let rest = self.unsettled.split_off(settled);
        let settled = std::mem::replace(&mut self.unsettled, rest);
        let clean = self.held.masked(&settled);
        let ahead = [&*self.unsettled, self.cleaner.line()].concat();
        self.printed.push(&clean, &self.held.masked(&ahead));
        self.kept.push(&clean);
        match &mut self.whole {
            Whole::Lost => {}
            Whole::Held { text, .. } | Whole::Sent { text, .. } => text.push_str(&clean),
        }
    }

    /// Waits until there is room for more. May be dropped while it waits: nothing is lost.
    pub(super) async fn make_room(&mut self) {
        let has_reader = match &mut self.whole {
            Whole::Held { text, .. } if text.len() > HELD_BYTES => return self.begin_file(),
            Whole::Sent { text, sender, .. } if !text.is_empty() => {
                let room = sender.reserve().await;
                room.map(|room| room.send(Piece::Text(std::mem::take(text)))).is_ok()
            }
            Whole::Lost | Whole::Held { .. } | Whole::Sent { .. } => true,
        };
        if !has_reader {
            // The writer has ended by an error, which it has told.
            self.whole = Whole::Lost;
        }
    }

    fn begin_file(&mut self) {
        let Whole::Held { text, outputs } = std::mem::replace(&mut self.whole, Whole::Lost) else { return };
        let (sender, mut pieces) = mpsc::channel(WAITING_PIECES);
        let mut write = move || -> std::io::Result<Option<OutputName>> {
            let mut file = outputs.create()?;
            while let Some(piece) = pieces.blocking_recv() {
                match piece {
                    Piece::Text(text) => file.write(&text)?,
                    Piece::End => return file.keep().map(Some),
                }
            }
            Ok(None)
        };
        let writer = tokio::task::spawn_blocking(move || {
            write().unwrap_or_else(|error| {
                tracing::warn!(%error, "the whole output of a command could not be kept");
                None
            })
        });
        self.whole = Whole::Sent { text, sender, writer };
    }

    /// No byte comes after this.
    pub(super) async fn finish(mut self) -> Record {
        self.cleaner.end();
        self.pass_on();
        self.pass_on_to(self.unsettled.len());
        let mut kept = std::mem::take(&mut self.kept);
        let is_cut = kept.is_cut();
        let text = kept.finish();
        if !is_cut {
            return Record { text, whole: None };
        }
        if let Whole::Held { .. } = self.whole {
            self.begin_file();
        }
        let Whole::Sent { text: rest, sender, writer } = self.whole else {
            return Record { text, whole: None };
        };
        let last = async {
            sender.send(Piece::Text(rest)).await.ok()?;
            sender.send(Piece::End).await.ok()?;
            writer.await.ok()?
        };
        let whole = tokio::time::timeout(LAST_WRITE, last).await.ok().flatten();
        Record { text, whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{tools::printed::Bookmark, workspace::keys::MASK};

    async fn record(outputs: Option<&Outputs>, pieces: impl Iterator<Item = String>) -> Record {
        let mut recorder = Recorder::new(outputs.cloned(), Printed::default());
        for piece in pieces {
            recorder.make_room().await;
            recorder.push(piece.as_bytes());
        }
        recorder.finish().await
    }

    fn lines(count: usize) -> impl Iterator<Item = String> {
        (0..count).map(|number| format!("line {number}\n"))
    }

    #[tokio::test]
    async fn the_whole_of_a_long_output_is_in_a_file() {
        for count in [3_000, 100_000] {
            let folder = tempfile::tempdir().unwrap();
            let outputs = Outputs::new(folder.path().join("outputs"));
            let record = record(Some(&outputs), lines(count)).await;
            assert!(record.text.contains("left out here"));
            let whole = outputs.read(&record.whole.unwrap()).unwrap();
            assert_eq!(whole, lines(count).collect::<String>());
        }
    }

    // SPEC A9
    #[tokio::test]
    async fn what_a_file_of_secrets_says_goes_nowhere_in_whatever_pieces_it_comes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".env");
        std::fs::write(&file, "QUEUE_PASS=kP93nfw0XbLq72vRtaYz\n").unwrap();
        let outputs = Outputs::new(folder.path().join("outputs"));
        // Two lines that are too long to be held back until their ends.
        let line = format!("{}kP93nfw0XbLq72vRtaYz{}\n", "x".repeat(8_185), "y".repeat(60_000));
        for size in [1_000, 8_191, 8_200, 100_000] {
            let printed = Printed::default();
            let mut recorder = Recorder::new(Some(outputs.clone()), printed.clone())
                .without(HeldKeys::of([file.clone()], ""));
            for piece in line.repeat(2).as_bytes().chunks(size) {
                recorder.make_room().await;
                recorder.push(piece);
            }
            let record = recorder.finish().await;
            let whole = outputs.read(&record.whole.unwrap()).unwrap();
            let news = printed.news(&mut Bookmark::default(), 1 << 20).unwrap();
            assert_eq!(whole, line.repeat(2).replace("kP93nfw0XbLq72vRtaYz", MASK), "{size}");
            assert!(!record.text.contains("kP93") && !news.text.contains("kP93"), "{size}");
        }
    }

    #[tokio::test]
    async fn a_short_output_makes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let outputs = Outputs::new(folder.path().join("outputs"));
        let record = record(Some(&outputs), lines(1_000)).await;
        assert_eq!((record.text, record.whole), (lines(1_000).collect(), None));
        assert!(!folder.path().join("outputs").exists());
    }

    #[tokio::test]
    async fn an_output_that_cannot_be_kept_is_cut_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let nowhere = Outputs::new(folder.path().join("file").join("outputs"));
        for outputs in [None, Some(&nowhere)] {
            let record = record(outputs, lines(100_000)).await;
            assert!(record.text.starts_with("line 0\n") && record.text.ends_with("line 99999\n"));
            assert_eq!(record.whole, None);
        }
    }
}
