//! One pipe for both output streams of a command, so that their lines keep the order in which they were written.

use std::{io, process::Stdio};

/// The reading end. Dropping it never waits, whoever still holds the writing end.
pub(super) struct Reader(Inner);

/// The writing end, twice; both must be gone from this process before the reader can see the end.
pub(super) fn pipe() -> io::Result<(Reader, Stdio, Stdio)> {
    let (reader, writer) = io::pipe()?;
    let second = writer.try_clone()?;
    Ok((Reader(Inner::new(reader)?), writer.into(), second.into()))
}

impl Reader {
    /// The next bytes into `buffer`; 0 when no writer is left. May be dropped while it waits: nothing is lost.
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).await
    }
}

#[cfg(unix)]
struct Inner(tokio::net::unix::pipe::Receiver);

#[cfg(unix)]
impl Inner {
    fn new(reader: io::PipeReader) -> io::Result<Self> {
        tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into()).map(Self)
    }

    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        tokio::io::AsyncReadExt::read(&mut self.0, buffer).await
    }
}

/// Windows cannot wait for an anonymous pipe asynchronously: a thread reads it. The job object ends every writer, and
/// with them the thread.
#[cfg(not(unix))]
struct Inner {
    pieces: tokio::sync::mpsc::Receiver<io::Result<Vec<u8>>>,
    /// What of the last piece did not fit the caller's buffer.
    rest: Vec<u8>,
}

#[cfg(not(unix))]
impl Inner {
    fn new(mut reader: io::PipeReader) -> io::Result<Self> {
        /// Pieces that wait to be read; the pipe itself holds back a writer that is faster.
        const WAITING: usize = 4;
        const PIECE_BYTES: usize = 16 * 1024;
        let (sender, pieces) = tokio::sync::mpsc::channel(WAITING);
        std::thread::Builder::new().name("command output".to_owned()).spawn(move || {
            let mut buffer = vec![0; PIECE_BYTES];
            loop {
                let piece = match io::Read::read(&mut reader, &mut buffer) {
                    Ok(0) => return,
                    Ok(count) => Ok(buffer.iter().take(count).copied().collect()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let is_last = piece.is_err();
                if sender.blocking_send(piece).is_err() || is_last {
                    return;
                }
            }
        })?;
        Ok(Self { pieces, rest: Vec::new() })
    }

    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            match self.pieces.recv().await {
                Some(piece) => self.rest = piece?,
                None => return Ok(0),
            }
        }
        let count = self.rest.len().min(buffer.len());
        for (place, byte) in buffer.iter_mut().zip(self.rest.drain(..count)) {
            *place = byte;
        }
        Ok(count)
    }
}
