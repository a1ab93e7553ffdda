//! Connecting to whichever address of a host answers.

use std::{io, net::SocketAddr, time::Duration};
use tokio::{
    net::{TcpStream, lookup_host},
    time::{Instant, timeout},
};

/// Connects to the first address of a host that takes the connection.
///
/// Each but the last gets its share of the time that is left, so that one from which nothing comes leaves some to the others. A
/// JVM takes the next address with its next attempt.
pub(super) async fn connect(host: &str, port: u16, within: Duration) -> io::Result<TcpStream> {
    let begun = Instant::now();
    let addresses: Vec<_> = lookup_host((host, port)).await?.take(ADDRESSES_MAX).collect();
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
    use std::{cell::RefCell, future::pending};

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
