//! Bounds that a project sets say so where a turn ends by them.

use super::*;

/// How a turn ends that may go on for ever and is bounded so.
async fn ended(project: &'static str, change: impl FnOnce(&mut Limits)) -> String {
    let again = |n: i32| reply([call(&n.to_string(), "add", &format!(r#"{{"a":{n},"b":0}}"#))]);
    let mut bench = Bench::new(Scripted::new((1..=5).map(again).collect()), Answer::AllowOnce);
    let line = format!("{project} = … of .askls/config.toml");
    bench.agent.limits.project = [(project, line)].into_iter().collect();
    change(&mut bench.agent.limits);
    ending(&bench.ask("count").await)
}

// SPEC L13
#[tokio::test]
async fn each_bound_of_a_project_is_named_and_how_to_go_further_than_it() {
    let mut said = ended("max_steps", |limits| limits.max_steps = 2).await;
    said += &ended("max_tool_calls", |limits| limits.max_tool_calls = Some(1)).await;
    said += &ended("max_turn_tokens", |limits| limits.max_turn_tokens = Some(5)).await;
    expect![[r#"
        => limit steps: stopped after 2 steps, the max_steps limit (the last tool was add), which is the project's: max_steps = … of .askls/config.toml; raise it there, in your editor or on the command line to go further
        => limit tool_calls: stopped after 1 call, the max_tool_calls limit (the next would have been add), which is the project's: max_tool_calls = … of .askls/config.toml; raise it there, in your editor or on the command line to go further
        => limit turn_tokens: stopped after 12 tokens, since max_turn_tokens is 5 tokens, which is the project's: max_turn_tokens = … of .askls/config.toml; raise it there, in your editor or on the command line to go further
    "#]].assert_eq(&said);
}

// SPEC L13
#[tokio::test(start_paused = true)]
async fn so_is_its_time() {
    let mut bench = Bench::new(Scripted::silent(vec![Ok(text("Half an "))]), Answer::AllowOnce);
    bench.agent.limits.turn_timeout = Some(Duration::from_secs(5));
    bench.agent.limits.project =
        [("turn_timeout", "turn_timeout = 5 of .askls/config.toml".to_owned())].into_iter().collect();
    expect![[r#"
        => limit time: stopped after 5 s, the turn_timeout limit, which is the project's: turn_timeout = 5 of .askls/config.toml; raise it there, in your editor or on the command line to go further
    "#]].assert_eq(&ending(&bench.ask("count").await));
}

#[tokio::test]
async fn a_bound_of_the_user_says_nothing_of_the_project() {
    let said = ended("max_tool_calls", |limits| limits.max_steps = 1).await;
    expect![[r#"
        => limit steps: stopped after 1 step, the max_steps limit (the last tool was add); raise it to go further
    "#]].assert_eq(&said);
}

#[tokio::test]
async fn so_do_what_else_of_a_project_ends_turns() {
    let mut bench = Bench::new(Scripted::new(vec![reply([call("1", "mul", "{}")])]), Answer::AllowOnce);
    bench.agent.limits.unknown_tools = UnknownTools::Stop;
    bench.agent.limits.project =
        [("unknown_tools", "unknown_tools = stop of .askls/config.toml".to_owned())].into_iter().collect();
    expect![[r#"
        => limit unknown_tool: stopped: the model called mul, and there is no tool of that name; no call of its reply ran, since unknown_tools is stop, which is the project's: unknown_tools = stop of .askls/config.toml
    "#]].assert_eq(&ending(&bench.ask("count").await));
}

// SPEC L13
#[tokio::test]
async fn a_model_of_the_project_without_a_price_is_not_asked_where_money_is_bounded() {
    let ended = async |price, is_of_project: bool| {
        let mut model = Scripted::build(vec![reply([text("4")])], false);
        model.info.wire = Some(crate::protocol::Wire::Chat);
        model.info.price = price;
        let mut bench = Bench::new(Arc::new(model), Answer::AllowOnce);
        bench.agent.limits.max_cost = Some(Cost(500_000));
        if is_of_project {
            let line = "model = scripted of .askls/config.toml".to_owned();
            bench.agent.limits.project = [("model", line)].into_iter().collect();
        }
        ending(&bench.ask("2+2?").await)
    };
    let free = Price { input: 0, cached: 0, cache_write: 0, output: 0 };
    expect![[r#"
        => provider_error: max_cost ($0.5000) cannot be held with the model scripted, which is the project's: model = scripted of .askls/config.toml, since nothing is known of what it costs; nothing was sent: choose another model (in your editor, --model, ASKLS_MODEL), or set its price in your own settings file, as price = { input = 1.25, output = 10 } in dollars for a million tokens below [models."scripted"]
    "#]].assert_eq(&ended(None, true).await);
    expect![[r#"
        => answer
    "#]]
    .assert_eq(&ended(Some(free), true).await);
    expect![[r#"
        => answer
    "#]]
    .assert_eq(&ended(None, false).await);
}
