//! A client whose key a command prints.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::Mutex;

use crate::{
    model::{
        ErrorKind, ModelClient, ModelError, ModelInfo, ModelStream, Request, Room, http::Endpoint, paused,
    },
    protocol::Wire,
};

use super::{KeyCommand, client};

/// Runs the command when the first request needs the key, and once more when the server
/// refuses a key that was good before, since such keys often hold for an hour only.
pub(super) struct LateKey {
    endpoint: Endpoint,
    wire: Wire,
    /// The client without a key, which sends nothing.
    keyless: Arc<dyn ModelClient>,
    command: Arc<dyn KeyCommand>,
    client: Mutex<Option<Arc<dyn ModelClient>>>,
}

impl LateKey {
    pub(super) fn new(endpoint: Endpoint, wire: Wire, command: Arc<dyn KeyCommand>) -> Self {
        let keyless = client(endpoint.clone(), wire);
        Self { endpoint, wire, keyless, command, client: Mutex::new(None) }
    }

    /// A client with a key that the command prints now.
    async fn new_client(&self) -> Result<Arc<dyn ModelClient>, ModelError> {
        let key =
            self.command.key().await.map_err(|message| ModelError::new(ErrorKind::Settings, message))?;
        let mut endpoint = self.endpoint.clone();
        endpoint.key = Some(key);
        Ok(client(endpoint, self.wire))
    }

    async fn send(&self, request: Request<'_>, room: Room) -> Result<ModelStream, ModelError> {
        let known = self.client.lock().await.clone();
        if let Some(client) = &known {
            match client.stream_within(request, room.clone()).await {
                Err(ModelError { kind: ErrorKind::Auth, .. }) if room.is_closed() => return Ok(paused()),
                Err(ModelError { kind: ErrorKind::Auth, .. }) => {}
                other => return other,
            }
        }
        let client = {
            let mut slot = self.client.lock().await;
            match (&*slot, &known) {
                // Another turn has got a newer key meanwhile: password managers should not ask twice.
                (Some(newer), known) if known.as_ref().is_none_or(|known| !Arc::ptr_eq(newer, known)) => {
                    newer.clone()
                }
                _ => slot.insert(self.new_client().await?).clone(),
            }
        };
        client.stream_within(request, room).await
    }
}

impl ModelClient for LateKey {
    fn info(&self) -> &ModelInfo {
        self.keyless.info()
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        Box::pin(self.send(request, Room::default()))
    }

    fn stream_within<'a>(
        &'a self,
        request: Request<'a>,
        room: Room,
    ) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        Box::pin(self.send(request, room))
    }

    fn sends_as_given(&self) -> bool {
        self.keyless.sends_as_given()
    }
}
