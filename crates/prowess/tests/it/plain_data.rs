//! A skill as plain data: nothing in it that its author did not write.

use prowess::render::{CatalogStyle, Shape, render_catalog};
use prowess::{Skill, SkillData};
use serde_json::{Value, json};

fn load(text: &str) -> SkillData {
    Skill::parse(text).unwrap().data().clone()
}

#[test]
fn a_skill_loaded_from_text_has_no_path_and_no_location() {
    let skill = load("---\nname: demo\ndescription: d\n---\n\n    make all\n\nThen stop.\n");
    let dict = skill.to_dict();
    assert_eq!(dict.get("path"), None);
    assert_eq!(dict["instructions"], "    make all\n\nThen stop.");
    for shape in Shape::ALL {
        let style = CatalogStyle::new(*shape).with_location(true);
        let text = render_catalog(&[&skill.entry], &style);
        assert!(!text.contains("location") && !text.contains("&lt;text"), "{text}");
    }
}

#[test]
fn null_is_absence_on_the_way_to_a_file_and_back() {
    let skill = load(
        "---\nname: demo\ndescription: d\nlicense: null\ncompatibility: ~\nmetadata:\n  a: null\n---\nDo it.\n",
    );
    assert_eq!((skill.entry.license.as_deref(), skill.entry.compatibility.as_deref()), (None, None));
    assert_eq!(skill.to_markdown(), "---\nname: demo\ndescription: d\n---\n\nDo it.\n");
    assert_eq!(SkillData::from_dict(&skill.to_dict()).unwrap().to_dict(), skill.to_dict());
}

#[test]
fn metadata_of_an_entry_is_a_json_object_that_keeps_its_order() {
    let skill = load("---\nname: demo\ndescription: d\nmetadata:\n  zeta: 1.0\n  alpha: x\n---\nDo it.\n");
    let entry = serde_json::to_value(&skill.entry).unwrap();
    assert_eq!(entry["metadata"].to_string(), r#"{"zeta":"1.0","alpha":"x"}"#);
    let dict: Value = Value::Object(skill.to_dict());
    assert_eq!(dict["metadata"], entry["metadata"]);
    assert_eq!(dict["metadata"], json!({"zeta": "1.0", "alpha": "x"}));
}
