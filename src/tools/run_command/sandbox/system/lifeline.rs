//! The socket between askls and the process that keeps a command. Its end is the end of the command, whichever way askls ends: no
//! signal and no memory of it is needed.

use std::{
    fs::File,
    io::{self, IoSlice, IoSliceMut, Read as _, Write as _},
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, AsRawFd as _, OwnedFd},
        unix::{net::UnixStream, process::ExitStatusExt as _},
    },
    process::ExitStatus,
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

use super::super::ShellEnd;

/// Stands beside a file that is handed over.
const FILE: u8 = b'f';

/// Asks the keeper to ask all processes to end.
const TERMINATE: u8 = b't';

/// Begin the keeper's only message: whether the shell left processes behind.
const LEFT_NOTHING: u8 = b'0';
const LEFT_SOMETHING: u8 = b'1';

/// Bytes of that message: this, and the status as the kernel gives it.
const MESSAGE_BYTES: usize = 1 + size_of::<i32>();

/// askls' end. Dropping it ends all that the command has started.
pub(in crate::tools::run_command) struct Lifeline(tokio::net::UnixStream);

/// The keeper's end.
pub(super) struct Keeper(UnixStream);

/// What the keeper hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Ask all processes to end.
    Terminate,
    /// askls is gone, or wants no process to be left.
    End,
}

impl Lifeline {
    /// To be made where tokio runs.
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        tokio::net::UnixStream::from_std(socket).map(Self)
    }

    /// Waits for the shell's end; `None` if the keeper ended without telling it. May be dropped while it waits.
    pub(in crate::tools::run_command) async fn shell_end(&mut self) -> Option<ShellEnd> {
        let mut message = [0; MESSAGE_BYTES];
        // A message this short comes whole.
        let count = tokio::io::AsyncReadExt::read(&mut self.0, &mut message).await.ok()?;
        let [left, status @ ..] = message;
        (count == MESSAGE_BYTES).then(|| ShellEnd {
            status: ExitStatus::from_raw(i32::from_ne_bytes(status)),
            left_something: left == LEFT_SOMETHING,
        })
    }

    /// Asks all processes to end.
    pub(in crate::tools::run_command) fn terminate(&self) {
        // One byte has room, unless the keeper is gone.
        let _ = self.0.try_write(&[TERMINATE]);
    }
}

impl Keeper {
    /// `socket` is what the keeper was started with.
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self(socket.into())
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    pub(super) fn as_raw_fd(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Takes the next file that was handed over.
    pub(super) fn take_file(&self) -> io::Result<File> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let parts = &mut [IoSliceMut::new(&mut byte)];
        rustix::net::recvmsg(&self.0, parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        let mut files = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        files.next().map(File::from).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Waits for what askls says.
    pub(super) fn hear(&mut self) -> Heard {
        let mut byte = [0];
        match self.0.read(&mut byte) {
            Ok(1) => Heard::Terminate,
            _ => Heard::End,
        }
    }

    pub(super) fn tell(&mut self, status: i32, left_something: bool) {
        let [a, b, c, d] = status.to_ne_bytes();
        let left = if left_something { LEFT_SOMETHING } else { LEFT_NOTHING };
        // If nobody hears it, that is what is heard next.
        let _ = self.0.write_all(&[left, a, b, c, d]);
    }
}

/// Hands over a file to whoever takes it at the other end.
pub(super) fn hand_over(socket: &UnixStream, file: &File) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    rustix::net::sendmsg(socket, &[IoSlice::new(&[FILE])], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}
