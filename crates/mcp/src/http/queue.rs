//! The connections that were accepted and wait to become newcomers, in the order in which each address opened them.
//!
//! The address with the fewest newcomers is next, so that one whose newcomers may not give way yet holds up its own
//! connections alone.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::time::Instant;

use crate::http::newcomers::{ConnectionSlot, Newcomers, network};

/// How many connections may wait at least, however few newcomers there may be.
const MIN_LEN: usize = 8;

/// The queue, with a connection as `C`.
pub(crate) struct Queue<C> {
    newcomers: Arc<Newcomers>,
    of: BTreeMap<IpAddr, VecDeque<Waiting<C>>>,
    max: usize,
    len: usize,
    /// The number of the next connection.
    next: u64,
}

struct Waiting<C> {
    number: u64,
    connection: C,
    peer: SocketAddr,
}

/// A connection that became a newcomer, with its client and its place.
type Entered<C> = (C, SocketAddr, Arc<ConnectionSlot>);

impl<C> Queue<C> {
    /// A queue for as many connections as there may be newcomers.
    pub(crate) fn new(newcomers: Arc<Newcomers>) -> Self {
        let max = newcomers.max().max(MIN_LEN);
        Self { newcomers, of: BTreeMap::new(), max, len: 0, next: 0 }
    }

    /// Whether further connections are to wait in the queue of the system: most of these come from this machine. Its one
    /// address is that of all clients, often behind a proxy, and closing a connection would close that of any client.
    pub(crate) fn is_full(&self) -> bool {
        let most = self.of.iter().max_by_key(|(_, waiting)| waiting.len());
        self.len >= self.max && most.is_some_and(|(address, _)| address.is_loopback())
    }

    /// Adds a connection. If there are too many, returns the newest one of the address with the most, which is closed.
    #[must_use]
    pub(crate) fn push(&mut self, connection: C, peer: SocketAddr) -> Option<C> {
        let own = network(peer.ip());
        let waiting = Waiting { number: self.next, connection, peer };
        self.of.entry(own).or_default().push_back(waiting);
        (self.next, self.len) = (self.next + 1, self.len + 1);
        if self.len <= self.max {
            return None;
        }
        let most = self.of.iter().max_by_key(|(address, waiting)| (waiting.len(), **address == own));
        let most = most.map(|(address, _)| *address)?;
        self.take(most, VecDeque::pop_back).map(|closed| closed.connection)
    }

    /// The next connection that becomes a newcomer now, or when to ask again. `None` if none waits.
    pub(crate) fn next(&mut self) -> Option<Result<Entered<C>, Instant>> {
        let rank = |(address, waiting): &(&IpAddr, &VecDeque<Waiting<C>>)| {
            (self.newcomers.of(**address), waiting.front().map(|first| first.number))
        };
        let address = *self.of.iter().min_by_key(rank)?.0;
        match self.newcomers.enter(address) {
            Ok(slot) => {
                let Waiting { connection, peer, .. } = self.take(address, VecDeque::pop_front)?;
                Some(Ok((connection, peer, slot)))
            }
            Err(until) => Some(Err(until)),
        }
    }

    /// Takes a connection of an address.
    fn take(
        &mut self,
        address: IpAddr,
        one: fn(&mut VecDeque<Waiting<C>>) -> Option<Waiting<C>>,
    ) -> Option<Waiting<C>> {
        let waiting = self.of.get_mut(&address)?;
        let taken = one(waiting)?;
        if waiting.is_empty() {
            self.of.remove(&address);
        }
        self.len -= 1;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{advance, sleep_until};

    use super::*;

    fn peer(address: &str) -> SocketAddr {
        SocketAddr::new(address.parse().unwrap(), 1)
    }

    /// Lets everyone in who may enter now; the connections are named by their client.
    fn entered(queue: &mut Queue<String>, open: &mut Vec<Arc<ConnectionSlot>>) -> Vec<String> {
        let mut names = Vec::new();
        while let Some(Ok((name, _, slot))) = queue.next() {
            slot.wait();
            open.push(slot);
            names.push(name);
        }
        names
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_connects_again_and_again_holds_up_no_other() {
        // Whether it is sorted before the others or after them.
        for flood in ["192.0.2.0", "198.51.100.7"] {
            let mut queue = Queue::new(Newcomers::new(16, 1));
            let (mut open, mut closed) = (Vec::new(), 0);
            for number in 0..200 {
                closed += usize::from(queue.push(format!("flood {number}"), peer(flood)).is_some());
                let _ = entered(&mut queue, &mut open);
            }
            assert!(!queue.is_full() && closed == 200 - 2 * 16, "{closed}");
            // As soon as one of its newcomers gives way, another address has the place.
            assert!(
                queue
                    .push("client".to_owned(), peer("192.0.2.1"))
                    .is_some_and(|name| name.starts_with("flood"))
            );
            assert!(entered(&mut queue, &mut open).is_empty());
            advance(Duration::from_millis(100)).await;
            assert_eq!(entered(&mut queue, &mut open).first().map(String::as_str), Some("client"), "{flood}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn connections_of_one_machine_enter_in_their_order_and_none_is_closed() {
        let mut queue = Queue::new(Newcomers::new(2, 1));
        let (mut open, mut names, mut next) = (Vec::new(), Vec::new(), 0);
        while names.len() < 60 {
            while next < 60 && !queue.is_full() {
                assert!(queue.push(next.to_string(), peer("127.0.0.1")).is_none());
                next += 1;
                names.extend(entered(&mut queue, &mut open));
            }
            names.extend(entered(&mut queue, &mut open));
            if let Some(Err(until)) = queue.next() {
                sleep_until(until).await;
            }
        }
        assert_eq!(names, (0..60).map(|name| name.to_string()).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_that_many_addresses_fill_has_a_place_for_one_more() {
        // Newcomers that are not read yet do not give way.
        let mut queue = Queue::new(Newcomers::new(16, 1));
        let mut unread = Vec::new();
        for number in 0..16 {
            assert!(queue.push("unread".to_owned(), peer(&format!("192.0.2.{number}"))).is_none());
            unread.extend(queue.next().and_then(Result::ok));
        }
        for number in 0..32 {
            let _ = queue.push("flood".to_owned(), peer(&format!("198.51.100.{}", number % 4)));
        }
        assert_eq!(queue.push("client".to_owned(), peer("203.0.113.5")).as_deref(), Some("flood"));
        assert_eq!(queue.len, 16);
    }
}
