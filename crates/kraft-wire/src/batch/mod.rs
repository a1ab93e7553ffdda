//! Record batches of format version 2: the form in which records stand in the log, in snapshots and in answers.

mod builder;
mod crc;
mod error;
mod header;
mod record;
mod view;

pub use builder::{BatchBuilder, restamp};
pub use crc::{crc32c, crc32c_append};
pub use error::BatchError;
pub use header::{
    BATCH_SIZE_MAX, BatchHeader, CRC_START, Compression, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC, MAGIC_END,
    Split, split_file, split_memory,
};
pub use record::{Record, RecordHeader, Records};
pub use view::{BatchView, Batches};
