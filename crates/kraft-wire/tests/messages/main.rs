//! Messages made at random from an account of the format: right ones, and wrong ones.

mod hostile;
mod layouts;
mod support;
