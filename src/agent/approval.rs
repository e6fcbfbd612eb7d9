//! Consent: a pure policy says allow or ask; asking is the face's job; no answer means no.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    protocol::ToolCall,
    tools::{Effect, Prepared},
};

/// The setting `approvals`: what goes ahead without a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approvals {
    /// Reading only; edits and commands ask.
    None,
    /// Reading and staging edits; commands ask.
    #[default]
    Edits,
    /// Everything.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Ask,
}

/// Decides by a call's effect. Pure: the same call has the same decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApprovalPolicy {
    pub approvals: Approvals,
}

/// What the user allowed for the rest of a thread.
///
/// A grant for a command covers the same arguments to the letter and nothing else: who allows `cargo test` has not
/// allowed what else a model thinks of, or what only reads alike. A grant for an edit covers the tool, since every edit
/// is still previewed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    granted: BTreeSet<(&'static str, Option<String>)>,
}

/// What an approver shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub call_id: String,
    pub tool: &'static str,
    pub effect: Effect,
    /// Everything that will happen: the whole command line, the whole path.
    pub preview: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    AllowOnce,
    AllowForThread,
    /// The reason goes to the model as the call's output.
    Deny {
        reason: String,
    },
}

/// Asks the user. A turn has one question at a time; dropping the future withdraws the question.
pub trait Approver: Send + Sync {
    /// Whatever is not a clear yes (no answer, a closed window, a client that cannot ask) is [`Answer::Deny`].
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer>;
}

impl ApprovalPolicy {
    pub fn decide(&self, call: &ToolCall, prepared: &Prepared, grants: &Grants) -> Decision {
        let allowed = match prepared.effect {
            Effect::Read => true,
            Effect::Edit => self.approvals >= Approvals::Edits,
            Effect::Execute | Effect::Network => self.approvals >= Approvals::All,
        };
        if allowed || grants.granted.contains(&grant(call, prepared)) {
            Decision::Allow
        } else {
            Decision::Ask
        }
    }
}

impl Grants {
    /// Calls that do the same as this one are not asked about again.
    pub fn allow(&mut self, call: &ToolCall, prepared: &Prepared) {
        self.granted.insert(grant(call, prepared));
    }
}

fn grant(call: &ToolCall, prepared: &Prepared) -> (&'static str, Option<String>) {
    match prepared.effect {
        Effect::Read | Effect::Edit => (prepared.name, None),
        Effect::Execute | Effect::Network => (prepared.name, Some(call.arguments.clone())),
    }
}
