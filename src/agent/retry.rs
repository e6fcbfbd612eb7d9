//! When a request that failed is sent again.

use std::time::Duration;

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
