//! Notices that a turn ended for its settings: to its thread that is a failure of the provider, to the exit code not.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures::future::BoxFuture;

use crate::model::{ModelClient, ModelError, ModelInfo, ModelStream, Request};

/// Whether a request could not be sent as the settings are, as a key command that prints none.
#[derive(Clone, Default)]
pub(super) struct SettingsWatch(Arc<AtomicBool>);

impl SettingsWatch {
    /// The same model, watched.
    pub(super) fn over(&self, model: Arc<dyn ModelClient>) -> Arc<dyn ModelClient> {
        Arc::new(Watched { model, watch: self.clone() })
    }

    pub(super) fn has_seen_an_error(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Watched {
    model: Arc<dyn ModelClient>,
    watch: SettingsWatch,
}

impl ModelClient for Watched {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        Box::pin(async move {
            let stream = self.model.stream(request).await;
            if let Err(ModelError::Settings { .. }) = stream {
                self.watch.0.store(true, Ordering::Relaxed);
            }
            stream
        })
    }
}
