//! Rendering skills of any text: nothing closes a wrapper, and what is structured reads back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_core::render::{
    Activation, ActivationStyle, CatalogStyle, Inlined, Shape, compose, describe, render_catalog,
};
use prowess_core::{Entry, FileEntry, Manifest, Origin, RelPath, parse};

fn count(text: &str, tag: &str) -> usize {
    let squeezed: String = text.to_lowercase().chars().filter(|c| !c.is_whitespace()).collect();
    squeezed.matches(tag).count()
}

fuzz_target!(|input: (&str, &str, &str, &str, &[u8], u8)| {
    let (name, description, compatibility, body, file, options) = input;
    let document = parse(b"---\nname: a\ndescription: b\n---\n");
    let mut entry: Entry = document.entry(&Origin::at("skills/a/SKILL.md"));
    entry.key = name.to_owned();
    entry.name = if options & 1 == 0 { name.to_owned() } else { body.to_owned() };
    entry.description = description.to_owned();
    entry.compatibility = Some(compatibility.to_owned());
    entry.origin.location = body.into();
    for &shape in Shape::ALL {
        let style = CatalogStyle::new(shape)
            .with_location(options & 2 != 0)
            .with_compatibility(options & 4 != 0)
            .with_one_line(options & 8 != 0)
            .with_indent(options & 16 != 0)
            .with_max_description((options & 32 != 0).then_some(usize::from(options)));
        let text = render_catalog(&[&entry, &entry], &style);
        match shape {
            Shape::Xml | Shape::SkillsRefXml => {
                assert_eq!(text.matches("<skill>").count(), 2);
                assert_eq!(text.matches("</skill>").count(), 2);
                assert_eq!(text.matches("</description>").count(), 2);
                assert!(
                    text.ends_with("</skill>\n</available_skills>")
                        || text.ends_with("  </skill>\n</available_skills>")
                );
            }
            Shape::Compact => assert_eq!(text.split('\n').count(), 4),
            Shape::Markdown => assert_eq!(text.split('\n').count(), 4),
            Shape::Plain => assert_eq!(text.split('\n').count(), 3),
            Shape::Json => {
                assert!(text.starts_with("[{\"name\":") && !text.contains('\n'));
            }
            _ => {}
        }
        assert!(shape == Shape::Json || !text.contains(['\u{1b}', '\u{202e}', '\u{e0041}']));
    }
    let path = RelPath::parse("scripts/a.py").unwrap();
    let files = Manifest::new(vec![FileEntry::new(path.clone(), 1)]);
    let style = ActivationStyle::default().with_compatibility(options & 4 != 0);
    let inlined = [Inlined { path, bytes: file }];
    let text = Activation::new(&entry, body, Some(compatibility), &files, &inlined, &style).text();
    for tag in ["<skill_content", "</skill_content", "<skill_resources", "</skill_resources"] {
        assert_eq!(count(&text, tag), 1, "{text}");
    }
    assert!(text.ends_with("</skill_content>"));
    assert_eq!(compose(&[&text, &text]), format!("{text}\n\n{text}"));
    assert_eq!(count(&describe(&entry, &files), "</skill_content"), 0);
});
