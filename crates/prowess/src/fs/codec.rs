//! The parts of our binary files: bytes with their length, stamps, and a checksum over it all.

use prowess_core::Stamp;

pub(crate) fn put_stamp(body: &mut Vec<u8>, stamp: Stamp) {
    body.extend_from_slice(&stamp.changed().to_le_bytes());
    body.extend(stamp.mark().iter().flat_map(|number| number.to_le_bytes()));
}

pub(crate) fn take_stamp(rest: &mut &[u8]) -> Option<Stamp> {
    let mut numbers = [0u64; 5];
    for number in &mut numbers {
        let (bytes, after) = rest.split_at_checked(8)?;
        *number = u64::from_le_bytes(bytes.try_into().ok()?);
        *rest = after;
    }
    let [changed, mark @ ..] = numbers;
    Some(Stamp::new(changed.cast_signed(), mark))
}

pub(crate) fn put_bytes(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    body.extend_from_slice(bytes);
}

pub(crate) fn take_bytes<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, after) = rest.split_at_checked(4)?;
    let length = u32::from_le_bytes(length.try_into().ok()?);
    let (bytes, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(bytes)
}

/// FNV-1a over words of eight bytes: fast, and enough to detect a torn file.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| step(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(step(hash, bytes.len() as u64), |hash, byte| step(hash, u64::from(*byte)))
}
