//! When a request that failed is sent again, and after which wait.

use std::time::Duration;

use crate::{
    model::{ErrorKind, ModelError, Retry},
    protocol::Event,
};

/// How often, and after which waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Requests for one step while the server is busy or breaks off; at least 1, which means no retry.
    pub max_attempts: u32,
    /// The wait before the second attempt; each further one is twice as long, up to `longest_wait`.
    pub first_wait: Duration,
    pub longest_wait: Duration,
    /// A server that asks for a longer wait than this is not waited for without the user's word.
    pub longest_server_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 6,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(30),
            longest_server_wait: Duration::from_secs(120),
        }
    }
}

/// Attempts at most where no server answers, or where what answers makes no sense: that mostly needs the user, who
/// waits meanwhile for a server that was never started. Silence counts as well: each costs a whole idle time-out.
const MAX_UNANSWERED: u32 = 3;

/// Waits while this machine has no connection: a lid that is opened, a tunnel that ends.
const FIRST_OFFLINE_WAIT: Duration = Duration::from_secs(5);
const LONGEST_OFFLINE_WAIT: Duration = Duration::from_secs(60);

/// All of them together: who is offline for longer is asked to come back.
const OFFLINE_LIMIT: Duration = Duration::from_secs(10 * 60);

/// The attempts at one step.
pub(super) struct Attempts {
    policy: RetryPolicy,
    /// Requests so far that count, the running one included.
    made: u32,
    /// Waits so far for a connection.
    offline_waits: u32,
    offline_for: Duration,
    said_nothing: bool,
}

/// A request is sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Again {
    pub(super) attempt: u32,
    /// `None` when this one does not count.
    pub(super) max_attempts: Option<u32>,
    pub(super) reason: &'static str,
    pub(super) detail: String,
    pub(super) wait: Duration,
}

impl Attempts {
    pub(super) fn new(policy: RetryPolicy) -> Self {
        Self { policy, made: 1, offline_waits: 0, offline_for: Duration::ZERO, said_nothing: false }
    }

    /// What follows a failure.
    ///
    /// # Errors
    /// The failure itself, with what is to be said of the waiting, when another attempt cannot help.
    pub(super) fn after(&mut self, error: ModelError) -> Result<Again, ModelError> {
        if error.retry == Retry::Never || self.policy.max_attempts <= 1 {
            return Err(error);
        }
        if error.kind == ErrorKind::Offline {
            return self.after_offline(error);
        }
        let most = match error.kind {
            ErrorKind::Network | ErrorKind::Malformed | ErrorKind::Stalled => {
                self.policy.max_attempts.min(MAX_UNANSWERED)
            }
            _ => self.policy.max_attempts,
        };
        if self.made >= most {
            return Err(self.given_up(error));
        }
        let wait = match error.retry {
            Retry::After(asked) if asked > self.policy.longest_server_wait => {
                return Err(too_long(error, asked, self.policy.longest_server_wait));
            }
            Retry::After(asked) => asked,
            _ => self.growing_wait(),
        };
        self.made += 1;
        Ok(Again {
            attempt: self.made,
            max_attempts: Some(most),
            reason: in_short(error.kind),
            detail: error.message,
            wait,
        })
    }

    /// A reply that ended properly and said nothing is asked for once more: some servers lose one now and then.
    pub(super) fn after_silence(&mut self) -> Option<Again> {
        if self.said_nothing || self.made >= self.policy.max_attempts {
            return None;
        }
        self.said_nothing = true;
        let wait = self.growing_wait();
        self.made += 1;
        Some(Again {
            attempt: self.made,
            max_attempts: Some(self.made),
            reason: "the model said nothing",
            detail: "the reply ended without a word and without a call".to_owned(),
            wait,
        })
    }

    /// The same request in another form, at once; it does not count.
    pub(super) fn in_other_form(&self, reason: &'static str, detail: String) -> Again {
        Again { attempt: self.made, max_attempts: None, reason, detail, wait: Duration::ZERO }
    }

    fn after_offline(&mut self, error: ModelError) -> Result<Again, ModelError> {
        let left = OFFLINE_LIMIT.saturating_sub(self.offline_for);
        if left.is_zero() {
            let waited = in_words(OFFLINE_LIMIT);
            return Err(ModelError {
                message: format!("{}; no connection came back within {waited}", error.message),
                ..error
            });
        }
        let wait = doubled(FIRST_OFFLINE_WAIT, self.offline_waits).min(LONGEST_OFFLINE_WAIT).min(left);
        self.offline_waits += 1;
        self.offline_for += wait;
        Ok(Again {
            attempt: self.made,
            max_attempts: None,
            reason: in_short(error.kind),
            detail: error.message,
            wait,
        })
    }

    /// The last failure, with how often it was tried.
    fn given_up(&self, error: ModelError) -> ModelError {
        if self.made == 1 {
            return error;
        }
        ModelError { message: format!("{} (given up after {} attempts)", error.message, self.made), ..error }
    }

    fn growing_wait(&self) -> Duration {
        let wait = doubled(self.policy.first_wait, self.made - 1).min(self.policy.longest_wait);
        // Jitter, so that many clients of a busy server do not come back at the same moment.
        wait.mul_f64(rand::random_range(0.5..1.5))
    }
}

impl Again {
    pub(super) fn to_event(&self) -> Event {
        Event::Retrying {
            attempt: self.attempt,
            max_attempts: self.max_attempts,
            reason: self.reason.to_owned(),
            detail: self.detail.clone(),
            wait: self.wait,
        }
    }
}

fn doubled(wait: Duration, times: u32) -> Duration {
    // More doublings than this pass every cap.
    wait.saturating_mul(1 << times.min(16))
}

fn too_long(error: ModelError, asked: Duration, longest: Duration) -> ModelError {
    let message = format!(
        "{}; the server asks for a wait of {}, longer than the {} that askls is willing to wait: ask again then",
        error.message,
        in_words(asked),
        in_words(longest)
    );
    ModelError { message, ..error }
}

/// A failure in the few words that fit a status bar.
fn in_short(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::RateLimited => "rate limited",
        ErrorKind::Overloaded => "the server is overloaded",
        ErrorKind::Failed => "the server failed",
        ErrorKind::Offline => "no connection",
        ErrorKind::Network => "the server does not answer",
        ErrorKind::Interrupted => "the reply broke off",
        ErrorKind::Stalled => "the reply stalled",
        ErrorKind::Malformed => "the reply was malformed",
        ErrorKind::Auth
        | ErrorKind::ContextTooLong
        | ErrorKind::Quota
        | ErrorKind::Tls
        | ErrorKind::History
        | ErrorKind::Unfit
        | ErrorKind::Rejected
        | ErrorKind::Settings => "the server refused",
    }
}

/// A wait as people say it: `12 s`, `3 min`, `2 h`. Rounded up, so that it is never over before.
pub fn in_words(wait: Duration) -> String {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(max_attempts: u32) -> Attempts {
        Attempts::new(RetryPolicy { max_attempts, ..RetryPolicy::default() })
    }

    /// Each wait until it is given up, in seconds, and what is said then.
    fn check(mut attempts: Attempts, error: &ModelError, waits: &[std::ops::Range<f64>], message: &str) {
        for (number, expected) in waits.iter().enumerate() {
            let again =
                attempts.after(error.clone()).unwrap_or_else(|_| panic!("wait {number} of {error:?}"));
            assert!(expected.contains(&again.wait.as_secs_f64()), "{number}: {:?}", again.wait);
        }
        assert_eq!(attempts.after(error.clone()).map_err(|error| error.message), Err(message.to_owned()));
    }

    // SPEC S13
    #[test]
    fn waits_double_up_to_the_longest_and_no_two_clients_wait_the_same() {
        let waits = [0.5..1.5, 1.0..3.0, 2.0..6.0, 4.0..12.0, 8.0..24.0, 15.0..45.0, 15.0..45.0];
        check(
            attempts(8),
            &ModelError::new(ErrorKind::Overloaded, "full"),
            &waits,
            "full (given up after 8 attempts)",
        );
    }

    #[test]
    fn a_server_that_does_not_answer_is_given_up_early() {
        for kind in [ErrorKind::Network, ErrorKind::Malformed, ErrorKind::Stalled] {
            check(
                attempts(6),
                &ModelError::new(kind, "silent"),
                &[0.5..1.5, 1.0..3.0],
                "silent (given up after 3 attempts)",
            );
            check(
                attempts(2),
                &ModelError::new(kind, "silent"),
                &[0.5..1.5],
                "silent (given up after 2 attempts)",
            );
        }
    }

    #[test]
    fn what_would_fail_again_or_shall_not_be_tried_again_is_not() {
        check(attempts(6), &ModelError::new(ErrorKind::Auth, "no"), &[], "no");
        check(attempts(1), &ModelError::new(ErrorKind::Overloaded, "full"), &[], "full");
        check(attempts(1), &ModelError::new(ErrorKind::Offline, "offline"), &[], "offline");
    }

    // SPEC S13
    #[test]
    fn a_server_is_waited_for_as_long_as_it_asks_and_no_longer_than_its_user_would() {
        let after = |seconds| ModelError {
            retry: Retry::After(Duration::from_secs(seconds)),
            ..ModelError::new(ErrorKind::RateLimited, "busy")
        };
        check(attempts(3), &after(120), &[120.0..120.1, 120.0..120.1], "busy (given up after 3 attempts)");
        check(
            attempts(3),
            &after(5000),
            &[],
            "busy; the server asks for a wait of 84 min, longer than the 2 min that askls is willing to wait: ask again then",
        );
    }

    #[test]
    fn being_offline_uses_up_no_attempts_and_ends_after_ten_minutes() {
        let mut attempts = attempts(2);
        let offline = || ModelError::new(ErrorKind::Offline, "offline");
        let waits: Vec<_> =
            std::iter::from_fn(|| attempts.after(offline()).ok()).map(|again| again.wait.as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 60, 60, 60, 60, 60, 60, 60, 60, 45]);
        let said = attempts.after(offline()).map_err(|error| error.message);
        assert_eq!(said, Err("offline; no connection came back within 10 min".to_owned()));
        let again = attempts.after(ModelError::new(ErrorKind::Failed, "500")).map(|again| again.attempt);
        assert_eq!(again, Ok(2));
    }

    #[test]
    fn a_wait_is_said_in_the_unit_that_fits() {
        let said = [0, 1, 1001, 119_000, 120_000, 7_199_000, 7_200_001]
            .map(|ms| in_words(Duration::from_millis(ms)));
        assert_eq!(said, ["0 s", "1 s", "2 s", "119 s", "2 min", "120 min", "3 h"]);
    }
}
