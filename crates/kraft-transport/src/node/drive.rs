//! Turns of the engine, whenever something arrives or is due.

use crate::{
    clock,
    command::{Command, QueuedCommand},
    engine::{Engine, Turn},
    error::NodeError,
    metrics::IdleTime,
    network::Network,
    storage::Storage,
};
use kraft_core::{Instant, StateMachine};
use std::{collections::VecDeque, pin::Pin};
use tokio::{
    sync::mpsc,
    time::{Sleep, sleep_until},
};

/// Turns the engine until it ends. Says how it ended, and whether it was halted.
pub(super) async fn drive<S, L, N>(
    engine: &mut Engine<S, L, N>,
    queue: &mut mpsc::Receiver<QueuedCommand<S>>,
    idle: &IdleTime,
) -> (Result<(), NodeError>, bool)
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    let mut arrived = Vec::with_capacity(DRAINED_MAX);
    let mut commands = VecDeque::with_capacity(DRAINED_MAX);
    let mut alarm = Alarm::default();
    let mut halted = false;
    loop {
        let Turn { next, ended } = engine.turn(&mut commands, clock::now());
        if let Some(how) = ended {
            return (how, halted);
        }
        match next {
            Some(due) if due <= clock::monotonic() => {
                while arrived.len() < DRAINED_MAX
                    && let Ok(command) = queue.try_recv()
                {
                    arrived.push(command);
                }
                // Long work in slices: others get their turn between two of them.
                tokio::task::yield_now().await;
            }
            next => {
                let began = clock::monotonic();
                tokio::select! {
                    received = queue.recv_many(&mut arrived, DRAINED_MAX) => {
                        if received == 0 {
                            return (Ok(()), true);
                        }
                    }
                    () = alarm.due(next) => {}
                }
                idle.waited(began, clock::monotonic());
            }
        }
        halted |= arrived
            .iter()
            .any(|queued| matches!(queued.command, Command::Halt));
        commands.extend(arrived.drain(..));
    }
}

/// One timer for all turns. Deadlines mostly move away before they are reached, so the timer stays where it is until it
/// rings, or something is due earlier: to set one that is due earlier than all others wakes the thread that waits for them.
#[derive(Default)]
struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
    /// When it rings.
    set: Option<Instant>,
}

impl Alarm {
    /// Returns once the moment has come, or never without one.
    async fn due(&mut self, due: Option<Instant>) {
        let Some(due) = due else {
            return std::future::pending().await;
        };
        while clock::monotonic() < due {
            if self.set.is_none_or(|set| due < set) {
                let moment = clock::to_std(due).into();
                match &mut self.sleep {
                    Some(sleep) => sleep.as_mut().reset(moment),
                    None => self.sleep = Some(Box::pin(sleep_until(moment))),
                }
                self.set = Some(due);
            }
            let sleep = self.sleep.as_mut().expect("it is set");
            sleep.as_mut().await;
            self.set = None;
        }
    }
}

/// Commands that one turn takes.
const DRAINED_MAX: usize = 256;
