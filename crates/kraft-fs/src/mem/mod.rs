//! A file system in memory that knows what a crash would leave of it.

mod directory;
mod inode;
mod rng;
#[cfg(test)]
mod tests;

use crate::{
    file_system::{DirEntry, File, FileSystem, Metadata, Open},
    lock::{DirLock, LOCK_FILE, LockError},
};
use directory::{Directory, Node};
use inode::Inode;
use rng::Rng;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What becomes of that which was not synced when the crash came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    /// All of it is lost.
    Lost,
    /// All of it had reached the disk. This is also what a killed process leaves.
    Kept,
    /// Some 512-byte sectors, some size between the durable and the last one, and a first part of each directory's
    /// changes had reached the disk; the seed chooses.
    Torn {
        /// The seed.
        seed: u64,
    },
}

#[derive(Debug, Clone, Default)]
struct State {
    directories: BTreeMap<PathBuf, Directory>,
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    locked: BTreeSet<PathBuf>,
    syncs: u64,
    /// What fits on the disk; `None` if everything does.
    capacity: Option<u64>,
}

/// A file system in memory. Clones share it.
#[derive(Debug, Clone)]
pub struct MemFs(Arc<Mutex<State>>);

/// An open file of a [`MemFs`].
#[derive(Debug)]
pub struct MemFile {
    state: Arc<Mutex<State>>,
    inode: u64,
    writable: bool,
}

impl Default for MemFs {
    fn default() -> Self {
        Self::new()
    }
}

impl MemFs {
    /// An empty file system with a root directory.
    #[must_use]
    pub fn new() -> Self {
        let mut state = State::default();
        for root in ["/", ""] {
            state.directories.insert(root.into(), Directory::default());
        }
        Self(Arc::new(Mutex::new(state)))
    }

    /// The file system as a crash at this moment would leave it, with no lock held. This one stays as it is.
    #[must_use]
    pub fn crash_image(&self, unsynced: Unsynced) -> Self {
        let state = self.state();
        let mut rng = Rng(match unsynced {
            Unsynced::Torn { seed } => seed,
            Unsynced::Lost | Unsynced::Kept => 0,
        });
        let mut image = State {
            next_inode: state.next_inode,
            capacity: state.capacity,
            ..State::default()
        };
        // Parents sort before their children, so a directory whose own name is lost takes all below it along.
        for (path, directory) in &state.directories {
            if !image.names_directory(path) {
                continue;
            }
            let names = match unsynced {
                Unsynced::Lost => directory.durable_names(),
                Unsynced::Kept => directory.names.clone(),
                Unsynced::Torn { .. } => directory.torn_names(&mut rng),
            };
            for node in names.values() {
                if let Node::File(id) = node {
                    let inode = &state.inodes[id];
                    let data = match unsynced {
                        Unsynced::Lost => inode.durable_bytes(),
                        Unsynced::Kept => inode.data.clone(),
                        Unsynced::Torn { .. } => inode.torn_bytes(&mut rng),
                    };
                    image.inodes.insert(*id, Inode::durable(data, inode.mode));
                }
            }
            image.directories.insert(path.clone(), Directory::durable(names));
        }
        Self(Arc::new(Mutex::new(image)))
    }

    /// Gives the disk a size. A write that does not fit on it takes what does and is refused (`StorageFull`); a file takes whole
    /// blocks of 4096 bytes, until it has no name. A size below what is there removes nothing.
    pub fn set_capacity(&self, bytes: u64) {
        self.state().capacity = Some(bytes);
    }

    /// How many syncs, of files and of directories, there were so far.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether the parent of `path` names it as a directory; a root needs no name.
    fn names_directory(&self, path: &Path) -> bool {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => self.directories.get(parent).is_some_and(|directory| {
                directory.names.get(&*name.to_string_lossy()) == Some(&Node::Directory)
            }),
            _ => true,
        }
    }

    fn directory(&mut self, path: &Path) -> io::Result<&mut Directory> {
        self.directories
            .get_mut(path)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The directory that a path is in, and its name there.
    fn place(&mut self, path: &Path) -> io::Result<(&mut Directory, String)> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let name = name.to_string_lossy().into_owned();
        Ok((self.directory(parent)?, name))
    }

    fn file(&mut self, path: &Path) -> io::Result<Option<u64>> {
        let (directory, name) = self.place(path)?;
        match directory.names.get(&name) {
            Some(Node::File(id)) => Ok(Some(*id)),
            Some(Node::Directory) => Err(io::ErrorKind::IsADirectory.into()),
            None => Ok(None),
        }
    }

    /// What is free on the disk.
    fn free(&self) -> u64 {
        let Some(capacity) = self.capacity else {
            return u64::MAX;
        };
        let nodes = self
            .directories
            .values()
            .flat_map(|directory| directory.names.values());
        let used = nodes.map(|node| on_disk(self.metadata_of(*node).len));
        capacity.saturating_sub(used.sum())
    }

    /// How many of the bytes that are to be written at `offset` of a file there is room for.
    fn fitting(&mut self, id: u64, offset: usize, bytes: usize) -> usize {
        let len = self.inode(id).data.len() as u64;
        let end = on_disk(len).saturating_add(self.free());
        bytes.min(usize::try_from(end).unwrap_or(usize::MAX).saturating_sub(offset))
    }

    fn inode(&mut self, id: u64) -> &mut Inode {
        self.inodes
            .get_mut(&id)
            .expect("inodes outlive their names, for open handles")
    }

    fn metadata_of(&self, node: Node) -> Metadata {
        match node {
            Node::File(id) => Metadata {
                is_dir: false,
                len: self.inodes[&id].data.len() as u64,
            },
            Node::Directory => Metadata { is_dir: true, len: 0 },
        }
    }
}

/// What a file of this size takes.
fn on_disk(len: u64) -> u64 {
    len.next_multiple_of(4096)
}

/// Offsets and sizes that memory can hold; others are what a disk would say of a file too large.
fn in_memory(n: u64) -> io::Result<usize> {
    usize::try_from(n)
        .ok()
        .filter(|n| *n <= 1 << 40)
        .ok_or_else(|| io::ErrorKind::FileTooLarge.into())
}

impl MemFile {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn to_write(&self) -> io::Result<MutexGuard<'_, State>> {
        if self.writable {
            Ok(self.state())
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
}

impl File for MemFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.state();
        let data = &state.inode(self.inode).data;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
        let n = buf.len().min(data.len() - start);
        buf[..n].copy_from_slice(&data[start..start + n]);
        Ok(n)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let offset = in_memory(offset)?;
        let mut state = self.to_write()?;
        let fitting = state.fitting(self.inode, offset, bytes.len());
        state.inode(self.inode).write(&bytes[..fitting], offset);
        if fitting < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.state().inode(self.inode).data.len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let len = in_memory(len)?;
        self.to_write()?.inode(self.inode).resize(len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        state.syncs += 1;
        state.inode(self.inode).sync();
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.state().inode(self.inode).mode = mode;
        Ok(())
    }
}

impl FileSystem for MemFs {
    type File = MemFile;

    fn waits(&self) -> bool {
        false
    }

    fn open(&self, path: &Path, how: Open) -> io::Result<MemFile> {
        let mut state = self.state();
        let inode = match (state.file(path)?, how) {
            (Some(_), Open::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(id), Open::Read) => id,
            (Some(id), Open::ReadWrite | Open::Create) => {
                if state.inode(id).mode & 0o200 == 0 {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                id
            }
            (None, Open::Read | Open::ReadWrite) => return Err(io::ErrorKind::NotFound.into()),
            (None, Open::Create | Open::CreateNew) => {
                let id = state.next_inode;
                state.next_inode += 1;
                state.inodes.insert(id, Inode::new());
                let (directory, name) = state.place(path)?;
                directory.link(name, Node::File(id));
                id
            }
        };
        Ok(MemFile {
            state: self.0.clone(),
            inode,
            writable: how != Open::Read,
        })
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        let ancestors: Vec<&Path> = dir.ancestors().collect();
        for path in ancestors.into_iter().rev() {
            if state.directories.contains_key(path) {
                continue;
            }
            let (parent, name) = state.place(path)?;
            if parent.names.contains_key(&name) {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            parent.link(name, Node::Directory);
            state.directories.insert(path.to_owned(), Directory::default());
        }
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut state = self.state();
        let names = state.directory(dir)?.names.clone();
        Ok(names
            .into_iter()
            .map(|(name, node)| DirEntry {
                name,
                metadata: state.metadata_of(node),
                leads_nowhere: false,
            })
            .collect())
    }

    fn metadata(&self, path: &Path) -> io::Result<Option<Metadata>> {
        let mut state = self.state();
        if state.directories.contains_key(path) {
            return Ok(Some(state.metadata_of(Node::Directory)));
        }
        match state.place(path) {
            Ok((directory, name)) => {
                let node = directory.names.get(&name).copied();
                Ok(node.map(|node| state.metadata_of(node)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        if from.parent() != to.parent() {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        if state.file(from)?.is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.file(to)?;
        let (_, to) = state.place(to)?;
        let (directory, from) = state.place(from)?;
        directory.rename(from, to);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.file(path)?.is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let (directory, name) = state.place(path)?;
        directory.unlink(name);
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.syncs += 1;
        state.directory(dir)?.sync();
        Ok(())
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        let mut state = self.state();
        state.directory(dir)?;
        Ok(state.free())
    }

    fn lock_dir(&self, dir: &Path) -> Result<DirLock, LockError> {
        let path = dir.join(LOCK_FILE);
        self.open(&path, Open::Create).map_err(|source| LockError::Io {
            path: path.clone(),
            source,
        })?;
        if !self.state().locked.insert(dir.to_owned()) {
            return Err(LockError::HeldHere { path });
        }
        Ok(DirLock::new(MemLock {
            fs: self.clone(),
            dir: dir.to_owned(),
        }))
    }
}

struct MemLock {
    fs: MemFs,
    dir: PathBuf,
}

impl Drop for MemLock {
    fn drop(&mut self) {
        self.fs.state().locked.remove(&self.dir);
    }
}
