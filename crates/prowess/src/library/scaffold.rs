//! The files of a new skill without errors or warnings under any profile.

use prowess_core::document::markdown;
use prowess_core::finding::Preset;
use prowess_core::internal::{TEMPLATE_BODY, TEMPLATE_WHEN};
use prowess_core::select::TRIGGER_FILE;
use prowess_core::{FileEntry, Manifest, Origin, Problem, Profile, RelPath, Severity, parse};
use serde_json::{Map, Value, json};

/// A folder that a new skill can begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScaffoldPart {
    /// `scripts/`: programs that the agent runs.
    Scripts,
    /// `references/`: pages that the agent reads when it needs them.
    References,
    /// `assets/`: files that the agent uses, such as templates.
    Assets,
    /// `evals/`: queries that should, and should not, find the skill.
    Evals,
}

/// A file of a new skill: its path in the folder, and its text.
pub(crate) type NewFile = (&'static str, String);

/// The files of a new skill, SKILL.md first. An error has every problem of its name or description under any profile;
/// notes are for the author, who still has to write the skill.
///
/// ```
/// use prowess::internal::{ScaffoldPart, scaffold};
///
/// let files = scaffold("pdf-forms", Some("Fills in PDF forms."), &[ScaffoldPart::Scripts]).unwrap();
/// assert_eq!(files[0].0, "SKILL.md");
/// assert!(files[0].1.starts_with("---\nname: pdf-forms\ndescription: Fills in PDF forms.\n---\n"));
/// assert_eq!(scaffold("PDF", None, &[]).unwrap_err()[0].code, "name-uppercase");
/// ```
pub fn scaffold(
    name: &str,
    description: Option<&str>,
    parts: &[ScaffoldPart],
) -> Result<Vec<NewFile>, Vec<Problem>> {
    let title = title(name);
    let own = format!("Helps with {}. {TEMPLATE_WHEN}", title.to_lowercase());
    let fields = Map::from_iter([
        ("name".to_owned(), Value::from(name)),
        ("description".to_owned(), Value::from(description.unwrap_or(&own))),
    ]);
    let mut body = format!(
        "# {title}\n\n{TEMPLATE_BODY}\n\n## Steps\n\n\
         1. Look at what the user gave.\n2. Do the work.\n3. Check the result.\n"
    );
    let mut files = Vec::new();
    if parts.contains(&ScaffoldPart::Evals) {
        files.push((TRIGGER_FILE, queries(name)));
    }
    for part in [ScaffoldPart::Scripts, ScaffoldPart::References, ScaffoldPart::Assets] {
        if !parts.contains(&part) {
            continue;
        }
        let (path, text, section) = match part {
            ScaffoldPart::Scripts => (
                "scripts/example.sh",
                "#!/bin/sh\n# Say here what the script does and what it expects.\nset -eu\necho \"hello\"\n",
                "## Scripts\n\n- [scripts/example.sh](scripts/example.sh): run it with `sh scripts/example.sh`\n",
            ),
            ScaffoldPart::References => (
                "references/details.md",
                "# Details\n\nPut here what is needed only sometimes.\n",
                "## References\n\n- [references/details.md](references/details.md): read it when the steps are not enough\n",
            ),
            ScaffoldPart::Evals => continue,
            ScaffoldPart::Assets => (
                "assets/template.md",
                "# Template\n\nPut here what the agent copies and fills in.\n",
                "## Assets\n\n- [assets/template.md](assets/template.md): copy it and fill it in\n",
            ),
        };
        body.push('\n');
        body.push_str(section);
        files.push((path, text.to_owned()));
    }
    files.insert(0, ("SKILL.md", markdown(&fields, &body)));
    let problems = problems(name, &files);
    if problems.is_empty() { Ok(files) } else { Err(problems) }
}

/// Trigger queries to begin with: one that should find the skill, and one that should not.
fn queries(name: &str) -> String {
    let should = format!("help me with {}", name.replace('-', " "));
    let queries = json!([
        { "query": should, "should_trigger": true },
        { "query": "book a table for dinner", "should_trigger": false },
    ]);
    format!("{queries:#}\n")
}

/// `pdf-forms` becomes `Pdf forms`.
fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut characters = words.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// The errors and warnings under any profile, each once.
fn problems(name: &str, files: &[NewFile]) -> Vec<Problem> {
    let Some((_, text)) = files.first() else { return Vec::new() };
    let document = parse(text.as_bytes());
    let entry = |(path, text): &NewFile| Some(FileEntry::new(RelPath::parse(path).ok()?, text.len() as u64));
    let manifest = Manifest::new(files.iter().filter_map(entry).collect());
    let at = Origin::at(format!("{name}/SKILL.md")).with_folder(name);
    let mut problems: Vec<Problem> = Vec::new();
    for &preset in Preset::ALL {
        for problem in Profile::new(preset).check(&document, Some(&manifest), &at) {
            let is_new = problems.iter().all(|known| known.code != problem.code);
            if is_new && problem.severity > Severity::Info {
                problems.push(problem);
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_skill_has_no_problem_under_any_profile() {
        for description in [None, Some("Use when: asked # \"really\""), Some("Two\nlines.")] {
            let files = scaffold(
                "a-b2",
                description,
                &[ScaffoldPart::Assets, ScaffoldPart::Scripts, ScaffoldPart::References],
            );
            assert_eq!(files.unwrap().len(), 4);
        }
    }

    #[test]
    fn a_name_or_description_that_some_profile_refuses_is_refused() {
        for name in ["", "A", "a_b", "-a", "a--b", "claude-x", "é", "a/b", "..", "a\nb", &"x".repeat(65)] {
            let problems = scaffold(name, None, &[]).unwrap_err();
            assert!(
                problems.iter().any(|problem| problem.code.starts_with("name-")),
                "{name:?}: {problems:?}"
            );
        }
        for description in ["", "<b>", &"x".repeat(1025), "a\u{202e}b"] {
            assert!(scaffold("a", Some(description), &[]).is_err(), "{description:?}");
        }
    }
}
