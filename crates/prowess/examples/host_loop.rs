//! A host around a session, with a scripted model that speaks each interface in turn.
//!
//! `cargo run -p prowess --example host_loop` prints the conversations. A real host sends the requests to a model; here
//! the model's answers are written down, in the form its interface gives them.

#![allow(clippy::print_stdout, reason = "an example that shows what happens")]

use prowess::drive::{Performer, drive, preload};
use prowess::render::{Budget, CatalogStyle, Shape};
use prowess::search::LazyIndex;
use prowess::session::{Dialect, Options, Policy, PromptOptions, Session};
use prowess::{MemorySource, Registry, RelPath, Scope};
use serde_json::{Value, json};

type Failed = Box<dyn std::error::Error>;

const SKILL: &str = "---\nname: release-notes\ndescription: Writes release notes from commits.\n\
    allowed-tools: Bash(git log:*) Read\n---\nRead `references/style.md`, then write one line for each change.\n";

fn main() -> Result<(), Failed> {
    for &dialect in Dialect::ALL {
        println!("== {}", dialect.name());
        converse(dialect)?;
    }
    Ok(())
}

fn converse(dialect: Dialect) -> Result<(), Failed> {
    // The skills: a host has folders; memory will do for an example.
    let skills = MemorySource::new("example");
    skills.insert("release-notes", SKILL, Scope::Explicit);
    skills.insert_file("release-notes", RelPath::parse("references/style.md")?, "Past tense.\n");
    let mut registry = Registry::new();
    registry.add(skills);
    registry.refresh()?;

    // The session, and what performs its effects. The index follows every refresh of the registry.
    let mut session = Session::new("chat-1", registry.catalog(), Policy::default(), Options::default());
    let index = LazyIndex::new(&registry);
    let performer = Performer::new(&registry, &index);
    // The skills of sources with `preload`: here there are none.
    preload(&mut session, &performer);

    // What goes into every request: a block of the prompt, and the tools.
    let style = CatalogStyle::new(Shape::Compact);
    let prompt = session.prompt(&PromptOptions::new(&style, Budget::two_percent(200_000)))?;
    let tools = dialect.tools(&session.tools());
    println!("{}\n{tools}", prompt.text);

    let mut refused = 0;
    for answer in script(dialect) {
        let Some(received) = dialect.call(&answer) else { return Err("the model called nothing".into()) };
        if !session.owns(&received.call.tool) {
            return Err("this call is for another tool of the host".into());
        }
        let result = drive(&mut session, &performer, received.call.clone());
        let message = dialect.result(&received, &result);
        println!("> {answer}\n< {message}");
        refused += usize::from(!result.is_ok());
    }
    assert_eq!(refused, 1, "the model got one name wrong, and was told the right one");

    // What the user need not be asked for while the skill is active, and what to say after a compaction.
    assert_eq!(session.active_tools(), ["Bash(git log:*)", "Read"]);
    let again =
        session.reinject(prowess::session::ReinjectBudget::default(), &prowess::render::estimate_tokens);
    assert_eq!(again.included, ["release-notes"]);
    Ok(())
}

/// What the model says: a name it gets wrong, then right, then a file.
fn script(dialect: Dialect) -> Vec<Value> {
    let calls = [
        ("load_skill", json!({"name": "relase-notes"})),
        ("load_skill", json!({"skill": "release-notes"})),
        ("read_skill_resource", json!({"name": "release-notes", "path": "references/style.md"})),
    ];
    let said = |(at, (name, arguments)): (usize, (&str, Value))| match dialect {
        Dialect::Anthropic => {
            json!({"type": "tool_use", "id": format!("t{at}"), "name": name, "input": arguments})
        }
        // This interface sends the arguments as text.
        Dialect::OpenAi => json!({
            "id": format!("c{at}"),
            "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()},
        }),
        Dialect::Gemini => json!({"functionCall": {"name": name, "args": arguments}}),
        _ => json!({"name": name, "arguments": arguments}),
    };
    calls.into_iter().enumerate().map(said).collect()
}
