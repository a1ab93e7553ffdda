//! One request in flight per peer, back-off and time-out (Kafka's `RequestManager`).

use crate::{
    handles::RequestId,
    ids::NodeId,
    rng::Rng,
    time::{Instant, Span},
};
use alloc::vec::Vec;
use core::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Connection {
    AwaitingResponse { request: RequestId, until: Instant },
    BackingOff { until: Instant },
}

impl Connection {
    fn awaits(&self, request: RequestId) -> bool {
        matches!(self, Self::AwaitingResponse { request: sent, .. } if *sent == request)
    }

    /// When it changes by itself.
    fn until(&self) -> Instant {
        let (Self::AwaitingResponse { until, .. } | Self::BackingOff { until }) = self;
        *until
    }
}

/// What is known of the connections to peers. A peer without an entry is ready.
///
/// Bootstrap servers have connections of their own under their negative ids, also where they are voters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Connections {
    /// By id.
    peers: Vec<(NodeId, Connection)>,
    request_timeout: Span,
    retry_backoff: Span,
    next_request: RequestId,
}

impl Connections {
    pub(crate) fn new(request_timeout: Duration, retry_backoff: Duration) -> Self {
        Self {
            peers: Vec::new(),
            request_timeout: request_timeout.into(),
            retry_backoff: retry_backoff.into(),
            next_request: RequestId(1),
        }
    }

    /// Numbers a request that is being sent.
    #[inline(always)]
    pub(crate) fn sent(&mut self, to: NodeId, now: Instant) -> RequestId {
        let request = self.next_request;
        self.next_request.0 += 1;
        let until = self.given_up_at(now);
        let connection = Connection::AwaitingResponse { request, until };
        if self.is_idle() {
            self.peers.push((to, connection));
        } else {
            self.set(to, connection);
        }
        request
    }

    /// When a request times out that is sent now.
    #[inline]
    pub(crate) fn given_up_at(&self, now: Instant) -> Instant {
        now.plus(self.request_timeout)
    }

    fn place(&self, peer: NodeId) -> Result<usize, usize> {
        self.peers.binary_search_by_key(&peer, |(id, _)| *id)
    }

    fn of(&self, peer: NodeId) -> Option<&Connection> {
        let place = self.place(peer).ok()?;
        Some(&self.peers[place].1)
    }

    #[inline(never)]
    fn set(&mut self, peer: NodeId, connection: Connection) {
        match self.place(peer) {
            Ok(place) => self.peers[place].1 = connection,
            Err(place) => self.peers.insert(place, (peer, connection)),
        }
    }

    /// Who was asked, if an answer to this request is still awaited.
    #[inline(always)]
    pub(crate) fn expected_from(&self, request: RequestId) -> Option<NodeId> {
        let mut peers = self.peers.iter();
        peers.find_map(|(id, connection)| connection.awaits(request).then_some(*id))
    }

    /// Ends a request: on success the peer is ready, on failure it gets a rest. A request that is not awaited any
    /// more, because the connections were reset meanwhile, changes nothing.
    #[inline(always)]
    pub(crate) fn finish(&mut self, request: RequestId, success: bool, now: Instant) {
        let Some(place) = self.peers.iter().position(|(_, peer)| peer.awaits(request)) else {
            return;
        };
        if success && self.peers.len() == 1 {
            self.peers.clear();
        } else if success {
            self.forget_at(place);
        } else {
            self.peers[place].1 = self.resting(now);
        }
    }

    /// Gives a peer a rest after an answer that turned out to be of no use.
    pub(crate) fn rest(&mut self, peer: NodeId, now: Instant) {
        self.set(peer, self.resting(now));
    }

    fn resting(&self, now: Instant) -> Connection {
        let until = now.plus(self.retry_backoff);
        Connection::BackingOff { until }
    }

    pub(crate) fn reset(&mut self) {
        self.peers.clear();
    }

    pub(crate) fn forget(&mut self, peer: NodeId) {
        if let Ok(place) = self.place(peer) {
            self.forget_at(place);
        }
    }

    fn forget_at(&mut self, place: usize) {
        self.peers.remove(place);
    }

    /// Whether all peers are ready.
    pub(crate) fn is_idle(&self) -> bool {
        self.peers.is_empty()
    }

    pub(crate) fn timed_out(&self, peer: NodeId, now: Instant) -> bool {
        matches!(self.of(peer), Some(Connection::AwaitingResponse { until, .. }) if now >= *until)
    }

    pub(crate) fn backing_off(&self, peer: NodeId, now: Instant) -> bool {
        matches!(self.of(peer), Some(Connection::BackingOff { until }) if now < *until)
    }

    pub(crate) fn ready(&self, peer: NodeId, now: Instant) -> bool {
        match self.of(peer) {
            None => true,
            Some(connection) => now >= connection.until(),
        }
    }

    /// Whether somebody is asked, and nobody has a rest.
    pub(crate) fn all_in_flight(&self) -> bool {
        let in_flight = |connection: &Connection| matches!(connection, Connection::AwaitingResponse { .. });
        !self.is_idle() && self.peers.iter().all(|(_, connection)| in_flight(connection))
    }

    pub(crate) fn any_in_flight(&self, now: Instant) -> bool {
        self.peers.iter().any(
            |(_, connection)| matches!(connection, Connection::AwaitingResponse { until, .. } if now < *until),
        )
    }

    /// Drops the records of requests that have timed out and of rests that are over.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.peers.iter().any(|(_, connection)| now >= connection.until()) {
            self.peers.retain(|(_, connection)| now < connection.until());
        }
    }

    /// A ready one of `servers`, from a random one on in their order; none while anything is in flight anywhere.
    pub(crate) fn ready_bootstrap_server(
        &self,
        servers: &[NodeId],
        rng: &mut Rng,
        now: Instant,
    ) -> Option<usize> {
        if servers.is_empty() || self.any_in_flight(now) {
            return None;
        }
        if !servers.iter().any(|server| self.ready(*server, now)) {
            return None;
        }
        let start = usize::try_from(rng.below(servers.len() as u64)).unwrap_or(0);
        (0..servers.len())
            .map(|step| (start + step) % servers.len())
            .find(|index| self.ready(servers[*index], now))
    }

    /// When the state of any connection changes by itself.
    pub(crate) fn next_change(&self) -> Option<Instant> {
        let all = self.peers.iter();
        all.map(|(_, connection)| connection.until()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: NodeId = NodeId(1);

    fn connections() -> Connections {
        Connections::new(Duration::from_secs(30), Duration::from_millis(100))
    }

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn conn_002_whoever_has_answered_is_ready_at_once() {
        let mut connections = connections();
        let request = connections.sent(PEER, at(0));
        connections.finish(request, true, at(1));
        assert!(connections.ready(PEER, at(1)));
    }

    #[test]
    fn conn_003_an_answer_to_another_request_is_ignored() {
        let mut connections = connections();
        connections.sent(PEER, at(0));
        connections.finish(RequestId(99), true, at(1));
        assert!(!connections.ready(PEER, at(1)));
    }

    #[test]
    fn conn_004_a_request_that_times_out_frees_its_peer() {
        let mut connections = connections();
        assert!(!connections.timed_out(PEER, at(30_000)), "nothing was asked");
        connections.sent(PEER, at(0));
        assert!(!connections.ready(PEER, at(29_999)) && !connections.timed_out(PEER, at(29_999)));
        assert!(connections.ready(PEER, at(30_000)) && connections.timed_out(PEER, at(30_000)));
    }

    #[test]
    fn a_failure_is_followed_by_a_rest() {
        let mut connections = connections();
        let request = connections.sent(PEER, at(0));
        connections.finish(request, false, at(10));
        assert!(connections.backing_off(PEER, at(109)));
        assert!(connections.ready(PEER, at(110)));
    }

    #[test]
    fn conn_001_a_reset_frees_everybody_and_forgets_what_was_asked() {
        let resting = NodeId(2);
        let mut connections = connections();
        let failed = connections.sent(resting, at(0));
        connections.finish(failed, false, at(0));
        let request = connections.sent(PEER, at(0));
        assert!(!connections.ready(PEER, at(0)) && !connections.ready(resting, at(0)));
        connections.reset();
        assert!(connections.ready(PEER, at(0)) && connections.ready(resting, at(0)));
        assert_eq!(connections.expected_from(request), None);
    }

    #[test]
    fn the_bootstrap_list_is_walked_one_server_at_a_time() {
        let servers = [NodeId(-2), NodeId(-3)];
        let mut rng = Rng::new(1);
        let mut connections = connections();
        let first = connections
            .ready_bootstrap_server(&servers, &mut rng, at(0))
            .expect("ready");
        let request = connections.sent(servers[first], at(0));
        assert_eq!(
            connections.ready_bootstrap_server(&servers, &mut rng, at(0)),
            None
        );
        connections.finish(request, false, at(100));
        let second = connections
            .ready_bootstrap_server(&servers, &mut rng, at(100))
            .expect("ready");
        assert_ne!(first, second);
        let request = connections.sent(servers[second], at(100));
        connections.finish(request, false, at(199));
        assert_eq!(
            connections.ready_bootstrap_server(&servers, &mut rng, at(199)),
            None
        );
        assert_eq!(
            connections.ready_bootstrap_server(&servers, &mut rng, at(200)),
            Some(first)
        );
    }
}
