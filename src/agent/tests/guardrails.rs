//! Hooks of the user: what they are asked, and what becomes of what they do not let pass.

use serde_json::{Value, json};

use super::*;
use crate::{
    agent::guardrails::{Asked, Verdict},
    protocol::HookKind,
    tools::hook::HookFault,
};

type Judge = Box<dyn Fn(&str) -> Result<Verdict, HookFault> + Send + Sync>;

/// Decides by the JSON of what it is asked, and keeps that.
struct Decides {
    name: &'static str,
    kind: HookKind,
    /// Of which calls it is asked; `None` for all.
    tool: Option<&'static str>,
    judge: Judge,
    asked: Mutex<Vec<String>>,
}

impl Decides {
    fn new(
        name: &'static str,
        kind: HookKind,
        judge: impl Fn(&str) -> Result<Verdict, HookFault> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::new_of(None, name, kind, judge)
    }

    fn new_of(
        tool: Option<&'static str>,
        name: &'static str,
        kind: HookKind,
        judge: impl Fn(&str) -> Result<Verdict, HookFault> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { name, kind, tool, judge: Box::new(judge), asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Guard for Decides {
    fn name(&self) -> &str {
        self.name
    }

    fn watches(&self, kind: HookKind, tool: Option<&str>) -> bool {
        self.kind == kind && (self.tool.is_none() || self.tool == tool)
    }

    fn judge<'a>(
        &'a self,
        asked: Asked<'a>,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Verdict, HookFault>> {
        let matter = serde_json::to_string(asked.matter).unwrap();
        let verdict = (self.judge)(&matter);
        self.asked.lock().unwrap().push(matter);
        std::future::ready(verdict).boxed()
    }
}

fn deny(reason: &str) -> Result<Verdict, HookFault> {
    Ok(Verdict::Deny { reason: Some(reason.to_owned()) })
}

fn replace(value: impl Into<Value>) -> Result<Verdict, HookFault> {
    Ok(Verdict::Replace(value.into()))
}

fn bench(script: Vec<Step>, hooks: &[Arc<Decides>]) -> Bench {
    let guards = hooks.iter().map(|hook| Arc::clone(hook) as Arc<dyn Guard>);
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    bench.guardrails = Guardrails::new(guards);
    bench
}

/// One turn under the hooks: the history, what was shown, and the ending.
async fn check(script: Vec<Step>, hooks: &[Arc<Decides>], expected: Expect) {
    let mut bench = bench(script, hooks);
    let result = bench.ask("2+2?").await;
    expected.assert_eq(&format!("{}--\n{}{}", bench.history(), bench.shown(), ending(&result)));
}

fn add() -> Vec<Result<ModelEvent, ModelError>> {
    call("1", "add", r#"{"a":2,"b":2}"#)
}

// SPEC A7
#[tokio::test]
async fn a_question_that_is_denied_is_never_sent_and_the_next_one_is() {
    let hook = Decides::new("no names", HookKind::Input, |asked| {
        if asked.contains("Miller") { deny("a name") } else { Ok(Verdict::Allow) }
    });
    let mut bench = bench(vec![reply([text("4")])], &[hook]);
    let denied = bench.ask("what owes Miller?").await;
    expect![[r#"
        => guardrail: the question was not sent: no names said no: a name
    "#]]
    .assert_eq(&ending(&denied));
    assert_eq!((bench.model.requests(), denied.steps), (0, 0));

    let next = bench.ask("2+2?").await;
    assert_eq!(next.stop_reason, StopReason::Answer);
    expect![[r#"
        user: 2+2?
    "#]]
    .assert_eq(&bench.model.request(1));
}

// SPEC A7
#[tokio::test]
async fn what_the_model_should_have_heard_with_a_denied_question_it_hears_with_the_next() {
    let hook = Decides::new("picky", HookKind::Input, |asked| {
        if asked.contains("first") { deny("no") } else { Ok(Verdict::Allow) }
    });
    let mut bench = bench(vec![reply([text("ok")])], &[hook]);
    let context = bench.context();
    for (prompt, news) in [("first", "a.rs was rejected"), ("second", "b.rs was applied")] {
        let input =
            UserInput { prompt: prompt.to_owned(), news: vec![news.to_owned()], ..UserInput::default() };
        bench.agent.run_turn(&mut bench.thread, input, &context).await;
    }
    let requests = bench.model.requests.lock().unwrap();
    let Some(Item::User(message)) = requests[0].items.first() else { panic!("no question") };
    expect![[r#"
        <context>
        a.rs was rejected
        b.rs was applied
        </context>"#]]
    .assert_eq(message.context.as_deref().unwrap());
}

// SPEC A7
#[tokio::test]
async fn a_question_that_is_replaced_is_sent_as_the_hooks_made_it_one_after_the_other() {
    let first = Decides::new("first", HookKind::Input, |_| replace("3+3?"));
    let second =
        Decides::new("second", HookKind::Input, |asked| replace(format!("{} and why?", asked.len())));
    check(
        vec![reply([text("4")])],
        &[first, Arc::clone(&second)],
        expect![[r#"
            user: 30 and why?
            agent: 4
            --
            first: replaced input
            second: replaced input
            step 1
            text: 4
            used: 10 2
            => answer
        "#]],
    )
    .await;
    assert_eq!(second.asked(), [r#"{"kind":"input","text":"3+3?"}"#]);
}

// SPEC A7
#[tokio::test]
async fn the_first_no_ends_it() {
    let first = Decides::new("first", HookKind::Input, |_| deny("no"));
    let second = Decides::new("second", HookKind::Input, |_| Ok(Verdict::Allow));
    bench(vec![], &[first, Arc::clone(&second)]).ask("2+2?").await;
    assert_eq!(second.asked(), [] as [&str; 0]);
}

// SPEC A7
#[tokio::test]
async fn a_call_that_is_denied_does_not_run_and_the_calls_beside_it_do() {
    let hook = Decides::new("no commands", HookKind::Tool, |asked| {
        if asked.contains("execute") { deny("not here") } else { Ok(Verdict::Allow) }
    });
    let calls = [add(), call("2", "execute", r#"{"milliseconds":0}"#), call("3", "say_nothing", "")];
    let mut bench = bench(vec![reply(calls), reply([text("ok")])], &[Arc::clone(&hook)]);
    bench.ask("2+2?").await;
    expect![[r#"
        user: 2+2?
        call: add {"a":2,"b":2}
        call: execute {"milliseconds":0}
        call: say_nothing 
        output: 4
        error: this call was not allowed and did not run: no commands said no: not here
        output: (no output)
        agent: ok
    "#]]
    .assert_eq(&bench.history());
    assert_eq!((bench.ran.load(Ordering::SeqCst), bench.approver.1.load(Ordering::SeqCst)), (0, 0));
    expect![[r#"
        {"kind":"tool","tool":"add","arguments":{"a":2,"b":2}}
        {"kind":"tool","tool":"execute","arguments":{"milliseconds":0}}
        {"kind":"tool","tool":"say_nothing","arguments":{}}"#]]
    .assert_eq(&hook.asked().join("\n"));
}

// SPEC A7
#[tokio::test]
async fn replaced_arguments_are_parsed_anew_and_told_to_both_sides() {
    let hook = Decides::new("doubler", HookKind::Tool, |_| replace(json!({"a": 20, "b": 2})));
    check(
        vec![reply([add()]), reply([text("22")])],
        &[hook],
        expect![[r#"
            user: 2+2?
            call: add {"a":2,"b":2}
            output: 22
            note: a hook of the user replaced the arguments of this call by {"a":20,"b":2}
            agent: 22
            --
            step 1
            used: 10 2
            doubler: replaced tool
            tool: add {"a":20,"b":2}
            step 2
            text: 22
            used: 20 4
            => answer
        "#]],
    )
    .await;
    let unfit = Decides::new("fumbler", HookKind::Tool, |_| replace(json!({"a": "x"})));
    check(
        vec![reply([add()]), reply([text("?")])],
        &[unfit],
        expect![[r#"
            user: 2+2?
            call: add {"a":2,"b":2}
            error: a hook of the user replaced the arguments of this call, and the arguments of add do not fit its schema: a: invalid type: string "x", expected i64; its arguments are {a: integer, b: integer}
            agent: ?
            --
            step 1
            used: 10 2
            fumbler: replaced tool
            tool: add {"a":"x"}
            step 2
            text: ?
            used: 20 4
            => answer
        "#]],
    )
    .await;
}

#[tokio::test]
async fn what_an_output_is_replaced_by_is_told_without_keys() {
    let key = ["ghp_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    let hook = Decides::new("leaker", HookKind::ToolOutput, move |_| replace(format!("it is {key}")));
    check(
        vec![reply([add()]), reply([text("ok")])],
        &[hook],
        expect![[r#"
            user: 2+2?
            call: add {"a":2,"b":2}
            output: it is <key hidden by askls>
            agent: ok
            --
            step 1
            used: 10 2
            tool: add {"a":2,"b":2}
            leaker: replaced tool_output
            step 2
            text: ok
            used: 20 4
            => answer
        "#]],
    )
    .await;
}

// SPEC A7
#[tokio::test]
async fn an_output_that_is_withheld_or_replaced_does_not_reach_the_model() {
    let calls = || reply([add(), call("2", "add", r#"{"a":3,"b":3}"#)]);
    let hook = Decides::new("censor", HookKind::ToolOutput, |asked| {
        if asked.contains(r#""output":"4""#) { deny("no fours") } else { replace("many") }
    });
    check(
        vec![calls(), reply([text("ok")])],
        &[Arc::clone(&hook)],
        expect![[r#"
            user: 2+2?
            call: add {"a":2,"b":2}
            call: add {"a":3,"b":3}
            error: the call ran, and its output is withheld: censor said no: no fours
            output: many
            agent: ok
            --
            step 1
            used: 10 2
            tool: add {"a":2,"b":2}
            censor: denied tool_output
            tool: add {"a":3,"b":3}
            censor: replaced tool_output
            step 2
            text: ok
            used: 20 4
            => answer
        "#]],
    )
    .await;
    assert_eq!(
        hook.asked()[0],
        r#"{"kind":"tool_output","tool":"add","arguments":{"a":2,"b":2},"output":"4","is_error":false}"#
    );
}

// SPEC A7
#[tokio::test]
async fn a_hook_of_a_tool_sees_its_output_whichever_call_shows_it() {
    let hook = Decides::new_of(Some("add"), "censor", HookKind::ToolOutput, |_| deny("no sums"));
    let script =
        vec![reply([call("1", "added_before", "{}"), call("2", "say_nothing", "{}")]), reply([text("ok")])];
    let mut bench = bench(script, &[Arc::clone(&hook)]);
    bench.agent.tools = bench.agent.tools.clone().with(AddedBefore);
    bench.ask("2+2?").await;
    expect![[r#"
        user: 2+2?
        call: added_before {}
        call: say_nothing {}
        error: the call ran, and its output is withheld: censor said no: no sums
        output: (no output)
        agent: ok
    "#]]
    .assert_eq(&bench.history());
    assert_eq!(
        hook.asked(),
        [
            r#"{"kind":"tool_output","tool":"added_before","arguments":{},"output":"4","is_error":false,"repeats":"add"}"#
        ]
    );
}

// SPEC A7
#[tokio::test]
async fn nothing_of_an_answer_that_is_withheld_is_shown_or_kept() {
    let hook = Decides::new("no fours", HookKind::Output, |asked| {
        if asked.contains("four") { deny("a four") } else { Ok(Verdict::Allow) }
    });
    let thought = vec![Ok(ModelEvent::ReasoningDelta("it is four".to_owned()))];
    let script = vec![
        reply([text("I add."), add()]),
        reply([thought, text("it is "), text("four")]),
        reply([text("I may not say.")]),
    ];
    let mut bench = bench(script, &[Arc::clone(&hook)]);
    let result = bench.ask("2+2?").await;
    assert_eq!(result.answer, "");
    expect![[r#"
        user: 2+2?
        agent: I add.
        call: add {"a":2,"b":2}
        output: 4
        agent: [What I said here was withheld from the user: no fours said no: a four]
        --
        step 1
        used: 10 2
        text: I add.
        tool: add {"a":2,"b":2}
        step 2
        used: 20 4
        no fours: denied output
        => guardrail: the answer was withheld: no fours said no: a four
    "#]]
    .assert_eq(&format!("{}--\n{}{}", bench.history(), bench.shown(), ending(&result)));
    expect![[r#"
        {"kind":"output","text":"I add.","is_last":false}
        {"kind":"output","text":"it is \n\nfour","is_last":true}"#]]
    .assert_eq(&hook.asked().join("\n"));
    assert_eq!(bench.ask("and?").await.answer, "I may not say.");
}

// SPEC A7
#[tokio::test]
async fn an_answer_that_is_replaced_is_shown_and_kept_as_the_hook_made_it() {
    let hook = Decides::new("polite", HookKind::Output, |_| replace("It is 4, please."));
    check(
        vec![reply([text("4"), text("!")])],
        &[hook],
        expect![[r#"
            user: 2+2?
            agent: It is 4, please.
            --
            step 1
            used: 10 2
            polite: replaced output
            text: It is 4, please.
            => answer
        "#]],
    )
    .await;
}

/// What was shown of it without a hook would be void; with one nothing was shown.
// SPEC A7
#[tokio::test(start_paused = true)]
async fn of_a_reply_that_breaks_off_nothing_is_shown_that_no_hook_has_seen() {
    let hook = Decides::new("all well", HookKind::Output, |_| Ok(Verdict::Allow));
    check(
        vec![broken_off([text("half")]), reply([text("whole")])],
        &[hook],
        expect![[r#"
            user: 2+2?
            agent: whole
            --
            step 1
            retrying, 2 of 6: the reply broke off: the connection closed
            used: 10 2
            text: whole
            => answer
        "#]],
    )
    .await;
}

// SPEC A7
#[tokio::test]
async fn a_hook_that_fails_has_said_no_to_everything() {
    for kind in HookKind::ALL {
        let failed = |_: &str| Err(HookFault::Failed("it ended with exit status: 1".to_owned()));
        let calls = reply([call("1", "execute", r#"{"milliseconds":0}"#)]);
        let mut bench = bench(vec![calls, reply([text("ok")])], &[Decides::new("broken", kind, failed)]);
        let result = bench.ask("go").await;
        let told = bench.events.0.lock().unwrap().iter().any(|event| {
            matches!(event, Event::HookActed { reason: Some(reason), .. } if reason == "it ended with exit status: 1")
        });
        assert!(told, "{kind}");
        // What it wrote as its error is for people: what may not pass may stand in it.
        let history = bench.history();
        assert!(!history.contains("exit status"), "{kind}: {history}");
        let is_in_history = history.contains("broken failed, which counts as a no");
        assert_eq!(is_in_history, kind != HookKind::Input, "{kind}: {history}");
        let is_before = matches!(kind, HookKind::Input | HookKind::Tool);
        assert_eq!(bench.ran.load(Ordering::SeqCst), usize::from(!is_before), "{kind}");
        let reason = if kind.is_of_calls() { StopReason::Answer } else { StopReason::Guardrail };
        assert_eq!(result.stop_reason, reason, "{kind}");
    }
}

// SPEC A7
#[tokio::test]
async fn a_replacement_that_cannot_stand_there_is_a_no() {
    for (kind, value) in [
        (HookKind::Input, json!(" ")),
        (HookKind::Input, json!({})),
        (HookKind::Tool, json!("{}")),
        (HookKind::ToolOutput, json!(4)),
        (HookKind::Output, json!("")),
    ] {
        let shown = value.to_string();
        let hook = Decides::new("odd", kind, move |_| replace(value.clone()));
        let mut bench = bench(vec![reply([add()]), reply([text("ok")])], &[hook]);
        let result = bench.ask("2+2?").await;
        let said = format!("{}{}", bench.history(), ending(&result));
        assert!(said.contains("odd failed, which counts as a no"), "{kind} {shown}: {said}");
    }
}

// SPEC A7
#[tokio::test]
async fn a_turn_that_is_cancelled_while_a_hook_thinks_is_cancelled() {
    for kind in HookKind::ALL {
        let script = vec![reply([add()]), reply([text("ok")])];
        let mut bench = bench(script, &[]);
        let cancel = bench.cancel.clone();
        let hook = Decides::new("slow", kind, move |_| {
            cancel.cancel();
            Err(HookFault::Cancelled)
        });
        bench.guardrails = Guardrails::new([hook as Arc<dyn Guard>]);
        let result = bench.ask("2+2?").await;
        assert_eq!((result.stop_reason, result.answer.as_str()), (StopReason::Cancelled, ""), "{kind}");
        // Before the answer there was a call, whose output nobody looked at.
        let is_answered = bench.history().contains("output: 4");
        assert_eq!(is_answered, kind == HookKind::Output, "{kind}: {}", bench.history());
    }
}
