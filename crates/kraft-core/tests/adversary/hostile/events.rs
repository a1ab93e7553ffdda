//! What a replica can be told: by anybody, and by somebody who answers what it has asked.

use super::*;

impl Victim {
    pub(super) fn request_event(&mut self) -> Event {
        match self.random.below(16) {
            12 | 13 => {
                let voter = self.replica_key();
                Event::ReceiveAddRaftVoter {
                    context: self.context(),
                    cluster_id: self.cluster(),
                    voter,
                    endpoints: self.endpoints(),
                    ack_when_committed: self.random.one_in(2),
                }
            }
            14 => Event::ReceiveRemoveRaftVoter {
                context: self.context(),
                cluster_id: self.cluster(),
                voter: self.replica_key(),
            },
            15 => self.change(),
            0 | 1 => Event::ReceiveVoteRequest {
                context: self.context(),
                from: self.replica_key(),
                cluster_id: self.cluster(),
                voter_id: self.node(),
                voter_directory_id: self.directory(),
                candidate_epoch: self.epoch(),
                candidate: self.node(),
                candidate_directory_id: self.directory(),
                candidate_log_end: LogEnd {
                    last_epoch: self.log_epoch(),
                    last_offset: self.offset(),
                },
                pre_vote: self.random.one_in(2),
            },
            2 => Event::ReceiveBeginQuorumEpoch {
                context: self.context(),
                cluster_id: self.cluster(),
                voter_id: self.node(),
                voter_directory_id: self.directory(),
                leader_id: self.node(),
                leader_epoch: self.epoch(),
                leader_endpoints: self.endpoints(),
            },
            3 => Event::ReceiveEndQuorumEpoch {
                context: self.context(),
                cluster_id: self.cluster(),
                leader_id: self.node(),
                leader_epoch: self.epoch(),
                leader_endpoints: self.endpoints(),
                successor_rank: SuccessorRank {
                    position: self.random.next() as u32 % 5,
                    successors: *self.random.pick(&[0, 1, 3, 4, 64, u32::MAX]),
                },
            },
            4..8 => Event::ReceiveFetch {
                context: self.context(),
                from: self.replica_key(),
                cluster: ClusterMatch::of(self.cluster().as_deref(), &crate::settings::CLUSTER.into()),
                fetch_epoch: self.epoch(),
                fetch_offset: self.offset(),
                last_fetched_epoch: self.log_epoch(),
                high_watermark: self.offset(),
                max_wait_ms: self.int(500),
                max_bytes: self.int(100),
            },
            8 => Event::ReceiveFetchSnapshot {
                context: self.context(),
                from: self.replica_key(),
                cluster_id: self.cluster(),
                fetch_epoch: self.epoch(),
                snapshot: self.snapshot(),
                position: self.number(100),
                max_bytes: self.int(100),
            },
            9 | 10 => Event::ReceiveUpdateRaftVoter {
                context: self.context(),
                cluster_id: self.cluster(),
                leader_epoch: self.epoch(),
                voter: self.replica_key(),
                endpoints: self.endpoints(),
                kraft_versions: SupportedVersions {
                    min: *self.random.pick(&[0, 0, 0, 1, -1, i16::MAX]),
                    max: *self.random.pick(&[1, 1, 1, 0, -1, i16::MAX]),
                },
            },
            _ => Event::ReceiveDescribeQuorum {
                context: self.context(),
            },
        }
    }

    /// What the embedder asks for.
    pub(super) fn change(&mut self) -> Event {
        let reply = self.context().reply;
        let key = self.replica_key();
        let voter = VoterNode {
            key,
            endpoints: self.endpoints(),
            kraft_versions: SupportedVersions { min: 0, max: 1 },
        };
        let change = match self.random.below(4) {
            0 => {
                return Event::UpgradeKRaftVersion {
                    reply,
                    epoch: self.random.one_in(2).then(|| self.epoch()),
                    level: *self.random.pick(&[1, 1, 0, 2, -1, i16::MAX]),
                    validate_only: self.random.one_in(4),
                };
            }
            1 => VoterChange::Add {
                voter,
                ack_when_committed: self.random.one_in(2),
            },
            2 => VoterChange::Remove { voter: key },
            _ => VoterChange::Update { voter },
        };
        Event::Reconfigure { reply, change }
    }

    pub(super) fn features(&mut self) -> Option<SupportedVersions> {
        let min = *self.random.pick(&[0, 0, 0, 1, -1, i16::MAX]);
        let max = *self.random.pick(&[1, 1, 1, 0, -1, i16::MAX]);
        (!self.random.one_in(5)).then_some(SupportedVersions { min, max })
    }

    pub(super) fn answer_event(&mut self) -> Event {
        match self.random.below(17) {
            13 => Event::ReceiveApiVersionsResponse {
                request: self.request(),
                from: self.replica_key(),
                error: self.error(),
                kraft_versions: self.features(),
            },
            14 => Event::ReceiveAddRaftVoterResponse {
                request: self.request(),
                from: self.replica_key(),
                error: self.error(),
            },
            15 => Event::ReceiveRemoveRaftVoterResponse {
                request: self.request(),
                from: self.replica_key(),
                error: self.error(),
            },
            0..4 => Event::ReceiveVoteResponse {
                answer: self.answer(),
                from: self.replica_key(),
                epoch: self.epoch(),
                vote_granted: !self.random.one_in(4),
            },
            4 => Event::ReceiveBeginQuorumEpochResponse {
                answer: self.answer(),
                from: self.replica_key(),
                epoch: self.epoch(),
            },
            5 => Event::ReceiveEndQuorumEpochResponse {
                answer: self.answer(),
                from: self.replica_key(),
                epoch: self.epoch(),
            },
            6..10 => {
                let answer = self.answer();
                Event::ReceiveFetchResponse {
                    leader_id: answer.leader.unwrap_or(NodeId(-1)),
                    answer,
                    from: self.replica_key(),
                    leader_epoch: self.epoch(),
                    high_watermark: self.offset(),
                    diverging: self.random.one_in(10).then(|| LogOffsetMetadata {
                        epoch: self.log_epoch(),
                        offset: self.offset().max(self.committed),
                    }),
                    snapshot: self.random.one_in(6).then(|| self.snapshot()),
                    records: self.records(),
                }
            }
            10..13 => {
                let snapshot = self.snapshot();
                Event::ReceiveFetchSnapshotResponse {
                    answer: self.answer(),
                    from: self.replica_key(),
                    leader_epoch: self.epoch(),
                    snapshot,
                    size: self.number(128),
                    position: self.number(64),
                    bytes: *self.random.pick(&[0, 64, 64, 64, u32::MAX]),
                    payload: self.payload(),
                }
            }
            _ => Event::ReceiveUpdateRaftVoterResponse {
                answer: self.answer(),
                from: self.replica_key(),
                leader_epoch: self.epoch(),
            },
        }
    }

    /// What an honest peer could say to the newest request.
    pub(super) fn honest_answer(&mut self) -> Option<Event> {
        let (request, body) = self.asked.clone()?;
        let epoch = self.replica.epoch();
        let leader = self
            .replica
            .leader()
            .or(Some(NodeId(2)).filter(|_| self.random.one_in(2)));
        let answer = AnswerContext {
            request,
            top_level: ErrorCode::None,
            partition: PartitionMatch::Metadata,
            error: ErrorCode::None,
            leader,
            leader_endpoint: Some(endpoint(2)),
        };
        let from = key(2);
        Some(match body {
            PeerRequest::Vote { .. } => Event::ReceiveVoteResponse {
                answer: AnswerContext {
                    leader: None,
                    ..answer
                },
                from,
                epoch,
                vote_granted: true,
            },
            PeerRequest::Fetch { log_end, .. } => {
                let (last_epoch, last) = (log_end.last_epoch, log_end.last_offset);
                let known = self.replica.high_watermark().unwrap_or(0).max(self.committed);
                let (diverging, snapshot) = match self.random.below(6) {
                    0 if last > known => {
                        let offset = known + i64::try_from(self.random.below(8)).expect("small");
                        (
                            Some(LogOffsetMetadata {
                                epoch: last_epoch,
                                offset: offset.min(last),
                            }),
                            None,
                        )
                    }
                    1 => (
                        None,
                        Some(SnapshotId {
                            end_offset: last + 10,
                            epoch: last_epoch,
                        }),
                    ),
                    _ => (None, None),
                };
                let quiet = diverging.is_some() || snapshot.is_some();
                Event::ReceiveFetchResponse {
                    leader_id: leader.unwrap_or(NodeId(-1)),
                    answer,
                    from,
                    leader_epoch: epoch,
                    high_watermark: last - i64::try_from(self.random.below(4)).expect("small"),
                    diverging,
                    snapshot,
                    records: if quiet {
                        FetchedRecords::Empty
                    } else {
                        self.records()
                    },
                }
            }
            PeerRequest::FetchSnapshot {
                snapshot, position, ..
            } => Event::ReceiveFetchSnapshotResponse {
                answer,
                from,
                leader_epoch: epoch,
                snapshot,
                size: position.max(64) + 64,
                position,
                bytes: 64,
                payload: self.payload(),
            },
            PeerRequest::BeginQuorumEpoch { .. } => {
                Event::ReceiveBeginQuorumEpochResponse { answer, from, epoch }
            }
            PeerRequest::EndQuorumEpoch { .. } => {
                Event::ReceiveEndQuorumEpochResponse { answer, from, epoch }
            }
            PeerRequest::ApiVersions => Event::ReceiveApiVersionsResponse {
                request,
                from,
                error: ErrorCode::None,
                kraft_versions: self.features(),
            },
            PeerRequest::AddRaftVoter { .. } => Event::ReceiveAddRaftVoterResponse {
                request,
                from,
                error: ErrorCode::None,
            },
            PeerRequest::RemoveRaftVoter { .. } => Event::ReceiveRemoveRaftVoterResponse {
                request,
                from,
                error: ErrorCode::None,
            },
            PeerRequest::UpdateRaftVoter { .. } => Event::ReceiveUpdateRaftVoterResponse {
                answer,
                from,
                leader_epoch: epoch,
            },
        })
    }
}
