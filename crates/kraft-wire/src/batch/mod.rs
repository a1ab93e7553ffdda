//! Record batches of format version 2: the form in which records stand in the log, in snapshots and in answers.
//!
//! ```
//! use kraft_wire::batch::{BatchBuilder, Batches};
//!
//! let mut builder = BatchBuilder::data(1_795_963_390_718);
//! builder.push(b"first")?;
//! builder.push(b"second")?;
//! // Offset and epoch are known last.
//! let bytes = builder.build(145, 8);
//!
//! let batches = Batches::collect_all(bytes)?;
//! batches[0].validate()?;
//! assert_eq!((batches[0].base_offset(), batches[0].last_offset()), (145, 146));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod crc;
mod error;
mod header;
mod plain;
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
pub use view::{BatchView, Batches, Values};
