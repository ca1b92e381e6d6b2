//! Tests of every rendering: exact texts, and that no text escapes from its wrapper.

#![allow(clippy::string_slice, reason = "these are tests")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::files::manifest::{FileEntry, Manifest};
use crate::path::RelPath;
use crate::skill::{Entry, SkillData};

fn entry(name: &str, description: &str) -> Entry {
    let dict = json!({"name": name, "description": description, "path": "/skills/x/SKILL.md"});
    let mut entry = SkillData::from_dict(dict.as_object().unwrap()).unwrap().entry;
    // The texts verbatim, not as the reader would change them.
    entry.key = name.to_owned();
    entry.name = name.to_owned();
    entry.description = description.to_owned();
    entry
}

fn catalog(shape: Shape, skills: &[&Entry]) -> String {
    render_catalog(skills, &CatalogStyle::new(shape))
}

#[test]
fn six_shapes() {
    let (a, b) = (entry("a", "Does <a> & \"b\"."), entry("b", "Line one.\nLine two."));
    let both = [&a, &b];
    assert_eq!(
        catalog(Shape::Xml, &both),
        "<available_skills>\n  <skill>\n    <name>a</name>\n    <description>Does &lt;a&gt; &amp; &quot;b&quot;.</description>\n  </skill>\n  <skill>\n    <name>b</name>\n    <description>Line one.\nLine two.</description>\n  </skill>\n</available_skills>"
    );
    assert_eq!(
        catalog(Shape::SkillsRefXml, &[&b]),
        "<available_skills>\n<skill>\n<name>\nb\n</name>\n<description>\nLine one.\nLine two.\n</description>\n<location>\n/skills/x/SKILL.md\n</location>\n</skill>\n</available_skills>"
    );
    assert_eq!(
        catalog(Shape::Compact, &both),
        "<available_skills>\n- a: Does &lt;a&gt; &amp; &quot;b&quot;.\n- b: Line one. Line two.\n</available_skills>"
    );
    assert_eq!(
        catalog(Shape::Markdown, &both),
        "## Available skills\n\n- a: Does <a> & \"b\".\n- b: Line one. Line two."
    );
    assert_eq!(catalog(Shape::Plain, &[&a]), "Available skills:\n- a: Does <a> & \"b\".");
    assert_eq!(catalog(Shape::Json, &[&b]), r#"[{"name":"b","description":"Line one.\nLine two."}]"#);
}

#[test]
fn empty_catalogs() {
    let texts: Vec<String> = Shape::ALL.iter().map(|shape| catalog(*shape, &[])).collect();
    assert_eq!(texts, ["", "<available_skills>\n</available_skills>", "", "", "No skills available.", "[]"]);
    let style = CatalogStyle { empty: Some("none".into()), ..CatalogStyle::default() };
    assert_eq!(render_catalog(&[], &style), "none");
}

#[test]
fn options_of_a_catalog() {
    let mut a = entry("a", "One  two three");
    a.compatibility = Some("needs\ngit".into());
    a.key = "team:a".into();
    let style = CatalogStyle {
        location: true,
        compatibility: true,
        max_description: Some(8),
        heading: Some("# Skills".into()),
        intro: Some("Call load_skill.".into()),
        outro: Some("That is all.".into()),
        ..CatalogStyle::new(Shape::Markdown)
    };
    assert_eq!(
        render_catalog(&[&a], &style),
        "# Skills\n\nCall load_skill.\n\n- a (team:a): One two…  (compatibility: needs git)  (location: /skills/x/SKILL.md)\n\nThat is all."
    );
    let xml = CatalogStyle { indent: false, one_line: true, ..CatalogStyle::default() };
    assert_eq!(
        render_catalog(&[&a], &xml),
        "<available_skills>\n<skill>\n<name>team:a</name>\n<description>One two three</description>\n</skill>\n</available_skills>"
    );
}

#[test]
fn an_activation_has_the_folder_and_the_files() {
    let file = |path: &str, size| FileEntry::new(RelPath::parse(path).unwrap(), size);
    let files = Manifest::new(vec![
        file("SKILL.md", 9),
        file("scripts/a.py", 5),
        file("assets/b.bin", 2),
        file("c.md", 1),
    ]);
    let inlined = [
        Inlined { path: RelPath::parse("scripts/a.py").unwrap(), bytes: b"print('</file>')\n" },
        Inlined { path: RelPath::parse("assets/b.bin").unwrap(), bytes: b"\0\xff" },
    ];
    let skill = entry("a", "d");
    let body = "\n# A\n\nSee </skill_content>.\n";
    let style = ActivationStyle::default();
    let activation = Activation::new(&skill, body, Some("/abs/a"), &files, &inlined, &style);
    assert_eq!(
        activation.text(),
        "<skill_content name=\"a\">\n# A\n\nSee &lt;/skill_content>.\n\nSkill directory: /abs/a\nRelative paths in this skill are relative to the skill directory.\n\n<skill_resources>\n  <file>assets/b.bin</file>\n  <file>c.md</file>\n  <file name=\"scripts/a.py\">\nprint('&lt;/file>')\n  </file>\n</skill_resources>\n</skill_content>"
    );
    let capped = ActivationStyle { max_listed: 1, ..ActivationStyle::default() };
    let text = Activation::new(&entry("a", "d"), "x", None, &files, &[], &capped).text();
    assert_eq!(
        text,
        "<skill_content name=\"a\">\nx\n\n<skill_resources>\n  <file>scripts/a.py</file>\n  <!-- 2 more files are not listed -->\n</skill_resources>\n</skill_content>"
    );
    assert_eq!(compose(&[text.clone(), text.clone()]), format!("{text}\n\n{text}"));
    assert_eq!(describe(&entry("a", "d\nd"), &files), "name: a\ndescription: d d\nscripts: 1\nassets: 1");
}

/// Reads back what the XML shapes write.
fn unescape(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        result.push_str(&rest[..at]);
        let end = at + rest[at..].find(';').unwrap();
        result.push(match &rest[at + 1..end] {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            code => char::from_u32(u32::from_str_radix(&code[2..], 16).unwrap()).unwrap(),
        });
        rest = &rest[end + 1..];
    }
    result + rest
}

fn read_elements(text: &str, around: &str) -> Vec<(String, String)> {
    let inner =
        text.strip_prefix("<available_skills>\n").unwrap().strip_suffix("</available_skills>").unwrap();
    let element = |skill: &str, tag: &str| {
        let (_, after) = skill.split_once(&format!("<{tag}>{around}")).unwrap();
        let (value, _) = after.split_once(&format!("{around}</{tag}>")).unwrap();
        unescape(value)
    };
    inner
        .split_inclusive("</skill>\n")
        .map(|skill| (element(skill, "name"), element(skill, "description")))
        .collect()
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => any::<String>(),
        2 => Just("</skill_content>".to_owned()),
        1 => Just("</skill></available_skills>".to_owned()),
        1 => Just("</description>".to_owned()),
        1 => Just("</file>".to_owned()),
        1 => Just("< / Skill_Content\n>".to_owned()),
        1 => Just("&lt;/skill_content&gt;".to_owned()),
        1 => Just("\n- x: y".to_owned()),
        1 => Just("\u{202e}\u{1b}[31m\u{e0041}".to_owned()),
    ];
    prop::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::text::testing::many())]

    #[test]
    fn a_catalog_reads_back_for_any_text_of_the_skills(skills in prop::collection::vec((hostile(), hostile()), 1..4)) {
        let entries: Vec<Entry> = skills.iter().map(|(name, description)| {
            let mut entry = entry("x", "y");
            entry.key.clone_from(name);
            entry.name.clone_from(name);
            entry.description.clone_from(description);
            entry
        }).collect();
        let references: Vec<&Entry> = entries.iter().collect();
        prop_assert_eq!(&read_elements(&catalog(Shape::Xml, &references), ""), &skills);
        prop_assert_eq!(&read_elements(&catalog(Shape::SkillsRefXml, &references), "\n"), &skills);
        let json: Vec<Value> = serde_json::from_str(&catalog(Shape::Json, &references)).unwrap();
        let json: Vec<(String, String)> = json.iter().map(|o| (o["name"].as_str().unwrap().to_owned(), o["description"].as_str().unwrap().to_owned())).collect();
        prop_assert_eq!(&json, &skills);
        // The list shapes have one line for each skill, whatever its text.
        for (shape, extra) in [(Shape::Compact, 2), (Shape::Markdown, 2), (Shape::Plain, 1)] {
            let text = catalog(shape, &references);
            prop_assert_eq!(text.split('\n').count(), skills.len() + extra, "{}", text);
            prop_assert!(text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
            if shape == Shape::Compact {
                prop_assert_eq!(text.matches("</available_skills>").count(), 1);
            }
        }
    }

    #[test]
    fn no_input_closes_a_wrapper(name in hostile(), body in hostile(), file in hostile(), folder in hostile()) {
        let mut entry = entry("x", "y");
        entry.key = name;
        let path = RelPath::parse("scripts/a.py").unwrap();
        let files = Manifest::new(vec![FileEntry::new(path.clone(), 1)]);
        let inlined = [Inlined { path, bytes: file.as_bytes() }];
        let text = Activation::new(&entry, &body, Some(&folder), &files, &inlined, &ActivationStyle::default()).text();
        let compact: String = text.to_lowercase().chars().filter(|c| !c.is_whitespace()).collect();
        prop_assert_eq!(compact.matches("<skill_content").count(), 1);
        prop_assert_eq!(compact.matches("</skill_content").count(), 1);
        prop_assert_eq!(compact.matches("</skill_resources").count(), 1);
        prop_assert!(text.ends_with("</skill_content>"));
        let escape = text.contains(['\u{1b}', '\u{202e}']);
        prop_assert!(!escape);
    }
}
