//! What a plan does to a quorum.

use super::{
    clients::UPDATE_FEATURES_VERSION,
    happening::Happening,
    op::Op,
    quorum::{LISTENER, Simulation},
    report::Count,
    rng::Rng,
};
use crate::checker::{Fact, Violation, VoterMove};
use bytes::Bytes;
use kraft_core::{Endpoints, Event, NodeId, StateMachine, SupportedVersions, VoterChange, VoterNode};
use kraft_fs::Fault;
use kraft_transport::{Command, oneshot};
use kraft_wire::{
    Message as _,
    message::{UpdateFeaturesRequest, UpdateFeaturesRequestFeatureUpdate},
};
use std::{sync::Arc, time::Duration};

impl<S: StateMachine> Simulation<S> {
    /// Does it. Where it cannot be done, nothing happens.
    pub(crate) fn perform(&mut self, op: Op) -> Result<(), Violation> {
        match op {
            Op::Crash { node, down, draw } => self.crash(node, down, draw),
            Op::PowerCut { down, draw } => {
                self.counts.add(Count::PowerCuts);
                let ids: Vec<NodeId> = self.nodes.iter().map(|node| node.id).collect();
                ids.into_iter().try_for_each(|id| self.crash(id, down, draw))
            }
            Op::Stop { node, down } => {
                let Some(node) = self.up(node) else { return Ok(()) };
                self.nodes[node].down = down;
                self.nodes[node].stop(self.now);
                self.counts.add(Count::Stops);
                self.turn(node)
            }
            Op::BreakDisk {
                node,
                fault,
                after,
                down,
            } => {
                let Some(node) = self.up(node) else { return Ok(()) };
                self.nodes[node].down = down;
                self.nodes[node].break_disk(after, fault);
                self.counts.add(match fault {
                    Fault::Io | Fault::Interrupted => Count::DiskErrors,
                    Fault::NoSpace | Fault::ShortWrite => Count::FullDisks,
                });
                Ok(())
            }
            Op::SlowDisk { node, time, round } => {
                let Some(node) = self.up(node) else { return Ok(()) };
                self.nodes[node].slow = Some((self.now.after(time), round));
                self.counts.add(Count::SlowDisks);
                Ok(())
            }
            Op::LoseDisk { node, down } => {
                let Some(node) = self.index_of(node) else {
                    return Ok(());
                };
                if self.may_weaken(node) {
                    self.lose_disk(node, down)?;
                }
                Ok(())
            }
            Op::Move { node, down } => {
                let Some(node) = self.index_of(node) else {
                    return Ok(());
                };
                if self.nodes[node].is_up() && self.may_weaken(node) {
                    let id = self.nodes[node].id;
                    self.weakness.strikes(self.nodes[node].key(), self.now);
                    self.nodes[node].move_away();
                    self.counts.add(Count::Moves);
                    self.crash(id, down, self.now.0)?;
                }
                Ok(())
            }
            Op::Pause { node, time } => self.pause(node, time),
            Op::Clock { node, by_ms } => {
                let Some(node) = self.index_of(node) else {
                    return Ok(());
                };
                self.nodes[node].clock.jump(by_ms);
                self.counts.add(Count::ClockJumps);
                Ok(())
            }
            Op::CutOff { group } => {
                let ids: Vec<NodeId> = self.nodes.iter().map(|node| node.id).collect();
                self.links.cut_off(&group, &ids);
                self.counts.add(Count::GroupCuts);
                Ok(())
            }
            Op::Cut { from, to } => {
                for to in to {
                    self.links.cut(from, to);
                    self.counts.add(Count::OneWayCuts);
                }
                Ok(())
            }
            Op::Heal => {
                self.links.heal();
                Ok(())
            }
            Op::Snapshot { node } => {
                let Some(node) = self.up(node) else { return Ok(()) };
                self.nodes[node].snapshot(self.now);
                self.turn(node)
            }
            Op::Propose { at, records } => self.propose(at, records),
            Op::Read { node, draw } => {
                let Some(node) = self.up(node) else { return Ok(()) };
                self.nodes[node].read(draw, self.now);
                self.nodes[node].watch(self.now);
                self.turn(node)
            }
            Op::ReadNewest { node } => {
                let Some(node) = self.up(node) else { return Ok(()) };
                let op = self.next_op();
                self.nodes[node].read_newest(op, self.now);
                let began = Fact::ReadBegan {
                    op,
                    node: self.nodes[node].id,
                };
                self.observe(&began)?;
                self.turn(node)
            }
            Op::Leave { node, draw } => {
                let Some(node) = self.up(node) else { return Ok(()) };
                for fact in self.nodes[node].leave(&mut Rng::new(draw)) {
                    self.counts.add(Count::Left);
                    self.observe(&fact)?;
                }
                Ok(())
            }
            Op::Resign => self.resign(),
            Op::AddVoter { node } => self.add_voter(node),
            Op::RemoveVoter { node } => self.remove_voter(node),
            Op::AskWrongly { node } => self.ask_wrongly(node),
            Op::Upgrade => self.upgrade(),
        }
    }

    fn up(&self, id: NodeId) -> Option<usize> {
        self.index_of(id).filter(|node| self.nodes[*node].is_up())
    }

    fn crash(&mut self, id: NodeId, down: Duration, draw: u64) -> Result<(), Violation> {
        let Some(node) = self.up(id) else { return Ok(()) };
        let mut rng = Rng::new(draw.wrapping_add(u64::from(id.0.unsigned_abs())));
        self.nodes[node].down = down;
        if self.nodes[node].crash(&mut rng, self.world.lie) {
            self.counts.add(Count::TornRounds);
        }
        self.counts.add(Count::Crashes);
        self.is_down(node)
    }

    fn pause(&mut self, id: NodeId, time: Duration) -> Result<(), Violation> {
        let Some(node) = self.up(id) else { return Ok(()) };
        let until = self.now.after(time);
        let life = self.nodes[node].life;
        self.nodes[node].paused = Some(until);
        self.agenda.enter(until, Happening::Resume { node, life });
        self.counts.add(Count::Pauses);
        Ok(())
    }

    /// The disk of a node is gone, with or without the node.
    fn lose_disk(&mut self, node: usize, down: Duration) -> Result<(), Violation> {
        let id = self.nodes[node].id;
        let is_up = self.nodes[node].is_up();
        if is_up {
            self.crash(id, down, 0)?;
        }
        let lost = self.nodes[node].key();
        self.weakness.strikes(lost, self.now);
        self.counts.add(Count::LostDisks);
        let fact = self.nodes[node].lose_disk();
        self.observe(&fact)
    }

    /// Whoever leads the newest epoch.
    fn leader(&self) -> Option<usize> {
        let leading = self.nodes.iter().enumerate().filter(|(_, node)| node.leads());
        leading
            .max_by_key(|(_, node)| node.replica().map(|(replica, _)| replica.epoch()))
            .map(|(place, _)| place)
    }

    fn resign(&mut self) -> Result<(), Violation> {
        let Some(leader) = self.leader() else {
            return Ok(());
        };
        let Some((replica, _)) = self.nodes[leader].replica() else {
            return Ok(());
        };
        let epoch = replica.epoch();
        self.nodes[leader].enqueue(Command::Event(Event::Resign { epoch }), self.now);
        self.counts.add(Count::Resignations);
        self.turn(leader)
    }

    fn add_voter(&mut self, id: NodeId) -> Result<(), Violation> {
        let Some(node) = self.index_of(id) else {
            return Ok(());
        };
        let voter = VoterNode {
            key: self.nodes[node].key(),
            endpoints: Endpoints::single(
                LISTENER,
                self.nodes[node]
                    .endpoints()
                    .of(LISTENER)
                    .cloned()
                    .expect("every node has one listener"),
            ),
            kraft_versions: SupportedVersions { min: 0, max: 1 },
        };
        self.weakness.may_be_added(voter.key, self.now);
        let ack_when_committed = self.rng.chance(500);
        self.reconfigure(VoterChange::Add {
            voter,
            ack_when_committed,
        })
    }

    /// Removes what a node is or was, if a majority of the voters that stay is sound.
    ///
    /// A leader that removes itself may fall before others have the record of it. Then it does not campaign, as in its own log it
    /// is no voter, and votes for nobody whose log is shorter. So the others have to be a majority without it, of the old voters,
    /// too. Kafka's nodes get stuck there as well.
    fn remove_voter(&mut self, id: NodeId) -> Result<(), Violation> {
        let Some(leader) = self.leader() else {
            return Ok(());
        };
        if self.nodes[leader].paused.is_some() {
            // It would do so when it goes on, and by then another voter may have lost its disk.
            return Ok(());
        }
        let voters = self.nodes[leader].voters();
        let Some(voter) = voters.get(id).map(|voter| voter.key) else {
            return Ok(());
        };
        let staying: Vec<_> = voters.iter().filter(|voter| voter.key.id != id).collect();
        let is_asked = |node: NodeId| {
            self.world
                .ids()
                .take(self.world.voters as usize)
                .any(|first| first == node)
        };
        if !staying.iter().any(|voter| is_asked(voter.key.id)) {
            // Whoever loses its leader asks the first voters for the next one, and one of them has to know.
            return Ok(());
        }
        let sound = staying.iter().filter(|voter| self.is_sound(voter));
        let removes_itself = self.nodes[leader].id == id;
        let voters_then = voters.len() - usize::from(!removes_itself);
        if sound.count() <= voters_then / 2 {
            return Ok(());
        }
        self.reconfigure(VoterChange::Remove { voter })
    }

    fn reconfigure(&mut self, change: VoterChange) -> Result<(), Violation> {
        match self.leader() {
            Some(leader) => self.reconfigure_at(leader, change),
            None => Ok(()),
        }
    }

    fn reconfigure_at(&mut self, node: usize, change: VoterChange) -> Result<(), Violation> {
        let op = self.next_op();
        let wanted = match &change {
            VoterChange::Add { voter, .. } | VoterChange::Update { voter } => VoterMove::Add(voter.key),
            VoterChange::Remove { voter } => VoterMove::Remove(*voter),
        };
        self.observe(&Fact::ChangeAsked { op, change: wanted })?;
        let (reply, outcome) = oneshot::channel();
        self.nodes[node].await_change(op, outcome);
        self.nodes[node].enqueue(Command::Reconfigure { change, reply }, self.now);
        self.turn(node)
    }

    /// An operator errs, and asks a node that does not lead. It is to say so, also while its disk stands still.
    fn ask_wrongly(&mut self, id: NodeId) -> Result<(), Violation> {
        let Some(node) = self.up(id) else { return Ok(()) };
        let asked = &self.nodes[node];
        // One that stands still may lead by the time it hears of it.
        if asked.leads() || asked.paused.is_some() {
            return Ok(());
        }
        let voter = asked.key();
        self.reconfigure_at(node, VoterChange::Remove { voter })
    }

    /// An operator asks for kraft.version 1, by the request that Kafka's tool sends.
    fn upgrade(&mut self) -> Result<(), Violation> {
        let Some(leader) = self.leader() else {
            return Ok(());
        };
        if self.nodes[leader]
            .replica()
            .is_some_and(|(replica, _)| replica.kraft_version() > 0)
        {
            return Ok(());
        }
        let request = UpdateFeaturesRequest {
            feature_updates: vec![UpdateFeaturesRequestFeatureUpdate {
                feature: "kraft.version".to_owned(),
                max_version_level: 1,
                ..Default::default()
            }],
            ..Default::default()
        };
        let version = UPDATE_FEATURES_VERSION;
        let op = self.next_op();
        let (reply, outcome) = oneshot::channel::<Bytes>();
        self.nodes[leader].await_upgrade(op, outcome);
        let command = Command::Request {
            api: 57,
            version,
            body: request.to_bytes(version).expect("the request is small"),
            listener: Arc::from(LISTENER),
            reply,
        };
        self.nodes[leader].enqueue(command, self.now);
        self.counts.add(Count::Upgrades);
        self.turn(leader)
    }

    /// Ends a node without warning, for good until it is started, for somebody who decides himself what happens.
    pub(crate) fn kill(&mut self, node: usize) -> Result<(), Violation> {
        self.nodes[node].crash(&mut self.rng, None);
        let id = self.nodes[node].id;
        self.observe(&Fact::Crashed { node: id })
    }

    /// Lets the disk of a node fail behind so many calls.
    #[cfg(test)]
    pub(crate) fn break_disk(&mut self, node: usize, calls: u64, fault: Fault) {
        self.nodes[node].break_disk(calls, fault);
    }

    /// Takes a node that is down its disk.
    pub(crate) fn take_disk(&mut self, node: usize) -> Result<(), Violation> {
        let fact = self.nodes[node].lose_disk();
        self.observe(&fact)
    }
}
