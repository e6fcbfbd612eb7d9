//! What the settings come to for the model that was chosen: what `askls status` and the command `askls.status` tell of
//! it besides its name.

use std::fmt::Display;

use serde_json::{Map, Value, json};

use super::{Settings, Shown, schema::Key};
use crate::{
    model::{ModelInfo, Price, Tuning, tuning::Tokens},
    tools::output::visible,
};

/// What holds for one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// `None` where it is not known.
    price: Option<Price>,
    price_origin: String,
    /// The entries of `models` that fit the model's name, the strongest first, each with what it sets.
    entries: Vec<(String, Vec<(String, String)>)>,
    /// Whether there are entries at all.
    has_models: bool,
    /// What the model may have at most, since a project chose it.
    bound: Vec<(&'static str, String)>,
    /// The model inside askls has no price, and no settings of its own.
    is_built_in: bool,
}

impl Report {
    pub fn new(settings: &Settings, model: &ModelInfo) -> Self {
        let tunings = settings.tunings();
        let fitting: Vec<_> = tunings.fitting(&model.name).into_iter().rev().collect();
        let with_price = fitting.iter().find(|(_, tuning)| tuning.price.is_some());
        let price_origin = match with_price {
            Some((pattern, _)) => entry_name(pattern),
            None if tunings.general.price.is_some() => settings.origin("price").to_string(),
            None => "list price".to_owned(),
        };
        // What is less by itself is not held by a bound.
        let holds = bounds(&tunings.of(&model.name));
        let bound = tunings.bound_of(&model.name).map(bounds).unwrap_or_default();
        let models = settings.set.get("models").and_then(|(models, _)| models.as_object());
        let set_by = |pattern: &str| {
            let entry = models.and_then(|models| models.get(pattern)).and_then(Value::as_object);
            entry
                .into_iter()
                .flatten()
                .filter_map(|(name, value)| Some((name.clone(), Key::named(name)?.show(value))))
                .collect()
        };
        Self {
            price: model.price,
            price_origin,
            entries: fitting.iter().map(|(pattern, _)| (pattern.clone(), set_by(pattern))).collect(),
            has_models: models.is_some_and(|models| !models.is_empty()),
            bound: bound.into_iter().filter(|entry| holds.contains(entry)).collect(),
            is_built_in: model.wire.is_none(),
        }
    }

    /// What holds for the model, one thing a line, fit for a terminal.
    pub fn model_lines(&self) -> Vec<String> {
        if self.is_built_in {
            return Vec::new();
        }
        let mut lines = vec![match self.price {
            Some(price) => format!("price: {} ({})", dollars(price), line(&self.price_origin)),
            None => "price: not known (set price to see what turns cost)".to_owned(),
        }];
        if self.has_models && self.entries.is_empty() {
            lines.push("models: no entry fits this model".to_owned());
        }
        for (pattern, set) in &self.entries {
            let set: Vec<_> = set.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            lines.push(line(format!("models: {} sets {}", entry_name(pattern), set.join(", "))));
        }
        if !self.bound.is_empty() {
            let bound: Vec<_> = self.bound.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            lines.push(format!(
                "bound: {} at most, as for the model that you would have without the project's choice",
                bound.join(", ")
            ));
        }
        lines
    }

    /// `price` (in dollars, or `null`), `models` and `bound`.
    pub fn model_json(&self) -> Map<String, Value> {
        let price = self.price.map(|price| {
            json!({
                "input": in_dollars(price.input),
                "cached": in_dollars(price.cached),
                "cache_write": in_dollars(price.cache_write),
                "output": in_dollars(price.output),
                "origin": self.price_origin,
            })
        });
        let entries = self.entries.iter().map(|(pattern, set)| {
            let set: Map<_, _> =
                set.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
            json!({"name": pattern, "settings": set})
        });
        let bound: Map<_, _> =
            self.bound.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect();
        let members =
            [("price", price.unwrap_or_default()), ("models", entries.collect()), ("bound", bound.into())];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// One setting with where it comes from.
pub fn shown_json(shown: &Shown) -> Value {
    let value = if shown.value.is_empty() { Value::Null } else { shown.value.as_str().into() };
    json!({"value": value, "origin": shown.origins()})
}

/// What settings, files and servers say, on one line that moves no terminal: a project may be anybody's.
pub fn line(text: impl Display) -> String {
    visible(&text.to_string()).replace('\n', "\\n").replace('\t', "\\t")
}

/// What a bound says, by the names of settings.
fn bounds(bound: &Tuning) -> Vec<(&'static str, String)> {
    let tokens = |tokens: Option<Tokens>| tokens.map(|tokens| tokens.0.into());
    let said = [
        ("max_output_tokens", tokens(bound.max_output_tokens)),
        ("context_tokens", tokens(bound.context_tokens.into_iter().chain(bound.window).min())),
        ("reasoning_effort", bound.reasoning_effort.map(|effort| json!(effort))),
        ("parallel_tool_calls", bound.parallel_tool_calls.filter(|may| !may).map(Value::from)),
    ];
    let shown = |(name, value): (_, Option<Value>)| Some((name, Key::named(name)?.show(&value?)));
    said.into_iter().filter_map(shown).collect()
}

fn entry_name(pattern: &str) -> String {
    format!("[models.{pattern:?}]")
}

/// The parts of a price that differ.
fn dollars(price: Price) -> String {
    let cache = [("cached", price.cached), ("cache writes", price.cache_write)];
    let parts = [("input", price.input)]
        .into_iter()
        .chain(cache.into_iter().filter(|(_, part)| *part != price.input))
        .chain([("output", price.output)]);
    let parts: Vec<_> = parts.map(|(name, part)| format!("{name} ${}", in_dollars(part))).collect();
    format!("{} per million tokens", parts.join(", "))
}

/// Millionths of a dollar as dollars.
fn in_dollars(millionths: u64) -> f64 {
    millionths as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::{
        config::Environment,
        model::{catalog, options::Effort},
        protocol::Wire,
    };

    /// What is told of a model under the user's settings, with the price that askls knows unless they name one.
    fn check(settings: &str, model: &str, expected: Expect) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("askls")).unwrap();
        std::fs::write(folder.path().join("askls/config.toml"), settings).unwrap();
        let home = folder.path().to_str().unwrap();
        let environment =
            Environment::from_pairs([("HOME", home), ("XDG_CONFIG_HOME", home), ("APPDATA", home)]);
        let settings = Settings::load(&environment, &[]).settings;
        let info = ModelInfo {
            name: model.to_owned(),
            wire: Some(Wire::Chat),
            server: None,
            context_window: None,
            price: settings.tunings().of(model).price.or_else(|| catalog::price(model)),
        };
        let report = Report::new(&settings, &info);
        let lines = report.model_lines().join("\n") + "\n";
        expected.assert_eq(&lines.replace(home, "$").replace('\\', "/"));
    }

    #[test]
    fn the_price_and_the_entries_that_fit_are_told_with_where_they_come_from() {
        let settings = "price = { input = 1, output = 2 }\n[models.'my-*']\nstore = true\ntemperature = 0.5\n\
                        [models.my-model]\nprice = { input = 3, output = 4.5, cached = 0.25 }\n[models.other]\nwindow = 9\n";
        check(
            settings,
            "my-model",
            expect![[r#"
                price: input $3, cached $0.25, output $4.5 per million tokens ([models."my-model"])
                models: [models."my-model"] sets price = { cached = 0.25, input = 3, output = 4.5 }
                models: [models."my-*"] sets store = true, temperature = 0.5
            "#]],
        );
        check(
            settings,
            "my-other",
            expect![[r#"
            price: input $1, output $2 per million tokens ($/askls/config.toml)
            models: [models."my-*"] sets store = true, temperature = 0.5
        "#]],
        );
        check(
            settings,
            "third",
            expect![[r#"
            price: input $1, output $2 per million tokens ($/askls/config.toml)
            models: no entry fits this model
        "#]],
        );
    }

    #[test]
    fn without_settings_the_list_price_holds_or_none_is_known() {
        check(
            "",
            "gpt-5",
            expect![[r#"
            price: input $1.25, cached $0.125, output $10 per million tokens (list price)
        "#]],
        );
        check(
            "max_steps = 3\n",
            "unheard-of",
            expect![[r#"
            price: not known (set price to see what turns cost)
        "#]],
        );
    }

    #[test]
    fn what_a_model_of_the_project_may_have_at_most_is_told() {
        let bound = Tuning {
            max_output_tokens: Some(Tokens(100)),
            window: Some(Tokens(9000)),
            reasoning_effort: Some(Effort::Low),
            ..Tuning::default()
        };
        let told: Vec<_> = bounds(&bound).iter().map(|(name, value)| format!("{name} = {value}")).collect();
        assert_eq!(told, ["max_output_tokens = 100", "context_tokens = 9000", "reasoning_effort = low"]);
    }
}
