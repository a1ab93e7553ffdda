//! Three voters, whosever they are.

use crate::Error;

/// Three voters in one process, one of which leads.
pub trait Quorum: Sized + Send + Sync + 'static {
    /// What a client writes by.
    type Client: Client;

    /// Starts them and waits until one of them leads.
    fn start() -> impl Future<Output = Result<Self, Error>> + Send;

    /// For as many clients as there are.
    fn client(&self) -> Self::Client;

    /// Ends them, once all of them have applied so many records.
    ///
    /// # Errors
    /// One of them never does.
    fn stop(self, acknowledged: u64) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Somebody who writes records, one after the other.
pub trait Client: Send + 'static {
    /// Writes one record, and waits until it is committed and the leader has applied it.
    fn write(&self, record: Vec<u8>) -> impl Future<Output = Result<(), Error>> + Send;
}

/// The size of a record.
pub const RECORD_BYTES: usize = 256;
