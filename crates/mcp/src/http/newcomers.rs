//! The places of connections: among the newcomers until a request had a valid token, then among those that are served.
//!
//! Newcomers are few, and one gives way to the next, so that clients without a token cannot keep those with one out. The
//! address with the most newcomers loses its oldest one, so that no address takes the places of the others. Behind a proxy
//! all connections have one address, and there the oldest of all gives way.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess::internal::locked;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a newcomer keeps its place in any case, from when the server first waited for its client: a client on a busy
/// machine may pause between connecting and sending. Further connections are queued meanwhile.
const MIN_TIME: Duration = Duration::from_millis(100);
/// When to look again for a connection that can give way.
const RETRY: Duration = Duration::from_millis(5);

/// The connections on which no request had a valid token yet.
pub(crate) struct Newcomers {
    max: usize,
    served: Arc<Semaphore>,
    open: Mutex<OpenNewcomers>,
}

#[derive(Default)]
struct OpenNewcomers {
    next: u64,
    len: usize,
    /// Those of each address, the oldest first.
    of: BTreeMap<IpAddr, BTreeMap<u64, Newcomer>>,
}

struct Newcomer {
    /// Since when the server has waited for its client. A connection that the server has not read yet does not give way: it
    /// may have sent a token.
    waiting: Option<Instant>,
    evicted: CancellationToken,
}

impl Newcomers {
    /// At most `max` newcomers, and at most `max_served` connections besides them.
    pub(crate) fn new(max: usize, max_served: usize) -> Arc<Self> {
        let served = Arc::new(Semaphore::new(max_served));
        Arc::new(Self { max: max.max(1), served, open: Mutex::default() })
    }

    /// The place of a new connection. If there are too many, another one gives way; an error says when one may.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Arc<ConnectionSlot>, Instant> {
        let address = network(address);
        let mut open = locked(&self.open);
        open.make_room(self.max, address)?;
        let (number, evicted) = open.insert(address);
        let (newcomers, permits, waited) = (Arc::clone(self), Mutex::default(), AtomicBool::new(false));
        Ok(Arc::new(ConnectionSlot { newcomers, address, number, waited, evicted, permits }))
    }

    /// How many newcomers an address has.
    pub(crate) fn of(&self, address: IpAddr) -> usize {
        locked(&self.open).of.get(&network(address)).map_or(0, BTreeMap::len)
    }

    /// How many newcomers there may be.
    pub(crate) fn max(&self) -> usize {
        self.max
    }
}

impl OpenNewcomers {
    fn insert(&mut self, address: IpAddr) -> (u64, CancellationToken) {
        let (number, evicted) = (self.next, CancellationToken::new());
        let newcomer = Newcomer { waiting: None, evicted: evicted.clone() };
        self.of.entry(address).or_default().insert(number, newcomer);
        self.next += 1;
        self.len += 1;
        (number, evicted)
    }

    fn get_mut(&mut self, address: IpAddr, number: u64) -> Option<&mut Newcomer> {
        self.of.get_mut(&address)?.get_mut(&number)
    }

    fn remove(&mut self, address: IpAddr, number: u64) -> Option<Newcomer> {
        let own = self.of.get_mut(&address)?;
        let removed = own.remove(&number)?;
        if own.is_empty() {
            self.of.remove(&address);
        }
        self.len -= 1;
        Some(removed)
    }

    /// Makes room for one more connection of an address. An error says when that is possible.
    fn make_room(&mut self, max: usize, address: IpAddr) -> Result<(), Instant> {
        while self.len >= max {
            let oldest = |(of, own): (&IpAddr, &BTreeMap<u64, Newcomer>)| {
                let (number, newcomer) = own.first_key_value()?;
                let many = own.len() + usize::from(*of == address);
                Some((many, std::cmp::Reverse(*number), *of, newcomer.waiting))
            };
            let chosen = self.of.iter().filter_map(oldest).max_by_key(|(many, number, ..)| (*many, *number));
            let Some((_, std::cmp::Reverse(number), of, waiting)) = chosen else { break };
            let until = waiting.map_or_else(|| Instant::now() + RETRY, |since| since + MIN_TIME);
            if until > Instant::now() {
                return Err(until);
            }
            if let Some(newcomer) = self.remove(of, number) {
                newcomer.evicted.cancel();
            }
        }
        Ok(())
    }
}

/// The address for which connections count: of IPv6, the network that one subscriber has, a /56.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(own) if !own.is_loopback() => {
            // Providers give a home 56 bits of network or more, and 8 bits to number networks of its own.
            let [a, b, c, d, ..] = own.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d & 0xff00, 0, 0, 0, 0))
        }
        own => own,
    }
}

/// The place of a connection among the newcomers, then among those that are served.
pub(crate) struct ConnectionSlot {
    newcomers: Arc<Newcomers>,
    address: IpAddr,
    number: u64,
    /// Whether the server has waited for the client.
    waited: AtomicBool,
    evicted: CancellationToken,
    permits: Mutex<Option<[OwnedSemaphorePermit; 2]>>,
}

impl ConnectionSlot {
    /// Cancelled when the connection gives way to a newer one.
    pub(crate) fn evicted(&self) -> CancellationToken {
        self.evicted.clone()
    }

    /// The server waits for the client, to send or to read something.
    pub(crate) fn wait(&self) {
        if !self.waited.swap(true, Ordering::Relaxed)
            && let Some(own) = locked(&self.newcomers.open).get_mut(self.address, self.number)
        {
            own.waiting = Some(Instant::now());
        }
    }

    /// Whether a request on this connection had a valid token.
    pub(crate) fn is_served(&self) -> bool {
        locked(&self.permits).is_some()
    }

    /// Serves the connection from now on, within the limit of its first caller and that of all. False when all connections
    /// are in use.
    pub(crate) fn serve(&self, of_caller: &Arc<Semaphore>) -> bool {
        let mut permits = locked(&self.permits);
        if permits.is_none() {
            let one = |limit: &Arc<Semaphore>| Arc::clone(limit).try_acquire_owned().ok();
            *permits = one(of_caller).and_then(|own| Some([own, one(&self.newcomers.served)?]));
            if permits.is_some() {
                self.leave();
            }
        }
        permits.is_some()
    }

    fn leave(&self) {
        locked(&self.newcomers.open).remove(self.address, self.number);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep_until;

    use super::*;

    const FIRST: &str = "192.0.2.1";
    const SECOND: &str = "198.51.100.7";

    async fn unread(newcomers: &Arc<Newcomers>, address: &str) -> Arc<ConnectionSlot> {
        loop {
            match newcomers.enter(address.parse().unwrap()) {
                Ok(slot) => return slot,
                Err(until) => sleep_until(until).await,
            }
        }
    }

    async fn entered(newcomers: &Arc<Newcomers>, address: &str) -> Arc<ConnectionSlot> {
        let slot = unread(newcomers, address).await;
        slot.wait();
        slot
    }

    fn evicted(slots: &[Arc<ConnectionSlot>]) -> Vec<bool> {
        slots.iter().map(|slot| slot.evicted.is_cancelled()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_newcomer_of_the_address_with_the_most_gives_way() {
        let newcomers = Newcomers::new(4, 1);
        let other = entered(&newcomers, SECOND).await;
        let mut many = Vec::new();
        for _ in 0..300 {
            many.push(entered(&newcomers, FIRST).await);
        }
        assert!(!other.evicted.is_cancelled(), "an address took the place of another one");
        assert_eq!(evicted(&many).iter().filter(|evicted| !**evicted).count(), 3);
        assert!(many.iter().rev().take(3).all(|slot| !slot.evicted.is_cancelled()), "not the oldest");
        // Further addresses get places too, until each has one.
        let more = entered(&newcomers, SECOND).await;
        assert_eq!(
            (evicted(&many).iter().filter(|evicted| !**evicted).count(), other.evicted.is_cancelled()),
            (2, false)
        );
        drop((more, many));
        assert_eq!(locked(&newcomers.open).len, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn among_addresses_with_one_newcomer_each_the_oldest_gives_way() {
        let newcomers = Newcomers::new(2, 1);
        let slots = [entered(&newcomers, "192.0.2.9").await, entered(&newcomers, FIRST).await];
        let last = entered(&newcomers, SECOND).await;
        assert_eq!((evicted(&slots), last.evicted.is_cancelled()), (vec![true, false], false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_newcomer_keeps_its_place_long_enough_to_send_a_token() {
        let newcomers = Newcomers::new(1, 1);
        let first = entered(&newcomers, FIRST).await;
        let begun = Instant::now();
        let entering = entered(&newcomers, FIRST);
        let mut entering = std::pin::pin!(entering);
        let early = tokio::time::timeout(MIN_TIME / 2, entering.as_mut()).await;
        assert!(early.is_err() && !first.evicted.is_cancelled());
        // It leaves when it is served, and then never gives way.
        assert!(first.serve(&Arc::new(Semaphore::new(1))));
        let second = entering.await;
        assert!(begun.elapsed() >= MIN_TIME && first.is_served());
        let third = entered(&newcomers, FIRST).await;
        assert_eq!(evicted(&[first, second, third]), [false, true, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_newcomer_that_the_server_has_not_read_yet_keeps_its_place() {
        let newcomers = Newcomers::new(1, 1);
        let first = unread(&newcomers, FIRST).await;
        let mut entering = std::pin::pin!(entered(&newcomers, FIRST));
        assert!(tokio::time::timeout(100 * MIN_TIME, entering.as_mut()).await.is_err());
        assert!(!first.evicted.is_cancelled());
        first.wait();
        entering.await;
        assert!(first.evicted.is_cancelled());
    }

    #[test]
    fn addresses_of_one_subscriber_count_as_one() {
        for (address, wanted) in [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:203:3:4:5:6", "2001:db8:1:200::"),
            ("::1", "::1"),
        ] {
            assert_eq!(network(address.parse().unwrap()), wanted.parse::<IpAddr>().unwrap());
        }
    }
}
