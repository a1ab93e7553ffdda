//! One connection of the listener: a request in, its answer out, one after the other.

use super::{
    frame::{Frame, FrameError, FrameReader},
    idle::Activity,
    listener::Shared,
};
use crate::dispatch::RequestRefused;
use bytes::{Buf, Bytes};
use kraft_core::StateMachine;
use kraft_wire::{
    EncodeError, Message,
    frame::{RequestHead, split_request},
    message as m,
};
use std::{cell::RefCell, future::poll_fn, io, pin::pin};
use thiserror::Error;
use tokio::{io::AsyncWriteExt, net::TcpStream};

/// Why a connection is closed.
#[derive(Debug, Error)]
pub(super) enum CloseReason {
    #[error("{0}")]
    Frame(FrameError),
    #[error("malformed request: {0}")]
    Header(kraft_wire::frame::FrameError),
    #[error(transparent)]
    Refused(#[from] RequestRefused),
    #[error("an answer cannot be written: {0}")]
    Encode(#[from] EncodeError),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Serves one connection. The next request is read when the answer to the last one has been written.
pub(super) async fn serve<S>(
    shared: &Shared<S>,
    activity: &Activity,
    mut stream: TcpStream,
) -> Result<(), CloseReason>
where
    S: StateMachine,
{
    stream.set_nodelay(true)?;
    let mut frames = FrameReader::default();
    loop {
        activity.waits(&shared.rounds);
        let reading = frames.read(&mut stream, shared.limits.request_bytes_max, Some(&shared.budget));
        let Frame { bytes, share } = match reading.await {
            Ok(None) => return Ok(()),
            Ok(Some(frame)) => frame,
            Err(FrameError::Io(error)) => return Err(CloseReason::Io(error)),
            Err(error) => return Err(CloseReason::Frame(error)),
        };
        let (head, body) = split_request(bytes).map_err(CloseReason::Header)?;
        activity.works();
        let Some(body) = answer(shared, &stream, head, body).await? else {
            return Ok(());
        };
        drop(share);
        activity.waits(&shared.rounds);
        write_answer(&mut stream, head, body).await?;
    }
}

/// The body of the answer; `None` when the caller has gone.
async fn answer<S: StateMachine>(
    shared: &Shared<S>,
    stream: &TcpStream,
    head: RequestHead,
    body: Bytes,
) -> Result<Option<Bytes>, CloseReason> {
    let asking = shared
        .requests
        .ask(&shared.name, head.api.key(), head.version, body);
    let mut asking = pin!(asking);
    // A waiting Fetch of which nobody reads the answer is worth knowing of. Bytes of a next request are left alone. As long
    // as nothing comes, this asks the runtime and not the system.
    let something = async {
        poll_fn(|cx| stream.poll_read_ready(cx)).await?;
        stream.peek(&mut [0]).await
    };
    tokio::select! {
        biased;
        answered = &mut asking => return Ok(Some(answered?)),
        peeked = something => {
            if !matches!(peeked, Ok(1)) {
                return Ok(None);
            }
        }
    }
    Ok(Some(asking.await?))
}

async fn write_answer(stream: &mut TcpStream, head: RequestHead, body: Bytes) -> Result<(), CloseReason> {
    if body.len() <= COPIED_BYTES_MAX {
        let left = ANSWER.with_borrow_mut(|answer| {
            answer.clear();
            put_head(head, body.len(), answer)?;
            // To send one piece takes less than to have two gathered.
            answer.extend_from_slice(&body);
            let sent = match stream.try_write(answer) {
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => return Err(CloseReason::Io(error)),
            };
            Ok(answer[sent..].to_vec())
        })?;
        stream.write_all(&left).await?;
    } else {
        let mut answer = Vec::with_capacity(HEAD_BYTES);
        put_head(head, body.len(), &mut answer)?;
        stream.write_all_buf(&mut answer.as_slice().chain(body)).await?;
    }
    Ok(())
}

/// What stands before the body of an answer: the length of the frame, and its header.
fn put_head(head: RequestHead, body_bytes: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    m::ResponseHeader {
        correlation_id: head.correlation_id,
        ..Default::default()
    }
    .encode(head.api.response_header_version(head.version), out)?;
    let length = out.len() - LENGTH_BYTES + body_bytes;
    let length = i32::try_from(length).map_err(|_| EncodeError::TooLong { length })?;
    out[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

thread_local! {
    /// Where an answer is put together. It is sent at once as a rule, so that one place serves all connections.
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Answers up to this size are copied behind their head.
const COPIED_BYTES_MAX: usize = 4 * 1024;
const LENGTH_BYTES: usize = 4;
/// Enough for the length and the header of an answer.
const HEAD_BYTES: usize = 16;
