//! Tests of reading `allowed-tools`: separators, parentheses, patterns, and what each grants.

use proptest::prelude::*;

use super::*;

fn raws(list: &ToolList) -> Vec<&str> {
    list.grants.iter().map(|grant| grant.raw.as_str()).collect()
}

#[test]
fn all_ways_of_writing_give_the_same_tools() {
    for (text, form) in [
        ("Read Bash(git add:*) mcp__github__list-issues", ToolForm::Spaces),
        ("Read, Bash(git add:*),mcp__github__list-issues,", ToolForm::Commas),
        ("Read\nBash(git add:*)\r\n  mcp__github__list-issues\n", ToolForm::Lines),
        ("Read,\nBash(git add:*),\nmcp__github__list-issues", ToolForm::Commas),
        ("Read, Bash(git add:*) mcp__github__list-issues", ToolForm::Mixed),
    ] {
        let list = ToolList::parse(text);
        assert_eq!(raws(&list), ["Read", "Bash(git add:*)", "mcp__github__list-issues"], "{text}");
        assert_eq!((list.form, list.raw.as_str()), (form, text));
        assert_eq!(list.to_spec_string(), "Read Bash(git add:*) mcp__github__list-issues");
        assert!(list.grants.iter().all(|grant| grant.balanced));
    }
    let list = ToolList::from_items(["Bash(git add:*)", "Read, Write", ""]);
    assert_eq!(raws(&list), ["Bash(git add:*)", "Read", "Write"]);
    assert_eq!((list.form, list.raw.as_str()), (ToolForm::List, "Bash(git add:*) Read, Write "));
    for empty in ["", " , \n"] {
        assert!(ToolList::parse(empty).is_empty());
    }
}

#[test]
fn parentheses_keep_a_token_together() {
    for (text, expected) in [
        ("Bash(npm run build, npm test) Read", vec!["Bash(npm run build, npm test)", "Read"]),
        ("Bash(a (b, c) d) Read", vec!["Bash(a (b, c) d)", "Read"]),
        ("Bash(say don't) Read(what's)", vec!["Bash(say don't)", "Read(what's)"]),
        ("Bash(echo \" x) Read", vec!["Bash(echo \" x)", "Read"]),
        ("Bash(echo \" x)\nRead(\"y\")", vec!["Bash(echo \" x)", "Read(\"y\")"]),
        ("Bash()", vec!["Bash()"]),
    ] {
        let list = ToolList::parse(text);
        assert_eq!(raws(&list), expected);
        assert!(list.grants.iter().all(|grant| grant.balanced), "{text}");
    }
}

#[test]
fn what_cannot_be_read_with_certainty_is_kept_and_grants_nothing() {
    for (text, expected) in [
        ("Read Bash(git add:*, Write \n", vec![("Read", true), ("Bash(git add:*, Write", false)]),
        ("Read) Write", vec![("Read)", false), ("Write", true)]),
        ("Bash(*)) Write", vec![("Bash(*))", false), ("Write", true)]),
        ("Bash(*)Read Write", vec![("Bash(*)Read", false), ("Write", true)]),
        ("Bash(*)(a b)", vec![("Bash(*)(a b)", false)]),
        ("Bash (git:*) Read", vec![("Bash", false), ("(git:*)", false), ("Read", true)]),
        (r#"Bash(echo ")") Read"#, vec![(r#"Bash(echo ")")"#, false), ("Read", true)]),
        ("Read(*) (x)", vec![("Read(*)", true), ("(x)", false)]),
    ] {
        let list = ToolList::parse(text);
        let found: Vec<_> = list.grants.iter().map(|grant| (grant.raw.as_str(), grant.balanced)).collect();
        assert_eq!(found, expected, "{text}");
        for grant in list.grants.iter().filter(|grant| !grant.balanced) {
            assert!(!grant.matches(&grant.name, None) && !grant.matches(&grant.name, Some("git add:*")));
        }
    }
    assert!(!ToolList::from_items(["Bash", "(git:*)"]).allows("Bash", Some("rm")));
    assert_eq!(ToolList::parse("Bash (git:*)").base_names(), ["Bash"]);
    assert!(ToolList::parse("Bash (git:*)").missing_from(&["Bash"]).is_empty());
}

#[test]
fn names() {
    for (grant, tool, expected) in [
        ("Bash", "bash", true),
        ("Bash(git:*)", "BASH", true),
        ("Bash", "BashOutput", false),
        ("mcp__github__list-issues", "mcp__github__list-issues", true),
        ("mcp__github__list-issues", "mcp__github__list", false),
        ("mcp__github__*", "mcp__github__list-issues", true),
        ("mcp__github__*", "mcp__gitlab__list-issues", false),
        ("mcp__github__list-*", "MCP__GitHub__List-Issues", true),
        ("mcp__github", "mcp__github__list-issues", true),
        ("mcp__github", "mcp__github", true),
        ("mcp__github", "mcp__github2__x", false),
        ("mcp__github__issues", "mcp__github__issues__x", false),
        ("mcp__", "mcp____x", false),
        ("Read", "Read__x", false),
        ("*", "Anything", true),
        ("é", "mcp__x", false),
    ] {
        assert_eq!(ToolGrant::new(grant, true).names(tool), expected, "{grant} names {tool}");
    }
}

#[test]
fn patterns() {
    for (grant, argument, expected) in [
        ("Bash", "rm -rf /", true),
        ("Bash(*)", "a; b", true),
        ("Bash(git:*)", "git", true),
        ("Bash(git:*)", "git status", true),
        ("Bash(git:*)", "git\tstatus", true),
        ("Bash(git:*)", "gitk", false),
        ("Bash(git:*)", "git-evil", false),
        ("Bash(git:*)", " git", false),
        ("Bash(git:*)", "Git status", false),
        ("Bash(git *)", "git", true),
        ("Bash(git *)", "git status", true),
        ("Bash(git *)", "gitk", false),
        ("Bash(git*)", "gitk", true),
        ("Bash(git add:*)", "git add .", true),
        ("Bash(git add:*)", "git push", false),
        ("Bash(npm run test:*)", "npm run test:unit", true),
        ("Bash(npm test)", "npm test", true),
        ("Bash(npm test)", "npm test --all", false),
        ("Bash(git * main)", "git push origin main", true),
        ("Bash(git * main)", "git push origin main2", false),
        ("Bash(* --version)", "cargo --version", true),
        ("Bash(npm run build, npm test)", "npm run build, npm test", true),
        ("Bash()", "", true),
        ("Bash()", "x", false),
        // A star never covers the start of another command.
        ("Bash(git:*)", "git status; rm -r .", false),
        ("Bash(git:*)", "git status && rm", false),
        ("Bash(git:*)", "git log | sh", false),
        ("Bash(git:*)", "git log\nrm", false),
        ("Bash(git:*)", "git log > ~/.bashrc", false),
        ("Bash(git:*)", "git add $(rm x)", false),
        ("Bash(git:*)", "git add `rm x`", false),
        ("Bash(git:*)", "git;rm", false),
        ("run_command(git:*)", "git; rm", false),
        ("Bash(cd x && npm *)", "cd x && npm test", true),
        ("Bash(cd * && npm *)", "cd x && npm test", true),
        ("Bash(cd * && npm *)", "cd x && rm && npm test", false),
        ("Bash(cd * && npm *)", "cd x && npm test && rm", false),
        ("Bash(git commit:*)", "git commit -m 'feat(core): x'", true),
        // Paths.
        ("Read(src/**)", "src/a/b.rs", true),
        ("Read(src/**)", "./src/a.rs", true),
        ("Read(./src/**)", "src/a.rs", true),
        ("Read(src/**)", r"src\a.rs", true),
        ("Read(src/**)", "srcs/a.rs", false),
        ("Read(src/**)", "src/../../etc/passwd", false),
        ("Read(src/**)", r"src\..\..\x", false),
        ("Read(src/*)", "src/a.rs", true),
        ("Read(src/*)", "src/a/b.rs", false),
        ("Read(**/*.md)", "a.md", true),
        ("Read(**/*.md)", "a/b/c.md", true),
        ("Read(**/*.md)", "a/b/c.rs", false),
        ("Read(**/*.md)", "/etc/c.md", false),
        ("Read(**/*.md)", "~/c.md", false),
        ("Read(/etc/*)", "/etc/hosts", true),
        ("Read(/etc/*)", "etc/hosts", false),
        ("Read(/**/b)", "//server/b", false),
        ("Read(~/notes/**)", "~/notes/a.md", true),
        ("Read(~/notes/**)", "~/notes/../.ssh/id", false),
        ("Read(a/**/b/**/c)", "a/x/b/y/b/c", true),
        ("Read(a/**/b/**/c)", "a/x/y/c", false),
        ("Read(../x)", "../x", true),
        ("edit(src/*.rs)", "src/a&b.rs", true),
    ] {
        let list = ToolList::parse(grant);
        let tool = list.grants[0].name.clone();
        assert_eq!(list.allows(&tool, Some(argument)), expected, "{grant} for {argument:?}");
    }
    assert!(ToolList::parse("Bash").allows("Bash", None));
    assert!(ToolList::parse("Bash(*)").allows("Bash", None));
    assert!(!ToolList::parse("Bash(git:*)").allows("Bash", None));
    assert!(!ToolList::parse("").allows("Bash", None));
}

#[test]
fn stars_do_not_explode() {
    let list = ToolList::parse(&format!("Bash({}b)", "*a".repeat(200)));
    assert!(!list.allows("Bash", Some(&"a".repeat(20_000))));
    let list = ToolList::parse(&format!("Read({}c)", "**/a/".repeat(60)));
    assert!(!list.allows("Read", Some(&("a/".repeat(60) + "b"))));
}

#[test]
fn lists() {
    let list = ToolList::parse("Bash(git:*) read Bash(npm:*) Read mcp__github mcp__jira__*");
    assert_eq!(list.base_names(), ["Bash", "read", "mcp__github", "mcp__jira__*"]);
    let missing = |available: &[&str]| {
        list.missing_from(available).iter().map(|grant| grant.raw.clone()).collect::<Vec<_>>()
    };
    assert_eq!(missing(&["bash", "READ", "mcp__github__x"]), ["mcp__jira__*"]);
    assert_eq!(missing(&["bash", "read", "mcp__github__x", "mcp__jira__y"]), [""; 0]);
    assert_eq!(missing(&[]).len(), 6);

    let json = serde_json::to_string(&ToolList::parse("Read, Bash(a, b)")).unwrap();
    assert_eq!(json, r#"["Read","Bash(a, b)"]"#);
    let read = |json| serde_json::from_str::<Option<ToolList>>(json);
    assert_eq!(read(r#""Read, Bash(a, b)""#).unwrap(), Some(ToolList::parse("Read, Bash(a, b)")));
    assert_eq!(read(r#"["Read"]"#).unwrap(), Some(ToolList::from_items(["Read"])));
    assert_eq!(read("null").unwrap(), None);
    assert!(read("[]").unwrap().unwrap().is_empty());
    assert_eq!(
        read("3").unwrap_err().to_string(),
        "invalid type: integer `3`, expected a text or a list of texts at line 1 column 1"
    );
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            "Bash", "Read", "(", "(", ")", ")", " ", ",", "\n", "\"", "'", "*", ":*", "git", "/", "\u{a0}", "é",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::text::testing::many())]

    #[test]
    fn no_character_is_lost(text in texts()) {
        let tokens = tokens(&text);
        let mut depth = 0_usize;
        for (at, char) in text.char_indices() {
            let homes = tokens.iter().filter(|token| (token.start..token.end).contains(&at)).count();
            let at_the_end = at >= text.trim_end().len();
            let separates = is_separator(char) && depth == 0 || at_the_end;
            prop_assert_eq!(homes, usize::from(!separates), "{:?} at {}", char, at);
            match char {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        prop_assert!(tokens.iter().all(|token| text.get(token.start..token.end).is_some()));
        for pair in tokens.windows(2) {
            prop_assert!(pair[0].end < pair[1].start, "a separator is between two tokens");
        }
    }

    #[test]
    fn a_grant_keeps_its_text(text in texts()) {
        for grant in ToolList::parse(&text).grants {
            let pattern = grant.pattern.as_ref().map_or(String::new(), |pattern| format!("({pattern}"));
            let close = if grant.balanced && grant.pattern.is_some() { ")" } else { "" };
            prop_assert_eq!(format!("{}{pattern}{close}", grant.name), grant.raw);
        }
    }

    #[test]
    fn writing_and_reading_again_changes_no_grant(text in texts()) {
        let list = ToolList::parse(&text);
        prop_assert_eq!(&ToolList::parse(&list.to_spec_string()).grants, &list.grants);
        let json = serde_json::to_string(&list).unwrap();
        prop_assert_eq!(&serde_json::from_str::<ToolList>(&json).unwrap().grants, &list.grants);
    }

    #[test]
    fn a_command_pattern_never_grants_a_second_command(head in "[a-z*]{0,4}( |:)?\\*", argument in "[a-z ;&|$>\n]{0,12}") {
        let grant = ToolGrant::new(&format!("Bash({head})"), true);
        if grant.matches("Bash", Some(&argument)) && !matches!(&*head, "*" | "**") {
            prop_assert!(!argument.contains([';', '&', '|', '$', '>', '\n']));
        }
    }

    #[test]
    fn stars_match_as_the_plain_definition_says(pattern in "[ab;*]{0,6}", text in "[ab;]{0,8}") {
        fn plain(pattern: &[u8], text: &[u8]) -> bool {
            match pattern {
                [] => text.is_empty(),
                [b'*', after @ ..] => {
                    plain(after, text) || (!text.is_empty() && text[0] != b';' && plain(pattern, &text[1..]))
                }
                [first, after @ ..] => text.first() == Some(first) && plain(after, &text[1..]),
            }
        }
        let found =
            pattern::wild(pattern.as_bytes(), text.as_bytes(), |b| *b == b'*', u8::eq, |b| *b != b';');
        prop_assert_eq!(found, plain(pattern.as_bytes(), text.as_bytes()));
    }
}
