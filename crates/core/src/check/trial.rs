//! Trying fixes before they are offered: all that fit together at once, so that many fixes cost one more reading, and
//! the others alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::profile::Profile;
use super::rules::hidden;
use crate::check;
use crate::document::{Document, Pair, parse, repair};
use crate::finding::rule::{Level, Rule};
use crate::finding::{Edit, Fix};
use crate::skill::location::Origin;

/// The most fixes of one document that are tried alone, and the most bytes of frontmatter that are read again for them,
/// after the first. The next check offers the next ones.
const MAX_ALONE: usize = 32;
const MAX_ALONE_BYTES: usize = 256 << 10;

/// A fix that is not tried yet, and what it may change.
pub(super) struct Candidate {
    pub(super) fix: Fix,
    pub(super) writes: Writes,
}

/// What a fix may change.
pub(super) enum Writes {
    /// This field gets this value, or is removed.
    Field(String, Option<Value>),
    /// Fields of these names change.
    Fields(Vec<String>),
    /// Any text of the frontmatter.
    Text,
}

impl Writes {
    fn keys(&self) -> impl Iterator<Item = &str> {
        let (one, several): (_, &[String]) = match self {
            Self::Field(key, _) => (Some(key), &[]),
            Self::Fields(keys) => (None, keys),
            Self::Text => (None, &[]),
        };
        one.into_iter().chain(several).map(String::as_str)
    }
}

/// A finding of this rule, and the fix that may resolve it.
pub(super) type Offer = (&'static Rule, Candidate);

/// The document on whose frontmatter fixes are tried, and how often each rule about its frontmatter is broken.
pub(super) struct Trial<'t> {
    document: &'t Document,
    at: &'t Origin,
    profile: Option<&'t Profile>,
    before: BTreeMap<&'static str, usize>,
}

impl<'t> Trial<'t> {
    pub(super) fn of(document: &'t Document, at: &'t Origin, profile: Option<&'t Profile>) -> Self {
        let mut trial = Self { document, at, profile, before: BTreeMap::new() };
        trial.before = trial.counts(document);
        trial
    }

    fn counts(&self, document: &Document) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        let Some(profile) = self.profile else { return counts };
        for finding in check::frontmatter(document, self.at, profile, None) {
            *counts.entry(finding.rule.code).or_default() += 1;
        }
        counts
    }

    /// Which of the offers pass, in their order.
    pub(super) fn passing(&self, offers: &[Offer]) -> Vec<bool> {
        let together = together(offers);
        let passed = self.passes(offers.iter().zip(&together).filter(|(_, is)| **is).map(|(offer, _)| offer));
        let (mut left, mut bytes) = (MAX_ALONE, 0);
        let mut alone = |offer: &Offer| {
            if left == 0 || bytes > MAX_ALONE_BYTES {
                return false;
            }
            left -= 1;
            bytes += self.document.body_offset();
            self.passes(std::iter::once(offer))
        };
        offers
            .iter()
            .zip(together)
            .map(|(offer, is)| if is && passed { true } else { alone(offer) })
            .collect()
    }

    /// Whether fixes, all at once, resolve their findings, change no field but those that they say, and lead to no
    /// error of another rule.
    fn passes<'o>(&self, offers: impl Iterator<Item = &'o Offer> + Clone) -> bool {
        // Several findings may have the same fix.
        let edits: BTreeMap<_, &Edit> = offers
            .clone()
            .flat_map(|(_, candidate)| &candidate.fix.edits)
            .map(|edit| (edit.span, edit))
            .collect();
        let edits: Vec<Edit> = edits.into_values().cloned().collect();
        if edits.is_empty() {
            return true;
        }
        let head = self.document.text().get(..self.document.body_offset()).unwrap_or_default();
        let after = parse(repair::apply(head, &edits).as_bytes());
        if !self.writes_only(offers.clone().map(|(_, candidate)| &candidate.writes), &after) {
            return false;
        }
        let Some(profile) = self.profile else { return true };
        let counts = self.counts(&after);
        let mut wanted: BTreeMap<&'static str, usize> = BTreeMap::new();
        for (rule, _) in offers.filter(|(rule, _)| !hidden::RULES.contains(rule)) {
            *wanted.entry(rule.code).or_default() += 1;
        }
        let number = |counts: &BTreeMap<&'static str, usize>, code| counts.get(code).copied().unwrap_or(0);
        let is_error = |code: &str| check::rule(code).is_ok_and(|rule| profile.level(rule) == Level::Error);
        wanted.iter().all(|(code, fixes)| number(&counts, code) + fixes <= number(&self.before, code))
            && counts.keys().all(|code| self.before.contains_key(code) || !is_error(code))
    }

    /// Whether the fields are as the fixes say, every other field is as before, and the frontmatter ends where it did.
    fn writes_only<'o>(&self, writes: impl Iterator<Item = &'o Writes> + Clone, after: &Document) -> bool {
        if writes.clone().any(|writes| matches!(writes, Writes::Text)) {
            return true;
        }
        let written: BTreeSet<&str> = writes.clone().flat_map(Writes::keys).collect();
        let others = |pair: &&Pair| !written.contains(pair.key.as_str());
        let (mut before, mut left) = (self.document.pairs().iter(), after.pairs().iter());
        let same =
            |one: &Pair, other: &Pair| one.key == other.key && one.value.to_json() == other.value.to_json();
        let kept = loop {
            match (before.find(others), left.find(others)) {
                (Some(one), Some(other)) if same(one, other) => {}
                (one, other) => break one.is_none() && other.is_none(),
            }
        };
        // It is not clear which of two fields of one name is meant.
        let once = |pairs: &[Pair]| {
            let mut seen = BTreeSet::new();
            pairs.iter().filter(|pair| !others(pair)).all(|pair| seen.insert(pair.key.clone()))
        };
        let values: BTreeMap<&str, Value> = after
            .pairs()
            .iter()
            .filter(|pair| !others(pair))
            .map(|pair| (pair.key.as_str(), pair.value.to_json()))
            .collect();
        let mut fields = writes.filter_map(|writes| match writes {
            Writes::Field(key, value) => Some((key, value)),
            Writes::Fields(_) | Writes::Text => None,
        });
        kept && !after.repaired()
            && once(self.document.pairs())
            && once(after.pairs())
            && fields.all(|(key, value)| values.get(key.as_str()) == value.as_ref())
            && after.body_raw().is_empty()
    }
}

/// Which offers fit together: none touches the bytes or the fields of another, unless it is the same fix.
fn together(offers: &[Offer]) -> Vec<bool> {
    // The ends and edits by their starts. They are disjoint, so only the last one before a place can touch it.
    let mut taken: BTreeMap<usize, (usize, &[Edit])> = BTreeMap::new();
    let mut keys: BTreeSet<&str> = BTreeSet::new();
    offers
        .iter()
        .map(|(_, Candidate { fix, writes })| {
            let [edit] = fix.edits.as_slice() else { return false };
            if matches!(writes, Writes::Text) {
                return false;
            }
            if let Some((end, edits)) = taken.range(..=edit.span.end).next_back().map(|(_, taken)| *taken)
                && end >= edit.span.start
            {
                return edits == fix.edits.as_slice();
            }
            if writes.keys().any(|key| keys.contains(key)) {
                return false;
            }
            keys.extend(writes.keys());
            taken.insert(edit.span.start, (edit.span.end, &fix.edits));
            true
        })
        .collect()
}
