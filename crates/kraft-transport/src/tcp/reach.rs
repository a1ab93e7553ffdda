//! Connecting to whichever address of a host answers.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    time::Duration,
};
use tokio::{
    net::TcpStream,
    task::{JoinHandle, spawn_blocking},
    time::{Instant, timeout},
};

/// The question for the addresses of one host. Whoever gives up waiting for its answer leaves it to the next attempt.
///
/// A name server that hangs holds a thread for longer than an attempt takes. With a thread for each attempt there would soon be
/// none left for the names of others.
#[derive(Debug, Default)]
pub(super) struct Lookup(Option<JoinHandle<io::Result<Vec<SocketAddr>>>>);

impl Lookup {
    async fn addresses(&mut self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let host = host.to_owned();
        self.answer(move || Ok((host, port).to_socket_addrs()?.take(ADDRESSES_MAX).collect()))
            .await
    }

    async fn answer(
        &mut self,
        ask: impl FnOnce() -> io::Result<Vec<SocketAddr>> + Send + 'static,
    ) -> io::Result<Vec<SocketAddr>> {
        let asked = self.0.get_or_insert_with(|| spawn_blocking(ask));
        let answer = asked.await;
        self.0 = None;
        answer.map_err(io::Error::other)?
    }
}

/// Connects to the first address of a host that takes the connection.
///
/// Each but the last gets its share of the time that is left, so that one from which nothing comes leaves some to the others. A
/// JVM takes the next address with its next attempt.
pub(super) async fn connect(
    lookup: &mut Lookup,
    host: &str,
    port: u16,
    within: Duration,
) -> io::Result<TcpStream> {
    let begun = Instant::now();
    let addresses = lookup.addresses(host, port).await?;
    let left = within.saturating_sub(begun.elapsed());
    first_of(&addresses, left, TcpStream::connect).await
}

async fn first_of<T, F>(
    addresses: &[SocketAddr],
    within: Duration,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    let begun = Instant::now();
    let Some((last, others)) = addresses.split_last() else {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the host name has no address",
        ));
    };
    for (place, address) in (0_u32..).zip(others) {
        let left = within.saturating_sub(begun.elapsed());
        let behind = u32::try_from(addresses.len()).expect("there are few addresses") - place;
        if let Ok(Ok(connected)) = timeout(left / behind, connect(*address)).await {
            return Ok(connected);
        }
    }
    // Whoever asked says when that is over.
    connect(*last).await
}

/// More are not tried: each of them would have no time.
const ADDRESSES_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::RefCell, future::pending, sync::mpsc};

    #[test]
    fn an_attempt_waits_for_the_answer_that_an_earlier_one_has_given_up_on() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let (answer, hangs) = mpsc::channel();
        runtime.expect("a runtime").block_on(async {
            let mut lookup = Lookup::default();
            let ask = move || Ok(hangs.recv().expect("it is answered in the end"));
            let given_up = timeout(Duration::ZERO, lookup.answer(ask)).await;
            assert!(given_up.is_err());
            let again = || panic!("the name server is asked already");
            assert!(timeout(Duration::ZERO, lookup.answer(again)).await.is_err());
            let found = vec![SocketAddr::from(([192, 0, 2, 1], 1))];
            answer.send(found.clone()).expect("somebody waits");
            assert_eq!(lookup.answer(again).await.expect("an answer"), found);
            let anew = || Err(io::ErrorKind::NotFound.into());
            let anew = lookup.answer(anew).await;
            assert_eq!(anew.expect_err("asked anew").kind(), io::ErrorKind::NotFound);
        });
    }

    #[test]
    fn an_address_that_is_silent_or_refuses_leaves_the_next_one_its_turn() {
        let address = |port: u16| SocketAddr::from(([192, 0, 2, 1], port));
        let (silent, refuses, takes) = (1, 2, 3);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let runtime = runtime.expect("a runtime");
        let cases: &[(&[u16], Result<u16, io::ErrorKind>)] = &[
            (&[takes, silent], Ok(takes)),
            (&[silent, takes], Ok(takes)),
            (&[refuses, silent, refuses, takes], Ok(takes)),
            (&[silent, refuses], Err(io::ErrorKind::ConnectionRefused)),
            (&[], Err(io::ErrorKind::NotFound)),
        ];
        for (ports, expected) in cases {
            let addresses: Vec<_> = ports.iter().copied().map(address).collect();
            let tried = RefCell::new(Vec::new());
            let connect = async |to: SocketAddr| {
                tried.borrow_mut().push(to.port());
                match to.port() {
                    1 => pending().await,
                    2 => Err(io::ErrorKind::ConnectionRefused.into()),
                    port => Ok(port),
                }
            };
            // The share of no time is none.
            let found = runtime.block_on(first_of(&addresses, Duration::ZERO, connect));
            assert_eq!(found.map_err(|error| error.kind()), *expected, "{ports:?}");
            let until = ports.iter().position(|port| *port == takes);
            let until = until.map_or(ports.len(), |place| place + 1);
            assert_eq!(tried.into_inner(), ports[..until], "{ports:?}");
        }
    }
}
