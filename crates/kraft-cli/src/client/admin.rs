//! Finding the active controller, and the requests that go to it: what Kafka's admin client does for the tools.

mod features;
mod voter_change;

use std::thread;
use std::time::{Duration, Instant};

use kraft_metadata::feature::METADATA_VERSION;
use kraft_wire::message::{
    DescribeClusterRequest, DescribeClusterResponse, DescribeClusterResponseBroker, DescribeQuorumRequest,
    DescribeQuorumRequestPartition, DescribeQuorumRequestTopic, DescribeQuorumResponseNode,
    DescribeQuorumResponsePartition,
};
use kraft_wire::{ErrorCode, Request};
use thiserror::Error;

use super::{Address, Connection, ConnectionError};
pub(crate) use features::{FeatureChange, FeatureOutcome, Features};

/// What listens at the bootstrap addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndpointKind {
    Brokers,
    Controllers,
}

/// Why the cluster could not be asked.
#[derive(Debug, Error)]
pub(crate) enum AdminError {
    /// Asking again would not help.
    #[error("{address}: {} is answered with {}{}", .api, .code.name(), text(.message))]
    Refused {
        address: Address,
        api: &'static str,
        code: ErrorCode,
        message: Option<String>,
    },
    #[error("{address}: the answer to {api} makes no sense: {what}")]
    Nonsense {
        address: Address,
        api: &'static str,
        what: &'static str,
    },
    /// What has been sent may have been done.
    #[error(
        "{address}: {api} was sent and not answered ({problem}); look at the quorum before you try again"
    )]
    Unanswered {
        address: Address,
        api: &'static str,
        problem: String,
    },
    /// Nothing has been sent.
    #[error("{address}: {problem}")]
    Incapable {
        address: Address,
        problem: ConnectionError,
    },
    /// The last thing that went wrong stands for all of them.
    #[error("no answer of node {node_id} within {} s; last tried {address}: {problem}", .waited.as_secs())]
    NodeNotFound {
        node_id: i32,
        waited: Duration,
        address: Address,
        problem: String,
    },
    /// The last thing that went wrong stands for all of them.
    #[error("no active controller found within {} s; last tried {address}: {problem}", .waited.as_secs())]
    NotFound {
        waited: Duration,
        address: Address,
        problem: String,
    },
}

/// The answer of DescribeQuorum with the name of the cluster.
pub(crate) struct Described {
    /// Not told below metadata version 3.7-IV0.
    pub(crate) cluster_id: Option<String>,
    pub(crate) partition: DescribeQuorumResponsePartition,
    pub(crate) nodes: Vec<DescribeQuorumResponseNode>,
}

/// A client of one cluster.
pub(crate) struct Admin {
    bootstrap: Vec<Address>,
    kind: EndpointKind,
    patience: Duration,
}

impl Admin {
    pub(crate) fn new(bootstrap: Vec<Address>, kind: EndpointKind, patience: Duration) -> Admin {
        Admin {
            bootstrap,
            kind,
            patience,
        }
    }

    /// Asks the active controller for the state of the quorum; through a broker the broker forwards it.
    pub(crate) fn describe_quorum(&self) -> Result<Described, AdminError> {
        self.until_answered(|address, deadline| self.describe_quorum_through(address, deadline))
    }

    /// One attempt at the first bootstrap address alone.
    pub(crate) fn describe_quorum_once(&self) -> Result<Described, AdminError> {
        let address = self
            .bootstrap
            .first()
            .expect("there is at least one bootstrap address");
        match self.describe_quorum_through(address, Instant::now() + self.patience) {
            Ok(described) => Ok(described),
            Err(Attempt::Final(error)) => Err(error),
            Err(Attempt::Again(problem)) => Err(AdminError::NotFound {
                waited: self.patience,
                address: address.clone(),
                problem,
            }),
        }
    }

    /// Goes round the bootstrap addresses until one attempt succeeds or asking again would not help.
    fn until_answered<T>(
        &self,
        mut attempt: impl FnMut(&Address, Instant) -> Result<T, Attempt>,
    ) -> Result<T, AdminError> {
        let overall = Instant::now() + self.patience;
        let mut last = None;
        loop {
            for address in &self.bootstrap {
                let deadline = overall.min(Instant::now() + REQUEST_TIMEOUT);
                match attempt(address, deadline) {
                    Ok(answer) => return Ok(answer),
                    Err(Attempt::Final(error)) => return Err(error),
                    // An attempt that is cut short says less than the one before it.
                    Err(Attempt::Again(_)) if last.is_some() && Instant::now() >= overall => {}
                    Err(Attempt::Again(problem)) => last = Some((address.clone(), problem)),
                }
            }
            if Instant::now() + RETRY_BACKOFF >= overall {
                let (address, problem) = last.expect("there is at least one bootstrap address");
                return Err(AdminError::NotFound {
                    waited: self.patience,
                    address,
                    problem,
                });
            }
            thread::sleep(RETRY_BACKOFF);
        }
    }

    fn describe_quorum_through(&self, address: &Address, deadline: Instant) -> Result<Described, Attempt> {
        let mut leader = self.connect_to_leader(address, deadline)?;
        let (partition, nodes) = leader.describe_quorum(deadline)?;
        let cluster_id = leader.cluster_id.take();
        if cluster_id.is_none() {
            leader.check_begun(deadline)?;
        }
        Ok(Described {
            cluster_id,
            partition,
            nodes,
        })
    }

    /// A connection to whoever answers for the quorum.
    fn connect_to_leader(&self, address: &Address, deadline: Instant) -> Result<Leader, Attempt> {
        let mut connection = Connection::open(address, deadline)?;
        let cluster = self.describe_cluster(&mut connection, address, deadline)?;
        let controller = cluster.as_ref().and_then(|cluster| {
            let mut nodes = cluster.brokers.iter();
            nodes.find(|node| node.broker_id == cluster.controller_id)
        });
        let (target, connection) = match (self.kind, controller) {
            (EndpointKind::Controllers, Some(node)) => connect_to(node, address, deadline)?,
            // A controller lists only those that have registered. The node that was asked may lead all the same.
            (EndpointKind::Controllers, None) | (EndpointKind::Brokers, _) => (address.clone(), connection),
        };
        Ok(Leader {
            cluster_id: cluster.map(|cluster| cluster.cluster_id),
            address: target,
            connection,
        })
    }

    /// A connection to a node that is listed at an address, and the address of the node.
    fn connect_to_node(
        &self,
        node_id: i32,
        address: &Address,
        deadline: Instant,
    ) -> Result<(Address, Connection), Attempt> {
        let mut connection = Connection::open(address, deadline)?;
        let cluster = self.describe_cluster(&mut connection, address, deadline)?;
        let mut nodes = cluster.iter().flat_map(|cluster| &cluster.brokers);
        match nodes.find(|node| node.broker_id == node_id) {
            Some(node) => connect_to(node, address, deadline),
            None => Err(Attempt::Again(format!(
                "node {node_id} is not among those that are registered there"
            ))),
        }
    }

    /// Sends a request that may change something to whoever answers for the quorum, once.
    fn send_to_leader<R: Request>(
        &self,
        api: &'static str,
        address: &Address,
        deadline: Instant,
        request: &R,
    ) -> Result<(Address, R::Response), Attempt> {
        let Leader {
            address: target,
            mut connection,
            ..
        } = self.connect_to_leader(address, deadline)?;
        match connection.ask(request, Instant::now() + self.patience) {
            Ok(response) => Ok((target, response)),
            Err(problem @ (ConnectionError::NotServed { .. } | ConnectionError::Encode(_))) => {
                Err(Attempt::Final(AdminError::Incapable {
                    address: target,
                    problem,
                }))
            }
            Err(problem) => Err(Attempt::Final(AdminError::Unanswered {
                address: target,
                api,
                problem: problem.to_string(),
            })),
        }
    }

    /// The nodes that are registered; none where the metadata, or the metadata version, knows no registrations of
    /// controllers, or none has been written yet.
    fn describe_cluster(
        &self,
        connection: &mut Connection,
        address: &Address,
        deadline: Instant,
    ) -> Result<Option<DescribeClusterResponse>, Attempt> {
        let wanted = match self.kind {
            EndpointKind::Brokers => 1,
            EndpointKind::Controllers => 2,
        };
        let request = DescribeClusterRequest {
            endpoint_type: wanted,
            ..DescribeClusterRequest::default()
        };
        let response = match connection.ask(&request, deadline) {
            // A quorum of other metadata than Kafka's.
            Err(ConnectionError::NotServed { .. }) if self.kind == EndpointKind::Controllers => {
                return Ok(None);
            }
            response => response?,
        };
        let api = "DescribeCluster";
        if self.kind == EndpointKind::Controllers
            && response.error_code == ErrorCode::UnsupportedVersion.code()
        {
            return Ok(None);
        }
        check_code(address, api, response.error_code, &response.error_message)?;
        if response.endpoint_type != wanted {
            return Err(nonsense(address, api, "it lists another kind of nodes"));
        }
        Ok(Some(response))
    }
}

/// Whoever answers for the quorum.
struct Leader {
    /// Where it is known.
    cluster_id: Option<String>,
    address: Address,
    connection: Connection,
}

impl Leader {
    /// Fails before the first metadata version is in force: what cannot be told yet soon will be.
    fn check_begun(&mut self, deadline: Instant) -> Result<(), Attempt> {
        let features = features::of_node(&self.address, &mut self.connection, deadline)?;
        if features.lack_level(METADATA_VERSION) {
            return Err(Attempt::Again(
                "the cluster begins, and has no metadata.version yet".to_owned(),
            ));
        }
        Ok(())
    }

    /// Only a leader answers this.
    fn describe_quorum(
        &mut self,
        deadline: Instant,
    ) -> Result<(DescribeQuorumResponsePartition, Vec<DescribeQuorumResponseNode>), Attempt> {
        let mut response = self.connection.ask(&describe_quorum_request(), deadline)?;
        let (address, api) = (&self.address, "DescribeQuorum");
        check_code(address, api, response.error_code, &response.error_message)?;
        let mut topic = match response.topics.len() {
            1 => response.topics.remove(0),
            _ => return Err(nonsense(address, api, "not exactly one topic")),
        };
        if topic.topic_name != METADATA_TOPIC {
            return Err(nonsense(address, api, "another topic"));
        }
        let partition = match topic.partitions.len() {
            1 => topic.partitions.remove(0),
            _ => return Err(nonsense(address, api, "not exactly one partition")),
        };
        check_code(address, api, partition.error_code, &partition.error_message)?;
        Ok((partition, response.nodes))
    }
}

/// `listed_at` told of the node.
fn connect_to(
    node: &DescribeClusterResponseBroker,
    listed_at: &Address,
    deadline: Instant,
) -> Result<(Address, Connection), Attempt> {
    let port = u16::try_from(node.port).map_err(|_| nonsense(listed_at, "DescribeCluster", "port"))?;
    let target = Address {
        host: node.host.clone(),
        port,
    };
    let connection = Connection::open(&target, deadline)?;
    Ok((target, connection))
}

/// How one attempt ended without an answer.
enum Attempt {
    Final(AdminError),
    Again(String),
}

impl From<ConnectionError> for Attempt {
    fn from(error: ConnectionError) -> Attempt {
        Attempt::Again(error.to_string())
    }
}

fn nonsense(address: &Address, api: &'static str, what: &'static str) -> Attempt {
    Attempt::Final(AdminError::Nonsense {
        address: address.clone(),
        api,
        what,
    })
}

/// The codes that another attempt will not change end it, as they end Kafka's client.
fn check_code(
    address: &Address,
    api: &'static str,
    code: i16,
    message: &Option<String>,
) -> Result<(), Attempt> {
    let code = ErrorCode::from_code(code);
    if !code.is_error() {
        return Ok(());
    }
    let is_final = matches!(
        code,
        ErrorCode::ClusterAuthorizationFailed
            | ErrorCode::MismatchedEndpointType
            | ErrorCode::UnsupportedEndpointType
            | ErrorCode::UnknownTopicOrPartition
            | ErrorCode::InvalidRequest
    );
    if is_final {
        let (address, message) = (address.clone(), message.clone());
        return Err(Attempt::Final(AdminError::Refused {
            address,
            api,
            code,
            message,
        }));
    }
    Err(Attempt::Again(format!(
        "{api} is answered with {}{}",
        code.name(),
        text(message)
    )))
}

fn text(message: &Option<String>) -> String {
    message
        .as_ref()
        .filter(|text| !text.is_empty())
        .map(|text| format!(" ({text})"))
        .unwrap_or_default()
}

fn describe_quorum_request() -> DescribeQuorumRequest {
    DescribeQuorumRequest {
        topics: vec![DescribeQuorumRequestTopic {
            topic_name: METADATA_TOPIC.to_owned(),
            partitions: vec![DescribeQuorumRequestPartition::default()],
            ..DescribeQuorumRequestTopic::default()
        }],
        ..DescribeQuorumRequest::default()
    }
}

const METADATA_TOPIC: &str = "__cluster_metadata";

const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_BACKOFF: Duration = Duration::from_millis(100);
