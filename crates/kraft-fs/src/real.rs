//! The operating system's files.

#[cfg(target_os = "linux")]
use crate::write_back::WriteBack;
use crate::{
    file_system::{DirEntry, File, FileSystem, Metadata, Open},
    lock::{DirLock, LOCK_FILE, LockError, Registered},
};
#[cfg(target_os = "linux")]
use rustix::fs::{Advice, fadvise};
use rustix::fs::{FlockOperation, fcntl_lock, statvfs};
use std::{
    fs::{self, OpenOptions, Permissions},
    io,
    os::unix::fs::{FileExt, PermissionsExt},
    path::Path,
    sync::Arc,
};
#[cfg(target_os = "linux")]
use std::{num::NonZeroU64, sync::OnceLock};

/// The operating system's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealFs;

/// An open file of the operating system.
#[derive(Debug)]
pub struct RealFile {
    file: Arc<fs::File>,
    /// Made by the first call that needs it; `None` inside if there can be no thread.
    #[cfg(target_os = "linux")]
    write_back: OnceLock<Option<WriteBack>>,
}

impl File for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    #[cfg(target_os = "linux")]
    fn start_writing_back(&self, offset: u64, len: u64) {
        let file = || Arc::clone(&self.file);
        let write_back = self.write_back.get_or_init(|| WriteBack::spawn(file()).ok());
        if let Some(write_back) = write_back {
            write_back.start(offset, len);
        }
    }

    #[cfg(target_os = "linux")]
    fn leave_cache(&self, offset: u64, len: u64) {
        if let Some(len) = NonZeroU64::new(len) {
            // What stays in memory does no harm.
            let _ = fadvise(&*self.file, offset, Some(len), Advice::DontNeed);
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.file.set_permissions(Permissions::from_mode(mode))
    }
}

impl FileSystem for RealFs {
    type File = RealFile;

    fn open(&self, path: &Path, how: Open) -> io::Result<RealFile> {
        let mut options = OpenOptions::new();
        options.read(true);
        match how {
            Open::Read => {}
            Open::ReadWrite => {
                options.write(true);
            }
            Open::Create => {
                options.write(true).create(true);
            }
            Open::CreateNew => {
                options.write(true).create_new(true);
            }
        }
        Ok(RealFile {
            file: Arc::new(options.open(path)?),
            #[cfg(target_os = "linux")]
            write_back: OnceLock::new(),
        })
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // A link counts as what it points at. A name that is gone by now is no entry, but a link that leads nowhere is
            // not absent: what it led to may be on a disk that is not there.
            let found = self.metadata(&entry.path());
            let leads_nowhere = !matches!(found, Ok(Some(_))) && is_link(&entry.path());
            let metadata = if leads_nowhere {
                Some(Metadata {
                    is_dir: false,
                    len: 0,
                })
            } else {
                found?
            };
            entries.extend(metadata.map(|metadata| DirEntry {
                name,
                metadata,
                leads_nowhere,
            }));
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn metadata(&self, path: &Path) -> io::Result<Option<Metadata>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(Metadata {
                is_dir: metadata.is_dir(),
                len: if metadata.is_dir() { 0 } else { metadata.len() },
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        fs::File::open(dir)?.sync_all()
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        let disk = statvfs(dir)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    fn lock_dir(&self, dir: &Path) -> Result<DirLock, LockError> {
        let path = dir.join(LOCK_FILE);
        let io_error = |source| LockError::Io {
            path: path.clone(),
            source,
        };
        let canonical = fs::canonicalize(dir).map_err(io_error)?;
        let registered =
            Registered::claim(&canonical).ok_or_else(|| LockError::HeldHere { path: path.clone() })?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io_error)?;
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(DirLock::new((file, registered))),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => {
                Err(LockError::HeldByOther { path: path.clone() })
            }
            Err(errno) => Err(io_error(errno.into())),
        }
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}
