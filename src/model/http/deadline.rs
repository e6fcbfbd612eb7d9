//! The longest time that one whole reply may take, however lively its server is.

use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use super::Endpoint;
use crate::model::{ErrorKind, ModelError, ModelStream};

/// How long before the time is over a reply is ended that is whole and may go on: long enough for a connection to be
/// closed.
const ENDED_BEFORE: Duration = Duration::from_millis(100);

/// Counts from the sending of a request. Without a setting it never comes.
pub(in crate::model) struct Deadline {
    at: Option<Instant>,
    error: ModelError,
}

impl Deadline {
    pub(in crate::model) fn of(endpoint: &Endpoint) -> Self {
        let seconds = endpoint.reply_timeout.unwrap_or_default().as_secs_f64();
        let server = endpoint.server();
        Self {
            // A time too far away to be told never comes.
            at: endpoint.reply_timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            error: ModelError::new(
                ErrorKind::Stalled,
                format!("{server} did not end its reply within {seconds} s (setting reply_timeout)"),
            ),
        }
    }

    /// Until when the rest of a reply that may be whole is waited for, the turn's time being up at `turn`.
    pub(in crate::model) fn of_rest(&self, turn: Option<Instant>) -> Option<Instant> {
        self.at.into_iter().chain(turn).min()?.checked_sub(ENDED_BEFORE)
    }

    /// Waits for the beginning of a reply, and ends the stream where the time is over.
    pub(in crate::model) async fn keep(
        self,
        reply: impl Future<Output = Result<ModelStream, ModelError>>,
    ) -> Result<ModelStream, ModelError> {
        let Some(at) = self.at else { return reply.await };
        let stream = match timeout_at(at, reply).await {
            Ok(stream) => stream?,
            Err(_) => return Err(self.error),
        };
        // Dropping the reply closes the connection.
        let kept = stream::unfold(Some((stream, self.error)), move |rest| async move {
            let (mut stream, error) = rest?;
            match timeout_at(at, stream.next()).await {
                Ok(event) => Some((event?, Some((stream, error)))),
                Err(_) => Some((Err(error), None)),
            }
        });
        Ok(kept.boxed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelEvent;

    // SPEC S11
    #[tokio::test(start_paused = true)]
    async fn a_reply_that_never_ends_is_ended_though_it_is_never_silent() {
        let mut endpoint = Endpoint::new("http://host.test/v1", "m").expect("a good URL");
        endpoint.reply_timeout = Some(Duration::from_millis(3500));
        let lively = stream::repeat(()).then(|()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(ModelEvent::TextDelta("a".to_owned()))
        });
        let reply = async { Ok(lively.boxed()) };
        let stream = Deadline::of(&endpoint).keep(reply).await.expect("it begins");
        let told: Vec<_> = stream.collect().await;
        assert_eq!(told.len(), 4);
        let error = told.last().and_then(|last| last.as_ref().err()).expect("an error ends it");
        assert_eq!(error.kind, ErrorKind::Stalled);
        assert_eq!(
            error.message,
            "http://host.test/v1 did not end its reply within 3.5 s (setting reply_timeout)"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_begins_is_given_up_too() {
        let mut endpoint = Endpoint::new("http://host.test/v1", "m").expect("a good URL");
        endpoint.reply_timeout = Some(Duration::from_secs(2));
        let error = Deadline::of(&endpoint).keep(std::future::pending()).await.err().expect("no reply");
        assert_eq!(error.kind, ErrorKind::Stalled);
    }
}
