//! How the answer is shown: a line, and the whole of it as a document for who wants it.

use askls::protocol::Wire;
use serde_json::{Value, json};

use crate::support::{Answer, Client, FakeModel, Project, capabilities, model::*, on_every_wire};

const LONG: &str = "The first paragraph says it all,\nin two lines.\n\n## Details\n\n- one\n- two\n";

fn client_showing(model: &FakeModel, show: &str, capabilities: Value) -> Client {
    Client::builder(&Project::new(""))
        .model(model)
        .settings(json!({"show_answer": show}))
        .capabilities(capabilities)
        .start()
}

#[test]
fn a_short_answer_is_one_message() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text("It is blue.")]);
        let mut client = client_showing(&model, "message", capabilities::full());
        client.ask("Which colour?");
        assert_eq!(
            client.wait_notification("window/showMessage"),
            json!({"type": 3, "message": "It is blue."})
        );
    });
}

#[test]
fn a_long_answer_is_its_first_paragraph_and_a_way_to_the_whole() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text(LONG)]);
        let mut client = client_showing(&model, "message", capabilities::full());

        let result = client.ask("Tell me.");
        let offer = client.wait_request("window/showMessageRequest");

        assert_eq!(result["answer"], LONG);
        assert_eq!(offer.params["message"], "The first paragraph says it all, in two lines.");
        assert_eq!(offer.params["actions"], json!([{"title": "Open answer"}]));
        client.reply(&offer, Answer::Result(json!({"title": "Open answer"})));
        let shown = client.wait_request("window/showDocument");
        client.reply(&shown, Answer::Result(json!({"success": true})));
        assert!(shown.params["uri"].as_str().unwrap().ends_with(".md"), "{shown:?}");
        let document = client.read_shown(&shown.params["uri"]);
        assert!(document.contains(LONG.trim_end()), "{document}");
    });
}

#[test]
fn a_client_with_virtual_documents_is_shown_one() {
    let mut capabilities = capabilities::full();
    capabilities["workspace"]["textDocumentContent"] = json!({"dynamicRegistration": true});
    let model = FakeModel::start(Wire::Chat, [text(LONG)]);
    let mut client = client_showing(&model, "message", capabilities);
    client.choose("Open answer");

    client.ask("Tell me.");
    let shown = client.wait_request("window/showDocument");
    client.reply(&shown, Answer::Result(json!({"success": true})));

    assert!(shown.params["uri"].as_str().unwrap().starts_with("askls:/"), "{shown:?}");
    let document = client.read_shown(&shown.params["uri"]);
    assert!(document.contains("- one\n- two"), "{document}");
}

#[test]
fn show_answer_document_opens_it_without_a_question() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text(LONG)]);
        let mut client = client_showing(&model, "document", capabilities::full());
        client.ask("Tell me.");
        let shown = client.wait_request("window/showDocument");
        client.reply(&shown, Answer::Result(json!({"success": true})));
        let document = client.read_shown(&shown.params["uri"]);
        assert!(document.contains("## Details"), "{document}");
    });
}

#[test]
fn show_answer_none_shows_nothing() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text(LONG)]);
        let mut client = client_showing(&model, "none", capabilities::full());
        assert_eq!(client.ask("Tell me.")["answer"], LONG);
    });
}

/// Nobody has to answer for the server to go on.
#[test]
fn an_offer_that_gets_no_answer_holds_nothing_up() {
    let model = FakeModel::start(Wire::Chat, [text(LONG), text(LONG), text("Short.")]);
    let mut client = client_showing(&model, "message", capabilities::full());
    client.on_request("window/showMessageRequest", |_| Answer::Never);
    for _ in 0..2 {
        client.ask("Tell me.");
    }
    client.ask("Tell me.");
    client.wait_notification("window/showMessage");
}

#[test]
fn a_client_that_cannot_show_documents_is_told_where_the_answer_is_or_sees_its_beginning() {
    let model = FakeModel::start(Wire::Chat, [text(LONG)]);
    let mut client = client_showing(&model, "message", capabilities::without("/window/showDocument"));
    client.on_request("window/showMessageRequest", |_| Answer::Result(Value::Null));
    assert_eq!(client.ask("Tell me.")["answer"], LONG);
    let shown = client.wait_until("the first paragraph", |received| {
        let texts = received.iter().filter_map(|received| received.message["params"]["message"].as_str());
        texts.into_iter().find(|text| text.starts_with("The first paragraph")).map(str::to_owned)
    });
    assert!(!shown.contains("## Details"), "{shown}");
    client.tolerate("window/showMessage");
}

#[test]
fn the_first_paragraph_is_cut_between_characters() {
    on_every_wire(|wire| {
        let answer = "😀ä".repeat(1_000);
        let model = FakeModel::start(wire, [text(&answer)]);
        let mut client = client_showing(&model, "message", capabilities::full());
        assert_eq!(client.ask("Tell me.")["answer"], answer);
        let offer = client.wait_request("window/showMessageRequest");
        let shown = offer.params["message"].as_str().unwrap();
        assert!(shown.chars().count() <= 300, "{} characters", shown.chars().count());
        assert!(shown.starts_with("😀ä😀ä"), "{shown}");
        client.reply(&offer, Answer::Result(Value::Null));
    });
}
