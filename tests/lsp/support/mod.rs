//! The harness: a project from one string, a fake model server with a script, and a typed client of the real binary.

mod asking;
mod builder;
pub mod capabilities;
pub mod client;
pub mod documents;
pub mod editor;
pub mod history;
pub mod model;
pub mod processes;
pub mod project;
mod rules;
pub mod transport;

pub use client::Client;
pub use editor::Manner;
pub(crate) use model::FakeModel;
pub use project::Project;
pub use transport::Answer;

use askls::protocol::Wire;

/// Runs a scenario once with each wire between askls and the model: what an editor sees must not depend on it.
pub fn on_every_wire(scenario: impl Fn(Wire)) {
    for wire in [Wire::Responses, Wire::Chat, Wire::Messages] {
        eprintln!("--- wire {wire}");
        scenario(wire);
    }
}

/// Waits in a test, which is no async function, for what the fake model sees.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(future)
}
