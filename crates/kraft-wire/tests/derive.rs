//! What the derive generates, on a record that a broker project might declare.

use bytes::Bytes;
use kraft_wire::{DecodeErrorKind, EncodeError, Message, Reader, UnknownTags};
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 500, versions = 0..=2, flexible = 1)]
struct Shelf {
    shelf_id: i32,
    #[kafka(since = 1, default = -1)]
    owner: i64,
    #[kafka(until = 1, ignorable)]
    colour: String,
    #[kafka(nullable_since = 1)]
    label: Option<String>,
    #[kafka(default = null)]
    note: Option<String>,
    #[kafka(since = 1, tag = 3, default = null)]
    wood: Option<Vec<u16>>,
    #[kafka(since = 2, tag = 0)]
    maker: Maker,
    books: Vec<Book>,
    #[kafka(since = 2, default = null)]
    lamp: Option<Book>,
    #[kafka(default = "dry")]
    air: String,
    load: f64,
    #[kafka(records)]
    log: Option<Bytes>,
    unknown_tags: UnknownTags,
}

#[derive(Clone, Debug, PartialEq, Message)]
struct Maker {
    maker_id: Uuid,
    #[kafka(name = "URL")]
    url: String,
}

#[derive(Clone, Debug, PartialEq, Message)]
struct Book {
    pages: u16,
    #[kafka(since = 1)]
    read: bool,
    unknown_tags: UnknownTags,
}

fn full() -> Shelf {
    let mut book = Book {
        pages: 300,
        read: true,
        ..Book::default()
    };
    book.unknown_tags.push(9, b"spine").expect("short");
    let mut shelf = Shelf {
        shelf_id: 7,
        owner: 12,
        colour: String::new(),
        label: None,
        note: Some(String::from("n")),
        wood: Some(vec![]),
        maker: Maker {
            maker_id: Uuid::from_u128(5),
            url: String::from("u"),
        },
        books: vec![book, Book::default()],
        lamp: Some(Book::default()),
        air: String::from("wet"),
        load: 0.5,
        log: Some(Bytes::from_static(b"batches")),
        unknown_tags: UnknownTags::default(),
    };
    shelf.unknown_tags.push(1, b"one").expect("short");
    shelf.unknown_tags.push(7, b"").expect("short");
    shelf
}

#[test]
fn defaults_are_kafkas() {
    let shelf = Shelf::default();
    assert_eq!(shelf.owner, -1);
    assert_eq!(shelf.label, Some(String::new()));
    assert_eq!(shelf.note, None);
    assert_eq!(shelf.air, "dry");
    assert_eq!(shelf.log, None);
}

#[test]
fn every_field_survives_and_the_size_is_exact() {
    let shelf = full();
    let bytes = shelf.to_bytes(2).expect("valid");
    assert_eq!(shelf.encoded_size(2), Ok(bytes.len()));
    assert_eq!(Shelf::from_bytes(&bytes, 2), Ok(shelf));
}

#[test]
fn the_layout_is_the_one_of_the_version() {
    let shelf = Shelf {
        shelf_id: 1,
        books: vec![Book {
            pages: 2,
            ..Book::default()
        }],
        ..Shelf::default()
    };
    let expected = [
        &[0, 0, 0, 1][..],         // shelfId
        &[0, 0],                   // colour
        &[0, 0],                   // label, empty
        &[0xff, 0xff],             // note, null
        &[0, 0, 0, 1, 0, 2],       // books
        &[0, 3, b'd', b'r', b'y'], // air
        &[0; 8],                   // load
        &[0xff, 0xff, 0xff, 0xff], // log, null
    ];
    assert_eq!(shelf.to_bytes(0).expect("valid"), expected.concat());
    let expected = [
        &[0, 0, 0, 1][..],
        &[0xff; 8],       // owner
        &[1],             // colour
        &[1],             // label
        &[0],             // note
        &[2, 0, 2, 0, 0], // books: pages, read, tags
        &[4, b'd', b'r', b'y'],
        &[0; 8],
        &[0],
        &[0], // tags
    ];
    assert_eq!(shelf.to_bytes(1).expect("valid"), expected.concat());
}

#[test]
fn tags_stand_in_rising_order_with_unknown_ones_between() {
    let bytes = full().to_bytes(2).expect("valid");
    let section = [
        &[4][..],
        &[0, 19],
        &[0; 15],
        &[5, 2, b'u', 0], // maker with its own tag section
        &[1, 3, b'o', b'n', b'e'],
        &[3, 1, 1], // wood: empty, not null
        &[7, 0],
    ]
    .concat();
    assert!(bytes.ends_with(&section), "{bytes:?}");
}

#[test]
fn a_version_that_lacks_a_field_refuses_it_unless_default_or_ignorable() {
    let error = |shelf: &Shelf, version| shelf.to_bytes(version).expect_err("refused");
    let lacks = |field, version| EncodeError::FieldNotInVersion {
        message: "Shelf",
        field,
        version,
    };
    let shelf = Shelf {
        owner: 3,
        ..Shelf::default()
    };
    assert_eq!(error(&shelf, 0), lacks("owner", 0));
    let shelf = Shelf {
        wood: Some(vec![1]),
        ..Shelf::default()
    };
    assert_eq!(error(&shelf, 0), lacks("wood", 0));
    let maker = Maker {
        url: String::from("x"),
        ..Maker::default()
    };
    assert_eq!(
        error(
            &Shelf {
                maker,
                ..Shelf::default()
            },
            1
        ),
        lacks("maker", 1)
    );
    let shelf = Shelf {
        label: None,
        ..Shelf::default()
    };
    let null = EncodeError::NullNotAllowed {
        message: "Shelf",
        field: "label",
        version: 0,
    };
    assert_eq!(error(&shelf, 0), null);
    let shelf = Shelf {
        colour: String::from("red"),
        ..Shelf::default()
    };
    assert!(shelf.to_bytes(2).is_ok());
    let mut shelf = Shelf::default();
    shelf.unknown_tags.push(1, b"x").expect("short");
    assert_eq!(
        error(&shelf, 0),
        EncodeError::TagsNotInVersion {
            message: "Shelf",
            version: 0
        }
    );
    assert_eq!(
        error(&shelf, 3),
        EncodeError::UnsupportedVersion {
            message: "Shelf",
            version: 3
        }
    );
}

#[test]
fn a_failed_encoding_leaves_the_buffer_as_it_was() {
    let mut out = vec![1, 2];
    full().encode(0, &mut out).expect_err("refused");
    assert_eq!(out, [1, 2]);
}

#[test]
fn a_known_tag_in_a_version_without_it_is_refused() {
    let mut bytes = Shelf::default().to_bytes(1).expect("valid").to_vec();
    bytes.pop();
    bytes.extend([1, 0, 1, 0]);
    let error = Shelf::from_bytes(&bytes.into(), 1).expect_err("refused");
    assert_eq!(
        error.kind,
        DecodeErrorKind::TagNotInVersion { tag: 0, version: 1 }
    );
}

#[test]
fn null_is_refused_where_the_version_does_not_have_it() {
    let mut bytes = Shelf::default().to_bytes(0).expect("valid").to_vec();
    bytes[6..8].copy_from_slice(&[0xff, 0xff]);
    let error = Shelf::from_bytes(&bytes.into(), 0).expect_err("refused");
    assert_eq!((error.kind, error.position), (DecodeErrorKind::UnexpectedNull, 6));
}

#[test]
fn records_are_slices_of_the_input() {
    let bytes = full().to_bytes(2).expect("valid");
    let log = Shelf::from_bytes(&bytes, 2)
        .expect("valid")
        .log
        .expect("not null");
    assert!(bytes.as_ptr_range().contains(&log.as_ptr()));
}

#[test]
fn a_count_is_not_believed() {
    let mut bytes = vec![0; 10];
    bytes.extend(1000_i32.to_be_bytes());
    let error = Shelf::from_bytes(&Bytes::from(bytes), 0).expect_err("refused");
    assert_eq!(
        (error.kind, error.position),
        (
            DecodeErrorKind::CountBeyondEnd {
                count: 1000,
                remaining: 0
            },
            10
        )
    );
    let mut bytes = vec![0; 10];
    bytes.extend(5000_i32.to_be_bytes());
    bytes.extend([0; 5000]);
    let error = Shelf::from_bytes(&Bytes::from(bytes), 0).expect_err("refused");
    assert_eq!(error.kind, DecodeErrorKind::OutOfProportion);
}

#[test]
fn values_have_the_names_of_kafkas_json() {
    let shelf = Shelf {
        maker: Maker {
            url: String::from("u"),
            ..Maker::default()
        },
        ..Shelf::default()
    };
    assert_eq!(
        shelf.to_json_value(2).to_string(),
        r#"{"shelfId":0,"owner":-1,"label":"","note":null,"maker":{"makerId":"AAAAAAAAAAAAAAAAAAAAAA","uRL":"u"},"books":[],"lamp":null,"air":"dry","load":0.0,"log":null}"#
    );
}

#[test]
fn bytes_behind_the_message_stay_unread() {
    let mut bytes = Shelf::default().to_bytes(2).expect("valid").to_vec();
    bytes.push(1);
    let mut reader = Reader::new(bytes.into());
    Shelf::decode(&mut reader, 2).expect("valid");
    assert_eq!(reader.remaining(), 1);
}
