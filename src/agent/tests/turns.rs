//! Turns from the question to the answer.

use super::*;

// SPEC L1
#[tokio::test]
async fn a_turn_goes_on_until_a_reply_has_no_calls() {
    let script = vec![
        reply([call("1", "add", r#"{"a":2,"b":2}"#)]),
        reply([call("2", "add", r#"{"a":4,"b":1}"#)]),
        reply([text("five")]),
    ];
    check(
        script,
        expect![[r#"
            user: 2+2?
            call: add {"a":2,"b":2}
            output: 4
            call: add {"a":4,"b":1}
            output: 5
            agent: five
            => answer
        "#]],
    )
    .await;
}

// SPEC L6
#[tokio::test]
async fn text_beside_calls_is_kept_and_the_calls_run() {
    let script = vec![reply([text("let me see"), call("1", "add", r#"{"a":2,"b":2}"#)]), reply([text("4")])];
    check(
        script,
        expect![[r#"
            user: 2+2?
            agent: let me see
            call: add {"a":2,"b":2}
            output: 4
            agent: 4
            => answer
        "#]],
    )
    .await;
}

// SPEC H6
#[tokio::test]
async fn the_next_turn_is_sent_with_all_of_the_one_before() {
    let script = vec![
        reply([call("1", "add", r#"{"a":2,"b":2}"#)]),
        reply([text("4")]),
        reply([text("as I said, 4")]),
    ];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    bench.ask("2+2?").await;
    bench.ask("sure?").await;
    let items: Vec<usize> =
        bench.model.requests.lock().unwrap().iter().map(|asked| asked.items.len()).collect();
    assert_eq!(items, [1, 3, 5]);
}

#[tokio::test]
async fn a_plan_cannot_do_more_than_read() {
    let script = vec![reply([call("1", "execute", r#"{"milliseconds":0}"#)]), reply([text("a plan")])];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    let context = TurnContext {
        files: Arc::new(TurnFiles::new(Arc::new(Workspace::new(Vec::new())))),
        events: bench.events.clone(),
        approver: bench.approver.clone(),
        guardrails: Default::default(),
        applier: None,
        jobs: Jobs::default(),
        cancel: CancellationToken::new(),
        last_step: CancellationToken::new(),
    };
    let input = UserInput { prompt: "plan".to_owned(), mode: Mode::Plan, ..UserInput::default() };
    bench.agent.run_turn(&mut bench.thread, input, &context).await;
    assert_eq!(bench.ran.load(Ordering::SeqCst), 0);
}

// SPEC C8
#[tokio::test]
async fn a_turn_that_is_to_stop_after_its_step_runs_its_calls_and_asks_no_more() {
    let script = vec![reply([call("1", "add", r#"{"a":2,"b":2}"#)]), reply([text("4")])];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    bench.last_step.cancel();
    let result = bench.ask("2+2?").await;
    assert_eq!((result.stop_reason, result.steps), (StopReason::Cancelled, 1));
    expect![[r#"
        user: 2+2?
        call: add {"a":2,"b":2}
        output: 4
    "#]]
    .assert_eq(&bench.history());
}

// SPEC C8
#[tokio::test(start_paused = true)]
async fn a_turn_that_is_to_stop_after_its_step_sends_no_request_for_whatever_reason() {
    let paused =
        || Ok([text("half"), vec![Ok(ModelEvent::Done { finish: Finish::Pause, usage: None })]].concat());
    let refused = |kind| Err(ModelError::new(kind, "no"));
    for (first, answer) in [
        (paused(), "half"),
        (broken_off([text("half")]), "half"),
        (refused(ErrorKind::Overloaded), ""),
        (refused(ErrorKind::History), ""),
        (reply([]), ""),
    ] {
        let mut bench = Bench::new(Scripted::new(vec![first, reply([text("whole")])]), Answer::AllowOnce);
        bench.last_step.cancel();
        let result = bench.ask("2+2?").await;
        assert_eq!((result.stop_reason, result.answer.as_str()), (StopReason::Cancelled, answer));
        assert_eq!(bench.model.requests(), 1);
    }
}

// SPEC C8
#[tokio::test(start_paused = true)]
async fn a_turn_that_is_to_stop_after_its_step_does_not_wait_for_another_attempt() {
    let busy = Err(ModelError::new(ErrorKind::Overloaded, "full"));
    let mut bench = Bench::new(Scripted::new(vec![busy, reply([text("4")])]), Answer::AllowOnce);
    let stop = bench.last_step.clone();
    // The shortest wait for another attempt is half a second.
    let soon = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.cancel();
    };
    let (result, ()) = tokio::join!(bench.ask("2+2?"), soon);
    assert_eq!(result.stop_reason, StopReason::Cancelled);
    assert_eq!(bench.model.requests(), 1);
}

/// Sends a second request of its own where that is wanted, and waits for more of a whole reply while the turn has time.
struct Doubting {
    info: ModelInfo,
    requests: AtomicUsize,
}

impl ModelClient for Doubting {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        self.stream_within(request, Room::default())
    }

    fn stream_within<'a>(
        &'a self,
        _request: Request<'a>,
        room: Room,
    ) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        async move {
            self.requests.fetch_add(1, Ordering::SeqCst);
            if room.is_closed() {
                return Ok(
                    stream::iter([Ok(ModelEvent::Done { finish: Finish::Pause, usage: None })]).boxed()
                );
            }
            self.requests.fetch_add(1, Ordering::SeqCst);
            let until = room.until.map_or(Duration::from_secs(30), |until| until - Instant::now());
            tokio::time::sleep(until.saturating_sub(Duration::from_millis(100))).await;
            Ok(stream::iter([text("4"), done(Finish::Stop)].concat()).boxed())
        }
        .boxed()
    }
}

/// One turn of at most five seconds, of which three are gone.
async fn doubting(last_step: &CancellationToken) -> (StopReason, usize) {
    let bench = Bench::new(Scripted::new(Vec::new()), Answer::AllowOnce);
    let model = Arc::new(Doubting { info: bench.model.info.clone(), requests: AtomicUsize::new(0) });
    let limits = Limits { turn_timeout: Some(Duration::from_secs(5)), ..Limits::default() };
    let agent = Agent { model: model.clone(), limits, ..bench.agent.clone() };
    let context = TurnContext { last_step: last_step.clone(), ..bench.context() };
    let (waited, input) = (Duration::from_secs(3), UserInput::default());
    let result = agent.run_turn_after(waited, &mut Thread::new(), input, &context).await;
    (result.stop_reason, model.requests.load(Ordering::SeqCst))
}

// SPEC C8, L13
#[tokio::test(start_paused = true)]
async fn a_client_knows_when_the_time_of_the_turn_is_up_and_whether_another_request_is_wanted() {
    let last_step = CancellationToken::new();
    assert_eq!(doubting(&last_step).await, (StopReason::Answer, 2));
    last_step.cancel();
    assert_eq!(doubting(&last_step).await, (StopReason::Cancelled, 1));
}

/// A face that breaks down at every event.
struct Broken;

impl EventSink for Broken {
    fn emit(&self, _event: &Event) {
        panic!("the window is gone");
    }
}

// SPEC C10
#[tokio::test]
async fn a_face_that_breaks_down_does_not_stop_the_turn() {
    let script = vec![reply([call("1", "add", r#"{"a":2,"b":2}"#)]), reply([text("4")])];
    let bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    let context = TurnContext {
        files: Arc::new(TurnFiles::new(Arc::new(Workspace::new(Vec::new())))),
        events: Arc::new(Broken),
        approver: bench.approver.clone(),
        guardrails: Default::default(),
        applier: None,
        jobs: Jobs::default(),
        cancel: CancellationToken::new(),
        last_step: CancellationToken::new(),
    };
    let mut thread = Thread::new();
    let result = bench.agent.run_turn(&mut thread, UserInput::default(), &context).await;
    assert_eq!(result.answer, "4");
}

// SPEC C1, C2, C3
#[tokio::test]
async fn every_start_has_one_end_on_every_ending() {
    let endings: Vec<Vec<Step>> = vec![
        vec![reply([call("1", "add", r#"{"a":2,"b":2}"#)]), reply([text("4")])],
        vec![reply([call("1", "add", "{")]), broken_off([])],
        vec![Err(ModelError::new(ErrorKind::Auth, "no"))],
        vec![reply([])],
    ];
    for script in endings {
        let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
        bench.agent.retries.max_attempts = 1;
        bench.ask("2+2?").await;
        let events = bench.events.0.lock().unwrap();
        let count = |wanted: fn(&Event) -> bool| events.iter().filter(|event| wanted(event)).count();
        assert!(matches!(events.first(), Some(Event::TurnStarted { .. })));
        assert!(matches!(events.last(), Some(Event::TurnEnded { .. })));
        assert_eq!(count(|event| matches!(event, Event::TurnEnded { .. })), 1);
        assert_eq!(
            count(|event| matches!(event, Event::ToolStarted { .. })),
            count(|event| matches!(event, Event::ToolEnded { .. }))
        );
    }
}

// SPEC L17
#[tokio::test]
async fn a_forced_call_is_forced_once_a_turn() {
    for (first_tool, first) in
        [(FirstTool::Required, "Required"), (FirstTool::Named("add".to_owned()), r#"Named("add")"#)]
    {
        let turn = || [reply([call("", "add", r#"{"a":2,"b":2}"#)]), reply([text("4")])];
        let script = turn().into_iter().chain(turn()).collect();
        let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
        bench.agent.first_tool = first_tool;
        bench.ask("2+2?").await;
        bench.ask("sure?").await;
        assert_eq!(bench.model.tool_choices(), [first, "Auto", first, "Auto"]);
    }
}

// SPEC L17
#[tokio::test]
async fn a_turn_without_calls_runs_none() {
    let script = vec![reply([call("1", "add", r#"{"a":2,"b":2}"#)]), reply([text("four")])];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    bench.agent.first_tool = FirstTool::None;
    bench.ask("2+2?").await;
    assert_eq!(bench.model.tool_choices(), ["None", "None"]);
    expect![[r#"
        user: 2+2?
        call: add {"a":2,"b":2}
        error: no tool may be called in this turn: answer in words
        agent: four
    "#]]
    .assert_eq(&bench.history());
}

// SPEC L17
#[tokio::test]
async fn a_forced_call_of_a_tool_that_is_not_there_is_named() {
    let mut bench = Bench::new(Scripted::new(Vec::new()), Answer::AllowOnce);
    bench.agent.first_tool = FirstTool::Named("mul".to_owned());
    let result = bench.ask("2*2?").await;
    expect![[r#"
        => provider_error: tool_choice names mul, which this turn does not offer; it offers add, execute, look, recite, say_nothing
    "#]].assert_eq(&ending(&result));
}

// SPEC S15
#[tokio::test]
async fn tokens_and_money_are_counted_for_each_step_the_turn_and_the_thread() {
    let turn = || [reply([call("", "add", r#"{"a":2,"b":2}"#)]), reply([text("4")])];
    let mut model = Scripted::build(turn().into_iter().chain(turn()).collect(), false);
    model.info.price = Some(Price { input: 3_000_000, cached: 0, cache_write: 0, output: 15_000_000 });
    let mut bench = Bench::new(Arc::new(model), Answer::AllowOnce);
    let first = bench.ask("2+2?").await;
    let second = bench.ask("sure?").await;
    expect![[r#"
        step 1
        used: 10 2 $0.0001
        tool: add {"a":2,"b":2}
        step 2
        text: 4
        used: 20 4 $0.0001
        step 1
        used: 10 2 $0.0001
        tool: add {"a":2,"b":2}
        step 2
        text: 4
        used: 20 4 $0.0001
    "#]]
    .assert_eq(&bench.shown());
    let of_turn = (20, 4, Some(Cost(120)));
    for result in [first, second] {
        assert_eq!((result.usage.input_tokens, result.usage.output_tokens, result.cost), of_turn);
    }
    let thread = (bench.thread.usage().input_tokens, bench.thread.usage().output_tokens, bench.thread.cost());
    assert_eq!(thread, (40, 8, Some(Cost(240))));
}

// SPEC H8, H9
#[tokio::test]
async fn a_thread_goes_on_from_a_history_that_was_made_elsewhere() {
    let call = ToolCall { id: "1".to_owned(), name: "add".to_owned(), arguments: "{}".to_owned(), raw: None };
    let (thread, mends) = Thread::from_items(&[Item::Call(call)]);
    assert_eq!(mends.len(), 1);
    let script = vec![reply([super::call("1", "add", r#"{"a":2,"b":2}"#)]), reply([text("4")])];
    let mut bench = Bench::new(Scripted::new(script), Answer::AllowOnce);
    bench.thread = thread;
    bench.ask("2+2?").await;
    expect![[r#"
        call: add {}
        error: interrupted: this call has no output, and whether it ran is not known; look before you make it again
        user: 2+2?
        call: add {"a":2,"b":2}
        output: 4
        agent: 4
    "#]].assert_eq(&bench.history());
}
