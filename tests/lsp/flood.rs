//! Much at once: many deltas, one huge answer, many asks beside typing. The editor must not notice.

use serde_json::{Value, json};

use crate::support::{Answer, Client, FakeModel, Project, client::RequestId, model::*, on_every_wire, wait};

/// lsp-08: the rate, the sameness and the size of the reports are rules of every test.
#[test]
fn five_thousand_deltas_are_a_handful_of_reports() {
    on_every_wire(|wire| {
        let story: String = (0..5_000).map(|n| format!("w{n} ")).collect();
        let model = FakeModel::start(wire, [text(&story)]);
        let mut client = Client::start(&Project::new(""), &model);
        assert_eq!(client.ask("Tell me a story.")["answer"].as_str().unwrap().trim_end(), story.trim_end());
    });
}

/// lsp-08: a megabyte must not be put into a message or a report.
#[test]
fn an_answer_of_one_megabyte_arrives_whole_in_the_response_only() {
    on_every_wire(|wire| {
        let answer = "0123456789".repeat(100_000);
        let model = FakeModel::start(wire, [text(&answer)]);
        let mut client = Client::builder(&Project::new(""))
            .model(&model)
            .settings(json!({"show_answer": "message"}))
            .start();
        client.on_request("window/showMessageRequest", |_| Answer::Result(Value::Null));
        assert_eq!(client.ask("All digits.")["answer"], answer);
        client.wait_until("the message", |received| {
            let messages = received.iter().filter(|received| {
                received.message["method"]
                    .as_str()
                    .is_some_and(|method| method.starts_with("window/showMessage"))
            });
            let sizes: Vec<usize> = messages.map(|received| received.bytes).collect();
            assert!(sizes.iter().all(|&size| size < 8 * 1024), "{sizes:?}");
            (!sizes.is_empty()).then_some(())
        });
    });
}

/// A command that prints without end reaches the model cut, head and tail.
#[test]
fn a_flood_of_output_is_cut_for_the_model() {
    on_every_wire(|wire| {
        let model = FakeModel::start(
            wire,
            [call("run_command", json!({"command": "seq 1 500000"})), text("Many numbers.")],
        );
        let mut client =
            Client::builder(&Project::new("")).model(&model).settings(json!({"approvals": "all"})).start();
        client.ask("Count.");
        let output = crate::support::history::last_output(&model.requests()[1]);
        assert!(output.len() < 100_000, "{} bytes", output.len());
        assert!(
            output.contains("500000") && output.contains("\n2\n"),
            "{}",
            &output[..200.min(output.len())]
        );
    });
}

/// The answer of the fake model to the turn that was asked to read file `n`.
fn answer_by_prompt(request: &Request) -> crate::support::model::Reply {
    let prompt = request.prompt();
    let number: String = prompt.chars().filter(char::is_ascii_digit).take(2).collect();
    if request.outputs().is_empty() {
        let path = if number == "99" { "typed.txt".to_owned() } else { format!("{number}.txt") };
        call("read_file", json!({"path": path}))
    } else {
        text(&format!("Read {number}."))
    }
}

#[test]
fn twenty_asks_at_once_while_the_user_types_and_the_editor_asks_for_code_actions() {
    on_every_wire(|wire| {
        const TYPED: usize = 2_000;
        let files: String = (10..30).map(|n| format!("//- /{n}.txt\nfile {n}\n")).collect();
        let project = Project::new(&(files + "//- /typed.txt\n\n"));
        let model = FakeModel::answering(wire, answer_by_prompt);
        let mut client = Client::start(&project, &model);
        let uri = client.open("/typed.txt");
        let actions_at = json!({
            "textDocument": {"uri": uri},
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}},
            "context": {"diagnostics": []},
        });

        let mut asks: Vec<(usize, RequestId)> = Vec::new();
        let mut requests = Vec::new();
        for n in 0..TYPED {
            // Always typed at the end of the line, so that a lost or swapped change shows.
            let letter = char::from(b'a' + (n % 26) as u8).to_string();
            client.change("/typed.txt", [0, n as u64, 0, n as u64], &letter);
            if n % 100 == 0 {
                let number = 10 + n / 100;
                asks.push((number, client.send_ask(&format!("Read file {number} to me."))));
            }
            if n % 10 == 0 {
                requests.push(client.send("textDocument/codeAction", actions_at.clone()));
            }
        }

        for (number, ask) in &asks {
            assert_eq!(client.wait(ask).unwrap()["answer"], format!("Read {number}."));
        }
        for request in &requests {
            client.wait(request).unwrap();
        }
        assert_eq!(asks.len(), 20);
        let texts: Vec<String> =
            model.requests().iter().flat_map(crate::support::history::output_texts).collect();
        for number in 10..30 {
            assert!(texts.iter().any(|text| text.contains(&format!("file {number}"))), "{number}");
        }
        let typed = client.text("/typed.txt").unwrap();
        assert_eq!(typed.trim_end().len(), TYPED);
        client.ask("Read file 99, that is typed.txt.");
        let seen = crate::support::history::last_output(model.requests().last().unwrap());
        // The model is shown long lines cut, so the beginning must do.
        assert!(seen.contains(&typed[..1_000]), "{seen}");
    });
}

/// Requests of the editor are answered while every turn waits for the model and every question for the user.
#[test]
fn waiting_turns_hold_nothing_up() {
    on_every_wire(|wire| {
        let model =
            FakeModel::answering(wire, |_| call("run_command", json!({"command": "make it"}))).allow_unused();
        let project = Project::new("//- /a.txt\nA\n");
        let mut client = Client::start(&project, &model);
        client.on_request("window/showMessageRequest", |_| Answer::Never);
        let asks: Vec<RequestId> = (0..20).map(|n| client.send_ask(&format!("Ask {n}."))).collect();
        wait(model.request(1));
        client.open("/a.txt");
        for n in 0..300 {
            client.replace("/a.txt", &format!("{n}\n"));
        }
        client.command("askls.status", json!({}));
        client.command("askls.stop", json!({}));
        for ask in asks {
            assert_eq!(client.wait(&ask).unwrap_err().code, -32800);
        }
    });
}

/// Two turns at once on one thread would mix their histories.
#[test]
fn the_second_ask_on_a_running_thread_is_refused_and_the_first_goes_on() {
    on_every_wire(|wire| {
        let model = FakeModel::start(wire, [text("First.").gate(), text("Third.")]);
        let mut client = Client::start(&Project::new(""), &model);
        let thread = client.command("askls.newThread", json!({}))["threadId"].clone();
        let first = client.send_command("askls.ask", json!({"prompt": "One.", "threadId": thread}));
        wait(model.request(1));

        let second = client.send_command("askls.ask", json!({"prompt": "Two.", "threadId": thread}));

        let failure = client.wait(&second).unwrap_err();
        assert!(failure.message.contains(thread.as_str().unwrap()), "{failure:?}");
        model.release(1);
        assert_eq!(client.wait(&first).unwrap()["answer"], "First.");
        assert_eq!(client.ask_on(&thread, "Three.")["answer"], "Third.");
    });
}
