//! Many replicas that fetch from one leader, for `cargo xtask bench observers`: `observers LEADER CLUSTER_ID TOPIC_ID COUNT`.
//!
//! Each has an id, a directory id and a TCP connection of its own, begins at the end of the log, as if it had what is before,
//! and keeps nothing of what it gets. One thread serves all of them, so that it takes as little as possible from the leader
//! on the same machine.
//!
//! `ready` on stdout says that all of them fetch. A line on stdin begins the measurement anew; at the end of stdin a line
//! `total` tells what was measured.

#[path = "observers/connection.rs"]
mod connection;
#[path = "observers/spread.rs"]
mod spread;

use connection::{Cluster, Observer, Position};
use rustix::event::epoll;
use spread::Spread;
use std::{error::Error, io, net::SocketAddr, thread, time::Duration};
use uuid::Uuid;

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: observers LEADER CLUSTER_ID TOPIC_ID COUNT";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [leader, cluster_id, topic_id, count] = arguments.as_slice() else {
        return Err(usage.into());
    };
    let leader: SocketAddr = leader.parse()?;
    let cluster = Cluster {
        id: cluster_id.clone(),
        topic_id: topic_id.parse::<Uuid>()?,
    };
    let count: usize = count.parse()?;

    // The first one reads the whole log and shows the others where it ends.
    let (mut first, position) = Observer::catch_up(leader, &cluster, FIRST_ID)?;
    first.fetch(&position)?;
    let mut observers = vec![(first, position)];
    for id in (FIRST_ID..).take(count).skip(1) {
        let mut observer = Observer::connect(leader, &cluster, id)?;
        observer.fetch(&position)?;
        observers.push((observer, position));
    }
    println!("ready");
    serve(&mut observers)
}

/// Answers every answer with the next Fetch.
fn serve(observers: &mut [(Observer, Position)]) -> Result<(), Box<dyn Error>> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (place, (observer, _)) in (0..).zip(observers.iter()) {
        observer.stream().set_nonblocking(true)?;
        let place = epoll::EventData::new_u64(place);
        epoll::add(&poll, observer.stream(), place, epoll::EventFlags::IN)?;
    }
    epoll::add(
        &poll,
        io::stdin(),
        epoll::EventData::new_u64(STDIN),
        epoll::EventFlags::IN,
    )?;
    let mut spread = Spread::new(observers.len());
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut answered = Vec::with_capacity(EVENTS_MAX);
    loop {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        // What comes next would wake this thread, and the leader would pay for that, as it does not with observers on other
        // machines. So this one sleeps until more has come.
        thread::sleep(GATHER);
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let place = event.data.u64();
            if place == STDIN {
                if io::stdin().read_line(&mut String::new())? == 0 {
                    println!("total {}", spread.summary());
                    return Ok(());
                }
                spread.begin();
                continue;
            }
            let place = usize::try_from(place)?;
            let (observer, position) = &mut observers[place];
            if let Some(answer) = observer.receive(&mut buffer)? {
                let before = position.committed();
                let batches = position.advance(&answer)?;
                spread.answered(&batches, before, position.committed());
                answered.push(place);
            }
        }
        // None of them has to wait with what it has got until another one has asked for more.
        for place in answered.drain(..) {
            let (observer, position) = &mut observers[place];
            observer.fetch(position)?;
        }
    }
}

/// Out of the way of the voters'.
const FIRST_ID: i32 = 1000;
const STDIN: u64 = u64::MAX;
const EVENTS_MAX: usize = 1024;
const GATHER: Duration = Duration::from_millis(1);
const BUFFER_BYTES: usize = 64 * 1024;
