//! One run from its case to its verdict: the fake provider, the folders, the way of driving, the judgement.

use std::{panic::AssertUnwindSafe, time::Duration};

use serde_json::{Value, json};

use crate::{
    case::Run,
    expect::{Seen, Verdict, judge, wishes},
    inside,
    names::{self, Configured, configured},
    observed::{Observed, Row},
    processes,
    provider::{Provider, plain_answer, tls},
    rewrite, server, stretched,
    world::World,
};

/// What is told of a run.
pub(crate) struct Report {
    pub verdict: Verdict,
    /// Where the run is not quite what the case says, and wishes that did not come true.
    pub notes: Vec<String>,
}

impl Report {
    fn new(verdict: Verdict) -> Self {
        Self { verdict, notes: Vec::new() }
    }
}

/// The encodings of positions that a client may want.
const ENCODINGS: [&str; 3] = ["utf-8", "utf-16", "utf-32"];

/// The run as it stands; of an edit with every encoding of positions, unless the run speaks of positions itself. The
/// first that does not pass is the verdict.
pub(crate) fn run_in_each_encoding(run: &Run, runtime: &tokio::runtime::Runtime) -> Report {
    let report = self::run(run, runtime);
    let is_edit = matches!(run.kind.as_str(), "edit" | "path") && goes_through_the_server(run);
    let has_positions = ["selection", "changes"].iter().any(|member| run.when.get(*member).is_some());
    if report.verdict != Verdict::Pass || !is_edit || has_positions {
        return report;
    }
    for encoding in ENCODINGS {
        let mut run = run.clone();
        run.given["client"]["position_encodings"] = json!([encoding]);
        let report = self::run(&run, runtime);
        if let Verdict::Fail(faults) = report.verdict {
            let faults = faults.iter().map(|fault| format!("{encoding}: {fault}")).collect();
            return Report::new(Verdict::Fail(faults));
        }
    }
    report
}

/// The run to its end. A panic, of the driver or of the library, fails the run and no other.
pub(crate) fn run(run: &Run, runtime: &tokio::runtime::Runtime) -> Report {
    match std::panic::catch_unwind(AssertUnwindSafe(|| drive(run, runtime))) {
        Ok(Ok(report)) => report,
        Ok(Err(reason)) => Report::new(Verdict::NotExpressed(reason)),
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Report::new(Verdict::Fail(vec![format!("panicked: {}", text.unwrap_or_default())]))
        }
    }
}

/// Everything that one run needs around askls.
struct Stage {
    provider: Provider,
    site: Provider,
    world: World,
}

/// An error says why the run cannot be expressed.
fn drive(run: &Run, runtime: &tokio::runtime::Runtime) -> Result<Report, String> {
    let missing = run.requires.iter().filter_map(|need| need.strip_prefix("tool:"));
    if let Some(tool) = missing.into_iter().find(|tool| names::tool_of_askls(tool).is_none()) {
        return Err(format!("askls has no tool {tool}"));
    }
    if let Some(commands) = run.when["commands"].as_array() {
        return propose(run, commands, runtime);
    }
    let (stage, run) = Stage::set(run, runtime)?;
    let port = stage.provider.port;
    // A certificate is for a name.
    let base_url = match run.given["tls"].is_object() {
        true => format!("https://localhost:{port}/v1"),
        false => format!("http://127.0.0.1:{port}/v1"),
    };
    let configured = configured(&run.given, &base_url)?;
    let mut observed = Observed::default();
    stage.play(&run, &configured, runtime, &mut observed)?;
    if let Some(limit) = run.expect["provider_connection_closed_within_ms"].as_u64() {
        // The turn may have ended before its connection.
        let limit = stretched(Duration::from_millis(limit));
        processes::wait(limit, || !stage.provider.traffic().left.is_empty());
    }
    observed.provider = stage.provider.traffic();
    observed.sites.insert(stage.site.port.to_string(), stage.site.traffic());
    if run.when["action"] != "uri_to_path_table" && goes_through_the_server(&run) {
        observed.executions = Some(server::executions(&observed.provider.requests));
    }
    observed.logs = stage.logs();
    if run.expect["cleanup"].is_object() {
        observed.faults.extend(processes::left_behind(&run.expect["cleanup"], &[stage.world.base()]));
    }
    let seen = Seen { run: &run, world: &stage.world, observed: &observed };
    let mut notes = configured.approximate;
    notes.extend(wishes(&seen).into_iter().map(|wish| format!("should: {wish}")));
    let verdict = judge(&seen);
    Ok(Report { verdict, notes })
}

/// Each command is proposed by a model in a workspace of its own, and what becomes of it is looked at.
fn propose(run: &Run, commands: &[Value], runtime: &tokio::runtime::Runtime) -> Result<Report, String> {
    let mut all = Observed::default();
    let mut notes = Vec::new();
    let mut last = None;
    for command in commands.iter().filter_map(Value::as_str) {
        let mut one = run.clone();
        one.given["exchanges"] = json!([run_command(command), plain_answer(&Value::Null)]);
        let answer = &run.when["answer_to_ask"];
        one.when = json!({"ask": "run it", "answer_to_ask": answer});
        one.expect = json!({"outcome": "completed", "files": run.expect["files"]});
        let (stage, one) = Stage::set(&one, runtime)?;
        let configured = configured(&one.given, &format!("http://127.0.0.1:{}/v1", stage.provider.port))?;
        let mut observed = Observed::default();
        stage.play(&one, &configured, runtime, &mut observed)?;
        let has_run = observed.executions.as_ref().is_some_and(|executions| !executions.is_empty());
        let decision = match (observed.asked_for.is_empty(), has_run) {
            (false, _) => "ask",
            (true, true) => "auto",
            (true, false) => "deny",
        };
        all.decisions.push(decision.to_owned());
        if let Verdict::Fail(faults) = judge(&Seen { run: &one, world: &stage.world, observed: &observed }) {
            all.faults.extend(faults.iter().map(|fault| format!("{command:?}: {fault}")));
        }
        notes = configured.approximate;
        last = Some(stage);
    }
    let stage = last.ok_or("no command is proposed")?;
    let mut run = run.clone();
    // Looked at in each workspace.
    run.expect["files"] = Value::Null;
    let verdict = judge(&Seen { run: &run, world: &stage.world, observed: &all });
    Ok(Report { verdict, notes })
}

/// A reply of the provider that calls the command tool.
fn run_command(command: &str) -> Value {
    let call = json!({"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "run_command", "arguments": json!({"command": command}).to_string()}});
    let deltas = [
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ];
    let steps = deltas.iter().map(|delta| json!({"send": format!("data: {delta}\n\n")}));
    let steps: Vec<Value> = steps.chain([json!({"send": "data: [DONE]\n\n"})]).collect();
    json!({"status": 200, "headers": {"content-type": "text/event-stream"}, "steps": steps})
}

/// What a server alone can show: an editor's messages, a process, its environment and its log.
fn goes_through_the_server(run: &Run) -> bool {
    let asks_for_it = run.requires.iter().any(|need| need == "lsp") || run.kind == "lsp-sequence";
    // Everything that decides about settings comes together only in the server.
    let is_about_settings = run.kind == "config" && run.when.get("action").is_none();
    let has_environment = run.given.get("env").is_some_and(Value::is_object);
    let selects = run.when.get("selection").is_some();
    if run.when.get("calls").is_some() || run.when.get("changes").is_some() {
        return asks_for_it || run.given["client"].get("apply_edit_result").is_some();
    }
    asks_for_it || is_about_settings || has_environment || selects || inside::needs_an_editor(run)
}

impl Stage {
    /// Listens, makes the folders, and puts their names into the run.
    fn set(run: &Run, runtime: &tokio::runtime::Runtime) -> Result<(Self, Run), String> {
        let provider = runtime.block_on(Provider::start())?;
        let site = runtime.block_on(Provider::start())?;
        let mut world = World::new()?;
        let pem = world.home.join("ca.pem");
        if run.given.get("tls").is_some_and(Value::is_object) {
            let authority = tls::authority()?;
            std::fs::write(&pem, &authority.pem).map_err(|error| error.to_string())?;
            provider.set_tls(authority.acceptor);
        }
        let outside = world.outside.clone();
        let out_name = outside.file_name().map(|name| name.to_string_lossy().into_owned());
        let mut run = run.clone();
        run.fill(&[
            ("WS", world.workspace.display().to_string()),
            ("WS_ENC", world.encoded()),
            ("OUT", outside.display().to_string()),
            ("OUT_NAME", out_name.unwrap_or_default()),
            ("PORT", provider.port.to_string()),
            ("PORT2", site.port.to_string()),
            ("TEST_CA_PEM", pem.display().to_string()),
            ("PRODUCT_CONFIG", names::project_file()),
        ]);
        for file in run.given["files"].as_array_mut().into_iter().flatten() {
            if file["path"] == json!(names::project_file())
                && let Some(text) = file["text"].as_str().and_then(names::settings_of_askls)
            {
                file["text"] = json!(text);
            }
        }
        world.furnish(&run.given)?;
        if run.when.get("calls").is_some() && goes_through_the_server(&run) {
            run.given["provider"] = json!(server::PROVIDER_OF_CALLS);
        }
        let repeats = run.given["exhausted"] == "repeat_last";
        match run.given["exchanges"].as_array() {
            Some(exchanges) if goes_through_the_server(&run) => {
                if run.given.get("tool_results").is_some() {
                    return Err("the server has no tools with canned results".to_owned());
                }
                let mut exchanges = exchanges.clone();
                let are_renamed: Vec<bool> = exchanges.iter_mut().map(rewrite::exchange).collect();
                if are_renamed.contains(&false) {
                    return Err("a call in pieces of bytes cannot be renamed for the server".to_owned());
                }
                provider.set_script(exchanges, repeats);
            }
            Some(exchanges) => provider.set_script(exchanges.clone(), repeats),
            None => provider.set_script(vec![plain_answer(&run.given["provider"])], true),
        }
        for fake in run.given["http_sites"].as_array().into_iter().flatten() {
            let port = fake["port"].as_str().map_or_else(|| fake["port"].to_string(), str::to_owned);
            if port == site.port.to_string() {
                site.set_routes(fake["routes"].clone());
            }
        }
        Ok((Self { provider, site, world }, run))
    }

    fn play(
        &self,
        run: &Run,
        configured: &Configured,
        runtime: &tokio::runtime::Runtime,
        observed: &mut Observed,
    ) -> Result<(), String> {
        match run.when["action"].as_str() {
            Some("uri_to_path_table") => return Ok(()),
            Some("request_path_table") => return self.rows(run, runtime, observed),
            _ => {}
        }
        if goes_through_the_server(run) {
            return server::run(run, &self.world, configured, &self.provider, observed);
        }
        write_user_file(&self.world, configured)?;
        runtime.block_on(inside::run(run, &self.world, configured, &self.provider, observed))
    }

    /// One ask for each row of a table of addresses.
    fn rows(
        &self,
        run: &Run,
        runtime: &tokio::runtime::Runtime,
        observed: &mut Observed,
    ) -> Result<(), String> {
        for row in run.given["table"].as_array().into_iter().flatten() {
            let before = self.provider.traffic().requests.len();
            let mut one = run.clone();
            one.given["provider"] = row["provider"].clone();
            one.given["config"]["base_url"] = row["base_url"].clone();
            one.given["config"]["max_attempts"] = json!(1);
            one.when = json!({"ask": "hello"});
            if run.given.get("exchanges").is_none_or(Value::is_null) {
                self.provider.set_script(vec![plain_answer(&row["provider"])], true);
            }
            let configured = configured(&one.given, "")?;
            write_user_file(&self.world, &configured)?;
            let mut seen = Observed::default();
            runtime.block_on(inside::run(&one, &self.world, &configured, &self.provider, &mut seen))?;
            let traffic = self.provider.traffic();
            let path = traffic.requests.get(before).map(|request| request.path.clone());
            observed.faults.append(&mut seen.faults);
            observed.rows.push(Row { path, end: seen.only_end().cloned() });
        }
        Ok(())
    }

    /// What askls wrote below its home, settings aside.
    fn logs(&self) -> String {
        let mut texts = String::new();
        let mut folders = vec![self.world.home.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "log") {
                    texts.push_str(&std::fs::read_to_string(path).unwrap_or_default());
                }
            }
        }
        texts
    }
}

/// The settings as a user has them.
pub(crate) fn write_user_file(world: &World, configured: &Configured) -> Result<(), String> {
    let folder = world.home.join(".config/askls");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    std::fs::write(folder.join("config.toml"), configured.user_file()?).map_err(|error| error.to_string())
}
