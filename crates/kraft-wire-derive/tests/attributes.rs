//! Declarations that are wrong are refused where they are wrong.

#[test]
fn wrong_declarations_are_compile_errors_at_their_place() {
    trybuild::TestCases::new().compile_fail("tests/attributes/*.rs");
}
