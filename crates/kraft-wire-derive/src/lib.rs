//! `#[derive(Message)]`: one declarative struct per Kafka message, from which the codec of every version follows.
//!
//! The macro is used through `kraft-wire`, which re-exports it beside the traits that it implements; the generated
//! code names that crate as `::kraft_wire`.
//!
//! Every deriving struct gets `Default` (with Kafka's defaults) and `kraft_wire::Field`, so it may stand inside other
//! messages. A struct with `#[kafka(versions = …)]` is a message of its own and gets `kraft_wire::Message` too.
//! `Clone`, `Debug` and `PartialEq` are derived as usual.
//!
//! # Attributes of the struct: `#[kafka(…)]`
//!
//! | attribute | meaning |
//! | --- | --- |
//! | `versions = 0..=2` | the valid versions; makes the struct a message |
//! | `flexible = 1` | first flexible version; absent: none |
//! | `kind = request` | `request`, `response`, `header` or `data` |
//! | `api_key = 52` | api key, or the type of the record; headers have none |
//! | `response = VoteResponse` | of a request: the answer, giving `kraft_wire::Request` |
//! | `name = "VoteRequest"` | Kafka's name, if it is not the name of the struct |
//!
//! # Attributes of a field: `#[kafka(…)]`
//!
//! | attribute | meaning |
//! | --- | --- |
//! | `since = 1`, `until = 4` | the versions that have the field; absent: all |
//! | `default = -1` | a literal or constant; `null` for a nullable field. Absent: zero, false, empty, also for a nullable string or array; null for nullable records |
//! | `nullable_since = 2` | first version in which an `Option` may be null; absent: all |
//! | `tag = 0` | the field is a tagged one under this number |
//! | `tag_since = 3` | first version in which it is a tagged one; absent: all versions that have it |
//! | `ignorable` | encoding drops the value silently in a version that lacks the field |
//! | `never_flexible` | the field keeps its old form in flexible versions |
//! | `records` | the bytes are record batches |
//! | `name = "KRaftVersion"` | Kafka's name, if it is not the field's in camel case |
//!
//! A field of the type `UnknownTags` takes no attribute: it keeps the tagged fields that the struct does not know.
//!
//! # Example
//!
//! A record of a broker project, with a second version:
//!
//! ```
//! use kraft_wire::{Message, UnknownTags};
//!
//! #[derive(Clone, Debug, PartialEq, Message)]
//! #[kafka(kind = data, api_key = 500, versions = 0..=1, flexible = 0)]
//! struct ShelfRecord {
//!     shelf_id: i32,
//!     #[kafka(default = -1)]
//!     owner: i32,
//!     #[kafka(since = 1, tag = 0, default = null)]
//!     label: Option<String>,
//!     books: Vec<Book>,
//!     unknown_tags: UnknownTags,
//! }
//!
//! #[derive(Clone, Debug, PartialEq, Message)]
//! struct Book {
//!     title: String,
//!     unknown_tags: UnknownTags,
//! }
//!
//! let shelf = ShelfRecord { shelf_id: 7, label: Some(String::from("new")), ..ShelfRecord::default() };
//! let bytes = shelf.to_bytes(1)?;
//! assert_eq!(ShelfRecord::from_bytes(&bytes, 1)?, shelf);
//! assert!(shelf.to_bytes(0).is_err(), "version 0 has no label");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does not do
//!
//! No generics, no enums, no tuple structs: a schema has none of them.

use proc_macro::TokenStream;

mod attributes;
mod expand;

/// Derives the codec of every version of a message, or of a struct inside a message. See the front page of the crate
/// for the attributes.
#[proc_macro_derive(Message, attributes(kafka))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expand::expand(&input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
