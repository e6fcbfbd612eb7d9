//! The HTTP of the fake model: one thread a connection, one request a connection, chunked bodies.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

use super::{After, Body, MODEL, Reply, Request, Script, Shared, rules, wire};
use askls::protocol::Wire;

/// How often a held reply looks whether its client is still there.
const LOOK: Duration = Duration::from_millis(5);

pub(super) fn connection(shared: &Shared, mut connection: TcpStream) {
    let Ok((method, path, headers, body)) = read_request(&connection) else { return };
    let bare_path = path.split('?').next().unwrap_or_default().to_owned();
    if method == "GET" && bare_path.ends_with("/models") {
        shared.change(|state| state.listed += 1);
        let list = json!({"object": "list", "data": [{"id": MODEL, "object": "model"}]});
        drop(write_fixed(&mut connection, 200, &[], list.to_string().as_bytes()));
        return;
    }
    let json: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let request = Request { wire: shared.wire, path, headers, body, json, extends: None };
    let (number, reply) = answer_for(shared, request, &method, &bare_path);
    let outcome = write_reply(shared, &mut connection, number, &reply);
    shared.change(|state| match outcome {
        Ok(Sent::Whole) => {
            state.answered.insert(number);
        }
        Ok(Sent::Broken) => {}
        Err(_) => {
            state.left.insert(number);
        }
    });
}

/// Records the request and finds its reply.
fn answer_for(shared: &Shared, mut request: Request, method: &str, path: &str) -> (usize, Reply) {
    let mut found = None;
    shared.change(|state| {
        request.extends =
            state.requests.iter().rposition(|former| extends(former, &request)).map(|position| position + 1);
        let number = state.requests.len() + 1;
        state.requests.push(request.clone());
        let expected = match request.wire {
            Wire::Responses => "/responses",
            Wire::Chat => "/chat/completions",
            Wire::Messages => "/v1/messages",
        };
        let reply = if method != "POST" || !path.ends_with(expected) {
            state.faults.push(format!("request {number} was {method} {path}, not POST …{expected}"));
            super::status(404, r#"{"error":{"message":"Not Found","type":"not_found"}}"#)
        } else if let Err((status, text)) = rules::check(&request) {
            state.refusals.push(text.clone());
            let error = match request.wire {
                Wire::Messages => json!({"type": "error", "error": {"type": "invalid_request_error", "message": text}}),
                _ => json!({"error": {"message": text, "type": "invalid_request_error", "param": null, "code": null}}),
            };
            super::status(status, &error.to_string())
        } else {
            match &mut state.script {
                Script::Responder(respond) => respond(&request),
                Script::Replies(replies) => replies.pop_front().unwrap_or_else(|| {
                    state.faults.push(format!("request {number} came after the end of the script"));
                    super::status(500, r#"{"error":{"message":"script exhausted"}}"#)
                }),
            }
        };
        found = Some((number, reply));
    });
    found.expect("the change was made")
}

/// Whether `request` begins with the bytes of `former` up to the end of its items.
fn extends(former: &Request, request: &Request) -> bool {
    former.body.strip_suffix(b"]}").is_some_and(|prefix| request.body.starts_with(prefix))
}

enum Sent {
    Whole,
    Broken,
}

fn write_reply(
    shared: &Shared,
    connection: &mut TcpStream,
    number: usize,
    reply: &Reply,
) -> io::Result<Sent> {
    if reply.gated {
        hold(shared, connection, number)?;
    }
    let streamed = match &reply.body {
        Body::Fixed { status, headers, body } => {
            write_fixed(connection, *status, headers, body)?;
            return Ok(Sent::Whole);
        }
        Body::RawSse { text, pieces, stays_open } => {
            write_stream_head(connection)?;
            for piece in text.as_bytes().chunks(pieces.unwrap_or(text.len()).max(1)) {
                write_chunk(connection, piece)?;
            }
            if *stays_open {
                hold(shared, connection, number)?;
            }
            connection.write_all(b"0\r\n\r\n")?;
            return Ok(Sent::Whole);
        }
        Body::Streamed(streamed) => streamed,
    };
    let usage_wanted = {
        let state = shared.lock();
        state.requests[number - 1].json["stream_options"]["include_usage"] == true
    };
    write_stream_head(connection)?;
    let mut deltas = 0;
    for frame in wire::frames(shared.wire, number, streamed, usage_wanted) {
        if streamed.after != After::End && (frame.ends || frame.is_delta && Some(deltas) == streamed.deltas) {
            break;
        }
        deltas += usize::from(frame.is_delta);
        write_chunk(connection, frame.text.as_bytes())?;
    }
    match streamed.after {
        After::End | After::Close => {
            connection.write_all(b"0\r\n\r\n")?;
            Ok(Sent::Whole)
        }
        After::Reset => Ok(Sent::Broken),
        After::Stall => {
            hold(shared, connection, number)?;
            Ok(Sent::Broken)
        }
    }
}

/// Waits until the test releases the reply.
///
/// # Errors
/// When the client leaves before.
fn hold(shared: &Shared, connection: &TcpStream, number: usize) -> io::Result<()> {
    connection.set_nonblocking(true)?;
    let mut state = shared.lock();
    while !state.released.contains(&number) && !state.closing {
        match connection.peek(&mut [0]) {
            Ok(0) => return Err(io::ErrorKind::ConnectionAborted.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        state = match shared.released.wait_timeout(state, LOOK) {
            Ok((state, _)) => state,
            Err(poisoned) => poisoned.into_inner().0,
        };
    }
    drop(state);
    connection.set_nonblocking(false)
}

type Parsed = (String, String, Vec<(String, String)>, Vec<u8>);

fn read_request(connection: &TcpStream) -> io::Result<Parsed> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let (method, path) = (method.to_owned(), path.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").map(|(_, value)| value.parse());
    let mut body = vec![0; length.and_then(Result::ok).unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok((method, path, headers, body))
}

fn write_fixed(
    connection: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
) -> io::Result<()> {
    let mut head =
        format!("HTTP/1.1 {status} Status\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    connection.write_all(format!("{head}\r\n").as_bytes())?;
    connection.write_all(body)
}

fn write_stream_head(connection: &mut TcpStream) -> io::Result<()> {
    connection.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n",
    )
}

fn write_chunk(connection: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    connection.write_all(&chunk)
}
