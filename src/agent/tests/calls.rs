//! Calls: whose turn it is, who allows them, and what they answer.

use super::*;

// SPEC E1, E3, E4, E5, E7
#[tokio::test]
async fn whatever_is_wrong_with_a_call_is_its_output() {
    let script = vec![
        reply([
            call("1", "mul", "{}"),
            call("2", "add", "{oops"),
            call("3", "add", r#"{"a":"two","b":2}"#),
            call("4", "add", ""),
            call("5", "add", r#"{"a":666,"b":2}"#),
        ]),
        reply([text("sorry")]),
    ];
    check(
        script,
        expect![[r#"
            user: 2+2?
            call: mul {}
            call: add {oops
            call: add {"a":"two","b":2}
            call: add 
            call: add {"a":666,"b":2}
            error: there is no tool named mul; use one of: add, execute, look, recite, say_nothing
            error: the arguments of add do not fit its schema: key must be a string at line 1 column 2 (byte 1, near "{oops")
            error: the arguments of add do not fit its schema: a: invalid type: string "two", expected i64; its arguments are {a: integer, b: integer}
            error: the arguments of add do not fit its schema: missing field `a`; its arguments are {a: integer, b: integer}
            error: add broke down (a fault in askls, not in your call); try another way
            agent: sorry
            => answer
        "#]],
    )
    .await;
}

// SPEC L3, L4
#[tokio::test(start_paused = true)]
async fn readers_run_side_by_side_and_answer_in_call_order() {
    let calls =
        [300, 200, 100, 250].map(|ms| call(&ms.to_string(), "look", &format!(r#"{{"milliseconds":{ms}}}"#)));
    let mut bench = Bench::new(Scripted::new(vec![reply(calls), reply([text("ok")])]), Answer::AllowOnce);
    let start = tokio::time::Instant::now();
    bench.ask("look").await;
    assert_eq!(start.elapsed(), Duration::from_millis(300));
    expect![[r#"
        user: look
        call: look {"milliseconds":300}
        call: look {"milliseconds":200}
        call: look {"milliseconds":100}
        call: look {"milliseconds":250}
        output: looked 300
        output: looked 200
        output: looked 100
        output: looked 250
        agent: ok
    "#]]
    .assert_eq(&bench.history());
}

/// Prints a line each 120 milliseconds.
struct Print;

impl Tool for Print {
    const NAME: &'static str = "print";
    const EFFECT: Effect = Effect::Read;
    type Args = Wait;

    fn target(args: &Wait) -> String {
        args.milliseconds.to_string()
    }

    async fn run(&self, args: Wait, context: ToolContext) -> Result<String, ToolError> {
        for number in 0..args.milliseconds / 120 {
            context.printed.push(&format!("{number}\n"), "…");
            tokio::time::sleep(Duration::from_millis(120)).await;
        }
        Ok("printed".to_owned())
    }
}

// SPEC C1
#[tokio::test(start_paused = true)]
async fn what_a_call_prints_is_shown_while_it_runs_and_not_too_often() {
    let script = vec![
        reply([call("1", "print", r#"{"milliseconds":720}"#), call("2", "print", r#"{"milliseconds":240}"#)]),
        reply([text("ok")]),
    ];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    bench.agent.tools = bench.agent.tools.clone().with(Print);
    bench.ask("print").await;
    let events = bench.events.0.lock().unwrap();
    let shown: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::ToolOutput { call_id, text, unfinished, .. } => {
                Some(format!("{call_id}: {} {unfinished}", text.replace('\n', " ")))
            }
            Event::ToolEnded { call_id, .. } => Some(format!("{call_id} ended")),
            _ => None,
        })
        .collect();
    assert_eq!(shown, ["2 ended", "1: 0 1 2  …", "1: 3 4  …", "1: 5  …", "1 ended"]);
}

/// Waits for something.
struct Await;

impl Tool for Await {
    const NAME: &'static str = "await";
    const EFFECT: Effect = Effect::Read;
    type Args = Wait;

    fn target(args: &Wait) -> String {
        args.milliseconds.to_string()
    }

    fn waits(args: &Wait) -> bool {
        args.milliseconds > 0
    }

    async fn run(&self, _args: Wait, _context: ToolContext) -> Result<String, ToolError> {
        Ok("not yet".to_owned())
    }
}

#[tokio::test]
async fn to_wait_again_is_no_loop_and_to_ask_again_without_a_wait_is_one() {
    for (milliseconds, stop_reason) in [(10, StopReason::Answer), (0, StopReason::Limit(Limit::RepeatedCall))]
    {
        let arguments = format!(r#"{{"milliseconds":{milliseconds}}}"#);
        let mut script: Vec<_> = (0..9).map(|n| reply([call(&n.to_string(), "await", &arguments)])).collect();
        script.push(reply([text("there")]));
        let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
        bench.agent.tools = bench.agent.tools.clone().with(Await);
        assert_eq!(bench.ask("wait").await.stop_reason, stop_reason);
    }
}

// SPEC L4, L5
#[tokio::test(start_paused = true)]
async fn calls_that_change_things_run_one_at_a_time() {
    let calls =
        [10, 20, 30].map(|ms| call(&ms.to_string(), "execute", &format!(r#"{{"milliseconds":{ms}}}"#)));
    let mut bench = Bench::new(Scripted::new(vec![reply(calls), reply([text("ok")])]), Answer::AllowOnce);
    let start = tokio::time::Instant::now();
    bench.ask("run").await;
    assert_eq!((start.elapsed(), bench.ran.load(Ordering::SeqCst)), (Duration::from_millis(60), 3));
}

// SPEC A3
#[tokio::test]
async fn a_denied_call_does_not_run_and_its_reason_reaches_the_model() {
    let script = vec![
        reply([call("1", "execute", r#"{"milliseconds":0}"#), call("2", "add", r#"{"a":1,"b":1}"#)]),
        reply([text("understood")]),
    ];
    let mut bench = Bench::new(Scripted::new(script), Answer::Deny { reason: "not on Mondays".to_owned() });
    bench.ask("run").await;
    assert_eq!(bench.ran.load(Ordering::SeqCst), 0);
    expect![[r#"
        user: run
        call: execute {"milliseconds":0}
        call: add {"a":1,"b":1}
        error: this call was not allowed and did not run: not on Mondays
        output: 2
        agent: understood
    "#]]
    .assert_eq(&bench.history());
}

#[tokio::test]
async fn a_question_that_nobody_answers_is_a_wall_and_a_no_is_none() {
    let run = |n: u32| reply([call(&n.to_string(), "execute", &format!(r#"{{"milliseconds":{n}}}"#))]);
    for (answer, stop_reason) in [
        (Answer::Deny { reason: "no".to_owned() }, StopReason::Answer),
        (Answer::Unanswered { reason: "nobody is there".to_owned() }, StopReason::Limit(Limit::ToolErrors)),
    ] {
        let script = (1..=8).map(run).chain([reply([text("then not")])]).collect();
        let mut bench = Bench::new(Scripted::new(script), answer);
        assert_eq!(bench.ask("run").await.stop_reason, stop_reason);
        assert_eq!(bench.ran.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn what_the_user_has_just_said_no_to_is_not_asked_again() {
    let run = |id: &str| call(id, "execute", r#"{"milliseconds":0}"#);
    let script = vec![reply([run("1")]), reply([run("2")]), reply([text("understood")])];
    let mut bench = Bench::new(Scripted::new(script), Answer::Deny { reason: "the user said no".to_owned() });
    bench.ask("run").await;
    assert_eq!(bench.approver.1.load(Ordering::SeqCst), 1);
    expect![[r#"
        user: run
        call: execute {"milliseconds":0}
        error: this call was not allowed and did not run: the user said no
        call: execute {"milliseconds":0}
        error: the user has just said no to this very call to execute, and is not asked again at once; do something else, or tell them what it is needed for
        agent: understood
    "#]]
    .assert_eq(&bench.history());
}

// SPEC A4
#[tokio::test]
async fn a_call_allowed_for_the_thread_is_not_asked_about_again_but_another_one_is() {
    let run = |id: &str, ms: u32| call(id, "execute", &format!(r#"{{"milliseconds":{ms}}}"#));
    let script = vec![
        reply([run("1", 0)]),
        reply([run("2", 0)]),
        reply([text("twice")]),
        reply([run("3", 0), run("4", 1)]),
        reply([text("and more")]),
    ];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowForThread);
    bench.ask("run").await;
    bench.ask("again").await;
    let asked = bench.approver.1.load(Ordering::SeqCst);
    assert_eq!((asked, bench.ran.load(Ordering::SeqCst)), (2, 4));
}

// SPEC C7, C9
#[tokio::test(start_paused = true)]
async fn cancelling_in_a_call_ends_soon_with_every_call_answered() {
    let calls =
        [call("1", "execute", r#"{"milliseconds":60000}"#), call("2", "execute", r#"{"milliseconds":1}"#)];
    let script = vec![reply(calls), reply([text("back again")])];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    let cancel = bench.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    let start = tokio::time::Instant::now();
    let result = bench.ask("run").await;
    assert!(start.elapsed() < Duration::from_secs(2));
    expect![[r#"
        user: run
        call: execute {"milliseconds":60000}
        call: execute {"milliseconds":1}
        error: execute was cancelled before it ended; what it started on its own may still run
        error: this call did not run: the turn ended before it was its turn
        => cancelled: stopped by the user
    "#]]
    .assert_eq(&(bench.history() + &ending(&result)));

    bench.cancel = CancellationToken::new();
    assert_eq!(bench.ask("go on").await.answer, "back again");
}

// SPEC E9
#[tokio::test]
async fn an_output_without_a_word_says_so() {
    check(
        vec![reply([call("1", "say_nothing", "{}")]), reply([text("fine")])],
        expect![[r#"
            user: 2+2?
            call: say_nothing {}
            output: (no output)
            agent: fine
            => answer
        "#]],
    )
    .await;
}

// SPEC E10
#[tokio::test]
async fn a_call_sent_twice_runs_once_and_calls_of_one_id_each_run() {
    let run = |ms: u32| call("0", "execute", &format!(r#"{{"milliseconds":{ms}}}"#));
    let script = vec![reply([run(0), run(0), run(1)]), reply([run(2)]), reply([text("ran")])];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    bench.ask("run").await;
    assert_eq!(bench.ran.load(Ordering::SeqCst), 3);
}

// SPEC L7
#[tokio::test]
async fn calls_run_whatever_the_server_calls_the_end() {
    for finish in [Finish::Stop, Finish::Pause] {
        let first = call("1", "add", r#"{"a":2,"b":2}"#).into_iter().chain(done(finish));
        let mut bench =
            Bench::new(Scripted::new(vec![Ok(first.collect()), reply([text("4")])]), Answer::AllowOnce);
        assert_eq!((bench.ask("2+2?").await.answer.as_str(), bench.model.requests()), ("4", 2));
    }
}
