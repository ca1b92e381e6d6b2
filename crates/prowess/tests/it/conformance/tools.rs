//! The vectors of `conformance/tools.json`: a text or list in, the tools and what they grant out.

use prowess_core::ToolList;
use serde_json::json;

use super::vectors::{list, load, report, word};

#[test]
fn every_list_of_tools_reads_and_grants_as_its_vector_says() {
    let mut faults = Vec::new();
    let vectors = load("tools.json");
    for case in list(&vectors["cases"]) {
        let id = word(&case["id"]);
        let tools = match case["text"].as_str() {
            Some(text) => ToolList::parse(text),
            None => ToolList::from_items(list(&case["items"]).iter().map(word)),
        };
        let grants: Vec<_> = tools
            .grants
            .iter()
            .map(|grant| {
                json!({"raw": grant.raw, "name": grant.name, "pattern": grant.pattern, "balanced": grant.balanced})
            })
            .collect();
        let found = json!({"form": tools.form, "grants": grants});
        let expect = &case["expect"];
        for member in ["form", "grants"] {
            if found[member] != expect[member] {
                faults.push(format!(
                    "{id}: {member}\n    found    {}\n    expected {}",
                    found[member], expect[member]
                ));
            }
        }
        for question in list(&expect["allows"]) {
            let granted = tools.allows(word(&question["tool"]), question["argument"].as_str());
            if Some(granted) != question["granted"].as_bool() {
                faults.push(format!("{id}: {question} is {granted}"));
            }
        }
    }
    report(&faults);
}
