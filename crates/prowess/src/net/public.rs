//! [`PublicHosts`]: a host that answered from a public address never counts as private later, whatever its name
//! resolves to.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::address::host;

use crate::internal::locked;

/// The maximum number of remembered hosts. Beyond it, no host may be private.
const MAX_HOSTS: usize = 10_000;

/// The hosts that answered from a public address.
///
/// A site that the user named may be private. But a name that resolves to a public address first and to this machine
/// later is an attack on local services. So a host that was public stays public for the life of this value.
#[derive(Debug, Default)]
pub struct PublicHosts(Mutex<BTreeSet<String>>);

impl PublicHosts {
    /// Whether the host of an address may be private.
    pub fn may_be_private(&self, url: &str) -> bool {
        let hosts = locked(&self.0);
        hosts.len() < MAX_HOSTS && host(url).is_some_and(|host| !hosts.contains(&host))
    }

    /// Notes where a response came from.
    pub fn note(&self, url: &str, private: bool) {
        if let Some(host) = host(url).filter(|_| !private) {
            let mut hosts = locked(&self.0);
            if hosts.len() < MAX_HOSTS {
                hosts.insert(host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_public_by_its_name_and_others_are_not_affected() {
        let hosts = PublicHosts::default();
        assert!(hosts.may_be_private("http://a.test/x"));
        hosts.note("http://a.test/x", true);
        assert!(hosts.may_be_private("http://a.test/x"));
        hosts.note("https://A.test:8443/", false);
        assert!(!hosts.may_be_private("http://a.test/y") && hosts.may_be_private("http://b.test/"));
        assert!(!hosts.may_be_private("no address"));
    }
}
