//! The fields of frontmatter: one table of what clients understand beyond the specification, and the shape of each.
//!
//! A new client field is one row of the table below. Reading, the JSON form, the shape checks of `check` and the list
//! of known keys follow from it; `docs/schemas/show.json` needs the same name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::{Document, Node, SPEC_FIELDS};
use crate::skill::Entry;
use crate::skill::tool_list::ToolList;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum FieldShape {
    /// One text.
    Text,
    /// One text, also when it is in square brackets, which YAML reads as a list.
    Bracketed,
    /// A list of texts, or one text separated by commas.
    List,
    /// A list of words, or one text separated by commas or white space.
    Words,
    /// Tools, as a list or as one text.
    Tools,
    /// True or false.
    Switch,
    /// Keys and values.
    Mapping,
    /// Anything.
    Any,
}

impl FieldShape {
    /// Whether a value can be read as this.
    pub(crate) fn fits(self, value: &Node) -> bool {
        match self {
            Self::Text => value.scalar().is_some(),
            Self::List | Self::Words | Self::Tools => value.pairs().is_none(),
            Self::Mapping => value.pairs().is_some() || value.is_null(),
            Self::Bracketed | Self::Switch | Self::Any => true,
        }
    }
}

/// The shape of a field that the specification or a client knows. The name and the description have rules of their
/// own, so any shape passes here.
pub(crate) fn shape(key: &str) -> Option<FieldShape> {
    match key {
        "name" | "description" => Some(FieldShape::Any),
        "license" | "compatibility" => Some(FieldShape::Text),
        "metadata" => Some(FieldShape::Mapping),
        "allowed-tools" => Some(FieldShape::Tools),
        _ => client_field(key).map(|field| field.shape),
    }
}

/// The keys of all fields that are known, those of the specification first.
pub(crate) fn known_keys() -> impl Iterator<Item = &'static str> {
    SPEC_FIELDS.into_iter().chain(CLIENT_FIELDS.iter().map(|field| field.key))
}

/// The row of a client field.
pub(crate) fn client_field(key: &str) -> Option<&'static ClientField> {
    CLIENT_FIELDS.iter().find(|field| field.key == key)
}

/// A field outside the specification that Prowess understands, because widely used clients do.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) struct ClientField {
    /// Its key in the frontmatter.
    pub key: &'static str,
    /// What it holds.
    pub shape: FieldShape,
    /// Its value in the specification's form; none when the skill does not have it.
    pub(crate) json: fn(&Entry) -> Option<Value>,
}

/// A value of a client field: a text, a list, tools or anything.
trait FieldValue: Sized {
    /// The value of a missing field.
    const NONE: Self;

    fn read(document: &Document, key: &str, shape: FieldShape) -> Self;
    fn is_none(&self) -> bool;
    fn json(&self) -> Option<Value>;
}

impl FieldValue for Option<String> {
    const NONE: Self = None;

    fn read(document: &Document, key: &str, shape: FieldShape) -> Self {
        if shape == FieldShape::Bracketed { bracketed(document, key) } else { text(document, key) }
    }

    fn is_none(&self) -> bool {
        Self::is_none(self)
    }

    fn json(&self) -> Option<Value> {
        self.clone().map(Value::String)
    }
}

impl FieldValue for Vec<String> {
    const NONE: Self = Self::new();

    fn read(document: &Document, key: &str, shape: FieldShape) -> Self {
        let read = if shape == FieldShape::Words { words } else { list_of_texts };
        document.field(key).map(read).unwrap_or_default()
    }

    fn is_none(&self) -> bool {
        self.is_empty()
    }

    fn json(&self) -> Option<Value> {
        (!self.is_empty()).then(|| Value::from(self.clone()))
    }
}

impl FieldValue for Option<ToolList> {
    const NONE: Self = None;

    fn read(document: &Document, key: &str, _: FieldShape) -> Self {
        document.field(key).map(tool_list)
    }

    fn is_none(&self) -> bool {
        Self::is_none(self)
    }

    fn json(&self) -> Option<Value> {
        self.as_ref().map(|tools| tools.to_spec_string().into())
    }
}

impl FieldValue for Option<Value> {
    const NONE: Self = None;

    fn read(document: &Document, key: &str, _: FieldShape) -> Self {
        document.field(key).filter(|node| !node.is_null()).map(Node::to_json)
    }

    fn is_none(&self) -> bool {
        Self::is_none(self)
    }

    fn json(&self) -> Option<Value> {
        self.clone()
    }
}

/// Makes [`Fields`] and [`CLIENT_FIELDS`] from the table. A row with a member and its type is kept in [`Fields`]; the
/// others are kept in [`Entry`] itself, and say how to write them.
macro_rules! client_fields {
    ($(
        $key:literal: $shape:ident
            $(=> $(#[$doc:meta])* $member:ident: $type:ty)?
            $(=> |$entry:ident| $json:expr)?;
    )*) => {
        /// What clients understand beyond the specification, field by field.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        #[non_exhaustive]
        pub struct Fields {
            $($(
                $(#[$doc])*
                #[serde(skip_serializing_if = "FieldValue::is_none")]
                pub $member: $type,
            )?)*
        }

        impl Fields {
            const fn none() -> Self {
                Self { $($($member: <$type as FieldValue>::NONE,)?)* }
            }

            fn read(document: &Document) -> Self {
                Self { $($($member: FieldValue::read(document, $key, FieldShape::$shape),)?)* }
            }
        }

        /// Fields outside the specification that Prowess understands, in the order they are written.
        pub(crate) static CLIENT_FIELDS: &[ClientField] = &[
            $(ClientField {
                key: $key,
                shape: FieldShape::$shape,
                json: $(|entry| entry.client.$member.json())? $(|$entry| $json)?,
            },)*
        ];
    };
}

client_fields! {
    "tags": List => |entry| unless_in_metadata(entry, "tags", entry.tags.json());
    "version": Text => |entry| unless_in_metadata(entry, "version", entry.version.json());
    "when_to_use": Text =>
        /// When the model should use the skill, in addition to the description.
        when_to_use: Option<String>;
    "argument-hint": Bracketed =>
        /// What a user may type after the skill's name.
        argument_hint: Option<String>;
    "arguments": Words =>
        /// The names of positional arguments.
        arguments: Vec<String>;
    "disable-model-invocation": Switch => |entry| (!entry.invocation.model).then_some(Value::Bool(true));
    "user-invocable": Switch => |entry| (!entry.invocation.user).then_some(Value::Bool(false));
    "disallowed-tools": Tools =>
        /// Tools that the skill must not have.
        disallowed_tools: Option<ToolList>;
    "model": Text =>
        /// The model it asks for.
        model: Option<String>;
    "effort": Text =>
        /// The effort it asks for.
        effort: Option<String>;
    "context": Text =>
        /// `fork` asks for a subagent.
        context: Option<String>;
    "agent": Text =>
        /// The kind of subagent it asks for.
        agent: Option<String>;
    "paths": List =>
        /// Globs of the files that the skill is for.
        paths: Vec<String>;
    "hooks": Any =>
        /// Commands for the client to run. Prowess never runs them.
        hooks: Option<Value>;
}

/// A value that `metadata` does not have already.
fn unless_in_metadata(entry: &Entry, key: &str, value: Option<Value>) -> Option<Value> {
    value.filter(|_| !entry.metadata.iter().any(|(other, _)| other == key))
}

/// The fields that some clients understand beyond the specification. All are data; nothing is executed.
///
/// Most skills have none of them, and then nothing is allocated.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Fields", into = "Fields")]
pub struct ClientFields(Option<Box<Fields>>);

impl ClientFields {
    /// The client fields of a document.
    pub(super) fn read(document: &Document) -> Self {
        if document.pairs().iter().any(|pair| client_field(&pair.key).is_some()) {
            Fields::read(document).into()
        } else {
            Self::default()
        }
    }
}

impl PartialEq for ClientFields {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl std::ops::DerefMut for ClientFields {
    fn deref_mut(&mut self) -> &mut Fields {
        self.0.get_or_insert_default()
    }
}

impl From<Fields> for ClientFields {
    fn from(fields: Fields) -> Self {
        Self((fields != Fields::default()).then(|| Box::new(fields)))
    }
}

impl From<ClientFields> for Fields {
    fn from(fields: ClientFields) -> Self {
        fields.0.map(|fields| *fields).unwrap_or_default()
    }
}

impl std::ops::Deref for ClientFields {
    type Target = Fields;

    fn deref(&self) -> &Fields {
        static NONE: Fields = Fields::none();
        self.0.as_deref().unwrap_or(&NONE)
    }
}

/// The text of a field: the source text of a scalar, unless it is empty or null.
pub(super) fn text(document: &Document, key: &str) -> Option<String> {
    document.field(key).and_then(plain_text)
}

/// The same for a field that people write in square brackets, which YAML reads as a list.
fn bracketed(document: &Document, key: &str) -> Option<String> {
    let value = document.field(key)?;
    if value.scalar().is_some() {
        return plain_text(value);
    }
    let source = value.span.slice(document.text()).filter(|text| !text.starts_with('*'));
    Some(source.map_or_else(|| value.to_text(), str::to_owned))
}

/// The text of a scalar; none when it is empty or null.
pub(super) fn plain_text(node: &Node) -> Option<String> {
    let written = node.said()?.trim();
    (!written.is_empty()).then(|| written.to_owned())
}

/// The tools of an `allowed-tools` value; none when it is neither text nor list.
pub(crate) fn tool_list(node: &Node) -> ToolList {
    if let Some(items) = node.items() {
        let texts: Vec<&str> = items.iter().filter_map(Node::text).collect();
        let list = ToolList::from_items(texts.iter().copied());
        if list.grants.iter().all(|grant| grant.balanced) {
            return list;
        }
        // YAML splits `[Bash(npm run build, npm test)]` at the comma; joined again it is one tool.
        let joined = texts.join(", ");
        let whole = ToolList::from_items([joined.as_str()]);
        return if whole.grants.iter().all(|grant| grant.balanced) { whole } else { list };
    }
    // A value that is neither text nor list is an empty list, which differs from a missing field.
    let Some(scalar) = node.scalar() else { return ToolList::parse("") };
    ToolList::parse(if scalar.is_null() { "" } else { &scalar.text })
}

/// Booleans as clients read them: also the words of YAML 1.1, and digits.
pub(crate) fn boolean(node: &Node) -> Option<bool> {
    match node.text()?.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// The items of a list, or the words of a text separated by commas, else by white space.
fn words(node: &Node) -> Vec<String> {
    let Some(text) = node.said() else { return list_of_texts(node) };
    let comma = text.contains(',');
    text.split(|character: char| if comma { character == ',' } else { character.is_whitespace() })
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The items of a list, or one text separated by commas.
pub(super) fn list_of_texts(node: &Node) -> Vec<String> {
    match (node.items(), node.said()) {
        (Some(items), _) => {
            let said = items.iter().filter(|item| !item.is_null());
            said.map(|item| item.to_text().trim().to_owned()).filter(|item| !item.is_empty()).collect()
        }
        (None, Some(text)) => {
            text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
        }
        (None, None) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_field_has_a_shape_and_its_key_once() {
        let keys: std::collections::BTreeSet<&str> = known_keys().collect();
        assert_eq!(keys.len(), known_keys().count());
        assert!(keys.iter().all(|key| shape(key).is_some()));
        assert_eq!(shape("other"), None);
    }
}
