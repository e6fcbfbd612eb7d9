//! Replies that are no answer.

use super::*;

/// One turn whose requests are sent once; then the history and the ending.
async fn check(script: Vec<Step>, expected: Expect) {
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    bench.agent.retries.max_attempts = 1;
    let result = bench.ask("2+2?").await;
    expected.assert_eq(&(bench.history() + &ending(&result)));
}

// SPEC S3
#[tokio::test]
async fn a_reply_that_breaks_off_is_kept_as_partial_and_none_of_its_calls_run() {
    let script = vec![broken_off([
        text("first"),
        call("1", "execute", r#"{"milliseconds":0}"#),
        vec![Ok(ModelEvent::TextDelta("and th".to_owned()))],
    ])];
    check(
        script,
        expect![[r#"
            user: 2+2?
            agent (partial): first
            agent (partial): and th
            => interrupted: the connection closed
        "#]],
    )
    .await;
}

// SPEC S6, E12
#[tokio::test]
async fn a_reply_cut_at_the_token_limit_runs_no_call() {
    let cut = text("first")
        .into_iter()
        .chain(call("1", "execute", r#"{"milliseconds":0}"#))
        .chain(done(Finish::Length));
    check(
        vec![Ok(cut.collect())],
        expect![[r#"
            user: 2+2?
            agent (partial): first
            => limit output_tokens: the answer was cut off at the model's output limit; ask it to go on
        "#]],
    )
    .await;
}

// SPEC S7
#[tokio::test]
async fn a_refusal_is_not_an_answer() {
    let message = AgentMessage { text: "no".to_owned(), state: MessageState::Refusal, raw: None };
    check(
        vec![reply([vec![Ok(ModelEvent::Item(Item::Agent(message)))]])],
        expect![[r#"
            user: 2+2?
            agent (refusal): no
            => refused: the model declined to answer: no
        "#]],
    )
    .await;
}

// SPEC L16
#[tokio::test]
async fn an_empty_reply_has_a_name_of_its_own() {
    check(
        vec![reply([])],
        expect![[r#"
            user: 2+2?
            => empty: the model ended its turn without an answer; ask again, or in other words
        "#]],
    )
    .await;
}

// SPEC C7
#[tokio::test(start_paused = true)]
async fn cancelling_a_stream_keeps_what_was_said() {
    let script = vec![Ok(vec![Ok(ModelEvent::TextDelta("so f".to_owned()))])];
    let mut bench = Bench::new(Scripted::silent(script), Answer::AllowOnce);
    let cancel = bench.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    let result = bench.ask("2+2?").await;
    expect![[r#"
        user: 2+2?
        agent (partial): so f
        => cancelled: stopped by the user
    "#]]
    .assert_eq(&(bench.history() + &ending(&result)));
}

// SPEC S6
#[tokio::test]
async fn an_end_in_a_word_that_is_not_known_is_an_answer_and_the_word_is_told() {
    let unknown = || done(Finish::Unknown("xyz".to_owned()));
    check(
        vec![Ok([text("half"), unknown()].concat())],
        expect![[r#"
        user: 2+2?
        agent: half
        => answer: the server ended its reply with "xyz", which askls does not know: the answer may be cut off
    "#]],
    )
    .await;
    // Without a word it is none, after the attempts of a reply that says nothing.
    let mut bench = Bench::new(Scripted::new(vec![Ok(unknown())]), Answer::AllowOnce);
    bench.agent.retries.max_attempts = 1;
    let result = bench.ask("2+2?").await;
    assert_eq!(result.stop_reason, StopReason::Empty);
    assert!(result.detail.is_some_and(|detail| detail.contains("\"xyz\"")));
}

// SPEC S6
#[tokio::test]
async fn the_word_for_an_end_is_shown_as_it_is_and_without_keys() {
    let told = async |finish: Finish| {
        let reply = Ok([text("half"), done(finish)].concat());
        let result = Bench::new(Scripted::new(vec![reply]), Answer::AllowOnce).ask("2+2?").await;
        ending(&result)
    };
    let key = format!("sk-proj-{}", "Ab3dEf9hIj".repeat(6));
    let unknown = told(Finish::Unknown(format!("x \u{202e}y {key}"))).await;
    let cut = told(Finish::Cut("TIME_LIMIT".to_owned())).await;
    expect![[r#"
        => answer: the server ended its reply with "x \u{202e}y <key hidden by askls>", which askls does not know: the answer may be cut off
        => interrupted: the server cut its reply off with "TIME_LIMIT"; ask it to go on, or in other words
    "#]]
    .assert_eq(&(unknown + &cut));
}

// SPEC S3, S4, S6, S11, S12
#[tokio::test]
async fn every_ending_has_a_name_of_its_own_and_none_is_an_answer() {
    let cut = |finish| Ok([text("half"), done(finish)].concat());
    let failed = |kind| Ok([text("half"), vec![Err(ModelError::new(kind, "what happened"))]].concat());
    let endings: Vec<Step> = vec![
        cut(Finish::Length),
        cut(Finish::ContentFilter),
        cut(Finish::ContextTooLong),
        cut(Finish::Refusal),
        failed(ErrorKind::Interrupted),
        failed(ErrorKind::Stalled),
        failed(ErrorKind::Malformed),
        failed(ErrorKind::Failed),
        failed(ErrorKind::Overloaded),
        failed(ErrorKind::RateLimited),
        failed(ErrorKind::Quota),
        failed(ErrorKind::ContextTooLong),
        failed(ErrorKind::Rejected),
        Err(ModelError::new(ErrorKind::Auth, "what happened")),
        Err(ModelError::new(ErrorKind::Network, "what happened")),
        Err(ModelError::new(ErrorKind::Offline, "what happened")),
        Err(ModelError::new(ErrorKind::Tls, "what happened")),
        Err(ModelError::new(ErrorKind::Settings, "what happened")),
    ];
    let mut told = String::new();
    for reply in endings {
        let mut bench = Bench::new(Scripted::new(vec![reply]), Answer::AllowOnce);
        bench.agent.retries.max_attempts = 1;
        let result = bench.ask("2+2?").await;
        let fault = result.stop_reason.fault().map(|fault| format!("{fault} "));
        told += &format!("{:7}{}{}", result.answer, fault.unwrap_or_default(), ending(&result));
    }
    expect![[r#"
        half   => limit output_tokens: the answer was cut off at the model's output limit; ask it to go on
        half   => filtered: the server's content filter cut the answer off
        half   => limit context: the thread no longer fits the model's window; start a new thread
        half   => refused: the model declined to answer
        half   => interrupted: what happened
        half   => stalled: what happened
        half   => malformed: what happened
        half   failed => provider_error: what happened
        half   overloaded => provider_error: what happened
        half   rate_limited => provider_error: what happened
        half   quota => provider_error: what happened
        half   => limit context: what happened; start a new thread
        half   rejected => provider_error: what happened
               auth => provider_error: what happened
               network => provider_error: what happened
               network => provider_error: what happened
               tls => provider_error: what happened
               settings => provider_error: what happened
    "#]]
    .assert_eq(&told);
}

// SPEC S8
#[tokio::test]
async fn a_reply_that_is_paused_goes_on_with_the_thread_as_it_is() {
    let search = Item::Opaque(crate::protocol::Raw {
        wire: crate::protocol::Wire::Messages,
        json: r#"{"type":"server_tool_use"}"#.into(),
    });
    let paused = [text("I look."), vec![Ok(ModelEvent::Item(search))], done(Finish::Pause)].concat();
    let mut bench =
        Bench::new(Scripted::new(vec![Ok(paused), reply([text("It rains.")])]), Answer::AllowOnce);
    let result = bench.ask("weather?").await;
    expect![[r#"
        user: weather?
        agent: I look.
        opaque: {"type":"server_tool_use"}
    "#]]
    .assert_eq(&bench.model.request(2));
    assert_eq!((result.answer.as_str(), result.steps), ("I look.\n\nIt rains.", 2));
}

// SPEC S8
#[tokio::test]
async fn a_reply_that_is_paused_for_ever_uses_up_the_steps() {
    let paused = |n: u32| Ok([text(&format!("part {n}")), done(Finish::Pause)].concat());
    let mut bench = Bench::new(Scripted::new((1..=3).map(paused).collect()), Answer::AllowOnce);
    bench.agent.limits.max_steps = 3;
    let result = bench.ask("weather?").await;
    assert_eq!((result.stop_reason, bench.model.requests()), (StopReason::Limit(Limit::Steps), 3));
    assert_eq!(result.answer, "part 1\n\npart 2\n\npart 3");
}

// SPEC E12
#[tokio::test]
async fn a_call_cut_at_the_token_limit_without_a_word_before_it_says_what_to_do() {
    let cut = call("1", "execute", "{").into_iter().chain(done(Finish::Length));
    check(
        vec![Ok(cut.collect())],
        expect![[r#"
            user: 2+2?
            => limit output_tokens: the reply was cut off before its first word, and no call of it ran, at the model's output limit; ask for less at once
        "#]],
    )
    .await;
}

#[tokio::test]
async fn words_that_the_end_of_a_reply_puts_right_are_shown_anew() {
    let delta = |words: &str| Ok(ModelEvent::TextDelta(words.to_owned()));
    let whole = |words: &str| text(words).pop().unwrap();
    for (parts, expect) in [
        (
            vec![delta("Do "), delta("delete it."), whole("Do NOT delete it.")],
            expect![[r#"
                step 1
                text: Do 
                text: delete it.
                discarded
                text: Do NOT delete it.
                used: 10 2
            "#]],
        ),
        // Two messages that come whole behind all the deltas are shown once.
        (
            vec![delta("One."), delta("\n\nTwo."), whole("One."), whole("Two.")],
            expect![[r#"
                step 1
                text: One.
                text: 

                Two.
                used: 10 2
            "#]],
        ),
        // A message that differs in its blanks only is no other.
        (
            vec![delta("One.  Two."), whole("One. Two.")],
            expect![[r#"
                step 1
                text: One.  Two.
                used: 10 2
            "#]],
        ),
        // Words that are in no message.
        (
            vec![delta("Delete it."), delta(" Not really."), whole("Delete it.")],
            expect![[r#"
                step 1
                text: Delete it.
                text:  Not really.
                discarded
                text: Delete it.
                used: 10 2
            "#]],
        ),
        // A message that its server forgot to close, behind one that is whole, and behind an empty one.
        (
            vec![delta("One."), whole("One."), delta("Two.")],
            expect![[r#"
                step 1
                text: One.
                text: Two.
                used: 10 2
            "#]],
        ),
        (
            vec![delta("One."), whole("")],
            expect![[r#"
                step 1
                text: One.
                used: 10 2
            "#]],
        ),
        (
            vec![delta("One."), delta("\n\nWo."), whole("One."), whole("Two.")],
            expect![[r#"
                step 1
                text: One.
                text: 

                Wo.
                discarded
                text: One.

                Two.
                used: 10 2
            "#]],
        ),
    ] {
        let mut bench = Bench::new(Scripted::new(vec![reply([parts])]), Answer::AllowOnce);
        let answer = bench.ask("2+2?").await.answer;
        let shown = bench.shown();
        expect.assert_eq(&shown);
        assert!(!answer.contains("Not really"), "{answer}");
    }
}
