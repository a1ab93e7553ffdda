//! Turns of the engine, whenever something arrives or is due.

use crate::{
    clock,
    command::{Command, QueuedCommand},
    engine::{Engine, Turn},
    error::NodeError,
    inbound::Inbound,
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
    // The clock is looked at as rarely as can be: in a process that has all voters that is a good part of the work.
    let mut now = clock::now();
    loop {
        let Turn { next, ended } = engine.turn(&mut commands, now);
        if let Some(how) = ended {
            return (how, halted);
        }
        let began = clock::monotonic();
        match next {
            Some(due) if due <= began => {
                receive_waiting(queue, &mut arrived);
                // Long work in slices: others get their turn between two of them.
                tokio::task::yield_now().await;
                now = clock::now();
            }
            next => {
                // What is due is found out in the turn, whatever it is that brought it.
                tokio::select! {
                    biased;
                    received = queue.recv_many(&mut arrived, DRAINED_MAX) => {
                        if received == 0 {
                            return (Ok(()), true);
                        }
                    }
                    () = alarm.due(next) => {}
                }
                now = clock::now();
                idle.waited(began, now.mono);
                if engine.is_crowded() {
                    gather(queue, &mut arrived).await;
                    now = clock::now();
                }
            }
        }
        halted |= arrived
            .iter()
            .any(|queued| matches!(queued.command, Command::Halt));
        commands.extend(arrived.drain(..));
    }
}

/// Where many fetch, one of them alone would get a turn as soon as its request is read, and the next one another. So the
/// others that are about to send theirs go first, and share the turn. Nothing but Fetch waits for that.
async fn gather<S: StateMachine>(
    queue: &mut mpsc::Receiver<QueuedCommand<S>>,
    arrived: &mut Vec<QueuedCommand<S>>,
) {
    let fetch = |queued: &QueuedCommand<S>| matches!(queued.command, Command::Inbound(Inbound::Fetch { .. }));
    if !arrived.is_empty() && arrived.iter().all(fetch) {
        tokio::task::yield_now().await;
        receive_waiting(queue, arrived);
    }
}

/// Takes what has come already.
fn receive_waiting<S: StateMachine>(
    queue: &mut mpsc::Receiver<QueuedCommand<S>>,
    arrived: &mut Vec<QueuedCommand<S>>,
) {
    while arrived.len() < DRAINED_MAX
        && let Ok(command) = queue.try_recv()
    {
        arrived.push(command);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{command::CommandSender, nothing::Nothing, peer_api::PeerApi};
    use bytes::Bytes;
    use tokio::sync::oneshot;

    fn inbound(api: PeerApi) -> Command<Nothing> {
        let (reply, _) = oneshot::channel();
        Command::Inbound(Inbound::new(api, Bytes::new(), 0, "CONTROLLER".into(), reply))
    }

    /// How many commands a turn gets that begins with these, while two tasks are about to send a Fetch.
    fn gathered(first: &[PeerApi]) -> usize {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let (sender, mut queue) = CommandSender::channel(8);
            for api in first {
                sender.send(inbound(*api)).await.expect("there is room");
            }
            for _ in 0..2 {
                let sender = sender.clone();
                tokio::spawn(async move {
                    sender.send(inbound(PeerApi::Fetch)).await.expect("there is room");
                });
            }
            let mut arrived = Vec::new();
            receive_waiting(&mut queue, &mut arrived);
            gather(&mut queue, &mut arrived).await;
            arrived.len()
        })
    }

    #[test]
    fn fetches_wait_for_those_that_are_about_to_come_and_nothing_else_does() {
        assert_eq!(gathered(&[PeerApi::Fetch]), 3);
        assert_eq!(gathered(&[PeerApi::Fetch, PeerApi::Vote]), 2);
        assert_eq!(gathered(&[]), 0);
    }
}
