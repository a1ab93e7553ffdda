//! Ports that nobody else is given.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt};

/// A port of 127.0.0.1 for a process that listens there now and then. The socket is bound and never listens: whoever asks for
/// any port gets another one, and whoever names this one, as Kafka's controllers and ours do, can listen there.
pub(crate) struct HeldPort {
    number: u16,
    _socket: OwnedFd,
}

impl HeldPort {
    pub(crate) fn find() -> io::Result<HeldPort> {
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &SocketAddrV4::new([127, 0, 0, 1].into(), 0))?;
        let address = SocketAddr::try_from(getsockname(&socket)?)?;
        Ok(HeldPort {
            number: address.port(),
            _socket: socket,
        })
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::HeldPort;

    #[test]
    fn whoever_names_a_held_port_can_listen_there() {
        let held = HeldPort::find().expect("a port");
        let address = ("127.0.0.1", held.number());
        assert!(TcpStream::connect(address).is_err(), "nobody listens");
        let listener = TcpListener::bind(address).expect("it is there for whoever names it");
        TcpStream::connect(address).expect("somebody listens");
        drop(listener);
    }
}
