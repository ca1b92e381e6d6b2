//! What `prowess connect` and `disconnect` refuse, and say about clients that share a file.

use std::fs;
use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use crate::Place;
use crate::shelf::{command, run};

const CURSOR: &str = "home/.cursor/mcp.json";

/// A project with a skill for each of two clients.
fn project() -> Place {
    Place::with(&[
        ("work/.git/x", ""),
        ("work/.claude/skills/cl/SKILL.md", "---\nname: cl\ndescription: One.\n---\n"),
        ("work/.agents/skills/ag/SKILL.md", "---\nname: ag\ndescription: Two.\n---\n"),
    ])
}

fn there(place: &Place, args: &[&str]) -> String {
    let output = command(place).args(args).current_dir(place.path().join("work")).output().unwrap();
    place.transcript(&output)
}

fn entry(place: &Place) -> Option<String> {
    fs::read_to_string(place.path().join("work/.mcp.json")).ok()
}

#[test]
fn a_client_does_not_take_the_entry_of_another_that_reads_the_same_file() {
    let place = project();
    let said = there(&place, &["connect", "claude-code", "--project", "--write"]);
    assert!(said.contains("GitHub Copilot CLI reads this file too, and gets the same server\n"), "{said}");
    let before = entry(&place);
    assert_snapshot!(there(&place, &["connect", "github-copilot", "--project", "--write"]), @"
    exit 2
    --- stderr
    error: another client uses this entry: claude-code: [DIR]/work/.mcp.json
      hint: serve every skill to both with --all, or take its place with --overwrite
    ");
    assert_snapshot!(there(&place, &["disconnect", "github-copilot", "--project", "--write"]), @"
    exit 2
    --- stderr
    error: another client uses this entry: claude-code: [DIR]/work/.mcp.json
      hint: remove it for both with --overwrite, or disconnect the other client with: prowess disconnect claude-code --project
    ");
    assert_eq!(entry(&place), before);
    // An entry that serves every skill is for both, and is not narrowed to one of them.
    let said = there(&place, &["connect", "github-copilot", "--project", "--all", "--write"]);
    assert!(said.starts_with("exit 0\n"), "{said}");
    assert!(!entry(&place).unwrap().contains("--not-read-by"));
    let said = there(&place, &["connect", "claude-code", "--project", "--write"]);
    assert!(said.contains("error: another client uses this entry: github-copilot"), "{said}");
    let said = there(&place, &["disconnect", "claude-code", "--project", "--write"]);
    assert!(said.contains("GitHub Copilot CLI reads this file too, and loses the server\n"), "{said}");
    assert_eq!(entry(&place), None);
    // It can be taken on purpose.
    there(&place, &["connect", "claude-code", "--project", "--write"]);
    there(&place, &["connect", "github-copilot", "--project", "--overwrite", "--write"]);
    assert!(entry(&place).unwrap().contains("\"github-copilot\""));
    there(&place, &["disconnect", "github-copilot", "--project", "--write"]);
    assert_eq!(entry(&place), None);
}

#[test]
fn a_comment_in_a_table_that_connect_made_stays() {
    let zed = "config/zed/settings.json";
    let place = Place::with(&[(zed, "{\"a\":1}\n")]);
    for (text, rest) in [("{\"a\":1}\n", "// why\n"), ("{\n  \"a\": 1\n}\n", "/* why */")] {
        place.write(zed, text.as_bytes());
        run(&place, &["connect", "zed", "--write"]);
        let connected = fs::read_to_string(place.path().join(zed)).unwrap();
        place.write(zed, connected.replacen("\"prowess\"", &format!("{rest}\"prowess\""), 1).as_bytes());
        let said = run(&place, &["disconnect", "zed", "--write"]);
        assert!(said.starts_with("exit 0\n"), "{said}");
        let left = fs::read_to_string(place.path().join(zed)).unwrap();
        assert!(left.contains(rest.trim_end()) && !left.contains("prowess"), "{left}");
    }
}

#[test]
fn the_hint_of_a_refusal_can_be_run_as_printed() {
    let place = Place::with(&[(CURSOR, "{\"mcpServers\": []}")]);
    let said = run(&place, &["connect", "cursor", "--write"]);
    let (_, printed) = said.trim_end().rsplit_once("by the text of: prowess ").unwrap();
    let words: Vec<&str> = printed.split(' ').collect();
    let ran = run(&place, &words);
    assert!(ran.starts_with("exit 0\n") && ran.contains("--not-read-by"), "{printed}\n{ran}");
}

#[test]
fn a_link_that_leads_nowhere_is_named_with_its_target() {
    let place = Place::with(&[("home/x", "")]);
    fs::create_dir(place.path().join("home/.cursor")).unwrap();
    symlink("nowhere.json", place.path().join(CURSOR)).unwrap();
    symlink("gone", place.path().join("home/.codex")).unwrap();
    assert_snapshot!(run(&place, &["connect", "cursor", "--write"]), @"
    exit 2
    --- stderr
    error: the configuration is a link that leads nowhere: [DIR]/home/.cursor/mcp.json: nowhere.json
      hint: create what it leads to, or remove the link; nothing was changed
    ");
    assert_snapshot!(run(&place, &["connect", "codex", "--write"]), @"
    exit 2
    --- stderr
    error: the configuration is a link that leads nowhere: [DIR]/home/.codex: gone
      hint: create what it leads to, or remove the link; nothing was changed
    ");
}

#[test]
fn a_link_out_of_a_project_is_refused_before_its_target_exists_and_after() {
    let place = project();
    fs::create_dir(place.path().join("out")).unwrap();
    for (file, args) in [
        (".mcp.json", &["connect", "claude-code", "--project", "--write"][..]),
        ("prowess.toml", &["config", "set", "--project", "scan.depth", "3"]),
    ] {
        let target = place.path().join("out").join(file);
        symlink(&target, place.path().join("work").join(file)).unwrap();
        let before = there(&place, args);
        assert!(before.contains("error: a link leads out of the project: "), "{before}");
        fs::write(&target, "").unwrap();
        assert_eq!(there(&place, args), before);
        assert_eq!(fs::read_to_string(&target).unwrap(), "");
    }
}

#[test]
fn an_address_that_no_server_can_have_is_refused() {
    let place = Place::with(&[]);
    for url in ["http://127.0.0.1:99999/mcp", "http://box:x/mcp", "http://a b/mcp", "http:///mcp"] {
        let said = run(&place, &["connect", "zed", "--url", url]);
        assert!(said.starts_with("exit 2\n") && said.contains("give an address such as"), "{url}: {said}");
    }
    let said = run(&place, &["connect", "zed", "--url", "https://user:secret@box.example/mcp"]);
    assert!(said.starts_with("exit 2\n") && said.contains("leave out the name and the password"), "{said}");
    for (url, warns) in [("http://127.0.0.1:7878", true), ("http://[::1]:1/", true), ("http://a/x", false)] {
        let said = run(&place, &["connect", "zed", "--url", url]);
        assert_eq!(said.contains("warning: the address has no path"), warns, "{url}: {said}");
    }
}

#[test]
fn a_path_that_is_not_utf8_is_refused_before_anything_is_written() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let place = project();
    let bad = OsStr::from_bytes(b"bad\xff");
    let skill = place.path().join("work").join(bad).join("s");
    fs::create_dir_all(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), "---\nname: s\ndescription: One.\n---\n").unwrap();
    let run = |args: &[&OsStr], folder: &OsStr| {
        let folder = place.path().join("work").join(folder);
        place.transcript(&command(&place).args(args).current_dir(folder).output().unwrap())
    };
    let [connect, cursor, serve, print, source, write] =
        ["connect", "cursor", "serve", "--print-config", "--in", "--write"].map(OsStr::new);
    let (here, inside) = (OsStr::new("."), OsStr::new("s"));
    for (args, folder) in [
        (&[connect, cursor, source, bad, write][..], here),
        (&[connect, cursor, source, bad], here),
        (&[serve, source, bad, print, cursor], here),
        // A relative path in such a folder becomes an absolute one.
        (&[connect, cursor, source, inside, write], bad),
    ] {
        let said = run(args, folder);
        assert!(said.starts_with("exit 2\n"), "{said}");
        assert!(said.contains("a configuration cannot name this path, which is not UTF-8: "), "{said}");
    }
    assert!(!place.path().join(CURSOR).exists());
}

#[test]
fn a_variable_in_a_source_is_written_as_its_value_or_refused() {
    let place = project();
    place.write("home/sk/plan/SKILL.md", b"---\nname: plan\ndescription: One.\n---\n");
    let written = place.path().join("home/sk");
    let written = format!("\"{}\"", written.display());
    for source in ["${HOME}/sk", "${NOPE:-~/sk}", "dir=${HOME}/sk"] {
        let said = there(&place, &["connect", "cursor", "--in", source, "--write"]);
        assert!(said.starts_with("exit 0\n") && said.contains("it serves 1 skill: plan"), "{said}");
        let entry = fs::read_to_string(place.path().join(CURSOR)).unwrap();
        assert!(entry.contains(&written), "{entry}");
        let said = there(&place, &["serve", "--in", source, "--print-config", "cursor"]);
        assert!(said.contains("\"[DIR]/home/sk\""), "{said}");
        fs::remove_file(place.path().join(CURSOR)).unwrap();
    }
    for args in [
        &["connect", "cursor", "--in", "${NOPE}/sk", "--write"][..],
        &["serve", "--in=${NOPE}/sk", "--print-config", "cursor"],
    ] {
        let said = there(&place, args);
        assert!(said.starts_with("exit 2\n") && said.contains("set it to an absolute path"), "{said}");
    }
    assert!(!place.path().join(CURSOR).exists());
}

#[test]
fn a_file_of_one_long_line_is_shown_without_what_others_have_in_it() {
    let others = format!(
        "\"other\":{{\"command\":\"x\",\"env\":{{\"TOKEN\":\"sk-secret\",\"more\":\"{}\"}}}}",
        "x".repeat(9000)
    );
    let place = Place::with(&[(CURSOR, &format!("{{\"mcpServers\":{{{others}}},\"z\":1}}"))]);
    for args in [&["connect", "cursor"][..], &["connect", "cursor", "--json"]] {
        let said = run(&place, args);
        assert!(said.starts_with("exit 0\n") && said.len() < 4000, "{said}");
        assert!(said.contains("serve") && !said.contains("sk-secret"), "{said}");
    }
}

#[test]
fn an_output_that_cannot_be_written_does_not_hide_that_the_file_was_changed() {
    let full = |place: &Place, args: &[&str]| {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command(place).args(args).stdout(full).output().unwrap();
        place.transcript(&output)
    };
    let place = project();
    for verb in ["connect", "disconnect"] {
        let said = full(&place, &[verb, "cursor", "--write"]);
        assert!(said.starts_with("exit 2\n"), "{said}");
        assert!(said.contains("hint: the configuration was changed: [DIR]/home/.cursor/mcp.json"), "{said}");
    }
}
