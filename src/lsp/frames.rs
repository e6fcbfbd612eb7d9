//! The frames of the base protocol: headers, an empty line, and a body of so many bytes.

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// Longest body that is read: ten times the largest file that the agent reads, so that any document can be opened.
pub(super) const MAX_BODY: u64 = 200 * 1024 * 1024;

/// Longest header line; the two that exist have under 100 bytes.
const MAX_HEADER: u64 = 4096;

/// Why a frame could not be read.
#[derive(Debug)]
pub(super) enum FrameError {
    /// The body was skipped; the next frame can be read.
    TooLong(u64),
    Io(std::io::Error),
}

impl From<std::io::Error> for FrameError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// The next body; `None` at the end of the input, in the middle of a frame too. Lines that are no header are skipped,
/// so that a stray byte costs one message and not the connection.
pub(super) async fn read<R>(input: &mut R) -> Result<Option<Vec<u8>>, FrameError>
where
    R: AsyncBufRead + Unpin,
{
    let mut length = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        (&mut *input).take(MAX_HEADER).read_until(b'\n', &mut line).await?;
        if line.is_empty() {
            return Ok(None);
        }
        match (header(&line), length) {
            (Header::Length(bytes), _) => length = Some(bytes),
            (Header::End, Some(bytes)) => return body(input, bytes).await,
            (Header::End, None) => tracing::warn!("skipped headers without Content-Length"),
            (Header::Other, _) => {}
        }
    }
}

async fn body<R>(input: &mut R, length: u64) -> Result<Option<Vec<u8>>, FrameError>
where
    R: AsyncBufRead + Unpin,
{
    let mut input = input.take(length);
    if length > MAX_BODY {
        tokio::io::copy_buf(&mut input, &mut tokio::io::sink()).await?;
        return Err(FrameError::TooLong(length));
    }
    // Grows with what arrives: the length is only a claim.
    let mut body = Vec::new();
    input.read_to_end(&mut body).await?;
    Ok((body.len() as u64 == length).then_some(body))
}

enum Header {
    Length(u64),
    End,
    Other,
}

fn header(line: &[u8]) -> Header {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Header::End;
    }
    let length = std::str::from_utf8(line)
        .ok()
        .and_then(|line| line.split_once(':'))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok());
    length.map_or(Header::Other, Header::Length)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    async fn check(input: &str, expect: Expect) {
        let mut input = input.as_bytes();
        let mut frames = String::new();
        loop {
            let frame = match read(&mut input).await {
                Ok(Some(body)) => format!("{}\n", String::from_utf8_lossy(&body)),
                Ok(None) => break,
                Err(error) => format!("{error:?}\n"),
            };
            frames.push_str(&frame);
        }
        expect.assert_eq(&frames);
    }

    #[tokio::test]
    async fn bodies_follow_each_other() {
        check(
            "Content-Length: 2\r\n\r\n{}Content-Length: 4\r\nContent-Type: x\r\n\r\nnull",
            expect![[r#"
                {}
                null
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn header_names_have_any_case_and_line_ends() {
        check(
            "content-length:2\n\n{}",
            expect![[r#"
                {}
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn garbage_between_frames_is_skipped() {
        check(
            "hello\r\n\r\nContent-Length: many\r\n\r\nContent-Length: 2\r\n\r\n{}",
            expect![[r#"
                {}
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_frame_that_breaks_off_is_the_end() {
        check("Content-Length: 20\r\n\r\n{}", expect![""]).await;
    }

    #[tokio::test]
    async fn a_frame_that_is_too_long_is_named() {
        check(
            "Content-Length: 99999999999\r\n\r\n{}",
            expect![[r#"
                TooLong(99999999999)
            "#]],
        )
        .await;
    }
}
