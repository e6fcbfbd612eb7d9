use std::sync::atomic::{AtomicU32, Ordering};

use expect_test::{Expect, expect};

use futures::future::BoxFuture;
use secrecy::SecretString;

use super::*;

/// The choice's model and why, or its error; then the key that goes with it.
async fn check(choice: Choice, expected: Expect) {
    let chosen = match choose(&choice).await {
        Ok(chosen) => format!("{}: {}\n", chosen.client.info(), chosen.why),
        Err(error) => format!("{error:?}\n"),
    };
    expected.assert_eq(&chosen);
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn openai_key() -> ServiceVariables {
    ServiceVariables { key: Some("sk-openai".into()), base_url: None }
}

fn own_key() -> Option<KeySource> {
    Some(KeySource::Value { name: "ASKLS_API_KEY".to_owned(), key: "sk-own".into() })
}

// SPEC O13, O14
#[tokio::test]
async fn what_is_set_comes_first() {
    let choice = Choice {
        model: text("any/name:7b"),
        base_url: text("http://127.0.0.1:1/v1"),
        openai: openai_key(),
        ..Choice::default()
    };
    check(
        choice.clone(),
        expect![[r#"
            any/name:7b (chat at http://127.0.0.1:1/v1): base_url is set, and so is the model
        "#]],
    )
    .await;
    check(
        Choice { wire: Some(Wire::Responses), ..choice },
        expect![[r#"
            any/name:7b (responses at http://127.0.0.1:1/v1): base_url is set, and so is the model
        "#]],
    )
    .await;
}

#[tokio::test]
async fn openai_needs_nothing_but_its_key() {
    check(Choice { openai: openai_key(), ..Choice::default() }, expect![[r#"
        gpt-5.5 (responses at https://api.openai.com/v1): OPENAI_API_KEY is set; no model is set, so it is askls's default for OpenAI
    "#]]).await;
    check(
        Choice { openai: openai_key(), model: text("gpt-9"), ..Choice::default() },
        expect![[r#"
            gpt-9 (responses at https://api.openai.com/v1): OPENAI_API_KEY is set, and so is the model
        "#]],
    )
    .await;
    let elsewhere = ServiceVariables { base_url: text("https://gateway.example/v1"), ..openai_key() };
    check(
        Choice { openai: elsewhere, model: text("gpt-9"), ..Choice::default() },
        expect![[r#"
            gpt-9 (chat at https://gateway.example/v1): OPENAI_BASE_URL is set, and so is the model
        "#]],
    )
    .await;
}

fn anthropic_key() -> ServiceVariables {
    ServiceVariables { key: Some("sk-anthropic".into()), base_url: None }
}

#[tokio::test]
async fn anthropic_needs_nothing_but_its_key_and_comes_after_openai() {
    let choice = Choice { anthropic: anthropic_key(), ..Choice::default() };
    check(choice.clone(), expect![[r#"
        claude-sonnet-5-5 (messages at https://api.anthropic.com/v1): ANTHROPIC_API_KEY is set; no model is set, so it is askls's default for Anthropic
    "#]]).await;
    check(Choice { openai: openai_key(), ..choice.clone() }, expect![[r#"
        gpt-5.5 (responses at https://api.openai.com/v1): OPENAI_API_KEY is set; no model is set, so it is askls's default for OpenAI
    "#]]).await;
    check(Choice { openai: openai_key(), wire: Some(Wire::Messages), ..choice.clone() }, expect![[r#"
        claude-sonnet-5-5 (messages at https://api.anthropic.com/v1): ANTHROPIC_API_KEY is set; no model is set, so it is askls's default for Anthropic
    "#]]).await;
    let elsewhere = ServiceVariables { base_url: text("https://gateway.example"), ..anthropic_key() };
    check(
        Choice { anthropic: elsewhere, model: text("claude-x"), ..Choice::default() },
        expect![[r#"
        claude-x (messages at https://gateway.example): ANTHROPIC_BASE_URL is set, and so is the model
    "#]],
    )
    .await;
    check(Choice { base_url: text("https://api.anthropic.com"), ..Choice::default() }, expect![[r#"
        ModelError { kind: Settings, message: "Anthropic needs a key: set ANTHROPIC_API_KEY or ASKLS_API_KEY, or name where it is in api_key_env or api_key_command", retry: Never }
    "#]]).await;
}

/// Under which header a key goes to the server at `base_url`.
fn key_header(base_url: &str, set: Option<&str>) -> Option<String> {
    let route = Route { key_header: set.map(str::to_owned), ..Route::default() };
    let choice = Choice { route, ..Choice::default() };
    choice.endpoint("base_url", base_url, Place::of(base_url)).unwrap().route.key_header
}

#[test]
fn the_header_of_the_key_goes_by_the_service_unless_it_is_set() {
    assert_eq!(key_header("https://mine.openai.azure.com/openai/v1", None).as_deref(), Some("api-key"));
    assert_eq!(key_header("https://mine.services.ai.azure.com/anthropic/v1/messages", None), None);
    assert_eq!(key_header("https://host.test/v1", None), None);
    assert_eq!(
        key_header("https://mine.openai.azure.com", Some("authorization")).as_deref(),
        Some("authorization")
    );
}

#[test]
fn what_is_set_about_a_model_reaches_its_endpoint() {
    let tuning = |json| serde_json::from_value(json).unwrap();
    let tunings = Tunings {
        general: tuning(serde_json::json!({"temperature": 1})),
        models: vec![(
            "qwen*".to_owned(),
            tuning(serde_json::json!({"window": 4096, "max_output_tokens": 100})),
        )],
        held: None,
    };
    let choice = Choice { tunings, ..Choice::default() };
    let info = |base_url: &str, model: &str| {
        let place = Place::of(base_url);
        let mut endpoint = choice.endpoint("base_url", base_url, place).unwrap();
        endpoint.model = model.to_owned();
        choice.client(endpoint, Wire::Chat, None, place).info().clone()
    };
    let info_of = |base_url: &str, model: &str| {
        let info = info(base_url, model);
        (info.context_window, info.price.is_some())
    };
    assert_eq!(info_of("https://host.test/v1", "qwen3"), (Some(4096), false));
    assert_eq!(info_of("https://host.test/v1", "gpt-5"), (Some(400_000), true));
    assert_eq!(info_of("http://localhost:1/v1", "gpt-5"), (Some(400_000), false));
}

#[tokio::test]
async fn the_model_inside_askls_can_be_asked_for_by_name_whatever_server_is_set() {
    for base_url in [None, text("http://127.0.0.1:1/v1")] {
        check(
            Choice {
                model: text(OFFLINE),
                base_url,
                wire: Some(Wire::Chat),
                key: own_key(),
                openai: openai_key(),
                ..Choice::default()
            },
            expect![[r#"
                offline: the setting model says so
            "#]],
        )
        .await;
    }
}

#[tokio::test]
async fn the_key_of_askls_goes_to_no_server_that_was_not_set_for_it() {
    let elsewhere = ServiceVariables { base_url: text("https://gateway.example/v1"), ..openai_key() };
    for openai in [ServiceVariables::default(), openai_key(), elsewhere] {
        check(Choice { key: own_key(), model: text("gpt-9"), openai, ..Choice::default() }, expect![[r#"
            ModelError { kind: Settings, message: "ASKLS_API_KEY is set, but not the server that it is for: set base_url (--base-url, ASKLS_BASE_URL), which is https://api.openai.com/v1 for OpenAI", retry: Never }
        "#]])
        .await;
    }
}

#[tokio::test]
async fn a_key_that_the_settings_name_goes_to_no_server_that_they_do_not_name() {
    let key = Some(KeySource::Value { name: "OPENROUTER_API_KEY".to_owned(), key: "sk-elsewhere".into() });
    check(Choice { key, model: text("gpt-9"), openai: openai_key(), ..Choice::default() }, expect![[r#"
        ModelError { kind: Settings, message: "OPENROUTER_API_KEY is set, but not the server that it is for: set base_url (--base-url, ASKLS_BASE_URL), which is https://api.openai.com/v1 for OpenAI", retry: Never }
    "#]]).await;
}

#[tokio::test]
async fn without_a_bound_that_was_set_no_model_is_asked_at_all() {
    let unbounded = text("max_cost must be a number");
    for model in [text(OFFLINE), text("gpt-9"), None] {
        check(
            Choice { model, unbounded: unbounded.clone(), openai: openai_key(), ..Choice::default() },
            expect![[r#"
                ModelError { kind: Settings, message: "max_cost must be a number", retry: Never }
            "#]],
        )
        .await;
    }
}

#[tokio::test]
async fn no_server_is_chosen_while_what_decides_about_it_cannot_be_used() {
    let choice = Choice {
        unusable: text("base_url must be an address"),
        model: text("gpt-9"),
        openai: openai_key(),
        ..Choice::default()
    };
    for base_url in [None, text("http://127.0.0.1:1/v1")] {
        check(
            Choice { base_url, ..choice.clone() },
            expect![[r#"
                ModelError { kind: Settings, message: "base_url must be an address", retry: Never }
            "#]],
        )
        .await;
    }
    check(
        Choice { model: text(OFFLINE), ..choice },
        expect![[r#"
            offline: the setting model says so
        "#]],
    )
    .await;
}

#[tokio::test]
async fn with_nothing_set_and_no_server_the_model_inside_askls_answers() {
    let local = vec![LocalServer { name: "Ollama", base_url: "http://127.0.0.1:1/v1".to_owned() }];
    check(Choice { local, ..Choice::default() }, expect![[r#"
        offline: no model is configured, neither OPENAI_API_KEY nor ANTHROPIC_API_KEY is set, and no local server answers with a model (asked: Ollama at http://127.0.0.1:1/v1)
    "#]]).await;
}

#[tokio::test]
async fn what_is_missing_is_said() {
    check(Choice { model: text("qwen3"), ..Choice::default() }, expect![[r#"
        ModelError { kind: Settings, message: "no server is known that has the model qwen3: set base_url (--base-url, ASKLS_BASE_URL) to the address of the one that has it, or OPENAI_API_KEY or ANTHROPIC_API_KEY if it is one of theirs", retry: Never }
    "#]]).await;
    check(Choice { base_url: text("http://127.0.0.1:1/v1"), ..Choice::default() }, expect![[r#"
        ModelError { kind: Network, message: "nothing answers at http://127.0.0.1:1/v1: is the server running there, and is base_url right?", retry: Later }
    "#]]).await;
    let openai = ServiceVariables { base_url: text("http://127.0.0.1:1/v1"), ..openai_key() };
    check(Choice { openai, ..Choice::default() }, expect![[r#"
        ModelError { kind: Network, message: "nothing answers at http://127.0.0.1:1/v1: is the server running there, and is OPENAI_BASE_URL right?", retry: Later }
    "#]]).await;
    let openai = ServiceVariables { base_url: text("nonsense"), ..openai_key() };
    check(Choice { openai, ..Choice::default() }, expect![[r#"
        ModelError { kind: Settings, message: "OPENAI_BASE_URL \"nonsense\" is not a URL: it must begin with http:// or https://; it looks like https://api.openai.com/v1", retry: Never }
    "#]]).await;
    check(Choice { base_url: text("https://api.openai.com/v1"), ..Choice::default() }, expect![[r#"
        ModelError { kind: Settings, message: "OpenAI needs a key: set OPENAI_API_KEY or ASKLS_API_KEY, or name where it is in api_key_env or api_key_command", retry: Never }
    "#]]).await;
    let key = Some(KeySource::Unset { variable: "MINE".to_owned() });
    check(Choice { key, ..Choice::default() }, expect![[r#"
        ModelError { kind: Settings, message: "api_key_env names the variable MINE, which is not set: set it, or change api_key_env", retry: Never }
    "#]]).await;
    check(
        Choice { base_url: text("nonsense"), model: text("m"), ..Choice::default() },
        expect![[r#"
            ModelError { kind: Settings, message: "base_url \"nonsense\" is not a URL: it must begin with http:// or https://; it looks like https://api.openai.com/v1", retry: Never }
        "#]],
    )
    .await;
}

// SPEC A9
#[test]
fn a_key_goes_only_to_the_server_that_it_was_made_for() {
    let key_for = |choice: &Choice, base_url: &str| {
        format!("{:?}", choice.key_for(base_url, Place::of(base_url)).unwrap())
    };
    let choice = Choice {
        openai: ServiceVariables { base_url: text("https://gateway.example/v1"), ..openai_key() },
        ..Choice::default()
    };
    assert_eq!(key_for(&choice, "https://api.openai.com/v1"), "Some(Value(OPENAI_API_KEY))");
    assert_eq!(key_for(&choice, "https://gateway.example/v1"), "Some(Value(OPENAI_API_KEY))");
    for other in [
        "https://other.example/v1",
        "https://api.openai.com.evil.example/v1",
        "http://api.openai.com@evil.example/v1",
    ] {
        assert_eq!(key_for(&choice, other), "None", "{other}");
    }
    let choice = Choice { key: own_key(), ..choice };
    assert_eq!(key_for(&choice, "https://other.example/v1"), "Some(Value(ASKLS_API_KEY))");
}

#[test]
fn a_server_on_this_machine_may_be_silent_for_longer() {
    let idle = |base_url: &str, set: Option<Duration>| {
        let choice = Choice { idle_timeout: set, ..Choice::default() };
        choice.endpoint("base_url", base_url, Place::of(base_url)).unwrap().idle_timeout
    };
    assert_eq!(idle("http://localhost:1234/v1", None), LOCAL_IDLE_TIMEOUT);
    assert_eq!(idle("http://[::1]:1234/v1", None), LOCAL_IDLE_TIMEOUT);
    assert_eq!(idle("https://far.example/v1", None), http::DEFAULT_IDLE_TIMEOUT);
    assert_eq!(idle("http://127.0.0.1/v1", Some(Duration::from_secs(7))), Duration::from_secs(7));
}

#[test]
fn ollamas_address_may_be_spelt_in_its_ways() {
    for (host, base_url) in [
        (None, "http://127.0.0.1:11434/v1"),
        (Some("0.0.0.0"), "http://127.0.0.1:11434/v1"),
        (Some("0.0.0.0:1234"), "http://127.0.0.1:1234/v1"),
        (Some(":1234"), "http://127.0.0.1:1234/v1"),
        (Some("box"), "http://box:11434/v1"),
        (Some("[::1]:1234"), "http://[::1]:1234/v1"),
        (Some("[::]"), "http://127.0.0.1:11434/v1"),
        (Some("http://box:80/"), "http://box:80/v1"),
        (Some("https://box.example"), "https://box.example:443/v1"),
        (Some("https://box.example/ollama/"), "https://box.example:443/ollama/v1"),
    ] {
        assert_eq!(LocalServer::ollama(host).base_url, base_url, "{host:?}");
    }
}

#[test]
fn a_model_that_only_embeds_is_not_the_first() {
    let models = ["nomic-embed-text:latest", "qwen3:8b", "llama3:latest"].map(str::to_owned);
    let first = |count: usize, leaves_some_out| {
        let models = models.iter().take(count).cloned().collect();
        first_model(&Probed { models, leaves_some_out, context_window: None })
    };
    assert_eq!(first(3, false), Some(("qwen3:8b".to_owned(), "the first model")));
    assert_eq!(first(2, false), Some(("qwen3:8b".to_owned(), "the only model")));
    assert_eq!(first(1, false), None);
    // Nobody knows how many there are.
    assert_eq!(first(2, true), Some(("qwen3:8b".to_owned(), "the first model")));
    assert_eq!(has_model(&models, "llama3").as_deref(), Some("llama3:latest"));
    assert_eq!(has_model(&models, "qwen3"), None);
}

/// A command that prints another key each time.
struct Counting(AtomicU32);

impl KeyCommand for Counting {
    fn key(&self) -> BoxFuture<'_, Result<SecretString, String>> {
        let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        Box::pin(async move { Ok(format!("sk-{count}").into()) })
    }
}

#[tokio::test]
async fn a_key_command_does_not_run_before_a_request_needs_the_key() {
    let command = Arc::new(Counting(AtomicU32::new(0)));
    let choice = Choice {
        model: text("m"),
        base_url: text("http://127.0.0.1:1/v1"),
        key: Some(KeySource::Command(command.clone())),
        ..Choice::default()
    };
    assert!(choose(&choice).await.is_ok());
    assert_eq!(command.0.load(Ordering::Relaxed), 0);
}
