//! JSON from outside: counted before it is read, and refused when a member appears twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// An upper bound of the values and member names in a JSON text.
///
/// A digit and a comma are two bytes of text, and about a hundred in memory once they are values. A limit on bytes alone
/// would allow a file to take fifty times its size.
///
/// ```
/// assert_eq!(prowess_core::internal::json_values(br#"{"a": [1, "2, 3"]}"#), 5);
/// ```
pub fn json_values(text: &[u8]) -> usize {
    let (mut values, mut in_string, mut escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            // Every value but the first follows one of these.
            b',' | b':' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}

/// Reads JSON, and refuses an object with two members of one name, at any depth.
///
/// Readers disagree about such a name: some take the first value, some the last. A check and the program behind it could
/// see two different calls.
///
/// ```
/// use prowess_core::internal::parse_json;
///
/// assert_eq!(parse_json(br#"{"a": [1, null]}"#)?["a"][0], 1);
/// assert!(parse_json(br#"{"a": {"b": 1, "b": 2}}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn parse_json(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice::<Unambiguous>(text).map(|Unambiguous(value)| value)
}

struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unambiguous(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom(format_args!("the member {name} appears twice")));
            }
            let Unambiguous(value) = members.next_value()?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

/// JSON with something else in place of each escape of half of a surrogate pair; none if it has no such escape.
pub fn without_halves(json: &str, instead: &str) -> Option<String> {
    let unit = |at: usize| {
        let digits = json.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut made, mut kept, mut at) = (String::new(), 0, 0);
    while let Some(next) = json.get(at..).and_then(|rest| rest.find('\\')) {
        at += next;
        at += match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                made.push_str(json.get(kept..at)?);
                made.push_str(instead);
                kept = at + 6;
                6
            }
            // The character after another backslash is ASCII.
            _ => 2,
        };
    }
    made.push_str(json.get(kept..)?);
    (kept > 0).then_some(made)
}

/// JSON with `null` in place of each list and object that is deeper than a number of others; none if there is none.
pub fn without_depths(json: &str, most: usize) -> Option<String> {
    let (mut made, mut depth, mut in_string, mut escaped) = (String::new(), 0_usize, false, false);
    // Until where the text is in `made`, or left out of it.
    let mut done = 0;
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                if depth == most {
                    made.push_str(json.get(done..at)?);
                    made.push_str("null");
                    done = at;
                }
                depth += 1;
            }
            b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == most {
                    done = at + 1;
                }
            }
            _ => {}
        }
    }
    made.push_str(json.get(done..)?);
    (depth == 0 && done > 0).then_some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_half_of_a_surrogate_pair_is_replaced() {
        let replaced = |json: &str| without_halves(json, "?");
        assert_eq!(replaced(r#""a\ud800b\uDFFF""#).as_deref(), Some(r#""a?b?""#));
        assert_eq!(replaced(r#""\ud83d\ud83d\ude00""#).as_deref(), Some(r#""?\ud83d\ude00""#));
        for whole in [r#""\ud83d\ude00""#, r#""\\ud800""#, r#""é\n\u0041\\""#, "{}", r#""\"#, r#""\ud8"#] {
            assert_eq!(replaced(whole), None, "{whole}");
        }
    }

    #[test]
    fn values_are_counted_outside_of_strings() {
        let list = |values: usize| format!("[{}]", vec!["0"; values].join(",")).into_bytes();
        assert_eq!(json_values(&list(99)), 100);
        let text = serde_json::to_vec(&"\\\",[{:".repeat(100)).unwrap();
        assert_eq!(json_values(&text), 1);
        assert_eq!(json_values("[".repeat(100).as_bytes()), 101);
        assert_eq!(json_values(&br#"{"":0}"#.repeat(100)), 201);
    }

    #[test]
    fn what_is_too_deep_is_replaced() {
        for (json, most, wanted) in [
            ("[[1],[[2]],3]", 2, Some("[[1],[null],3]")),
            (r#"{"a":{"b":[1,{"c":"]}"}]},"d":"[[["}"#, 1, Some(r#"{"a":null,"d":"[[["}"#)),
            (r#"{"a":{"b":[1]}}"#, 3, None),
            (r#""[[[""#, 0, None),
            ("[[[", 1, None),
            ("[]]", 1, None),
        ] {
            assert_eq!(without_depths(json, most).as_deref(), wanted, "{json}");
        }
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        assert!(serde_json::from_str::<Value>(&deep).is_err());
        assert!(serde_json::from_str::<Value>(&without_depths(&deep, 100).unwrap()).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn values_are_read_as_serde_reads_them(texts: Vec<String>, numbers: Vec<f32>, whole: i64) {
            let value = serde_json::json!({"texts": texts, "numbers": numbers, "whole": whole, "no": null, "yes": true});
            proptest::prop_assert_eq!(parse_json(value.to_string().as_bytes()).unwrap(), serde_json::from_str::<Value>(&value.to_string()).unwrap());
        }
    }
}
