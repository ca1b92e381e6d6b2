//! `prowess connect` and `prowess disconnect`: the configurations of clients.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use insta::assert_snapshot;
use prowess_mcp::CLIENT_CONFIGS;
use serde_json::json;

use crate::schemas::assert_fits;
use crate::shelf::{command, json_of, output, run, shelf};
use crate::{Place, answered, code};

const CURSOR: &str = "home/.cursor/mcp.json";

fn cursor(text: &str) -> Place {
    Place::with(&[(CURSOR, text)])
}

fn read(place: &Place, path: &str) -> Option<String> {
    fs::read_to_string(place.path().join(path)).ok()
}

#[test]
fn connect_shows_the_change_and_writes_it_only_when_asked() {
    let place = shelf();
    place.write("home/.claude.json", b"{\n  \"numStartups\": 3\n}\n");
    assert_snapshot!(run(&place, &["connect", "claude-code"]), @r#"
    exit 0
    --- stdout
    --- [DIR]/home/.claude.json
    +++ [DIR]/home/.claude.json
    @@ -1,3 +1,13 @@
     {
    -  "numStartups": 3
    +  "numStartups": 3,
    +  "mcpServers": {
    +    "prowess": {
    +      "command": "prowess",
    +      "args": [
    +        "serve",
    +        "--not-read-by",
    +        "claude-code"
    +      ]
    +    }
    +  }
     }
    --- stderr
    in this folder, it serves 1 skill that Claude Code does not read by itself: mail
    warning: prowess is in no folder of PATH, so Claude Code cannot start it; put the program into one of them
    nothing is written yet; write it with: prowess connect claude-code --write
    or with its own command: claude mcp add --scope user prowess -- prowess serve --not-read-by claude-code
    "#);
    assert_eq!(read(&place, "home/.claude.json").unwrap(), "{\n  \"numStartups\": 3\n}\n");
    assert!(!place.path().join("state").exists());
    let written = run(&place, &["connect", "claude-code", "--write"]);
    assert!(written.contains("\nconnected Claude Code: [DIR]/home/.claude.json\n"), "{written}");
    assert_snapshot!(run(&place, &["connect", "claude-code", "--write"]), @"
    exit 0
    --- stdout
    Claude Code is connected already: [DIR]/home/.claude.json
    --- stderr
    in this folder, it serves 1 skill that Claude Code does not read by itself: mail
    warning: prowess is in no folder of PATH, so Claude Code cannot start it; put the program into one of them
    ");
    // Other options replace the entry, and the first text is still known.
    run(&place, &["connect", "claude-code", "--write", "--all"]);
    assert!(!read(&place, "home/.claude.json").unwrap().contains("not-read-by"));
    run(&place, &["disconnect", "claude-code", "--write"]);
    assert_eq!(read(&place, "home/.claude.json").unwrap(), "{\n  \"numStartups\": 3\n}\n");
    assert_snapshot!(run(&place, &["disconnect", "claude-code", "--write"]), @"
    exit 0
    --- stdout
    Claude Code is not connected: [DIR]/home/.claude.json
    ");
}

#[test]
fn connect_then_disconnect_gives_back_the_files_of_every_client() {
    let place = Place::with(&[]);
    let here = place.path();
    let files = || {
        let mut found = Vec::new();
        let mut folders = vec![here.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.starts_with(here.join("state")) || path.starts_with(here.join("cache")) {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path.clone());
                }
                found.push((path.clone(), fs::read(&path).ok()));
            }
        }
        found.sort();
        found
    };
    for client in &CLIENT_CONFIGS {
        for scope in [&[][..], &["--project"]] {
            for url in [&[][..], &["--url", "http://127.0.0.1:7878/mcp", "--token"]] {
                let args = |verb| [&[verb, client.name, "--write"][..], scope].concat();
                let before = files();
                let connect = output(&place, &[&args("connect")[..], url].concat());
                if code(&connect) != 0 {
                    let said = String::from_utf8_lossy(&connect.stderr).into_owned();
                    assert!(said.contains("this client has no configuration in projects"), "{said}");
                    continue;
                }
                assert_ne!(files(), before, "{}", client.name);
                // Also for a file that was there, and was empty.
                assert_eq!(code(&output(&place, &args("disconnect"))), 0);
                assert_eq!(files(), before, "{}", client.name);
            }
        }
    }
    place.write(CURSOR, b"");
    run(&place, &["connect", "cursor", "--write"]);
    run(&place, &["disconnect", "cursor", "--write"]);
    assert_eq!(read(&place, CURSOR).as_deref(), Some(""));
}

#[test]
fn what_others_wrote_meanwhile_stays() {
    let place = cursor("{}\n");
    run(&place, &["connect", "cursor", "--write"]);
    let text = read(&place, CURSOR).unwrap();
    // Another server beside ours, and a reformatted file.
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut value = value;
    value["mcpServers"]["other"] = json!({"command": "x"});
    place.write(CURSOR, value.to_string().as_bytes());
    run(&place, &["disconnect", "cursor", "--write"]);
    assert_eq!(read(&place, CURSOR).unwrap(), r#"{"mcpServers":{"other":{"command":"x"}}}"#);
    // Without the record, only the entry goes.
    place.write(CURSOR, b"{\n  \"a\": 1 // one\n}\n");
    run(&place, &["connect", "cursor", "--write"]);
    fs::remove_dir_all(place.path().join("state")).unwrap();
    run(&place, &["disconnect", "cursor", "--write"]);
    assert_eq!(read(&place, CURSOR).unwrap(), "{\n  \"a\": 1, // one\n  \"mcpServers\": {\n  }\n}\n");
}

#[test]
fn a_configuration_that_is_not_understood_is_left_alone() {
    let place = cursor("{\n  \"mcpServers\": {\n    \"a\": {}\n    \"b\": {}\n  }\n}\n");
    assert_snapshot!(run(&place, &["connect", "cursor", "--write"]), @r"
    exit 2
    --- stderr
    error: the configuration of the client is not understood: [DIR]/home/.cursor/mcp.json
      cause: line 4: a comma or } is missing
      hint: correct the file, then run the command again; nothing was changed
    ");
    place.write(CURSOR, b"{\"mcpServers\": []}");
    assert_snapshot!(run(&place, &["connect", "cursor", "--write"]), @"
    exit 2
    --- stderr
    error: the configuration of the client is not understood: [DIR]/home/.cursor/mcp.json
      cause: line 1: mcpServers is not a table of servers
      hint: nothing was changed; change the file yourself, by the text of: prowess serve --print-config cursor
    ");
    place.write(CURSOR, b"{\n\xff}");
    let said = run(&place, &["connect", "cursor", "--write"]);
    assert!(said.contains("is not UTF-8: [DIR]/home/.cursor/mcp.json:2\n"), "{said}");
    assert_eq!(fs::read(place.path().join(CURSOR)).unwrap(), b"{\n\xff}");
    place.write(CURSOR, &vec![b' '; 16 * 1024 * 1024 + 1]);
    let said = run(&place, &["connect", "cursor", "--write"]);
    assert!(said.contains("too large") && said.starts_with("exit 2"), "{said}");
}

#[test]
fn another_server_with_our_name_needs_overwrite() {
    let text = "{\"mcpServers\": {\"prowess\": {\"command\": \"other\"}}}";
    let place = cursor(text);
    for (verb, does) in
        [("connect", "takes its place"), ("disconnect", "removes it, although Prowess did not write it")]
    {
        assert_eq!(
            run(&place, &[verb, "cursor", "--write"]),
            format!(
                "exit 2\n--- stderr\nerror: another server has this name: prowess: [DIR]/home/.cursor/mcp.json\n  \
                 hint: look at the entry; --overwrite {does}\n"
            )
        );
    }
    assert_eq!(read(&place, CURSOR).unwrap(), text);
    run(&place, &["connect", "cursor", "--write", "--overwrite"]);
    assert!(read(&place, CURSOR).unwrap().contains("--not-read-by"));
    run(&place, &["disconnect", "cursor", "--write"]);
    assert_eq!(read(&place, CURSOR).unwrap(), "{\"mcpServers\": {}}");
}

#[test]
fn what_a_user_added_to_our_entry_is_not_lost_without_overwrite() {
    let text = "{\"mcpServers\": {\"prowess\": {\"command\": \"prowess\", \"args\": [\"serve\"], \
                \"env\": {\"RUST_LOG\": \"debug\"}}}}";
    let place = cursor(text);
    for (verb, lost, does) in
        [("connect", "args, env", "takes its place"), ("disconnect", "env", "removes it whole")]
    {
        assert_eq!(
            run(&place, &[verb, "cursor", "--write"]),
            format!(
                "exit 2\n--- stderr\nerror: this entry was changed by hand, and this would be lost: {lost}: prowess: \
                 [DIR]/home/.cursor/mcp.json\n  hint: look at the entry; --overwrite {does}\n"
            )
        );
    }
    assert_eq!(read(&place, CURSOR).unwrap(), text);
    run(&place, &["connect", "cursor", "--write", "--overwrite"]);
    assert!(read(&place, CURSOR).unwrap().contains("--not-read-by"));
}

#[test]
fn disconnect_never_removes_what_was_added_to_the_entry_it_made() {
    type Edit<'e> = &'e dyn Fn(&str) -> String;
    const CODEX: &str = "home/.codex/config.toml";
    const CLAUDE: &str = "home/.claude.json";
    let place = Place::with(&[]);
    fs::create_dir_all(place.path().join("home/.codex")).unwrap();
    let in_json = |text: &str, added: &str| text.replacen("\"command\"", &format!("{added} \"command\""), 1);
    let cases: [(&str, &str, &str, Edit<'_>); 8] = [
        ("codex", CODEX, "env", &|text| text.to_owned() + "env = { TOKEN = \"mine\" }\n"),
        ("codex", CODEX, "env", &|text| text.to_owned() + "[mcp_servers.prowess.env]\nTOKEN = \"mine\"\n"),
        ("codex", CODEX, "startup_timeout_sec", &|text| text.to_owned() + "startup_timeout_sec = 30\n"),
        ("codex", CODEX, "enabled", &|text| text.to_owned() + "enabled = false\n"),
        ("claude-code", CLAUDE, "env", &|text| in_json(text, "\"env\": {\"TOKEN\": \"mine\"},")),
        ("claude-code", CLAUDE, "args", &|text| text.replace("\"serve\"", "\"serve\", \"--only\", \"a\"")),
        ("claude-code", CLAUDE, "", &|text| in_json(text, "// mine\n")),
        ("goose", "config/goose/config.yaml", "timeout", &|text| text.replace("300", "30")),
    ];
    for (client, file, member, edit) in cases {
        run(&place, &["connect", client, "--write"]);
        let edited = edit(&read(&place, file).unwrap());
        place.write(file, edited.as_bytes());
        let lost = match member {
            "" => "error: a comment in this entry would be lost: prowess: ".to_owned(),
            member => {
                format!("error: this entry was changed by hand, and this would be lost: {member}: prowess: ")
            }
        };
        for args in [&["disconnect", client, "--write"][..], &["connect", client, "--write", "--all"]] {
            let said = run(&place, args);
            assert!(said.starts_with("exit 2\n") && said.contains(&lost), "{client} {member}: {said}");
            assert_eq!(read(&place, file).unwrap(), edited);
        }
        let said = run(&place, &["disconnect", client, "--write", "--overwrite"]);
        assert!(said.starts_with("exit 0\n") && read(&place, file).is_none(), "{client} {member}: {said}");
    }
}

#[test]
fn disconnect_names_what_was_added_to_an_entry_with_an_address() {
    let place = cursor("{}\n");
    run(&place, &["connect", "cursor", "--write", "--url", "http://127.0.0.1:7878/mcp"]);
    let edited = read(&place, CURSOR).unwrap().replace("\"url\"", "\"headers\": {\"A\": \"b\"}, \"url\"");
    place.write(CURSOR, edited.as_bytes());
    let said = run(&place, &["disconnect", "cursor", "--write"]);
    assert!(said.contains("changed by hand, and this would be lost: headers: prowess: "), "{said}");
    assert_eq!(read(&place, CURSOR).unwrap(), edited);
}

#[test]
fn a_link_stays_a_link_and_one_of_a_project_does_not_lead_out_of_it() {
    let place = Place::with(&[("home/dotfiles/cursor.json", "{}\n"), ("project/.git/x", "")]);
    fs::create_dir(place.path().join("home/.cursor")).unwrap();
    symlink("../dotfiles/cursor.json", place.path().join(CURSOR)).unwrap();
    let said = run(&place, &["connect", "cursor", "--write"]);
    assert!(
        said.contains(
            "the file is a link, and stays one; its target is changed: [DIR]/home/dotfiles/cursor.json"
        ),
        "{said}"
    );
    assert!(fs::symlink_metadata(place.path().join(CURSOR)).unwrap().is_symlink());
    assert!(read(&place, "home/dotfiles/cursor.json").unwrap().contains("prowess"));
    run(&place, &["disconnect", "cursor", "--write"]);
    assert_eq!(read(&place, "home/dotfiles/cursor.json").unwrap(), "{}\n");
    symlink("../home/dotfiles/cursor.json", place.path().join("project/.mcp.json")).unwrap();
    let project = place.path().join("project");
    let run_there =
        |args: &[&str]| place.transcript(&command(&place).args(args).current_dir(&project).output().unwrap());
    let said = run_there(&["connect", "claude-code", "--project", "--write"]);
    assert!(
        said.starts_with("exit 2")
            && said.contains("error: a link leads out of the project: [DIR]/project/.mcp.json: [DIR]/home"),
        "{said}"
    );
    assert_eq!(read(&place, "home/dotfiles/cursor.json").unwrap(), "{}\n");
    // A link that leads nowhere is not replaced by a file.
    fs::remove_file(place.path().join("home/dotfiles/cursor.json")).unwrap();
    assert!(run(&place, &["connect", "cursor", "--write"]).starts_with("exit 2"));
}

#[test]
fn a_read_only_configuration_is_left_alone() {
    let place = cursor("{}\n");
    fs::set_permissions(place.path().join(CURSOR), fs::Permissions::from_mode(0o444)).unwrap();
    let said = run(&place, &["connect", "cursor", "--write"]);
    assert!(said.contains("cause: the file is read-only, so it is left alone"), "{said}");
    assert_eq!(read(&place, CURSOR).unwrap(), "{}\n");
    let mode = fs::metadata(place.path().join(CURSOR)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o444);
}

#[test]
fn two_processes_that_connect_at_once_both_succeed() {
    let place = cursor("{\n  \"a\": 1\n}\n");
    for verb in ["connect", "disconnect"] {
        let spawn = |client: &str| command(&place).args([verb, client, "--write", "--json"]).spawn().unwrap();
        let children: Vec<_> = ["cursor", "zed", "cursor", "gemini-cli", "cursor"].map(spawn).into();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        assert_eq!(read(&place, CURSOR).unwrap().contains("prowess"), verb == "connect");
    }
    assert_eq!(read(&place, CURSOR).unwrap(), "{\n  \"a\": 1\n}\n");
    assert_eq!(
        (read(&place, "config/zed/settings.json"), read(&place, "home/.gemini/settings.json")),
        (None, None)
    );
}

#[test]
fn the_output_for_programs_fits_its_schema() {
    let place = shelf();
    let url = ["connect", "codex", "--url", "https://box.example/mcp", "--token", "--json"];
    let connect = json_of(&place, &url);
    assert_fits("connect", &connect);
    assert_eq!(
        connect["entry"],
        json!({"url": "https://box.example/mcp", "bearer_token_env_var": "PROWESS_TOKEN"})
    );
    assert_eq!((&connect["written"], &connect["skills"]), (&json!(false), &json!(null)));
    let connect = json_of(&place, &["connect", "opencode", "--write", "--json"]);
    assert_fits("connect", &connect);
    assert_eq!((&connect["changed"], &connect["written"]), (&json!(true), &json!(true)));
    let disconnect = json_of(&place, &["disconnect", "opencode", "--json"]);
    assert_fits("disconnect", &disconnect);
    assert_eq!((&disconnect["removes_file"], &disconnect["written"]), (&json!(true), &json!(false)));
    assert_fits("error", &json_of(&place, &["connect", "windsurf", "--project", "--json"]));
    assert_eq!(code(&output(&place, &["connect", "nobody"])), 2);
    assert_eq!(code(&output(&place, &["connect", "zed", "--url", "/etc"])), 2);
}

#[test]
fn a_server_leaves_out_what_its_client_reads_by_itself() {
    let place = shelf();
    // The same file through a link, and another skill of that name.
    fs::create_dir_all(place.path().join("home/.agents/skills")).unwrap();
    place.write("home/.agents/skills/shared/SKILL.md", b"---\nname: shared\ndescription: Shared.\n---\n");
    symlink("../../.agents/skills/shared", place.path().join("home/.claude/skills/linked")).unwrap();
    place.write("home/.claude/skills/own/SKILL.md", b"---\nname: own\ndescription: One.\n---\n");
    place.write("home/.agents/skills/own/SKILL.md", b"---\nname: own\ndescription: Another.\n---\n");
    let skills = |args: &[&str]| json_of(&place, args)["skills"].clone();
    assert_eq!(skills(&["connect", "claude-code", "--json"]), json!(["mail"]));
    assert_eq!(skills(&["connect", "codex", "--json"]), json!(["pdf"]));
    let said = run(&place, &["serve", "--not-read-by", "claude-cod"]);
    assert!(said.contains("did you mean claude-code?"), "{said}");
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_skills", "arguments": {}}}),
    ];
    let output = answered(command(&place).args(["serve", "--not-read-by", "claude-code"]), &messages);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("- mail: Writes letters.")
            && !said.contains("- own")
            && !said.contains("using-prowess"),
        "{said}"
    );
}

#[test]
fn a_source_that_is_not_there_is_named_before_anything_is_written() {
    let place = cursor("{}\n");
    let said = run(&place, &["connect", "cursor", "--in", "./typo", "--write"]);
    assert!(said.starts_with("exit 2") && said.contains("typo"), "{said}");
    assert_eq!(read(&place, CURSOR).unwrap(), "{}\n");
    // Nor is anything written if the library cannot be opened.
    place.write("config/prowess/prowess.toml", b"mood = 1\n");
    let said = run(&place, &["connect", "cursor", "--write"]);
    assert!(said.starts_with("exit 2") && said.contains("mood"), "{said}");
    assert_eq!(read(&place, CURSOR).unwrap(), "{}\n");
}

#[test]
fn the_command_that_writes_has_the_options_that_were_given() {
    let place = shelf();
    place.write("my skills/a/SKILL.md", b"---\nname: a\ndescription: A.\n---\n");
    for (given, again) in [
        (
            &["codex", "--url", "https://box.example/mcp", "--token"][..],
            "prowess connect codex --url https://box.example/mcp --token --write",
        ),
        (
            &["cursor", "--in", "my skills", "--all", "--project", "--overwrite"],
            "prowess connect cursor --in 'my skills' --all --project --overwrite --write",
        ),
    ] {
        let said = run(&place, &[&["connect"], given].concat());
        assert!(said.contains(&format!("nothing is written yet; write it with: {again}\n")), "{said}");
    }
}

#[test]
fn what_keeps_a_client_from_the_server_is_said() {
    let place = shelf();
    let warning = "warning: prowess is in no folder of PATH, so Cursor cannot start it";
    assert!(run(&place, &["connect", "cursor"]).contains(warning));
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_prowess")).parent().unwrap();
    let found = command(&place).args(["connect", "cursor"]).env("PATH", folder).output().unwrap();
    assert!(!place.transcript(&found).contains("PATH"), "{}", place.transcript(&found));
    let exposed = "warning: the token goes to another machine without encryption";
    for (url, is_exposed) in [("http://box.example/mcp", true), ("https://box.example/mcp", false)] {
        let said = run(&place, &["connect", "codex", "--url", url, "--token"]);
        assert_eq!(said.contains(exposed), is_exposed, "{said}");
    }
}

#[test]
fn a_client_whose_reading_is_not_known_gets_every_skill_and_no_claim() {
    let place = shelf();
    let without_row = CLIENT_CONFIGS.iter().find(|client| client.reader().is_none()).unwrap();
    let said = run(&place, &["connect", without_row.name]);
    assert!(!said.contains("by itself") && !said.contains("--not-read-by"), "{said}");
    // One rule for both ways to a configuration.
    let connect = json_of(&place, &["connect", "cursor", "--in", ".", "--json"])["entry"].to_string();
    let printed = run(&place, &["serve", "--in", ".", "--print-config", "cursor"]);
    assert!(!connect.contains("--not-read-by") && !printed.contains("--not-read-by"), "{connect}\n{printed}");
}
