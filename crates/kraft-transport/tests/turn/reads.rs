//! Reads behind a barrier.

use crate::{common::Words, harness::*};
use kraft_core::{NodeId, PeerRequest, RequestId};
use kraft_fs::MemFs;
use kraft_transport::{Command, RaftError};
use tokio::sync::oneshot::{self, error::TryRecvError};

type Answer = oneshot::Receiver<Result<(), RaftError>>;

fn read() -> (Command<Words>, Answer) {
    let (reply, answer) = oneshot::channel();
    (Command::ReadBarrier { reply }, answer)
}

/// A leader of two voters, the other one of which has everything.
fn leader() -> Node {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002)]);
    node.elected();
    let first = node.announcement().expect("a new leader announces itself");
    node.follows(first);
    let _answer = node.fetched_by(2);
    node.flush();
    let _answer = node.fetched_by(2);
    assert!(node.engine.watch().borrow().leading);
    node
}

impl Node {
    /// The BeginQuorumEpoch that node 2 has got and not answered.
    fn announcement(&mut self) -> Option<RequestId> {
        let asked = std::mem::take(&mut self.engine.network_mut().asked);
        let begin = |body: &PeerRequest| matches!(body, PeerRequest::BeginQuorumEpoch { .. });
        let newest = asked.into_iter().rfind(|request| begin(&request.body));
        newest.map(|request| request.request)
    }
}

#[test]
fn a_read_waits_until_a_majority_follows_and_what_was_committed_is_applied() {
    let mut node = leader();
    let (command, mut written) = submit("acknowledged");
    node.turn([command]);
    node.flush();
    let (command, mut early) = read();
    node.turn([command]);
    let _answer = node.fetched_by(2);
    written.try_recv().expect("answered").expect("committed");
    let (command, mut late) = read();
    node.turn([command]);

    let first = node.announcement().expect("node 2 is asked");
    node.follows(first);
    assert_eq!(early.try_recv(), Ok(Ok(())));
    assert_eq!(
        late.try_recv(),
        Err(TryRecvError::Empty),
        "it came after the question"
    );
    let second = node.announcement().expect("node 2 is asked again");
    node.follows(second);
    assert_eq!(late.try_recv(), Ok(Ok(())));
    let image = node.engine.watch_image().borrow().clone();
    assert!(image.contains(&"acknowledged".to_owned()), "{image:?}");
}

#[test]
fn a_leader_that_was_replaced_lets_nobody_read() {
    let mut node = leader();
    let (command, mut answer) = read();
    node.turn([command]);
    node.told_of_leader(9);
    let refused = answer.try_recv().expect("answered");
    assert!(
        matches!(
            refused,
            Err(RaftError::NotLeader {
                leader: Some(NodeId(2)),
                ..
            })
        ),
        "{refused:?}"
    );
    let (command, mut answer) = read();
    node.turn([command]);
    assert!(matches!(answer.try_recv(), Ok(Err(RaftError::NotLeader { .. }))));
}

#[test]
fn readers_that_nobody_confirms_are_bounded() {
    let mut node = leader();
    let mut answers = Vec::new();
    for _ in 0..10_001 {
        let (command, answer) = read();
        node.turn([command]);
        answers.push(answer);
    }
    let mut last = answers.pop().expect("there are many");
    assert_eq!(last.try_recv(), Ok(Err(RaftError::TooManyReads { max: 10_000 })));
    for answer in &mut answers {
        assert_eq!(answer.try_recv(), Err(TryRecvError::Empty));
    }
    // Those who have gone leave their places to others, and nobody is asked for them any more.
    drop(answers);
    node.now_ms += 100;
    node.turn([]);
    assert_eq!(node.engine.callers_of_the_disk(), 0);
    let asked = node.announcement().expect("for the first of them");
    node.follows(asked);
    assert!(node.announcement().is_none());
    let (command, mut answer) = read();
    node.turn([command]);
    let asked = node.announcement().expect("node 2 is asked");
    node.follows(asked);
    assert_eq!(answer.try_recv(), Ok(Ok(())));
}
