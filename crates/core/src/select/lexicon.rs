//! [`Lexicon`]: distinct texts, each stored once and with a number.

/// Distinct texts, numbered in the order in which they were added.
///
/// The numbers depend on that order, so no visible result may depend on the numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Lexicon {
    text: String,
    /// Where each text ends in `text`.
    ends: Vec<u32>,
    /// An open-addressing table: the upper half of a slot is the hash, the lower half the number plus one, and zero is
    /// free. Its length is a power of two.
    slots: Vec<u64>,
}

/// The hash of a text: the same on every machine and in every run.
pub(super) fn hash(text: &str) -> u32 {
    const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = SEED ^ text.len() as u64;
    let mut chunks = text.as_bytes().chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        state = (state.rotate_left(23) ^ word).wrapping_mul(SEED);
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(chunks.remainder()) {
        *to = *from;
    }
    state = (state.rotate_left(23) ^ u64::from_le_bytes(last)).wrapping_mul(SEED);
    // The upper half is better mixed.
    u32::try_from(state >> 32).unwrap_or_default()
}

/// The upper and the lower half of a slot.
fn halves(slot: u64) -> (u32, u32) {
    let half = |slot: u64| u32::try_from(slot & u64::from(u32::MAX)).unwrap_or_default();
    (half(slot >> 32), half(slot))
}

impl Lexicon {
    /// The number of texts.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text with a number.
    pub(super) fn text(&self, number: u32) -> &str {
        let at = number as usize;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(start);
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The number of a text, or the free slot for it; none when there are no slots.
    fn place(&self, text: &str, hash: u32) -> Option<Result<u32, usize>> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let (above, below) = halves(self.slots.get(at).copied()?);
            let Some(number) = below.checked_sub(1) else { return Some(Err(at)) };
            // Compare the hash first: the text is elsewhere in memory.
            if above == hash && self.text(number) == text {
                return Some(Ok(number));
            }
            at = (at + 1) & mask;
        }
    }

    /// The number of a text, new or known.
    pub(super) fn add(&mut self, text: &str) -> u32 {
        if (self.ends.len() + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let hash = hash(text);
        match self.place(text, hash) {
            Some(Ok(number)) => number,
            free => {
                let number = u32::try_from(self.ends.len()).unwrap_or(u32::MAX - 1);
                self.text.push_str(text);
                self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
                if let Some(Err(at)) = free
                    && let Some(slot) = self.slots.get_mut(at)
                {
                    *slot = u64::from(hash) << 32 | u64::from(number + 1);
                }
                number
            }
        }
    }

    /// The hash of each text, and its number.
    pub(super) fn hashes(&self) -> Vec<(u32, u32)> {
        let used = self.slots.iter().filter(|slot| **slot != 0).map(|slot| halves(*slot));
        used.map(|(hash, below)| (hash, below - 1)).collect()
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        let mask = size - 1;
        let mut slots = vec![0; size];
        for slot in self.slots.iter().filter(|slot| **slot != 0) {
            let mut at = halves(*slot).0 as usize & mask;
            while slots.get(at).is_some_and(|slot| *slot != 0) {
                at = (at + 1) & mask;
            }
            if let Some(free) = slots.get_mut(at) {
                *free = *slot;
            }
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_and_a_number_one_text() {
        let mut lexicon = Lexicon::default();
        assert_eq!((lexicon.len(), lexicon.hashes()), (0, Vec::new()));
        let words: Vec<String> =
            (0..1_000).map(|number| format!("word-{number}-{}", "x".repeat(number % 19))).collect();
        for _ in 0..2 {
            for (number, word) in (0..).zip(&words) {
                assert_eq!(lexicon.add(word), number);
            }
        }
        assert_eq!(lexicon.len(), words.len());
        let mut numbers: Vec<u32> = lexicon.hashes().iter().map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..1_000));
        assert_eq!((lexicon.text(7), lexicon.text(u32::MAX)), ("word-7-xxxxxxx", ""));
    }
}
