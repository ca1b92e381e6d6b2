//! [`OtherNames`]: names that a new skill could be confused with.

use std::collections::BTreeMap;

use unicode_security::skeleton;

/// The shortest name in which one typo counts, in characters.
const MIN_TYPO: usize = 5;

/// The names of other skills, each with what it looks like. That is found once for all new skills, since finding it takes
/// longer than everything else in a preview.
#[derive(Debug, Default)]
pub(crate) struct OtherNames(BTreeMap<String, Look>);

impl OtherNames {
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut looks = BTreeMap::new();
        for name in names {
            if !looks.contains_key(name) {
                looks.insert(name.to_owned(), Look::of(name));
            }
        }
        Self(looks)
    }

    /// Those that could be confused with one of two names of a skill, sorted.
    pub(super) fn like(&self, own: [&str; 2]) -> Vec<String> {
        let [first, second] = own;
        let mut looks = vec![Look::of(first)];
        if second != first {
            looks.push(Look::of(second));
        }
        let others = self.0.iter().filter(|(name, _)| !own.contains(&name.as_str()));
        let alike = others.filter(|(_, other)| looks.iter().any(|own| own.is_like(other)));
        alike.map(|(name, _)| name.clone()).collect()
    }
}

/// The letters and digits of a name, without differences that readers do not see, and their number.
#[derive(Debug)]
struct Look(String, usize);

impl Look {
    fn of(name: &str) -> Self {
        let letters: String = skeleton(&name.to_lowercase()).filter(|c| c.is_alphanumeric()).collect();
        let count = letters.chars().count();
        Self(letters, count)
    }

    /// Whether two names have similar letters, or differ by one typo.
    fn is_like(&self, other: &Self) -> bool {
        let near = self.1.min(other.1) >= MIN_TYPO && self.1.abs_diff(other.1) <= 1;
        self.0 == other.0 || near && strsim::osa_distance(&self.0, &other.0) == 1
    }
}
