use kraft_wire::uuid_text::base64;

use super::*;

fn derive(text: &str) -> ScramCredential {
    let spec: ScramSpec = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    spec.credential(|| Ok::<_, ScramError>(vec![7; 16])).unwrap()
}

#[test]
fn the_example_of_rfc_7677() {
    let credential = derive("SCRAM-SHA-256=[name=user,salt=\"W22ZaJ0SNY7soEsUEjb6gQ==\",password=pencil]");
    assert_eq!((credential.name.as_str(), credential.iterations), ("user", 4096));
    assert_eq!(
        base64(&credential.stored_key),
        "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    );
    assert_eq!(
        base64(&credential.server_key),
        "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    );
}

#[test]
fn a_salted_password_gives_the_same_keys() {
    let from_password = derive("SCRAM-SHA-512=[name=a,password=\"x,y\",salt=\"AAECAw==\",iterations=8192]");
    let mut salted = vec![0; 64];
    pbkdf2::pbkdf2_hmac::<Sha512>(b"x,y", &[0, 1, 2, 3], 8192, &mut salted);
    let from_salted = derive(&format!(
        "SCRAM-SHA-512=[name=a,salt=\"AAECAw==\",saltedpassword=\"{}\",iterations=8192]",
        base64(&salted)
    ));
    assert!(from_password == from_salted);
    assert_eq!(from_password.stored_key.len(), 64);
}

#[test]
fn a_missing_salt_is_random() {
    assert_eq!(derive("SCRAM-SHA-256=[name=a,password=b]").salt, [7; 16]);
}

#[test]
fn what_is_refused() {
    let cases = [
        ("SCRAM-SHA-1=[name=a,password=b]", ScramError::Form),
        ("SCRAM-SHA-256=name=a,password=b", ScramError::Form),
        ("SCRAM-SHA-256=[name]", ScramError::Form),
        ("SCRAM-SHA-256=[name=\"a]", ScramError::Form),
        ("SCRAM-SHA-256=[name=\"a\"b,password=c]", ScramError::Form),
        (
            "SCRAM-SHA-256=[name=a,name=b,password=c]",
            ScramError::Twice {
                key: "name".to_owned(),
            },
        ),
        ("SCRAM-SHA-256=[password=c]", ScramError::Missing { key: "name" }),
        ("SCRAM-SHA-256=[name=a]", ScramError::Missing { key: "password" }),
        (
            "SCRAM-SHA-256=[name=a,saltedpassword=TQ==]",
            ScramError::Missing { key: "salt" },
        ),
        (
            "SCRAM-SHA-256=[name=a,password=b,saltedpassword=TQ==,salt=TQ==]",
            ScramError::TwoSecrets,
        ),
        (
            "SCRAM-SHA-256=[name=a,password=b,salt=T]",
            ScramError::Base64 { key: "salt" },
        ),
        (
            "SCRAM-SHA-256=[name=a,password=b,iterations=4095]",
            ScramError::Iterations,
        ),
        (
            "SCRAM-SHA-256=[name=a,password=b,iterations=16385]",
            ScramError::Iterations,
        ),
        (
            "SCRAM-SHA-256=[name=a,password=b,iterations=x]",
            ScramError::Iterations,
        ),
        (
            "SCRAM-SHA-256=[name=a,password=b,colour=c]",
            ScramError::UnknownKey {
                key: "colour".to_owned(),
            },
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<ScramSpec>().err(), Some(expected), "{text}");
    }
}
