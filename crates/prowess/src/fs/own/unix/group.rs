//! Whether a group is one user's alone, as on systems that make a group for each user and let it write by their umask.

use std::path::Path;
use std::sync::OnceLock;

use crate::fs::read::read_small;

/// The largest file of users or groups that is read.
const MAX_BYTES: usize = 4 << 20;

/// Whether the group of the same number as this user has no other member. One that the files of the system do not list may
/// have any.
pub(super) fn is_private(group: u32, user: u32) -> bool {
    static PRIVATE: OnceLock<bool> = OnceLock::new();
    group == user
        && *PRIVATE.get_or_init(|| {
            let text = |path| read_small(Path::new(path), MAX_BYTES).unwrap_or_default();
            let (groups, users) = (text("/etc/group"), text("/etc/passwd"));
            has_no_other(&String::from_utf8_lossy(&groups), &String::from_utf8_lossy(&users), user)
        })
}

fn has_no_other(groups: &str, users: &str, user: u32) -> bool {
    let number = |field: Option<&str>| field.and_then(|text| text.parse::<u32>().ok());
    let mut names = Vec::new();
    for line in users.lines() {
        let mut fields = line.split(':');
        let name = fields.next().unwrap_or_default();
        let (id, group) = (number(fields.nth(1)), number(fields.next()));
        if id == Some(user) {
            names.push(name);
        } else if group == Some(user) {
            return false;
        }
    }
    let of_user: Vec<&str> =
        groups.lines().filter(|line| number(line.split(':').nth(2)) == Some(user)).collect();
    let members = of_user.iter().flat_map(|line| line.split(':').nth(3).unwrap_or_default().split(','));
    !names.is_empty()
        && !of_user.is_empty()
        && members.map(str::trim).all(|member| member.is_empty() || names.contains(&member))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_private_if_the_system_lists_it_without_another_member() {
        let users = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n";
        for (groups, more_users, is_private) in [
            ("ann:x:1000:\n", "", true),
            ("ann:x:1000:ann\n", "", true),
            ("ann:x:1000:ann,bob\n", "", false),
            ("ann:x:1000:\nother:x:1000:bob\n", "", false),
            ("ann:x:1000:\n", "carl:x:1002:1000::/home/carl:/bin/sh\n", false),
            ("users:x:100:\n", "", false),
            ("", "", false),
            ("ann:x:1000\n", "", true),
        ] {
            assert_eq!(
                has_no_other(groups, &format!("{users}{more_users}"), 1000),
                is_private,
                "{groups} {more_users}"
            );
        }
        assert!(!has_no_other("dan:x:1003:\n", users, 1003), "a user that is not listed may share the group");
    }
}
