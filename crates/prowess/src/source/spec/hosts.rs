//! Hosts by name or address, as URLs have them: which are this machine, and which are not on the public internet. Every
//! decision about a host is made here.

use std::net::IpAddr;

use super::public_address::is_private;

/// Top-level domains that the public DNS does not have, so that only this machine, its network or the
/// configuration of ssh can resolve names in them.
///
/// Special-use domains of IANA, domains that ICANN reserved because networks use them, those that RFC 6762 (appendix G)
/// names, and further ones that routers and container tools give out.
#[cfg(feature = "install")]
const PRIVATE_DOMAINS: &[&str] = &[
    // Special use: RFC 6761, 6762, 7686 and 9476; `arpa` has home.arpa and the names of addresses.
    "alt",
    "arpa",
    "example",
    "invalid",
    "local",
    "localhost",
    "onion",
    "test",
    // Reserved by ICANN.
    "corp",
    "home",
    "internal",
    "mail",
    // RFC 6762.
    "intranet",
    "lan",
    "private",
    // Given out by routers, directories and tools.
    "consul",
    "dmz",
    "docker",
    "domain",
    "gateway",
    "hgw",
    "homenet",
    "i2p",
    "intra",
    "ip",
    "k8s",
    "kube",
    "lxd",
    "localdomain",
    "localnet",
    "openstacklocal",
    "priv",
    "router",
    "vm",
    "workgroup",
];

/// Domains of routers below a public top-level domain.
#[cfg(feature = "install")]
const PRIVATE_NAMES: &[&str] = &["fritz.box"];

/// A host without its port, brackets and final dot.
fn bare(host: &str) -> &str {
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.trim_end_matches('.')
}

/// Whether a host, with or without a port, is this machine: `localhost`, or a loopback address. Other names that may
/// resolve to it do not count, since what is sent to them may leave the machine.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let host = bare(host);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a host, with or without a port, is `localhost` or an address that is not public. Other names are judged by
/// what they resolve to; where another program resolves them, [`is_private_host`] judges the name.
#[cfg(feature = "http")]
pub(crate) fn is_private_address(host: &str) -> bool {
    is_this_machine(host) || bare(host).parse::<IpAddr>().is_ok_and(is_private)
}

/// Whether a host, with or without a port, is this machine or in a network that is not public. This includes names that
/// only such a network or the configuration of ssh can resolve, and numbers that are not usual addresses.
#[cfg(feature = "install")]
pub(crate) fn is_private_host(host: &str) -> bool {
    let host = bare(host).to_ascii_lowercase();
    if let Ok(address) = host.parse::<IpAddr>() {
        return is_private(address);
    }
    let Some((_, last)) = host.rsplit_once('.') else { return true };
    let number = last.strip_prefix("0x").unwrap_or(last).bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = number && last.starts_with(|c: char| c.is_ascii_digit());
    let is_below =
        |name: &&str| host.strip_suffix(*name).is_some_and(|above| above.is_empty() || above.ends_with('.'));
    number || PRIVATE_DOMAINS.contains(&last) || PRIVATE_NAMES.iter().any(is_below)
}

#[cfg(all(test, feature = "install"))]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_machine_and_of_private_networks_are_told_from_public_ones() {
        for host in [
            "localhost",
            "localhost.localdomain",
            "git.corp",
            "nas.home",
            "git.home.arpa",
            "mail.lan",
            "wiki.intranet",
            "git.private:8443",
            "ci.TEST",
            "fritz.box",
            "nas.fritz.box.",
            "x.invalid",
            "x.example",
            "x.onion",
            "x.alt",
            "1.0.0.127.in-addr.arpa",
            "registry.docker",
            "node.consul",
            "LOCALHOST:8080",
            "x.localhost",
            "printer",
            "nas.local",
            "git.internal.",
            "127.0.0.1",
            "127.1:80",
            "0x7f.1",
            "2130706433",
            "1.2.3.0x4",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1:3000",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "[::1]:80",
            "[::ffff:127.0.0.1]",
            "[fd00::1]",
            "[fe80::1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[ff02::1]",
            "224.0.0.1",
            "192.0.0.8",
            "198.18.0.1",
        ] {
            assert!(is_private_host(host), "{host}");
        }
        for host in [
            "github.com",
            "git.example.org:8443",
            "1.1.1.1",
            "[2606:4700::1111]",
            "abc.de",
            "x.ac",
            "notfritz.box",
            "test.com",
            "lan.example.org",
            "corp.dev",
        ] {
            assert!(!is_private_host(host), "{host}");
        }
    }

    #[test]
    fn only_localhost_and_loopback_addresses_are_this_machine() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:80"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in
            ["x.localhost", "localhost.localdomain", "localhost.x.test", "10.0.0.1", "0.0.0.0", "[::2]", ""]
        {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
