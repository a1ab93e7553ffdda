//! The engine around kraft-core: one synchronous turn, its tokio driver, listener, peers and handle.
