//! How many connections each address has, so that one that opens many leaves room for the others.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How many connections an address may have at a time, on all listeners of a node together: Kafka's
/// `max.connections.per.ip` and `max.connections.per.ip.overrides`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressLimits {
    /// That of every address without one of its own.
    pub max: usize,
    /// Those of some.
    pub overrides: HashMap<IpAddr, usize>,
}

impl Default for AddressLimits {
    /// No limit, as in Kafka.
    fn default() -> Self {
        Self {
            max: usize::MAX,
            overrides: HashMap::new(),
        }
    }
}

impl AddressLimits {
    fn of(&self, address: IpAddr) -> usize {
        self.overrides.get(&address).copied().unwrap_or(self.max)
    }
}

/// The connections of a node, counted by address.
#[derive(Debug, Default)]
pub(crate) struct Addresses(Mutex<HashMap<IpAddr, usize>>);

/// A connection that counts for its address until it is dropped.
#[derive(Debug)]
pub(super) struct Counted {
    addresses: Arc<Addresses>,
    address: IpAddr,
}

impl Addresses {
    /// Counts one more connection of an address, or says how many it may have if that is too many.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr, limits: &AddressLimits) -> Result<Counted, usize> {
        // A socket for both protocols shows an IPv4 address inside an IPv6 one.
        let address = address.to_canonical();
        let max = limits.of(address);
        let mut counts = self.lock();
        let count = counts.get(&address).copied().unwrap_or(0);
        if count >= max {
            return Err(max);
        }
        counts.insert(address, count + 1);
        drop(counts);
        Ok(Counted {
            addresses: Arc::clone(self),
            address,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        // Nothing is half done when it is released.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.addresses.lock();
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_as_many_as_it_may_and_another_after_one_has_ended() {
        let addresses = Arc::<Addresses>::default();
        let [here, there, mapped] =
            ["127.0.0.1", "::1", "::ffff:127.0.0.1"].map(|text| text.parse::<IpAddr>().unwrap());
        let limits = AddressLimits {
            max: 2,
            overrides: [(there, 1)].into(),
        };
        let first = addresses.enter(here, &limits).unwrap();
        let second = addresses.enter(mapped, &limits).unwrap();
        assert_eq!(addresses.enter(here, &limits).unwrap_err(), 2);
        let other = addresses.enter(there, &limits).unwrap();
        assert_eq!(addresses.enter(there, &limits).unwrap_err(), 1);
        drop(first);
        let third = addresses.enter(mapped, &limits).unwrap();
        drop((second, third, other));
        assert!(addresses.lock().is_empty(), "those who have left take no memory");
    }

    #[test]
    fn without_a_limit_there_is_none_and_zero_lets_nobody_in() {
        let addresses = Arc::<Addresses>::default();
        let here = IpAddr::from([127, 0, 0, 1]);
        let many: Vec<_> = (0..10_000)
            .map(|_| addresses.enter(here, &AddressLimits::default()))
            .collect();
        assert!(many.iter().all(Result::is_ok));
        let none = AddressLimits {
            max: 0,
            ..Default::default()
        };
        assert_eq!(Arc::<Addresses>::default().enter(here, &none).unwrap_err(), 0);
    }
}
