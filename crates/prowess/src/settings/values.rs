//! Values of TOML as values of JSON, and as text.

use serde_json::Value;
use toml::de::{DeInteger, DeTable, DeValue};

/// A table of TOML as one of JSON.
pub(crate) fn of_table(table: &DeTable<'_>) -> Value {
    let members = table.iter().map(|(key, value)| (key.get_ref().to_string(), of_toml(value.get_ref())));
    Value::Object(members.collect())
}

/// A value of TOML as one of JSON.
pub(crate) fn of_toml(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(&**text),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Array(items) => items.iter().map(|item| of_toml(item.get_ref())).collect(),
        DeValue::Table(table) => of_table(table),
        DeValue::Integer(written) => {
            let negative = || i64::from_str_radix(written.as_str(), written.radix()).ok();
            let value = number(written).map(Value::from).or_else(|| negative().map(Value::from));
            value.unwrap_or_else(|| Value::from(format!("integer {written}")))
        }
        // What these say does not matter here, only whether it changes.
        DeValue::Float(number) => Value::from(format!("float {number}")),
        DeValue::Datetime(moment) => Value::from(format!("moment {moment}")),
    }
}

/// A number that is not negative, in any notation of TOML.
pub(crate) fn number(written: &DeInteger<'_>) -> Option<u64> {
    u64::from_str_radix(written.as_str(), written.radix()).ok()
}

/// A key, in quotes if it needs them.
pub(crate) fn written_key(key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !key.is_empty() && key.bytes().all(is_bare) { key.to_owned() } else { Value::from(key).to_string() }
}

/// A value, on one line. Texts, numbers and lists are written as in JSON.
pub fn written(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{} = {}", written_key(key), written(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        // JSON does not escape it, TOML wants that.
        Value::String(_) => value.to_string().replace('\u{7f}', "\\u007f"),
        other => other.to_string(),
    }
}
