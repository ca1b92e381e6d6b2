//! `prowess config`: what is in force, where it comes from, and what setting a key changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::schemas::assert_fits;
use crate::shelf::{command, json_of, output, run};
use crate::{GOOD, Place, code, skipped};

const USER: &str = "config/prowess/prowess.toml";

/// A user and a project that set some of the same keys.
fn place() -> Place {
    Place::with(&[
        (USER, "# mine\n[scan]\ndepth = 2 # two\n\n[skills]\ndisable = ['draft-*']\n"),
        (
            "prowess.toml",
            "[check]\nprofile = 'anthropic'\n[scan]\ndepth = 1\n[skills]\ndisable = ['good']\n\
             duplicates = 'last'\n[session]\ntools = ['Read']\nplain = true\n",
        ),
        ("home/.claude/skills/good/SKILL.md", GOOD),
    ])
}

#[test]
fn every_key_is_shown_with_its_value_and_where_it_comes_from() {
    let place = place();
    assert_snapshot!(run(&place, &["config", "--strict", "spec"]), @r#"
    exit 0
    --- stdout
    your own file: [DIR]/config/prowess/prowess.toml
    file of the project: [DIR]/prowess.toml (not trusted)

    check.profile  "anthropic"  project, line 2
    check.levels  those of the profile  default
    check.paths  none  default
    skills.enable  every skill  default
    skills.disable  ["draft-*"]  your own file, line 6
    skills.disable  ["good"]  project, line 6, for its own skills
    skills.strict  "spec"  --strict
    skills.duplicates  "first"  default
    skills.sources  none  default
    scan.depth  2  your own file, line 3
    scan.nested  true  default
    scan.skip  none  default
    session.filter  every skill  default
    session.tools  no limit  default
    session.plain  false  default
    session.inline  false  default
    session.location  false  default
    session.max_activation_bytes  4194304  default
    session.max_kept_bytes  8388608  default
    install.registries  https://github.com/{org}/{name}.git  default

    without effect:
    skills.duplicates  "last"  project, line 7: the project is not trusted
    scan.depth  1  project, line 4, for its own skills: your own file has precedence
    session.tools  ["Read"]  project, line 9: the project is not trusted
    session.plain  true  project, line 10: it counts only in your own file
    "#);
    let report = json_of(&place, &["config", "--json"]);
    assert_fits("config", &report);
    let keys: Vec<&str> =
        report["settings"].as_array().unwrap().iter().map(|one| one["key"].as_str().unwrap()).collect();
    for (table, key) in prowess::internal::config_keys() {
        assert!(keys.contains(&&*format!("{}.{}", table.name, key.name)), "{}", key.name);
    }
    run(&place, &["trust", "--yes"]);
    let trusted = json_of(&place, &["config", "--json"]);
    let reasons: Vec<&str> =
        trusted["unused"].as_array().unwrap().iter().map(|one| one["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["overridden", "only-in-own-file"]);
}

#[test]
fn a_key_is_set_in_the_users_file_and_comments_and_order_stay() {
    let place = place();
    let read = |file: &str| fs::read_to_string(place.path().join(file)).unwrap();
    assert_snapshot!(run(&place, &["config", "set", "scan.depth", "3"]), @"
    exit 0
    --- stdout
    set: scan.depth = 3: [DIR]/config/prowess/prowess.toml
    ");
    assert_snapshot!(run(&place, &["config", "set", "skills.enable", "pdf-*, mail"]), @r#"
    exit 0
    --- stdout
    set: skills.enable = ["pdf-*", "mail"]: [DIR]/config/prowess/prowess.toml
    "#);
    assert_snapshot!(read(USER), @r#"
    # mine
    [scan]
    depth = 3 # two

    [skills]
    disable = ['draft-*']
    enable = ["pdf-*", "mail"]
    "#);
    assert_snapshot!(run(&place, &["config", "get", "skills.enable"]), @r#"
    exit 0
    --- stdout
    ["pdf-*", "mail"]
    "#);
    assert_snapshot!(run(&place, &["config", "unset", "skills.enable"]), @"
    exit 0
    --- stdout
    no longer set: skills.enable: [DIR]/config/prowess/prowess.toml
    ");
    assert_snapshot!(run(&place, &["config", "unset", "skills.enable"]), @"
    exit 0
    --- stdout
    it is not set: skills.enable: [DIR]/config/prowess/prowess.toml
    ");
    assert_eq!(read(USER), "# mine\n[scan]\ndepth = 3 # two\n\n[skills]\ndisable = ['draft-*']\n");
    assert_snapshot!(run(&place, &["config", "get", "skills.enable"]), @"
    exit 0
    --- stderr
    not set: skills.enable; the default is: every skill
    ");
    let before = read("prowess.toml");
    assert_snapshot!(run(&place, &["config", "set", "session.filter", "a/*", "--project"]), @r#"
    exit 0
    --- stdout
    set: session.filter = "a/*": [DIR]/prowess.toml
    --- stderr
    it has no effect now: the project is not trusted; trust it with: prowess trust
    "#);
    assert_eq!(read("prowess.toml"), before.replace("plain = true\n", "plain = true\nfilter = \"a/*\"\n"));
    for args in [
        &["config", "set", "scan.depth", "4", "--json"][..],
        &["config", "unset", "scan.depth", "--json"],
        &["config", "get", "scan.depth", "--json"],
        &["config", "path", "--json"],
        &["config", "path", "--project", "--json"],
    ] {
        assert_fits("config", &json_of(&place, args));
    }
}

#[test]
fn a_key_that_is_unknown_or_without_effect_is_refused_with_what_to_write() {
    let place = place();
    let before = fs::read(place.path().join(USER)).unwrap();
    assert_snapshot!(run(&place, &["config", "set", "scan.dept", "3"]), @"
    exit 2
    --- stderr
    error: no such key: scan.dept
      hint: did you mean scan.depth? list the keys with: prowess config
    ");
    assert_snapshot!(run(&place, &["config", "get", "disable"]), @"
    exit 2
    --- stderr
    error: no such key: disable
      hint: did you mean skills.disable? list the keys with: prowess config
    ");
    assert_snapshot!(run(&place, &["config", "set", "--project", "check.levels.name-to-long", "off"]), @"
    exit 2
    --- stderr
    error: this value cannot be set: check.levels.name-to-long: no such rule: name-to-long; did you mean name-too-long?
      hint: list the rules with: prowess rule
    ");
    assert_snapshot!(run(&place, &["config", "set", "scan.depth", "deep"]), @"
    exit 2
    --- stderr
    error: this value cannot be set: scan.depth: a number is wanted
      hint: write it as digits, such as 6
    ");
    assert_snapshot!(run(&place, &["config", "set", "check.profile", "plugin"]), @"
    exit 2
    --- stderr
    error: this key counts only in the file of a project: check.profile
      hint: set it there with: prowess config set --project check.profile plugin
    ");
    assert_snapshot!(run(&place, &["config", "set", "session.plain", "true", "--project"]), @"
    exit 2
    --- stderr
    error: this key counts only in your own file: session.plain
      hint: set it there with: prowess config set --user session.plain true
    ");
    assert_eq!(fs::read(place.path().join(USER)).unwrap(), before);
    let report = json_of(&place, &["config", "set", "--json", "nope", "1"]);
    assert_eq!(report["error"]["message"], "no such key: nope");
}

#[test]
fn a_file_that_cannot_be_edited_is_left_alone() {
    let place = place();
    let user = place.path().join(USER);
    let set = || run(&place, &["config", "set", "scan.depth", "3"]);
    for (text, reason) in [
        (&b"[scan\n"[..], "prowess.toml:1: "),
        (b"[scan]\ndepth = 2\nmood = 1\n", "prowess.toml:3: no such key: scan.mood"),
        (b"[scan]\n# \xff\ndepth = 2\n", "the configuration is not UTF-8: "),
        (&vec![b'#'; 2_000_000][..], "too large"),
    ] {
        fs::write(&user, text).unwrap();
        let said = set();
        assert!(said.starts_with("exit 2") && said.contains(reason), "{said}");
        assert!(said.contains("hint: "), "{said}");
        assert_eq!(fs::read(&user).unwrap(), text);
    }
    // What is wrong is set right by setting it.
    fs::write(&user, "[scan]\ndepth = 'x'\n").unwrap();
    assert!(run(&place, &["config"]).starts_with("exit 2"));
    assert!(set().starts_with("exit 0"));
    assert_eq!(fs::read_to_string(&user).unwrap(), "[scan]\ndepth = 3\n");
    fs::remove_file(&user).unwrap();
    fs::create_dir(&user).unwrap();
    let said = set();
    assert!(said.starts_with("exit 2") && said.contains("hint: "), "{said}");
    let nowhere = place.command().args(["config", "set", "scan.depth", "3"]).output().unwrap();
    assert_snapshot!(place.transcript(&nowhere), @"
    exit 2
    --- stderr
    error: there is no place for your own file
      hint: set HOME or XDG_CONFIG_HOME
    ");
}

#[test]
fn a_link_stays_a_link_and_one_of_a_project_does_not_lead_out_of_it() {
    let place = place();
    let user = place.path().join(USER);
    fs::rename(&user, place.path().join("dotfiles.toml")).unwrap();
    symlink("../../dotfiles.toml", &user).unwrap();
    assert_snapshot!(run(&place, &["config", "set", "scan.depth", "3"]), @"
    exit 0
    --- stdout
    set: scan.depth = 3: [DIR]/config/prowess/prowess.toml
    --- stderr
    the file is a link, and stays one; its target was changed: [DIR]/dotfiles.toml
    ");
    assert!(user.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(place.path().join("dotfiles.toml")).unwrap().contains("depth = 3 # two"));
    place.write("project/.git/HEAD", b"");
    symlink("../config/prowess/prowess.toml", place.path().join("project/prowess.toml")).unwrap();
    let mut within = command(&place);
    within.current_dir(place.path().join("project"));
    let said = within.args(["config", "set", "scan.depth", "9", "--project"]).output().unwrap();
    assert_snapshot!(place.transcript(&said), @"
    exit 2
    --- stderr
    error: a link leads out of the project: [DIR]/project/prowess.toml: [DIR]/dotfiles.toml
      hint: edit the target of the link itself; nothing was changed
    ");
    fs::remove_file(&user).unwrap();
    symlink("nowhere.toml", &user).unwrap();
    let said = run(&place, &["config", "set", "scan.depth", "3"]);
    assert!(said.starts_with("exit 2") && said.contains("hint: "), "{said}");
}

#[test]
fn a_read_only_file_is_left_alone_and_a_read_only_home_is_named() {
    let place = place();
    let program = place.path().join("prowess");
    fs::copy(env!("CARGO_BIN_EXE_prowess"), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for folder in ["", "config/prowess"] {
        fs::set_permissions(place.path().join(folder), fs::Permissions::from_mode(0o755)).unwrap();
    }
    // Permissions do not bind root, so the command runs as the user nobody, who owns nothing here.
    let mut other_user = Command::new("setpriv");
    other_user.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
    other_user.arg(&program).args(["config", "set", "scan.depth", "3"]).current_dir(place.path()).env_clear();
    other_user.env("XDG_CONFIG_HOME", place.path().join("config")).env("HOME", place.path().join("home"));
    let output = match other_user.stdin(Stdio::null()).output() {
        Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("setpriv:") => output,
        _ => return skipped("setpriv cannot run here, or this is not root"),
    };
    assert_snapshot!(place.transcript(&output), @"
    exit 2
    --- stderr
    error: could not change the configuration
      cause: the file is read-only, so it is left alone: [DIR]/config/prowess/prowess.toml
      hint: make the file writable for this user, or leave it out
    ");
}

#[test]
fn keys_that_are_set_at_the_same_time_are_all_set() {
    let place = Place::with(&[]);
    let rules: Vec<&str> =
        prowess::check::rules().filter(|rule| !rule.refuses()).map(|rule| rule.code).take(12).collect();
    let children: Vec<_> = rules
        .iter()
        .map(|rule| {
            let key = format!("check.levels.{rule}");
            let mut child = command(&place);
            child.args(["config", "set", &key, "info", "--project"]).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let levels = json_of(&place, &["config", "get", "check.levels", "--json"]);
    assert_eq!(levels["settings"][0]["value"].as_object().unwrap().len(), rules.len(), "{levels}");
}

#[test]
fn settings_of_a_project_that_have_no_effect_are_said() {
    let place = place();
    let said = String::from_utf8(output(&place, &["list"]).stderr).unwrap();
    assert_snapshot!(said.replace(&*place.path().to_string_lossy(), "[DIR]"), @"
    the project is not trusted, so these settings have no effect: skills.duplicates, session.tools in [DIR]/prowess.toml; trust it with: prowess trust
    ");
    assert_eq!(code(&output(&place, &["list"])), 0);
    for args in [&["prompt"][..], &["search", "do"], &["why", "good"], &["tools"], &["activate", "good"]] {
        let said = String::from_utf8(output(&place, args).stderr).unwrap();
        assert_eq!(
            said.matches("the project is not trusted, so these settings").count(),
            1,
            "{args:?}: {said}"
        );
    }
    let troubles = json_of(&place, &["doctor", "--json"]);
    let ignored: Vec<&Value> = troubles["troubles"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["kind"] == "config-ignored")
        .collect();
    let whats: Vec<&str> = ignored.iter().map(|one| one["what"].as_str().unwrap()).collect();
    assert_eq!(whats.len(), 2, "{whats:?}");
    run(&place, &["trust", "--yes"]);
    place.write("prowess.toml", b"[session]\ntools = ['Read']\n");
    assert_eq!(output(&place, &["list"]).stderr, b"");
}

#[test]
fn a_project_that_turns_off_a_skill_of_the_user_is_told_that_it_cannot() {
    let place = Place::with(&[
        ("project/prowess.toml", "[skills]\ndisable = ['g*']\n[[skills.sources]]\nurl = 'https://x.test'\n"),
        ("project/.git/HEAD", ""),
        ("home/.claude/skills/good/SKILL.md", GOOD),
    ]);
    let said = command(&place).arg("list").current_dir(place.path().join("project")).output().unwrap();
    // A site that waits for trust is reported by itself.
    assert_snapshot!(place.transcript(&said), @r"
    exit 2
    --- stdout
    good  Does it well when asked.

    1 skill
    --- stderr
    error: this site is named by a project that is not trusted, and was not asked: https://x.test
      hint: trust the project's folder with: prowess trust
    a project turns off only its own skills, so skills.disable in [DIR]/project/prowess.toml leaves these: good
    ");
    let doctor =
        command(&place).args(["doctor", "--json"]).current_dir(place.path().join("project")).output();
    let report: Value = serde_json::from_slice(&doctor.unwrap().stdout).unwrap();
    let ignored = report["troubles"].as_array().unwrap().iter();
    let ignored: Vec<&Value> = ignored.filter(|one| one["kind"] == "config-ignored").collect();
    assert_eq!(ignored.len(), 2, "{ignored:#?}");
    assert!(
        ignored.iter().any(|one| one["what"].as_str().unwrap().ends_with("leaves these: good")),
        "{ignored:#?}"
    );
}

#[test]
fn a_broken_file_of_a_project_is_named_and_the_rest_is_shown() {
    let place = place();
    place.write("prowess.toml", b"[skils]\n");
    let output = output(&place, &["config", "--json"]);
    assert_eq!(code(&output), 2);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_fits("config", &report);
    assert!(report["project"]["error"].as_str().unwrap().ends_with("no such key: skils"));
    let depth = report["settings"].as_array().unwrap().iter().find(|one| one["key"] == "scan.depth").unwrap();
    assert_eq!((&depth["value"], &depth["origin"]), (&json!(2), &json!("user")));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("hint: did you mean skills?"), "{said}");
}

#[test]
fn a_registry_from_which_nothing_can_be_installed_is_refused() {
    let place = place();
    for (key, value) in [
        ("install.registries.acme", "foo"),
        ("install.registries.acme", "@acme/x"),
        ("install.registries.'a b'", "https://git.example/{org}/{name}.git"),
    ] {
        let said = run(&place, &["config", "set", key, value]);
        assert!(said.starts_with("exit 2\n") && said.contains("write an address such as"), "{value}: {said}");
    }
    let said =
        run(&place, &["config", "set", "install.registries.acme", "https://git.example/{org}/{name}.git"]);
    assert!(said.starts_with("exit 0\n"), "{said}");
}

#[test]
fn an_address_with_a_password_cannot_be_set() {
    let place = Place::with(&[]);
    for value in [
        r#"[{url="https://u:secretpw@h.example/?token=abc"}]"#,
        r#"[{mcp="https://secretpw@h.example/mcp"}]"#,
    ] {
        let said = run(&place, &["config", "set", "skills.sources", value]);
        assert!(said.starts_with("exit 2") && said.contains("an address has a user or a password"), "{said}");
        assert!(!said.contains("secretpw") && !place.path().join("config/prowess/prowess.toml").exists());
    }
    let said = run(&place, &["config", "set", "skills.sources", r#"[{url="https://h.example/a@b"}]"#]);
    assert!(said.starts_with("exit 0"), "{said}");
    // One that is there keeps no other key from being set.
    let file = "config/prowess/prowess.toml";
    place.write(file, b"[[skills.sources]]\nurl = \"https://u:secretpw@h.example/\"\n");
    let said = run(&place, &["config", "set", "skills.duplicates", "first"]);
    assert!(said.starts_with("exit 0"), "{said}");
}
