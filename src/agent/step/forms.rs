//! The other forms in which a request is tried when its first one fails: without the model's reasoning, or shorter.

use crate::{
    agent::{Thread, reply::Reply},
    model::{ErrorKind, Finish},
};

const CUT_BY_WINDOW: &str = "the reply was cut where the model's window ended";

/// What is said of a refusal that holds for the plain form of the history too.
const PLAIN_REFUSED: &str =
    "; it refused the history without the model's reasoning too, as echo_reasoning = false would send it";

/// A reply that another form of the request may mend.
pub(super) struct Trouble {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    pub(super) was_shown: bool,
}

impl Trouble {
    /// Whether there are forms of the request in which it may not come.
    pub(super) fn may_be_mended(&self) -> bool {
        matches!(self.kind, ErrorKind::History | ErrorKind::ContextTooLong)
    }

    pub(super) fn of(reply: &Reply) -> Option<Self> {
        match reply {
            Reply::Broken { error, was_shown, .. } => {
                Some(Self { kind: error.kind, message: error.message.clone(), was_shown: *was_shown })
            }
            Reply::Whole { items, finish: Finish::ContextTooLong, .. } => Some(Self {
                kind: ErrorKind::ContextTooLong,
                message: CUT_BY_WINDOW.to_owned(),
                was_shown: !items.is_empty(),
            }),
            Reply::Whole { .. } | Reply::Cancelled { .. } | Reply::Bounded { .. } => None,
        }
    }
}

/// The other forms in which the request of a step was tried, each once.
#[derive(Default)]
pub(super) struct Forms {
    /// How much of the thread was sent in its plain form before all of it was.
    plain_before: Option<usize>,
}

impl Forms {
    /// Has the thread sent in another form and says why; `None` when there is none that may help.
    pub(super) fn change(&mut self, thread: &mut Thread, kind: ErrorKind) -> Option<&'static str> {
        match (kind, self.plain_before) {
            (ErrorKind::History, None) => {
                self.plain_before = Some(thread.send_plain());
                Some("the server refused the history")
            }
            (ErrorKind::History | ErrorKind::Unfit, Some(before)) => {
                // It was not that: the servers to come get what is theirs.
                thread.send_plain_until(before);
                None
            }
            (ErrorKind::ContextTooLong, _) if thread.shrink() => Some("the thread is too long"),
            _ => None,
        }
    }

    /// A refusal, with what was tried before it was taken for one.
    pub(super) fn explained(&self, mut reply: Reply) -> Reply {
        if let Reply::Broken { error, .. } = &mut reply
            && error.kind == ErrorKind::Unfit
            && self.plain_before.is_some()
        {
            error.kind = ErrorKind::History;
            error.message.push_str(PLAIN_REFUSED);
        }
        reply
    }
}
