#![no_main]

libfuzzer_sys::fuzz_target!(|body: &[u8]| askls_fuzz::events(body));
