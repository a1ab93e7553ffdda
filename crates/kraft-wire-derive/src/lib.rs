//! #[derive(Message)]: one declarative struct per Kafka message, the codec of every version from it.
