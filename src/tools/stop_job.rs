//! `stop_job`: ends a background job of the thread, with all that it started.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Effect, Tool, ToolContext, ToolError, arguments::required_whole_number, jobs::Part,
    run_command::RunCommand,
};

pub struct StopJob;

/// End a background job that run_command has started, with everything that it started, and read what it printed last.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Number of the job, as read_job lists it.
    #[serde(deserialize_with = "required_whole_number")]
    #[schemars(range(min = 1))]
    id: u64,
}

impl Tool for StopJob {
    const NAME: &'static str = "stop_job";
    const EFFECT: Effect = Effect::Stop;
    type Args = Args;

    fn target(args: &Args) -> String {
        format!("job {}", args.id)
    }

    fn access(&self, _args: &Args) -> Access {
        Access { repeats: Some(RunCommand::NAME), ..Access::default() }
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        let job = context.jobs.find(args.id)?;
        job.stop();
        job.ended().await;
        Ok(job.report(Part::New))
    }
}
