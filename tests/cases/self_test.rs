//! The driver tested: small cases that must fail, each for one expectation, and the same that must pass. A driver that
//! cannot find a fault says nothing with its passes.

mod conversations;
mod requests;
mod scripts;

use serde_json::{Value, json};

use crate::{
    case::{Case, merge_patch},
    drive,
    expect::Verdict,
};

/// Whether the driver finds every fault that was made on purpose, and none where there is none.
pub(crate) fn run() -> bool {
    let mut faults = whole_runs();
    faults.extend(requests::faults());
    faults.extend(conversations::faults());
    faults.extend(scripts::faults());
    faults.extend(merging());
    for fault in &faults {
        println!("the driver itself: FAIL {fault}");
    }
    println!("the driver itself: {}", if faults.is_empty() { "pass" } else { "FAIL" });
    faults.is_empty()
}

fn chunk(delta: &Value, finish: &Value) -> Value {
    json!({"send": format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))})
}

fn stream(steps: Vec<Value>) -> Value {
    let steps: Vec<Value> = steps.into_iter().chain([json!({"send": "data: [DONE]\n\n"})]).collect();
    json!({"status": 200, "headers": {"content-type": "text/event-stream"}, "steps": steps})
}

/// One turn that writes a file and says `done`.
fn case() -> Value {
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"index": 0, "id": "call_1",
        "type": "function", "function": {"name": "write_file",
        "arguments": "{\"path\":\"new.txt\",\"content\":\"n\\n\"}"}}]});
    json!({
        "schema": 1, "id": "self", "kind": "sse-stream", "limits": {"wall_ms": 20_000},
        "given": {
            "provider": "openai_chat",
            "files": [{"path": "a.txt", "text": "A\n", "mode": "0640"}],
            "outside_files": [{"path": "o.txt", "text": "O\n"}],
            "exchanges": [
                stream(vec![chunk(&call, &Value::Null), chunk(&json!({}), &json!("tool_calls"))]),
                stream(vec![chunk(&json!({"content": "done"}), &Value::Null), chunk(&json!({}), &json!("stop"))]),
            ],
        },
        "when": {"ask": "write"},
        "expect": {
            "outcome": "completed",
            "final_text": {"equals": "done", "contains": ["do"], "not_contains": ["undone"]},
            "tool_calls": [{"name": "write_file", "arguments": {"path": "new.txt", "content": "n\n"}}],
            "asked_for": [],
            "files": [
                {"path": "new.txt", "text": "n\n"}, {"path": "a.txt", "mode": "0640"}, {"path": "x", "absent": true},
            ],
            "outside_files": [{"path": "o.txt", "b64": "Two="}],
            "disk_any": [[{"path": "x"}], [{"path": "new.txt"}]],
            "dir_listing": {"path": ".", "equals": ["a.txt", "new.txt"]},
            "requests": {"eq": 2, "min": 1, "max": 2},
            "connections": {"min": 1},
            "request_paths": [{"on": 1, "equals": "/v1/chat/completions"}],
            "request_headers": [
                {"on": 1, "name": "authorization", "equals": "Bearer sk-test-0123456789abcdef"},
                {"on": 1, "name": "x-none", "absent": true},
            ],
            "site_hits": {"${PORT2}": {"eq": 0}},
            "request_checks": [
                {"on": 1, "pointer": "/model", "op": "equals", "value": "test-model"},
                {"on": -1, "pointer": "/messages/-1/role", "op": "matches", "value": "^tool$"},
                {"on": 2, "find": {"path": "/messages", "where": {"role": "assistant", "has": "tool_calls"}},
                 "pointer": "/tool_calls/0/id", "op": "contains_text", "value": "call"},
                {"on": 2, "pointer": "/nothing", "op": "absent"},
                {"on": 2, "pointer": "", "op": "max_len", "value": 1_000_000},
            ],
            "request_rules": [{"on": "all", "rule": "tool_calls_answered"}, {"on": [1], "rule": "smaller_than", "args": {"than": 2}}],
            "forbid_text": ["sk-test-0123456789abcdef"],
            "elapsed_ms": {"min": 0, "max": 19_000},
            "one_of": [{"outcome": "failed"}, {"final_text": {"equals": "done"}}],
        },
    })
}

/// Changes to `expect`, each of which asks for something that is not so.
fn lies() -> Vec<Value> {
    vec![
        json!({"outcome": "failed"}),
        json!({"outcomes": {"ask": "cancelled"}}),
        json!({"outcomes_any": {"ask": ["failed", "cancelled"]}}),
        json!({"final_text": {"equals": "Done"}}),
        json!({"final_text": {"contains": ["undone"]}}),
        json!({"final_text": {"not_contains": ["do"]}}),
        json!({"final_texts": {"ask": {"equals": "other"}}}),
        json!({"error": {"kind": "auth"}}),
        json!({"error": {"contains": ["something"]}}),
        json!({"usage": {"input_tokens": 77}}),
        json!({"tool_calls": []}),
        json!({"tool_calls": [{"name": "read_file", "arguments": {"path": "new.txt", "content": "n\n"}}]}),
        json!({"tool_calls": [{"name": "write_file", "arguments": {"path": "other.txt", "content": "n\n"}}]}),
        json!({"asked_for": ["run_command"]}),
        json!({"approval_asked": true}),
        json!({"results": [{"ok": true}]}),
        json!({"files": [{"path": "new.txt", "text": "other\n"}]}),
        json!({"files": [{"path": "new.txt", "absent": true}]}),
        json!({"files": [{"path": "a.txt", "mode": "0600"}]}),
        json!({"files": [{"path": "missing.txt"}]}),
        json!({"files": [{"path": "a.txt", "symlink": "b.txt"}]}),
        json!({"outside_files": [{"path": "o.txt", "absent": true}]}),
        json!({"disk_any": [[{"path": "x"}]]}),
        json!({"dir_listing": {"path": ".", "equals": ["a.txt"]}}),
        json!({"buffers": [{"path": "a.txt", "text": "A\n"}]}),
        json!({"edit_version": {"path": "a.txt", "version": 3}}),
        json!({"edit_uri": "same_document_as_opened"}),
        json!({"requests": {"eq": 1}}),
        json!({"requests": {"max": 1}}),
        json!({"requests": {"min": 3}}),
        json!({"connections": {"max": 0}}),
        json!({"request_paths": [{"on": 1, "equals": "/v1/responses"}]}),
        json!({"request_paths": [{"on": 5, "equals": "/v1/chat/completions"}]}),
        json!({"request_headers": [{"on": 1, "name": "authorization", "absent": true}]}),
        json!({"request_headers": [{"on": 1, "name": "api-key", "equals": "x"}]}),
        json!({"site_hits": {"${PORT2}": {"min": 1}}}),
        json!({"site_headers": {"${PORT2}": [{"name": "accept", "equals": "x"}]}}),
        json!({"request_checks": [{"on": 1, "pointer": "/model", "op": "equals", "value": "other"}]}),
        json!({"request_checks": [{"on": 1, "pointer": "/model", "op": "absent"}]}),
        json!({"request_checks": [{"on": 1, "pointer": "/nothing", "op": "exists"}]}),
        json!({"request_checks": [{"on": 1, "pointer": "/model", "op": "matches", "value": "^x"}]}),
        json!({"request_checks": [{"on": 1, "pointer": "/messages", "op": "matches_text", "value": "no such words"}]}),
        json!({"request_checks": [{"on": 1, "pointer": "/messages", "op": "contains_text", "value": "no such words"}]}),
        json!({"request_checks": [{"on": 1, "pointer": "/model", "op": "not_contains_text", "value": "test"}]}),
        json!({"request_checks": [{"on": 1, "pointer": "", "op": "max_len", "value": 10}]}),
        json!({"request_checks": [{"on": 9, "pointer": "", "op": "exists"}]}),
        json!({"request_rules": [{"on": [9], "rule": "tool_calls_answered"}]}),
        json!({"request_rules": [{"on": [2], "rule": "smaller_than", "args": {"than": 1}}]}),
        json!({"request_rules": [{"on": [1], "rule": "tools_not_offered", "args": {"names": ["write_file"]}}]}),
        json!({"forbid_text": ["test-model"]}),
        json!({"elapsed_ms": {"min": 60_000}}),
        json!({"elapsed_after_cancel_ms": {"max": 1}}),
        json!({"provider_connection_closed_within_ms": 1}),
        json!({"one_of": [{"outcome": "failed"}, {"final_text": {"equals": "other"}}]}),
        json!({"all_rows": "path", "errors": {"kind": "auth"}}),
    ]
}

/// Changes that no driver may pass, since nothing here can look.
fn beyond_words() -> Vec<Value> {
    vec![
        json!({"no_such_expectation": 1}),
        json!({"request_rules": [{"on": "all", "rule": "no_such_rule"}]}),
        json!({"request_checks": [{"on": 1, "pointer": "", "op": "no_such_op"}]}),
        json!({"lsp_rules": [{"rule": "nothing_after_end"}]}),
        json!({"must": [{"match": {"kind": "request"}}]}),
        json!({"must_not": [{"kind": "request"}]}),
        json!({"process": {"exit_within_ms": 1}}),
        json!({"server_rss_growth_mb": {"max": 1}}),
        json!({"decisions": ["auto"]}),
    ]
}

fn whole_runs() -> Vec<String> {
    let runtime = match crate::runtime() {
        Ok(runtime) => runtime,
        Err(reason) => return vec![reason],
    };
    let verdict = |patch: &Value| -> Verdict {
        let mut case = case();
        merge_patch(&mut case, patch);
        match Case::parse(&case.to_string()) {
            Err(reason) => Verdict::NotExpressed(reason),
            Ok(case) => case
                .runs
                .first()
                .map_or(Verdict::NotExpressed("no run".to_owned()), |run| drive::run(run, &runtime).verdict),
        }
    };
    let mut faults = Vec::new();
    match verdict(&json!({})) {
        Verdict::Pass => {}
        other => faults.push(format!("a case that holds gives {other:?}")),
    }
    for lie in lies() {
        match verdict(&json!({"expect": lie})) {
            Verdict::Fail(_) => {}
            other => faults.push(format!("{lie} is not so, and gives {other:?}")),
        }
    }
    for unknown in beyond_words() {
        match verdict(&json!({"expect": unknown})) {
            Verdict::NotExpressed(_) => {}
            other => faults.push(format!("{unknown} cannot be seen here, and gives {other:?}")),
        }
    }
    // A server that never answers, and a turn that would wait for it for ever.
    let stalled = json!({
        "limits": {"wall_ms": 300},
        "given": {"exchanges": [{"stall": "before_headers", "hold_ms": 60_000}]},
    });
    match verdict(&stalled) {
        Verdict::Fail(_) => {}
        other => faults.push(format!("a run past its wall gives {other:?}")),
    }
    // A pause is over once the turn has reached its provider, however busy the machine is: here none at all.
    let given = json!({"exchanges": [{"stall": "before_headers", "hold_ms": 60_000}]});
    let steps = json!([{"ask": "go", "label": "a"}, {"sleep_ms": 0}, {"cancel": "a"}, {"wait_for": "a"}]);
    for requires in [json!([]), json!(["lsp"])] {
        let expect = json!({"outcomes": {"a": "cancelled"}, "requests": {"eq": 1}});
        let mut paused = case();
        for (member, value) in [
            ("requires", &requires),
            ("given", &given),
            ("when", &json!({"steps": steps})),
            ("expect", &expect),
        ] {
            paused[member] = value.clone();
        }
        paused["given"]["provider"] = json!("openai_chat");
        let found = Case::parse(&paused.to_string()).ok().and_then(|case| case.runs.first().cloned());
        match found.map(|run| drive::run(&run, &runtime).verdict) {
            Some(Verdict::Pass) => {}
            other => faults.push(format!("a pause before a cancel, with {requires}, gives {other:?}")),
        }
    }
    let call_answers_wrong = json!({
        "when": {"ask": null, "calls": [{"tool": "read_file", "args": {"path": "missing.txt"}}]},
        "expect": null,
    });
    let mut results = |expect: Value, fails: bool| {
        let mut patch = call_answers_wrong.clone();
        patch["expect"] = Value::Null;
        let mut case = case();
        merge_patch(&mut case, &patch);
        case["expect"] = json!({"results": [expect.clone()]});
        let found = Case::parse(&case.to_string()).ok().and_then(|case| case.runs.first().cloned());
        let verdict = found.map(|run| drive::run(&run, &runtime).verdict);
        if matches!(verdict, Some(Verdict::Fail(_))) != fails
            || matches!(verdict, Some(Verdict::NotExpressed(_)) | None)
        {
            faults.push(format!("the result {expect} gives {verdict:?}"));
        }
    };
    results(
        json!({"ok": false, "exit_code_not": 0, "timed_out": false, "contains_all": ["missing.txt"]}),
        false,
    );
    for lie in [
        json!({"ok": true}),
        json!({"exit_code": 0}),
        json!({"timed_out": true}),
        json!({"contains_all": ["no such words"]}),
        json!({"contains_any": ["no such words"]}),
        json!({"not_contains": ["missing.txt"]}),
        json!({"matches": "^no such words$"}),
        json!({"max_bytes": 1}),
    ] {
        results(lie, true);
    }
    faults
}

/// RFC 7386.
fn merging() -> Vec<String> {
    let mut value = json!({"a": {"b": 1, "c": 2}, "d": [1, 2], "e": 1});
    merge_patch(&mut value, &json!({"a": {"b": null, "x": {"y": null, "z": 1}}, "d": [3], "e": {"f": 1}}));
    let wanted = json!({"a": {"c": 2, "x": {"z": 1}}, "d": [3], "e": {"f": 1}});
    if value == wanted { Vec::new() } else { vec![format!("a patch gives {value}, not {wanted}")] }
}
