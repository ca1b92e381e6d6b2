//! Integers of 64 bits as text in JSON: JavaScript rounds such numbers, so a stamp or a checksum in a stored state would
//! never match again. Numbers are read too.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum Stored<T> {
    Number(T),
    Text(String),
}

pub(crate) fn serialize<T: Display, S: Serializer>(number: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + FromStr,
    D: Deserializer<'de>,
{
    match Stored::deserialize(deserializer)? {
        Stored::Number(number) => Ok(number),
        Stored::Text(text) => text.parse().map_err(|_| D::Error::custom("this is not an integer")),
    }
}

/// The same for a list of four.
pub(crate) mod four {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize, Serialize)]
    #[serde(transparent)]
    struct Wide(#[serde(with = "super")] u64);

    pub(crate) fn serialize<S: Serializer>(numbers: &[u64; 4], serializer: S) -> Result<S::Ok, S::Error> {
        numbers.map(Wide).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u64; 4], D::Error> {
        Ok(<[Wide; 4]>::deserialize(deserializer)?.map(|Wide(number)| number))
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::Stamp;

    #[test]
    fn a_stamp_is_stored_without_a_number_that_javascript_rounds() {
        let stamp = Stamp::new(i64::MAX, [u64::MAX, 1, 2, 3]);
        let stored = serde_json::to_string(&stamp).unwrap();
        assert_eq!(
            stored,
            r#"{"changed":"9223372036854775807","mark":["18446744073709551615","1","2","3"]}"#
        );
        assert_eq!(serde_json::from_str::<Stamp>(&stored).unwrap(), stamp);
        let numbers = r#"{"changed":9223372036854775807,"mark":[18446744073709551615,1,2,3]}"#;
        assert_eq!(serde_json::from_str::<Stamp>(numbers).unwrap(), stamp);
        assert!(serde_json::from_str::<Stamp>(r#"{"changed":"x","mark":[1,1,2,3]}"#).is_err());
    }
}
