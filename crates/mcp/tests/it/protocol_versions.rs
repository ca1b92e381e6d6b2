//! rmcp's client with every version of the protocol.

use prowess_mcp::ServeOptions;
use rmcp::ClientServiceExt as _;
use rmcp::model::{
    CallToolRequestParams, ClientConfig, ClientRequest, CustomRequest, GetPromptRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ServerResult,
};
use rmcp::service::ClientLifecycleMode;
use serde_json::json;

use crate::support::{library, registry, served};

#[tokio::test]
async fn every_version_lists_reads_and_calls() {
    let root = library();
    for version in ProtocolVersion::KNOWN_VERSIONS {
        let sessionless = !version.has_initialize();
        let mode = if sessionless {
            ClientLifecycleMode::Discover { preferred_versions: vec![version.clone()] }
        } else {
            ClientLifecycleMode::Initialize
        };
        let pipe = served(registry(root.path()), ServeOptions::default());
        let asking = ClientConfig::default().with_protocol_version(version.clone());
        let client = asking.serve_with_lifecycle(pipe, mode).await.unwrap();
        let info = client.peer_info().unwrap();
        assert_eq!(info.protocol_version, *version);
        let extensions = info.capabilities.extensions.clone().unwrap();
        assert_eq!(json!(extensions["io.modelcontextprotocol/skills"]), json!({"directoryRead": true}));

        let request = ClientRequest::CustomRequest(CustomRequest::new("skills/list", Some(json!({}))));
        let ServerResult::CustomResult(listed) = client.send_request(request).await.unwrap() else {
            panic!("skills/list in {version}")
        };
        let uris: Vec<&str> = listed.0["skills"]
            .as_array()
            .unwrap()
            .iter()
            .map(|skill| skill["uri"].as_str().unwrap())
            .collect();
        assert_eq!(uris, ["skill://alpha/SKILL.md", "skill://beta/SKILL.md", "skill://staff/SKILL.md"]);
        assert_eq!(listed.0.get("ttlMs").is_some(), sessionless);

        let tools = client.list_all_tools().await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names[0], "list_skills");
        assert_eq!(names.contains(&"unload_skill"), !sessionless);
        assert!(!names.contains(&"run_skill_script"));
        let arguments = json!({"name": "mended"}).as_object().cloned().unwrap();
        let call = CallToolRequestParams::new("load_skill").with_arguments(arguments);
        let loaded = client.call_tool(call).await.unwrap();
        assert_eq!(
            loaded.is_error,
            Some(false),
            "what is withheld from the extension is a tool's all the same"
        );

        let resources = client.list_all_resources().await.unwrap();
        assert_eq!(resources.len(), 3);
        let read =
            client.read_resource(ReadResourceRequestParams::new("skill://quiet/SKILL.md")).await.unwrap();
        assert_eq!(read.contents.len(), 1);
        let prompts = client.list_all_prompts().await.unwrap();
        let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!(names, ["alpha", "beta", "mended", "quiet"]);
        assert!(client.get_prompt(GetPromptRequestParams::new("quiet")).await.is_ok());
        assert!(client.get_prompt(GetPromptRequestParams::new("staff")).await.is_err());
        client.cancel().await.unwrap();
    }
}
