//! JSON as editors send it.

use serde_json::Value;

/// Beyond this, a floating-point number does not tell one whole number from the next.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The same with each number that is whole written as one: for `2` an editor whose numbers are all floating-point (Lua,
/// JavaScript by some ways) may send `2.0`, which means nothing else.
#[must_use]
pub fn with_whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT);
            #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
            whole.map_or(Value::Number(number), |whole| Value::from(whole as i64))
        }
        Value::Array(parts) => parts.into_iter().map(with_whole_numbers).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, with_whole_numbers(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Number(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(sent: Value, expected: &str) {
        assert_eq!(with_whole_numbers(sent).to_string(), expected);
    }

    #[test]
    fn what_is_whole_is_a_whole_number_at_any_depth() {
        check(json!({"a": [2.0, {"b": -3.0, "c": 1e3}]}), r#"{"a":[2,{"b":-3,"c":1000}]}"#);
        check(json!(-0.0), "0");
    }

    #[test]
    fn what_is_not_whole_or_may_not_be_stays_as_it_is() {
        check(json!([2.5, 1e300, true, "2.0", null]), r#"[2.5,1e+300,true,"2.0",null]"#);
        check(json!(u64::MAX), "18446744073709551615");
    }
}
