//! A limit of memory for a program that runs already.

use std::process::Child;

/// Limits the memory that a program can write to. Files that it only reads are not counted.
#[cfg(target_os = "linux")]
pub(super) fn limit(child: &Child, most: u64) {
    use rustix::process::{Pid, Resource, getrlimit, prlimit};
    // Without an id it would be the limit of this process.
    let Some(id) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    // The program inherited the limits of this process.
    let _ = prlimit(Some(id), Resource::Data, lowered(getrlimit(Resource::Data), most));
}

#[cfg(not(target_os = "linux"))]
pub(super) fn limit(_: &Child, _: u64) {}

/// These limits, each at most this high. None is no limit.
#[cfg(target_os = "linux")]
fn lowered(old: rustix::process::Rlimit, most: u64) -> rustix::process::Rlimit {
    let lower = |old: Option<u64>| Some(old.map_or(most, |old| old.min(most)));
    rustix::process::Rlimit { current: lower(old.current), maximum: lower(old.maximum) }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use rustix::process::Rlimit;

    use super::lowered;

    #[test]
    fn a_limit_of_memory_never_raises_a_lower_one_of_the_user() {
        for (old, expected) in [
            ((None, None), (Some(100), Some(100))),
            ((Some(50), None), (Some(50), Some(100))),
            ((Some(50), Some(70)), (Some(50), Some(70))),
            ((Some(200), Some(300)), (Some(100), Some(100))),
        ] {
            let (current, maximum) = old;
            let new = lowered(Rlimit { current, maximum }, 100);
            assert_eq!((new.current, new.maximum), expected, "{old:?}");
        }
    }
}
