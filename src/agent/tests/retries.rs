//! Requests that are sent again.

use super::*;

// SPEC S13
#[tokio::test(start_paused = true)]
async fn a_busy_server_is_asked_again_after_the_wait_it_asked_for() {
    let busy = || {
        let error = ModelError::new(ErrorKind::RateLimited, "429");
        Err(ModelError { retry: Retry::After(Duration::from_secs(7)), ..error })
    };
    let mut bench = Bench::new(Scripted::new(vec![busy(), busy(), reply([text("4")])]), Answer::AllowOnce);
    let start = tokio::time::Instant::now();
    let result = bench.ask("2+2?").await;
    assert_eq!((result.answer.as_str(), start.elapsed()), ("4", Duration::from_secs(14)));
}

// SPEC S13
#[tokio::test(start_paused = true)]
async fn what_cannot_succeed_is_not_asked_again() {
    for error in [
        ModelError::new(ErrorKind::Auth, "no"),
        ModelError::new(ErrorKind::Quota, "no"),
        ModelError::new(ErrorKind::Rejected, "no"),
    ] {
        let mut bench = Bench::new(Scripted::new(vec![Err(error)]), Answer::AllowOnce);
        let result = bench.ask("2+2?").await;
        assert_eq!((ending(&result).as_str(), bench.model.requests()), ("=> provider_error: no\n", 1));
    }
}

/// One turn; what the face was told, then the history and the ending.
async fn check(script: Vec<Step>, expected: Expect) {
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    let result = bench.ask("2+2?").await;
    expected.assert_eq(&format!("{}---\n{}{}", bench.shown(), bench.history(), ending(&result)));
}

fn delta(text: &str) -> Vec<Result<ModelEvent, ModelError>> {
    vec![Ok(ModelEvent::TextDelta(text.to_owned()))]
}

fn refused(kind: ErrorKind) -> Step {
    Err(ModelError::new(kind, "No tool output found for function call call_item_1"))
}

// SPEC S5
#[tokio::test(start_paused = true)]
async fn a_reply_that_breaks_off_is_asked_for_again_and_what_was_shown_of_it_is_void() {
    check(
        vec![broken_off([delta("Hel")]), reply([text("Hello world")])],
        expect![[r#"
            step 1
            text: Hel
            discarded
            retrying, 2 of 6: the reply broke off: the connection closed
            text: Hello world
            used: 10 2
            ---
            user: 2+2?
            agent: Hello world
            => answer
        "#]],
    )
    .await;
}

// SPEC L5, S5
#[tokio::test(start_paused = true)]
async fn calls_of_a_broken_reply_do_not_run_and_those_that_ran_do_not_run_again() {
    let run = |id: &str, ms: u32| call(id, "execute", &format!(r#"{{"milliseconds":{ms}}}"#));
    let script = vec![
        reply([run("1", 1)]),
        broken_off([run("2", 2)]),
        broken_off([delta("and"), run("3", 2)]),
        reply([run("4", 2)]),
        reply([text("ran")]),
    ];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    bench.ask("run").await;
    assert_eq!(bench.ran.load(Ordering::SeqCst), 2);
    expect![[r#"
        user: run
        call: execute {"milliseconds":1}
        output: ran
        call: execute {"milliseconds":2}
        output: ran
        agent: ran
    "#]]
    .assert_eq(&bench.history());
}

// SPEC S3
#[tokio::test(start_paused = true)]
async fn when_every_attempt_breaks_off_the_last_one_is_kept_as_partial() {
    let mut bench = Bench::new(
        Scripted::new((1..=3).map(|n| broken_off([delta(&format!("Hel{n}"))])).collect()),
        Answer::AllowOnce,
    );
    bench.agent.retries.max_attempts = 3;
    let result = bench.ask("greet").await;
    assert_eq!((result.stop_reason, bench.model.requests()), (StopReason::Interrupted, 3));
    expect![[r#"
        user: greet
        agent (partial): Hel3
    "#]]
    .assert_eq(&bench.history());
}

// SPEC C7, S13
#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_the_user_stops_the_turn() {
    for kind in [ErrorKind::Overloaded, ErrorKind::Offline] {
        let mut bench = Bench::new(Scripted::new(vec![refused(kind)]), Answer::AllowOnce);
        let cancel = bench.cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            cancel.cancel();
        });
        let start = tokio::time::Instant::now();
        assert_eq!(bench.ask("2+2?").await.stop_reason, StopReason::Cancelled);
        assert_eq!(start.elapsed(), Duration::from_millis(100));
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_comes_back_is_waited_for() {
    let offline = || Err(ModelError::new(ErrorKind::Offline, "no name can be looked up"));
    let script = std::iter::repeat_with(offline).take(8).chain([reply([text("4")])]);
    let mut bench = Bench::new(Scripted::new(script.collect()), Answer::AllowOnce);
    let start = tokio::time::Instant::now();
    assert_eq!(bench.ask("2+2?").await.answer, "4");
    assert_eq!(start.elapsed(), Duration::from_secs(5 + 10 + 20 + 40 + 4 * 60));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_does_not_come_back_is_a_fault_of_the_network() {
    let offline = || Err(ModelError::new(ErrorKind::Offline, "no name can be looked up"));
    let script = std::iter::repeat_with(offline).take(14).collect();
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    let result = bench.ask("2+2?").await;
    assert_eq!(result.stop_reason, StopReason::ProviderError(crate::protocol::Fault::Network));
    expect![[r#"
        => provider_error: no name can be looked up; no connection came back within 10 min
    "#]]
    .assert_eq(&ending(&result));
}

// SPEC L16
#[tokio::test(start_paused = true)]
async fn a_model_that_says_nothing_is_asked_once_more() {
    let thought = || vec![Ok(ModelEvent::ReasoningDelta("hm".to_owned()))];
    check(
        vec![reply([thought()]), reply([text("4")])],
        expect![[r#"
            step 1
            thought: hm
            discarded
            retrying, 2 of 2: the model said nothing: the reply ended without a word and without a call
            text: 4
            used: 20 4
            ---
            user: 2+2?
            agent: 4
            => answer
        "#]],
    )
    .await;
    check(
        vec![reply([]), reply([thought()])],
        expect![[r#"
            step 1
            retrying, 2 of 2: the model said nothing: the reply ended without a word and without a call
            thought: hm
            used: 20 4
            ---
            user: 2+2?
            => empty: the model ended its turn without an answer; ask again, or in other words
        "#]],
    )
    .await;
}

// SPEC E13
#[tokio::test(start_paused = true)]
async fn a_history_that_is_refused_is_sent_once_more_in_its_plain_form() {
    let thought = Item::Reasoning(crate::protocol::Reasoning { text: "hm".to_owned(), raw: None });
    let script = vec![
        reply([vec![Ok(ModelEvent::Item(thought))], call("1", "add", r#"{"a":2,"b":2}"#)]),
        refused(ErrorKind::History),
        reply([text("4")]),
        reply([text("sure")]),
    ];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    bench.ask("2+2?").await;
    bench.ask("sure?").await;
    expect![[r#"
        step 1
        used: 10 2
        tool: add {"a":2,"b":2}
        step 2
        retrying, 1: the server refused the history: No tool output found for function call call_item_1; it does not say which of 4 items it means
        text: 4
        used: 20 4
        step 1
        text: sure
        used: 10 2
    "#]]
    .assert_eq(&bench.shown());
    expect![[r#"
        user: 2+2?
        reasoning: hm
        call: add {"a":2,"b":2}
        output: 4
    "#]]
    .assert_eq(&bench.model.request(2));
    expect![[r#"
        user: 2+2?
        call: add {"a":2,"b":2}
        output: 4
        agent: 4
        user: sure?
    "#]]
    .assert_eq(&bench.model.request(4));
    assert!(bench.history().contains("reasoning: hm"), "nothing of the thread itself is lost");
}

// SPEC E13
#[tokio::test(start_paused = true)]
async fn a_history_that_is_refused_twice_ends_the_turn_with_the_item_that_is_meant() {
    let script = vec![
        reply([call("1", "add", r#"{"a":2,"b":2}"#)]),
        refused(ErrorKind::History),
        refused(ErrorKind::History),
    ];
    check(script, expect![[r#"
        step 1
        used: 10 2
        tool: add {"a":2,"b":2}
        step 2
        retrying, 1: the server refused the history: No tool output found for function call call_item_1; it does not say which of 3 items it means
        ---
        user: 2+2?
        call: add {"a":2,"b":2}
        output: 4
        => provider_error: No tool output found for function call call_item_1; it means the call: add {"a":2,"b":2}; a new thread goes on without it
    "#]]).await;
}

// SPEC H11
#[tokio::test(start_paused = true)]
async fn a_thread_that_is_too_long_for_its_server_is_sent_once_more_with_old_outputs_short() {
    let long = |n: u32| reply([call(&n.to_string(), "recite", &format!(r#"{{"a":{n},"b":3000}}"#))]);
    let cut = Ok([text("I re"), done(Finish::ContextTooLong)].concat());
    for too_long in [refused(ErrorKind::ContextTooLong), cut] {
        let script = vec![long(1), long(2), too_long, reply([text("read")])];
        let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
        assert_eq!(bench.ask("recite").await.answer, "read");
        let lengths = |request: usize| -> Vec<usize> {
            let requests = bench.model.requests.lock().unwrap();
            let outputs = requests[request - 1].items.iter().filter_map(|item| match item {
                Item::Output(output) => Some(output.text.len()),
                _ => None,
            });
            outputs.collect()
        };
        assert_eq!((lengths(3), lengths(4)), (vec![3000, 3000], vec![85, 3000]));
    }
}

// SPEC H11
#[tokio::test(start_paused = true)]
async fn the_first_output_that_is_too_long_for_its_server_is_cut() {
    let long = reply([call("1", "recite", r#"{"a":1,"b":3000}"#)]);
    let script = vec![long, refused(ErrorKind::ContextTooLong), reply([text("read")])];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    assert_eq!(bench.ask("recite").await.answer, "read");
    let requests = bench.model.requests.lock().unwrap();
    let sent = requests.iter().map(|request| match request.items.last() {
        Some(Item::Output(output)) => output.text.len() <= 1000,
        _ => false,
    });
    assert_eq!(sent.collect::<Vec<_>>(), [false, false, true]);
}

// SPEC H11
#[tokio::test(start_paused = true)]
async fn a_thread_that_cannot_be_made_shorter_is_too_long() {
    check(
        vec![refused(ErrorKind::ContextTooLong)],
        expect![[r#"
            step 1
            ---
            user: 2+2?
            => limit context: No tool output found for function call call_item_1; start a new thread
        "#]],
    )
    .await;
}

// SPEC E13
#[tokio::test(start_paused = true)]
async fn a_refusal_that_the_plain_form_does_not_mend_says_what_may() {
    let unfit = || Err(ModelError::new(ErrorKind::Unfit, "Bad Request"));
    let mut bench = Bench::new(
        Scripted::new(vec![refused(ErrorKind::History), unfit(), reply([text("4")])]),
        Answer::AllowOnce,
    );
    let result = bench.ask("2+2?").await;
    expect![[r#"
        => provider_error: Bad Request; it refused the history without the model's reasoning too, as echo_reasoning = false would send it; a new thread goes on without it
    "#]]
    .assert_eq(&ending(&result));
    assert_eq!(bench.ask("2+2?").await.answer, "4");
}
