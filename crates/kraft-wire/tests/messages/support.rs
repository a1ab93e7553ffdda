//! Layouts of messages as text, and random messages made from them without the crate's own encoder.

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use kraft_wire::message::*;
use kraft_wire::{AnyMessage, DecodeError, Message, Reader, Value};

/// A message type, as far as the tests need to know it.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) versions: (i16, i16),
    pub(crate) decode: fn(&Bytes, i16) -> Result<Decoded, DecodeError>,
    /// Bytes of memory that decoding allocates, whatever comes of it.
    pub(crate) cost: fn(&Bytes, i16) -> u64,
    /// Encodes what the bytes decode to, decodes that, and compares.
    pub(crate) survives: fn(&Bytes, i16),
}

pub(crate) struct Decoded {
    pub(crate) message: Box<dyn AnyMessage>,
    /// Its view for people.
    pub(crate) value: Value,
    /// Number of bytes behind it.
    pub(crate) left: usize,
}

macro_rules! kinds {
    ($($message:ident)*) => {
        [$(Kind {
            name: stringify!($message),
            versions: ($message::VERSION_MIN, $message::VERSION_MAX),
            decode: |bytes, version| {
                let mut reader = Reader::new(bytes.clone());
                let message = $message::decode(&mut reader, version)?;
                let value = message.to_json_value(version);
                Ok(Decoded { message: Box::new(message), value, left: reader.remaining() })
            },
            cost: |bytes, version| {
                allocation_counter::measure(|| drop($message::from_bytes(bytes, version))).bytes_total
            },
            survives: |bytes, version| {
                let Ok(message) = $message::from_bytes(bytes, version) else { return };
                let again = message.to_bytes(version).expect("what was decoded can be encoded");
                assert_eq!(message.encoded_size(version), Ok(again.len()));
                // The encoder leaves out tagged fields at their default and may so be shorter, never different.
                assert_eq!($message::from_bytes(&again, version).as_ref(), Ok(&message), "{bytes:?}");
            },
        }),*]
    };
}

/// Every message of the crate but the headers.
pub(crate) fn kinds() -> impl Iterator<Item = Kind> {
    kinds! {
        ApiVersionsRequest ApiVersionsResponse VoteRequest VoteResponse BeginQuorumEpochRequest
        BeginQuorumEpochResponse EndQuorumEpochRequest EndQuorumEpochResponse FetchRequest FetchResponse
        FetchSnapshotRequest FetchSnapshotResponse DescribeQuorumRequest DescribeQuorumResponse
        DescribeClusterRequest DescribeClusterResponse AddRaftVoterRequest AddRaftVoterResponse
        RemoveRaftVoterRequest RemoveRaftVoterResponse UpdateRaftVoterRequest UpdateRaftVoterResponse
        ControllerRegistrationRequest ControllerRegistrationResponse SaslHandshakeRequest SaslHandshakeResponse
        SaslAuthenticateRequest SaslAuthenticateResponse UpdateFeaturesRequest UpdateFeaturesResponse
        UnregisterControllerRequest UnregisterControllerResponse MetadataFetchRequest MetadataFetchResponse
        MetadataRequest MetadataResponse
    }
    .into_iter()
}

/// One layout of a message: what stands on the wire in some of its versions.
pub(crate) struct Layout {
    pub(crate) name: String,
    pub(crate) versions: (i16, i16),
    pub(crate) body: Struct,
}

pub(crate) struct Struct {
    pub(crate) fields: Vec<(String, Type)>,
    /// `None` in versions without tagged fields.
    pub(crate) tags: Option<Vec<(u32, String, Type)>>,
}

pub(crate) enum Type {
    /// An integer, a boolean or a uuid of so many bytes.
    Fixed(usize),
    Bool,
    Text {
        compact: bool,
        nullable: bool,
    },
    Bytes {
        compact: bool,
        nullable: bool,
    },
    Array {
        compact: bool,
        nullable: bool,
        element: Box<Struct>,
    },
    Struct(Struct),
}

/// All layouts of the description of the format.
pub(crate) fn layouts() -> Vec<Layout> {
    let text = fs::read_to_string(vectors().join("layouts.txt")).expect("vectors");
    text.lines()
        .map(|line| {
            let mut words = line.splitn(4, ' ');
            let mut word = || words.next().expect("four words");
            let name = String::from(word());
            let versions = (word().parse().expect("version"), word().parse().expect("version"));
            Layout {
                name,
                versions,
                body: Parser {
                    rest: word().replace("(empty)", "").as_str(),
                }
                .structure(),
            }
        })
        .collect()
}

pub(crate) fn vectors() -> PathBuf {
    PathBuf::from(crate::VECTORS)
}

pub(crate) fn hex(text: &str) -> Bytes {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn structure(&mut self) -> Struct {
        let mut fields = Vec::new();
        let mut tags = None;
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() || self.rest.starts_with([']', '}', ',', ')']) {
                return Struct { fields, tags };
            }
            let before = self.rest;
            let word = self.word();
            if word == "T" {
                tags = Some(self.tags());
            } else if self.eat(':') {
                fields.push((word, self.field_type()));
            } else {
                self.rest = before;
                fields.push((String::new(), self.field_type()));
            }
        }
    }

    fn tags(&mut self) -> Vec<(u32, String, Type)> {
        let mut tags = Vec::new();
        if self.eat('(') {
            loop {
                self.rest = self.rest.trim_start();
                let tag = self.word().parse().expect("a tag");
                assert!(self.eat('='));
                let name = self.word();
                assert!(self.eat(':'));
                tags.push((tag, name, self.field_type()));
                if !self.eat(',') {
                    break;
                }
            }
            assert!(self.eat(')'), "{}", self.rest);
        }
        tags
    }

    fn field_type(&mut self) -> Type {
        self.rest = self.rest.trim_start();
        if self.eat('{') {
            let inner = self.structure();
            assert!(self.eat('}'), "{}", self.rest);
            return Type::Struct(inner);
        }
        let word = self.word();
        let (compact, nullable) = (
            word.starts_with('c'),
            word.starts_with('n') || word.starts_with("cn"),
        );
        if self.eat('[') {
            let element = Box::new(self.structure());
            assert!(self.eat(']'), "{}", self.rest);
            return Type::Array {
                compact,
                nullable,
                element,
            };
        }
        match word.trim_start_matches('c').trim_start_matches('n') {
            "i8" => Type::Fixed(1),
            "i16" | "u16" => Type::Fixed(2),
            "i32" => Type::Fixed(4),
            "i64" => Type::Fixed(8),
            "uuid" => Type::Fixed(16),
            "bool" => Type::Bool,
            "str" => Type::Text { compact, nullable },
            "bytes" | "records" => Type::Bytes { compact, nullable },
            other => panic!("type {other}"),
        }
    }

    fn word(&mut self) -> String {
        let end = self
            .rest
            .find(|letter: char| !letter.is_ascii_alphanumeric())
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        String::from(word)
    }

    fn eat(&mut self, letter: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(letter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

/// A small generator of numbers, so that a seed gives the same message for ever.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

/// The bytes of a random message of this layout, in the form in which an encoder writes it.
pub(crate) fn random_message(body: &Struct, random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    put_struct(body, random, false, &mut out);
    out
}

/// `distinct` keeps all values away from every default, as those of a tagged field on the wire are.
fn put_struct(body: &Struct, random: &mut Random, distinct: bool, out: &mut Vec<u8>) {
    for (_, field) in &body.fields {
        put(field, random, distinct, out);
    }
    let Some(tags) = &body.tags else { return };
    let mut section: Vec<(u32, Vec<u8>)> = Vec::new();
    for (tag, _, field) in tags {
        if random.one_in(2) {
            let mut data = Vec::new();
            put(field, random, true, &mut data);
            section.push((*tag, data));
        }
    }
    if random.one_in(4) {
        section.push((40 + random.below(400) as u32, vec![7; random.below(5) as usize]));
    }
    varint(section.len() as u32, out);
    for (tag, data) in section {
        varint(tag, out);
        varint(data.len() as u32, out);
        out.extend(data);
    }
}

fn put(field: &Type, random: &mut Random, distinct: bool, out: &mut Vec<u8>) {
    match field {
        Type::Fixed(size) if distinct => {
            out.extend(vec![0; size - 1]);
            out.push(2 + random.below(100) as u8);
        }
        Type::Fixed(size) => {
            let all = [random.next(), random.next()].map(u64::to_be_bytes).concat();
            let value = match random.below(4) {
                0 => vec![0; *size],
                1 => vec![0xff; *size],
                _ => all[..*size].to_vec(),
            };
            out.extend(value);
        }
        Type::Bool => out.push(u8::from(distinct || random.one_in(2))),
        Type::Text { compact, nullable } => {
            let text = ["", "a", "c3.example", "grün", "__cluster_metadata"][random.below(5) as usize];
            let null = *nullable && !distinct && random.one_in(4);
            let text = if distinct && text.is_empty() { "x" } else { text };
            match (compact, null) {
                (true, true) => out.push(0),
                (true, false) => varint(text.len() as u32 + 1, out),
                (false, true) => out.extend((-1_i16).to_be_bytes()),
                (false, false) => out.extend((text.len() as i16).to_be_bytes()),
            }
            out.extend(if null { &[] } else { text.as_bytes() });
        }
        Type::Bytes { compact, nullable } => {
            let count = random.below(200) as usize;
            let null = *nullable && random.one_in(4);
            length(*compact, if null { None } else { Some(count) }, out);
            out.extend(vec![9; if null { 0 } else { count }]);
        }
        Type::Array {
            compact,
            nullable,
            element,
        } => {
            let count = random.below(4) as usize + usize::from(distinct);
            let null = *nullable && !distinct && random.one_in(4);
            length(*compact, if null { None } else { Some(count) }, out);
            for _ in 0..if null { 0 } else { count } {
                put_struct(element, random, distinct, out);
            }
        }
        Type::Struct(inner) => put_struct(inner, random, distinct, out),
    }
}

fn length(compact: bool, length: Option<usize>, out: &mut Vec<u8>) {
    match (compact, length) {
        (true, length) => varint(length.map_or(0, |length| length as u32 + 1), out),
        (false, length) => out.extend(length.map_or(-1, |length| length as i32).to_be_bytes()),
    }
}

fn varint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
