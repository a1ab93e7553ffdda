//! The crate against bytes recorded from Apache Kafka.

#[cfg(test)]
mod bootstrap;
#[cfg(test)]
mod records;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod support;
