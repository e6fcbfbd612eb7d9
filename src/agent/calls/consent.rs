//! The user's consent to a call: the policy decides, and the user is asked where it says so. What a call may reach outside
//! the workspace is what was decided about.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt;

use super::{Admitted, refusal::Refusal};
use crate::{
    agent::{
        Agent, Thread, TurnContext,
        approval::{Answer, Approvals, Decision, Facts, Outside, Question, Reach},
    },
    protocol::ToolCall,
    tools::{Effect, Prepared},
    workspace::{Purpose, TurnFiles},
};

/// What the policy says of a call.
pub(super) struct Judged {
    pub(super) decision: Decision,
    /// The places outside the workspace that the call reaches once it is allowed; none where all of them are refused.
    outside: Reach,
    /// With which `approvals` nobody would be asked.
    least: Option<Approvals>,
}

impl Judged {
    /// Of a call that does not run anyway.
    fn refused() -> Self {
        Self { decision: Decision::Allow, outside: Reach::default(), least: None }
    }

    /// Lets the turn's files be used where a call was allowed to go.
    fn let_in(&self, effect: Effect, files: &TurnFiles) {
        let purpose = if effect == Effect::Edit { Purpose::Edit } else { Purpose::Read };
        self.outside.outside().for_each(|real| files.let_in(purpose, real));
    }
}

/// Looks at the disk off the async threads. What is refused needs no decision.
pub(super) async fn decide(
    agent: &Agent,
    thread: &Thread,
    admitted: Admitted,
    context: &TurnContext,
) -> (Admitted, Judged) {
    let Admitted::Ready(call, prepared) = &admitted else { return (admitted, Judged::refused()) };
    let facts = facts(call, prepared);
    let effect = facts.effect;
    let (policy, grants, files) = (agent.policy.clone(), thread.grants.clone(), Arc::clone(&context.files));
    let deciding = tokio::task::spawn_blocking(move || {
        let reach = Reach::of(&facts, &*files);
        let decision = policy.decide(&facts, &reach, &grants, &*files);
        let least = match decision {
            Decision::Ask { .. } => policy.least(&facts, &reach, &grants, &*files),
            Decision::Allow | Decision::Deny { .. } => None,
        };
        let outside = if policy.outside == Outside::Ask { reach } else { Reach::default() };
        Judged { decision, outside, least }
    });
    let judged = deciding.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a call could not be judged");
        let why = "it could not be judged".to_owned();
        let decision = Decision::Ask { why, always: Vec::new() };
        Judged { decision, outside: Reach::default(), least: None }
    });
    if judged.decision == Decision::Allow {
        judged.let_in(effect, &context.files);
    }
    (admitted, judged)
}

pub(super) async fn ask_if_needed(
    thread: &mut Thread,
    admitted: Admitted,
    judged: Judged,
    context: &TurnContext,
) -> Admitted {
    let Admitted::Ready(call, prepared) = admitted else {
        return admitted;
    };
    let (why, always) = match &judged.decision {
        Decision::Allow => return Admitted::Ready(call, prepared),
        Decision::Deny { reason } => {
            return refused_as(call, prepared, Refusal::NotAllowed(reason.clone()));
        }
        Decision::Ask { why, always } => (why.clone(), always.clone()),
    };
    let leads_out = judged.outside.outside_in_words();
    let (files, access) = (Arc::clone(&context.files), prepared.access.clone());
    let is_inside = leads_out.is_none();
    // What lies outside is allowed for the first project.
    let root =
        tokio::task::spawn_blocking(move || files.root_of(if is_inside { access.place() } else { None }));
    let question = Question {
        call_id: call.id.clone(),
        tool: prepared.name,
        effect: prepared.effect,
        preview: prepared.preview.clone(),
        leading_out: leads_out.clone(),
        circumstances: prepared.circumstances.clone(),
        why,
        least: judged.least,
        always: always.clone(),
        root: root.await.unwrap_or_default(),
    };
    let asked = AssertUnwindSafe(context.approver.ask(question)).catch_unwind();
    let answer = tokio::select! {
        biased;
        () = context.cancel.cancelled() => Answer::Unanswered { reason: "the turn was cancelled".to_owned() },
        answer = asked => answer.unwrap_or_else(|_| Answer::Unanswered { reason: "the question could not be shown".to_owned() }),
    };
    match answer {
        Answer::AllowOnce => {}
        Answer::AllowForThread if leads_out.is_some() => {
            thread.grants.let_reach(&facts(&call, &prepared), &judged.outside);
        }
        Answer::AllowForThread => thread.grants.allow(&facts(&call, &prepared)),
        Answer::AllowAlways => thread.grants.allow_by(always),
        Answer::Deny { reason } => return refused_as(call, prepared, Refusal::Declined(reason)),
        Answer::Unanswered { reason } => return refused_as(call, prepared, Refusal::NotAllowed(reason)),
    }
    judged.let_in(prepared.effect, &context.files);
    Admitted::Ready(call, prepared)
}

pub(super) fn refused_as(call: ToolCall, prepared: Box<Prepared>, refusal: Refusal) -> Admitted {
    Admitted::Refused { call, target: prepared.target, refusal }
}

fn facts(call: &ToolCall, prepared: &Prepared) -> Facts {
    Facts {
        tool: prepared.name,
        effect: prepared.effect,
        arguments: without(prepared.access.explaining, &call.arguments),
        access: prepared.access.clone(),
    }
}

/// Arguments without those of these names.
fn without(names: &[&str], arguments: &str) -> String {
    match serde_json::from_str(arguments) {
        Ok(serde_json::Value::Object(mut object)) if names.iter().any(|name| object.contains_key(*name)) => {
            object.retain(|name, _| !names.contains(&name.as_str()));
            serde_json::Value::Object(object).to_string()
        }
        _ => arguments.to_owned(),
    }
}
