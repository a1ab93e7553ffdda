//! The file system that kraft's storage is written against: real, in memory, crashing, faulty.
//!
//! Storage code takes an `F: FileSystem` and never names `std::fs`. Production gives it [`RealFs`]; tests and the
//! simulator give it [`MemFs`], which knows what was synced and so can say what a crash leaves
//! ([`MemFs::crash_image`]); [`FaultyFs`] wraps either of them and lets a chosen call fail.
//!
//! # Contract, in call order
//!
//! 1. [`FileSystem::lock_dir`] before anything in a directory is read for use: one owner per directory, against
//!    other processes (a POSIX record lock, the family that the JVM's `FileChannel.tryLock` takes) and within
//!    this one.
//! 2. [`FileSystem::open`] gives a [`File`]; all reads and writes are positioned, so a handle can be shared.
//! 3. Written bytes are durable after [`File::sync_data`]; a new, renamed or removed name is durable after
//!    [`FileSystem::sync_dir`] of its directory. Nothing else is promised, and [`MemFs`] promises nothing else.
//! 4. Small files are replaced as a whole by [`replace_file`].
//!
//! An error of a sync is final: whoever sees one stops writing; a second sync that succeeds proves nothing.
//!
//! The crate does not know what a file means: no format, no name but `.lock` is its business.
//!
//! ```
//! use kraft_fs::{File, FileSystem, MemFs, Open, Unsynced, replace_file};
//! use std::path::Path;
//!
//! let fs = MemFs::new();
//! let dir = Path::new("/data");
//! fs.create_dir_all(dir)?;
//! fs.sync_dir(Path::new("/"))?;
//! replace_file(&fs, dir, "quorum-state", b"{}")?;
//! let log = fs.open(&dir.join("0.log"), Open::CreateNew)?;
//! log.write_all_at(b"never synced", 0)?;
//!
//! let after_crash = fs.crash_image(Unsynced::Lost);
//! assert_eq!(after_crash.read_bounded(&dir.join("quorum-state"), 100)?, Some(b"{}".to_vec()));
//! assert_eq!(after_crash.metadata(&dir.join("0.log"))?, None);
//! # Ok::<(), std::io::Error>(())
//! ```

mod faulty;
mod file_system;
mod lock;
mod mem;
mod real;
mod replace;
#[cfg(target_os = "linux")]
mod write_back;

pub use faulty::{Fault, FaultyFile, FaultyFs};
pub use file_system::{DirEntry, File, FileSystem, Metadata, Open};
pub use lock::{DirLock, LockError};
pub use mem::{MemFile, MemFs, Unsynced};
pub use real::{RealFile, RealFs};
pub use replace::replace_file;
