//! Ports that nobody else is given.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpSocket;

/// A port of 127.0.0.1 for somebody who listens there now and then.
///
/// The socket behind it is bound and never listens. As long as it is there the operating system gives the port to nobody
/// who asks for any port, neither for a listener nor for the near end of a connection. Whoever names it and sets
/// `SO_REUSEADDR`, as servers do, can listen there, and otherwise connections to it are refused.
#[derive(Debug)]
pub struct HeldPort {
    port: u16,
    _socket: TcpSocket,
}

impl HeldPort {
    /// Finds a free port and keeps it from all others until it is dropped.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn find() -> io::Result<HeldPort> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        Ok(HeldPort {
            port: socket.local_addr()?.port(),
            _socket: socket,
        })
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.port
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    use super::HeldPort;

    #[test]
    fn whoever_names_a_held_port_can_listen_there_again_and_again() {
        let held = HeldPort::find().expect("a port");
        let address = ("127.0.0.1", held.number());
        for _ in 0..3 {
            let refused = TcpStream::connect(address).expect_err("nobody listens");
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
            let listener = TcpListener::bind(address).expect("it is there for whoever names it");
            let near = TcpStream::connect(address).expect("somebody listens");
            let (far, _) = listener.accept().expect("it has connected");
            // Its end of the connection is closed first, so that the port stays in use for a while.
            drop((far, listener));
            drop(near);
        }
    }
}
