//! Finds the best skills without reading more postings than needed. The result is the same as if all were read.

use super::ask::{Asked, Word};
use super::{Bm25, Mask};
use crate::select::postings::{BackBytes, InBody, InFront};

/// The score of a skill so far.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    sum: f32,
    /// The weights of the single words it has.
    found: f32,
}

/// Buffers for one search, cleared before they are returned.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    slots: Vec<Slot>,
    touched: Vec<u32>,
}

/// The postings of one word in bodies only, and the most that they can add.
struct List<'a> {
    word: &'a Word,
    items: &'a [BackBytes],
    bound: f32,
}

/// Bounds and sums are rounded differently, so a skill is dropped only when it is clearly below.
const SLACK: f32 = 1.000_1;

impl Bm25 {
    /// The best skills by score, then by key.
    pub(super) fn rank(&self, asked: &Asked, limit: usize, mask: Option<&Mask>) -> Vec<(u32, f32)> {
        if limit == 0 || asked.words.is_empty() {
            return Vec::new();
        }
        let mut scratch = self.scratch.lock().ok().and_then(|mut free| free.pop()).unwrap_or_default();
        scratch.slots.resize(self.keys.len(), Slot::default());
        let ranked = Search { index: self, asked, limit: limit.min(self.keys.len()), mask }.run(&mut scratch);
        for doc in scratch.touched.drain(..) {
            if let Some(slot) = scratch.slots.get_mut(doc as usize) {
                *slot = Slot::default();
            }
        }
        if let Ok(mut free) = self.scratch.lock() {
            free.push(scratch);
        }
        ranked
    }

    /// The factor for the share of words that were found.
    pub(super) fn factor(&self, found: f32, mass: f32) -> f32 {
        let share = (found / mass).min(1.0);
        let exponent = self.settings.coverage;
        // The default is two square roots, since this runs for every skill with any of the words.
        if (exponent - 0.25).abs() < f32::EPSILON { share.sqrt().sqrt() } else { share.powf(exponent) }
    }

    /// The score that one word of a body adds.
    #[inline]
    fn back_share(&self, item: InBody) -> f32 {
        let norm = self.body_norms.get(item.skill() as usize).copied().unwrap_or(0.0);
        let x = f32::from(item.count()) * norm;
        x / (self.settings.k1 + x)
    }
}

struct Search<'a> {
    index: &'a Bm25,
    asked: &'a Asked,
    limit: usize,
    mask: Option<&'a Mask>,
}

impl Search<'_> {
    fn run(&self, scratch: &mut Scratch) -> Vec<(u32, f32)> {
        for word in &self.asked.words {
            let items = self.index.postings.front(word.term);
            let shares = self.index.shares_in(word.term.shard);
            let shares =
                shares.and_then(|shares| shares.front.get(self.index.postings.front_range(word.term)));
            let shares = shares.unwrap_or_default();
            let found = if word.single { word.weight } else { 0.0 };
            for (item, share) in items.iter().zip(shares) {
                let InFront(doc, _) = InFront::read(*item);
                scratch.add(doc, word.weight * share, found);
            }
        }
        let lists = self.lists();
        // The most that the remaining lists can add.
        let rest = |at: usize| {
            let left = || lists.iter().skip(at);
            let found: f32 = left().filter(|list| list.word.single).map(|list| list.word.weight).sum();
            (left().map(|list| list.bound).sum::<f32>() * SLACK, found * SLACK)
        };
        let mut floor = 0.0_f32;
        for (at, list) in lists.iter().enumerate() {
            // Finding the threshold reads all skills that were touched, so do it only when it may save more.
            if list.items.len() > 128 && list.items.len() * 2 > scratch.touched.len() {
                floor = floor.max(self.floor(scratch));
                let (sum, found) = rest(at);
                if self.bound(Slot::default(), sum, found) < floor {
                    return self.finish(scratch, lists.get(at..).unwrap_or_default(), floor);
                }
            }
            let found = if list.word.single { list.word.weight } else { 0.0 };
            for bytes in list.items {
                let item = InBody::read(*bytes);
                scratch.add(item.skill(), list.word.weight * self.index.back_share(item), found);
            }
        }
        self.best(scratch, &scratch.touched)
    }

    /// The words of bodies, those that can add most first.
    fn lists(&self) -> Vec<List<'_>> {
        let mut lists: Vec<List<'_>> = self
            .asked
            .words
            .iter()
            .map(|word| {
                let items = self.index.postings.back(word.term);
                let shares = self.index.shares_in(word.term.shard);
                let most =
                    shares.and_then(|shares| shares.most.get(word.term.at)).copied().unwrap_or(u8::MAX);
                List { word, items, bound: word.weight * f32::from(most) / 255.0 }
            })
            .filter(|list| !list.items.is_empty())
            .collect();
        lists.sort_by(|one, other| {
            other.bound.total_cmp(&one.bound).then_with(|| one.word.text.cmp(&other.word.text))
        });
        lists
    }

    fn allowed(&self, doc: u32) -> bool {
        self.mask.is_none_or(|Mask(mask)| mask.get(doc as usize).copied().unwrap_or(false))
    }

    /// The most that a skill can reach.
    fn bound(&self, slot: Slot, sum: f32, found: f32) -> f32 {
        (slot.sum + sum) * self.index.factor(slot.found + found, self.asked.mass) * SLACK
    }

    /// The least score of the best so far.
    fn floor(&self, scratch: &Scratch) -> f32 {
        let mut best: Vec<f32> = Vec::with_capacity(2 * self.limit);
        let mut floor = 0.0;
        for doc in &scratch.touched {
            let slot = scratch.slot(*doc);
            if slot.sum <= floor || !self.allowed(*doc) {
                continue;
            }
            let score = slot.sum * self.index.factor(slot.found, self.asked.mass);
            if score > floor {
                best.push(score);
                if best.len() == 2 * self.limit {
                    floor = self.cut(&mut best);
                }
            }
        }
        if best.len() < self.limit { floor } else { self.cut(&mut best) }
    }

    /// Keeps the best, and returns the last of them.
    fn cut(&self, best: &mut Vec<f32>) -> f32 {
        let (_, last, _) = best.select_nth_unstable_by(self.limit - 1, |one, other| other.total_cmp(one));
        let last = *last;
        best.truncate(self.limit);
        last
    }

    /// Looks up the remaining words for the few touched skills that can still be among the best.
    fn finish(&self, scratch: &mut Scratch, lists: &[List<'_>], floor: f32) -> Vec<(u32, f32)> {
        let mut sum: f32 = lists.iter().map(|list| list.bound).sum::<f32>() * SLACK;
        let mut found: f32 =
            lists.iter().filter(|list| list.word.single).map(|list| list.word.weight).sum::<f32>() * SLACK;
        let reaches = |slot: Slot, sum: f32, found: f32| {
            slot.sum + sum >= floor && self.bound(slot, sum, found) >= floor
        };
        let mut left: Vec<u32> =
            scratch.touched.iter().copied().filter(|doc| reaches(scratch.slot(*doc), sum, found)).collect();
        left.sort_unstable();
        for list in lists {
            sum -= list.bound;
            let weight = if list.word.single { list.word.weight } else { 0.0 };
            found -= weight;
            let mut from = 0;
            for doc in &left {
                from = seek(list.items, from, *doc);
                let item = list.items.get(from).map(|bytes| InBody::read(*bytes));
                if let Some(item) = item.filter(|item| item.skill() == *doc) {
                    scratch.add(*doc, list.word.weight * self.index.back_share(item), weight);
                }
            }
            left.retain(|doc| reaches(scratch.slot(*doc), sum, found));
        }
        self.best(scratch, &left)
    }

    fn best(&self, scratch: &Scratch, docs: &[u32]) -> Vec<(u32, f32)> {
        let mut floor = 0.0;
        let mut best: Vec<(u32, f32)> = Vec::with_capacity(2 * self.limit);
        let order =
            |one: &(u32, f32), other: &(u32, f32)| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0));
        for doc in docs {
            let slot = scratch.slot(*doc);
            if slot.sum < floor || !self.allowed(*doc) {
                continue;
            }
            let score = slot.sum * self.index.factor(slot.found, self.asked.mass);
            if score < floor || score <= 0.0 {
                continue;
            }
            best.push((*doc, score));
            if best.len() == 2 * self.limit {
                best.select_nth_unstable_by(self.limit - 1, order);
                best.truncate(self.limit);
                floor = best.last().map_or(0.0, |(_, score)| *score);
            }
        }
        best.sort_unstable_by(order);
        best.truncate(self.limit);
        best
    }
}

impl Scratch {
    fn slot(&self, doc: u32) -> Slot {
        self.slots.get(doc as usize).copied().unwrap_or_default()
    }

    #[inline]
    fn add(&mut self, doc: u32, sum: f32, found: f32) {
        let Some(slot) = self.slots.get_mut(doc as usize) else { return };
        if slot.sum == 0.0 {
            self.touched.push(doc);
        }
        slot.sum += sum;
        slot.found += found;
    }
}

/// The first place at or after `from` whose skill is not smaller.
fn seek(items: &[BackBytes], from: usize, doc: u32) -> usize {
    let before = |bytes: &BackBytes| InBody::read(*bytes).skill() < doc;
    let mut step = 1;
    let mut low = from;
    while items.get(low + step).is_some_and(before) {
        low += step;
        step *= 2;
    }
    let high = (low + step + 1).min(items.len());
    low + items.get(low..high).unwrap_or_default().partition_point(before)
}
