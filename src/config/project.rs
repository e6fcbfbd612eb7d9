//! What a project's own settings may do: only narrow, unless the user's file trusts the folder. A project that was
//! just cloned must neither send the user's key anywhere nor run a program.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    agent::{Limits, RetryPolicy},
    model::{http::DEFAULT_CONNECT_TIMEOUT, options::Effort, select::LOCAL_IDLE_TIMEOUT, tuning::Tokens},
    protocol::Cost,
    tools::run_command,
};

use super::{
    Environment, Origin, schema,
    schema::{Bounded, Dollars, Key, ProjectRule, Values},
};

/// How far a source is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// The user's own words.
    Full,
    /// A project that the user's file names: it may also choose servers and programs.
    Folder,
    /// Any other project.
    None,
}

/// How far the settings below `root` are trusted, by the user's own settings.
pub(super) fn trust(root: &Path, user: &Values, environment: &Environment) -> Trust {
    let real = |path: &Path| fs::canonicalize(path).ok();
    let trusted =
        user.trusted_folders.iter().flatten().filter_map(|folder| real(&expand(&folder.0, environment)));
    let Some(root) = real(root) else {
        return Trust::None;
    };
    if trusted.into_iter().any(|folder| root.starts_with(folder)) { Trust::Folder } else { Trust::None }
}

/// Whether a place may say anything about a setting at all. The error says why not.
pub(super) fn admit_table(key: &Key, origin: &Origin, trust: Trust) -> Result<(), String> {
    let name = key.name;
    match key.project {
        ProjectRule::Never if !matches!(origin, Origin::UserFile(_)) => {
            Err(format!("{name} is ignored here: it can only be set in your own settings file"))
        }
        ProjectRule::Trusted if trust == Trust::None => Err(format!(
            "{name} is ignored in a project's file, since it could {}: set it in your own settings file, or list the \
             project's folder in trusted_folders there",
            danger(name)
        )),
        _ => Ok(()),
    }
}

/// What a project that nobody looked at could do with a setting.
fn danger(name: &str) -> &'static str {
    match name {
        "api_key_command" | "shell" | "allow" => "run a program",
        "price" => "make a turn look cheaper than it is",
        _ => "send your key and your files elsewhere",
    }
}

/// Whether a value, which is shown as `shown`, may be laid over `current`, in which the setting is `set`. The error says
/// why not.
pub(super) fn admit(
    key: &Key,
    shown: &str,
    proposed: &Values,
    set: Option<&str>,
    current: &Values,
    trust: Trust,
) -> Result<(), String> {
    let name = key.name;
    let without = match set.unwrap_or(key.default) {
        "" => "as the server has it",
        without => without,
    };
    match key.project {
        ProjectRule::UnlessNo(no)
            if trust != Trust::Full && is_said(set, no) && !is_said(Some(shown), no) =>
        {
            Err(format!("{name} is ignored here: without this line it is {no}, and no project changes that"))
        }
        ProjectRule::Narrower if trust != Trust::Full && !is_narrower(name, proposed, current) => {
            Err(format!(
                "{name} is ignored here: a project may only make it stricter, and without this line it is {without}"
            ))
        }
        _ => Ok(()),
    }
}

/// Whether a setting was given this word, however it is written.
fn is_said(set: Option<&str>, word: &str) -> bool {
    set.is_some_and(|set| set.trim().eq_ignore_ascii_case(word))
}

/// Whether what is proposed allows no more than what holds now.
fn is_narrower(name: &str, proposed: &Values, current: &Values) -> bool {
    match name {
        "max_steps" => at_most(proposed.max_steps, current.max_steps, Bounded(Limits::default().max_steps)),
        "max_turn_tokens" => at_most(proposed.max_turn_tokens, current.max_turn_tokens, Tokens(u64::MAX)),
        "max_tool_calls" => at_most(proposed.max_tool_calls, current.max_tool_calls, Bounded(u32::MAX)),
        "turn_timeout" => at_most(proposed.turn_timeout, current.turn_timeout, seconds(Duration::MAX)),
        "max_cost" => at_most(proposed.max_cost, current.max_cost, Dollars(Cost(u64::MAX))),
        "unknown_tools" => at_most(proposed.unknown_tools, current.unknown_tools, Default::default()),
        "repeated_calls" => at_most(proposed.repeated_calls, current.repeated_calls, Default::default()),
        "on_limit" => at_most(proposed.on_limit, current.on_limit, Default::default()),
        "edits" => at_most(proposed.edits, current.edits, Default::default()),
        // Without them nothing can be taken back, and with them texts lie elsewhere: neither is less than the other.
        "checkpoints" => proposed.checkpoints == Some(current.checkpoints.unwrap_or(true)),
        // What is masked is more: `true` is the narrower.
        "mask_secrets" => proposed.mask_secrets == Some(true),
        "approvals" => at_most(proposed.approvals, current.approvals, Default::default()),
        "outside" => at_most(proposed.outside, current.outside, Default::default()),
        "approval_timeout" => at_most(
            proposed.approval_timeout,
            current.approval_timeout,
            seconds(schema::DEFAULT_APPROVAL_TIMEOUT),
        ),
        "connect_timeout" => {
            at_most(proposed.connect_timeout, current.connect_timeout, seconds(DEFAULT_CONNECT_TIMEOUT))
        }
        "idle_timeout" => at_most(proposed.idle_timeout, current.idle_timeout, seconds(LOCAL_IDLE_TIMEOUT)),
        "command_timeout" => {
            at_most(proposed.command_timeout, current.command_timeout, seconds(run_command::DEFAULT_TIMEOUT))
        }
        "sandbox" => at_most(proposed.sandbox, current.sandbox, Default::default()),
        "sandbox_network" => at_most(proposed.sandbox_network, current.sandbox_network, false),
        "fetch" => at_most(proposed.fetch, current.fetch, false),
        "reply_timeout" => at_most(proposed.reply_timeout, current.reply_timeout, seconds(Duration::MAX)),
        "max_attempts" => {
            at_most(proposed.max_attempts, current.max_attempts, Bounded(RetryPolicy::default().max_attempts))
        }
        "max_retry_wait" => at_most(
            proposed.max_retry_wait,
            current.max_retry_wait,
            seconds(RetryPolicy::default().longest_server_wait),
        ),
        "max_output_tokens" => {
            at_most(proposed.tuning.max_output_tokens, current.tuning.max_output_tokens, Tokens(u64::MAX))
        }
        // What a server does by itself is not known, and thinking is paid for: without a word of the user only none at
        // all is sure to be no more.
        "reasoning_effort" => {
            at_most(proposed.tuning.reasoning_effort, current.tuning.reasoning_effort, Effort::None)
        }
        "context_tokens" => {
            at_most(proposed.tuning.context_tokens, current.tuning.context_tokens, Tokens(u64::MAX))
        }
        "window" => at_most(proposed.tuning.window, current.tuning.window, Tokens(u64::MAX)),
        "store" => at_most(proposed.tuning.store, current.tuning.store, false),
        "text_calls" => at_most(proposed.tuning.text_calls, current.tuning.text_calls, false),
        _ => false,
    }
}

fn at_most<T: PartialOrd>(proposed: Option<T>, current: Option<T>, default: T) -> bool {
    proposed.is_some_and(|proposed| proposed <= current.unwrap_or(default))
}

fn seconds(duration: Duration) -> schema::Seconds {
    schema::Seconds(duration)
}

/// The folder with a leading `~/` replaced by the home folder.
pub(super) fn expand(folder: &Path, environment: &Environment) -> PathBuf {
    match (folder.strip_prefix("~"), environment.home()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => folder.to_owned(),
    }
}

/// What is to be known of the folders of `sandbox_write` that are not there: no command makes one that it may change only
/// once it is there. Looks at the disk.
pub(super) fn absent_folders(values: &Values, environment: &Environment) -> Vec<String> {
    let folders = values.sandbox_write.iter().flatten().map(|folder| &folder.0);
    // Elsewhere the setting means nothing.
    let absent = folders.filter(|folder| cfg!(target_os = "linux") && !expand(folder, environment).exists());
    absent
        .map(|folder| {
            format!(
                "sandbox_write: {} is not there, so that commands can neither change nor make it: make the folder, or remove \
                 it from the list",
                folder.display()
            )
        })
        .collect()
}
