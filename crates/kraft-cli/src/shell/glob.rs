//! One component of a path with wildcards: `*`, `?`, `{a,b}`, and a backslash before a character that would be one.

/// A component that can match more than one name.
#[derive(Debug)]
pub(super) struct Glob {
    steps: Vec<Step>,
}

/// A step of the machine that reads a name; all that are possible are taken at once, so that no pattern takes longer than
/// its length times that of the name.
#[derive(Debug)]
enum Step {
    /// This character.
    Is(char),
    /// Any one character.
    Any,
    /// Any number of characters, then the next step.
    Star,
    /// On with one of several steps.
    Either(Vec<usize>),
    /// On with another step.
    Jump(usize),
}

/// What a component says.
#[derive(Debug)]
pub(super) enum Component {
    /// One name, as it stands and without its backslashes.
    Name { raw: String, plain: String },
    /// A pattern.
    Glob(Glob),
}

impl Component {
    /// Reads a component. A group that is not closed, or one inside another, is no pattern: all of it is a name.
    pub(super) fn parse(text: &str) -> Self {
        let name = |plain: String| Self::Name {
            raw: text.to_owned(),
            plain,
        };
        match steps_of(text) {
            Some((steps, true)) => Self::Glob(Glob { steps }),
            Some((_, false)) => name(without_backslashes(text)),
            None => name(text.to_owned()),
        }
    }
}

impl Glob {
    /// Whether the whole name matches.
    pub(super) fn matches(&self, name: &str) -> bool {
        let mut possible = vec![false; self.steps.len() + 1];
        self.reach(0, &mut possible);
        for character in name.chars() {
            let mut next = vec![false; possible.len()];
            for (at, step) in self.steps.iter().enumerate().filter(|(at, _)| possible[*at]) {
                match step {
                    Step::Is(wanted) if *wanted == character => self.reach(at + 1, &mut next),
                    Step::Any => self.reach(at + 1, &mut next),
                    Step::Star => self.reach(at, &mut next),
                    Step::Is(_) | Step::Either(_) | Step::Jump(_) => {}
                }
            }
            possible = next;
        }
        possible[self.steps.len()]
    }

    /// Marks a step, and those that it leads to without a character.
    fn reach(&self, from: usize, possible: &mut [bool]) {
        let mut pending = vec![from];
        while let Some(at) = pending.pop() {
            if std::mem::replace(&mut possible[at], true) {
                continue;
            }
            match self.steps.get(at) {
                Some(Step::Star) => pending.push(at + 1),
                Some(Step::Either(ways)) => pending.extend(ways),
                Some(Step::Jump(to)) => pending.push(*to),
                Some(Step::Is(_) | Step::Any) | None => {}
            }
        }
    }
}

/// The steps of a pattern, and whether there is a wildcard; `None` if it is malformed.
fn steps_of(text: &str) -> Option<(Vec<Step>, bool)> {
    let mut steps = Vec::new();
    let mut wild = false;
    // The step that chooses between the parts of the group, and those that lead out of it.
    let mut group: Option<(usize, Vec<usize>)> = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '?' => steps.push(Step::Any),
            '*' => steps.push(Step::Star),
            '\\' => steps.push(Step::Is(characters.next().unwrap_or('\\'))),
            '{' if group.is_some() => return None,
            '{' => {
                group = Some((steps.len(), Vec::new()));
                let first = steps.len() + 1;
                steps.push(Step::Either(vec![first]));
            }
            ',' | '}' if group.is_some() => {
                let (choice, exits) = group.as_mut().expect("it is there");
                exits.push(steps.len());
                steps.push(Step::Jump(0));
                let behind = steps.len();
                if character == ',' {
                    if let Step::Either(ways) = &mut steps[*choice] {
                        ways.push(behind);
                    }
                } else {
                    for exit in exits.iter() {
                        steps[*exit] = Step::Jump(behind);
                    }
                    group = None;
                }
            }
            other => steps.push(Step::Is(other)),
        }
        wild |= matches!(character, '?' | '*' | '{');
    }
    group.is_none().then_some((steps, wild))
}

fn without_backslashes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.push(characters.next().unwrap_or('\\')),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, name: &str) -> bool {
        match Component::parse(glob) {
            Component::Glob(glob) => glob.matches(name),
            Component::Name { raw, plain } => raw == name || plain == name,
        }
    }

    #[test]
    fn patterns_match_what_they_say() {
        let rows = [
            ("*", "", true),
            ("*", "any\nthing", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("?", "é", true),
            ("?", "ab", false),
            ("{a,b}", "a", true),
            ("{a,b}", "b", true),
            ("{a,b}", "c", false),
            ("{a,b}", "ab", false),
            ("x{a,,b*}y", "xy", true),
            ("x{a,,b*}y", "xbbby", true),
            ("{}", "", true),
            ("{a}{b,c}d", "acd", true),
            ("a.b*", "axb", false),
            ("[a]*", "[a]bc", true),
            ("*\\*", "a*", true),
            ("*\\*", "ab", false),
            ("a,b", "a,b", true),
            ("a}", "a}", true),
        ];
        for (glob, name, expected) in rows {
            assert_eq!(matches(glob, name), expected, "{glob} on {name:?}");
        }
    }

    #[test]
    fn what_is_malformed_or_escaped_is_a_name() {
        assert!(matches("{a", "{a"));
        assert!(matches("{a{b}}", "{a{b}}"));
        assert!(!matches("{a{b}}", "ab"));
        assert!(matches("a\\*", "a*"));
        assert!(matches("user(a\\(b)", "user(a\\(b)"));
        assert!(!matches("a\\*", "ab"));
        assert!(matches("a\\", "a\\"));
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_its_length_says() {
        let glob = "{a*,*a,?*}".repeat(200);
        assert!(!matches(&glob, &"a".repeat(199)));
        assert!(matches(&glob, &"a".repeat(200)));
    }
}
