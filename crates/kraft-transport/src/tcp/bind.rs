//! The socket of a listener.

use rustix::net::sockopt::set_ipv6_v6only;
use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};
use tokio::net::{TcpListener, TcpSocket};

/// Listens at a host, or, where it is empty or a wildcard, on all interfaces.
///
/// As in a JVM either wildcard means those of both protocols: whoever finds a node by a name of which only the IPv6 address can
/// be reached has to find it when it has become one of ours.
pub(super) async fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    if !is_wildcard(host) {
        return TcpListener::bind((host, port)).await;
    }
    match for_both_protocols(port) {
        Err(error) if is_without_ipv6(&error) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await,
        listening => listening,
    }
}

fn is_wildcard(host: &str) -> bool {
    host.is_empty() || host.parse().is_ok_and(|address: IpAddr| address.is_unspecified())
}

fn for_both_protocols(port: u16) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v6()?;
    // What the system has as its default is not what a JVM leaves it at.
    set_ipv6_v6only(&socket, false)?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))?;
    socket.listen(BACKLOG)
}

/// Whether the system has no IPv6, or none that is switched on.
fn is_without_ipv6(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    matches!(
        code,
        Some(rustix::io::Errno::AFNOSUPPORT | rustix::io::Errno::ADDRNOTAVAIL)
    )
}

/// As tokio has it where it binds by itself.
const BACKLOG: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn a_wildcard_is_that_of_both_protocols_and_an_address_is_itself() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let runtime = runtime.expect("a runtime");
        let has_ipv6 = std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
        // Whether it is reached by IPv4 and by IPv6.
        let cases = [
            ("", true, has_ipv6),
            ("0.0.0.0", true, has_ipv6),
            ("::", true, has_ipv6),
            ("0:0:0:0:0:0:0:0", true, has_ipv6),
            ("127.0.0.1", true, false),
        ];
        for (host, by_ipv4, by_ipv6) in cases {
            let listener = runtime.block_on(listen(host, 0)).expect("a free port");
            let port = listener.local_addr().expect("bound").port();
            let reached = |address: IpAddr| TcpStream::connect((address, port)).is_ok();
            assert_eq!(reached(Ipv4Addr::LOCALHOST.into()), by_ipv4, "{host:?}");
            assert_eq!(reached(Ipv6Addr::LOCALHOST.into()), by_ipv6, "{host:?}");
        }
        if !has_ipv6 {
            println!("NOT RUN with IPv6, which this machine has not");
        }
    }
}
