//! `/metrics` for Prometheus, `/ready` and `/live` for whoever starts and stops processes: HTTP/1.1, GET only, one request
//! for each connection. Everything is bounded: connections, the bytes of a request, and the time of each.

mod http;
mod text;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Answer, Request, Status};
use kraft_metadata::MetadataMachine;
use kraft_transport::node::Handle;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

/// The node, once its log is open.
pub(super) type Node = watch::Receiver<Option<Handle<MetadataMachine>>>;

/// Where it is listened.
pub(super) struct Monitor(TcpListener);

impl Monitor {
    pub(super) async fn bind(address: &str) -> io::Result<Self> {
        TcpListener::bind(address).await.map(Self)
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Answers until the process ends.
    pub(super) async fn serve(self, node: Node) {
        let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let Ok((stream, _)) = self.0.accept().await else {
                // Out of file descriptors, most likely: others have to close first.
                tokio::time::sleep(ACCEPT_BACKOFF).await;
                continue;
            };
            // One connection too many is closed by being dropped.
            if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
                let node = node.clone();
                tokio::spawn(async move {
                    // Whoever is too slow, or has gone, gets no answer.
                    let _ = timeout(PATIENCE, exchange(stream, &node)).await;
                    drop(permit);
                });
            }
        }
    }
}

async fn exchange(mut stream: TcpStream, node: &Node) -> io::Result<()> {
    let mut head = Vec::new();
    let answer = loop {
        match http::parse(&head) {
            Ok(Some(request)) => break answer(request, node).await,
            Err(status) => break Answer::short(status),
            Ok(None) => {}
        }
        let mut some = [0; 1024];
        let length = stream.read(&mut some).await?;
        if length == 0 {
            return Ok(());
        }
        head.extend_from_slice(&some[..length]);
    };
    stream.write_all(&answer.to_bytes()).await?;
    stream.shutdown().await
}

async fn answer(request: Request, node: &Node) -> Answer {
    let handle = node.borrow().clone();
    match (request, handle) {
        (Request::Live, None) => Answer::text(Status::Ok, "live: the log is being opened"),
        (Request::Ready, None) => Answer::text(Status::Unavailable, "not ready: the log is being opened"),
        (Request::Metrics, None) => Answer::text(Status::Unavailable, "the log is being opened"),
        (Request::Ready, Some(handle)) => {
            let health = handle.health();
            let status = if health.is_ready() {
                Status::Ok
            } else {
                Status::Unavailable
            };
            Answer::text(status, &health.to_string())
        }
        // A process that is there while its engine is not would look alive for ever.
        (Request::Live, Some(handle)) => match timeout(ENGINE_PATIENCE, handle.status()).await {
            Ok(Ok(_)) => Answer::text(Status::Ok, "live"),
            Ok(Err(error)) => Answer::text(Status::Unavailable, &format!("not live: {error}")),
            Err(_) => Answer::text(Status::Unavailable, "not live: the engine does not answer"),
        },
        (Request::Metrics, Some(handle)) => match timeout(ENGINE_PATIENCE, handle.metrics()).await {
            Ok(Ok(metrics)) => Answer::metrics(text::render(&metrics.list())),
            Ok(Err(error)) => Answer::text(Status::Unavailable, &error.to_string()),
            Err(_) => Answer::text(Status::Unavailable, "the engine does not answer"),
        },
    }
}

/// More than one scraper and the probes of one process need.
const CONNECTIONS_MAX: usize = 16;

/// For a whole exchange.
const PATIENCE: Duration = Duration::from_secs(5);

/// An engine never waits, so that is very long for it.
const ENGINE_PATIENCE: Duration = Duration::from_secs(2);

const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);
