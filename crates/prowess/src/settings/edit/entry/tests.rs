use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const SERVERS: EntryPath<'static> = EntryPath { keys: &["mcpServers"], name: "prowess" };
const TABLES: EntryPath<'static> = EntryPath { keys: &["mcp_servers"], name: "prowess" };
pub(in crate::settings::edit) const EXTENSIONS: EntryPath<'static> =
    EntryPath { keys: &["extensions"], name: "prowess" };

pub(in crate::settings::edit) fn server() -> Value {
    json!({"command": "prowess", "args": ["serve", "--in", "a \"b\"\\"]})
}

/// Inserts the entry, and checks that it can be undone and removed.
pub(in crate::settings::edit) fn inserted(format: ConfigFormat, text: &str, path: EntryPath<'_>) -> String {
    let change = format.insert(text, path, &server()).unwrap_or_else(|error| panic!("{error}: {text:?}"));
    let after = change.apply(text).unwrap();
    assert_eq!(change.undo(&after).as_deref(), Some(text));
    assert_eq!(format.entry(&after, path), Ok(Some(server())), "{after}");
    let removed =
        format.remove(&after, path, change.tables).unwrap_or_else(|error| panic!("{error}: {after:?}"));
    let removed = removed.unwrap().apply(&after).unwrap();
    assert_eq!(format.entry(&removed, path), Ok(None), "{removed}");
    // Changed by another connect, and still removable.
    let other = format.insert(&after, path, &json!({"command": "other"})).unwrap().apply(&after).unwrap();
    assert_eq!(format.entry(&other, path), Ok(Some(json!({"command": "other"}))), "{other}");
    after
}

fn json_after(text: &str) -> String {
    inserted(ConfigFormat::Json, text, SERVERS)
}

#[test]
fn a_member_is_written_as_its_neighbours_are() {
    let expected = "{\n    \"mcpServers\": {\n        \"a\": {},\n        \"prowess\": {\n            \"command\": \"prowess\",\n            \"args\": [\n                \"serve\",\n                \"--in\",\n                \"a \\\"b\\\"\\\\\"\n            ]\n        }\n    }\n}\n";
    assert_eq!(json_after("{\n    \"mcpServers\": {\n        \"a\": {}\n    }\n}\n"), expected);
    let tabs = json_after("{\r\n\t\"a\": 1\r\n}");
    assert!(
        tabs.starts_with(
            "{\r\n\t\"a\": 1,\r\n\t\"mcpServers\": {\r\n\t\t\"prowess\": {\r\n\t\t\t\"command\""
        ),
        "{tabs}"
    );
    assert!(tabs.ends_with("\r\n\t\t}\r\n\t}\r\n}") && !tabs.replace("\r\n", "").contains('\n'), "{tabs}");
    let line = json_after("{\"mcpServers\":{\"a\":{}}}");
    assert!(
        line.starts_with("{\"mcpServers\":{\"a\":{}, \"prowess\": {\"command\":") && !line.contains('\n'),
        "{line}"
    );
    for blank in ["", " \n", "\u{feff}", "\n\n"] {
        let whole = json_after(blank);
        assert!(whole.trim_start_matches('\u{feff}').starts_with("{\n  \"mcpServers\": {\n"), "{whole:?}");
        assert_eq!(whole.starts_with('\u{feff}'), blank.starts_with('\u{feff}'));
    }
    assert!(json_after("{}").starts_with("{\n  \"mcpServers\": {\n    \"prowess\": {"));
}

#[test]
fn comments_and_trailing_commas_stay_where_they_are() {
    let text = "// mine\n{\n  \"mcpServers\": {\n    \"a\": {}, // about a\n    \"b\": {} /* b */ // more\n    // last\n  },\n}\n";
    let after = json_after(text);
    assert!(after.contains("    \"b\": {}, /* b */ // more\n    \"prowess\": {\n"), "{after}");
    assert!(after.contains("\n    }\n    // last\n  },\n}\n"), "{after}");
    let after = json_after("{\n  \"mcpServers\": {\n    \"a\": {}, // a\n  },\n}");
    assert!(
        after.contains("\"a\": {}, // a\n    \"prowess\": {") && after.contains("\n    },\n  },\n}"),
        "{after}"
    );
    let after = json_after("{\n  \"mcpServers\": {\n    // none yet\n  }\n}");
    assert!(
        after.contains("// none yet\n    \"prowess\": {") && after.ends_with("\n    }\n  }\n}"),
        "{after}"
    );
    let after = json_after("{ \"mcpServers\": { /* none */ } }");
    assert!(after.contains("/* none */\n"), "{after}");
    assert!(json_after("// only a comment").starts_with("// only a comment\n{\n"));
}

#[test]
fn removing_an_entry_keeps_what_others_wrote() {
    let remove = |text: &str, tables| {
        let change = ConfigFormat::Json.remove(text, SERVERS, tables).unwrap().unwrap();
        change.apply(text).unwrap()
    };
    let two = "{\n  \"mcpServers\": {\n    \"prowess\": {},\n    \"b\": {} // b\n  }\n}\n";
    assert_eq!(remove(two, 1), "{\n  \"mcpServers\": {\n    \"b\": {} // b\n  }\n}\n");
    let last = "{\n  \"mcpServers\": {\n    \"b\": {}, // b\n    \"prowess\": {}\n  }\n}\n";
    assert_eq!(remove(last, 1), "{\n  \"mcpServers\": {\n    \"b\": {} // b\n  }\n}\n");
    let only = "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"prowess\": {}\n  }\n}\n";
    assert_eq!(remove(only, 1), "{\n  \"a\": 1\n}\n");
    assert_eq!(remove(only, 0), "{\n  \"a\": 1,\n  \"mcpServers\": {\n  }\n}\n");
    assert_eq!(remove("{\"mcpServers\":{\"prowess\":{}, \"b\":1}}", 0), "{\"mcpServers\":{\"b\":1}}");
    assert_eq!(remove("{\"mcpServers\":{\"a\":1, \"prowess\":{}}}", 0), "{\"mcpServers\":{\"a\":1}}");
    assert_eq!(ConfigFormat::Json.remove("{}", SERVERS, 0), Ok(None));
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    let said = |format: ConfigFormat, text: &str, path: EntryPath<'_>| {
        format.insert(text, path, &server()).unwrap_err().to_string()
    };
    for (text, line) in [
        ("{\n  \"a\": ,\n}", "line 2: a value is missing or not JSON"),
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 3: a comma or } is missing"),
        ("{\n  a: 1\n}", "line 2: a key in quotes or } is missing"),
        ("{\"a\": \"x\n\"}", "line 1: a text in quotes does not end, or is not JSON"),
        ("{} {}", "line 1: there is something after the end of the value"),
        ("{\n/* a", "line 2: a comment does not end"),
        ("{\n\"a\"", "line 2: a colon is missing"),
        ("[\n]", "line 1: the top of the file is not a table of servers"),
        ("{\n\"mcpServers\": []}", "line 2: mcpServers is not a table of servers"),
        ("{\n\"mcpServers\": null}", "line 2: mcpServers is not a table of servers"),
        ("{\n\"mcpServers\": {},\n\"mcpServers\": {}}", "line 3: mcpServers appears twice"),
        ("{\"a\": 01}", "line 1: a value is missing or not JSON"),
    ] {
        assert_eq!(said(ConfigFormat::Json, text, SERVERS), line, "{text:?}");
    }
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert_eq!(said(ConfigFormat::Json, &deep, SERVERS), "line 1: it is nested too deeply");
    for (text, line) in [
        ("a = 1\nb = = 2\n", "line 2: "),
        ("mcp_servers = 3\n", "line 1: mcp_servers is not a table of servers"),
        ("\nmcp_servers = { a = {} }\n", "line 2: the entry cannot be changed without changing more"),
    ] {
        assert!(
            said(ConfigFormat::Toml, text, TABLES).starts_with(line),
            "{text:?}: {}",
            said(ConfigFormat::Toml, text, TABLES)
        );
    }
    for (text, line) in [
        ("a: [\n", "line "),
        ("extensions: 3\n", "line 1: extensions is not a table of servers"),
        ("extensions: { a: {} }\n", "line 1: extensions is not in block style"),
        ("{}\n", "line 1: the file is not written in block style"),
        ("a: 1\n---\nb: 2\n", "line "),
    ] {
        assert!(
            said(ConfigFormat::Yaml, text, EXTENSIONS).starts_with(line),
            "{text:?}: {}",
            said(ConfigFormat::Yaml, text, EXTENSIONS)
        );
    }
}

#[test]
fn toml_keeps_its_tables_comments_and_last_line_end() {
    let after = |text: &str| inserted(ConfigFormat::Toml, text, TABLES);
    let table =
        "[mcp_servers.prowess]\ncommand = \"prowess\"\nargs = [\"serve\", \"--in\", \"a \\\"b\\\"\\\\\"]\n";
    assert_eq!(after(""), table);
    assert_eq!(after("model = \"o\" # mine\n"), format!("model = \"o\" # mine\n\n{table}"));
    assert_eq!(after("a = 1\n\n"), format!("a = 1\n\n{table}"));
    assert_eq!(after("a = 1"), format!("a = 1\n\n{}", table.trim_end()));
    assert_eq!(after("a = 1\r\n"), format!("a = 1\r\n\r\n{}", table.replace('\n', "\r\n")));
    after("[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.env]\nA = \"1\"\n");
    after("mcp_servers.a.command = \"x\"\n");
    let long = "note = '''\n[mcp_servers.prowess]\n'''\n";
    after(long);
    // A table inside of the entry goes with it, and what follows stays.
    let more = format!("a = 1\n\n{table}[mcp_servers.prowess.env]\nA = \"1\"\n\n# next\n[next]\n");
    let removed = ConfigFormat::Toml.remove(&more, TABLES, 0).unwrap().unwrap().apply(&more).unwrap();
    assert_eq!(removed, "a = 1\n\n# next\n[next]\n");
    let inline = "[mcp_servers]\nprowess = { command = \"prowess\" }\n";
    let error = ConfigFormat::Toml.remove(inline, TABLES, 0).unwrap_err().to_string();
    assert_eq!(error, "line 2: the entry is not written as a table of its own, [mcp_servers.prowess]");
}

#[test]
fn yaml_keeps_its_lines_comments_and_indentation() {
    let after = |text: &str| inserted(ConfigFormat::Yaml, text, EXTENSIONS);
    let entry =
        "prowess:\n      command: \"prowess\"\n      args: [\"serve\",\"--in\",\"a \\\"b\\\"\\\\\"]\n";
    let text = "# mine\nextensions: # all\n    a:\n      enabled: true # a\n    # last\nmodel: x\n";
    assert_eq!(
        after(text),
        format!(
            "# mine\nextensions: # all\n    a:\n      enabled: true # a\n    # last\n    {entry}model: x\n"
        )
    );
    let entry = entry.replace("      ", "    ");
    assert_eq!(after("model: x"), format!("model: x\nextensions:\n  {}", entry.trim_end()));
    assert_eq!(after(""), format!("extensions:\n  {entry}"));
    assert_eq!(after("extensions: {}\nmodel: x\n"), format!("extensions: \n  {entry}model: x\n"));
    after("extensions:\nmodel: x\r\n");
    after("\"extensions\":\n  a: |\n    text\n\n    # no comment\n\nmodel: |\n  extensions:\n");
    after("---\nmodel: x\n");
    after("extensions: {}");
    after("extensions:");
}

/// Numbers from a seed, for a text of any style.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[usize::try_from(self.roll(of.len() as u64)).unwrap()]
    }
}

/// A configuration in JSON as people and programs write them.
fn some_json(dice: &mut Dice) -> String {
    let end = dice.one(&["\n", "\n", "\r\n"]);
    let unit = dice.one(&["  ", "    ", "\t", " "]);
    let flat = dice.roll(5) == 0;
    let comments = !flat && dice.roll(2) == 0;
    let trailing = dice.roll(3) == 0;
    let mut text = String::from(dice.one(&["", "", "", "\u{feff}"]));
    if dice.roll(12) == 0 {
        text.push_str(dice.one(&["", " ", "\n", "\r\n\r\n", "// nothing\n", "/* nothing */"]));
        return text;
    }
    text.push_str(if comments { dice.one(&["// a file\n", "/* a\n file */ ", ""]) } else { "" });
    object(dice, &mut text, 0, &Style { end, unit, flat, comments, trailing });
    text.push_str(dice.one(&["", end, "\n", " "]));
    text
}

struct Style<'s> {
    end: &'s str,
    unit: &'s str,
    flat: bool,
    comments: bool,
    trailing: bool,
}

fn object(dice: &mut Dice, text: &mut String, depth: usize, style: &Style<'_>) {
    let members = dice.roll(4);
    text.push('{');
    let mut keys = vec!["a", "the \\\"key\\\"", "é", "mcpServers", "prowess-2", "numbers"];
    if members == 0 {
        text.push_str(dice.one(&["", " ", "  ", style.end]));
        if style.comments {
            text.push_str(dice.one(&["", "/* none */", "// none\n", "// } \"\n  "]));
        }
    }
    for at in 0..members {
        if style.flat {
            text.push_str(dice.one(&["", " "]));
        } else {
            text.push_str(style.end);
            if style.comments && dice.roll(3) == 0 {
                text.push_str(dice.one(&["  // above", "/* { */", "// \"prowess\": {}"]));
                text.push_str(style.end);
            }
            text.push_str(&style.unit.repeat(depth + 1));
        }
        let at_most = keys.len() as u64;
        let key = keys.remove(usize::try_from(dice.roll(at_most)).unwrap());
        let _ = write!(text, "\"{key}\":{}", dice.one(&[" ", "", "  "]));
        if depth < 3 && (key == "mcpServers" || dice.roll(3) == 0) {
            object(dice, text, depth + 1, style);
        } else {
            text.push_str(dice.one(&[
                "1",
                "-0.5e+10",
                "\"}, {\"",
                "null",
                "[1, {\"a\": []}]",
                "\"\\u00e9\\n\"",
                "true",
            ]));
        }
        if at + 1 < members || style.trailing {
            text.push_str(dice.one(&["", "", " "]));
            text.push(',');
        }
        if style.comments && dice.roll(3) == 0 {
            text.push_str(dice.one(&[" // behind", " /* a */ // b", "/* a */"]));
            text.push('\n');
        }
    }
    if members > 0 && !style.flat {
        text.push_str(style.end);
        text.push_str(&style.unit.repeat(depth));
    }
    text.push('}');
}

/// A configuration in TOML.
fn some_toml(dice: &mut Dice) -> String {
    let mut text = String::from(dice.one(&["", "", "\u{feff}"]));
    let tables = [
        "a = 1\n",
        "# note\n",
        "\n",
        "[t]\nb = [\n  1, # one\n  2,\n]\n",
        "[mcp_servers.a]\ncommand = \"x\"\n",
        "[mcp_servers.b]\nurl = 'y' # z\n\n[mcp_servers.b.env]\nA = \"\"\"\n[x]\n\"\"\"\n",
        "[[many]]\nc = { d = 1 }\n",
        "[mcp_servers]\n",
    ];
    for table in tables {
        if dice.roll(2) == 0 {
            text.push_str(table);
        }
    }
    finished(dice, text)
}

/// A configuration in YAML.
fn some_yaml(dice: &mut Dice) -> String {
    let mut text = String::from(dice.one(&["", "", "---\n", "# top\n"]));
    if dice.roll(2) == 0 {
        text.push_str(dice.one(&[
            "model: x\n",
            "text: |\n  extensions:\n  # no\n\n",
            "list:\n- a\n- b: 1\n",
        ]));
    }
    if dice.roll(3) > 0 {
        text.push_str(dice.one(&[
            "extensions:\n",
            "extensions: # mine\n",
            "extensions:\n  a:\n    b: 1\n",
            "extensions:\n    a:\n        b: >\n          x\n\n        c: [1,\n          2]\n    # end\n",
            "extensions: {}\n",
        ]));
    }
    if dice.roll(2) == 0 {
        text.push_str(dice.one(&["\n", "last: 1\n", "# end\n", "'q': {a: 1}\n"]));
    }
    let mut text = finished(dice, text);
    // A block scalar without its line break is refused.
    if text.ends_with("# no") {
        text.push('\n');
    }
    text
}

/// With another line end, or without the last one.
fn finished(dice: &mut Dice, mut text: String) -> String {
    if dice.roll(3) == 0 {
        text = text.replace('\n', "\r\n");
    }
    if dice.roll(3) == 0 {
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
    }
    text
}

proptest! {
    #![proptest_config(crate::env::many_cases())]

    #[test]
    fn inserting_into_any_configuration_can_be_undone_byte_for_byte(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        inserted(ConfigFormat::Json, &some_json(&mut dice), SERVERS);
        inserted(ConfigFormat::Toml, &some_toml(&mut dice), TABLES);
        inserted(ConfigFormat::Yaml, &some_yaml(&mut dice), EXTENSIONS);
    }

    #[test]
    fn any_text_is_edited_or_refused(text in "[{}\\[\\]\":,/*\n #a=.'-]{0,40}") {
        for (format, path) in [(ConfigFormat::Json, SERVERS), (ConfigFormat::Toml, TABLES), (ConfigFormat::Yaml, EXTENSIONS)] {
            if let Ok(change) = format.insert(&text, path, &server()) {
                let after = change.apply(&text).unwrap();
                prop_assert_eq!(change.undo(&after), Some(text.clone()));
            }
        }
    }
}

#[test]
fn a_table_with_a_comment_beside_the_entry_stays() {
    for (text, left) in [
        ("{\"mcpServers\": {// why\n\"prowess\": {}}}", "{\"mcpServers\": {// why\n}}"),
        (
            "{\n  \"mcpServers\": {\n    // why\n    \"prowess\": {}\n  }\n}",
            "{\n  \"mcpServers\": {\n    // why\n  }\n}",
        ),
        ("{\"mcpServers\": {/* why */\"prowess\": {}}}", "{\"mcpServers\": {/* why */}}"),
        ("{\"mcpServers\": {\"prowess\": {/* its own */}}}", "{}"),
    ] {
        let change = ConfigFormat::Json.remove(text, SERVERS, 1).unwrap().unwrap();
        assert_eq!(change.apply(text).unwrap(), left);
    }
    let yaml = "b: 1\nextensions:\n  # why\n  prowess:\n    a: 1\n";
    let change = ConfigFormat::Yaml.remove(yaml, EXTENSIONS, 1).unwrap().unwrap();
    assert_eq!(change.apply(yaml).unwrap(), "b: 1\nextensions:\n  # why\n");
}
