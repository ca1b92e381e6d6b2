//! Builds the index from postings and settings.

use std::sync::{Mutex, OnceLock};

use super::{Bm25, Settings, Shares};
use crate::select::analyse::WHOLE;
use crate::select::postings::{InBody, InFront, MAX_SKILLS, Postings};

impl Bm25 {
    /// An index of skills: their terms as a corpus or as postings, and their keys in the same order.
    ///
    /// The index finds the same for any order of the skills and any way of building the postings.
    pub fn new(keys: Vec<String>, terms: impl Into<Postings>, settings: Settings) -> Self {
        let (keys, postings) = sorted(keys, terms.into());
        let norms = norms(postings.lengths(), &settings);
        let body_norms: Vec<f32> = norms.iter().map(|[_, _, body]| *body).collect();
        Self {
            settings,
            keys,
            shares: postings.fronts().map(|_| OnceLock::new()).collect(),
            postings,
            body_norms,
            norms,
            fuzzy: OnceLock::new(),
            scratch: Mutex::new(Vec::new()),
        }
    }
}

impl Bm25 {
    /// The shares of the terms in a shard. They are computed when a query first has one of its terms.
    pub(super) fn shares_in(&self, shard: usize) -> Option<&Shares> {
        Some(self.shares.get(shard)?.get_or_init(|| self.compute_shares(shard)))
    }

    /// Term by term, not skill by skill, so that memory is read in order.
    fn compute_shares(&self, shard: usize) -> Shares {
        let share = |x: f32| x / (self.settings.k1 + x);
        let in_all = |InFront(skill, [name, about, body]): InFront| {
            let [x, y, z] = self.norms.get(skill as usize).copied().unwrap_or_default();
            share(f32::from(name) * x + f32::from(about) * y + f32::from(body) * z)
        };
        let in_body = |item: InBody| {
            f32::from(item.count()) * self.body_norms.get(item.skill() as usize).copied().unwrap_or(0.0)
        };
        // More of a word gives a higher share, so one division for each term is enough.
        let highest = |items: &[_]| {
            let most = items.iter().map(|bytes| in_body(InBody::read(*bytes))).fold(0.0, f32::max);
            ceiling(share(most))
        };
        let items = self.postings.fronts().nth(shard).unwrap_or_default();
        Shares {
            front: items.iter().map(|bytes| in_all(InFront::read(*bytes))).collect(),
            most: self.postings.backs().nth(shard).into_iter().flatten().map(highest).collect(),
        }
    }
}

/// The same skills in the order of their keys, as many as have a key.
fn sorted(mut keys: Vec<String>, postings: Postings) -> (Vec<String>, Postings) {
    keys.truncate(postings.len().min(MAX_SKILLS));
    if keys.is_sorted() && keys.len() == postings.len() {
        return (keys, postings);
    }
    let mut order: Vec<(String, usize)> = keys.into_iter().zip(0..).collect();
    order.sort_unstable();
    let mut numbers = vec![None; postings.len()];
    for ((_, at), number) in order.iter().zip(0..) {
        if let Some(slot) = numbers.get_mut(*at) {
            *slot = Some(number);
        }
    }
    let keys = order.into_iter().map(|(key, _)| key).collect();
    (keys, Postings::merge(vec![(postings, numbers)]))
}

/// For each skill, the weight of half a word in each field.
fn norms(lengths: &[[u32; 3]], settings: &Settings) -> Vec<[f32; 3]> {
    let mut means = [0.0_f32; 3];
    for (field, mean) in means.iter_mut().enumerate() {
        let lengths = lengths.iter().filter_map(|lengths| lengths.get(field)).filter(|length| **length > 0);
        let (sum, count) =
            lengths.fold((0_u64, 0_u64), |(sum, count), length| (sum + u64::from(*length), count + 1));
        // A field that no skill has, such as bodies that were not read, has no mean and needs none.
        *mean = if count == 0 { 1.0 } else { sum as f32 / count as f32 };
    }
    let norm = |lengths: &[u32; 3]| {
        let mut norm = [0.0; 3];
        let fields = norm.iter_mut().zip(&settings.weights).zip(&settings.lengths).zip(lengths).zip(means);
        for ((((norm, weight), b), length), mean) in fields {
            *norm = weight / f32::from(WHOLE) / (1.0 - b + b * *length as f32 / mean);
        }
        norm
    };
    lengths.iter().map(norm).collect()
}

/// A share as a byte, rounded up.
fn ceiling(share: f32) -> u8 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 255 by the clamp"
    )]
    let byte = (share * 255.0).ceil().clamp(0.0, 255.0) as u8;
    byte
}
