//! Values that a table of the library names, with its summaries.

use std::error::Error;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use prowess::finding::Preset;
use prowess::render::Shape;
use prowess::session::{Dialect, NAMINGS, Naming};
use prowess_mcp::{CLIENT_CONFIGS, ClientConfig};

/// The dialects of models' interfaces.
pub(super) fn dialects() -> impl TypedValueParser<Value = Dialect> {
    one_of(Dialect::ALL.iter().map(|dialect| dialect.name()))
}

/// The namings of the tools.
pub(super) fn namings() -> impl TypedValueParser<Value = Naming> {
    one_of(NAMINGS.iter().map(|row| PossibleValue::new(row.name).help(row.summary)))
}

/// The profiles.
pub(super) fn profiles() -> impl TypedValueParser<Value = Preset> {
    one_of(Preset::ALL.iter().map(|preset| PossibleValue::new(preset.name()).help(preset.summary())))
}

/// The layouts of a catalog.
pub(super) fn shapes() -> impl TypedValueParser<Value = Shape> {
    found_in(Shape::ALL.iter().map(|shape| (shape.name(), *shape)))
}

/// The clients whose configuration can be written.
pub(super) fn clients() -> impl TypedValueParser<Value = &'static ClientConfig> {
    found_in(CLIENT_CONFIGS.iter().map(|client| (client.name, client)))
}

/// One of some values, which the type itself reads.
fn one_of<T>(values: impl IntoIterator<Item = impl Into<PossibleValue>>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Into<Box<dyn Error + Send + Sync>>> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(values).try_map(|name| name.parse::<T>())
}

/// One of some values by their names.
fn found_in<T>(table: impl Iterator<Item = (&'static str, T)>) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let table: Vec<_> = table.collect();
    PossibleValuesParser::new(table.iter().map(|(name, _)| *name)).try_map(move |name| {
        table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).ok_or("no such value")
    })
}
