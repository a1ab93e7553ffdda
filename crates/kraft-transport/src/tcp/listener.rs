//! The controller listener: connections in, commands to the engine, answers in order.

use super::{
    frame::{Budget, FrameError, FrameReader},
    log_limit::{Line, LogLimit},
    per_address::{AddressLimits, Addresses},
};
use crate::{
    command::Command,
    dispatch::{Dispatcher, RequestRefused},
};
use bytes::{Buf, Bytes};
use kraft_core::StateMachine;
use kraft_wire::{
    ApiKey, EncodeError, Message,
    frame::decode_request_header,
    message::{self as m, RequestHeader},
};
use std::{
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};
use thiserror::Error;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    time::{Instant, Sleep, sleep},
};
use tracing::{debug, warn};

/// What a listener gives its connections at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerLimits {
    /// The largest frame: Kafka's `socket.request.max.bytes`.
    pub request_bytes_max: usize,
    /// What the large frames of all connections together may take.
    pub request_bytes_total: usize,
    /// Connections at the same time.
    pub connections_max: usize,
    /// Connections of one address at the same time.
    pub per_address: AddressLimits,
    /// A connection without a byte for so long is closed: Kafka's `connections.max.idle.ms`.
    pub idle: Duration,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        Self {
            request_bytes_max: 100 * 1024 * 1024,
            request_bytes_total: 128 * 1024 * 1024,
            connections_max: 4096,
            per_address: AddressLimits::default(),
            idle: Duration::from_secs(600),
        }
    }
}

/// A bound listener.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    name: Arc<str>,
    limits: ListenerLimits,
}

impl Listener {
    /// Binds `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// Those of the operating system.
    pub async fn bind(name: &str, address: (&str, u16), limits: ListenerLimits) -> io::Result<Self> {
        let host = if address.0.is_empty() {
            "0.0.0.0"
        } else {
            address.0
        };
        Ok(Self {
            socket: TcpListener::bind((host, address.1)).await?,
            name: name.into(),
            limits,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Accepts connections until `stop` says so or its sender is gone. `addresses` has those of all listeners.
    pub(crate) async fn run<S>(
        self,
        requests: Arc<Dispatcher<S>>,
        addresses: Arc<Addresses>,
        mut stop: watch::Receiver<bool>,
    ) where
        S: StateMachine + 'static,
        Command<S>: Send,
    {
        let permits = Arc::new(Semaphore::new(self.limits.connections_max));
        let shared = Arc::new(Shared {
            name: self.name,
            requests,
            budget: Budget::new(self.limits.request_bytes_total),
            limits: self.limits,
            log_limit: LogLimit::new(Instant::now()),
        });
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => return,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: others have to close first.
                    if shared.may_warn() {
                        warn!(%error, "a connection could not be accepted");
                    }
                    tokio::time::sleep(ACCEPT_BACKOFF).await;
                    continue;
                }
            };
            let counted = match addresses.enter(peer.ip(), &shared.limits.per_address) {
                Ok(counted) => counted,
                Err(max) => {
                    if shared.may_warn() {
                        warn!(%peer, max, "connection refused: its address has as many as it may have");
                    }
                    continue;
                }
            };
            let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
                if shared.may_warn() {
                    warn!(%peer, "connection refused: as many as there may be are open");
                }
                continue;
            };
            let (shared, mut stop) = (Arc::clone(&shared), stop.clone());
            tokio::spawn(async move {
                tokio::select! {
                    ended = serve(&shared, stream) => match ended {
                        Ok(()) => debug!(%peer, "connection ended"),
                        Err(error @ (CloseReason::Io(_) | CloseReason::Idle)) => {
                            debug!(%peer, %error, "connection ended");
                        }
                        Err(CloseReason::Refused(RequestRefused::Stopped)) => {}
                        Err(error) if shared.may_warn() => warn!(%peer, %error, "connection closed"),
                        Err(error) => debug!(%peer, %error, "connection closed"),
                    },
                    _ = stop.wait_for(|stop| *stop) => {}
                }
                drop((permit, counted));
            });
        }
    }
}

/// What the connections of a listener have in common.
struct Shared<S: StateMachine> {
    name: Arc<str>,
    requests: Arc<Dispatcher<S>>,
    budget: Budget,
    limits: ListenerLimits,
    log_limit: LogLimit,
}

impl<S: StateMachine> Shared<S> {
    /// Whether a line that a peer has caused goes into the log.
    fn may_warn(&self) -> bool {
        match self.log_limit.line(Instant::now()) {
            Line::Write { left_out } => {
                if left_out > 0 {
                    warn!(
                        left_out,
                        "more connections were refused or closed than are listed here"
                    );
                }
                true
            }
            Line::LeaveOut => false,
        }
    }
}

/// Why a connection is closed.
#[derive(Debug, Error)]
enum CloseReason {
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
    #[error("nothing was sent for too long")]
    Idle,
}

/// Serves one connection. The next request is read when the answer to the last one has been written.
async fn serve<S>(shared: &Shared<S>, mut stream: TcpStream) -> Result<(), CloseReason>
where
    S: StateMachine,
{
    stream.set_nodelay(true)?;
    let mut frames = FrameReader::default();
    let mut idle = IdleTimer::new(shared.limits.idle);
    loop {
        let reading = frames.read(&mut stream, shared.limits.request_bytes_max, Some(&shared.budget));
        let frame = match idle.limit(reading).await? {
            Ok(None) => return Ok(()),
            Ok(Some(frame)) => frame,
            Err(FrameError::Io(error)) => return Err(CloseReason::Io(error)),
            Err(error) => return Err(CloseReason::Frame(error)),
        };
        let (api, header, reader) =
            decode_request_header(frame.bytes.clone()).map_err(CloseReason::Header)?;
        let Some(body) = answer(shared, &stream, api, &header, reader.rest()).await? else {
            return Ok(());
        };
        drop(frame);
        let writing = write_answer(&mut stream, api, &header, body);
        idle.limit(writing).await??;
    }
}

/// Ends what takes too long. One timer serves all of a connection's life: to set one for each request costs more than to
/// look, when it rings, whether that was meant.
struct IdleTimer {
    limit: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl IdleTimer {
    fn new(limit: Duration) -> Self {
        Self {
            limit,
            sleep: Box::pin(sleep(limit)),
        }
    }

    async fn limit<T>(&mut self, work: impl Future<Output = T>) -> Result<T, CloseReason> {
        let due = Instant::now() + self.limit;
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = &mut self.sleep => {
                    if Instant::now() >= due {
                        return Err(CloseReason::Idle);
                    }
                    self.sleep.as_mut().reset(due);
                }
            }
        }
    }
}

/// The body of the answer; `None` when the caller has gone.
async fn answer<S: StateMachine>(
    shared: &Shared<S>,
    stream: &TcpStream,
    api: ApiKey,
    header: &RequestHeader,
    body: Bytes,
) -> Result<Option<Bytes>, CloseReason> {
    let asking = shared
        .requests
        .ask(&shared.name, api.key(), header.request_api_version, body);
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

async fn write_answer(
    stream: &mut TcpStream,
    api: ApiKey,
    header: &RequestHeader,
    body: Bytes,
) -> Result<(), CloseReason> {
    let whole = body.len() <= COPIED_BYTES_MAX;
    let mut head = Vec::with_capacity(HEAD_BYTES + if whole { body.len() } else { 0 });
    head.extend_from_slice(&[0; LENGTH_BYTES]);
    m::ResponseHeader {
        correlation_id: header.correlation_id,
        ..Default::default()
    }
    .encode(api.response_header_version(header.request_api_version), &mut head)?;
    let length = head.len() - LENGTH_BYTES + body.len();
    let length = i32::try_from(length).map_err(|_| EncodeError::TooLong { length })?;
    head[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    if whole {
        // To send one piece takes less than to have two gathered.
        head.extend_from_slice(&body);
        stream.write_all(&head).await?;
    } else {
        stream.write_all_buf(&mut head.as_slice().chain(body)).await?;
    }
    Ok(())
}

/// Answers up to this size are copied behind their head.
const COPIED_BYTES_MAX: usize = 4 * 1024;
const LENGTH_BYTES: usize = 4;
/// Enough for the length and the header of an answer.
const HEAD_BYTES: usize = 16;

/// Waits so long when no connection can be accepted.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);
