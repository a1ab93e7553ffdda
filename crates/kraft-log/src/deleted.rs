//! Files that are to be deleted: out of the way at once, removed a while later.

use crate::{
    segment_files::remove_if_there,
    storage_error::{StorageError, failed},
};
use kraft_fs::FileSystem;
use std::{
    io,
    path::{Path, PathBuf},
};

/// How long a segment stays under its `.deleted` name, a constant in Kafka.
pub(crate) const SEGMENT_DELAY_MS: i64 = 60_000;

/// Files under a `.deleted` name. After a start nobody waits: what is left of them is removed then.
#[derive(Debug, Default)]
pub(crate) struct DeletedFiles(Vec<Deleted>);

#[derive(Debug)]
struct Deleted {
    path: PathBuf,
    delay_ms: i64,
    /// When it is removed; unknown until somebody says what the time is.
    due_ms: Option<i64>,
}

impl DeletedFiles {
    /// Renames a file, which need not exist.
    pub(crate) fn delete<F: FileSystem>(
        &mut self,
        fs: &F,
        dir: &Path,
        name: &str,
        delay_ms: i64,
    ) -> Result<(), StorageError> {
        let (from, path) = (dir.join(name), dir.join(format!("{name}.deleted")));
        match fs.rename(&from, &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            renamed => renamed.map_err(failed("renaming", &from))?,
        }
        self.0.retain(|deleted| deleted.path != path);
        self.0.push(Deleted {
            path,
            delay_ms,
            due_ms: None,
        });
        Ok(())
    }

    /// Tells the time: the delay of what has been deleted since the last call begins, and what has waited long enough
    /// is removed.
    pub(crate) fn tell<F: FileSystem>(&mut self, fs: &F, now_ms: i64) -> Result<(), StorageError> {
        let mut waiting = Vec::new();
        for mut deleted in std::mem::take(&mut self.0) {
            let due = deleted
                .due_ms
                .get_or_insert_with(|| now_ms.saturating_add(deleted.delay_ms));
            if *due <= now_ms {
                remove_if_there(fs, &deleted.path)?;
            } else {
                waiting.push(deleted);
            }
        }
        self.0 = waiting;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_fs::{File, MemFs, Open};

    fn names(fs: &MemFs) -> Vec<String> {
        let entries = fs.list(Path::new("/")).unwrap().into_iter();
        entries.map(|entry| entry.name).collect()
    }

    #[test]
    fn a_deleted_file_has_another_name_until_its_delay_is_over() {
        let fs = MemFs::new();
        let dir = Path::new("/");
        let mut deleted = DeletedFiles::default();
        deleted.delete(&fs, dir, "absent", 100).unwrap();
        fs.open(&dir.join("a"), Open::CreateNew).unwrap();
        deleted.delete(&fs, dir, "a", 100).unwrap();
        assert_eq!(names(&fs), ["a.deleted"]);
        deleted.tell(&fs, 5000).unwrap();
        // Another file of the same name takes its place, and waits for itself.
        let file = fs.open(&dir.join("a"), Open::CreateNew).unwrap();
        file.write_all_at(b"another", 0).unwrap();
        deleted.delete(&fs, dir, "a", 100).unwrap();
        deleted.tell(&fs, 5050).unwrap();
        deleted.tell(&fs, 5149).unwrap();
        assert_eq!(names(&fs), ["a.deleted"]);
        deleted.tell(&fs, 5150).unwrap();
        assert_eq!(names(&fs), [""; 0]);
    }
}
