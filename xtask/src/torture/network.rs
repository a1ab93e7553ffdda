//! Where the voters are: each in a network namespace of its own, joined by a bridge in one more, or all on loopback.
//!
//! Nothing is seen of it outside of these namespaces. A link is cut in one direction by a neighbour entry that leads to
//! nobody: frames leave and are lost, as behind a broken switch, and the sender is told nothing.

use std::path::Path;
use std::process::Command;

use super::VOTERS;
use crate::interop::Failure;
use crate::port::HeldPort;

pub(crate) enum Network {
    Namespaces { names: Vec<String> },
    Loopback { ports: Vec<HeldPort> },
}

impl Network {
    /// The names of the namespaces of this process: that of the bridge, then those of the voters.
    pub(crate) fn names() -> Vec<String> {
        let process = std::process::id();
        let voters = (1..=VOTERS).map(|voter| format!("kraft-{process}-{voter}"));
        [format!("kraft-{process}-0")].into_iter().chain(voters).collect()
    }

    /// Builds the namespaces of these names. Whoever calls removes them, also after a failure.
    pub(crate) fn namespaces(names: Vec<String>) -> Result<Network, Failure> {
        for name in &names {
            ip(&["netns", "add", name])?;
            ip(&["-n", name, "link", "set", "lo", "up"])?;
        }
        let bridge = &names[0];
        ip(&["-n", bridge, "link", "add", "bridge0", "type", "bridge"])?;
        ip(&["-n", bridge, "link", "set", "bridge0", "up"])?;
        for (voter, name) in names.iter().enumerate().skip(1) {
            let port = port(voter);
            let mac = mac(voter);
            let address = format!("{}/24", address(voter));
            let pair = [
                "-n", bridge, "link", "add", &port, "type", "veth", "peer", "name", "eth0", "address", &mac,
                "netns", name,
            ];
            ip(&pair)?;
            ip(&["-n", bridge, "link", "set", &port, "master", "bridge0", "up"])?;
            ip(&["-n", name, "address", "add", &address, "dev", "eth0"])?;
            ip(&["-n", name, "link", "set", "eth0", "up"])?;
        }
        Ok(Network::Namespaces { names })
    }

    pub(crate) fn loopback() -> Result<Network, Failure> {
        let ports = (0..VOTERS).map(|_| HeldPort::find());
        Ok(Network::Loopback {
            ports: ports.collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn has_partitions(&self) -> bool {
        matches!(self, Network::Namespaces { .. })
    }

    /// Where the voters listen.
    pub(crate) fn addresses(&self) -> Vec<String> {
        match self {
            Network::Namespaces { .. } => (1..=VOTERS)
                .map(|voter| format!("{}:9093", address(voter)))
                .collect(),
            Network::Loopback { ports } => ports
                .iter()
                .map(|port| format!("127.0.0.1:{}", port.number()))
                .collect(),
        }
    }

    /// A command that runs a program where the voter is. It becomes the program, with the same process id.
    pub(crate) fn command(&self, voter: usize, program: &Path) -> Command {
        match self {
            Network::Namespaces { names } => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &names[voter]]).arg(program);
                command
            }
            Network::Loopback { .. } => Command::new(program),
        }
    }

    /// Loses what `from` sends to `to`.
    pub(crate) fn cut(&self, from: usize, to: usize) -> Result<(), Failure> {
        self.neighbour(from, to, NOBODY)
    }

    /// Loses everything that goes from a voter and to it, from one moment on.
    pub(crate) fn cut_off(&self, voter: usize) -> Result<(), Failure> {
        self.forward(voter, "disabled")
    }

    /// The end of [`cut_off`](Self::cut_off).
    pub(crate) fn reconnect(&self, voter: usize) -> Result<(), Failure> {
        self.forward(voter, "forwarding")
    }

    /// What the bridge does with the frames of a voter's port.
    fn forward(&self, voter: usize, state: &str) -> Result<(), Failure> {
        let Network::Namespaces { names } = self else {
            return Err("nobody is cut off on loopback".into());
        };
        run(
            "bridge",
            &[
                "-n",
                &names[0],
                "link",
                "set",
                "dev",
                &port(voter),
                "state",
                state,
            ],
        )
    }

    /// Lets so many kilobits a second through to a voter and from it. What would wait longer than a few tenths of a second is
    /// lost.
    pub(crate) fn slow(&self, voter: usize, kilobits: u64) -> Result<(), Failure> {
        let rate = format!("{kilobits}kbit");
        let limit = ["tbf", "rate", &rate, "burst", "2kb", "latency", "300ms"];
        for (name, device) in self.ends(voter) {
            let place = [
                "netns", "exec", &name, "tc", "qdisc", "add", "dev", &device, "root",
            ];
            ip(&[&place[..], &limit].concat())?;
        }
        Ok(())
    }

    /// The end of [`cut`](Self::cut).
    pub(crate) fn mend(&self, from: usize, to: usize) -> Result<(), Failure> {
        self.neighbour(from, to, &mac(to))
    }

    /// The end of [`slow`](Self::slow).
    pub(crate) fn hurry(&self, voter: usize) -> Result<(), Failure> {
        for (name, device) in self.ends(voter) {
            ip(&[
                "netns", "exec", &name, "tc", "qdisc", "delete", "dev", &device, "root",
            ])?;
        }
        Ok(())
    }

    fn neighbour(&self, from: usize, to: usize, mac: &str) -> Result<(), Failure> {
        let Network::Namespaces { names } = self else {
            return Err("links on loopback cannot be cut".into());
        };
        let (name, to) = (&names[from], address(to));
        ip(&[
            "-n",
            name,
            "neigh",
            "replace",
            &to,
            "lladdr",
            mac,
            "dev",
            "eth0",
            "nud",
            "permanent",
        ])
    }

    /// Both ends of a voter's cable: each limits what goes in one direction.
    fn ends(&self, voter: usize) -> Vec<(String, String)> {
        match self {
            Network::Namespaces { names } => {
                vec![
                    (names[0].clone(), port(voter)),
                    (names[voter].clone(), "eth0".to_owned()),
                ]
            }
            Network::Loopback { .. } => Vec::new(),
        }
    }
}

fn ip(arguments: &[&str]) -> Result<(), Failure> {
    run("ip", arguments)
}

fn run(program: &str, arguments: &[&str]) -> Result<(), Failure> {
    let output = Command::new(program).args(arguments).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{program} {}: {said}", arguments.join(" ")).into())
}

fn address(voter: usize) -> String {
    format!("10.77.0.{voter}")
}

fn mac(voter: usize) -> String {
    format!("02:00:00:00:00:{voter:02x}")
}

fn port(voter: usize) -> String {
    format!("port{voter}")
}

const NOBODY: &str = "02:00:00:00:00:ff";
