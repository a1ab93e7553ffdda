//! Random numbers of the operating system.

use std::fs::File;
use std::io::{self, Read};

use kraft_wire::uuid_text;
use uuid::Uuid;

/// A new random id. Like Kafka's, it is none of the reserved ones and its text has no `-`, which a shell or an
/// option parser could take for something else.
pub(crate) fn uuid() -> io::Result<Uuid> {
    loop {
        let id = uuid::Builder::from_random_bytes(bytes()?).into_uuid();
        if !uuid_text::is_reserved(&id) && !uuid_text::format(&id).contains('-') {
            return Ok(id);
        }
    }
}

/// Several of them.
pub(crate) fn uuids(count: usize) -> io::Result<Vec<Uuid>> {
    (0..count).map(|_| uuid()).collect()
}

/// Plain random bytes.
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
