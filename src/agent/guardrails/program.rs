//! A hook that is a program: it reads one JSON object and prints one.

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    protocol::HookKind,
    tools::hook::{HookFault, HookProgram},
};

use super::{Asked, Guard, Matter, Verdict};

/// What a program that answers something else is told about.
const ANSWERS: &str =
    r#"{"decision": "allow"}, {"decision": "deny", "reason": "…"} or {"decision": "replace", …}"#;

/// One hook of the settings.
#[derive(Clone, Debug)]
pub struct Hook {
    /// As people call it.
    pub name: String,
    pub watched: Watched,
    pub program: HookProgram,
}

/// What a hook is to be asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    pub kind: HookKind,
    /// The tools whose calls it is asked about; `None` for all.
    pub tools: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Allow,
    Deny,
    Replace,
}

#[derive(Deserialize)]
struct Answer {
    decision: Decision,
    reason: Option<String>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl Guard for Hook {
    fn name(&self) -> &str {
        &self.name
    }

    fn watches(&self, kind: HookKind, tool: Option<&str>) -> bool {
        let is_about = |tools: &Vec<String>| tool.is_some_and(|tool| tools.iter().any(|name| name == tool));
        self.watched.kind == kind && self.watched.tools.as_ref().is_none_or(is_about)
    }

    fn judge<'a>(
        &'a self,
        asked: Asked<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Verdict, HookFault>> {
        Box::pin(async move {
            let mut question = serde_json::to_vec(&asked)
                .map_err(|error| HookFault::Failed(format!("it could not be asked: {error}")))?;
            question.push(b'\n');
            let answer = self.program.ask(&question, cancel).await?;
            verdict(&answer, asked.matter).map_err(HookFault::Failed)
        })
    }
}

/// What an answer says of a matter. The error does not repeat it: what may not be seen may stand in it.
fn verdict(answer: &[u8], matter: &Matter) -> Result<Verdict, String> {
    if answer.trim_ascii().is_empty() {
        return Err(format!("it answered nothing: an answer is {ANSWERS}"));
    }
    let Ok(Answer { decision, reason, mut others }) = serde_json::from_slice(answer) else {
        return Err(format!("what it answered is no verdict: an answer is {ANSWERS}"));
    };
    match decision {
        Decision::Allow => Ok(Verdict::Allow),
        Decision::Deny => Ok(Verdict::Deny { reason: reason.filter(|reason| !reason.trim().is_empty()) }),
        Decision::Replace => match others.remove(matter.part()) {
            Some(value) => Ok(Verdict::Replace(value)),
            None => Err(format!("its answer replaces, and has no {}", matter.part())),
        },
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;
    use crate::protocol::ThreadId;

    fn call() -> Matter {
        Matter::Tool { tool: "run_command", arguments: json!({"command": "ls"}) }
    }

    fn check(answer: &str, expected: Expect) {
        let line = match verdict(answer.as_bytes(), &call()) {
            Ok(verdict) => format!("{verdict:?}"),
            Err(what) => format!("failed: {what}"),
        };
        expected.assert_eq(&line);
    }

    // SPEC A7
    #[test]
    fn an_answer_allows_denies_or_replaces() {
        check(" {\"decision\": \"allow\"}\n", expect!["Allow"]);
        check(r#"{"decision": "deny", "reason": "no"}"#, expect![[r#"Deny { reason: Some("no") }"#]]);
        check(r#"{"decision": "deny"}"#, expect!["Deny { reason: None }"]);
        check(
            r#"{"decision": "replace", "arguments": {"command": "true"}, "since": "better"}"#,
            expect![[r#"Replace(Object {"command": String("true")})"#]],
        );
    }

    // SPEC A7
    #[test]
    fn any_other_answer_is_a_no_that_does_not_repeat_it() {
        check(
            "",
            expect![[
                r#"failed: it answered nothing: an answer is {"decision": "allow"}, {"decision": "deny", "reason": "…"} or {"decision": "replace", …}"#
            ]],
        );
        let rubbish = || {
            expect![[
                r#"failed: what it answered is no verdict: an answer is {"decision": "allow"}, {"decision": "deny", "reason": "…"} or {"decision": "replace", …}"#
            ]]
        };
        for answer in [
            "allow",
            "{}",
            "[]",
            r#"{"decision": "maybe"}"#,
            r#"{"decision": "allow"} {"decision": "deny"}"#,
            r#"{"decision": "deny", "reason": 1}"#,
            r#"{"decision": "allow", "decision": "deny"}"#,
        ] {
            check(answer, rubbish());
        }
        check(
            r#"{"decision": "replace", "text": "x"}"#,
            expect!["failed: its answer replaces, and has no arguments"],
        );
    }

    #[test]
    fn a_question_is_one_object() {
        let (matter, thread) = (call(), ThreadId::from("thread-1"));
        let asked = Asked { matter: &matter, thread: &thread, turn: 2, workspace: &["/project".into()] };
        expect![[r#"{"kind":"tool","tool":"run_command","arguments":{"command":"ls"},"thread":"thread-1","turn":2,"workspace":["/project"]}"#]]
            .assert_eq(&serde_json::to_string(&asked).unwrap());
    }

    #[test]
    fn a_hook_watches_its_kind_and_its_tools() {
        let watches = |tools: Option<&[&str]>, kind, tool| {
            let tools = tools.map(|names| names.iter().map(|&name| name.to_owned()).collect());
            let program = HookProgram {
                program: "true".into(),
                arguments: Vec::new(),
                folder: "/".into(),
                timeout: std::time::Duration::ZERO,
                hidden_variable: None,
                launcher: None,
            };
            let hook =
                Hook { name: String::new(), watched: Watched { kind: HookKind::Tool, tools }, program };
            hook.watches(kind, tool)
        };
        assert!(watches(None, HookKind::Tool, Some("search")));
        assert!(watches(Some(&["search"]), HookKind::Tool, Some("search")));
        assert!(!watches(Some(&["search"]), HookKind::Tool, Some("read_file")));
        assert!(!watches(None, HookKind::ToolOutput, Some("search")));
    }
}
