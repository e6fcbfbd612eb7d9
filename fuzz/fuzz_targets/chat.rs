#![no_main]

use askls::protocol::Wire;

libfuzzer_sys::fuzz_target!(|body: &[u8]| askls_fuzz::reply(Wire::Chat, body));
