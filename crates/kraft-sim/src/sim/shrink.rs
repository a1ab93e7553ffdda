//! A plan that fails, made short.

use super::{
    plan::{NodeTraits, Plan},
    report::Failure,
};
use std::time::Duration;

/// A plan from which nothing more can be taken away, as far as was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shrunk {
    /// What is left.
    pub plan: Plan,
    /// How it fails.
    pub failure: Failure,
    /// How many runs it took.
    pub runs: usize,
}

/// Takes away from a plan whatever is not needed for its failure: first what is done behind it, then halves, quarters and single
/// steps of the rest, then the faults of network, disks and clocks, and shortens what is left.
///
/// `fails` makes a run of a plan. A shorter plan is taken if it breaks the same invariant. Returns nothing if the plan itself does
/// not fail. At most `runs_max` runs are made.
pub fn shrink(plan: &Plan, runs_max: usize, fails: impl FnMut(&Plan) -> Option<Failure>) -> Option<Shrunk> {
    let mut fails = fails;
    let failure = fails(plan)?;
    let mut search = Search {
        best: plan.clone(),
        failure,
        runs: 1,
        runs_max,
        fails,
    };
    search.end_at_the_failure();
    loop {
        let before = search.best.clone();
        search.drop_steps();
        search.calm_the_world();
        search.shorten();
        if search.best == before || search.is_over() {
            break;
        }
    }
    Some(Shrunk {
        plan: search.best,
        failure: search.failure,
        runs: search.runs,
    })
}

struct Search<F> {
    best: Plan,
    failure: Failure,
    runs: usize,
    runs_max: usize,
    fails: F,
}

impl<F: FnMut(&Plan) -> Option<Failure>> Search<F> {
    fn is_over(&self) -> bool {
        self.runs >= self.runs_max
    }

    /// Takes a plan if it fails in the same way.
    fn attempt(&mut self, plan: Plan) -> bool {
        if self.is_over() || plan == self.best {
            return false;
        }
        self.runs += 1;
        match (self.fails)(&plan) {
            Some(failure) if failure.violation.invariant == self.failure.violation.invariant => {
                self.best = plan;
                self.failure = failure;
                true
            }
            Some(_) | None => false,
        }
    }

    fn end_at_the_failure(&mut self) {
        let end = Duration::from_millis(self.failure.at_ms + 1).min(self.best.world.duration);
        let mut plan = self.best.clone();
        plan.world.duration = end;
        plan.steps.retain(|step| step.at <= end);
        self.attempt(plan);
    }

    /// Leaves out ever smaller parts.
    fn drop_steps(&mut self) {
        let mut size = self.best.steps.len().div_ceil(2);
        while size > 0 && !self.is_over() {
            let mut from = 0;
            while from < self.best.steps.len() && !self.is_over() {
                let mut plan = self.best.clone();
                let to = (from + size).min(plan.steps.len());
                plan.steps.drain(from..to);
                // What was behind has moved up to here.
                if !self.attempt(plan) {
                    from += size;
                }
            }
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
        self.end_at_the_failure();
    }

    fn calm_the_world(&mut self) {
        let calmer: [fn(&mut Plan); 10] = [
            |plan| plan.world.network.lost_per_mille = 0,
            |plan| plan.world.network.duplicated_per_mille = 0,
            |plan| plan.world.network.delay_max = plan.world.network.delay_min,
            |plan| plan.world.disk_max = Duration::from_millis(1),
            |plan| plan.world.snapshot_new_bytes = None,
            |plan| plan.world.append_linger = Duration::ZERO,
            |plan| {
                for node in &mut plan.world.nodes {
                    *node = NodeTraits {
                        start: node.start,
                        ..NodeTraits::default()
                    };
                }
            },
            |plan| {
                plan.world
                    .nodes
                    .iter_mut()
                    .for_each(|node| node.start = Duration::ZERO)
            },
            Plan::drop_last_observer,
            Plan::drop_last_observer,
        ];
        for change in calmer {
            let mut plan = self.best.clone();
            change(&mut plan);
            self.attempt(plan);
        }
    }

    fn shorten(&mut self) {
        for place in 0..self.best.steps.len() {
            while let Some(shorter) = self.best.steps[place].op.shorter() {
                let mut plan = self.best.clone();
                plan.steps[place].op = shorter;
                if !self.attempt(plan) {
                    break;
                }
            }
        }
    }
}

impl Plan {
    /// Leaves out the last node, if it is no voter and nothing is done to it.
    fn drop_last_observer(&mut self) {
        let last = self.world.ids().last();
        let is_named = self
            .steps
            .iter()
            .any(|step| step.op.nodes().any(|id| Some(id) == last));
        if self.world.nodes.len() > self.world.voters as usize && !is_named {
            self.world.nodes.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        checker::Violation,
        sim::{Settings, op::Op},
    };

    /// Fails if B crashes somewhere before C crashes; says so with the moment of the second.
    fn b_before_c(plan: &Plan) -> Option<Failure> {
        let crash = |wanted: i32| {
            plan.steps
                .iter()
                .position(|step| matches!(&step.op, Op::Crash { node, .. } if node.0 == wanted))
        };
        let (b, c) = (crash(1)?, crash(2)?);
        (b < c).then(|| Failure {
            seed: plan.seed(),
            at_ms: u64::try_from(plan.steps[c].at.as_millis()).expect("a short time"),
            violation: Violation {
                invariant: "C stays up behind B",
                detail: String::new(),
            },
        })
    }

    fn failing_plan() -> Plan {
        (0..100)
            .map(|seed| Plan::draw(seed, &Settings::of_seed(seed)))
            .find(|plan| b_before_c(plan).is_some())
            .expect("it fails under some seed")
    }

    #[test]
    fn only_what_is_needed_stays() {
        let plan = failing_plan();
        let shrunk = shrink(&plan, 10_000, b_before_c).expect("it fails");
        let crashes: Vec<_> = shrunk.plan.steps.iter().map(|step| step.op.clone()).collect();
        let [Op::Crash { node: first, .. }, Op::Crash { node: second, .. }] = &crashes[..] else {
            panic!("two crashes were needed: {}", shrunk.plan);
        };
        assert_eq!((first.0, second.0), (1, 2));
        assert_eq!(shrunk.plan.world.network.lost_per_mille, 0);
        assert!(shrunk.plan.world.nodes.iter().all(|node| node.clock_ppm == 0));
        assert!(shrunk.runs < 300, "{} runs", shrunk.runs);
    }

    #[test]
    fn a_plan_that_does_not_fail_is_not_shrunk() {
        let plan = failing_plan();
        assert_eq!(shrink(&plan, 10_000, |_| None), None);
    }

    #[test]
    fn another_failure_is_not_taken_for_the_same() {
        let plan = failing_plan();
        let shrunk = shrink(&plan, 10_000, |candidate| {
            let mut failure = b_before_c(candidate)?;
            if candidate.steps() < plan.steps() / 2 {
                failure.violation.invariant = "another";
            }
            Some(failure)
        });
        let shrunk = shrunk.expect("it fails");
        assert_eq!(shrunk.failure.violation.invariant, "C stays up behind B");
        assert!(shrunk.plan.steps() >= plan.steps() / 2);
    }
}
