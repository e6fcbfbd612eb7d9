//! Each rule about conversations, with one that keeps it and others that break it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    case::Case,
    expect::{Seen, Verdict, judge},
    observed::{Message, Observed},
    world::World,
};

/// One message, so many milliseconds after the first.
struct Line(u64, bool, Value);

fn out(at: u64, message: Value) -> Line {
    Line(at, false, message)
}

fn come(at: u64, message: Value) -> Line {
    Line(at, true, message)
}

fn progress(at: u64, value: Value) -> Line {
    come(at, json!({"method": "$/progress", "params": {"token": "t", "value": value}}))
}

fn create() -> Line {
    come(0, json!({"id": 7, "method": "window/workDoneProgress/create", "params": {"token": "t"}}))
}

fn agree(at: u64) -> Line {
    out(at, json!({"id": 7, "result": null}))
}

fn edit(edit: Value) -> Line {
    come(0, json!({"id": 8, "method": "workspace/applyEdit", "params": {"edit": edit}}))
}

fn asked() -> Line {
    out(0, json!({"id": 1, "method": "workspace/executeCommand"}))
}

fn answered(error: Value) -> Line {
    come(5, json!({"id": 1, "error": error}))
}

fn judged(
    expect: &Value,
    lines: Vec<Line>,
    exit: Option<(Option<i32>, Duration)>,
) -> Result<Verdict, String> {
    let case = json!({"schema": 1, "id": "self", "kind": "lsp-sequence", "given": {}, "when": {"steps": []}, "expect": expect});
    let case = Case::parse(&case.to_string())?;
    let run = case.runs.first().ok_or("no run")?;
    let start = Instant::now();
    let messages = lines.into_iter().map(|Line(at, from_server, json)| Message {
        at: start + Duration::from_millis(at),
        from_server,
        bytes: json.to_string().len(),
        json,
    });
    let observed = Observed {
        messages: messages.collect(),
        labels: [("a".to_owned(), "1".to_owned())].into(),
        exit,
        was_alive: Some(exit.is_none()),
        still_answers: Some(false),
        rss_growth_mb: Some(50.0),
        ..Observed::default()
    };
    let world = World::new()?;
    Ok(judge(&Seen { run, world: &world, observed: &observed }))
}

/// `(expectation, conversation that keeps it, conversations that break it)`.
fn table() -> Vec<(Value, Vec<Line>, Vec<Vec<Line>>)> {
    let (begin, end) = (json!({"kind": "begin", "title": "x"}), json!({"kind": "end"}));
    let report = |text: &str| json!({"kind": "report", "message": text});
    let rule = |name: &str| json!({"lsp_rules": [{"rule": name}]});
    let rate =
        json!({"lsp_rules": [{"rule": "max_rate", "args": {"method": "$/progress", "per_second": 2}}]});
    let size =
        json!({"lsp_rules": [{"rule": "max_message_bytes", "args": {"method": "$/progress", "bytes": 200}}]});
    let good = || vec![create(), agree(5), progress(10, begin.clone()), progress(900, end.clone())];
    vec![
        (
            rule("progress_only_after_create_answer"),
            good(),
            vec![
                vec![create(), progress(2, begin.clone()), agree(5)],
                vec![progress(2, begin.clone())],
                vec![create(), out(1, json!({"id": 7, "error": {}})), progress(2, begin.clone())],
            ],
        ),
        (
            rule("progress_begin_report_end_once_per_token"),
            good(),
            vec![
                vec![progress(1, begin.clone())],
                vec![progress(1, report("x")), progress(2, end.clone())],
                vec![progress(1, begin.clone()), progress(2, begin.clone()), progress(3, end.clone())],
                vec![progress(1, begin.clone()), progress(2, end.clone()), progress(3, end.clone())],
            ],
        ),
        (
            rule("nothing_after_end"),
            good(),
            vec![vec![progress(1, begin.clone()), progress(2, end.clone()), progress(3, report("late"))]],
        ),
        (
            rate,
            vec![progress(0, begin.clone()), progress(600, report("a")), progress(1200, end.clone())],
            [0, 9000]
                .map(|late| {
                    let burst = (0..5).map(|at| progress(late + at, report(&at.to_string())));
                    std::iter::once(progress(0, begin.clone())).chain(burst).collect()
                })
                .into(),
        ),
        (
            rule("no_identical_consecutive_progress"),
            vec![progress(0, report("a")), progress(1, report("b")), progress(2, report("a"))],
            vec![vec![progress(0, report("a")), progress(1, report("a"))]],
        ),
        (size, vec![progress(0, report("a"))], vec![vec![progress(0, report(&"x".repeat(300)))]]),
        (
            rule("apply_edit_params_not_null"),
            vec![edit(json!({"changes": {}}))],
            vec![vec![edit(Value::Null)], vec![edit(json!({"changes": null}))]],
        ),
        (
            rule("only_changes_form"),
            vec![edit(json!({"changes": {}}))],
            vec![vec![edit(json!({"documentChanges": []}))]],
        ),
        (
            rule("no_resource_operations"),
            vec![edit(json!({"documentChanges": [{"edits": []}]}))],
            vec![vec![edit(json!({"documentChanges": [{"kind": "create"}]}))]],
        ),
        (
            rule("every_request_gets_one_response"),
            vec![asked(), answered(json!({}))],
            vec![
                vec![asked()],
                vec![asked(), answered(json!({})), answered(json!({}))],
                vec![asked(), answered(json!({})), come(6, json!({"id": 9, "result": 1}))],
            ],
        ),
        (
            json!({"must": [{"match": {"kind": "request", "method": "workspace/applyEdit"}, "count": {"min": 1, "max": 1}}]}),
            vec![edit(json!({}))],
            vec![vec![create()], vec![edit(json!({})), edit(json!({}))]],
        ),
        (
            json!({"must_not": [{"kind": "notification", "method": {"$regex": "^.{1}/progress$"}}]}),
            vec![create()],
            vec![vec![progress(0, report("a"))]],
        ),
        (
            json!({"responses": {"a": {"error": {"code": -32600, "message": {"$any": true}}}}}),
            vec![asked(), answered(json!({"code": -32600, "message": "x"}))],
            vec![
                vec![asked(), answered(json!({"code": -1, "message": "x"}))],
                vec![asked(), answered(json!({"code": -32600}))],
                vec![asked(), come(1, json!({"id": 1, "result": null}))],
            ],
        ),
    ]
}

pub(super) fn faults() -> Vec<String> {
    let mut faults = Vec::new();
    for (expect, kept, broken) in table() {
        match judged(&expect, kept, None) {
            Ok(Verdict::Pass) => {}
            other => faults.push(format!("{expect} is kept, and gives {other:?}")),
        }
        for (number, lines) in broken.into_iter().enumerate() {
            match judged(&expect, lines, None) {
                Ok(Verdict::Fail(_)) => {}
                other => faults.push(format!("{expect} is broken (number {number}), and gives {other:?}")),
            }
        }
    }
    let ended = |code: i32, milliseconds: u64| Some((Some(code), Duration::from_millis(milliseconds)));
    let lies = [
        (json!({"process": {"exit_within_ms": 100}}), None),
        (json!({"process": {"exit_within_ms": 100}}), ended(0, 60_000)),
        (json!({"process": {"exit_within_ms": 100, "exit_code": 0}}), ended(1, 5)),
        (json!({"process": {"alive": true}}), ended(0, 5)),
        (json!({"server_alive": true}), ended(0, 5)),
        (json!({"lsp_still_answers": true}), None),
        (json!({"server_rss_growth_mb": {"max": 10}}), None),
    ];
    for (expect, exit) in lies {
        match judged(&expect, vec![create()], exit) {
            Ok(Verdict::Fail(_)) => {}
            other => faults.push(format!("{expect} is not so, and gives {other:?}")),
        }
    }
    match judged(&json!({"process": {"exit_within_ms": 100, "exit_code": 0}}), vec![create()], ended(0, 5)) {
        Ok(Verdict::Pass) => {}
        other => faults.push(format!("a process that ended well gives {other:?}")),
    }
    faults
}
