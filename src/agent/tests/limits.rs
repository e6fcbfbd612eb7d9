//! Turns that reach a bound.

use super::*;

// SPEC L8, L9, L10, L12
#[tokio::test]
async fn a_turn_that_uses_up_its_steps_ends_with_that_limit_and_a_thread_that_goes_on() {
    let again =
        |n: i32| reply([text("looking"), call(&n.to_string(), "add", &format!(r#"{{"a":{n},"b":0}}"#))]);
    let mut bench =
        Bench::new(Scripted::new(vec![again(1), again(2), reply([text("three")])]), Answer::AllowOnce);
    bench.agent.limits = Limits { max_steps: 2, on_limit: OnLimit::Message, ..Limits::default() };
    let result = bench.ask("count").await;
    expect![[r#"
        => limit steps: stopped after 2 steps, the limit of max_steps (the last tool was add); raise max_steps, or ask to go on
    "#]]
    .assert_eq(&ending(&result));
    assert_eq!((bench.model.requests(), result.answer.as_str()), (2, "looking"));
    assert_eq!(bench.ask("go on").await.answer, "three");
}

// SPEC L11
#[tokio::test]
async fn a_final_answer_is_one_more_request_in_which_no_tool_may_be_called() {
    let again = |n: i32| reply([call(&n.to_string(), "add", &format!(r#"{{"a":{n},"b":0}}"#))]);
    let limits = Limits { max_steps: 2, on_limit: OnLimit::FinalAnswer, ..Limits::default() };
    let mut bench =
        Bench::new(Scripted::new(vec![again(1), again(2), reply([text("so far: 2")])]), Answer::AllowOnce);
    bench.agent.limits = limits.clone();
    let result = bench.ask("count").await;
    assert_eq!(
        (result.answer.as_str(), result.stop_reason, result.steps),
        ("so far: 2", StopReason::Answer, 3)
    );
    assert_eq!(bench.model.tool_choices()[2], "None");

    let mut bench = Bench::new(Scripted::new(vec![again(1), again(2), again(3)]), Answer::AllowOnce);
    bench.agent.limits = limits;
    let result = bench.ask("count").await;
    expect![[r#"
        user: count
        call: add {"a":1,"b":0}
        output: 1
        call: add {"a":2,"b":0}
        output: 2
        call: add {"a":3,"b":0}
        error: this call did not run: the turn ended before it was its turn
        => limit steps: stopped after 2 steps, the limit of max_steps (the last tool was add), and no final answer came
    "#]]
    .assert_eq(&(bench.history() + &ending(&result)));
}

// SPEC L15
#[tokio::test]
async fn the_third_same_call_in_a_row_is_refused_and_the_fifth_ends_the_turn() {
    let same = |n: i32| reply([call(&n.to_string(), "add", r#"{"a":1,"b":1}"#)]);
    check(
        (1..=5).map(same).collect(),
        expect![[r#"
            user: 2+2?
            call: add {"a":1,"b":1}
            output: 2
            call: add {"a":1,"b":1}
            output: 2
            call: add {"a":1,"b":1}
            error: this is the same call to add as the 2 before it, so it was not run again; use what it answered, or do something else
            call: add {"a":1,"b":1}
            error: this is the same call to add as the 3 before it, so it was not run again; use what it answered, or do something else
            call: add {"a":1,"b":1}
            error: this is the same call to add as the 4 before it, so it was not run again; use what it answered, or do something else
            => limit repeated_call: stopped: the model made the same call to add 5 times in a row
        "#]],
    )
    .await;
}

// SPEC L14
#[tokio::test]
async fn three_steps_that_fail_the_same_way_end_the_turn() {
    let failing = |n: i32| reply([call(&n.to_string(), "add", &format!(r#"{{"a":{n}}}"#))]);
    let mut bench = Bench::new(Scripted::new((1..=3).map(failing).collect()), Answer::AllowOnce);
    let result = bench.ask("add").await;
    expect![[r#"
        => limit tool_errors: stopped: add failed the same way in 3 steps one after the other: the arguments of add do not fit its schema: missing field `b`; its arguments are {a: integer, b: integer}
    "#]].assert_eq(&ending(&result));
}

// SPEC L14, L15
#[tokio::test]
async fn a_call_that_fails_each_time_ends_the_turn_at_the_third() {
    let same = |n: i32| reply([call(&n.to_string(), "add", r#"{"a":666,"b":1}"#)]);
    check((1..=3).map(same).collect(), expect![[r#"
        user: 2+2?
        call: add {"a":666,"b":1}
        error: add broke down (a fault in askls, not in your call); try another way
        call: add {"a":666,"b":1}
        error: add broke down (a fault in askls, not in your call); try another way
        call: add {"a":666,"b":1}
        error: this is the same call to add as the 2 before it, so it was not run again; use what it answered, or do something else
        => limit tool_errors: stopped: add failed the same way in 3 steps one after the other: add broke down (a fault in askls, not in your call); try another way
    "#]]).await;
}

// SPEC L14
#[tokio::test]
async fn six_failed_calls_in_a_row_end_the_turn() {
    let failing = |n: i32| reply([call(&n.to_string(), "add", &format!(r#"{{"a":"{n}","b":1}}"#))]);
    let mut bench = Bench::new(Scripted::new((1..=6).map(failing).collect()), Answer::AllowOnce);
    let result = bench.ask("add").await;
    assert_eq!(ending(&result), "=> limit tool_errors: stopped: the last 6 calls all failed\n");
}

#[tokio::test]
async fn calls_that_fail_in_one_step_are_one_mistake() {
    let failing = (1..=8).map(|n| call(&n.to_string(), "add", &format!(r#"{{"a":{n}}}"#)));
    let mut bench =
        Bench::new(Scripted::new(vec![reply(failing), reply([text("I see")])]), Answer::AllowOnce);
    assert_eq!(bench.ask("add").await.answer, "I see");
}

// SPEC L14
#[tokio::test]
async fn who_gets_on_may_fail_now_and_then() {
    let failing = |n: i32| reply([call(&n.to_string(), "add", r#"{"a":1}"#)]);
    let working = |n: i32| reply([call(&n.to_string(), "add", &format!(r#"{{"a":{n},"b":1}}"#))]);
    let script =
        [1, 3, 5, 7].into_iter().flat_map(|n| [failing(n), working(n + 1)]).chain([reply([text("so")])]);
    let mut bench = Bench::new(Scripted::new(script.collect()), Answer::AllowOnce);
    assert_eq!(bench.ask("add").await.answer, "so");
}

// SPEC E3
#[tokio::test]
async fn a_model_is_told_twice_that_its_arguments_are_no_json_and_then_its_turn_ends() {
    let broken = |n: usize| reply([call(&n.to_string(), "add", &format!("{}oops", "{".repeat(n)))]);
    check((1..=3).map(broken).collect(), expect![[r#"
        user: 2+2?
        call: add {oops
        error: the arguments of add do not fit its schema: key must be a string at line 1 column 2 (byte 1, near "{oops")
        call: add {{oops
        error: the arguments of add do not fit its schema: key must be a string at line 1 column 2 (byte 1, near "{{oops")
        call: add {{{oops
        error: the arguments of add do not fit its schema: key must be a string at line 1 column 2 (byte 1, near "{{{oops")
        => limit malformed_calls: stopped: the model was told 2 times that the arguments of add are no JSON, and wrote such ones again; another model may be better at calling tools
    "#]]).await;
}

// SPEC E3
#[tokio::test]
async fn a_model_that_mends_its_arguments_goes_on() {
    let broken = |n: usize| reply([call(&n.to_string(), "add", &format!("{}oops", "{".repeat(n)))]);
    let script = vec![
        broken(1),
        broken(2),
        reply([call("3", "execute", r#"{"milliseconds":1}"#), call("4", "execute", "{")]),
        broken(3),
        broken(4),
        reply([text("4")]),
    ];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    assert_eq!(bench.ask("2+2?").await.answer, "4");
}
