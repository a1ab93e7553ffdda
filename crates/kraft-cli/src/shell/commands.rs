//! The commands: which there are, and what each takes.

use std::io::{self, Write};

/// A command of the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Cat,
    Cd,
    Exit,
    Find,
    Help,
    History,
    Ls,
    Man,
    Pwd,
    Tree,
}

/// What there is to say about a command.
struct About {
    command: Command,
    name: &'static str,
    takes: &'static str,
    does: &'static str,
    /// How many arguments it needs, and how many it takes.
    count: (usize, usize),
    /// Whether it has a sense without a dialogue.
    one_shot: bool,
}

impl Command {
    /// The command of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        about_name(name).map(|about| about.command)
    }

    /// Whether it has a sense without a dialogue.
    pub(super) fn is_one_shot(self) -> bool {
        ABOUT.iter().any(|about| about.command == self && about.one_shot)
    }
}

impl About {
    fn usage(&self) -> String {
        let usage = format!("{} {}", self.name, self.takes);
        usage.trim_end().to_owned()
    }
}

/// What is wrong with the number of arguments of the command that has this name. A command may have several, and is
/// spoken of under the one that was entered.
pub(super) fn wrong_count(name: &str, count: usize) -> Option<String> {
    let about = about_name(name)?;
    let (min, max) = about.count;
    let what = if count < min {
        "an argument is missing"
    } else if count > max {
        "too many arguments"
    } else {
        return None;
    };
    Some(format!("{what}; usage: {}", about.usage()))
}

/// What the command that has this name does and takes; returns whether there is one.
pub(super) fn write_manual(name: &str, out: &mut dyn Write) -> io::Result<bool> {
    let Some(about) = about_name(name) else {
        return Ok(false);
    };
    writeln!(out, "{name}: {}\n\nusage: {}", about.does, about.usage())?;
    Ok(true)
}

fn about_name(name: &str) -> Option<&'static About> {
    ABOUT.iter().find(|about| about.name == name)
}

/// The names of the commands, joined by commas.
pub(super) fn names(one_shot_only: bool) -> String {
    let commands = ABOUT.iter().filter(|about| about.one_shot || !one_shot_only);
    commands.map(|about| about.name).collect::<Vec<_>>().join(", ")
}

/// The list of the commands.
pub(super) fn write_help(out: &mut dyn Write) -> io::Result<()> {
    for about in ABOUT {
        writeln!(out, "  {:<18} {}", about.usage(), about.does)?;
    }
    writeln!(
        out,
        "\nPaths are separated by /, and . and .. are what they are elsewhere. * stands for any characters, ? for one,\n\
         {{a,b}} for a or b; a backslash before one of them, and quotes around blanks, take away that meaning."
    )
}

const ABOUT: &[About] = &[
    about(
        Command::Cat,
        "cat",
        "PATH…",
        "shows what is in leaves",
        (1, MANY),
        true,
    ),
    about(
        Command::Cd,
        "cd",
        "[PATH]",
        "goes to a directory, without one to /",
        (0, 1),
        false,
    ),
    about(
        Command::Exit,
        "exit",
        "",
        "ends the shell, as quit and the end of input do",
        (0, 0),
        false,
    ),
    about(Command::Exit, "quit", "", "ends the shell", (0, 0), false),
    about(
        Command::Find,
        "find",
        "[PATH…]",
        "lists the paths of all that is below",
        (0, MANY),
        true,
    ),
    about(Command::Help, "help", "", "shows this list", (0, 0), false),
    about(
        Command::History,
        "history",
        "[N]",
        "shows the last lines that were entered",
        (0, 1),
        false,
    ),
    about(
        Command::Ls,
        "ls",
        "[PATH…]",
        "lists the names in directories",
        (0, MANY),
        true,
    ),
    about(
        Command::Man,
        "man",
        "COMMAND",
        "says what a command does",
        (1, 1),
        false,
    ),
    about(Command::Pwd, "pwd", "", "shows where one is", (0, 0), false),
    about(
        Command::Tree,
        "tree",
        "[PATH…]",
        "shows all that is below, with what is in it",
        (0, MANY),
        true,
    ),
];

const MANY: usize = usize::MAX;

const fn about(
    command: Command,
    name: &'static str,
    takes: &'static str,
    does: &'static str,
    count: (usize, usize),
    one_shot: bool,
) -> About {
    About {
        command,
        name,
        takes,
        does,
        count,
        one_shot,
    }
}
