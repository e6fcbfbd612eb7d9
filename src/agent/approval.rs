//! Consent: a pure policy allows, asks or denies; asking is the face's job; no answer means no.

mod command;
mod destructive;
mod git;
mod grants;
mod ground;
mod guards;
mod network;
mod opened;
mod options;
mod pattern;
mod places;
mod programs;
mod reach;
mod readers;
mod rules;
mod said;
mod scripts;
mod shell;
mod touched;

use std::{path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    tools::{Access, Effect, Extent},
    workspace::{
        FileError,
        place::{Nature, Place},
    },
};

pub use grants::Grants;
pub use ground::Ground;
pub use reach::{Outside, Reach};
pub use rules::{Rule, Rules};

use command::Judge;
use pattern::Holds;
use reach::Named;

/// The setting `approvals`: what goes ahead without a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approvals {
    /// Reading only, and commands that are known to only read; edits and other commands ask.
    None,
    /// The same and staging edits; other commands ask.
    #[default]
    Edits,
    /// Everything but what a rule forbids or asks about.
    All,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Ask {
        /// One short reason, in words that follow "since".
        why: String,
        /// The rules that would cover the same from now on; none when no rule could.
        always: Vec<Rule>,
    },
    Deny {
        /// For the model.
        reason: String,
    },
}

/// Decides by what a call does and touches. Pure: the same call over the same files has the same decision. What is denied
/// beats what asks, and what asks beats what is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalPolicy {
    pub approvals: Approvals,
    pub outside: Outside,
    pub rules: Arc<Rules>,
}

/// What of a call the decision depends on.
#[derive(Clone, Debug)]
pub struct Facts {
    pub tool: &'static str,
    pub effect: Effect,
    /// As the model wrote them, without what only says why.
    pub arguments: String,
    pub access: Access,
}

/// What an approver shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub call_id: String,
    pub tool: &'static str,
    pub effect: Effect,
    /// All of what will be done: the whole command line, the whole path.
    pub preview: String,
    /// Where it leaves the workspace, as `outside the workspace, at /etc/hosts`; no setting of `approvals` allows that.
    pub leading_out: Option<String>,
    /// How and where it is done, as `in the background, in web`; empty where that says nothing.
    pub circumstances: String,
    /// One short reason, in words that follow "since".
    pub why: String,
    /// What `approvals` would have to be at least for it to go ahead unasked; `None` where nothing of it lets that happen.
    pub least: Option<Approvals>,
    /// What [`Answer::AllowAlways`] means; nothing when it cannot be offered.
    pub always: Vec<Rule>,
    /// The folder of the workspace whose project such an answer is kept for; without one none can be offered.
    pub root: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    AllowOnce,
    AllowForThread,
    /// The rules of the question hold from now on; the approver has kept them for other threads.
    AllowAlways,
    /// The reason goes to the model as the call's output.
    Deny {
        reason: String,
    },
    /// Nobody has answered, which means no as well. The reason goes to the model.
    Unanswered {
        reason: String,
    },
}

/// Asks the user. A turn has one question at a time; dropping the future withdraws the question.
pub trait Approver: Send + Sync {
    /// Whatever is not a clear yes is [`Answer::Deny`], and where nobody could say anything (no answer in time, a client
    /// that cannot ask) [`Answer::Unanswered`].
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer>;
}

impl ApprovalPolicy {
    /// About a call that reaches these places. Looks at the disk through `ground` where commands are concerned.
    pub fn decide(&self, facts: &Facts, reach: &Reach, grants: &Grants, ground: &dyn Ground) -> Decision {
        let rules = &*self.rules;
        if let Some(rule) = rules.deny.iter().find(|rule| is_about(rule, facts, reach)) {
            return Decision::Deny { reason: format!("the user's rule `{rule}` forbids it") };
        }
        if let Some(reason) = facts.access.refused.clone().or_else(|| self.withheld(facts, reach)) {
            return Decision::Deny { reason };
        }
        // What goes on without a question is refused by the tool.
        let leads_out = self.outside == Outside::Ask && reach.outside().next().is_some();
        if leads_out && !reach.is_let_out(facts, rules, grants) {
            return Decision::Ask { why: "outside is ask".to_owned(), always: reach.rules(facts) };
        }
        let asking = rules.ask.iter().find(|rule| is_about(rule, facts, reach));
        let is_granted = grants.hold_same(facts) || asking.is_none() && grants.hold_alike(facts);
        if let Some(rule) = asking.filter(|_| !is_granted) {
            return Decision::Ask {
                why: format!("the rule `{rule}` in ask is about it"),
                always: Vec::new(),
            };
        }
        if let Some(why) = facts.access.suspicion.clone()
            && !grants.hold_same(facts)
        {
            return Decision::Ask { why, always: Vec::new() };
        }
        if facts.access.extent == Extent::Below
            && !is_granted
            && let Some(rule) = rules.guarding().find(|rule| may_show(rule, reach))
        {
            return Decision::Ask {
                why: format!("it may show what the rule `{rule}` is about"),
                always: Vec::new(),
            };
        }
        let least = match facts.effect {
            Effect::Read | Effect::Stop => Approvals::None,
            Effect::Edit => Approvals::Edits,
            Effect::Execute | Effect::Network => Approvals::All,
        };
        let is_ruled = rules.allow.iter().chain(&grants.rules).any(|rule| covers(rule, facts, reach))
            || leads_out && reach.is_all(|place| matches!(place, Place::Outside { .. }));
        let is_allowed = self.approvals >= least || is_ruled;
        if let Some(command) = &facts.access.command {
            let is_held = facts.access.is_held;
            let hides_secrets = facts.access.hides_secrets;
            let judge =
                Judge { policy: self, grants, ground, is_granted, is_allowed, is_held, hides_secrets };
            let decision = judge.decide(command);
            // A rule and `approvals` speak of commands as they run in the sandbox; this call alone may have been allowed.
            let is_known = grants.hold_same(facts);
            return match decision {
                Decision::Allow | Decision::Ask { .. } if facts.access.leaves_sandbox && !is_known => {
                    Decision::Ask { why: "leaving the sandbox always asks".to_owned(), always: Vec::new() }
                }
                decision => decision,
            };
        }
        if is_allowed || is_granted {
            return Decision::Allow;
        }
        let approvals = match self.approvals {
            Approvals::None => "none",
            Approvals::Edits => "edits",
            Approvals::All => "all",
        };
        let host = facts.access.host.as_deref();
        let always = host.and_then(Rule::of_host).into_iter().collect();
        Decision::Ask { why: format!("approvals is {approvals}"), always }
    }

    /// The least `approvals` with which a call would go ahead without a question.
    pub fn least(
        &self,
        facts: &Facts,
        reach: &Reach,
        grants: &Grants,
        ground: &dyn Ground,
    ) -> Option<Approvals> {
        [Approvals::None, Approvals::Edits, Approvals::All].into_iter().find(|approvals| {
            let policy = Self { approvals: *approvals, ..self.clone() };
            policy.decide(facts, reach, grants, ground) == Decision::Allow
        })
    }

    /// Why a file is never read or edited, whatever is allowed: the same texts as the tools' own.
    fn withheld(&self, facts: &Facts, reach: &Reach) -> Option<String> {
        reach.named().iter().find_map(|Named { written, place }| {
            let (nature, is_withheld) = match place {
                Place::Inside { nature, .. } => (nature, facts.effect == Effect::Edit),
                Place::Outside { nature, .. } => (nature, self.outside == Outside::Ask),
            };
            let error = match nature {
                Nature::Secret if is_withheld => FileError::Secret(written.clone()),
                Nature::Protected if is_withheld && facts.effect == Effect::Edit => {
                    FileError::Protected(written.clone())
                }
                Nature::Secret | Nature::Protected | Nature::Plain | Nature::RunUnasked => return None,
            };
            Some(error.to_string())
        })
    }
}

/// Whether a rule that forbids or asks is about a call, commands aside.
fn is_about(rule: &Rule, facts: &Facts, reach: &Reach) -> bool {
    is_about_all(rule, facts) || reach.places().any(|place| is_about_place(rule, facts, place))
}

/// Whether a rule allows a call, commands aside.
fn covers(rule: &Rule, facts: &Facts, reach: &Reach) -> bool {
    is_about_all(rule, facts) || reach.is_all(|place| is_about_place(rule, facts, place))
}

fn is_about_all(rule: &Rule, facts: &Facts) -> bool {
    let host = facts.access.host.as_deref();
    rule.covers_tool(facts.tool)
        || rule.covers_effect(facts.effect)
        || host.is_some_and(|host| rule.covers_host(host))
}

fn is_about_place(rule: &Rule, facts: &Facts, place: &Place) -> bool {
    match place {
        Place::Inside { relative, real, .. } => rule.covers_path(facts.effect, Some(relative), real),
        Place::Outside { real, .. } => rule.covers_path(facts.effect, None, real),
    }
}

/// Whether what a call shows below its folders may be what a rule is about.
fn may_show(rule: &Rule, reach: &Reach) -> bool {
    let is_below = |place: &Place| match place {
        Place::Inside { relative, real, .. } => rule.lies_below(Some(relative), real) != Holds::No,
        Place::Outside { real, .. } => rule.lies_below(None, real) != Holds::No,
    };
    rule.is_about_reading() && (!reach.is_all(|_| true) || reach.places().any(is_below))
}

#[cfg(test)]
mod tests;
