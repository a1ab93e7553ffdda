//! Connections that take their time: what comes in at one end leaves at the other after a while, in each direction, however
//! much it is. Kernels without netem can be measured so, too.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::interop::Failure;

/// Forwards every connection to `to`, for as long as this process runs. Gives the port to connect to.
pub(super) fn forward(to: SocketAddr, delay: Duration) -> Result<u16, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for accepted in listener.incoming().flatten() {
            // Whoever is refused sees its connection end.
            let Ok(onward) = TcpStream::connect(to) else {
                continue;
            };
            let ends = [(&accepted, &onward), (&onward, &accepted)];
            for (from, to) in ends {
                if let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) {
                    carry(from, to, delay);
                }
            }
        }
    });
    Ok(port)
}

/// One direction.
fn carry(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    // Fails on a connection that has ended already.
    to.set_nodelay(true).ok();
    let (under_way, arrivals) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = vec![0; PIECE_BYTES];
        // The end of the connection takes as long as its bytes.
        while let Ok(read) = from.read(&mut buffer) {
            let due = Instant::now() + delay;
            if under_way.send((due, buffer[..read].to_vec())).is_err() || read == 0 {
                return;
            }
        }
    });
    thread::spawn(move || {
        for (due, bytes) in arrivals {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if bytes.is_empty() || to.write_all(&bytes).is_err() {
                break;
            }
        }
        to.shutdown(Shutdown::Both).ok();
    });
}

const PIECE_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_arrive_as_they_were_and_late() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let delay = Duration::from_millis(20);
        let port = forward(server.local_addr().unwrap(), delay).unwrap();
        let sent: Vec<u8> = (0..1_000_000_u32).map(|at| at as u8).collect();
        let echo = thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            let mut got = vec![0; 1_000_000];
            stream.read_exact(&mut got).unwrap();
            stream.write_all(&got).unwrap();
        });
        let began = Instant::now();
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        client.write_all(&sent).unwrap();
        let mut got = Vec::new();
        client.read_to_end(&mut got).unwrap();
        echo.join().unwrap();
        assert!(got == sent, "other bytes, or fewer");
        assert!(began.elapsed() >= 2 * delay, "after {:?}", began.elapsed());
    }
}
