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
use kraft_core::StateMachine;
use std::collections::VecDeque;
use tokio::{sync::mpsc, time::sleep_until};

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
                let timer = async {
                    match next {
                        Some(due) => sleep_until(clock::to_std(due).into()).await,
                        None => std::future::pending().await,
                    }
                };
                let began = clock::monotonic();
                tokio::select! {
                    received = queue.recv_many(&mut arrived, DRAINED_MAX) => {
                        if received == 0 {
                            return (Ok(()), true);
                        }
                    }
                    () = timer => {}
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

/// Commands that one turn takes.
const DRAINED_MAX: usize = 256;
