//! What keeps a text from elsewhere from breaking a line and from steering a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with every character escaped that a terminal does not print but obeys, or that changes the order in which the
/// others are read.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            other if steers(other) => {
                write!(shown, "\\u{:04x}", other as u32).expect("a string takes everything");
            }
            other => shown.push(other),
        }
    }
    Cow::Owned(shown)
}

fn steers(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_printed() {
        assert_eq!(printable("käfka-1"), "käfka-1");
        assert_eq!(
            printable("\u{1b}[2Jx\u{7}\n\t\u{9b}1m"),
            "\\u001b[2Jx\\u0007\\n\\t\\u009b1m"
        );
        assert_eq!(printable("a\u{202e}b\u{2066}"), "a\\u202eb\\u2066");
    }
}
