//! Where replicas listen.

use crate::{event::Listener, text::Text};
use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};
use core::{
    cmp::Ordering,
    hash::{Hash, Hasher},
};

/// A host and a port, unresolved as Kafka keeps them.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Host name or address text.
    pub host: Text,
    /// TCP port.
    pub port: u16,
}

impl Endpoint {
    fn folded_host(&self) -> impl Iterator<Item = u8> + '_ {
        self.host.as_bytes().iter().map(u8::to_ascii_lowercase)
    }
}

/// Hosts are equal regardless of case; hash and order follow.
impl PartialEq for Endpoint {
    fn eq(&self, other: &Self) -> bool {
        self.port == other.port && self.host.as_bytes().eq_ignore_ascii_case(other.host.as_bytes())
    }
}

impl Eq for Endpoint {}

impl Hash for Endpoint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for byte in self.folded_host() {
            state.write_u8(byte);
        }
        self.port.hash(state);
    }
}

impl PartialOrd for Endpoint {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Endpoint {
    fn cmp(&self, other: &Self) -> Ordering {
        self.folded_host()
            .cmp(other.folded_host())
            .then(self.port.cmp(&other.port))
    }
}

/// The endpoints of one replica by listener name. Names are upper case; no endpoint at all means "unknown".
///
/// They are shared: a copy allocates nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoints(Arc<[(Text, Endpoint)]>);

/// Of two endpoints of one listener the later one counts. Names are put in upper case.
impl FromIterator<(Text, Endpoint)> for Endpoints {
    fn from_iter<I: IntoIterator<Item = (Text, Endpoint)>>(listeners: I) -> Self {
        let by_name: BTreeMap<Text, Endpoint> = listeners
            .into_iter()
            .map(|(name, endpoint)| (Text::from(name.to_ascii_uppercase()), endpoint))
            .collect();
        Self(by_name.into_iter().collect())
    }
}

impl Endpoints {
    /// No endpoint known.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// One listener.
    #[must_use]
    pub fn single(listener: &str, endpoint: Endpoint) -> Self {
        [(Text::from(listener), endpoint)].into_iter().collect()
    }

    /// Adds or replaces a listener; its name is put in upper case. Many are better collected.
    pub fn insert(&mut self, listener: &str, endpoint: Endpoint) {
        let mut listeners: Vec<_> = self.0.to_vec();
        listeners.push((Text::from(listener), endpoint));
        *self = listeners.into_iter().collect();
    }

    /// The endpoint of a listener, whatever the case of the name.
    #[must_use]
    pub fn of(&self, listener: &str) -> Option<&Endpoint> {
        self.at(&Text::from(listener))
    }

    /// The listener of this name, in short if it is one of these.
    #[must_use]
    pub fn listener(&self, name: &str) -> Listener {
        let place = self.0.iter().position(|(known, _)| known == name);
        let place = place.and_then(|place| u16::try_from(place).ok());
        place.map_or_else(|| name.into(), Listener::Advertised)
    }

    /// The endpoint of a listener, where these are the endpoints among which it has its place.
    #[inline(always)]
    pub(crate) fn own(&self, listener: &Listener) -> Option<&Endpoint> {
        match listener {
            Listener::Advertised(place) => Some(&self.0.get(usize::from(*place))?.1),
            Listener::Named(name) => self.at(name),
        }
    }

    /// The endpoint of a listener that has its place among the endpoints `own`.
    pub(crate) fn corresponding(&self, listener: &Listener, own: &Self) -> Option<&Endpoint> {
        match listener {
            Listener::Advertised(place) => self.at(&own.0.get(usize::from(*place))?.0),
            Listener::Named(name) => self.at(name),
        }
    }

    /// As [`of`](Self::of), for a name that is a text already.
    #[inline]
    pub(crate) fn at(&self, listener: &Text) -> Option<&Endpoint> {
        // One listener is the rule, and so is its name in upper case.
        if let Some((name, endpoint)) = self.0.first()
            && name == listener
        {
            return Some(endpoint);
        }
        self.search(listener)
    }

    #[inline(never)]
    fn search(&self, listener: &Text) -> Option<&Endpoint> {
        let find = |wanted: &Text| {
            let place = self.0.binary_search_by(|(name, _)| name.cmp(wanted)).ok()?;
            Some(&self.0[place].1)
        };
        find(listener).or_else(|| find(&Text::from(listener.to_ascii_uppercase())))
    }

    /// Listener names and endpoints, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Endpoint)> {
        self.0.iter().map(|(name, endpoint)| (name.as_str(), endpoint))
    }

    /// The number of listeners.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a voter set may name them: no blank name, no blank host, and nothing out of all proportion. A JVM that
    /// reads another one from the log ends.
    #[must_use]
    pub fn may_be_recorded(&self) -> bool {
        let is_blank = |text: &str| {
            let mut characters = text.chars();
            // What Java trims, and what else nobody can see.
            characters.all(|character| character <= ' ' || character.is_whitespace())
        };
        let is_fine = |text: &str| !is_blank(text) && text.len() <= Self::TEXT_MAX;
        self.len() <= Self::LISTENERS_MAX
            && self
                .iter()
                .all(|(name, endpoint)| is_fine(name) && is_fine(&endpoint.host))
    }

    const LISTENERS_MAX: usize = 64;
    const TEXT_MAX: usize = 255;

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl core::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn voterset_017_an_endpoint_is_looked_up_by_listener() {
        let host = "localhost".into();
        let endpoints = Endpoints::single("LISTENER", Endpoint { host, port: 9092 });
        assert_eq!(
            endpoints.of("LISTENER").map(Endpoint::to_string).as_deref(),
            Some("localhost:9092")
        );
        assert_eq!(endpoints.of("OTHER"), None);
        assert_eq!(Endpoints::empty().of("LISTENER"), None);
    }

    #[test]
    fn what_a_jvm_cannot_read_may_not_be_recorded() {
        let one = |name: &str, host: &str| {
            let host = host.into();
            Endpoints::single(name, Endpoint { host, port: 0 })
        };
        assert!(one("LISTENER", "localhost").may_be_recorded());
        let long = "x".repeat(256);
        for (name, host) in [
            ("", "localhost"),
            (" ", "localhost"),
            ("\u{1f}", "localhost"),
            ("LISTENER", ""),
            (&long, "localhost"),
            ("LISTENER", &long),
        ] {
            assert!(!one(name, host).may_be_recorded(), "{name:?} at {host:?}");
        }
        let mut many = Endpoints::empty();
        for place in 0..65 {
            let host = "localhost".into();
            many.insert(&alloc::format!("L{place}"), Endpoint { host, port: 1 });
        }
        assert!(!many.may_be_recorded());
    }
}
