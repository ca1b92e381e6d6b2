//! The value of `config set` as a user writes it, turned into TOML.

use prowess_core::HostTools;
use toml_edit::{Array, DocumentMut, Value};

use super::ConfigSetError;
use crate::library::config::key_path::KeyPath;
use crate::library::config::keys::ConfigKind;

/// The value in TOML: for a text verbatim, otherwise as the user wrote it. A list may also be names with commas; tools are
/// separated as in `--tools`.
pub(super) fn written(key: &KeyPath, text: &str) -> Result<String, ConfigSetError> {
    Ok(value_of(key, text)?.to_string().trim().to_owned())
}

fn value_of(key: &KeyPath, text: &str) -> Result<Value, ConfigSetError> {
    let kind = if key.entry.is_some() { ConfigKind::Text } else { key.key.kind };
    if kind == ConfigKind::Text {
        return Ok(Value::from(text));
    }
    let value = of_toml(text);
    if kind == ConfigKind::Texts {
        return match value {
            Some(value @ Value::Array(_)) => Ok(value),
            Some(Value::String(text)) => Ok(Value::Array([text.value().as_str()].into_iter().collect())),
            _ if text.trim_start().starts_with('[') => Ok(Value::from(text)),
            _ => names(key, text).map(Value::Array),
        };
    }
    Ok(value.unwrap_or_else(|| Value::from(text)))
}

/// A text that is one value of TOML. A text with a line break could contain more.
fn of_toml(text: &str) -> Option<Value> {
    let mut document = format!("value = {}", text.trim()).parse::<DocumentMut>().ok()?;
    let mut value = document.remove("value")?.into_value().ok().filter(|_| document.is_empty())?;
    value.decor_mut().clear();
    Some(value)
}

/// Names that are separated by commas.
fn names(key: &KeyPath, text: &str) -> Result<Array, ConfigSetError> {
    if text.contains(['"', '\'']) {
        return Err(ConfigSetError::Value {
            message: format!("{key}: names with quotes are written as a list: {text}"),
            hint: "write [\"a\", \"b\"], or a, b without quotes".to_owned(),
        });
    }
    if key.key.name == "tools"
        && let HostTools::Only(tools) = HostTools::parse(text)
    {
        return Ok(tools.into_iter().collect());
    }
    Ok(text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect())
}
