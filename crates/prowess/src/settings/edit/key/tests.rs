//! Setting and unsetting keys in texts of every form.

use crate::settings::MAX_CONFIG_BYTES;
use std::path::Path;

use proptest::prelude::*;

use super::*;

fn set(text: &str, key: &str, value: Option<&str>) -> Result<String, ConfigSetError> {
    let editor = ConfigEditor { file: PathBuf::from("/p/prowess.toml"), within: None };
    editor.edited(text, &KeyPath::parse(key).unwrap(), value)
}

#[test]
fn a_value_is_replaced_and_every_other_byte_stays() {
    let text = "# top\r\n[scan] # how\r\n# deep\r\ndepth  =  2   # two\n\n[skills]\ndisable = [\n  'a', # one\n]\n# end";
    assert_eq!(set(text, "scan.depth", Some("3")).unwrap(), text.replace("=  2", "=  3"));
    let names = set(text, "skills.disable", Some("x, y-*")).unwrap();
    let disabled = "disable = [\n  'a', # one\n]";
    assert_eq!(names, text.replace(disabled, "  # one\r\ndisable = [\"x\", \"y-*\"]"));
    assert_eq!(set(text, "scan.depth", None).unwrap(), text.replace("depth  =  2   # two\n", ""));
    assert_eq!(set(text, "scan.skip", None).unwrap(), text);
}

#[test]
fn a_new_key_is_inserted_where_its_table_is() {
    for (text, key, value, after) in [
        ("", "scan.depth", "3", "[scan]\ndepth = 3\n"),
        ("# mine\n", "scan.depth", "3", "# mine\n\n[scan]\ndepth = 3\n"),
        ("[scan]\r\nskip = []\r\n", "scan.depth", "3", "[scan]\r\nskip = []\r\ndepth = 3\r\n"),
        ("[scan]\nskip = []", "scan.depth", "3", "[scan]\nskip = []\ndepth = 3"),
        ("[scan]\n\n[session]\n", "scan.depth", "3", "[scan]\ndepth = 3\n\n[session]\n"),
        ("\u{feff}[scan]\n", "scan.depth", "3", "\u{feff}[scan]\ndepth = 3\n"),
        ("scan = { skip = [] }\n", "scan.depth", "3", "scan = { skip = [], depth = 3 }\n"),
        ("scan.skip = []\n", "scan.depth", "3", "scan.skip = []\nscan.depth = 3\n"),
        (
            "[check]\n",
            "check.levels.name-too-long",
            "off",
            "[check]\n\n[check.levels]\nname-too-long = \"off\"\n",
        ),
        ("", "check.levels.name-too-long", "off", "[check.levels]\nname-too-long = \"off\"\n"),
        (
            "[check.levels]\nname-too-long = 'off'\n",
            "check.profile",
            "plugin",
            "[check.levels]\nname-too-long = 'off'\n\n[check]\nprofile = \"plugin\"\n",
        ),
        ("", "session.filter", "a \"b\" */c", "[session]\nfilter = 'a \"b\" */c'\n"),
        ("", "session.tools", "", "[session]\ntools = []\n"),
        ("", "skills.sources", "[{ dir = 'a' }]", "[skills]\nsources = [{ dir = 'a' }]\n"),
        (
            "[[skills.sources]]\ndir = 'a'\n",
            "skills.sources",
            "[{ dir = 'b' }]",
            "[skills]\nsources = [{ dir = 'b' }]\n",
        ),
    ] {
        let found = set(text, key, Some(value)).unwrap();
        assert_eq!(found, after, "{text:?}");
        assert!(Config::parse(&found, Path::new("/p/prowess.toml")).is_ok(), "{found}");
    }
}

#[test]
fn a_key_is_unset_in_every_form() {
    for (text, key, after) in [
        ("scan = { skip = [], depth = 3 }\n", "scan.depth", "scan = { skip = [] }\n"),
        ("scan.depth = 3\nscan.skip = []\n", "scan.depth", "scan.skip = []\n"),
        ("[scan]\n# deep\ndepth = 3\n", "scan.depth", "[scan]\n# deep\n"),
        ("[[skills.sources]]\ndir = 'a'\n[scan]\n", "skills.sources", "[scan]\n"),
        ("[check.levels]\nname-too-long = 'off'\n[scan]\n", "check.levels", "[scan]\n"),
    ] {
        assert_eq!(set(text, key, None).unwrap(), after, "{text:?}");
    }
}

/// Comments and the text around a key stay, in forms that a printer of TOML writes anew.
#[test]
fn no_comment_is_lost_where_a_key_is_set_or_unset() {
    let braces = "scan = {\n  skip = [\"_\"],   # drafts\n  nested = false, # never\n}\n";
    for (text, key, value, after) in [
        (
            "# Settings of Ada. Licence: MIT.\n[[skills.sources]]\n# the team\ndir = \"a\" # its\n\n# end\n",
            "skills.sources",
            None,
            "# Settings of Ada. Licence: MIT.\n# the team\n\n# end\n",
        ),
        (
            "# mine\n[[skills.sources]]\ndir = \"a\" # why\n",
            "skills.sources",
            Some("[{dir=\"b\"}]"),
            "# mine\n# why\n\n[skills]\nsources = [{dir=\"b\"}]\n",
        ),
        (
            "# rules\n[check.levels] # levels\n# long\nname-too-long = 'off'\n# end\n[scan]\n",
            "check.levels",
            None,
            "# rules\n# long\n# end\n[scan]\n",
        ),
        (
            "check.levels.name-too-long = 'off'\n# between\ncheck.levels.name-missing = 'off'\n",
            "check.levels",
            None,
            "# between\n",
        ),
        (
            "[[skills.sources]]\nname = 'x'\ndescription = 'd'\nbody = \"\"\"\n# no comment\n[no.header]\n\"\"\"\n# mine\n",
            "skills.sources",
            None,
            "# mine\n",
        ),
        (
            braces,
            "scan.depth",
            Some("3"),
            "scan = {\n  skip = [\"_\"],   # drafts\n  nested = false, # never\n  depth = 3,\n}\n",
        ),
        (braces, "scan.nested", None, "scan = {\n  skip = [\"_\"],   # drafts\n  # never\n}\n"),
        (
            "scan = {skip=[],nested  =  true}\n",
            "scan.depth",
            Some("1"),
            "scan = {skip=[],nested  =  true, depth = 1}\n",
        ),
        ("scan = {skip=[],nested  =  true}\n", "scan.skip", None, "scan = {nested  =  true}\n"),
        ("scan = {  depth = 1 }", "scan.depth", None, "scan = {}"),
        ("scan = {}", "scan.depth", Some("1"), "scan = { depth = 1 }"),
        (
            "[scan]\ndepth = 3\n# skip = [\"x\"]\n",
            "session.plain",
            Some("true"),
            "[scan]\ndepth = 3\n# skip = [\"x\"]\n\n[session]\nplain = true\n",
        ),
        ("[skills]\ndisable = [\n  # old\n  'a', # one\n]\n", "skills.disable", None, "[skills]\n  # old\n"),
        (
            "[check]\nlevels.name-missing = 'off' # x\n# y\n[scan]\n",
            "check.levels.name-too-long",
            Some("off"),
            "[check]\nlevels.name-missing = 'off' # x\nlevels.name-too-long = \"off\"\n# y\n[scan]\n",
        ),
        (
            "[[skills.sources]]\ndir = 'a'\n",
            "skills.disable",
            Some("x"),
            "[[skills.sources]]\ndir = 'a'\n\n[skills]\ndisable = [\"x\"]\n",
        ),
    ] {
        let found = set(text, key, value).unwrap();
        assert_eq!(found, after, "{text}");
    }
}

/// Numbers below a limit, from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    /// A comment that no other is equal to, or nothing.
    fn comment(&mut self, before: &str, text: &str) -> String {
        let is_there = self.roll(2) == 0;
        if is_there { format!("{before}# c{} \" '", text.len()) } else { String::new() }
    }
}

const TABLES: [&[&str]; 8] = [
    &["[scan]", "depth = 2", "skip = [", "  'a',", "  \"#b\",", "]"],
    &["[session]", "tools = ['Read', \"#\"]", "filter = '''", "[scan]", "# no'''"],
    &["[check.levels]", "name-too-long = 'off'"],
    &["[[check.paths]]", "glob = 'a/**'", "ignore = true"],
    &["[[skills.sources]]", "dir = 'a'", "", "[[skills.sources]]", "dir = \"b#\""],
    &["[skills]", "disable = ['x']"],
    &["[check]", "profile = 'spec'"],
    &["[install.registries]", "acme = 'https://git.example.com/{org}/{name}'"],
];

const TOP: [&[&str]; 11] = [
    &["scan.depth = 2", "scan.skip = []"],
    &["scan.depth = 2", "session.plain = true", "scan.skip = []"],
    &["scan = {", "  depth = 2", "}"],
    &["scan = {", "  skip = [", "    '#',", "  ],", "  depth = 2", "}"],
    &["scan = { depth = 2, skip = ['#'] }"],
    &["scan = {", "  depth = 2,", "  nested = false,", "}"],
    &["check.levels.name-too-long = 'off'"],
    &["session = {}"],
    &[],
    &[],
    &[],
];

/// A configuration with comments at every place where one may be.
fn some_config(dice: &mut Dice) -> String {
    let end = ["\n", "\r\n"][dice.roll(2)];
    let mut text = if dice.roll(6) == 0 { "\u{feff}".to_owned() } else { String::new() };
    let top = TOP[dice.roll(TOP.len())];
    let mut lines = top.to_vec();
    let first = dice.roll(TABLES.len());
    for at in 0..dice.roll(5) {
        let table = TABLES[(first + at * 3) % TABLES.len()];
        let name = table[0].trim_matches(['[', ']']).split('.').next().unwrap();
        // A table at the top must not be defined twice.
        if !top.iter().any(|line| line.starts_with(name)) {
            lines.extend(table);
        }
    }
    let mut is_text = false;
    for line in lines {
        let was_text = is_text;
        is_text ^= line.contains("'''");
        if !was_text {
            let indentation = ["", "  "][dice.roll(2)];
            let comment = dice.comment(indentation, &text);
            text.push_str(&comment);
            text.push_str(if comment.is_empty() && dice.roll(4) > 0 { "" } else { end });
        }
        text.push_str(line);
        if !is_text && !line.is_empty() {
            text.push_str(&dice.comment("  ", &text));
        }
        text.push_str(end);
    }
    text.push_str(&dice.comment("", &text));
    text
}

fn comments_of(text: &str) -> Vec<&str> {
    toml::comments(text).filter_map(|range| text.get(range)).collect()
}

/// The comments that have a line of their own.
fn comment_lines(text: &str) -> Vec<&str> {
    let comments = comments_of(text);
    text.trim_start_matches('\u{feff}')
        .lines()
        .map(str::trim)
        .filter(|line| comments.contains(line))
        .collect()
}

fn sorted(mut all: Vec<&str>) -> Vec<&str> {
    all.sort_unstable();
    all
}

const SET: [(&str, &str); 12] = [
    ("scan.depth", "5"),
    ("scan.skip", "x,y"),
    ("scan.nested", "true"),
    ("session.tools", "Bash"),
    ("session.filter", "a/*"),
    ("session.plain", "true"),
    ("check.profile", "plugin"),
    ("check.levels", "{ name-missing = 'off' }"),
    ("check.levels.name-missing", "off"),
    ("skills.sources", "[{ dir = 'z' }]"),
    ("skills.disable", "q"),
    ("install.registries.other", "https://git.example.com/{org}/{name}"),
];

proptest! {
    #![proptest_config(crate::env::many_cases())]

    #[test]
    fn every_comment_of_any_configuration_stays(seed in 1..u64::MAX, which in 0..SET.len()) {
        let text = some_config(&mut Dice(seed));
        let (key, value) = SET[which];
        let after = set(&text, key, Some(value)).unwrap_or_else(|error| panic!("{key}: {error}\n{text}"));
        prop_assert_eq!(sorted(comments_of(&text)), sorted(comments_of(&after)), "{}\n{}\n{}", key, text, after);
        // A comment at the end of a line is about that line; all others stay, in their order.
        let gone = set(&text, key, None).unwrap_or_else(|error| panic!("{key}: {error}\n{text}"));
        let (before, after) = (comment_lines(&text), comment_lines(&gone));
        let stay: Vec<&str> = after.iter().copied().filter(|line| before.contains(line)).collect();
        prop_assert_eq!(before, stay, "{}\n{}\n{}", key, text, gone);
    }
}

#[test]
fn a_list_is_read_as_the_option_with_its_meaning_reads_it() {
    for (key, value, after) in [
        (
            "session.tools",
            "Bash(git add, git commit)",
            "[session]\ntools = [\"Bash(git add, git commit)\"]\n",
        ),
        ("session.tools", "Read Bash", "[session]\ntools = [\"Read\", \"Bash\"]\n"),
        ("skills.disable", "a, b", "[skills]\ndisable = [\"a\", \"b\"]\n"),
        ("skills.disable", "\"a\"", "[skills]\ndisable = [\"a\"]\n"),
    ] {
        assert_eq!(set("", key, Some(value)).unwrap(), after, "{value}");
    }
    let error = set("", "skills.disable", Some("\"a\", \"b\"")).unwrap_err();
    assert!(error.to_string().contains("names with quotes are written as a list"), "{error}");
    // A line break does not add another key.
    for value in ["3\nskip = []", "3\n[session]\nplain = true"] {
        let error = set("", "scan.depth", Some(value)).unwrap_err();
        assert!(error.to_string().contains("scan.depth: a number is wanted"), "{error}");
    }
}

#[test]
fn a_wrong_value_says_what_is_wanted_and_a_wrong_file_says_its_line() {
    for (key, value, message) in [
        ("scan.depth", "deep", "scan.depth: a number is wanted"),
        ("scan.depth", "-1", "scan.depth: a number is wanted"),
        ("scan.nested", "yes", "scan.nested: true or false is wanted"),
        ("skills.disable", "[a", "skills.disable: a list of names is wanted"),
        ("skills.disable", "[1]", "skills.disable: a text is wanted"),
        ("skills.strict", "hard", "skills.strict: no such profile: hard"),
        ("check.levels.name-to-long", "off", "check.levels.name-to-long: no such rule: name-to-long"),
        ("skills.sources", "x", "skills.sources: a list of tables is wanted"),
        ("check.levels", "off", "check.levels: a table is wanted"),
    ] {
        let error = set("", key, Some(value)).unwrap_err();
        assert!(error.to_string().starts_with(&format!("this value cannot be set: {message}")), "{error}");
    }
    let error = set("[scan\n", "scan.depth", Some("1")).unwrap_err();
    assert!(error.to_string().contains("/p/prowess.toml:1: "), "{error}");
    let error = set("mood = 1\n", "scan.depth", Some("1")).unwrap_err();
    assert!(error.to_string().ends_with("no such key: mood"), "{error}");
    // A mistake is mended by setting its own key.
    assert_eq!(set("[scan]\ndepth = 'x'\n", "scan.depth", Some("1")).unwrap(), "[scan]\ndepth = 1\n");
    let large = format!("# {}\n", "x".repeat(MAX_CONFIG_BYTES - 10));
    assert!(matches!(set(&large, "scan.depth", Some("1")), Err(ConfigSetError::File(_))));
}
