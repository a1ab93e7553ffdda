//! Kafka's metadata records and image as a ready state machine for kraft.
