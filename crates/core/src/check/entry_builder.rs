//! [`EntryBuilder`]: makes the entry of a skill in a program, by the same rules as for a file.

use serde_json::{Map, Value};

use crate::check::load::LoadError;
use crate::check::profile::Profile;
use crate::document::{markdown, parse};
use crate::skill::Entry;
use crate::skill::location::Origin;

/// Makes an [`Entry`] field by field. [`EntryBuilder::build`] checks it by the rules for a SKILL.md.
///
/// ```
/// use prowess_core::Entry;
///
/// let entry = Entry::builder("release-notes", "Writes release notes from commits.")
///     .with_license("MIT")
///     .with_allowed_tools(["Bash(git log:*)", "Read"])
///     .with_metadata("author", "docs team")
///     .build()?;
/// assert_eq!(entry.key, "release-notes");
///
/// let refused = Entry::builder("Release Notes", "").build().unwrap_err();
/// assert!(refused.to_string().contains("description"));
/// # Ok::<(), prowess_core::LoadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EntryBuilder {
    fields: Map<String, Value>,
    metadata: Map<String, Value>,
    profile: Option<Profile>,
}

impl Entry {
    /// Starts an entry with the two fields that every skill has.
    pub fn builder(name: impl Into<String>, description: impl Into<String>) -> EntryBuilder {
        let builder = EntryBuilder { fields: Map::new(), metadata: Map::new(), profile: None };
        builder.with_field("name", name.into()).with_field("description", description.into())
    }
}

impl EntryBuilder {
    /// Sets the licence.
    #[must_use]
    pub fn with_license(self, license: impl Into<String>) -> Self {
        self.with_field("license", license.into())
    }

    /// Sets what the skill needs from its environment.
    #[must_use]
    pub fn with_compatibility(self, compatibility: impl Into<String>) -> Self {
        self.with_field("compatibility", compatibility.into())
    }

    /// Sets the tools the skill asks for, each such as `Bash(git:*)`.
    #[must_use]
    pub fn with_allowed_tools<T: AsRef<str>>(self, tools: impl IntoIterator<Item = T>) -> Self {
        let tools: Vec<T> = tools.into_iter().collect();
        let tools: Vec<&str> = tools.iter().map(AsRef::as_ref).collect();
        self.with_field("allowed-tools", tools.join(" "))
    }

    /// Adds a key and a value to `metadata`.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), Value::String(value.into()));
        self
    }

    /// Sets any other field of the frontmatter, such as `when_to_use` or one that only the host knows.
    #[must_use]
    pub fn with_field(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(key.into(), value.into());
        self
    }

    /// Sets the profile that it is checked by. The default is that of the specification.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// The entry, or every problem when one of them is an error.
    pub fn build(mut self) -> Result<Entry, LoadError> {
        if !self.metadata.is_empty() {
            self.fields.insert("metadata".to_owned(), Value::Object(self.metadata));
        }
        let document = parse(markdown(&self.fields, "").as_bytes());
        document.load(&Origin::text("<entry>"), None, &self.profile.unwrap_or_else(Profile::spec))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_of_a_name_and_a_description_is_reported() {
        let refused = Entry::builder("Two Words", "x".repeat(1025)).build().unwrap_err();
        let errors: Vec<&str> = refused.errors().filter_map(|problem| problem.field.as_deref()).collect();
        assert!(errors.contains(&"name") && errors.contains(&"description"), "{refused}");
        for (name, description) in [("", "d"), ("n", ""), ("n", "  "), ("a/b", "d"), (&*"n".repeat(65), "d")]
        {
            assert!(Entry::builder(name, description).build().is_err(), "{name}: {description}");
        }
    }

    #[test]
    fn text_that_looks_like_yaml_is_text() {
        let entry =
            Entry::builder("a", "Use when: x\n- y # z").with_metadata("version", "1.0").build().unwrap();
        assert_eq!(entry.description, "Use when: x\n- y # z");
        assert_eq!(entry.version.as_deref(), Some("1.0"));
        assert!(!entry.repaired && entry.origin.place().is_none());
    }

    #[test]
    fn a_lenient_profile_keeps_a_name_verbatim() {
        let entry = Entry::builder("Two Words", "d").with_profile(Profile::lenient()).build().unwrap();
        assert_eq!(entry.name, "Two Words");
    }
}
