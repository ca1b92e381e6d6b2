//! Paths that lead out of a skill: no route of the server follows them, in any spelling.

use std::fmt::Write as _;
use std::path::Path;

use prowess_mcp::ServeOptions;
use prowess_mcp::testing::vector_text;
use serde_json::{Value, json};

use crate::support::{PipeClient, registry, served, skill, write};

/// The content of every file outside of the skill.
const SECRET: &str = "TOP-SECRET";

fn escaped(text: &str, all: bool) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if !all && (byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte)) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[tokio::test]
async fn no_path_vector_leads_out_of_a_skill() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/paths.json");
    let vectors: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let root = tempfile::tempdir().unwrap();
    let skills = root.path().join("skills");
    // The files that a path out of the skill would find.
    for outside in ["x", "b", "secret", "skills/x", "skills/b", "skills/secret", "skills/other/SKILL.md"] {
        write(root.path(), outside, SECRET);
    }
    skill(&skills, "alpha", "");
    write(&skills, "alpha/a/b", "inside");
    std::os::unix::fs::symlink(root.path(), skills.join("alpha/out")).unwrap();
    std::os::unix::fs::symlink("../../secret", skills.join("alpha/out.md")).unwrap();
    let mut paths: Vec<String> =
        vectors["cases"].as_array().unwrap().iter().map(|case| vector_text(&case["path"])).collect();
    assert!(paths.len() > 100);
    paths.extend(
        ["out/secret", "out", "out.md", "a/../../../secret", "a/..%2f..%2fx", "..%5cx"].map(str::to_owned),
    );
    for sessionless in [false, true] {
        let mut client =
            PipeClient::initialized(served(registry(&skills), ServeOptions::default()), sessionless).await;
        let listed = client.result("skills/list", json!({})).await;
        let files: Vec<&str> = listed["skills"][0]["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["uri"].as_str().unwrap())
            .collect();
        assert_eq!(files, ["skill://alpha/SKILL.md", "skill://alpha/a/b"]);
        for path in &paths {
            for spelt in [path.clone(), escaped(path, false), escaped(path, true)] {
                let uri = format!("skill://alpha/{spelt}");
                for method in ["resources/read", "resources/directory/read", "skills/get"] {
                    let response = client.request(method, json!({"uri": uri})).await;
                    assert!(!response.to_string().contains(SECRET), "{method} {uri}: {response}");
                    // Only listed files are served, with one spelling each.
                    let there = files.contains(&uri.as_str()) && method != "resources/directory/read";
                    let code = response["error"]["code"].as_i64();
                    assert_eq!(code, (!there).then_some(-32602), "{method} {uri}: {response}");
                }
                let call =
                    json!({"name": "read_skill_resource", "arguments": {"name": "alpha", "path": spelt}});
                let response = client.result("tools/call", call).await;
                assert!(!response.to_string().contains(SECRET), "{spelt}: {response}");
                // A model may write `./` before a path; it is still a file of the skill.
                let read = response["structuredContent"]["path"].as_str();
                let there = matches!(read, Some("SKILL.md" | "a/b"));
                assert_eq!(response["isError"], !there, "{spelt}: {response}");
            }
        }
    }
}
