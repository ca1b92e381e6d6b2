//! Hints name only tools that the model has.

use super::*;

/// Every text that a session gives, in a session where each of them has something to hint at.
fn texts(tools: &[Tool]) -> String {
    let names: Vec<String> = (0..30).map(|number| format!("skill-{number}")).collect();
    let mut shelf = Shelf::default();
    for name in &names {
        shelf.put(name, "", "Do it.").files.insert("x.md".into(), "x".into());
    }
    let options = Options {
        tools: tools.iter().copied().collect(),
        max_active: 1,
        max_list: 2,
        max_enum: 2,
        ..Options::default()
    };
    let mut session = shelf.session(Policy::default(), options);
    let mut said = Vec::new();
    for (tool, arguments) in [
        ("load_skill", json!({"name": "skil-1"})),
        ("load_skill", json!({"name": "skill-1"})),
        ("load_skill", json!({"name": "skill-2"})),
        ("list_skills", json!({})),
        ("read_skill_resource", json!({"name": "skill-1", "path": "none.md"})),
        ("unheard_of", json!({})),
    ] {
        said.push(shelf.call(&mut session, tool, arguments).full_text().into_owned());
    }
    if let Step::Need(ticket, _) = session.call(ToolCall::new("search_skills", json!({"query": "x"}))) {
        let failed = session.resume(ticket, Outcome::Failed { why: Failure::Failed });
        said.push(format!("{failed:?}"));
    }
    let style = crate::render::CatalogStyle::default();
    let prompt = session.prompt(&PromptOptions::new(&style, crate::render::Budget::Unlimited)).unwrap();
    said.push(prompt.text);
    let budget = crate::render::Budget::Characters(120);
    let again = session.reinject(ReinjectBudget { each: budget, total: budget }, &str::len);
    said.push(again.text);
    said.extend(session.tools().iter().map(|tool| tool.description.clone()));
    said.extend(session.tools().iter().map(|tool| tool.input_schema.to_string()));
    said.join("\n")
}

/// Whether a text has a name as a whole word.
fn names(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

#[test]
fn hints_name_only_tools_that_are_offered() {
    let naming = Naming::default();
    for &offered in Tool::ALL {
        for &beside in Tool::ALL {
            let tools = [offered, beside];
            let said = texts(&tools);
            for tool in Tool::ALL.iter().copied().filter(|tool| !tools.contains(tool) || *tool == Tool::Run) {
                let name = naming.tool_name(tool);
                // A refusal repeats the name that the model made up.
                let said = said.replace(&format!("there is no such tool: {name}"), "");
                assert!(!names(&said, &name), "{name} is not offered, only {tools:?}: {said}");
            }
        }
    }
    let all = texts(Tool::ALL);
    for tool in Tool::ALL.iter().copied().filter(|tool| *tool != Tool::Run) {
        assert!(names(&all, &naming.tool_name(tool)), "{tool:?}: {all}");
    }
}
