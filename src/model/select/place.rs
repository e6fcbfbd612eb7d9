//! Where a base URL leads, as far as defaults depend on it, and the services that need nothing but their key.

use reqwest::Url;

use crate::{
    model::http::{ANTHROPIC_BASE_URL, address},
    protocol::Wire,
};

/// Where a base URL leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    OpenAi,
    Anthropic,
    /// Models of many makers under the account of a company, with a header for the key of its own.
    Azure,
    /// This machine.
    Local,
    Elsewhere,
}

impl Place {
    pub(super) fn of(base_url: &str) -> Self {
        let host = Url::parse(base_url.trim()).ok().and_then(|url| url.host_str().map(str::to_owned));
        let Some(host) = host.as_deref() else { return Self::Elsewhere };
        let is =
            |domain: &str| host == domain || host.strip_suffix(domain).is_some_and(|sub| sub.ends_with('.'));
        match host {
            _ if address::is_this_machine(host) => Self::Local,
            _ if is("api.openai.com") => Self::OpenAi,
            _ if is("api.anthropic.com") => Self::Anthropic,
            _ if is("openai.azure.com") || is("services.ai.azure.com") => Self::Azure,
            _ => Self::Elsewhere,
        }
    }

    /// How the server there is spoken to, unless the settings say otherwise: as the address itself says when it is that
    /// of a wire as a whole, else as its host is known to speak.
    pub(super) fn wire(self, base_url: &str) -> Wire {
        address::wire_of(base_url).unwrap_or(match self {
            Self::OpenAi => Wire::Responses,
            Self::Anthropic => Wire::Messages,
            Self::Azure | Self::Local | Self::Elsewhere => Wire::Chat,
        })
    }

    /// The header that carries the key there, where it is not that of the wire.
    pub(super) fn key_header(self, wire: Wire) -> Option<&'static str> {
        match (self, wire) {
            (Self::Azure, Wire::Chat | Wire::Responses) => Some("api-key"),
            _ => None,
        }
    }

    /// The service there, when it is one of those.
    pub(super) fn service(self) -> Option<Service> {
        match self {
            Self::OpenAi => Some(Service::OpenAi),
            Self::Anthropic => Some(Service::Anthropic),
            Self::Azure | Self::Local | Self::Elsewhere => None,
        }
    }
}

/// A service that is used as soon as its own key is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    OpenAi,
    Anthropic,
}

impl Service {
    /// In the order in which they are looked for.
    pub(super) const ALL: [Self; 2] = [Self::OpenAi, Self::Anthropic];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::Anthropic => "Anthropic",
        }
    }

    pub(super) fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
        }
    }

    /// What is asked for when no model is set: one that all accounts may use; any other is one setting away.
    pub(super) fn default_model(self) -> &'static str {
        match self {
            Self::OpenAi => "gpt-5.5",
            Self::Anthropic => "claude-sonnet-5-5",
        }
    }

    /// The variables that its own libraries read.
    pub(super) fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }

    pub(super) fn base_url_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Anthropic => ANTHROPIC_BASE_URL,
        }
    }

    /// Whether it speaks the wire that is set, if one is.
    pub(super) fn speaks(self, wire: Option<Wire>) -> bool {
        match (self, wire) {
            (_, None) | (Self::OpenAi, Some(Wire::Responses | Wire::Chat)) => true,
            (Self::Anthropic, Some(Wire::Messages | Wire::Chat)) => true,
            (Self::OpenAi, Some(Wire::Messages)) | (Self::Anthropic, Some(Wire::Responses)) => false,
        }
    }

    /// How servers of its kind elsewhere are spoken to: those that its own variable names.
    pub(super) fn wire_elsewhere(self) -> Wire {
        match self {
            Self::OpenAi => Wire::Chat,
            Self::Anthropic => Wire::Messages,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_by_its_host_alone() {
        for (base_url, place) in [
            ("https://api.openai.com/v1", Place::OpenAi),
            ("https://eu.api.openai.com/v1", Place::OpenAi),
            ("https://API.Anthropic.com", Place::Anthropic),
            ("https://mine.openai.azure.com/openai/deployments/d", Place::Azure),
            ("https://mine.services.ai.azure.com/models", Place::Azure),
            ("http://localhost:8080/v1", Place::Local),
            ("http://127.0.0.1:1/api.openai.com", Place::Local),
            ("http://models.localhost/v1", Place::Local),
            ("https://evilapi.openai.com/v1", Place::Elsewhere),
            ("https://api.openai.com.evil.example/v1", Place::Elsewhere),
            ("http://api.openai.com@evil.example/v1", Place::Elsewhere),
            ("nonsense", Place::Elsewhere),
        ] {
            assert_eq!(Place::of(base_url), place, "{base_url}");
        }
    }

    #[test]
    fn the_readme_names_the_models_that_are_asked_when_only_a_key_is_set() {
        let readme = include_str!("../../../README.md");
        for service in Service::ALL {
            let row = format!("| `{}`", service.key_variable());
            let row = readme.lines().find(|line| line.contains(&row)).expect("a row of the service");
            assert!(row.contains(&format!("`{}`", service.default_model())), "{row}");
        }
    }

    #[test]
    fn the_wire_goes_by_the_host_unless_the_address_says_it() {
        for (base_url, wire) in [
            ("https://api.openai.com/v1", Wire::Responses),
            ("https://api.anthropic.com", Wire::Messages),
            ("https://host.test/v1", Wire::Chat),
            ("https://host.test/v1/messages", Wire::Messages),
            ("http://127.0.0.1:8080/v1/responses", Wire::Responses),
            ("https://api.openai.com/v1/chat/completions", Wire::Chat),
        ] {
            assert_eq!(Place::of(base_url).wire(base_url), wire, "{base_url}");
        }
    }
}
