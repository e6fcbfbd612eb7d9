//! Where a key comes from.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use secrecy::SecretString;

/// Where a key comes from. Debug shows the name only.
#[derive(Clone)]
pub enum KeySource {
    Value {
        /// The variable's name.
        name: String,
        key: SecretString,
    },
    /// A variable that was named and is not set.
    Unset {
        variable: String,
    },
    Command(Arc<dyn KeyCommand>),
}

/// Prints a key when it is asked; may take seconds, and may ask the user something.
pub trait KeyCommand: Send + Sync {
    /// The error is for people and holds nothing of the output.
    fn key(&self) -> BoxFuture<'_, Result<SecretString, String>>;
}

/// The environment that a service's own libraries read.
#[derive(Clone, Debug, Default)]
pub struct ServiceVariables {
    pub key: Option<SecretString>,
    pub base_url: Option<String>,
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { name, .. } => f.write_str(name),
            Self::Unset { .. } => f.write_str("api_key_env"),
            Self::Command(_) => f.write_str("api_key_command"),
        }
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { name, .. } => write!(f, "Value({name})"),
            Self::Unset { variable } => write!(f, "Unset({variable})"),
            Self::Command(_) => f.write_str("Command"),
        }
    }
}
