//! What a person at the command line is told of the end of a turn, and of what it used.

use crate::{
    agent::OnLimit,
    protocol::{Cost, Fault, Limit, StopReason, Usage, about},
};

/// What a person at the command line can do besides about a bound that leaves room for a request.
const OR_FINAL_ANSWER: &str = ", or --on-limit final_answer";

/// What is said of a turn that reached a bound of the settings.
pub(in crate::cli) fn at_limit(limit: Limit, detail: &str, on_limit: OnLimit) -> String {
    let mark = if on_limit == OnLimit::Error { "error: " } else { "" };
    let advice = advice(limit, on_limit).map(|advice| format!(" (here: {advice})"));
    format!("{mark}{detail}{}", advice.unwrap_or_default())
}

/// What a person at the command line can do about a bound, and has not done yet; `None` for one that nobody set.
fn advice(limit: Limit, on_limit: OnLimit) -> Option<String> {
    let (flag, leaves_room) = match limit {
        Limit::Steps => ("--max-steps N", true),
        Limit::ToolCalls => ("--max-tool-calls N", true),
        Limit::TurnTokens => ("--max-tokens N", false),
        Limit::Time => ("--timeout SECONDS", false),
        Limit::Cost => ("--max-cost DOLLARS", false),
        Limit::OutputTokens
        | Limit::Context
        | Limit::RepeatedCall
        | Limit::ToolErrors
        | Limit::MalformedCalls
        | Limit::UnknownTool => return None,
    };
    let rest = if leaves_room && on_limit != OnLimit::FinalAnswer { OR_FINAL_ANSWER } else { "" };
    Some(format!("{flag}{rest}"))
}

/// What is said of an ending, beside the answer; `None` when the answer says it all.
pub(super) fn ending(stop_reason: StopReason, detail: Option<&str>) -> Option<String> {
    let words = match stop_reason {
        StopReason::Answer => return detail.map(str::to_owned),
        StopReason::Limit(Limit::Steps) => "all steps are used",
        StopReason::Limit(Limit::TurnTokens) => "all tokens of a turn are used",
        StopReason::Limit(Limit::ToolCalls) => "all calls of a turn are used",
        StopReason::Limit(Limit::Time) => "the turn's time is up",
        StopReason::Limit(Limit::Cost) => "the turn costs all that it may",
        StopReason::Limit(Limit::UnknownTool) => "the model called a tool that does not exist",
        StopReason::Limit(Limit::OutputTokens) => "the reply was cut at the server's token limit",
        StopReason::Limit(Limit::Context) => "the thread no longer fits the model's window",
        StopReason::Limit(Limit::RepeatedCall) => "the model asked for the same call again and again",
        StopReason::Limit(Limit::MalformedCalls) => "the model wrote calls that cannot be read",
        StopReason::Limit(Limit::ToolErrors) => "too many calls failed one after the other",
        StopReason::Interrupted => "the reply was interrupted, and is not whole",
        StopReason::Refused => "the model declined",
        StopReason::Cancelled => "cancelled",
        StopReason::Stalled => "the reply stalled, and is not whole",
        StopReason::Malformed => "the reply was malformed",
        StopReason::Filtered => "a content filter cut the answer off",
        StopReason::ProviderError(Fault::Settings) => "the settings cannot work",
        StopReason::ProviderError(_) => "the model server failed",
        StopReason::Empty => "the model ended without a word",
        StopReason::Guardrail => "a hook said no",
    };
    let kind = match stop_reason {
        // As of a turn that did not begin.
        StopReason::ProviderError(_) => "error",
        _ => stop_reason.as_str(),
    };
    // A thread does not go on here.
    let here = match stop_reason {
        StopReason::Limit(Limit::OutputTokens) => " (here: ask in parts, or with a larger max_output_tokens)",
        _ => "",
    };
    Some(format!("{kind}: {}{here}", detail.unwrap_or(words)))
}

/// What the turn came to: for those who pay for it.
pub(super) fn total(steps: u32, usage: &Usage, cost: Cost, is_estimated: bool) -> String {
    let steps = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
    let about = about(is_estimated);
    let (read, written) = (usage.input_tokens, usage.output_tokens);
    format!(" [total] {steps}, {about}{read} tokens in, {about}{written} out, {about}{cost}")
}

/// What a step came to, for those who want all.
pub(super) fn tokens(usage: &Usage, cost: Option<Cost>, is_estimated: bool) -> String {
    let about = about(is_estimated);
    let cost = cost.map(|cost| format!(", {about}{cost}"));
    format!(
        "{about}{} tokens in ({} cached), {about}{} out ({} reasoning){}",
        usage.input_tokens,
        usage.cached_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
        cost.unwrap_or_default()
    )
}
