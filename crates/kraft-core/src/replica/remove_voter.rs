//! RemoveRaftVoter (KIP-853): a voter goes. Neither it nor the others are asked.

use super::{Replica, turn::Turn, voter_change::ChangeName};
use crate::{
    error_code::ErrorCode, handles::ReplyId, ids::ReplicaKey, kafka_text, reconfig::ChangeRefusal,
    text::Text, voter_set::VoterSet,
};
use alloc::format;

impl Replica {
    pub(super) fn handle_remove_voter(
        &mut self,
        reply: ReplyId,
        cluster_id: Option<&Text>,
        voter: &ReplicaKey,
        turn: &mut Turn<'_>,
    ) {
        self.expire_change(turn);
        match self.voters_without(cluster_id, voter) {
            Ok(voters) => {
                let offset = self.append_voters(voters, turn);
                self.await_commit(offset, Some(reply), turn);
            }
            Err(refusal) => self.refuse_change(reply, refusal, turn),
        }
    }

    fn voters_without(
        &self,
        cluster_id: Option<&Text>,
        voter: &ReplicaKey,
    ) -> Result<VoterSet, ChangeRefusal> {
        self.check_change_request(cluster_id, voter, ChangeName::Remove)?;
        self.check_quorum_is_settled(ChangeName::Remove)?;
        self.voters().remove(voter).ok_or_else(|| {
            let message = format!(
                "Cannot remove voter {} from the set of voters {}",
                kafka_text::replica_key(voter),
                kafka_text::voter_keys(self.voters())
            );
            ChangeRefusal::new(ErrorCode::VoterNotFound, message)
        })
    }
}
