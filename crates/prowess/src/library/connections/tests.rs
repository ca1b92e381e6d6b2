//! Entries that are connected, changed by others, and disconnected.

#![allow(clippy::disallowed_methods, reason = "these are tests")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

const JSON: (ConfigFormat, &[&str]) = (ConfigFormat::Json, &["mcpServers"]);
const TOML: (ConfigFormat, &[&str]) = (ConfigFormat::Toml, &["mcp_servers"]);
const YAML: (ConfigFormat, &[&str]) = (ConfigFormat::Yaml, &["extensions"]);

/// A home with one configuration.
struct Home {
    folder: TempDir,
    file: PathBuf,
    format: (ConfigFormat, &'static [&'static str]),
    environment: Environment,
}

impl Home {
    fn new(format: (ConfigFormat, &'static [&'static str]), text: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app/config");
        if let Some(text) = text {
            fs::create_dir(folder.path().join("app")).unwrap();
            fs::write(&file, text).unwrap();
        }
        let environment = Environment::of([("HOME", folder.path().to_str().unwrap())]);
        Self { folder, file, format, environment }
    }

    fn at<'h>(&'h self, file: &'h Path) -> Connection<'h> {
        let path = EntryPath { keys: self.format.1, name: "prowess" };
        Connection { file, format: self.format.0, path, within: None, others: Vec::new(), plain: entry() }
    }

    fn connect(&self, entry: &Value) {
        self.at(&self.file).connect(entry, false, true, &self.environment).unwrap();
    }

    fn disconnect(&self) {
        self.at(&self.file).disconnect(false, true, &self.environment).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }

    fn records(&self) -> PathBuf {
        self.folder.path().join(".local/state/prowess/connections.json")
    }
}

fn entry() -> Value {
    json!({"command": "prowess", "args": ["serve"]})
}

fn other_entry() -> Value {
    json!({"command": "prowess", "args": ["serve", "--in", "x"]})
}

#[test]
fn a_line_that_was_added_to_the_entry_never_moves_into_another_table() {
    let home = Home::new(TOML, Some("[mcp_servers.other]\ncommand = \"x\"\n"));
    home.connect(&entry());
    fs::write(&home.file, home.text() + "enabled = false\n").unwrap();
    home.at(&home.file).disconnect(true, true, &home.environment).unwrap();
    assert_eq!(home.text().trim_end(), "[mcp_servers.other]\ncommand = \"x\"");

    // The same with another entry in its place.
    let home = Home::new(TOML, Some("[mcp_servers.other]\ncommand = \"x\"\n"));
    home.connect(&entry());
    fs::write(&home.file, home.text() + "enabled = false\n").unwrap();
    home.at(&home.file).connect(&other_entry(), true, true, &home.environment).unwrap();
    let value = home.format.0.entry(&home.text(), EntryPath { keys: home.format.1, name: "other" }).unwrap();
    assert_eq!(value, Some(json!({"command": "x"})));
}

#[test]
fn lines_that_others_add_anywhere_stay_what_they_were() {
    for (format, text, line) in [
        (
            JSON,
            "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  },\n  \"z\": 1\n}\n",
            "    // mine",
        ),
        (TOML, "top = 1\n[mcp_servers.other]\ncommand = \"x\"\n", "enabled = false"),
        (TOML, "top = 1\n[mcp_servers.other]\ncommand = \"x\"\n", "[tools]"),
        (YAML, "extensions:\n  other:\n    cmd: x\nz: 1\n", "    enabled: false"),
        (YAML, "extensions:\n  other:\n    cmd: x\n", "z: 1"),
    ] {
        let path = EntryPath { keys: format.1, name: "prowess" };
        let home = Home::new(format, Some(text));
        home.connect(&entry());
        let connected = home.text();
        let lines: Vec<&str> = connected.lines().collect();
        for at in 0..=lines.len() {
            let mut changed = lines.clone();
            changed.insert(at, line);
            let changed = changed.join("\n") + "\n";
            // What others make of it may not be valid.
            let Ok(before) = format.0.value(&changed) else { continue };
            fs::write(&home.file, &changed).unwrap();
            let plan = home.at(&home.file).disconnect(true, false, &home.environment);
            let Ok(plan) = plan else { continue };
            let (mut before, mut after) = (before, format.0.value(&plan.after.unwrap()).unwrap());
            crate::settings::edit::entry::cut(&mut before, path, 9);
            crate::settings::edit::entry::cut(&mut after, path, 9);
            assert_eq!(before, after, "{line} at {at}:\n{changed}");
        }
    }
}

#[test]
fn a_file_with_a_comment_of_the_user_is_kept() {
    for (format, comment) in [(TOML, "# mine\n"), (YAML, "# mine\n"), (JSON, "// mine\n")] {
        let home = Home::new(format, None);
        home.connect(&entry());
        fs::write(&home.file, format!("{comment}{}", home.text())).unwrap();
        home.disconnect();
        assert!(home.text().starts_with(comment), "{}", home.text());
        // Without it, nothing is left.
        let home = Home::new(format, None);
        home.connect(&entry());
        home.disconnect();
        assert!(!home.folder.path().join("app").exists());
    }
}

#[test]
fn tables_that_connect_made_go_also_after_another_program_wrote_the_file() {
    let home = Home::new(JSON, Some("{\n  \"a\": 1\n}\n"));
    home.connect(&entry());
    let value: Value = serde_json::from_str(&home.text()).unwrap();
    fs::write(&home.file, serde_json::to_string(&value).unwrap()).unwrap();
    home.connect(&other_entry());
    home.disconnect();
    let left: Value = serde_json::from_str(&home.text()).unwrap();
    assert_eq!(left, json!({"a": 1}));
}

#[test]
fn folders_of_two_clients_go_with_the_last_one() {
    let home = Home::new(JSON, None);
    let shared = home.folder.path().join("shared");
    let [one, other] = ["one/config", "other/config"].map(|file| shared.join(file));
    for file in [&one, &other] {
        home.at(file).connect(&entry(), false, true, &home.environment).unwrap();
    }
    for file in [&one, &other] {
        home.at(file).disconnect(false, true, &home.environment).unwrap();
    }
    assert!(!shared.exists());
}

#[cfg(unix)]
#[test]
fn a_new_file_of_the_user_is_readable_by_the_user_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new(JSON, None);
    home.connect(&entry());
    assert_eq!(fs::metadata(&home.file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn two_entries_of_one_file_have_their_own_records() {
    let text = "{\n  \"mcpServers\": {}\n}\n";
    let home = Home::new(JSON, Some(text));
    let named = |name| Connection { path: EntryPath { keys: &["mcpServers"], name }, ..home.at(&home.file) };
    for name in ["one", "two"] {
        named(name).connect(&entry(), false, true, &home.environment).unwrap();
    }
    for name in ["two", "one"] {
        named(name).disconnect(false, true, &home.environment).unwrap();
    }
    assert_eq!(home.text(), text);
}

#[test]
fn records_that_cannot_be_read_change_nothing() {
    let home = Home::new(TOML, Some("a = 1\n"));
    home.connect(&entry());
    let (text, records) = (home.text(), fs::read_to_string(home.records()).unwrap());
    let newer = records.replace("\"version\": 1", "\"version\": 2");
    for (damaged, is_newer) in [("{".to_owned(), false), (newer, true)] {
        fs::write(home.records(), &damaged).unwrap();
        let error = home.at(&home.file).disconnect(false, true, &home.environment).unwrap_err();
        let ConnectionError::Records { source, .. } = error else { panic!("{error}") };
        assert_eq!(source.kind() == std::io::ErrorKind::Unsupported, is_newer, "{source}");
        assert_eq!((home.text(), fs::read_to_string(home.records()).unwrap()), (text.clone(), damaged));
    }
    fs::remove_file(home.records()).unwrap();
    home.disconnect();
    assert_eq!(home.text(), "a = 1\n");
}

#[cfg(unix)]
#[test]
fn a_path_that_cannot_be_recorded_is_said_and_nothing_is_written() {
    use std::os::unix::ffi::OsStrExt as _;
    let home = Home::new(TOML, Some("a = 1\n"));
    let folder = home.folder.path().join(std::ffi::OsStr::from_bytes(b"\xff"));
    if fs::create_dir(&folder).is_err() {
        eprintln!("skipped: the file system has only names in UTF-8");
        return;
    }
    let file = folder.join("config");
    let error = home.at(&file).connect(&entry(), false, true, &home.environment).unwrap_err();
    let ConnectionError::Record { source, .. } = error else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::InvalidInput, "{source}");
    assert!(!file.exists() && !home.records().exists());
}

#[test]
fn a_file_that_cannot_be_written_keeps_the_old_record() {
    let home = Home::new(TOML, Some("a = 1\n"));
    home.connect(&entry());
    let (text, records) = (home.text(), fs::read_to_string(home.records()).unwrap());
    let mut permissions = fs::metadata(&home.file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&home.file, permissions).unwrap();
    let error = home.at(&home.file).connect(&other_entry(), false, true, &home.environment).unwrap_err();
    assert!(matches!(error, ConnectionError::Write(_)), "{error}");
    assert_eq!((home.text(), fs::read_to_string(home.records()).unwrap()), (text, records));
}

/// What connecting another entry gives when the configuration changes before each write.
fn connect_while(home: &Home, change: impl Fn(usize)) -> Result<PlannedConnection, ConnectionError> {
    let (connection, entry, mut writes) = (home.at(&home.file), other_entry(), 0);
    connection.act_with(Act::Connect(&entry), false, true, &home.environment, |plan, old| {
        change(writes);
        writes += 1;
        connection.write(plan, old)
    })
}

#[test]
fn a_change_before_the_write_is_kept_and_the_entry_is_written_beside_it() {
    let home = Home::new(JSON, Some("{ \"a\":1 }"));
    let change = |writes| {
        if writes == 0 {
            fs::write(&home.file, "{ \"b\":2 }").unwrap();
        }
    };
    assert!(connect_while(&home, change).unwrap().is_change());
    assert!(home.text().contains("\"b\":2") && home.text().contains("--in"), "{}", home.text());
    home.disconnect();
    assert_eq!(home.text(), "{ \"b\":2 }");
}

/// What happens to a configuration before a write, by its number.
type Cause<'c> = &'c dyn Fn(&Home, usize);

#[test]
fn the_record_of_the_old_entry_stays_whatever_prevents_the_new_one() {
    // A file that breaks meanwhile, that gets the entry from another program, that changes each time, or that goes.
    let new = other_entry();
    let same = json!({"mcpServers": {"prowess": new}}).to_string();
    let causes: [(&str, Cause<'_>); 4] = [
        ("broken", &|home, _| fs::write(&home.file, "{ broken").unwrap()),
        ("the same entry", &|home, _| fs::write(&home.file, &same).unwrap()),
        ("another text each time", &|home, writes| {
            fs::write(&home.file, format!("{{ \"a\":{writes} }}")).unwrap();
        }),
        ("a folder", &|home, _| {
            fs::remove_file(&home.file).unwrap();
            fs::create_dir(&home.file).unwrap();
        }),
    ];
    for (name, cause) in causes {
        let home = Home::new(JSON, Some("{ \"a\":1 }"));
        home.connect(&entry());
        let records = fs::read(home.records()).unwrap();
        let done = connect_while(&home, |writes| cause(&home, writes));
        assert!(!done.is_ok_and(|plan| plan.is_change()), "{name}");
        assert!(fs::read(home.records()).unwrap() == records, "{name}");
    }
}

#[test]
fn an_entry_serves_all_only_when_it_is_on_and_has_no_choice_of_skills() {
    let of = |args: &[&str]| json!({"command": "/usr/bin/prowess", "args": args});
    assert!(serves_all(&of(&["serve"])) && serves_all(&of(&["serve", "--not-read-by", "codex"])));
    assert!(serves_all(&json!({"type": "local", "command": ["prowess", "serve"], "enabled": true})));
    for args in
        [&["serve", "--only", "x"][..], &["serve", "--in", "x"], &["serve", "--client", "codex"], &["list"]]
    {
        assert!(!serves_all(&of(args)), "{args:?}");
    }
    for off in [
        json!({"command": ["prowess", "serve"], "enabled": false}),
        json!({"command": "prowess", "args": ["serve"], "disabled": true}),
        json!({"command": "other", "args": ["serve"]}),
    ] {
        assert!(!serves_all(&off), "{off}");
    }
}

#[test]
fn an_entry_that_was_written_by_hand_with_options_is_removed_only_with_overwrite() {
    for (args, is_removed) in [
        (&["serve"][..], true),
        (&["serve", "--not-read-by", "codex"], true),
        (&["serve", "--only", "a"], false),
        (&["serve", "--not-read-by", "codex", "--only", "a"], false),
    ] {
        let line = [&["prowess"][..], args].concat();
        for entry in [json!({"command": "/usr/bin/prowess", "args": args}), json!({"command": line})] {
            let text = json!({"mcpServers": {"prowess": entry}}).to_string();
            let home = Home::new(JSON, Some(&text));
            let disconnect = |overwrite| home.at(&home.file).disconnect(overwrite, true, &home.environment);
            let removed = disconnect(false);
            assert_eq!(removed.is_ok(), is_removed, "{entry}");
            if let Err(error) = removed {
                assert!(matches!(error, ConnectionError::Members { removes: true, .. }), "{error}");
                assert_eq!(home.text(), text);
                disconnect(true).unwrap();
            }
            assert!(!home.text().contains("serve"), "{entry}");
        }
    }
}
