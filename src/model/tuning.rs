//! What the user's settings say about models: in general, and of some by their names.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};

use super::{
    Options, Price, catalog,
    options::{Effort, Guided, NullContent},
};

/// Tokens beyond any model of today; a larger number is a mistake.
const MOST_TOKENS: u64 = 100_000_000;

/// The settings that may differ by model. Without a value, the server decides.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
pub struct Tuning {
    /// The most tokens of one reply. Default: the server's own; on the wire `messages`, the model's maximum.
    pub max_output_tokens: Option<Tokens>,
    /// How much the model thinks before it answers. Default: the server's own.
    pub reasoning_effort: Option<Effort>,
    /// From 0 (the likeliest words) to 2; reasoning models refuse it. Default: the server's own.
    pub temperature: Option<Temperature>,
    /// Whether one reply may hold several calls. Default: the server's own.
    pub parallel_tool_calls: Option<bool>,
    /// Whether tools are offered with strict schemas, so that the server enforces them for the arguments.
    #[schemars(extend("default" = false))]
    pub strict_tools: Option<bool>,
    /// Whether the server keeps its replies, so that they need not be sent again (wire `responses`).
    #[schemars(extend("default" = false))]
    pub store: Option<bool>,
    /// The most tokens of one request, to keep threads shorter than the model's window. Default: 80 % of the window.
    pub context_tokens: Option<Tokens>,
    /// The model's whole window in tokens, if neither the server nor askls knows it.
    pub window: Option<Tokens>,
    /// Whether reasoning goes back with the calls that it led to, in the same field it arrived in (wire `chat`).
    #[schemars(extend("default" = true))]
    pub echo_reasoning: Option<bool>,
    /// Whether text between `<think>` and `</think>` at the beginning of a reply is treated as reasoning (wire `chat`).
    #[schemars(extend("default" = true))]
    pub think_tags: Option<bool>,
    /// Whether two messages in a row that have the same role are merged, for servers that refuse them (wire `chat`).
    #[schemars(extend("default" = false))]
    pub strict_alternation: Option<bool>,
    /// What to send as content when an assistant message has only tool calls (wire `chat`).
    #[schemars(extend("default" = NullContent::default()))]
    pub null_content: Option<NullContent>,
    /// Whether a complete, valid call of an offered tool that comes as text is treated as a call. Default: `true` for a
    /// server on this machine, else `false`.
    pub text_calls: Option<bool>,
    /// Whether each step of a small model is constrained to the actions that exist.
    #[schemars(extend("default" = Guided::default()))]
    pub guided: Option<Guided>,
    /// Dollars per million tokens, for models whose price askls does not know: `input`, `output`, and, if they
    /// differ from `input`, `cached` (read from the prompt cache) and `cache_write`.
    #[schemars(with = "Option<PriceInDollars>")]
    pub price: Option<Price>,
}

/// The tunings of all models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tunings {
    /// What holds for every model.
    pub general: Tuning,
    /// By the name of a model, or by its beginning and a `*`.
    pub models: Vec<(String, Tuning)>,
    /// The model that a project has chosen.
    pub held: Option<Held>,
}

/// A model that somebody chose who only narrows what the user allows.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// As it was said.
    pub model: String,
    /// What it may have at most, whatever else is said of it.
    pub bound: Tuning,
}

/// A number of tokens, from 1 to a hundred million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tokens(pub u64);

/// A number from 0 to 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temperature(pub f64);

/// As people write prices. What is not said about the cache costs what other input costs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PriceInDollars {
    input: f64,
    output: f64,
    cached: Option<f64>,
    cache_write: Option<f64>,
}

impl Tunings {
    /// What holds for one model: its own line over those of longer beginnings of its name, over shorter ones, over the
    /// general settings, and no more than its bound.
    pub fn of(&self, model: &str) -> Tuning {
        let fitting = self.fitting(model).into_iter();
        let mut tuning = fitting.fold(self.general.clone(), |weaker, (_, tuning)| tuning.over(&weaker));
        if let Some(bound) = self.bound_of(model) {
            tuning.hold_within(bound);
        }
        tuning
    }

    /// What the model may have at most, where somebody else than the user chose it.
    pub fn bound_of(&self, model: &str) -> Option<&Tuning> {
        let held = self.held.as_ref().filter(|held| catalog::is_called(model, &held.model));
        held.map(|held| &held.bound)
    }

    /// The least that any model may have.
    pub fn least(&self) -> Tuning {
        let mut least = self.general.clone();
        self.models.iter().for_each(|(_, tuning)| least.hold_within(tuning));
        least
    }

    /// What is said of a model by its name, the weakest first.
    pub fn fitting(&self, model: &str) -> Vec<&(String, Tuning)> {
        let mut fitting: Vec<_> = self
            .models
            .iter()
            .filter_map(|entry| {
                let pattern = &entry.0;
                let beginning = pattern.strip_suffix('*').filter(|beginning| model.starts_with(beginning));
                let weight = if catalog::is_called(model, pattern) { usize::MAX } else { beginning?.len() };
                Some((weight, entry))
            })
            .collect();
        fitting.sort_by_key(|(weight, _)| *weight);
        fitting.into_iter().map(|(_, entry)| entry).collect()
    }
}

impl Tuning {
    /// What bounds the cost of a request: no more than `bound` says.
    fn hold_within(&mut self, bound: &Self) {
        fn least<T: Ord>(own: &mut Option<T>, bound: Option<T>) {
            *own = own.take().into_iter().chain(bound).min();
        }
        least(&mut self.max_output_tokens, bound.max_output_tokens);
        least(&mut self.context_tokens, bound.context_tokens);
        // No request to a model of that window would be longer.
        least(&mut self.context_tokens, bound.window);
        least(&mut self.reasoning_effort, bound.reasoning_effort);
        // One call at a time is less than several.
        if bound.parallel_tool_calls == Some(false) {
            self.parallel_tool_calls = Some(false);
        }
    }

    fn over(&self, weaker: &Self) -> Self {
        Self {
            max_output_tokens: self.max_output_tokens.or(weaker.max_output_tokens),
            reasoning_effort: self.reasoning_effort.or(weaker.reasoning_effort),
            temperature: self.temperature.or(weaker.temperature),
            parallel_tool_calls: self.parallel_tool_calls.or(weaker.parallel_tool_calls),
            strict_tools: self.strict_tools.or(weaker.strict_tools),
            store: self.store.or(weaker.store),
            context_tokens: self.context_tokens.or(weaker.context_tokens),
            window: self.window.or(weaker.window),
            echo_reasoning: self.echo_reasoning.or(weaker.echo_reasoning),
            think_tags: self.think_tags.or(weaker.think_tags),
            strict_alternation: self.strict_alternation.or(weaker.strict_alternation),
            null_content: self.null_content.or(weaker.null_content),
            text_calls: self.text_calls.or(weaker.text_calls),
            guided: self.guided.or(weaker.guided),
            price: self.price.or(weaker.price),
        }
    }

    /// How the model is asked. Small models that need help run on the user's own machine: there calls that come as text
    /// count, and the guided mode waits for a model that needs it.
    pub fn options(&self, is_local: bool) -> Options {
        let defaults = Options::default();
        let guided = match self.guided.unwrap_or_default() {
            Guided::Auto if !is_local => Guided::Off,
            guided => guided,
        };
        Options {
            max_output_tokens: self.max_output_tokens.map(|tokens| tokens.0),
            reasoning_effort: self.reasoning_effort,
            temperature: self.temperature.map(|temperature| temperature.0),
            parallel_tool_calls: self.parallel_tool_calls,
            strict_tools: self.strict_tools.unwrap_or(defaults.strict_tools),
            store: self.store.unwrap_or(defaults.store),
            echo_reasoning: self.echo_reasoning.unwrap_or(defaults.echo_reasoning),
            think_tags: self.think_tags.unwrap_or(defaults.think_tags),
            strict_alternation: self.strict_alternation.unwrap_or(defaults.strict_alternation),
            null_content: self.null_content.unwrap_or(defaults.null_content),
            text_calls: self.text_calls.unwrap_or(is_local),
            guided,
        }
    }
}

impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let said = PriceInDollars::deserialize(deserializer)?;
        let part = |dollars: f64| catalog::millionths(dollars).ok_or_else(|| D::Error::custom("no price"));
        Ok(Self {
            input: part(said.input)?,
            cached: part(said.cached.unwrap_or(said.input))?,
            cache_write: part(said.cache_write.unwrap_or(said.input))?,
            output: part(said.output)?,
        })
    }
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        if (1..=MOST_TOKENS).contains(&number) {
            Ok(Self(number))
        } else {
            Err(D::Error::custom("out of bounds"))
        }
    }
}

impl JsonSchema for Tokens {
    fn schema_name() -> Cow<'static, str> {
        "Tokens".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 1, "maximum": MOST_TOKENS})
    }
}

impl<'de> Deserialize<'de> for Temperature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        if (0.0..=2.0).contains(&number) { Ok(Self(number)) } else { Err(D::Error::custom("out of bounds")) }
    }
}

impl JsonSchema for Temperature {
    fn schema_name() -> Cow<'static, str> {
        "Temperature".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0, "maximum": 2})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuning(max_output_tokens: u64) -> Tuning {
        Tuning { max_output_tokens: Some(Tokens(max_output_tokens)), ..Tuning::default() }
    }

    #[test]
    fn the_more_a_line_says_of_the_name_the_more_it_counts() {
        let tunings = Tunings {
            general: Tuning { temperature: Some(Temperature(0.5)), ..tuning(1) },
            models: vec![
                ("qwen2.5*".to_owned(), tuning(3)),
                ("qwen*".to_owned(), Tuning { text_calls: Some(true), ..tuning(2) }),
                ("qwen2.5-coder".to_owned(), tuning(4)),
                ("other".to_owned(), tuning(5)),
            ],
            held: None,
        };
        for (model, tokens, text_calls) in [
            ("gpt-5", 1, None),
            ("qwen3", 2, Some(true)),
            ("qwen2.5-7b", 3, Some(true)),
            ("qwen2.5-coder", 4, Some(true)),
            ("qwen2.5-coder:latest", 4, Some(true)),
            ("others", 1, None),
        ] {
            let of = tunings.of(model);
            let found = (of.max_output_tokens, of.text_calls, of.temperature);
            assert_eq!(found, (Some(Tokens(tokens)), text_calls, Some(Temperature(0.5))), "{model}");
        }
    }

    #[test]
    fn help_for_small_models_is_for_servers_on_this_machine_unless_it_is_asked_for() {
        let asked = Tuning { text_calls: Some(true), guided: Some(Guided::On), ..Tuning::default() };
        let help = |tuning: &Tuning, is_local| {
            let options = tuning.options(is_local);
            (options.text_calls, options.guided)
        };
        assert_eq!(help(&Tuning::default(), true), (true, Guided::Auto));
        assert_eq!(help(&Tuning::default(), false), (false, Guided::Off));
        assert_eq!(help(&asked, false), (true, Guided::On));
    }

    #[test]
    fn what_a_price_does_not_say_about_the_cache_costs_what_input_costs() {
        let price = |json| serde_json::from_value::<Price>(json);
        assert_eq!(
            price(serde_json::json!({"input": 1.25, "output": 10})).expect("a price"),
            Price { input: 1_250_000, cached: 1_250_000, cache_write: 1_250_000, output: 10_000_000 }
        );
        for wrong in [
            serde_json::json!({"input": 1}),
            serde_json::json!({"input": -1, "output": 1}),
            serde_json::json!({"input": 1e9, "output": 1}),
            serde_json::json!({"input": 1, "output": 1, "cache": 1}),
            serde_json::json!(3),
        ] {
            assert!(price(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
