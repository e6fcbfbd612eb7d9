//! The user's wish to stop: Ctrl-C, Ctrl-\\, or the signal by which other programs say it.

use std::io;

/// Listens from when it is made; a signal no longer ends the process by itself.
pub(crate) struct Signals {
    #[cfg(unix)]
    kinds: [tokio::signal::unix::Signal; 4],
}

impl Signals {
    #[cfg(unix)]
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            kinds: [
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
                signal(SignalKind::hangup())?,
                signal(SignalKind::quit())?,
            ],
        })
    }

    #[cfg(not(unix))]
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next one.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        let [interrupt, terminate, hangup, quit] = &mut self.kinds;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without signals nothing can be waited for.
            std::future::pending::<()>().await;
        }
    }
}
