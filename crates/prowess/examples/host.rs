//! A host in a few lines: the skills of some folders for a model, here with a model that is written down.
//!
//! `cargo run -p prowess --example host -- FOLDER…` prints what a request has, and what a call is answered with.

#![allow(clippy::print_stdout, reason = "an example that shows what happens")]

use prowess::{Dialect, Skills};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let skills = Skills::open(std::env::args_os().skip(1))?;
    let mut chat = skills.chat("chat-1");

    println!("{}", chat.prompt()?);
    println!("{}", chat.tools(Dialect::Anthropic));
    for call in model(skills.catalog().list().first().map_or("pdf", |skill| &skill.name)) {
        match chat.answer(Dialect::Anthropic, &call) {
            Some(answer) => println!("{answer}"),
            None => println!("this call is for another tool of the host: {call}"),
        }
    }
    Ok(())
}

/// What a model may call: one of the tools for skills, and one of the host's own.
fn model(skill: &str) -> [Value; 2] {
    [
        json!({"type": "tool_use", "id": "t1", "name": "load_skill", "input": {"name": skill}}),
        json!({"type": "tool_use", "id": "t2", "name": "bash", "input": {"command": "ls"}}),
    ]
}
