//! Ports that nobody else is given.

use tokio::net::TcpSocket;

/// A port of 127.0.0.1 for a node that listens there now and then. The socket is bound and never listens: whoever asks for
/// any port gets another one, and whoever names this one can listen there.
pub(crate) struct HeldPort(TcpSocket);

impl HeldPort {
    pub(crate) fn find() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_reuseaddr(true).expect("as listeners do");
        let any = "127.0.0.1:0".parse().expect("an address");
        socket.bind(any).expect("a free port");
        Self(socket)
    }

    pub(crate) fn number(&self) -> u16 {
        self.0.local_addr().expect("it is bound").port()
    }
}
