//! Setting and unsetting keys in texts of every form.

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
    assert_eq!(names, text.replace("[\n  'a', # one\n]", "[\"x\", \"y-*\"]"));
    assert_eq!(set(text, "scan.depth", None).unwrap(), text.replace("depth  =  2   # two\n", ""));
    assert_eq!(set(text, "scan.skip", None).unwrap(), text);
}

#[test]
fn a_new_key_is_inserted_where_its_table_is() {
    for (text, key, value, after) in [
        ("", "scan.depth", "3", "[scan]\ndepth = 3\n"),
        ("# mine\n", "scan.depth", "3", "[scan]\ndepth = 3\n# mine\n"),
        ("[scan]\r\nskip = []\r\n", "scan.depth", "3", "[scan]\r\nskip = []\r\ndepth = 3\r\n"),
        ("[scan]\nskip = []", "scan.depth", "3", "[scan]\nskip = []\ndepth = 3\n"),
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
            "[check]\nprofile = \"plugin\"\n[check.levels]\nname-too-long = 'off'\n",
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
    assert!(matches!(set(&large, "scan.depth", Some("1")), Err(ConfigSetError::Read(_))));
}
