//! Changes of the quorum. Each is sent once: whether it was done is open when its answer is lost.

use std::time::Instant;

use kraft_wire::message::{
    AddRaftVoterRequest, AddRaftVoterResponse, RemoveRaftVoterRequest, RemoveRaftVoterResponse,
    UnregisterControllerRequest, UnregisterControllerResponse,
};
use kraft_wire::{ErrorCode, Request};

use super::{Address, Admin, AdminError, Attempt, text};

/// A request that changes the quorum.
trait Change: Request {
    const API: &'static str;

    /// Error and text of the answer.
    fn outcome(response: Self::Response) -> (i16, Option<String>);
}

impl Change for AddRaftVoterRequest {
    const API: &'static str = "AddRaftVoter";

    fn outcome(response: AddRaftVoterResponse) -> (i16, Option<String>) {
        (response.error_code, response.error_message)
    }
}

impl Change for RemoveRaftVoterRequest {
    const API: &'static str = "RemoveRaftVoter";

    fn outcome(response: RemoveRaftVoterResponse) -> (i16, Option<String>) {
        (response.error_code, response.error_message)
    }
}

impl Change for UnregisterControllerRequest {
    const API: &'static str = "UnregisterController";

    fn outcome(response: UnregisterControllerResponse) -> (i16, Option<String>) {
        (response.error_code, response.error_message)
    }
}

impl Admin {
    pub(crate) fn add_voter(&self, request: &AddRaftVoterRequest) -> Result<(), AdminError> {
        self.change(request)
    }

    pub(crate) fn remove_voter(&self, request: &RemoveRaftVoterRequest) -> Result<(), AdminError> {
        self.change(request)
    }

    pub(crate) fn unregister_controller(&self, controller_id: i32) -> Result<(), AdminError> {
        self.change(&UnregisterControllerRequest {
            controller_id,
            ..UnregisterControllerRequest::default()
        })
    }

    fn change<C: Change>(&self, request: &C) -> Result<(), AdminError> {
        self.until_answered(|address, deadline| self.change_through(address, deadline, request))
    }

    fn change_through<C: Change>(
        &self,
        address: &Address,
        deadline: Instant,
        request: &C,
    ) -> Result<(), Attempt> {
        let (target, response) = self.send_to_leader(C::API, address, deadline, request)?;
        let (code, message) = C::outcome(response);
        match ErrorCode::from_code(code) {
            code if !code.is_error() => Ok(()),
            // The leader has changed since it was looked up.
            code @ (ErrorCode::NotLeaderOrFollower | ErrorCode::NotController) => Err(Attempt::Again(
                format!("{} is answered with {}{}", C::API, code.name(), text(&message)),
            )),
            code => Err(Attempt::Final(AdminError::Refused {
                address: target,
                api: C::API,
                code,
                message,
            })),
        }
    }
}
