//! Stored states of the previous version: version 2 kept an activation as text, version 3 keeps its parts.

use serde_json::{Value, json};

use super::state::STATE_VERSION;
use crate::catalog::Stamp;
use crate::render::{ActivationParts, BELOW_FOLDER, FOLDER};

/// The version that is converted.
pub(super) const VERSION_2: u64 = 2;

/// Turns a state of version 2 into one of the present version.
pub(super) fn from_version_2(state: &mut Value) -> Result<(), String> {
    let active = state.get_mut("active").and_then(Value::as_array_mut).ok_or("it has no active skills")?;
    for skill in active {
        let skill = skill.as_object_mut().ok_or("an active skill is not an object")?;
        let text = skill.remove("text").ok_or("an active skill has no text")?;
        let end = skill.remove("body_end").and_then(|end| end.as_u64());
        let plain = skill.remove("plain").is_some_and(|plain| plain == true);
        let end = end.and_then(|end| usize::try_from(end).ok()).filter(|_| !plain);
        let text = text.as_str().ok_or("the text of an active skill is not a text")?;
        let parts = if plain { Some(plain_parts(text)) } else { end.and_then(|end| parts(text, end)) };
        let parts = parts.ok_or("the text of an active skill is not an activation")?;
        skill.insert("activation".to_owned(), json!(parts));
        // A stamp of another form matches no file, so the skill counts as changed.
        let stamp = skill.remove("stamp").and_then(|stamp| serde_json::from_value::<Stamp>(stamp).ok());
        skill.insert("stamp".to_owned(), json!(stamp.unwrap_or_default()));
    }
    if let Some(state) = state.as_object_mut() {
        state.insert("version".to_owned(), STATE_VERSION.into());
    }
    Ok(())
}

/// An activation without a wrapper.
fn plain_parts(text: &str) -> ActivationParts {
    ActivationParts {
        opening: None,
        instructions: text.to_owned(),
        folder: None,
        files: String::new(),
        hint: None,
    }
}

/// The parts of an activation whose instructions end at a byte. Nothing in them can look like a tag of the wrapper.
fn parts(text: &str, body_end: usize) -> Option<ActivationParts> {
    let (head, rest) = text.split_at_checked(body_end)?;
    let (opening, instructions) = head.split_once('\n')?;
    let (inside, hint) = rest.split_once("\n</skill_content>")?;
    let (folder, files) = match inside.split_once("\n\n<skill_resources>\n") {
        Some((folder, files)) => (folder, files.strip_suffix("</skill_resources>")?),
        None => (inside, ""),
    };
    let folder = folder.strip_prefix(FOLDER).and_then(|folder| folder.strip_suffix(BELOW_FOLDER));
    Some(ActivationParts {
        opening: Some(opening.to_owned()),
        instructions: instructions.to_owned(),
        folder: folder.map(str::to_owned),
        files: files.to_owned(),
        hint: hint.strip_prefix("\n\n").map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use crate::session::{RestoreError, SessionState};

    /// A state as version 2 wrote it, with one active skill.
    fn stored(text: &str, body_end: usize, plain: bool) -> String {
        let text = serde_json::to_string(text).unwrap();
        format!(
            r#"{{"version":2,"id":"chat","active":[{{"key":"a","location":"/shelf/a/SKILL.md","by":"model","preloaded":false,"text":{text},"tools":null,"used":0,"changed":false,"stamp":{{"size":1,"inode":2}},"mark":7,"body_end":{body_end},"plain":{plain},"filter":null}}],"pending":{{}},"approvals":{{}},"filter":null,"discovered":[1,0],"next_ticket":2,"turn":0,"next_event":2,"active_before":[],"log":[]}}"#
        )
    }

    #[test]
    fn a_session_stored_by_the_version_before_keeps_the_texts_of_its_skills() {
        let opening = "<skill_content name=\"a\">\nDo this.\n\nThen that.";
        let folder = "\n\nSkill directory: /shelf/a\nRelative paths in this skill are relative to the skill directory.";
        let files = "\n\n<skill_resources>\n  <file name=\"x.md\">\nx\n\ny\n  </file>\n</skill_resources>";
        let (closing, hint) = ("\n</skill_content>", "\n\nThis skill has 1 other file.");
        for rest in [
            closing.to_owned(),
            format!("{folder}{closing}"),
            format!("{files}{closing}{hint}"),
            format!("{folder}{files}{closing}{hint}"),
        ] {
            let text = format!("{opening}{rest}");
            let state = SessionState::from_json(&stored(&text, opening.len(), false)).unwrap();
            let active = &state.active()[0];
            assert_eq!(active.text(), text);
            assert_eq!(active.activation.instructions(), "Do this.\n\nThen that.");
            assert_eq!(active.activation.cut_text(8, "[cut]", false).unwrap().lines().count(), 4);
            let again = SessionState::from_json(&serde_json::to_string(&state).unwrap()).unwrap();
            assert_eq!(again, state);
        }
        let plain = SessionState::from_json(&stored("Do this.\n", 9, true)).unwrap();
        assert_eq!(plain.active()[0].text(), "Do this.\n");
    }

    #[test]
    fn a_stored_text_that_is_no_activation_is_damage() {
        for (text, end) in
            [("", 0), ("no wrapper", 3), ("<skill_content>\nx", 99), ("<skill_content>\nx", 17)]
        {
            let state = SessionState::from_json(&stored(text, end, false));
            assert!(matches!(state, Err(RestoreError::Damaged { .. })), "{text}");
        }
        assert!(matches!(SessionState::from_json(r#"{"version":2}"#), Err(RestoreError::Damaged { .. })));
        assert_eq!(SessionState::from_json(r#"{"version":1}"#), Err(RestoreError::Version { found: 1 }));
    }
}
