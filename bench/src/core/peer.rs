//! The crate `raft` in the same shape: as many voters in one thread, logs in memory, everything delivered at once.

use raft::{Config, RawNode, StateRole, eraftpb::Message, storage::MemStorage};
use slog::{Discard, Logger, o};
use std::collections::VecDeque;

/// A quorum of the peer.
pub struct Peer {
    nodes: Vec<RawNode<MemStorage>>,
    under_way: VecDeque<Message>,
    rounds: u64,
}

impl Peer {
    /// Fresh voters.
    #[must_use]
    pub fn new(voters: usize) -> Self {
        let logger = Logger::root(Discard, o!());
        let ids: Vec<_> = (1..=voters as u64).collect();
        let node = |id: &u64| {
            let config = Config {
                id: *id,
                election_tick: 10,
                heartbeat_tick: 3,
                max_inflight_msgs: 256,
                max_size_per_msg: 1 << 20,
                pre_vote: true,
                check_quorum: true,
                ..Config::default()
            };
            let storage = MemStorage::new_with_conf_state((ids.clone(), Vec::new()));
            RawNode::new(&config, storage, &logger).expect("a fresh start")
        };
        Self {
            nodes: ids.iter().map(node).collect(),
            under_way: VecDeque::new(),
            rounds: 0,
        }
    }

    /// The first campaigns and is elected, with pre-vote; its first entry is committed and everybody knows.
    ///
    /// # Panics
    /// If it does not lead then.
    pub fn elect(&mut self) {
        self.nodes[0].campaign().expect("a voter");
        self.run(0);
        assert!(self.nodes[0].raft.state == StateRole::Leader, "it is elected");
        self.check();
    }

    /// One entry from the proposal until everybody knows that it is committed.
    ///
    /// # Panics
    /// If that does not happen.
    pub fn round(&mut self) {
        self.commit();
        self.tell();
    }

    /// One entry until it is committed: up to the second of the answers that acknowledge it.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn commit(&mut self) {
        self.nodes[0]
            .propose(Vec::new(), vec![0; 8])
            .expect("a leader that is not busy");
        self.settle(0);
        let mut acknowledged = 1;
        while acknowledged < self.nodes.len() {
            let place = self.deliver().expect("everybody acknowledges");
            acknowledged += usize::from(place == 0);
        }
    }

    /// The rest of the round: what is under way by then tells the others.
    ///
    /// # Panics
    /// If anybody does not know then.
    pub fn tell(&mut self) {
        while self.deliver().is_some() {}
        self.rounds += 1;
        if self.rounds.is_multiple_of(COMPACT_EVERY) {
            for node in &mut self.nodes {
                let committed = node.raft.raft_log.committed;
                let compacted = node.mut_store().wl().compact(committed - 1);
                compacted.expect("what is committed can be given up");
            }
        }
        self.check();
    }

    fn check(&self) {
        let committed = self.nodes[0].raft.raft_log.committed;
        assert!(
            self.nodes
                .iter()
                .all(|node| node.raft.raft_log.committed == committed),
            "all know what is committed"
        );
    }

    fn run(&mut self, first: usize) {
        self.settle(first);
        while self.deliver().is_some() {}
    }

    /// The oldest message arrives. Returns where.
    fn deliver(&mut self) -> Option<usize> {
        let message = self.under_way.pop_front()?;
        let place = usize::try_from(message.to - 1).expect("few nodes");
        self.nodes[place].step(message).expect("a message of a voter");
        self.settle(place);
        Some(place)
    }

    /// Does what a node wants done: entries and state are stored at once, messages are under way.
    fn settle(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        if !node.has_ready() {
            return;
        }
        let mut ready = node.ready();
        self.under_way.extend(ready.take_messages());
        if !ready.entries().is_empty() {
            let stored = node.mut_store().wl().append(ready.entries());
            stored.expect("entries continue the log");
        }
        if let Some(state) = ready.hs() {
            node.mut_store().wl().set_hardstate(state.clone());
        }
        self.under_way.extend(ready.take_persisted_messages());
        let mut light = node.advance(ready);
        if let Some(commit) = light.commit_index() {
            node.mut_store().wl().mut_hard_state().commit = commit;
        }
        self.under_way.extend(light.take_messages());
        node.advance_apply();
    }
}

const COMPACT_EVERY: u64 = 1024;
