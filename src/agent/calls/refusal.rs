//! Calls that do not run, and why.

/// Why a call does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It cannot.
    Fault(String),
    /// A rule forbids it, or nobody was there to allow it.
    NotAllowed(String),
    /// The user said no, which is no fault of the model's.
    Declined(String),
}

impl Refusal {
    /// For the model.
    pub(super) fn output(&self) -> String {
        match self {
            Self::Fault(reason) => reason.clone(),
            Self::NotAllowed(reason) | Self::Declined(reason) => {
                format!("this call was not allowed and did not run: {reason}")
            }
        }
    }

    /// Why it was not allowed, where that is why.
    pub(super) fn denial(self) -> Option<String> {
        match self {
            Self::Fault(_) => None,
            Self::NotAllowed(reason) | Self::Declined(reason) => Some(reason),
        }
    }
}
