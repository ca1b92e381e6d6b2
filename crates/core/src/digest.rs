//! [`Digest`]: the SHA-256 of a file, of the files of a skill, or of another text.
//!
//! The core compares digests and never computes one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What precedes the digits of a digest.
const START: &str = "sha256:";

/// A SHA-256. Its text is `sha256:` and 64 hexadecimal digits in lower case; the format `{:x}` is the digits alone.
///
/// ```
/// use prowess_core::Digest;
///
/// let digest = Digest::from([0xa5; 32]);
/// assert_eq!(digest, digest.to_string().parse()?);
/// assert_eq!(format!("{digest:x}"), "a5".repeat(32));
/// # Ok::<(), prowess_core::digest::NoDigest>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// The error for a text that is not a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoDigest;

impl Digest {
    /// The digest with these 64 hexadecimal digits in lower case.
    pub fn from_hex(digits: &str) -> Result<Self, NoDigest> {
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            _ => Err(NoDigest),
        };
        let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return Err(NoDigest) };
        let pairs: &[[u8; 2]; 32] = pairs.try_into().map_err(|_| NoDigest)?;
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = value(*high)? << 4 | value(*low)?;
        }
        Ok(Self(bytes))
    }
}

impl From<[u8; 32]> for Digest {
    fn from(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

impl fmt::LowerHex for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' + value - 10 };
        let digits = self.0.map(|byte| [digit(byte >> 4), digit(byte & 0xf)]);
        formatter.write_str(str::from_utf8(digits.as_flattened()).unwrap_or_default())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{START}{self:x}")
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Self, NoDigest> {
        Self::from_hex(text.strip_prefix(START).ok_or(NoDigest)?)
    }
}

impl TryFrom<String> for Digest {
    type Error = NoDigest;

    fn try_from(text: String) -> Result<Self, NoDigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl fmt::Display for NoDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("sha256: and 64 hexadecimal digits in lower case are wanted")
    }
}

impl std::error::Error for NoDigest {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_64_digits_in_lower_case_after_the_name_of_the_hash_are_a_digest() {
        let digits = "0123456789abcdef".repeat(4);
        let digest: Digest = format!("sha256:{digits}").parse().unwrap();
        assert_eq!(digest.to_string(), format!("sha256:{digits}"));
        assert_eq!(serde_json::to_value(digest).unwrap(), format!("sha256:{digits}"));
        for bad in ["", "sha256:", &digits, "sha256:0a", "sha1:0a"].map(str::to_owned).into_iter().chain([
            format!("sha256:{}", digits.to_uppercase()),
            format!("sha256:{digits}0"),
            format!("sha256:{digits}00"),
            format!("sha256:{}", digits.replacen('0', "g", 1)),
            format!("sha256:{}", digits.replacen('0', " ", 1)),
        ]) {
            assert_eq!(bad.parse::<Digest>(), Err(NoDigest), "{bad}");
        }
    }
}
