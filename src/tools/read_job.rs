//! `read_job`: what the background jobs of a thread do and print.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Effect, Tool, ToolContext, ToolError, arguments::whole_number, cancelled, jobs::Part,
    run_command::RunCommand,
};

/// Longest wait for a job in one call, as for a command.
const MAX_WAIT: Duration = Duration::from_secs(600);

pub struct ReadJob;

/// Read what a background job, which run_command has started, printed since it was read last (of its last 2,000 lines),
/// and whether it still runs. Without `id` it lists all jobs. To wait for a job to end give `wait` instead of asking
/// again and again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Number of the job. Default: list all jobs.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1))]
    id: Option<u64>,
    /// Seconds to wait for its end first, at most 600. Default: 0.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(max = 600))]
    wait: Option<u64>,
    /// Read again all that is kept, not only what is new. Default: false.
    #[serde(default)]
    all: bool,
}

impl Tool for ReadJob {
    const NAME: &'static str = "read_job";
    const EFFECT: Effect = Effect::Read;
    type Args = Args;

    fn target(args: &Args) -> String {
        match args.id {
            Some(id) => format!("job {id}"),
            None => "all jobs".to_owned(),
        }
    }

    fn waits(args: &Args) -> bool {
        args.id.is_some() && args.wait.is_some_and(|seconds| seconds > 0)
    }

    fn access(&self, _args: &Args) -> Access {
        Access { repeats: Some(RunCommand::NAME), ..Access::default() }
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        let Some(id) = args.id else { return Ok(context.jobs.describe()) };
        let job = context.jobs.find(id)?;
        let wait = Duration::from_secs(args.wait.unwrap_or(0)).min(MAX_WAIT);
        if !wait.is_zero() {
            // Either way the answer says how it stands.
            let ended = tokio::time::timeout(wait, job.ended());
            if context.cancel.run_until_cancelled(ended).await.is_none() {
                return Err(cancelled());
            }
        }
        Ok(job.report(if args.all { Part::Kept } else { Part::New }))
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use regex::Regex;
    use serde_json::{Value, json};

    use super::super::{ToolSettings, Toolbox, testing::Project};
    use crate::protocol::ToolCall;

    /// The times that a command took are not the same twice.
    fn check(answer: &str, expected: Expect) {
        let time = Regex::new(r"\d+(\.\d)? s\b").unwrap();
        expected.assert_eq(&time.replace_all(answer, "… s"));
    }

    async fn run(project: &Project, arguments: Value) -> String {
        project.call("run_command", arguments).await
    }

    #[test]
    fn what_shows_the_output_of_a_command_says_so() {
        let repeats = |name: &str, arguments: Value| {
            let arguments = arguments.to_string();
            let call = ToolCall { id: "1".to_owned(), name: name.to_owned(), arguments, raw: None };
            Toolbox::standard(&ToolSettings::default()).prepare(&call).unwrap().access.repeats
        };
        for (name, arguments, repeated) in [
            ("read_job", json!({"id": 1}), Some("run_command")),
            ("stop_job", json!({"id": 1}), Some("run_command")),
            ("read_file", json!({"path": "output:0123456789"}), Some("run_command")),
            ("read_file", json!({"path": "output.txt"}), None),
            ("run_command", json!({"command": "ls"}), None),
        ] {
            assert_eq!(repeats(name, arguments), repeated, "{name}");
        }
    }

    #[tokio::test]
    async fn a_job_is_read_until_it_ends() {
        let project = Project::new("");
        let command = "echo ready; until [ -e go ]; do sleep 0.01; done; echo went; exit 3";
        check(
            &run(&project, json!({"command": command, "background": true})).await,
            expect![[r#"
                job 1: running for … s: echo ready; until [ -e go ]; do sleep 0.01; done; echo went; exit 3
                ready
                note: it goes on in the background; read_job 1 reads what comes, stop_job ends it"#]],
        );
        check(
            &project.call("read_job", json!({"id": 1})).await,
            expect![[r#"
                job 1: running for … s: echo ready; until [ -e go ]; do sleep 0.01; done; echo went; exit 3
                (no new output)"#]],
        );
        project.write("go", "");
        check(
            &project.call("read_job", json!({"id": "1", "wait": 600})).await,
            expect![[r#"
                job 1: exit code 3 (… s): echo ready; until [ -e go ]; do sleep 0.01; done; echo went; exit 3
                went"#]],
        );
        check(
            &project.call("read_job", json!({"id": 1, "all": true})).await,
            expect![[r#"
                job 1: exit code 3 (… s): echo ready; until [ -e go ]; do sleep 0.01; done; echo went; exit 3
                ready
                went"#]],
        );
    }

    #[tokio::test]
    async fn a_job_is_stopped_with_all_that_it_started() {
        let project = Project::new("");
        let command = "sleep 27210 & echo ready; sleep 27211";
        run(&project, json!({"command": command, "background": true})).await;
        check(
            &project.call("stop_job", json!({"id": 1})).await,
            expect![[r#"
                job 1: stopped after … s: sleep 27210 & echo ready; sleep 27211
                (no new output)"#]],
        );
        check(
            &project.call("read_job", json!({})).await,
            expect!["job 1: stopped after … s: sleep 27210 & echo ready; sleep 27211"],
        );
    }

    #[tokio::test]
    async fn a_command_that_ends_in_time_was_never_a_job() {
        let project = Project::new("");
        for arguments in [
            json!({"command": "echo done; exit 3", "background": true}),
            json!({"command": "echo done; exit 3", "background_after": 600}),
        ] {
            check(
                &run(&project, arguments).await,
                expect![[r#"
                    exit code 3 (… s)
                    done"#]],
            );
        }
        check(
            &project.call("read_job", json!({})).await,
            expect!["there are no jobs; run_command starts one with background"],
        );
    }

    #[tokio::test]
    async fn a_command_that_takes_longer_becomes_a_job_when_that_was_asked_for() {
        let project = Project::new("");
        check(
            &run(&project, json!({"command": "echo one; sleep 27212", "background_after": 1})).await,
            expect![[r#"
                job 1: running for … s: echo one; sleep 27212
                one
                note: it goes on in the background; read_job 1 reads what comes, stop_job ends it"#]],
        );
    }

    // SPEC E11
    #[tokio::test]
    async fn a_job_has_a_time_out_when_one_is_given() {
        let project = Project::new("");
        run(&project, json!({"command": "sleep 27213", "background": true, "timeout": 2})).await;
        check(
            &project.call("read_job", json!({"id": 1, "wait": 600})).await,
            expect![[r#"
                job 1: timed out after … s: sleep 27213
                (no new output)"#]],
        );
    }

    #[tokio::test]
    async fn a_job_that_is_not_there_is_answered_with_those_that_are() {
        let project = Project::new("");
        for tool in ["read_job", "stop_job"] {
            check(
                &project.call(tool, json!({"id": 2})).await,
                expect![
                    "error: there is no job 2; there are no jobs; run_command starts one with background"
                ],
            );
        }
        check(
            &project.call("stop_job", json!({"id": null})).await,
            expect![
                "error: the arguments of stop_job do not fit its schema: id: expected a whole number, got null; its arguments are {id: integer}"
            ],
        );
    }
}
