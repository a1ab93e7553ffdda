//! The file system that kraft's storage is written against: real, in memory, crashing, faulty.
