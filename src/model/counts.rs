//! Counts of tokens as servers write them. A count that is not read switches off the bounds that live on it, so that
//! every form is read that can mean nothing else.

use serde_json::Value;

use crate::protocol::Usage;

/// A count: a number, also as `90000.0` or in quotes. One beyond every bound is the largest there is; none is below zero.
pub(super) fn tokens(count: &Value) -> Option<u64> {
    match count {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok().or_else(|| whole(text.trim().parse().ok()?)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The first of these members of an object that is a count.
pub(super) fn at(usage: &Value, paths: &[&str]) -> Option<u64> {
    paths.iter().find_map(|path| tokens(usage.pointer(path)?))
}

/// The counts, where a server told their sum and left one of them, or both, out: no request reads nothing.
pub(super) fn completed(usage: Usage, total: Option<u64>) -> Usage {
    let Some(total) = total else { return usage };
    match usage {
        Usage { input_tokens: 0, .. } => {
            Usage { input_tokens: total.saturating_sub(usage.output_tokens), ..usage }
        }
        Usage { output_tokens: 0, .. } => {
            Usage { output_tokens: total.saturating_sub(usage.input_tokens), ..usage }
        }
        _ => usage,
    }
}

/// Rounded up, since what was begun was used.
fn whole(count: f64) -> Option<u64> {
    // The conversion ends at the largest number.
    (count.is_finite() && count >= 0.0).then(|| count.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // SPEC S15
    #[test]
    fn a_count_is_read_in_every_form_that_can_mean_nothing_else() {
        for (count, expected) in [
            (json!(90000), Some(90000)),
            (json!(90000.0), Some(90000)),
            (json!(0.5), Some(1)),
            (json!("90000"), Some(90000)),
            (json!(" 90000.0 "), Some(90000)),
            (json!(1180591620717411303424_f64), Some(u64::MAX)),
            (json!("1180591620717411303424"), Some(u64::MAX)),
            (json!(-1), None),
            (json!("-1"), None),
            (json!("NaN"), None),
            (json!("inf"), None),
            (json!("many"), None),
            (json!(""), None),
            (json!([5]), None),
            (json!(null), None),
        ] {
            assert_eq!(tokens(&count), expected, "{count}");
        }
    }

    // SPEC S15
    #[test]
    fn a_sum_tells_the_count_that_is_missing() {
        let usage = |input_tokens, output_tokens| Usage { input_tokens, output_tokens, ..Usage::default() };
        for (counted, total, expected) in [
            (usage(0, 0), Some(90000), usage(90000, 0)),
            (usage(0, 5), Some(90000), usage(89995, 5)),
            (usage(5, 0), Some(90000), usage(5, 89995)),
            (usage(5, 5), Some(90000), usage(5, 5)),
            (usage(5, 0), Some(2), usage(5, 0)),
            (usage(0, 5), None, usage(0, 5)),
        ] {
            assert_eq!(completed(counted, total), expected, "{counted:?} of {total:?}");
        }
    }
}
