//! `askls status`: which model would answer and why, what holds commands, and every setting with where it comes from.
//! Never a key.

use std::{fmt::Write as _, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    config::{
        Environment, Loaded,
        report::{Report, line, shown_json},
    },
    model::{
        ErrorKind, ModelError,
        select::{self, Chosen},
    },
    tools::run_command::sandbox,
    workspace::deceptive::is_deceptive,
};

use super::{Exit, StatusArguments, print};

pub(super) async fn run(arguments: StatusArguments, environment: &Environment) -> anyhow::Result<Exit> {
    let roots = arguments.common.roots(environment)?;
    let loaded = arguments.common.settings(environment, &roots, [])?;
    let chosen = select::choose(&loaded.settings.model_choice()).await;
    let sandbox =
        loaded.settings.sandbox().map_or_else(sandbox::Report::unavailable, |sandbox| sandbox.report(&roots));
    let printed = if arguments.json {
        print(&escaped(&format!("{:#}\n", as_json(&roots, &loaded, &chosen, &sandbox))))
    } else {
        print(&as_text(&roots, &loaded, &chosen, &sandbox))
    };
    Ok(match chosen {
        Ok(_) => printed,
        Err(ModelError { kind: ErrorKind::Settings, .. }) => Exit::Usage,
        Err(_) => Exit::Provider,
    })
}

fn as_json(
    roots: &[PathBuf],
    loaded: &Loaded,
    chosen: &Result<Chosen, ModelError>,
    sandbox: &sandbox::Report,
) -> Value {
    let mut status = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "roots": roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>(),
        "settings": loaded
            .settings
            .shown()
            .iter()
            .map(|shown| (shown.name.to_owned(), shown_json(shown)))
            .collect::<serde_json::Map<_, _>>(),
        "files": loaded.settings.files().iter().map(|file| {
            json!({"path": file.path.display().to_string(), "exists": file.exists})
        }).collect::<Vec<_>>(),
        "sandbox": sandbox.to_json(),
        "warnings": loaded.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    match chosen {
        Ok(chosen) => {
            let info = chosen.client.info();
            status["model"] = json!(info.name);
            status["wire"] = json!(info.wire);
            status["server"] = json!(info.server);
            status["why"] = json!(chosen.why);
            for (name, value) in Report::new(&loaded.settings, info).model_json() {
                status[name] = value;
            }
        }
        Err(error) => status["error"] = json!(error.to_string()),
    }
    status
}

fn as_text(
    roots: &[PathBuf],
    loaded: &Loaded,
    chosen: &Result<Chosen, ModelError>,
    sandbox: &sandbox::Report,
) -> String {
    let mut text = format!("askls {}\n", env!("CARGO_PKG_VERSION"));
    // Writing to a text cannot fail.
    for root in roots {
        let _ = writeln!(text, "project: {}", line(root.display()));
    }
    let _ = match chosen {
        Ok(chosen) => {
            let info = chosen.client.info();
            let of_model = Report::new(&loaded.settings, info).model_lines();
            let lines = [format!("model: {}", line(info)), format!("why: {}", line(&chosen.why))];
            writeln!(text, "{}", [lines.as_slice(), &of_model].concat().join("\n"))
        }
        Err(error) => writeln!(text, "no model: {}", line(error)),
    };
    text.push('\n');
    for said in sandbox.lines() {
        let _ = writeln!(text, "{}", line(said));
    }
    text.push_str("\nsettings:\n");
    let settings = loaded.settings.shown();
    let width = settings.iter().map(|shown| shown.name.len()).max().unwrap_or_default();
    for shown in settings {
        let value = if shown.value.is_empty() { "-".to_owned() } else { line(&shown.value) };
        let _ = writeln!(text, "  {:<width$}  {value}  ({})", shown.name, line(shown.origins()));
    }
    text.push_str("\nsettings files:\n");
    for file in loaded.settings.files() {
        let state = if file.exists { "read" } else { "not there" };
        let _ = writeln!(text, "  {} ({state})", line(file.path.display()));
    }
    let warnings: Vec<_> = loaded.warnings_beside_error().collect();
    if !warnings.is_empty() {
        text.push_str("\nwarnings:\n");
    }
    for warning in warnings {
        let _ = writeln!(text, "  {}", line(warning));
    }
    text
}

/// JSON in which nothing moves a terminal or hides: what `serde_json` leaves of such characters stands in texts.
fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if character == '\n' || !is_deceptive(character) {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}
