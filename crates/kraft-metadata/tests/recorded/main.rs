//! The crate against bytes recorded from Apache Kafka.

#[cfg(test)]
mod bootstrap;
#[cfg(test)]
mod records;
#[cfg(test)]
mod support;
