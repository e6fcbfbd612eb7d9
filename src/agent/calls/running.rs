//! Runs one call to its end, bounded in time, and shows what it prints meanwhile.

use std::{convert::Infallible, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;

use crate::{
    protocol::Event,
    tools::{
        Effect, Prepared, ToolContext, ToolError,
        printed::{Bookmark, News, Printed},
    },
    workspace::TurnFiles,
};

use super::super::{Events, TurnContext};

/// No call runs longer, whatever the tool: above the longest time-out that a command may ask for.
const CALL_TIMEOUT: Duration = Duration::from_secs(660);

/// How long a cancelled call may take to end by itself before it is dropped: the kill ladder's 700 ms and some.
const CANCEL_GRACE: Duration = Duration::from_millis(900);

/// At most four looks a second at what a call prints; one that is over sooner shows its output at its end.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Bytes of what a call printed that are shown at once: more than a person reads in a quarter of a second.
const MAX_SHOWN_BYTES: usize = 8 * 1024;

/// The tool's output or a text that says why there is none; a panic and a time-out are such texts too.
pub(super) async fn run_one(
    prepared: Box<Prepared>,
    context: &TurnContext,
    watcher: &mut Watcher<'_>,
) -> Result<String, String> {
    let (name, effect) = (prepared.name, prepared.effect);
    let tool_context = ToolContext {
        jobs: context.jobs.clone(),
        printed: watcher.printed.clone(),
        ..ToolContext::new(context.files.clone(), context.cancel.clone())
    };
    // The closure that makes the future is the tool's code too: a panic in it is caught as well.
    let running = AssertUnwindSafe(async move { prepared.run(tool_context).await }).catch_unwind();
    let cancelled_for_long = async {
        context.cancel.cancelled().await;
        tokio::time::sleep(CANCEL_GRACE).await;
    };
    tokio::select! {
        biased;
        ended = running => match ended {
            Ok(result) => result.map_err(|ToolError(reason)| reason),
            Err(_) => Err(format!("{name} broke down (a fault in askls, not in your call); try another way")),
        },
        never = watcher.watch() => match never {},
        () = cancelled_for_long => Err(match effect {
            Effect::Execute => {
                format!("{name} was cancelled before it ended; what it started on its own may still run")
            }
            Effect::Read | Effect::Edit | Effect::Stop | Effect::Network => {
                format!("{name} was cancelled before it ended")
            }
        }),
        () = tokio::time::sleep(CALL_TIMEOUT) => {
            Err(format!("{name} did not end within {} s and was given up", CALL_TIMEOUT.as_secs()))
        }
    }
}

/// Shows what a call prints while it runs.
pub(super) struct Watcher<'a> {
    call_id: &'a str,
    printed: Printed,
    seen: Bookmark,
    /// Knows what is hidden of a text.
    files: &'a TurnFiles,
    events: &'a Events<'a>,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(call_id: &'a str, files: &'a TurnFiles, events: &'a Events<'a>) -> Self {
        Self { call_id, printed: Printed::default(), seen: Bookmark::default(), files, events }
    }

    async fn watch(&mut self) -> Infallible {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            self.show();
        }
    }

    /// What came after the last look, of a call that was seen to print.
    pub(super) fn show_rest(&mut self) {
        if self.seen != Bookmark::default() {
            self.show();
        }
    }

    fn show(&mut self) {
        if let Some(News { skipped, text, unfinished }) = self.printed.news(&mut self.seen, MAX_SHOWN_BYTES) {
            self.events.emit(&Event::ToolOutput {
                call_id: self.call_id.to_owned(),
                skipped_lines: skipped,
                text: self.files.shown(&text).into_owned(),
                unfinished: self.files.shown(&unfinished).into_owned(),
            });
        }
    }
}
