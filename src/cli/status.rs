//! `askls status`: which model would answer and why, and every setting with where it comes from. Never a key.

use std::fmt::{Display, Write as _};

use serde_json::{Value, json};

use crate::{
    config::{Environment, Loaded},
    model::{
        ErrorKind, ModelError,
        select::{self, Chosen},
    },
    tools::output::visible,
};

use super::{Exit, StatusArguments, print};

pub(super) async fn run(arguments: StatusArguments, environment: &Environment) -> anyhow::Result<Exit> {
    let roots = arguments.common.roots()?;
    let loaded = arguments.common.settings(environment, &roots, [])?;
    let chosen = select::choose(&loaded.settings.model_choice()).await;
    let printed = if arguments.json {
        print(&format!("{:#}\n", as_json(&loaded, &chosen)))
    } else {
        print(&as_text(&loaded, &chosen))
    };
    Ok(match chosen {
        Ok(_) => printed,
        Err(ModelError { kind: ErrorKind::Settings, .. }) => Exit::Usage,
        Err(_) => Exit::Provider,
    })
}

fn as_json(loaded: &Loaded, chosen: &Result<Chosen, ModelError>) -> Value {
    let mut status = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "settings": loaded.settings.shown().into_iter().map(|shown| {
            let value = if shown.value.is_empty() { Value::Null } else { shown.value.into() };
            (shown.name.to_owned(), json!({"value": value, "origin": shown.origin.to_string()}))
        }).collect::<serde_json::Map<_, _>>(),
        "files": loaded.settings.files().iter().map(|file| {
            json!({"path": file.path.display().to_string(), "exists": file.exists})
        }).collect::<Vec<_>>(),
        "warnings": loaded.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    match chosen {
        Ok(chosen) => {
            let info = chosen.client.info();
            status["model"] = json!(info.name);
            status["wire"] = json!(info.wire);
            status["server"] = json!(info.server);
            status["why"] = json!(chosen.why);
        }
        Err(error) => status["error"] = json!(error.to_string()),
    }
    status
}

fn as_text(loaded: &Loaded, chosen: &Result<Chosen, ModelError>) -> String {
    let mut text = format!("askls {}\n", env!("CARGO_PKG_VERSION"));
    // Writing to a text cannot fail.
    let _ = match chosen {
        Ok(chosen) => writeln!(text, "model: {}\nwhy: {}", line(chosen.client.info()), line(&chosen.why)),
        Err(error) => writeln!(text, "no model: {}", line(error)),
    };
    text.push_str("\nsettings:\n");
    for shown in loaded.settings.shown() {
        let value = if shown.value.is_empty() { "-".to_owned() } else { line(&shown.value) };
        let _ = writeln!(text, "  {:<17} {value}  ({})", shown.name, line(&shown.origin));
    }
    text.push_str("\nsettings files:\n");
    for file in loaded.settings.files() {
        let state = if file.exists { "read" } else { "not there" };
        let _ = writeln!(text, "  {} ({state})", line(file.path.display()));
    }
    if !loaded.warnings.is_empty() {
        text.push_str("\nwarnings:\n");
    }
    for warning in &loaded.warnings {
        let _ = writeln!(text, "  {}", line(warning));
    }
    text
}

/// What settings, files and servers say, on one line that moves no terminal: a project may be anybody's.
fn line(text: impl Display) -> String {
    visible(&text.to_string()).replace('\n', "\\n")
}
