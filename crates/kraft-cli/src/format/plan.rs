//! From the arguments and the configuration to what is to be written, checked in Kafka's order.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io;
use std::path::PathBuf;

use kraft_core::Endpoint;
use kraft_log::format::InitialVoters;
use kraft_metadata::bootstrap::{BootstrapError, bootstrap_records};
use kraft_metadata::feature::{KRAFT_VERSION, METADATA_VERSION, MetadataVersion};
use kraft_transport::properties::ServerConfig;
use thiserror::Error;

use super::scram::{ScramError, ScramSpec};
use super::voter_list::{self, VoterListError};
use super::{Arguments, Founding};
use crate::random;

/// What is to be formatted.
pub(super) struct Plan {
    pub(super) directories: Vec<PathBuf>,
    pub(super) voters: InitialVoters,
    pub(super) version: MetadataVersion,
    features: BTreeMap<String, i16>,
    scram: Vec<ScramSpec>,
}

/// Why it is not formatted.
#[derive(Debug, Error)]
pub(super) enum PlanError {
    #[error("--release-version {given}: no such release of Kafka up to 4.4")]
    Release { given: String },
    #[error("--feature {given}: expected NAME=LEVEL with a level from -32768 to 32767")]
    Feature { given: String },
    #[error("--feature {name} is given twice")]
    FeatureTwice { name: String },
    #[error("{flag} is for a dynamic quorum, but controller.quorum.voters is set: remove one of them")]
    StaticVoters { flag: &'static str },
    #[error(
        "controller.quorum.voters is not set: say how the quorum begins with one of --standalone, \
         --initial-controllers and --no-initial-controllers"
    )]
    NoFounding,
    #[error(transparent)]
    VoterList(#[from] VoterListError),
    #[error("--release-version and --feature {METADATA_VERSION} say the same thing: give one of them")]
    TwoVersions,
    #[error("--feature {METADATA_VERSION}={level}: no such level, or none for production")]
    MetadataVersion { level: i16 },
    #[error("--feature {KRAFT_VERSION}=0 is for a quorum with controller.quorum.voters, which is not set")]
    DynamicNeedsOne,
    #[error("--feature {KRAFT_VERSION}={level} is for a dynamic quorum, but controller.quorum.voters is set")]
    StaticNeedsZero { level: i16 },
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    #[error("--add-scram: {0}")]
    Scram(#[from] ScramError),
    #[error("/dev/urandom: {0}")]
    Random(#[from] io::Error),
}

impl Plan {
    pub(super) fn new(arguments: &Arguments, config: &ServerConfig) -> Result<Plan, PlanError> {
        let release = arguments.release_version.as_deref().map(release).transpose()?;
        let mut features = features(&arguments.feature)?;
        let voters = voters(&arguments.founding, config)?;
        let level = features.remove(METADATA_VERSION);
        let version = match (release, level) {
            (Some(_), Some(_)) => return Err(PlanError::TwoVersions),
            (Some(version), None) => version,
            (None, Some(level)) => MetadataVersion::from_level(level)
                .filter(|version| version.is_production())
                .ok_or(PlanError::MetadataVersion { level })?,
            (None, None) => MetadataVersion::LATEST_PRODUCTION,
        };
        check_kraft_version(&features, config)?;
        // Names and levels are checked before the credentials, as in Kafka.
        bootstrap_records(version, &features, &[])?;
        let scram = arguments
            .add_scram
            .iter()
            .map(|spec| spec.parse())
            .collect::<Result<_, _>>()?;
        let directories: BTreeSet<_> = config
            .log_dirs
            .iter()
            .chain([&config.metadata_log_dir])
            .cloned()
            .collect();
        Ok(Plan {
            directories: directories.into_iter().collect(),
            voters,
            version,
            features,
            scram,
        })
    }

    /// The values of the records that the cluster starts with.
    pub(super) fn bootstrap_values(
        &self,
        mut random_salt: impl FnMut() -> io::Result<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
        let credentials = self.scram.iter().map(|spec| spec.credential(&mut random_salt));
        let credentials: Vec<_> = credentials.collect::<Result<_, _>>()?;
        Ok(bootstrap_records(self.version, &self.features, &credentials)?)
    }
}

fn release(given: &str) -> Result<MetadataVersion, PlanError> {
    let version = MetadataVersion::from_name(given).filter(|version| version.is_production());
    version.ok_or_else(|| PlanError::Release {
        given: given.to_owned(),
    })
}

fn features(given: &[String]) -> Result<BTreeMap<String, i16>, PlanError> {
    let mut features = BTreeMap::new();
    for given in given {
        let wrong = || PlanError::Feature { given: given.clone() };
        let (name, level) = given.split_once('=').ok_or_else(wrong)?;
        let (name, level) = (name.trim().to_owned(), level.trim().parse().map_err(|_| wrong())?);
        if features.contains_key(&name) {
            return Err(PlanError::FeatureTwice { name });
        }
        features.insert(name, level);
    }
    Ok(features)
}

fn voters(founding: &Founding, config: &ServerConfig) -> Result<InitialVoters, PlanError> {
    let is_static = !config.quorum.voters.is_empty();
    let listener = config.default_listener();
    if founding.standalone {
        if is_static {
            return Err(PlanError::StaticVoters { flag: "--standalone" });
        }
        let advertised = config
            .advertised_listeners
            .first()
            .expect("a controller has a listener");
        let host = advertised.host.clone().unwrap_or_else(|| "localhost".to_owned());
        let endpoint = Endpoint {
            host: host.into(),
            port: advertised.port,
        };
        let voter = voter_list::founder(config.node_id.0, random::uuid()?, &advertised.name, endpoint);
        return Ok(InitialVoters::Listed([voter].into_iter().collect()));
    }
    match &founding.initial_controllers {
        Some(_) if is_static => Err(PlanError::StaticVoters {
            flag: "--initial-controllers",
        }),
        Some(list) => Ok(InitialVoters::Listed(voter_list::parse(list, listener)?)),
        None if is_static => Ok(InitialVoters::Static),
        None if founding.no_initial_controllers => Ok(InitialVoters::Elsewhere),
        None => Err(PlanError::NoFounding),
    }
}

fn check_kraft_version(features: &BTreeMap<String, i16>, config: &ServerConfig) -> Result<(), PlanError> {
    let is_static = !config.quorum.voters.is_empty();
    match features.get(KRAFT_VERSION) {
        Some(0) if !is_static => Err(PlanError::DynamicNeedsOne),
        Some(&level) if level != 0 && is_static => Err(PlanError::StaticNeedsZero { level }),
        _ => Ok(()),
    }
}
