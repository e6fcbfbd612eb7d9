use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn check(status: u16, headers: &[(&'static str, &'static str)], body: &str, expected: Expect) {
    let endpoint = Endpoint::new("https://host.test/v1", "some-model").expect("a good URL");
    let headers = headers
        .iter()
        .map(|(name, value)| {
            use reqwest::header::{HeaderName, HeaderValue};
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        })
        .collect();
    let error = of_status(&endpoint, "https://host.test/v1/chat/completions", status, &headers, body);
    expected.assert_eq(&format!("{error:?}"));
}

#[test]
fn every_server_says_in_its_own_way_that_a_thread_is_too_long() {
    for (status, body) in [
        (400, r#"{"error":{"message":"Your input exceeds the limit.","code":"context_length_exceeded"}}"#),
        (400, include_str!("../../../../tests/captures/llama-context.json")),
        (
            400,
            r#"{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: mock","code":"400"}}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","code":400}"#,
        ),
        (500, r#"{"error":{"message":"the request exceeds the available context size"}}"#),
    ] {
        let endpoint = Endpoint::new("https://host.test/v1", "some-model").expect("a good URL");
        let error = of_status(&endpoint, "https://host.test/v1", status, &HeaderMap::new(), body);
        assert!(error.kind == ErrorKind::ContextTooLong, "{body}: {error:?}");
    }
}

/// What a refusal is taken for.
fn kind(status: u16, body: &str) -> ErrorKind {
    let endpoint = Endpoint::new("https://host.test/v1", "some-model").expect("a good URL");
    of_status(&endpoint, "https://host.test/v1", status, &HeaderMap::new(), body).kind
}

/// What an error in a stream is taken for.
fn kind_in_stream(body: &str) -> ErrorKind {
    let endpoint = Endpoint::new("https://host.test/v1", "some-model").expect("a good URL");
    let json = serde_json::from_str(body).expect("JSON");
    ServerError::find(&json).expect("an error").in_stream(&endpoint).kind
}

fn saying(message: &str) -> String {
    serde_json::json!({"error": {"message": message}}).to_string()
}

#[test]
fn a_server_that_fails_over_its_window_does_not_say_that_the_thread_is_too_long() {
    for message in
        ["failed to allocate the context window", "context size is not set", "the context length is fine"]
    {
        assert_eq!(kind(500, &saying(message)), ErrorKind::Failed, "{message}");
    }
    assert_eq!(kind(500, &saying("prompt exceeds the context window")), ErrorKind::ContextTooLong);
    assert_eq!(
        kind(400, &saying("prompt is too long: 210000 tokens > 200000 maximum")),
        ErrorKind::ContextTooLong
    );
    // Too many bytes for a proxy in front of the server.
    let error = r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#;
    assert_eq!(kind(413, error), ErrorKind::ContextTooLong);
}

// SPEC E13
#[test]
fn every_server_says_in_its_own_way_that_the_history_is_broken() {
    for (status, message) in [
        (400, "No tool output found for function call call_X."),
        (400, "Item 'rs_1' of type 'reasoning' was provided without its required following item."),
        (404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
        (
            400,
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
        ),
        (400, "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
        (
            400,
            "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
        ),
        (
            400,
            "litellm.BadRequestError: OpenAIException - Conversation roles must alternate user/assistant/user",
        ),
        (500, "After the optional system message, conversation roles must alternate"),
        (400, "Message has tool role, but there was no previous assistant message with a tool call!"),
        (400, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (400, "Invalid signature in thinking block"),
        (400, "Not the same number of function calls and responses"),
        (400, "The encrypted content gAAA could not be verified."),
    ] {
        assert_eq!(kind(status, &saying(message)), ErrorKind::History, "{message}");
    }
    assert_eq!(kind(400, &saying("Encrypted content is not supported with this model.")), ErrorKind::Unfit);
}

// SPEC S13
#[test]
fn an_empty_account_is_not_a_busy_server() {
    for (status, body) in [
        (429, r#"{"error":{"message":"x","type":"insufficient_quota","code":"insufficient_quota"}}"#),
        (429, r#"{"error":{"message":"You exceeded your current quota, please check …","code":"429"}}"#),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
        ),
        (402, r#"{"error":{"message":"Insufficient Balance"}}"#),
        (403, r#"{"error":{"type":"billing_error","message":"x"}}"#),
    ] {
        assert_eq!(kind(status, body), ErrorKind::Quota, "{body}");
    }
    assert_eq!(
        kind_in_stream(r#"{"error":{"message":"You exceeded your current quota","code":"429"}}"#),
        ErrorKind::Quota
    );
    // A quota of a minute: the server says when to come back.
    let minute = r#"{"error":{"code":429,"message":"You exceeded your current quota","details":[{"retryDelay":"34s"}]}}"#;
    assert_eq!(kind(429, minute), ErrorKind::RateLimited);
}

#[test]
fn an_error_in_a_stream_is_known_by_its_words() {
    for (body, expected) in [
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ErrorKind::Overloaded,
        ),
        (r#"{"type":"error","error":{"type":"rate_limit_error","message":"x"}}"#, ErrorKind::RateLimited),
        (r#"{"type":"error","error":{"type":"authentication_error","message":"x"}}"#, ErrorKind::Auth),
        (r#"{"type":"error","error":{"type":"api_error","message":"x"}}"#, ErrorKind::Failed),
        (r#"{"type":"error","error":{"type":"invalid_request_error","message":"x"}}"#, ErrorKind::Rejected),
        (r#"{"type":"error","code":"server_error","message":"x"}"#, ErrorKind::Failed),
        (r#"{"error":{"message":"x","code":503}}"#, ErrorKind::Overloaded),
        (
            r#"{"error":{"code":400,"message":"max_tokens exceeds the request limit of 4096"}}"#,
            ErrorKind::Rejected,
        ),
        // Numbers of the server's own are no statuses.
        (r#"{"error_code":2,"error_msg":"Service temporarily unavailable"}"#, ErrorKind::Failed),
        (r#"{"error_code":336100,"error_msg":"server busy"}"#, ErrorKind::Failed),
        (r#"{"error":{"code":1004,"type":"authentication_error","message":"login fail"}}"#, ErrorKind::Auth),
        (r#"{"error":{"code":"1301","type":"invalid_request_error","message":"x"}}"#, ErrorKind::Rejected),
    ] {
        assert_eq!(kind_in_stream(body), expected, "{body}");
    }
}

#[test]
fn what_says_that_all_went_well_is_no_error() {
    for json in [
        json!({"success": true, "errors": [], "result": {}}),
        json!({"code": 0, "msg": "success"}),
        json!({"code": 200, "status": "running"}),
        json!({"type": "ping"}),
        json!({"error": null, "errors": null}),
        json!({"code": "0", "msg": "success"}),
        json!({"code": "200", "msg": "ok"}),
        json!({"code": 1, "msg": "ok"}),
        json!({"msg": "ok"}),
        json!({"success": true, "msg": "all good"}),
        json!({"status": 200, "msg": "all good"}),
        json!({"status": "ok", "message": "all good"}),
        json!({"detail": {"latency": 3}}),
        json!({"choices": null, "base_resp": {"status_code": 0, "status_msg": ""}}),
        json!({"choices": [], "usage": {}, "error": {}}),
        json!({"choices": [], "usage": {}, "detail": ""}),
        json!({"choices": [], "detail": []}),
        json!({"choices": [], "detail": false}),
        json!({"choices": [], "base_resp": {"status_code": ""}}),
        json!({"message": "..."}),
    ] {
        assert_eq!(ServerError::find(&json), None, "{json}");
    }
}

#[test]
fn an_empty_code_does_not_say_that_all_went_well() {
    let found = |json| ServerError::find(&json).map(|error| error.message);
    assert_eq!(found(json!({"code": "", "message": "boom"})).as_deref(), Some("boom"));
    assert_eq!(found(json!({"status": " ", "msg": "boom"})).as_deref(), Some("boom"));
}

#[test]
fn a_wait_that_an_error_asks_for_is_kept_where_waiting_helps() {
    let endpoint = Endpoint::new("https://host.test/v1", "some-model").expect("a good URL");
    let retry = |body: &str| {
        let json = serde_json::from_str(body).expect("JSON");
        ServerError::find(&json).expect("an error").in_stream(&endpoint).retry
    };
    let three = Retry::After(std::time::Duration::from_secs(3));
    assert_eq!(retry(r#"{"error":{"type":"rate_limit_error","message":"x","retry_after":3}}"#), three);
    assert_eq!(retry(r#"{"retry_after":3,"error":{"type":"overloaded_error","message":"x"}}"#), three);
    assert_eq!(retry(r#"{"error":{"type":"billing_error","message":"x","retry_after":3}}"#), Retry::Never);
}

// SPEC A9
#[test]
fn a_secret_is_not_shown_either_when_a_server_repeats_a_piece_of_it() {
    let mut endpoint = Endpoint::new("https://host.test/v1", "some-model").expect("a good URL");
    endpoint.key = Some("sk-0123456789-abcdef".into());
    endpoint.route.headers = vec![
        ("authorization".to_owned(), "Bearer gateway-token-of-the-team".into()),
        ("x-short".to_owned(), "Bearer tokens".into()),
    ];
    for (told, shown) in [
        ("no gateway-token-of-the-team", "no [header]"),
        ("no tokens", "no [header]"),
        ("no SK-0123456789-ABCDEF", "no [key]"),
        ("no sk-0123456789…", "no [key]…"),
        ("no …456789-abcdef, ä", "no …[key], ä"),
        ("the key that ends with cdef", "the key that ends with cdef"),
    ] {
        assert_eq!(clean(&endpoint, told), shown);
    }
}

#[test]
fn nothing_secret_is_shown_though_the_server_repeats_it() {
    let mut endpoint = Endpoint::new(
        "https://me:pass-word-1@host.test/v1?sig=signature+1&api-version=preview",
        "some-model",
    )
    .expect("a good URL");
    endpoint.key = Some("sk-secret-key".into());
    endpoint.key_source = Some("the environment variable TEST_KEY".to_owned());
    endpoint.route.headers = vec![("x-team".to_owned(), "team-secret".into())];
    endpoint.route.query = vec![("token".to_owned(), "query/secret".into())];
    let body = saying(
        "sk-secret-key, team-secret, pass-word-1, /v1?sig=signature 1&token=query%2Fsecret&token=query/secret&api-version=preview",
    );
    let error = of_status(&endpoint, "https://host.test/v1", 401, &HeaderMap::new(), &body);
    expect!["https://host.test/v1 refused the key (401): [key], [header], [password], /v1?sig=[query]&token=[query]&token=[query]&api-version=preview; check the environment variable TEST_KEY"]
    .assert_eq(&error.message);
}

#[test]
fn a_short_secret_is_not_shown_in_escapes_either() {
    let mut endpoint = Endpoint::new("https://host.test/v1", "some-model").expect("a good URL");
    endpoint.route.headers = vec![("x-gw".to_owned(), "pa/ss+1".into())];
    for repeated in [
        "pa%2fss%2b1",
        "pa%252Fss%252B1",
        "pa\\u002fss\\u002b1",
        "pa&#x2F;ss&#43;1",
        "70612f73732b31",
        "v=pa%2fss+1;",
    ] {
        let shown = clean(&endpoint, &format!("bad value {repeated} of 100% here"));
        assert_eq!(shown, "bad value [header] of 100% here", "{repeated}");
    }
}

// SPEC S13
#[test]
fn the_server_knows_best_whether_a_request_may_be_sent_again() {
    let lost = r#"{"error":{"message":"lost"}}"#;
    check(
        500,
        &[],
        lost,
        expect![[
            r#"ModelError { kind: Failed, message: "https://host.test/v1 cannot answer now (500): lost", retry: Later }"#
        ]],
    );
    check(
        500,
        &[("x-should-retry", "false")],
        lost,
        expect![[
            r#"ModelError { kind: Failed, message: "https://host.test/v1 cannot answer now (500): lost", retry: Never }"#
        ]],
    );
    check(
        400,
        &[("x-should-retry", "true"), ("retry-after-ms", "50")],
        lost,
        expect![[
            r#"ModelError { kind: Unfit, message: "https://host.test/v1/chat/completions refused the request (400): lost", retry: After(50ms) }"#
        ]],
    );
}

#[test]
fn errors_come_in_many_forms() {
    check(
        400,
        &[],
        r#"{"error":"no such option"}"#,
        expect![[
            r#"ModelError { kind: Unfit, message: "https://host.test/v1/chat/completions refused the request (400): no such option", retry: Never }"#
        ]],
    );
    check(
        422,
        &[],
        r#"{"detail":[{"loc":["body","model"],"msg":"field required"}]}"#,
        expect![[
            r#"ModelError { kind: Unfit, message: "https://host.test/v1/chat/completions refused the request (422): [{\"loc\":[\"body\",\"model\"],\"msg\":\"field required\"}]", retry: Never }"#
        ]],
    );
    check(
        400,
        &[],
        r#"[{"error":{"code":400,"message":"bad schema","status":"INVALID_ARGUMENT"}}]"#,
        expect![[
            r#"ModelError { kind: Unfit, message: "https://host.test/v1/chat/completions refused the request (400): bad schema", retry: Never }"#
        ]],
    );
    check(
        500,
        &[],
        "data: {\"error\": {\"message\": \"Error processing stream start\"}}\n\ndata: [DONE]\n\n",
        expect![[
            r#"ModelError { kind: Failed, message: "https://host.test/v1 cannot answer now (500): Error processing stream start", retry: Later }"#
        ]],
    );
    check(
        503,
        &[],
        r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#,
        expect![[
            r#"ModelError { kind: Overloaded, message: "https://host.test/v1 has no room now (503): Loading model", retry: Later }"#
        ]],
    );
    check(
        418,
        &[],
        "short and stout\n",
        expect![[
            r#"ModelError { kind: Rejected, message: "https://host.test/v1/chat/completions refused the request (418): short and stout", retry: Never }"#
        ]],
    );
    check(
        400,
        &[],
        "",
        expect![[
            r#"ModelError { kind: Unfit, message: "https://host.test/v1/chat/completions refused the request (400)", retry: Never }"#
        ]],
    );
    check(
        502,
        &[],
        "<html>oops",
        expect![[
            r#"ModelError { kind: Failed, message: "https://host.test/v1 cannot answer now (502): a web page", retry: Later }"#
        ]],
    );
    check(
        429,
        &[],
        r#"{"error":{"code":"rate_limit_exceeded","message":""}}"#,
        expect![[
            r#"ModelError { kind: RateLimited, message: "https://host.test/v1 has had too many requests (429): rate_limit_exceeded", retry: Later }"#
        ]],
    );
}

#[test]
fn without_a_key_the_way_to_one_is_told() {
    check(
        401,
        &[],
        r#"{"error":{"message":"Missing bearer authentication in header"}}"#,
        expect![[
            r#"ModelError { kind: Auth, message: "https://host.test/v1 wants a key (401): Missing bearer authentication in header; set the environment variable ASKLS_API_KEY, or the setting api_key_env or api_key_command", retry: Never }"#
        ]],
    );
    check(
        403,
        &[],
        r#"{"error":{"message":"Country not supported"}}"#,
        expect![[
            r#"ModelError { kind: Auth, message: "https://host.test/v1 does not allow this (403): Country not supported; check the key and the model \"some-model\"", retry: Never }"#
        ]],
    );
}

#[test]
fn long_words_of_a_server_are_cut_between_characters() {
    let endpoint = Endpoint::new("https://host.test/v1", "some-model").expect("a good URL");
    let shown = clean(&endpoint, &"ä".repeat(10_000));
    assert_eq!(shown.chars().count(), MAX_WORDS + 1);
}

#[test]
fn words_of_a_server_stay_on_one_line() {
    let endpoint = Endpoint::new("https://host.test/v1", "some-model").expect("a good URL");
    assert_eq!(clean(&endpoint, " no\n\n\u{1b}[31mway\t there. "), "no [31mway there");
}

#[test]
fn a_placeholder_for_a_key_makes_no_holes() {
    let mut endpoint = Endpoint::new("https://host.test/v1", "some-model").expect("a good URL");
    endpoint.key = Some("none".into());
    assert_eq!(clean(&endpoint, "none of these"), "none of these");
    endpoint.key = Some("sk-secret".into());
    assert_eq!(clean(&endpoint, "the key sk-secret is wrong"), "the key [key] is wrong");
}

/// What is said when the server at `base_url`, which comes from `setting`, refuses to tell its models.
fn check_list(setting: &'static str, base_url: &str, status: u16, body: &str, expected: Expect) {
    let endpoint = Endpoint::of_setting(setting, base_url, "").expect("a good URL");
    let address = endpoint.url("models").to_string();
    let error = of_list_status(&endpoint, &address, status, &HeaderMap::new(), body);
    expected.assert_eq(&format!("{error:?}"));
}

#[test]
fn a_server_that_does_not_tell_its_models_says_which_setting_mends_it() {
    let refused = r#"{"error":{"message":"no"}}"#;
    check_list(
        "base_url",
        "https://host.test/v1",
        401,
        refused,
        expect![[
            r#"ModelError { kind: Auth, message: "https://host.test/v1 wants a key (401): no; set the environment variable ASKLS_API_KEY, or the setting api_key_env or api_key_command", retry: Never }"#
        ]],
    );
    check_list(
        "OPENAI_BASE_URL",
        "https://host.test/v1",
        403,
        refused,
        expect![[
            r#"ModelError { kind: Auth, message: "https://host.test/v1 wants a key (403): no; set the environment variable OPENAI_API_KEY", retry: Never }"#
        ]],
    );
    check_list(
        "base_url",
        "https://host.test/api",
        404,
        "",
        expect![[
            r#"ModelError { kind: Settings, message: "no model is set, and the server cannot be asked for one, since https://host.test/api/models is not there (404): is base_url right? If so, set model (--model, ASKLS_MODEL)", retry: Never }"#
        ]],
    );
    check_list(
        "OPENAI_BASE_URL",
        "http://host.test:1",
        404,
        "",
        expect![[
            r#"ModelError { kind: Settings, message: "no model is set, and the server cannot be asked for one, since http://host.test:1/models is not there (404): did you mean OPENAI_BASE_URL http://host.test:1/v1? If not, set model (--model, ASKLS_MODEL)", retry: Never }"#
        ]],
    );
    check_list(
        "base_url",
        "https://host.test/v1",
        503,
        refused,
        expect![[
            r#"ModelError { kind: Overloaded, message: "https://host.test/v1/models cannot answer now (503): no; try again, or set model (--model, ASKLS_MODEL) so that it need not be asked", retry: Later }"#
        ]],
    );
    check_list(
        "base_url",
        "https://host.test/v1",
        400,
        refused,
        expect![[
            r#"ModelError { kind: Rejected, message: "https://host.test/v1/models does not say which models it has (400): no; set model (--model, ASKLS_MODEL)", retry: Never }"#
        ]],
    );
}

#[test]
fn a_key_that_may_not_list_models_is_named_by_its_source() {
    let mut endpoint = Endpoint::new("https://host.test/v1", "").expect("a good URL");
    endpoint.key = Some("sk-secret".into());
    endpoint.key_source = Some("the environment variable MINE".to_owned());
    let said = [401, 403].map(|status| {
        let body = "the key sk-secret is not good";
        of_list_status(&endpoint, "https://host.test/v1/models", status, &HeaderMap::new(), body).to_string()
    });
    expect![[r#"
        https://host.test/v1 refused the key (401): the key [key] is not good; check the environment variable MINE
        https://host.test/v1 does not allow this (403): the key [key] is not good; check the key from the environment variable MINE
    "#]]
    .assert_eq(&format!("{}\n{}\n", said[0], said[1]));
}

/// What a 404 for a request with `some-model` is taken for.
fn check_missing(base_url: &str, listed: bool, words: &str, expected: Expect) {
    let mut endpoint = Endpoint::new(base_url, "some-model").expect("a good URL");
    endpoint.model_is_listed = listed;
    let address = endpoint.url("chat/completions").to_string();
    let error = of_status(&endpoint, &address, 404, &HeaderMap::new(), words);
    expected.assert_eq(&error.to_string());
}

#[test]
fn what_is_not_there_is_the_model_or_the_address() {
    check_missing(
        "http://host.test:1",
        false,
        "Not Found",
        expect![
            "http://host.test:1/chat/completions is not there (404): Not Found; did you mean base_url http://host.test:1/v1?"
        ],
    );
    check_missing(
        "http://host.test:1/v1",
        true,
        "Not Found",
        expect![
            "http://host.test:1/v1/chat/completions is not there (404): Not Found; check base_url and wire"
        ],
    );
    check_missing(
        "http://host.test:1/v1",
        false,
        "",
        expect![[
            r#"http://host.test:1/v1/chat/completions does not know the model "some-model" or is not the right address (404); check model, base_url and wire"#
        ]],
    );
    // Whatever it calls the model: an alias has another name there.
    for words in [
        r#"{"error":{"message":"The model does not exist"}}"#,
        r#"{"error":{"message":"Nothing here","code":"model_not_found"}}"#,
        r#"{"error":{"message":"The model `other` does not exist or you do not have access to it."}}"#,
    ] {
        let endpoint = Endpoint::new("http://host.test:1/v1", "some-model").expect("a good URL");
        let error =
            of_status(&endpoint, "http://host.test:1/v1/x", 404, &HeaderMap::new(), words).to_string();
        assert!(
            error.starts_with("http://host.test:1/v1 does not know the model \"some-model\" (404): "),
            "{error}"
        );
        assert!(error.ends_with("; check the setting model"), "{error}");
    }
    let words = r#"{"error":{"message":"model 'some-model' not found"}}"#;
    check_missing(
        "http://host.test:1",
        false,
        words,
        expect![[
            r#"http://host.test:1 does not know the model "some-model" (404): model 'some-model' not found; check the setting model"#
        ]],
    );
    check_missing(
        "http://host.test:1/v1",
        true,
        words,
        expect![[
            r#"http://host.test:1/v1 lists the model "some-model" and does not serve it (404): model 'some-model' not found; set another model"#
        ]],
    );
}

#[test]
fn what_is_no_list_of_models_is_told_as_what_it_is() {
    let said = |base_url: &str, body: &str| {
        let endpoint = Endpoint::new(base_url, "").expect("a good URL");
        of_no_list(&endpoint, endpoint.url("models").as_str(), body).to_string()
    };
    expect![[r#"no model is set, and http://host.test/models answered with a web page titled "Welcome": did you mean base_url http://host.test/v1? If not, set model (--model, ASKLS_MODEL)"#]]
        .assert_eq(&said("http://host.test", "<html><title>Welcome</title>"));
    expect!["no model is set, and http://host.test/v1/models answered with something that is not a list of models: is base_url right? If so, set model (--model, ASKLS_MODEL)"]
        .assert_eq(&said("http://host.test/v1", "{}"));
}

/// An endpoint with a key, and headers of an answer that point to this place.
fn redirected(key: &str, target: &str) -> (Endpoint, HeaderMap) {
    let mut endpoint = Endpoint::new("https://host.test/v1", "some-model").expect("a good URL");
    endpoint.key = Some(key.into());
    let target = HeaderValue::from_str(target).expect("a value of a header");
    (endpoint, HeaderMap::from_iter([(LOCATION, target)]))
}

#[test]
fn the_target_of_a_redirect_is_shown_without_the_key() {
    let key = "AbC/9x+yy==-77aa55zz";
    for target in [
        "https://elsewhere.test/AbC%2F9x%2Byy%3D%3D-77aa55zz/x",
        "https://elsewhere.test/AbC/9x+yy==-77aa55zz/x",
        "/QWJDLzl4K3l5PT0tNzdhYTU1eno/x",
    ] {
        let (endpoint, headers) = redirected(key, target);
        let error = of_status(&endpoint, "https://host.test/v1/chat/completions", 302, &headers, "");
        assert!(error.message.contains("[key]") && !error.message.contains("77aa55"), "{}", error.message);
        assert!(!error.message.contains("QWJD"), "{}", error.message);
    }
}

#[test]
fn a_secret_in_base64_is_hidden_where_a_server_repeats_the_header() {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let (mut endpoint, headers) = redirected("sk-secret-0123456789", "/");
    endpoint.route.query = vec![("tok".to_owned(), "qq-SECRETQUERY-123".into())];
    let told = |said: &str| {
        let body = saying(&format!("bad: {}", STANDARD.encode(said)));
        of_status(&endpoint, "https://host.test/v1", 400, &headers, &body).message
    };
    expect!["https://host.test/v1 refused the request (400): bad: [key]k="]
        .assert_eq(&told("sk-secret-0123456789"));
    expect!["https://host.test/v1 refused the request (400): bad: QmVhcmVyIH[key]"]
        .assert_eq(&told("Bearer sk-secret-0123456789"));
    expect!["https://host.test/v1 refused the request (400): bad: [query]"]
        .assert_eq(&told("qq-SECRETQUERY-123"));
}
