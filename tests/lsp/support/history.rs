//! What the model was told, in the words of a test.

use super::model::Request;

/// The outputs of all calls in a request, in order.
pub fn output_texts(request: &Request) -> Vec<String> {
    request.outputs().into_iter().map(|(_, text)| text).collect()
}

/// The newest output in a request.
pub fn last_output(request: &Request) -> String {
    output_texts(request).pop().unwrap_or_else(|| panic!("a request without outputs: {}", request.json))
}

/// What the model itself said before, in order.
pub fn agent_texts(request: &Request) -> Vec<String> {
    request.history().iter().filter_map(|line| line.strip_prefix("agent: ")).map(str::to_owned).collect()
}
