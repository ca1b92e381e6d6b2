use prowess::{Dialect, Skills, SkillsError};
use serde_json::Value;

fn converse(tool_use: &Value) -> Result<(), SkillsError> {
    let skills = Skills::open(["./skills"])?;
    let mut chat = skills.chat("chat-1");

    let system = chat.prompt()?;                              // text for the system prompt
    let tools = chat.tools(Dialect::Anthropic);               // JSON for the request
    let answer = chat.answer(Dialect::Anthropic, tool_use);   // None when the call is not ours

    println!("{system}\n{tools}\n{answer:?}");
    Ok(())
}
