//! [`OtherNames`]: names that a new skill could be confused with.

use std::collections::BTreeMap;

use prowess_core::{Profile, check_name};
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

/// Why a name is not the name of a skill by the specification.
pub(super) fn problems(name: &str) -> Vec<String> {
    let problems = Profile::spec().judge(check_name(name));
    problems.into_iter().map(|problem| problem.message).collect()
}

/// What readers see of a name.
#[derive(Debug)]
struct Look {
    /// Its letters and digits, without differences that readers do not see.
    letters: String,
    count: usize,
    /// The name without its numbers, if it has any.
    series: Option<String>,
}

impl Look {
    fn of(name: &str) -> Self {
        let letters: String = skeleton(&name.to_lowercase()).filter(|c| c.is_alphanumeric()).collect();
        let numbered = name.contains(|c: char| c.is_ascii_digit());
        let series = numbered.then(|| name.chars().filter(|c| !c.is_ascii_digit()).collect());
        Self { count: letters.chars().count(), letters, series }
    }

    /// Whether two names have similar letters, or differ by one typo. Names that differ only in their numbers, such as
    /// `part-1` and `part-2`, are meant to be similar.
    fn is_like(&self, other: &Self) -> bool {
        let near = self.count.min(other.count) >= MIN_TYPO && self.count.abs_diff(other.count) <= 1;
        let one_series = self.series.is_some() && self.series == other.series;
        self.letters == other.letters
            || near && !one_series && strsim::osa_distance(&self.letters, &other.letters) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::OtherNames;

    #[test]
    fn names_that_differ_only_in_their_numbers_are_not_confused() {
        let others =
            OtherNames::new(["part-01", "part-12", "parts-02", "pdf-t00ls", "pdf-tools2"].into_iter());
        assert_eq!(others.like(["part-02", "part-02"]), ["parts-02"]);
        assert_eq!(others.like(["pdf-tools", "pdf-tools"]), ["pdf-tools2"]);
    }
}
