//! What happens under a seed.

use super::{
    op::Op,
    plan::{NodeTraits, Plan, Step, World},
    rng::Rng,
    settings::Settings,
};
use kraft_core::NodeId;
use kraft_fs::Fault;
use std::time::Duration;

/// Draws the world, then what is done in it, in the order of time.
pub(super) fn plan(seed: u64, settings: &Settings) -> Plan {
    let mut rng = Rng::new(seed ^ PLAN);
    let dynamic = settings.dynamic_voters.unwrap_or_else(|| rng.chance(500));
    let upgrades = !dynamic && rng.chance(settings.upgrade_per_mille);
    let joins = (dynamic || upgrades) && rng.chance(settings.auto_join_per_mille);
    let drift = i64::from(settings.clock_drift_ppm);
    let nodes = (0..settings.voters + settings.observers)
        .map(|_| NodeTraits {
            start: if rng.chance(settings.late_per_mille) {
                Duration::from_millis(rng.between(1, ms(settings.duration) * 2 / 3))
            } else {
                Duration::ZERO
            },
            clock_ppm: i64::try_from(rng.below(settings.clock_drift_ppm.into()) * 2).unwrap_or(0) - drift,
            old: !dynamic && !upgrades && rng.chance(settings.old_per_mille),
            auto_join: joins,
        })
        .collect();
    let world = World {
        seed,
        kraft_version: i16::from(dynamic),
        voters: settings.voters,
        nodes,
        duration: settings.duration,
        settle: settings.settle,
        network: settings.network.clone(),
        disk_max: settings.disk_max,
        snapshot_new_bytes: settings.snapshot_new_bytes,
        append_linger: settings.append_linger,
        propose_every: settings.propose_every,
        lie: settings.lie,
    };
    let mut draft = Draft {
        ids: world.ids().collect(),
        end: ms(settings.duration),
        down_max: ms(settings.down_max),
        rng,
        steps: Vec::new(),
    };
    draft.recurring(settings.crash_every, Draft::end_of_a_node);
    draft.recurring(settings.partition_every, Draft::cut);
    draft.recurring(settings.snapshot_every, |draft, at| {
        let node = draft.node();
        draft.enter(at, Op::Snapshot { node });
    });
    draft.recurring(settings.slow_disk_every, |draft, at| {
        let op = Op::SlowDisk {
            node: draft.node(),
            time: draft.time(6000),
            round: draft.time(6000),
        };
        draft.enter(at, op);
    });
    draft.recurring(settings.pause_every, |draft, at| {
        let op = Op::Pause {
            node: draft.node(),
            time: draft.time(4000),
        };
        draft.enter(at, op);
    });
    draft.recurring(settings.clock_jump_every, |draft, at| {
        let by_ms = i64::try_from(draft.rng.below(20_000)).expect("the number is small") - 10_000;
        let node = draft.node();
        draft.enter(at, Op::Clock { node, by_ms });
    });
    draft.recurring(settings.read_every, |draft, at| {
        let op = Op::Read {
            node: draft.node(),
            draw: draft.rng.below(1 << 32),
        };
        draft.enter(at, op);
    });
    draft.recurring(settings.read_every, |draft, at| {
        let node = draft.node();
        draft.enter(at, Op::ReadNewest { node });
    });
    draft.recurring(settings.resign_every, |draft, at| draft.enter(at, Op::Resign));
    if upgrades {
        // It may have to be asked for more than once.
        for attempt in 1..=8 {
            draft.enter(draft.end / 4 + attempt * 1000, Op::Upgrade);
        }
    }
    if dynamic || upgrades {
        draft.recurring(settings.voter_change_every, Draft::voter_change);
    }
    if dynamic {
        draft.recurring(settings.lost_disk_every, Draft::lost_disk);
        draft.recurring(settings.move_every, |draft, at| {
            let op = Op::Move {
                node: draft.node(),
                down: draft.down(),
            };
            draft.enter(at, op);
        });
    }
    draft.recurring(Some(settings.propose_every), |draft, at| {
        let op = Op::Propose {
            at: draft.rng.chance(20).then(|| draft.node()),
            records: u32::try_from(draft.rng.between(1, 3)).expect("the number is small"),
        };
        draft.enter(at, op);
    });
    draft.recurring(settings.leave_every, |draft, at| {
        let op = Op::Leave {
            node: draft.node(),
            draw: draft.rng.below(1 << 32),
        };
        draft.enter(at, op);
    });
    draft.recurring(settings.voter_change_every, |draft, at| {
        let node = draft.node();
        draft.enter(at, Op::AskWrongly { node });
    });
    let mut steps = draft.steps;
    steps.sort_by_key(|step| step.at);
    Plan { world, steps }
}

/// Keeps what is drawn here apart from what the run draws itself.
const PLAN: u64 = 0x706c_616e;

struct Draft {
    ids: Vec<NodeId>,
    /// In milliseconds, as all times here.
    end: u64,
    down_max: u64,
    rng: Rng,
    steps: Vec<Step>,
}

impl Draft {
    fn enter(&mut self, at: u64, op: Op) {
        if at < self.end {
            let at = Duration::from_millis(at);
            self.steps.push(Step { at, op });
        }
    }

    /// Draws something again and again, at random moments around their mean distance.
    fn recurring(&mut self, every: Option<Duration>, mut draw: impl FnMut(&mut Self, u64)) {
        let Some(mean) = every.map(ms) else { return };
        let mut at = 0;
        loop {
            at += self.rng.between(1, mean.saturating_mul(2).max(1));
            if at >= self.end {
                return;
            }
            draw(self, at);
        }
    }

    fn node(&mut self) -> NodeId {
        let place = self.rng.below(self.ids.len() as u64);
        self.ids[usize::try_from(place).expect("few nodes")]
    }

    fn time(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.rng.between(1, most))
    }

    fn down(&mut self) -> Duration {
        self.time(self.down_max.max(1))
    }

    fn end_of_a_node(&mut self, at: u64) {
        let (node, down) = (self.node(), self.down());
        let draw = self.rng.below(1 << 32);
        let op = match self.rng.below(12) {
            0 | 1 => Op::Stop { node, down },
            2..=5 => Op::BreakDisk {
                node,
                fault: Fault::ALL
                    [usize::try_from(self.rng.below(Fault::ALL.len() as u64)).expect("the number is small")],
                after: self.rng.below(12),
                down,
            },
            6 => Op::PowerCut { down, draw },
            _ => Op::Crash { node, down, draw },
        };
        self.enter(at, op);
    }

    /// A group off from the rest in both directions, or single ways; what was cut before is not any more.
    fn cut(&mut self, at: u64) {
        self.enter(at, Op::Heal);
        if self.rng.chance(400) {
            return;
        }
        let ids = self.ids.clone();
        if self.rng.chance(500) {
            let sides = self.rng.next();
            let side = |id: &&NodeId| sides >> (id.0.unsigned_abs() % 64) & 1 == 1;
            let group: Vec<NodeId> = ids.iter().filter(side).copied().collect();
            if !group.is_empty() && group.len() < ids.len() {
                self.enter(at, Op::CutOff { group });
            }
            return;
        }
        for from in &ids {
            let to: Vec<NodeId> = ids
                .iter()
                .filter(|to| *to != from && self.rng.chance(250))
                .copied()
                .collect();
            if !to.is_empty() {
                self.enter(at, Op::Cut { from: *from, to });
            }
        }
    }

    fn voter_change(&mut self, at: u64) {
        let node = self.node();
        let op = if self.rng.chance(400) {
            Op::RemoveVoter { node }
        } else {
            Op::AddVoter { node }
        };
        self.enter(at, op);
    }

    /// An operator replaces the replica that is gone: he may have to ask more than once.
    fn lost_disk(&mut self, at: u64) {
        let (node, down) = (self.node(), self.down());
        self.enter(at, Op::LoseDisk { node, down });
        let mut at = at + ms(down);
        for attempt in 0..6 {
            at += self.rng.between(200, 1500);
            let op = if attempt % 2 == 0 {
                Op::RemoveVoter { node }
            } else {
                Op::AddVoter { node }
            };
            self.enter(at, op);
        }
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
