//! What the fields of a message can say.

use super::*;

impl Victim {
    pub(super) fn number(&mut self, around: i64) -> i64 {
        match self.random.below(24) {
            0 => i64::MAX,
            1 => i64::MIN,
            2 => -1,
            3 => 0,
            4 => i64::MAX / 2,
            5..8 => around.saturating_add(1),
            8..11 => around.saturating_sub(1),
            11 => around.saturating_add(40),
            12 => i64::from(i32::MAX),
            _ => around,
        }
    }

    pub(super) fn int(&mut self, around: i32) -> i32 {
        let number = self.number(i64::from(around));
        i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX })
    }

    pub(super) fn offset(&mut self) -> i64 {
        let end = self.disk.end().last_offset;
        if self.random.one_in(3) {
            let inside = self
                .random
                .below(usize::try_from(end.clamp(1, 1000)).expect("small"));
            return i64::try_from(inside).expect("small");
        }
        self.number(end)
    }

    pub(super) fn epoch(&mut self) -> Epoch {
        let current = self.replica.epoch().0;
        match self.random.below(30) {
            0 => Epoch(self.int(current)),
            1 => Epoch(current + 1),
            2..5 => Epoch(current - 1),
            _ => Epoch(current),
        }
    }

    pub(super) fn log_epoch(&mut self) -> Epoch {
        let last = self.disk.end().last_epoch.0;
        Epoch(if self.random.one_in(3) {
            self.int(last)
        } else {
            last
        })
    }

    pub(super) fn node(&mut self) -> NodeId {
        NodeId(
            *self
                .random
                .pick(&[-2, -1, 1, 2, 2, 2, 3, 3, 9, i32::MAX, i32::MIN]),
        )
    }

    pub(super) fn replica_key(&mut self) -> ReplicaKey {
        let id = self.node();
        if self.random.one_in(3) {
            ReplicaKey::without_directory(id)
        } else {
            key(id.0)
        }
    }

    pub(super) fn directory(&mut self) -> Uuid {
        *self.random.pick(&[Uuid::nil(), Uuid::nil(), Uuid::max()])
    }

    pub(super) fn cluster(&mut self) -> Option<kraft_core::Text> {
        match self.random.below(12) {
            0 => Some("another cluster".into()),
            1 => Some(kraft_core::Text::default()),
            2 => Some(crate::settings::CLUSTER.into()),
            _ => None,
        }
    }

    pub(super) fn endpoints(&mut self) -> Endpoints {
        let mut endpoints = Endpoints::empty();
        for name in ["OTHER", "third", LISTENER] {
            if self.random.one_in(2) {
                endpoints.insert(name, endpoint(2));
            }
        }
        endpoints
    }

    pub(super) fn one_endpoint(&mut self) -> Option<Endpoint> {
        (!self.random.one_in(3)).then(|| endpoint(2))
    }

    pub(super) fn partition(&mut self) -> PartitionMatch {
        match self.random.below(16) {
            0 => PartitionMatch::Other,
            1 => PartitionMatch::Malformed,
            _ => PartitionMatch::Metadata,
        }
    }

    pub(super) fn error(&mut self) -> ErrorCode {
        let codes = [
            -1, 3, 6, 6, 7, 8, 13, 35, 42, 74, 75, 98, 99, 104, 125, 126, 127, 999,
        ];
        if self.random.below(10) < 7 {
            return ErrorCode::None;
        }
        ErrorCode::from_code(*self.random.pick(&codes))
    }

    pub(super) fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(super) fn payload(&mut self) -> PayloadId {
        let payload = PayloadId(self.fresh());
        self.payloads.insert(payload);
        payload
    }

    pub(super) fn context(&mut self) -> RequestContext {
        let reply = ReplyId(self.fresh());
        self.waiting.insert(reply);
        let listener = if self.random.one_in(3) {
            Listener::Advertised(*self.random.pick(&[0, 1, u16::MAX]))
        } else {
            (*self.random.pick(&[LISTENER, "controller", "unknown", ""])).into()
        };
        RequestContext {
            reply,
            listener,
            partition: self.partition(),
        }
    }

    pub(super) fn request(&mut self) -> RequestId {
        match (self.random.below(8), self.requests.as_slice()) {
            (0, _) | (_, []) => RequestId(self.random.next()),
            (1, sent) => *self.random.pick(sent),
            (2..5, sent) => sent[sent.len().saturating_sub(2)],
            (_, sent) => sent[sent.len() - 1],
        }
    }

    pub(super) fn answer(&mut self) -> AnswerContext {
        let leader = self.replica.leader().filter(|_| !self.random.one_in(5));
        AnswerContext {
            request: self.request(),
            top_level: if self.random.one_in(12) {
                self.error()
            } else {
                ErrorCode::None
            },
            partition: self.partition(),
            error: self.error(),
            leader: leader.or_else(|| self.random.one_in(2).then(|| self.node())),
            leader_endpoint: self.one_endpoint(),
        }
    }

    pub(super) fn control(&mut self) -> Vec<ControlRecord> {
        let sets: [&[i32]; 7] = [&[1, 2, 3], &[1, 2], &[2, 3], &[1], &[], &[2, 9], &[-1, 1]];
        let mut records = Vec::new();
        for _ in 0..self.random.below(4) {
            records.push(match self.random.below(8) {
                0 => ControlRecord::LeaderChange {
                    leader: self.node(),
                    voters: vec![self.node()],
                    granting: Vec::new(),
                },
                1 => ControlRecord::KRaftVersion(1),
                2 if self.random.one_in(20) => ControlRecord::KRaftVersion(*self.random.pick(&[2, i16::MIN])),
                _ => ControlRecord::Voters(dynamic_voters(sets[self.random.below(sets.len())])),
            });
        }
        records
    }

    pub(super) fn records(&mut self) -> FetchedRecords {
        match self.random.below(8) {
            0 => return FetchedRecords::Empty,
            1 => return FetchedRecords::Corrupt,
            _ => {}
        }
        let mut base = self.disk.end().last_offset;
        let mut batches = Vec::new();
        for _ in 0..self.random.below(4) {
            if self.random.one_in(40) {
                base = self.offset();
            }
            let last = match self.random.below(60) {
                0 => self.number(base),
                _ => base.saturating_add(i64::try_from(self.random.below(4)).expect("small")),
            };
            let control = self.random.one_in(6).then(|| self.control());
            batches.push(BatchInfo {
                base,
                last,
                epoch: if self.random.one_in(3) {
                    self.epoch()
                } else {
                    self.log_epoch()
                },
                bytes: u32::MAX,
                control,
            });
            base = last.saturating_add(1);
        }
        let payload = self.payload();
        let batches = batches.into();
        FetchedRecords::Batches { batches, payload }
    }

    pub(super) fn snapshot(&mut self) -> SnapshotId {
        if let Some(id) = self.disk.latest_snapshot().filter(|_| self.random.one_in(4)) {
            return id;
        }
        SnapshotId {
            end_offset: self.offset(),
            epoch: self.log_epoch(),
        }
    }
}
