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
        => limit steps: stopped after 2 steps, the max_steps limit (the last tool was add); raise it to go further
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
        => limit steps: stopped after 2 steps, the max_steps limit (the last tool was add), and no final answer came; raise it to go further
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

/// A bench whose limits are the default ones but for what `change` does to them.
fn bounded(script: Vec<Step>, change: impl FnOnce(&mut Limits)) -> Bench {
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    change(&mut bench.agent.limits);
    bench
}

fn adding(n: i32) -> Vec<Result<ModelEvent, ModelError>> {
    call(&n.to_string(), "add", &format!(r#"{{"a":{n},"b":0}}"#))
}

// SPEC L12, L13
#[tokio::test]
async fn a_turn_ends_once_it_has_used_its_tokens_and_the_calls_of_its_last_reply_do_not_run() {
    // Each request counts 12.
    let script = vec![reply([adding(1)]), reply([text("and"), adding(2)]), reply([text("so")])];
    let mut bench = bounded(script, |limits| limits.max_turn_tokens = Some(24));
    let result = bench.ask("count").await;
    expect![[r#"
        user: count
        call: add {"a":1,"b":0}
        output: 1
        agent: and
        call: add {"a":2,"b":0}
        error: this call did not run: the turn ended before it was its turn
        => limit turn_tokens: stopped after 24 tokens, since max_turn_tokens is 24 tokens; raise it to go further
    "#]]
    .assert_eq(&(bench.history() + &ending(&result)));
    assert_eq!((bench.model.requests(), result.answer.as_str()), (2, "and"));
    assert_eq!(bench.ask("go on").await.answer, "so");
}

// SPEC L13
#[tokio::test]
async fn an_answer_that_goes_beyond_the_tokens_is_an_answer() {
    let mut bench = bounded(vec![reply([text("so")])], |limits| limits.max_turn_tokens = Some(1));
    assert_eq!(ending(&bench.ask("count").await), "=> answer\n");
}

// SPEC L13
#[tokio::test]
async fn tokens_that_no_server_counts_are_estimated() {
    let silent =
        |n| Ok([adding(n), vec![Ok(ModelEvent::Done { finish: Finish::Stop, usage: None })]].concat());
    let mut bench = bounded(vec![silent(1)], |limits| limits.max_turn_tokens = Some(10));
    assert_eq!(bench.ask("count").await.stop_reason, StopReason::Limit(Limit::TurnTokens));
}

// SPEC L13
#[tokio::test]
async fn a_server_that_counts_no_more_than_the_first_word_is_not_believed() {
    let counted = |output_tokens, letters: usize| {
        let usage = Some(Usage { input_tokens: 10, output_tokens, ..Usage::default() });
        let call = call("1", "add", &format!(r#"{{"a":1,"b":1,"note":"{}"}}"#, "x".repeat(letters)));
        Ok([call, vec![Ok(ModelEvent::Done { finish: Finish::Stop, usage })]].concat())
    };
    let ends = async |reply| {
        let mut bench =
            bounded(vec![reply, super::reply([text("so")])], |limits| limits.max_turn_tokens = Some(2000));
        bench.ask("count").await.stop_reason
    };
    assert_eq!(ends(counted(1, 40_000)).await, StopReason::Limit(Limit::TurnTokens));
    // A count that may be true is.
    assert_eq!(ends(counted(1000, 10_000)).await, StopReason::Answer);
}

fn priced(script: Vec<Step>, silent_at_end: bool) -> Bench {
    let mut model = Scripted::build(script, silent_at_end);
    model.info.wire = Some(crate::protocol::Wire::Chat);
    model.info.price = Some(Price { input: 10_000_000, cached: 0, cache_write: 0, output: 100_000_000 });
    Bench::new(Arc::new(model), Answer::AllowOnce)
}

#[tokio::test]
async fn what_no_server_counted_is_told_as_the_estimate_that_the_bounds_use() {
    let uncounted =
        Ok([text("so"), vec![Ok(ModelEvent::Done { finish: Finish::Stop, usage: None })]].concat());
    let mut bench = priced(vec![uncounted, reply([text("so")])], false);
    let result = bench.ask("count").await;
    assert!(result.is_estimated);
    assert!(result.usage.input_tokens > 10 && result.usage.output_tokens > 0, "{:?}", result.usage);
    assert!(result.cost > Some(Cost(100)), "{:?}", result.cost);

    let result = bench.ask("count on").await;
    assert_eq!((result.is_estimated, result.usage.total(), result.cost), (false, 12, Some(Cost(300))));
}

#[tokio::test(start_paused = true)]
async fn what_came_of_a_reply_that_was_stopped_is_told_as_an_estimate() {
    let mut bench = priced(vec![Ok(text("Half of a reply."))], true);
    bench.agent.limits.turn_timeout = Some(Duration::from_secs(90));
    let result = bench.ask("count").await;
    assert_eq!(result.stop_reason, StopReason::Limit(Limit::Time));
    assert!(result.is_estimated && result.usage.output_tokens > 0, "{:?}", result.usage);
    assert!(result.cost > Some(Cost(100)), "{:?}", result.cost);
}

#[tokio::test]
async fn what_the_client_itself_has_estimated_is_told_as_an_estimate() {
    let guessed = Ok([text("so"), vec![Ok(ModelEvent::Estimated)], done(Finish::Stop)].concat());
    let result = priced(vec![guessed], false).ask("count").await;
    assert_eq!((result.is_estimated, result.usage.total(), result.cost), (true, 12, Some(Cost(300))));
}

#[tokio::test]
async fn a_request_that_is_not_sent_again_after_a_refusal_costs_nothing() {
    let usage = Some(Usage::default());
    let refused = Ok(vec![Ok(ModelEvent::Done { finish: Finish::Pause, usage })]);
    let result = priced(vec![refused, reply([text("so")])], false).ask("count").await;
    assert_eq!((result.is_estimated, result.usage.total(), result.cost), (false, 12, Some(Cost(300))));
}

// SPEC L13
#[tokio::test]
async fn a_turn_ends_once_it_costs_what_it_may() {
    let mut model = Scripted::build(vec![reply([adding(1)]), reply([adding(2)])], false);
    // Each request reads 10 tokens and writes 2.
    model.info.price = Some(Price { input: 10_000_000, cached: 0, cache_write: 0, output: 100_000_000 });
    let mut bench = Bench::new(Arc::new(model), Answer::AllowOnce);
    bench.agent.limits.max_cost = Some(Cost(500));
    assert_eq!(
        ending(&bench.ask("count").await),
        "=> limit cost: stopped after $0.0006 was spent, since max_cost is $0.0005; raise it to go further\n"
    );
}

// SPEC L13
#[test]
fn a_bound_on_money_says_when_it_does_not_hold() {
    let info =
        |wire, price| ModelInfo { name: "mine".to_owned(), wire, server: None, context_window: None, price };
    let limits = Limits { max_cost: Some(Cost(2_000_000)), ..Limits::default() };
    let free = Price { input: 0, cached: 0, cache_write: 0, output: 0 };
    let chat = Some(crate::protocol::Wire::Chat);
    assert_eq!(limits.unheld(&info(chat, Some(free))), None);
    assert_eq!(limits.unheld(&info(None, None)), None);
    assert_eq!(Limits::default().unheld(&info(chat, None)), None);
    expect!["max_cost ($2.00) cannot be held, since nothing is known of what mine costs: set its price, as price = { input = 1.25, output = 10 } in dollars for a million tokens, or set max_turn_tokens"].assert_eq(&limits.unheld(&info(chat, None)).unwrap());
}

// SPEC L11, L12, L13
#[tokio::test]
async fn calls_beyond_the_last_one_are_left_out_and_a_final_answer_may_still_be_asked_for() {
    let script = || vec![reply([adding(1)]), reply([adding(2), adding(3)]), reply([text("so far: 2")])];
    let two = |on_limit| {
        move |limits: &mut Limits| *limits = Limits { max_tool_calls: Some(2), on_limit, ..Limits::default() }
    };
    let mut bench = bounded(script(), two(OnLimit::Message));
    let result = bench.ask("count").await;
    expect![[r#"
        user: count
        call: add {"a":1,"b":0}
        output: 1
        call: add {"a":2,"b":0}
        call: add {"a":3,"b":0}
        output: 2
        error: this call did not run: no more calls may be made in this turn
        => limit tool_calls: stopped after 2 calls, the max_tool_calls limit (the next would have been add); raise it to go further
    "#]].assert_eq(&(bench.history() + &ending(&result)));

    let mut bench = bounded(script(), two(OnLimit::FinalAnswer));
    let result = bench.ask("count").await;
    expect![[r#"
        => answer: stopped after 2 calls, the max_tool_calls limit (the next would have been add); this is what the agent knew by then
    "#]].assert_eq(&ending(&result));
    assert_eq!((result.answer.as_str(), bench.model.tool_choices()[2].as_str()), ("so far: 2", "None"));
}

// SPEC L13
#[tokio::test]
async fn an_answer_after_the_last_call_is_an_answer() {
    let script = vec![reply([adding(1)]), reply([text("1")])];
    let mut bench = bounded(script, |limits| limits.max_tool_calls = Some(1));
    assert_eq!(ending(&bench.ask("count").await), "=> answer\n");
}

// SPEC L12, L13
#[tokio::test(start_paused = true)]
async fn a_turn_whose_time_is_up_ends_what_it_runs() {
    let looking = reply([text("I look."), call("1", "look", r#"{"milliseconds":3600000}"#)]);
    let mut bench = bounded(vec![looking, reply([text("so")])], |limits| {
        limits.turn_timeout = Some(Duration::from_secs(90));
    });
    let result = bench.ask("look").await;
    expect![[r#"
        user: look
        agent: I look.
        call: look {"milliseconds":3600000}
        error: look was cancelled before it ended
        => limit time: stopped after 90 s, the turn_timeout limit; raise it to go further
    "#]]
    .assert_eq(&(bench.history() + &ending(&result)));
    assert_eq!(result.answer, "I look.");
    assert_eq!(bench.ask("go on").await.answer, "so");
}

// SPEC L13
#[tokio::test(start_paused = true)]
async fn a_reply_that_does_not_come_is_waited_for_until_the_time_is_up() {
    let mut bench = Bench::new(Scripted::silent(vec![Ok(text("Half an "))]), Answer::AllowOnce);
    bench.agent.limits.turn_timeout = Some(Duration::from_millis(1500));
    bench.agent.limits.on_limit = OnLimit::Error;
    let result = bench.ask("look").await;
    expect![[r#"
        user: look
        agent (partial): Half an 
        => limit time: stopped after 1.5 s, the turn_timeout limit; raise it to go further
    "#]]
    .assert_eq(&(bench.history() + &ending(&result)));
    assert_eq!(result.answer, "");
}

// SPEC L13
#[tokio::test(start_paused = true)]
async fn what_a_turn_waits_for_before_it_begins_is_of_its_time() {
    let limits = Limits { turn_timeout: Some(Duration::from_secs(90)), ..Limits::default() };
    let never = limits.in_time(std::future::pending::<()>()).await.expect_err("the time is up");
    expect![[r#"
        => limit time: stopped after 90 s, the turn_timeout limit; raise it to go further
    "#]]
    .assert_eq(&ending(&never));

    let (_, waited) = limits.in_time(tokio::time::sleep(Duration::from_secs(60))).await.expect("in time");
    let mut bench = Bench::new(Scripted::silent(vec![Ok(text("Half an "))]), Answer::AllowOnce);
    bench.agent.limits = limits;
    let start = tokio::time::Instant::now();
    let context = bench.context();
    bench.agent.run_turn_after(waited, &mut bench.thread, UserInput::default(), &context).await;
    assert_eq!((waited, start.elapsed()), (Duration::from_secs(60), Duration::from_secs(30)));
}

// SPEC L13
#[tokio::test(start_paused = true)]
async fn the_user_who_stops_a_turn_stops_it_whatever_time_is_left() {
    let mut bench = Bench::new(Scripted::silent(vec![Ok(text("Half an "))]), Answer::AllowOnce);
    bench.agent.limits.turn_timeout = Some(Duration::from_secs(90));
    let cancel = bench.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    assert_eq!(bench.ask("look").await.stop_reason, StopReason::Cancelled);
}

// SPEC E2
#[tokio::test]
async fn a_reply_that_calls_an_unknown_tool_runs_nothing_where_that_ends_the_turn() {
    let guessing = reply([
        text("I try."),
        call("1", "execute", r#"{"milliseconds":1}"#),
        call("2", "mul", "{}"),
        call("3", "functions.add", r#"{"a":1,"b":1}"#),
    ]);
    let mut bench = bounded(vec![guessing, reply([text("so")])], |limits| {
        limits.unknown_tools = UnknownTools::Stop;
    });
    let result = bench.ask("2*2?").await;
    expect![[r#"
        user: 2*2?
        agent: I try.
        call: execute {"milliseconds":1}
        call: mul {}
        call: functions.add {"a":1,"b":1}
        error: this call did not run: this reply called mul, and there is no tool of that name
        error: this call did not run: this reply called mul, and there is no tool of that name
        error: this call did not run: this reply called mul, and there is no tool of that name
        => limit unknown_tool: stopped: the model called mul, and there is no tool of that name; no call of its reply ran, since unknown_tools is stop
    "#]].assert_eq(&(bench.history() + &ending(&result)));
    assert_eq!((bench.ran.load(Ordering::SeqCst), result.answer.as_str()), (0, "I try."));
    assert_eq!(bench.ask("go on").await.answer, "so");
}

// SPEC E2
#[tokio::test]
async fn a_call_that_names_no_tool_is_one_of_an_unknown_tool() {
    let nameless = || reply([call("1", " ", "{}")]);
    let mut bench = bounded(vec![nameless()], |limits| limits.unknown_tools = UnknownTools::Stop);
    let result = bench.ask("2*2?").await;
    expect![[r#"
        user: 2*2?
        call:   {}
        error: this call did not run: this reply made a call that names no tool
        => limit unknown_tool: stopped: the model made a call that names no tool; no call of its reply ran, since unknown_tools is stop
    "#]].assert_eq(&(bench.history() + &ending(&result)));

    let mut bench = bounded(vec![nameless(), reply([text("so")])], |_| {});
    let result = bench.ask("2*2?").await;
    expect![[r#"
        user: 2*2?
        call:   {}
        error: this call names no tool; use one of: add, execute, look, recite, say_nothing
        agent: so
        => answer
    "#]]
    .assert_eq(&(bench.history() + &ending(&result)));
}

// SPEC L5
#[tokio::test]
async fn a_call_that_stayed_text_makes_no_plain_answer() {
    let script = vec![Ok([text("<tool_call>{"), done(Finish::BrokenCall)].concat())];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    let result = bench.ask("2*2?").await;
    expect![[r#"
        => answer: the reply ends in what looks like a call of a tool; it is not whole or not valid, so nothing ran: ask again, or set another model, which may be better at calling tools
    "#]].assert_eq(&ending(&result));
    assert!(!result.is_whole());
}

// SPEC L15
#[tokio::test]
async fn the_second_same_call_in_a_row_ends_the_turn_where_no_call_may_be_repeated() {
    let script = vec![
        reply([call("1", "execute", r#"{"milliseconds":1}"#)]),
        reply([
            call("2", "execute", r#"{ "milliseconds": 1 }"#),
            call("3", "execute", r#"{"milliseconds":2}"#),
        ]),
    ];
    let mut bench = bounded(script, |limits| limits.repeated_calls = RepeatedCalls::Stop);
    let result = bench.ask("2+2?").await;
    expect![[r#"
        user: 2+2?
        call: execute {"milliseconds":1}
        output: ran
        call: execute { "milliseconds": 1 }
        call: execute {"milliseconds":2}
        error: this is the same call to execute as the one before it, so it was not run again; use what it answered, or do something else
        error: this call did not run: the turn ended before it was its turn
        => limit repeated_call: stopped: the model made the same call to execute 2 times in a row
    "#]].assert_eq(&(bench.history() + &ending(&result)));
    assert_eq!(bench.ran.load(Ordering::SeqCst), 1);
}

// SPEC L15
#[tokio::test]
async fn a_call_may_come_again_after_another_one() {
    let script = vec![reply([adding(1)]), reply([adding(2)]), reply([adding(1)]), reply([text("so")])];
    let mut bench = bounded(script, |limits| limits.repeated_calls = RepeatedCalls::Stop);
    assert_eq!(bench.ask("add").await.answer, "so");
}

/// A reply that breaks off after its server has counted so many tokens.
fn broken_off_after(input_tokens: u64) -> Step {
    let used = ModelEvent::Used(Usage { input_tokens, ..Usage::default() });
    let error = ModelError::new(ErrorKind::Interrupted, "the connection closed".to_owned());
    Ok([text("Half"), vec![Ok(used), Err(error)]].concat())
}

// SPEC L12, L13
#[tokio::test(start_paused = true)]
async fn a_reply_that_broke_off_is_not_asked_for_again_once_the_tokens_are_used() {
    let script = vec![broken_off_after(20), broken_off_after(30), reply([text("so")])];
    let mut bench = bounded(script, |limits| limits.max_turn_tokens = Some(50));
    let result = bench.ask("count").await;
    expect![[r#"
        user: count
        agent (partial): Half
        => limit turn_tokens: stopped after about 82 tokens, since max_turn_tokens is 50 tokens; raise it to go further
    "#]]
    .assert_eq(&(bench.history() + &ending(&result)));
    assert_eq!((bench.model.requests(), result.answer.as_str(), result.usage.input_tokens), (2, "Half", 50));
    assert_eq!(bench.ask("go on").await.answer, "so");
}

// SPEC L13
#[tokio::test(start_paused = true)]
async fn what_no_server_counted_of_a_reply_that_broke_off_is_estimated() {
    let script = vec![broken_off([text("Half")]), reply([text("so")])];
    let mut bench = bounded(script, |limits| limits.max_turn_tokens = Some(10));
    assert_eq!(bench.ask("count").await.stop_reason, StopReason::Limit(Limit::TurnTokens));
    assert_eq!(bench.model.requests(), 1);
}

// SPEC L13
#[tokio::test(start_paused = true)]
async fn a_request_that_was_refused_uses_nothing() {
    let busy = || Err(ModelError::new(ErrorKind::Overloaded, "full"));
    let mut bench =
        bounded(vec![busy(), busy(), reply([text("so")])], |limits| limits.max_turn_tokens = Some(10));
    assert_eq!(ending(&bench.ask("count").await), "=> answer\n");
}

// SPEC L13
#[tokio::test(start_paused = true)]
async fn a_model_that_said_nothing_is_not_asked_again_once_the_money_is_spent() {
    let mut model = Scripted::build(vec![reply([])], false);
    model.info.price = Some(Price { input: 10_000_000, cached: 0, cache_write: 0, output: 100_000_000 });
    let mut bench = Bench::new(Arc::new(model), Answer::AllowOnce);
    bench.agent.limits.max_cost = Some(Cost(300));
    assert_eq!(bench.ask("count").await.stop_reason, StopReason::Limit(Limit::Cost));
    assert_eq!(bench.model.requests(), 1);
}

// SPEC L13
#[tokio::test]
async fn the_half_of_a_count_that_a_server_leaves_out_is_estimated() {
    for usage in [
        Usage { output_tokens: 1, ..Usage::default() },
        Usage { cached_tokens: 20, output_tokens: 1, ..Usage::default() },
    ] {
        let half =
            Ok([adding(1), vec![Ok(ModelEvent::Done { finish: Finish::Stop, usage: Some(usage) })]].concat());
        let mut bench = bounded(vec![half], |limits| limits.max_turn_tokens = Some(10));
        assert_eq!(bench.ask("count").await.stop_reason, StopReason::Limit(Limit::TurnTokens));
    }
}

// SPEC L15
#[tokio::test]
async fn the_same_call_in_another_spelling_is_the_same_call() {
    let spelled = [
        r#"{"milliseconds":1}"#,
        r#"{"milliseconds":1}{}"#,
        "```json\n{\"milliseconds\":1}\n```",
        r#""{\"milliseconds\":1}""#,
    ];
    for second in spelled {
        let script = vec![reply([call("1", "execute", spelled[0])]), reply([call("2", "execute", second)])];
        let mut bench = bounded(script, |limits| limits.repeated_calls = RepeatedCalls::Stop);
        let result = bench.ask("2+2?").await;
        assert_eq!(result.stop_reason, StopReason::Limit(Limit::RepeatedCall), "{second}");
        assert_eq!(bench.ran.load(Ordering::SeqCst), 1, "{second}");
    }
}

/// A reply that breaks off after these events, of whose output its server had counted one token by then.
fn broken_off_early(events: Vec<Result<ModelEvent, ModelError>>) -> Step {
    let used = Usage { input_tokens: 10, output_tokens: 1, ..Usage::default() };
    let error = ModelError::new(ErrorKind::Interrupted, "the connection closed".to_owned());
    Ok([events, vec![Ok(ModelEvent::Used(used)), Err(error)]].concat())
}

// SPEC L12
#[tokio::test(start_paused = true)]
async fn a_count_of_the_first_word_does_not_stand_for_a_reply_that_broke_off() {
    let long = "word ".repeat(4_000);
    let replies = [
        text(&long),
        vec![Ok(ModelEvent::ReasoningDelta(long.clone()))],
        vec![Ok(ModelEvent::Unheard(long.len()))],
    ];
    for reply in replies {
        let script = (0..4).map(|_| broken_off_early(reply.clone())).collect();
        let mut bench = bounded(script, |limits| limits.max_turn_tokens = Some(6_000));
        let told = ending(&bench.ask("2+2?").await);
        expect!["=> limit turn_tokens: stopped after about 10.0k tokens, since max_turn_tokens is 6.0k tokens; raise it to go further\n"].assert_eq(&told);
    }
}

// SPEC L12, L13
#[tokio::test(start_paused = true)]
async fn what_nobody_was_shown_counts_whatever_the_error_that_broke_the_reply_off() {
    for kind in [ErrorKind::Overloaded, ErrorKind::Failed, ErrorKind::Interrupted] {
        let broken = || Ok(vec![Ok(ModelEvent::Unheard(20_000)), Err(ModelError::new(kind, "no"))]);
        let script = (0..4).map(|_| broken()).collect();
        let mut bench = bounded(script, |limits| limits.max_turn_tokens = Some(6_000));
        assert_eq!(bench.ask("2+2?").await.stop_reason, StopReason::Limit(Limit::TurnTokens), "{kind:?}");
        assert_eq!(bench.model.requests(), 2, "{kind:?}");
    }
}
