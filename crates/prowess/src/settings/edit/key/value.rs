//! The value of `config set` as a user writes it, turned into TOML.

use prowess_core::HostTools;
use toml_edit::{Array, DocumentMut, Value};

use super::ConfigSetError;
use crate::install::{InstallPlace, InstallSpec, SkillRef};
use crate::settings::key_path::KeyPath;
use crate::settings::keys::ConfigKind;

/// The value in TOML: for a text verbatim, otherwise as the user wrote it. A list may also be names with commas; tools are
/// separated as in `--tools`.
pub(super) fn written(key: &KeyPath, text: &str) -> Result<String, ConfigSetError> {
    Ok(value_of(key, text)?.to_string().trim().to_owned())
}

fn value_of(key: &KeyPath, text: &str) -> Result<Value, ConfigSetError> {
    let kind = if key.entry.is_some() { ConfigKind::Text } else { key.key.kind };
    if let Some(org) = key.entry.as_deref().filter(|_| key.key.name == "registries") {
        check_registry(key, org, text)?;
    }
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

/// An error if `@org/name` could not be installed from an address.
fn check_registry(key: &KeyPath, org: &str, address: &str) -> Result<(), ConfigSetError> {
    let wrong = |what: String| {
        ConfigSetError::Value {
        message: format!("{key}: {what}"),
        hint: "write an address such as https://git.acme.example/{org}/{name}.git for an organisation such as acme"
            .to_owned(),
    }
    };
    if format!("@{org}/name").parse::<SkillRef>().is_err() {
        return Err(wrong(format!("this is not an organisation: {org}")));
    }
    let text = address.replace("{org}", org).replace("{name}", "name");
    let spec = text.parse::<InstallSpec>().map_err(|error| wrong(error.to_string()))?;
    if matches!(spec.place, InstallPlace::Reference(_)) {
        return Err(wrong(format!("this is not an address: {address}")));
    }
    Ok(())
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
