//! Messages whose type is known only at run time, for tools.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

use crate::api_key::ApiKey;
use crate::error::{DecodeError, EncodeError};
use crate::message::*;
use crate::reader::Reader;
use crate::schema::Message;
use crate::value::Value;

/// A [`Message`] behind a pointer.
pub trait AnyMessage: fmt::Debug + Any {
    /// See [`Message::NAME`].
    fn name(&self) -> &'static str;

    /// See [`Message::encode`].
    fn encode_any(&self, version: i16, out: &mut Vec<u8>) -> Result<(), EncodeError>;

    /// See [`Message::to_json_value`].
    fn to_json_value_any(&self, version: i16) -> Value;
}

impl<M: Message + Any> AnyMessage for M {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn encode_any(&self, version: i16, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.encode(version, out)
    }

    fn to_json_value_any(&self, version: i16) -> Value {
        self.to_json_value(version)
    }
}

/// A message of any type, or why the bytes are none.
pub type AnyDecoded = Result<Box<dyn AnyMessage>, DecodeError>;

macro_rules! messages {
    ($($api:ident => $request:ident, $response:ident;)*) => {
        impl ApiKey {
            /// Reads the body of a request. `None` for an API whose messages this crate does not hold.
            pub fn decode_request(self, reader: &mut Reader, version: i16) -> Option<AnyDecoded> {
                match self {
                    $(Self::$api => Some(decode::<$request>(reader, version)),)*
                    _ => None,
                }
            }

            /// Reads the body of an answer. `None` for an API whose messages this crate does not hold.
            pub fn decode_response(self, reader: &mut Reader, version: i16) -> Option<AnyDecoded> {
                match self {
                    $(Self::$api => Some(decode::<$response>(reader, version)),)*
                    _ => None,
                }
            }
        }
    };
}

fn decode<M: Message + Any>(reader: &mut Reader, version: i16) -> AnyDecoded {
    M::decode(reader, version).map(|message| Box::new(message) as Box<dyn AnyMessage>)
}

messages! {
    Fetch => FetchRequest, FetchResponse;
    Metadata => MetadataRequest, MetadataResponse;
    SaslHandshake => SaslHandshakeRequest, SaslHandshakeResponse;
    ApiVersions => ApiVersionsRequest, ApiVersionsResponse;
    SaslAuthenticate => SaslAuthenticateRequest, SaslAuthenticateResponse;
    Vote => VoteRequest, VoteResponse;
    BeginQuorumEpoch => BeginQuorumEpochRequest, BeginQuorumEpochResponse;
    EndQuorumEpoch => EndQuorumEpochRequest, EndQuorumEpochResponse;
    DescribeQuorum => DescribeQuorumRequest, DescribeQuorumResponse;
    UpdateFeatures => UpdateFeaturesRequest, UpdateFeaturesResponse;
    FetchSnapshot => FetchSnapshotRequest, FetchSnapshotResponse;
    DescribeCluster => DescribeClusterRequest, DescribeClusterResponse;
    ControllerRegistration => ControllerRegistrationRequest, ControllerRegistrationResponse;
    AddRaftVoter => AddRaftVoterRequest, AddRaftVoterResponse;
    RemoveRaftVoter => RemoveRaftVoterRequest, RemoveRaftVoterResponse;
    UpdateRaftVoter => UpdateRaftVoterRequest, UpdateRaftVoterResponse;
    UnregisterController => UnregisterControllerRequest, UnregisterControllerResponse;
    MetadataFetch => MetadataFetchRequest, MetadataFetchResponse;
}
