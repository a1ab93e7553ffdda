//! As much of HTTP/1.1 as three addresses need.

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    Metrics,
    Ready,
    Live,
}

/// How it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    TooLarge,
    Unavailable,
}

/// An answer with its body.
pub(super) struct Answer {
    status: Status,
    content_type: &'static str,
    body: String,
}

/// The request that the bytes make up to the end of its head; `None` while there has to come more. The head is not looked
/// at beyond its first line, and a body is never read: the connection is closed behind the answer.
pub(super) fn parse(head: &[u8]) -> Result<Option<Request>, Status> {
    let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") else {
        return if head.len() < HEAD_BYTES_MAX {
            Ok(None)
        } else {
            Err(Status::TooLarge)
        };
    };
    let line = head[..end]
        .split(|byte| *byte == b'\r')
        .next()
        .unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_| Status::BadRequest)?;
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Status::BadRequest);
    };
    if !version.starts_with("HTTP/1.") {
        return Err(Status::BadRequest);
    }
    if method != "GET" {
        return Err(Status::MethodNotAllowed);
    }
    match target.split('?').next() {
        Some("/metrics") => Ok(Some(Request::Metrics)),
        Some("/ready") => Ok(Some(Request::Ready)),
        Some("/live") => Ok(Some(Request::Live)),
        _ => Err(Status::NotFound),
    }
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed\r\nAllow: GET",
            Self::TooLarge => "431 Request Header Fields Too Large",
            Self::Unavailable => "503 Service Unavailable",
        }
    }
}

impl Answer {
    /// One line of text.
    pub(super) fn text(status: Status, line: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: format!("{line}\n"),
        }
    }

    /// A status that speaks for itself.
    pub(super) fn short(status: Status) -> Self {
        let text = match status {
            Status::NotFound => "there are /metrics, /ready and /live",
            Status::MethodNotAllowed => "only GET",
            Status::TooLarge => "the request is too large",
            Status::Ok | Status::BadRequest | Status::Unavailable => "not HTTP/1.1",
        };
        Self::text(status, text)
    }

    /// The text format of Prometheus.
    pub(super) fn metrics(body: String) -> Self {
        Self {
            status: Status::Ok,
            content_type: "text/plain; version=0.0.4; charset=utf-8",
            body,
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Self {
            status,
            content_type,
            body,
        } = self;
        let status = status.line();
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

const HEAD_BYTES_MAX: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_addresses_are_served_and_nothing_else() {
        for (head, expected) in [
            (
                "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
                Ok(Some(Request::Metrics)),
            ),
            (
                "GET /metrics?name[]=x HTTP/1.1\r\n\r\n",
                Ok(Some(Request::Metrics)),
            ),
            ("GET /ready HTTP/1.0\r\n\r\n", Ok(Some(Request::Ready))),
            ("GET /live HTTP/1.1\r\n\r\nand a body", Ok(Some(Request::Live))),
            ("GET /live HTTP/1.1\r\nHost: half", Ok(None)),
            ("", Ok(None)),
            ("GET / HTTP/1.1\r\n\r\n", Err(Status::NotFound)),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", Err(Status::NotFound)),
            ("HEAD /live HTTP/1.1\r\n\r\n", Err(Status::MethodNotAllowed)),
            ("POST /metrics HTTP/1.1\r\n\r\n", Err(Status::MethodNotAllowed)),
            ("GET /live HTTP/2\r\n\r\n", Err(Status::BadRequest)),
            ("GET  /live HTTP/1.1\r\n\r\n", Err(Status::BadRequest)),
            ("GET /live\r\n\r\n", Err(Status::BadRequest)),
            ("\r\n\r\n", Err(Status::BadRequest)),
        ] {
            assert_eq!(parse(head.as_bytes()), expected, "{head:?}");
        }
        assert_eq!(parse(b"GET /\xff HTTP/1.1\r\n\r\n"), Err(Status::BadRequest));
    }

    #[test]
    fn a_head_has_a_largest_size() {
        let mut head = b"GET /live HTTP/1.1\r\nX: ".to_vec();
        head.resize(HEAD_BYTES_MAX - 1, b'x');
        assert_eq!(parse(&head), Ok(None));
        head.push(b'x');
        assert_eq!(parse(&head), Err(Status::TooLarge));
    }
}
