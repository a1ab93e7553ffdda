//! The trait and its small types.

use crate::lock::{DirLock, LockError};
use std::{io, path::Path};

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// Existing, for reading only.
    Read,
    /// Existing, for reading and writing.
    ReadWrite,
    /// For reading and writing, created empty where it does not exist.
    Create,
    /// For reading and writing; it is an error if it exists.
    CreateNew,
}

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// Whether it is a directory.
    pub is_dir: bool,
    /// The size in bytes; 0 for a directory.
    pub len: u64,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without the directory. Bytes that are no UTF-8 are replaced, so such a name matches nothing.
    pub name: String,
    /// What it names; an empty file for a link that leads nowhere.
    pub metadata: Metadata,
    /// Whether it is a link whose end is not there or cannot be reached.
    pub leads_nowhere: bool,
}

/// An open file. All access is positioned, so a handle may be shared between threads.
pub trait File: std::fmt::Debug + Send + Sync + 'static {
    /// Reads some bytes at `offset`; 0 at the end of the file.
    ///
    /// # Errors
    /// Those of the operating system.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `bytes` at `offset`; a gap before it reads as zeros.
    ///
    /// # Errors
    /// Those of the operating system. Some of the bytes may have been written then.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// The size in bytes.
    ///
    /// # Errors
    /// Those of the operating system.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file has no bytes.
    ///
    /// # Errors
    /// Those of [`len`](Self::len).
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file, or extends it with zeros.
    ///
    /// # Errors
    /// Those of the operating system.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Has the disk begin with a part of what was written, so that a later sync finds less to do. A hint: it promises
    /// nothing, and a write that fails because of it is reported by that sync.
    fn start_writing_back(&self, _offset: u64, _len: u64) {}

    /// Lets go of the memory in which the operating system keeps a part that is on the disk. A hint: it promises nothing
    /// and changes no byte.
    fn leave_cache(&self, _offset: u64, _len: u64) {}

    /// Makes contents and size durable.
    ///
    /// # Errors
    /// Those of the operating system. They are final: the state of the file is then unknown.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes contents, size and attributes durable.
    ///
    /// # Errors
    /// As for [`sync_data`](Self::sync_data).
    fn sync_all(&self) -> io::Result<()>;

    /// Sets the permission bits.
    ///
    /// # Errors
    /// Those of the operating system.
    fn set_mode(&self, mode: u32) -> io::Result<()>;

    /// Gives the range blocks that hold written zeros, so that later writes into it change no allocation: that is
    /// what makes their sync cheap. Reserving blocks without writing them would not.
    ///
    /// # Errors
    /// Those of the operating system.
    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];
        let mut done = 0;
        while done < len {
            let piece = (len - done).min(ZEROS.len() as u64) as usize;
            self.write_all_at(&ZEROS[..piece], offset + done)?;
            done += piece as u64;
        }
        Ok(())
    }

    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before, else those of the operating system.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buf.len() {
            match self.read_at(&mut buf[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A file system. Cloning it gives another handle on the same one.
pub trait FileSystem: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// Its open files.
    type File: File;

    /// Whether a call may wait for a device. Whoever may not be held up leaves the calls to a thread of its own then.
    fn waits(&self) -> bool {
        true
    }

    /// Opens a file.
    ///
    /// # Errors
    /// Those of the operating system.
    fn open(&self, path: &Path, how: Open) -> io::Result<Self::File>;

    /// Creates a directory and those above it, where they do not exist.
    ///
    /// # Errors
    /// Those of the operating system.
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;

    /// The names in a directory, sorted.
    ///
    /// # Errors
    /// Those of the operating system, also if there is no such directory.
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>>;

    /// What `path` names; `None` if nothing, and only then.
    ///
    /// # Errors
    /// Those of the operating system.
    fn metadata(&self, path: &Path) -> io::Result<Option<Metadata>>;

    /// Renames a file within its directory, replacing what has the new name.
    ///
    /// # Errors
    /// Those of the operating system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Those of the operating system.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// Those of the operating system.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// How many bytes can still be written to the disk of a directory, by whoever has no special rights. A quota or a limit
    /// on files may allow less.
    ///
    /// # Errors
    /// Those of the operating system.
    fn free_bytes(&self, dir: &Path) -> io::Result<u64>;

    /// Takes the lock of a directory, the file `.lock` in it.
    ///
    /// # Errors
    /// [`LockError`].
    fn lock_dir(&self, dir: &Path) -> Result<DirLock, LockError>;

    /// The whole of a small file; `None` if it does not exist, and only then.
    ///
    /// # Errors
    /// `InvalidData` if it is larger than `max`, else those of the operating system.
    fn read_bounded(&self, path: &Path, max: usize) -> io::Result<Option<Vec<u8>>> {
        let file = match self.open(path, Open::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let len = file.len()?;
        if len > max as u64 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the file has {len} bytes, more than {max}"),
            ));
        }
        let mut bytes = vec![0; len as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(Some(bytes))
    }
}
