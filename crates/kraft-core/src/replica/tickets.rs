//! The numbers of disk operations.

use super::{Replica, turn::Turn};
use crate::{
    action::{Action, DiskOp},
    handles::Ticket,
};

/// How far the numbering of disk operations is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tickets {
    newest: Ticket,
    election: Ticket,
    durable: Ticket,
}

impl Tickets {
    /// The newest operation of any kind.
    pub(crate) fn newest(self) -> Ticket {
        self.newest
    }

    /// The newest one that stored the election state: what every message waits for.
    pub(crate) fn election(self) -> Ticket {
        self.election
    }

    /// Everything up to this one is durable.
    pub(crate) fn durable(self) -> Ticket {
        self.durable
    }
}

impl Replica {
    /// Orders a disk operation.
    #[inline]
    pub(super) fn disk(&mut self, op: DiskOp, turn: &mut Turn<'_>) -> Ticket {
        let ticket = Ticket(self.tickets.newest.0 + 1);
        self.tickets.newest = ticket;
        if matches!(op, DiskOp::StoreElection(_)) {
            self.tickets.election = ticket;
        }
        turn.emit(Action::Disk { ticket, op });
        ticket
    }

    /// Disk operations have become durable, so the leader's own share of the log may have grown.
    pub(super) fn durable(&mut self, up_to: Ticket, turn: &mut Turn<'_>) {
        assert!(
            up_to <= self.tickets.newest,
            "only what was ordered can become durable"
        );
        self.tickets.durable = self.tickets.durable.max(up_to);
        self.install_verified(turn);
        self.end_abstention(turn);
        self.share_has_grown(turn.flushed_end(), turn);
        self.serve_removal(turn);
    }
}
