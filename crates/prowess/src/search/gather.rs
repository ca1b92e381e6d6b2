//! Text analysis on several threads, in batches: the same postings as on one thread, without holding all texts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use prowess_core::select::{Corpus, Postings, Reader, Texts};

/// The number of skills that are analysed before their postings are made. It bounds the memory.
const BATCH: usize = 500;
/// The number of parts of one size that are merged into the next larger one, so that words that all parts have are not
/// held often.
const FAN: usize = 8;

/// The postings of many skills, analysed on this many threads. The result does not depend on their number.
pub fn analyse(texts: &[Texts<'_>], threads: usize) -> Postings {
    gather(texts.len(), threads, |at, reader| {
        if let Some(texts) = texts.get(at) {
            reader.add(texts);
        }
    })
}

/// The postings of `count` skills. `add` adds the skill at an index to the reader, so that each is held only while it
/// is read; it must add exactly one.
pub fn gather(count: usize, threads: usize, add: impl Fn(usize, &mut Reader) + Sync) -> Postings {
    let size = count.div_ceil(threads.max(1)).clamp(1, BATCH);
    let batches = count.div_ceil(size);
    let read = |batch: usize| -> Corpus {
        let mut reader = Reader::new();
        for at in batch * size..count.min((batch + 1) * size) {
            add(at, &mut reader);
        }
        reader.finish()
    };
    let mut tiers = Tiers::default();
    if batches < 2 || threads < 2 {
        (0..batches).for_each(|batch| tiers.push(read(batch).into()));
        return tiers.finish();
    }
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        // The queue is bounded, so that readers do not run ahead of the thread that merges. Only one thread merges: not
        // every allocator reuses memory that one thread frees and another needs.
        let (send, receive) = mpsc::sync_channel(1);
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let send = send.clone();
                let (next, read) = (&next, &read);
                scope.spawn(move || {
                    loop {
                        let batch = next.fetch_add(1, Ordering::Relaxed);
                        if batch >= batches || send.send((batch, read(batch))).is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        drop(send);
        let mut early: BTreeMap<usize, Corpus> = BTreeMap::new();
        let mut due = 0;
        for (batch, corpus) in receive {
            early.insert(batch, corpus);
            while let Some(corpus) = early.remove(&due) {
                tiers.push(corpus.into());
                due += 1;
            }
        }
        // The batch of a thread that panicked is read here.
        for worker in workers {
            let _ = worker.join();
        }
        for batch in due..batches {
            tiers.push(early.remove(&batch).unwrap_or_else(|| read(batch)).into());
        }
    });
    tiers.finish()
}

/// Consecutive postings, the larger ones first.
#[derive(Default)]
struct Tiers {
    parts: Vec<(u32, Postings)>,
}

impl Tiers {
    fn push(&mut self, part: Postings) {
        let (mut tier, mut part) = (0, part);
        while self.parts.iter().rev().take_while(|(other, _)| *other == tier).count() >= FAN - 1 {
            let from = self.parts.len().saturating_sub(FAN - 1);
            let same = self.parts.drain(from..).map(|(_, part)| part);
            part = Postings::joined(same.chain([part]).collect::<Vec<_>>());
            tier += 1;
        }
        self.parts.push((tier, part));
    }

    fn finish(self) -> Postings {
        Postings::joined(self.parts.into_iter().map(|(_, part)| part))
    }
}

/// The number of threads that the machine can run at once.
pub fn threads() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_batches_and_a_thread_that_dies_change_nothing() {
        let names: Vec<String> =
            (0..2_300).map(|number| format!("skill-{number} sorts {}", number % 7)).collect();
        let texts: Vec<Texts<'_>> =
            names.iter().map(|name| Texts { name, about: vec![name, "apples"], body: Some(name) }).collect();
        let mut reader = Reader::new();
        for texts in &texts {
            reader.add(texts);
        }
        let whole = Postings::from(reader.finish());
        for threads in [0, 1, 2, 3, 80] {
            assert!(analyse(&texts, threads) == whole, "{threads} threads");
        }
        let died = AtomicUsize::new(0);
        let gathered = gather(texts.len(), 3, |at, reader| {
            assert!(at != 1_200 || died.fetch_add(1, Ordering::Relaxed) > 0, "once");
            reader.add(&texts[at]);
        });
        assert!(gathered == whole);
        assert!(analyse(&[], 4).is_empty());
    }

    #[test]
    fn tiers_keep_the_order() {
        let part =
            |at: usize| analyse(&[Texts { name: &format!("n{at}"), about: Vec::new(), body: None }], 1);
        let mut tiers = Tiers::default();
        (0..150).for_each(|at| tiers.push(part(at)));
        assert!(
            tiers.parts.len() < 3 * FAN && tiers.parts.is_sorted_by_key(|(tier, _)| std::cmp::Reverse(*tier))
        );
        assert!(tiers.finish() == Postings::joined((0..150).map(part)));
    }
}
