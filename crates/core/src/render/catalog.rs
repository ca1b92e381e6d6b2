//! The catalog of skills for a prompt, in six shapes.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::skill::Entry;
use crate::text::{self, collapse, cut, neutralize, visible, xml};

/// How a catalog is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Shape {
    /// Nested elements, each text on the line of its tags, as the client guide shows it.
    #[default]
    Xml,
    /// Nested elements, each text on a line of its own, as the reference implementation prints it.
    SkillsRefXml,
    /// A list inside one element.
    Compact,
    /// A Markdown list below a heading.
    Markdown,
    /// A list below a line of text.
    Plain,
    /// A JSON array.
    Json,
}

impl Shape {
    /// All shapes, in the order of the documentation.
    pub const ALL: &'static [Self] =
        &[Self::Xml, Self::SkillsRefXml, Self::Compact, Self::Markdown, Self::Plain, Self::Json];

    /// The name used in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xml => "xml",
            Self::SkillsRefXml => "skills-ref-xml",
            Self::Compact => "compact",
            Self::Markdown => "markdown",
            Self::Plain => "plain",
            Self::Json => "json",
        }
    }
}

/// What a catalog shows and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CatalogStyle {
    /// The layout.
    pub shape: Shape,
    /// Whether each skill shows the location of its SKILL.md.
    pub location: bool,
    /// Whether each skill shows its compatibility note.
    pub compatibility: bool,
    /// The longest description, in characters; a longer one is cut and ends with `…`.
    pub max_description: Option<usize>,
    /// Whether white space in descriptions is collapsed, so that each is one line. The list shapes always do.
    pub one_line: bool,
    /// Whether elements are indented; only the first shape can be.
    pub indent: bool,
    /// The line above the list; the shape's own when absent, none when empty. Only Markdown and plain text have one.
    pub heading: Option<String>,
    /// A paragraph between heading and list.
    pub intro: Option<String>,
    /// A paragraph after the list.
    pub outro: Option<String>,
    /// The whole text when there is no skill; the shape's own when absent.
    pub empty: Option<String>,
}

impl Default for CatalogStyle {
    fn default() -> Self {
        Self {
            shape: Shape::default(),
            location: false,
            compatibility: false,
            max_description: None,
            one_line: false,
            indent: true,
            heading: None,
            intro: None,
            outro: None,
            empty: None,
        }
    }
}

with_methods! { CatalogStyle:
    with_shape shape: Shape;
    with_location location: bool;
    with_compatibility compatibility: bool;
    with_max_description max_description: Option<usize>;
    with_one_line one_line: bool;
    with_indent indent: bool;
    with_heading heading: Option<String>;
    with_intro intro: Option<String>;
    with_outro outro: Option<String>;
    with_empty empty: Option<String>;
}

impl CatalogStyle {
    /// The usual style of a shape.
    pub fn new(shape: Shape) -> Self {
        Self { shape, location: shape == Shape::SkillsRefXml, ..Self::default() }
    }
}

/// The catalog of these skills, in this order.
///
/// ```
/// use prowess_core::render::{CatalogStyle, Shape, render_catalog};
/// use prowess_core::{Origin, parse};
///
/// let document = parse(b"---\nname: pdf\ndescription: Fills <forms>.\n---\n");
/// let entry = document.skill(&Origin::at("pdf/SKILL.md")).unwrap();
/// let text = render_catalog(&[&entry], &CatalogStyle::new(Shape::Compact));
/// assert_eq!(text, "<available_skills>\n- pdf: Fills &lt;forms&gt;.\n</available_skills>");
/// ```
pub fn render_catalog(skills: &[&Entry], style: &CatalogStyle) -> String {
    if skills.is_empty() {
        let own = match style.shape {
            Shape::Xml | Shape::Compact | Shape::Markdown => "",
            Shape::SkillsRefXml => "<available_skills>\n</available_skills>",
            Shape::Plain => "No skills available.",
            Shape::Json => "[]",
        };
        return style.empty.clone().unwrap_or_else(|| own.to_owned());
    }
    match style.shape {
        Shape::Xml => elements(skills, style, "", if style.indent { "  " } else { "" }),
        Shape::SkillsRefXml => elements(skills, style, "\n", ""),
        Shape::Compact => {
            let mut text = String::from("<available_skills>\n");
            list(&mut text, skills, style, true);
            text.push_str("</available_skills>");
            text
        }
        Shape::Markdown => headed(skills, style, "## Available skills"),
        Shape::Plain => headed(skills, style, "Available skills:"),
        Shape::Json => {
            let entries: Vec<Value> = skills.iter().map(|skill| object(skill, style)).collect();
            text::json(&Value::Array(entries).to_string()).into_owned()
        }
    }
}

/// The description in this style, before escaping.
fn description<'e>(skill: &'e Entry, style: &CatalogStyle, one_line: bool) -> Cow<'e, str> {
    let text = if one_line || style.one_line {
        collapse(&skill.description)
    } else {
        Cow::Borrowed(skill.description.as_str())
    };
    match cut(&text, style.max_description) {
        Cow::Owned(cut) => Cow::Owned(cut),
        Cow::Borrowed(_) => text,
    }
}

fn elements(skills: &[&Entry], style: &CatalogStyle, around: &str, indent: &str) -> String {
    let mut text = String::from("<available_skills>\n");
    for skill in skills {
        let _ = writeln!(text, "{indent}<skill>");
        let mut element = |tag: &str, value: &str| {
            let _ = writeln!(text, "{indent}{indent}<{tag}>{around}{}{around}</{tag}>", xml(value));
        };
        element("name", &skill.key);
        element("description", &description(skill, style, false));
        if let Some(compatibility) = skill.compatibility.as_deref().filter(|_| style.compatibility) {
            element("compatibility", compatibility);
        }
        if let Some(place) = skill.origin.place().filter(|_| style.location) {
            element("location", &place);
        }
        let _ = writeln!(text, "{indent}</skill>");
    }
    text.push_str("</available_skills>");
    text
}

fn headed(skills: &[&Entry], style: &CatalogStyle, own: &str) -> String {
    let paragraph = if style.shape == Shape::Markdown { "\n\n" } else { "\n" };
    let mut text = String::new();
    let heading = style.heading.as_deref().unwrap_or(own);
    for part in [Some(heading), style.intro.as_deref()].into_iter().flatten().filter(|part| !part.is_empty())
    {
        text.push_str(part);
        text.push_str(paragraph);
    }
    list(&mut text, skills, style, false);
    text.pop();
    if let Some(outro) = style.outro.as_deref().filter(|outro| !outro.is_empty()) {
        let _ = write!(text, "\n\n{outro}");
    }
    text
}

/// One line for each skill. A name that could be misread is in quotes.
fn list(text: &mut String, skills: &[&Entry], style: &CatalogStyle, markup: bool) {
    let safe = |value: &str| {
        if markup { xml(value).into_owned() } else { neutralize(&visible(value), &[]).into_owned() }
    };
    for skill in skills {
        let mut name = quoted_unless_plain(&skill.name);
        if skill.key != skill.name {
            let _ = write!(name, " ({})", quoted_unless_plain(&skill.key));
        }
        let _ = write!(text, "- {}: {}", safe(&name), safe(&description(skill, style, true)));
        if let Some(compatibility) = skill.compatibility.as_deref().filter(|_| style.compatibility) {
            let _ = write!(text, "  (compatibility: {})", safe(&collapse(compatibility)));
        }
        if let Some(place) = skill.origin.place().filter(|_| style.location) {
            let _ = write!(text, "  (location: {})", safe(&collapse(&place)));
        }
        text.push('\n');
    }
}

fn quoted_unless_plain(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let prefixed = name.split_once(':').is_some_and(|(prefix, rest)| {
        !prefix.is_empty() && !rest.is_empty() && prefix.chars().all(plain) && rest.chars().all(plain)
    });
    if prefixed || (!name.is_empty() && name.chars().all(plain)) {
        name.to_owned()
    } else {
        Value::from(name).to_string()
    }
}

fn object(skill: &Entry, style: &CatalogStyle) -> Value {
    let mut object = json!({"name": skill.key, "description": description(skill, style, false)});
    if let Some(map) = object.as_object_mut() {
        if let Some(compatibility) = skill.compatibility.as_deref().filter(|_| style.compatibility) {
            map.insert("compatibility".to_owned(), compatibility.into());
        }
        if let Some(place) = skill.origin.place().filter(|_| style.location) {
            map.insert("location".to_owned(), place.into());
        }
    }
    object
}
