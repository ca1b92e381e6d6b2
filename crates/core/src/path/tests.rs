//! Tests of paths: each rule, what requests may contain, joins, and collisions.

use proptest::prelude::*;

use super::*;

/// The path vectors of the threat model by number, as stored text, with the rule that refuses each.
fn vectors() -> Vec<(u8, String, PathRule)> {
    use PathRule as R;
    let fixed = [
        (1, "../x", R::ParentStep),
        (2, "a/../../x", R::ParentStep),
        (3, "/abs", R::Absolute),
        (4, "~/x", R::Home),
        (4, "~root/x", R::Home),
        (4, "a/~/x", R::Home),
        (5, "..", R::ParentStep),
        (6, ".", R::CurrentStep),
        (7, "", R::Empty),
        (8, "a//b", R::EmptyComponent),
        (8, "a/", R::EmptyComponent),
        (8, "//a", R::Absolute),
        (9, "./x", R::CurrentStep),
        (10, "a/./b", R::CurrentStep),
        (11, r"..\x", R::Backslash),
        (12, r"a\../b", R::Backslash),
        (13, r"C:\x", R::Drive),
        (14, "C:x", R::Drive),
        (14, "a/c:x", R::Drive),
        (15, r"\\server\share", R::Backslash),
        (16, r"\\?\C:\x", R::Backslash),
        (17, r"\\.\pipe\x", R::Backslash),
        (18, "a\0b", R::Control),
        (19, "a\nb", R::Control),
        (19, "a\rb", R::Control),
        (19, "a\u{85}b", R::Control),
        (19, "a\u{2028}b", R::Control),
        (20, "a\x1b[2Jb", R::Control),
        (20, "a\x7fb", R::Control),
        (20, "a\u{9b}2Jb", R::Control),
        (21, "-rf", R::Dash),
        (21, "a/--upload-pack=x", R::Dash),
        (21, "a/\u{ff0d}rf", R::Dash),
        (22, "a.", R::Edge),
        (22, "a./b", R::Edge),
        (22, "...", R::Edge),
        (23, "a ", R::Edge),
        (23, "a /b", R::Edge),
        (23, " a", R::Edge),
        (23, "a\u{a0}", R::Edge),
        (24, "CON", R::ReservedName),
        (24, "docs/aux.md", R::ReservedName),
        (24, "NUL.txt", R::ReservedName),
        (24, "nul .txt", R::ReservedName),
        (24, "prn.tar.gz", R::ReservedName),
        (24, "com1", R::ReservedName),
        (24, "Lpt9.log", R::ReservedName),
        (24, "CONIN$", R::ReservedName),
        (24, "conout$.txt", R::ReservedName),
        (24, "\u{ff23}\u{ff2f}\u{ff2e}", R::ReservedName),
        (25, "COM\u{b9}", R::ReservedName),
        (25, "lpt\u{b3}.txt", R::ReservedName),
        (26, "a.md:evil", R::ReservedCharacter),
        (26, ".git::$INDEX_ALLOCATION", R::ReservedCharacter),
        (26, "a*b", R::ReservedCharacter),
        (26, "what?", R::ReservedCharacter),
        (26, "a\u{f03a}b", R::ReservedCharacter),
        (27, "GIT~1", R::ShortName),
        (27, "a/progr~12.exe", R::ShortName),
        (27, "GIT\u{ff5e}1", R::ShortName),
        (28, ".git", R::Git),
        (28, ".GIT/config", R::Git),
        (28, "a/.Git/hooks/post-checkout", R::Git),
        (28, ".gitmodules", R::Git),
        (28, ".\u{ff47}it", R::Git),
        (28, "\u{2024}git", R::Git),
        (28, ".git\u{2026}", R::Git),
        (28, ".g\u{200c}it", R::Invisible),
        (28, ".git\u{feff}", R::Invisible),
        (28, "a\u{202e}dm.b", R::Invisible),
        (28, "a\u{e0041}", R::Invisible),
        (28, "a\u{ad}b", R::Invisible),
        (35, "\u{ff0e}\u{ff0e}\u{ff0f}x", R::Lookalike),
        (35, "\u{ff0e}\u{ff0e}/x", R::Lookalike),
        (35, "\u{2025}/x", R::Lookalike),
        (35, "\u{2024}", R::Lookalike),
        (35, "a\u{2100}b", R::Lookalike),
        (35, "a\u{ff3c}b", R::Lookalike),
        (35, "a\u{fe68}b", R::Lookalike),
        (36, "%2e%2e%2f", R::PercentEncoded),
        (36, "a%2Fb", R::PercentEncoded),
        (36, "a%5cb", R::PercentEncoded),
        (36, "a%00b", R::PercentEncoded),
        (36, "a%0ab", R::PercentEncoded),
        (36, "%252e%252e", R::PercentEncoded),
        (36, "%%32%65", R::PercentEncoded),
        (36, "a%ef%bc%8fb", R::PercentEncoded),
        (36, "a%3ab", R::PercentEncoded),
        (37, "%c0%ae%c0%ae", R::PercentEncoded),
        (37, "%C0%AF", R::PercentEncoded),
        (38, "a\u{2215}b", R::Lookalike),
        (38, "a\u{2044}b", R::Lookalike),
        (40, "skill/../../x", R::ParentStep),
    ];
    let grown = [
        (29, "c".repeat(MAX_COMPONENT_BYTES + 1), R::ComponentTooLong),
        (29, "é".repeat(128), R::ComponentTooLong),
        (30, "dir/".repeat(MAX_PATH_BYTES / 4) + "x", R::TooLong),
        (31, "d/".repeat(MAX_DEPTH) + "x", R::TooDeep),
    ];
    fixed.into_iter().map(|(n, path, rule)| (n, path.to_owned(), rule)).chain(grown).collect()
}

#[test]
fn every_vector_is_refused_by_its_rule() {
    let vectors = vectors();
    for (number, path, rule) in &vectors {
        let error = RelPath::parse(path).expect_err(&format!("vector {number}: {path:?}"));
        assert_eq!(error.rule(), *rule, "vector {number}: {path:?}");
        let json = serde_json::to_string(path).unwrap();
        assert!(serde_json::from_str::<RelPath>(&json).is_err(), "vector {number} by serde: {path:?}");
        assert!(RelPath::parse("ok").unwrap().join(path).is_err(), "vector {number} joined: {path:?}");
    }
    let by_type = [32, 33, 34, 39];
    let missing: Vec<u8> = (1..=40)
        .filter(|n| !by_type.contains(n) && !vectors.iter().any(|(number, ..)| number == n))
        .collect();
    assert!(missing.is_empty(), "no vector for {missing:?}");
}

#[test]
fn vector_32_bytes_that_are_not_utf8_are_refused() {
    let error = RelPath::from_bytes(b"a\xff\x1b").unwrap_err();
    assert_eq!(error.rule(), PathRule::NotUtf8);
    assert_eq!(error.to_string(), r"path is not UTF-8: a\xff\x1b");
    assert_eq!(RelPath::from_bytes("é.md".as_bytes()).unwrap().as_str(), "é.md");
}

#[test]
fn vectors_33_and_34_collide() {
    let collide = |paths: &[&str]| {
        let paths: Vec<_> = paths.iter().map(|path| RelPath::parse(path).unwrap()).collect();
        first_collision(&paths).map(|(a, b)| (a.to_string(), b.to_string()))
    };
    let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
    assert_eq!(collide(&["\u{e9}.md", "x", "e\u{301}.md"]), pair("\u{e9}.md", "e\u{301}.md"));
    assert_eq!(collide(&["A.md", "a.md"]), pair("A.md", "a.md"));
    assert_eq!(collide(&["stra\u{df}e", "STRASSE"]), pair("stra\u{df}e", "STRASSE"));
    assert_eq!(collide(&["\u{3c3}\u{3c2}", "\u{3a3}\u{3a3}"]), pair("\u{3c3}\u{3c2}", "\u{3a3}\u{3a3}"));
    assert_eq!(collide(&["docs/a", "Docs/b"]), pair("docs/a", "Docs/b"), "folders too");
    assert_eq!(collide(&["a/b", "A"]), pair("a/b", "A"), "a file in place of a folder");
    assert_eq!(collide(&["a", "a/b"]), pair("a", "a/b"));
    assert_eq!(collide(&["a", "a"]), pair("a", "a"), "the same path twice");
    assert_eq!(collide(&["a/b", "a/c", "ab", "d/a", "\u{e9}/a", "\u{e9}/b"]), None);
}

#[test]
fn vectors_39_and_40_whole_components_count() {
    let path = |text| RelPath::parse(text).unwrap();
    assert!(!path("skills-evil/x").starts_with(&path("skills")));
    assert!(path("skills/x").starts_with(&path("skills")));
    assert!(path("skills").starts_with(&path("skills")));
    assert_eq!(path("skills-evil/x").strip_prefix(&path("skills")), None);
    assert_eq!(path("skills").strip_prefix(&path("skills")), None);
    assert_eq!(path("skills/x/y").strip_prefix(&path("skills")), Some(path("x/y")));
    assert_eq!(RelPath::from_name("a/b").unwrap_err().rule(), PathRule::Separator);
    assert_eq!(RelPath::from_name(r"a\b").unwrap_err().rule(), PathRule::Backslash);
    assert_eq!(RelPath::from_name("pdf-tools").unwrap().as_str(), "pdf-tools");
}

#[test]
fn ordinary_names_pass() {
    for path in [
        "SKILL.md",
        "scripts/run.sh",
        "references/API notes (v2).md",
        ".gitignore",
        ".gitkeep",
        ".gitattributes",
        ".github/workflows/ci.yml",
        "a..b/..c",
        "...a",
        "console.md",
        "com10.txt",
        "nulls.md",
        "100%.md",
        "50% off.md",
        "a%20b.md",
        "caf%c3%a9.md",
        "file~",
        "notes~draft.md",
        "programs~12.md",
        "app/[id]/$page.tsx",
        "注意：事项？.md",
        "等等….md",
        "½ cup.md",
        "日本語/資料.pdf",
        "e\u{301}.md",
        "😀.png",
    ] {
        assert_eq!(RelPath::parse(path).map(|path| path.to_string()), Ok(path.to_owned()));
    }
    for longest in ["c".repeat(MAX_COMPONENT_BYTES), "d/".repeat(MAX_DEPTH - 1) + "x"] {
        assert!(RelPath::parse(&longest).is_ok());
    }
    let longest = vec!["c".repeat(240); 17].join("/");
    assert_eq!(longest.len(), MAX_PATH_BYTES);
    assert!(RelPath::parse(&longest).is_ok());
}

#[test]
fn requests_are_normalised_and_then_checked() {
    use PathRule as R;
    for (request, path) in [
        ("./a", "a"),
        ("././a/b", "a/b"),
        (r"a\b", "a/b"),
        (r".\a\b.md", "a/b.md"),
        ("a/b", "a/b"),
        ("a/./b", "a/b"),
        (r"a\\b", "a/b"),
        (".//etc", "etc"),
        ("a//.//b", "a/b"),
    ] {
        assert_eq!(RelPath::from_request(request).map(|path| path.to_string()), Ok(path.to_owned()));
    }
    for (request, rule) in [
        (r"C:\x", R::Drive),
        (r"\\server\share", R::Absolute),
        (r"\\?\C:\x", R::Absolute),
        (r"..\x", R::ParentStep),
        ("./../x", R::ParentStep),
        (".././x", R::ParentStep),
        ("//etc", R::Absolute),
        ("a/", R::EmptyComponent),
        ("a/.", R::CurrentStep),
        ("./", R::Empty),
        (".", R::CurrentStep),
        ("./~/x", R::Home),
    ] {
        assert_eq!(RelPath::from_request(request).map_err(|error| error.rule()), Err(rule), "{request}");
    }
    let huge = r"a\".repeat(MAX_PATH_BYTES * 4);
    assert_eq!(RelPath::from_request(&huge).unwrap_err().rule(), R::TooLong);
}

#[cfg(not(windows))]
#[test]
fn a_request_may_name_what_only_windows_forbids_and_a_stored_path_may_not() {
    for path in ["-x.md", "a:b.md", "docs/what?.md", "a*b", "<a>", "x|y", "\"q\""] {
        assert_eq!(RelPath::from_request(path).unwrap().as_str(), path);
        assert!(RelPath::parse(path).is_err(), "{path}");
        assert!(serde_json::from_str::<RelPath>(&serde_json::to_string(path).unwrap()).is_err(), "{path}");
    }
    for path in ["C:", "c:/x", "a/C:/b", "-/../x", "a:b/..", "/a:b", "~x", "a\u{0}:b", "a%2e:b"] {
        assert!(RelPath::from_request(path).is_err(), "{path}");
    }
}

#[test]
fn parts_of_a_path() {
    let path = RelPath::parse("a/b/c.tar.gz").unwrap();
    assert_eq!(path.components().collect::<Vec<_>>(), ["a", "b", "c.tar.gz"]);
    assert_eq!((path.file_name(), path.extension()), ("c.tar.gz", Some("gz")));
    let parents: Vec<String> =
        std::iter::successors(path.parent(), RelPath::parent).map(|path| path.to_string()).collect();
    assert_eq!(parents, ["a/b", "a"]);
    assert_eq!(RelPath::parse(".gitignore").unwrap().extension(), None);
    assert_eq!(RelPath::parse("Makefile").unwrap().extension(), None);
    assert_eq!(path.parent().unwrap().join("d").unwrap().as_str(), "a/b/d");
    assert!(RelPath::parse("a-b").unwrap() < RelPath::parse("a/b").unwrap(), "ordered by bytes");
    assert_eq!(serde_json::to_string(&path).unwrap(), r#""a/b/c.tar.gz""#);
    assert_eq!(format!("[{:>4}]", RelPath::parse("a").unwrap()), "[   a]");
}

#[test]
fn errors_name_the_path_safely_and_say_what_to_do() {
    let error = RelPath::parse("../x").unwrap_err();
    assert_eq!(error.to_string(), "path steps out with `..`: ../x");
    assert_eq!(error.hint(), "name the file from its folder down, without `..`");
    assert_eq!(serde_json::to_string(&error.rule()).unwrap(), r#""parent-step""#);
    let error = RelPath::parse("a\x1b[2J\u{202e}\u{9b}\n").unwrap_err();
    assert_eq!(error.path(), r"a\u{1b}[2J\u{202e}\u{9b}\u{a}");
    assert_eq!(RelPath::parse("").unwrap_err().to_string(), "path is empty: \"\"");
    assert!(RelPath::parse(&"x".repeat(1 << 20)).unwrap_err().path().len() < 200);

    let mut codes: Vec<&str> = PathRule::ALL.iter().map(|rule| rule.code()).collect();
    assert!(codes.iter().all(|code| code.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))));
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), PathRule::ALL.len(), "codes are unique");
    for rule in PathRule::ALL {
        for words in [rule.problem(), rule.hint()] {
            assert!(words.starts_with(|c: char| c.is_ascii_lowercase()) && !words.ends_with('.'), "{words}");
        }
    }
    assert!(PathRule::TooLong.problem().contains(&MAX_PATH_BYTES.to_string()));
    assert!(PathRule::ComponentTooLong.problem().contains(&MAX_COMPONENT_BYTES.to_string()));
    assert!(PathRule::TooDeep.problem().contains(&MAX_DEPTH.to_string()));
}

/// Texts made of parts of attacks, so that many cases are nearly valid.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(vec![
            "a", "b.md", "/", "/", "\\", ".", "..", "../", "./", "~", "-", " ", ":", "C:", "%2e", "%2f", "%5c",
            "%", "%c0%ae", "%25", "%c3%a9", "2e", ".git", "GIT~1", "nul", "COM", "1", "\u{b9}", "\0", "\n",
            "\u{200c}", "\u{202e}", "\u{ff0e}", "\u{ff0f}", "\u{2025}", "\u{2215}", "\u{2100}", "\u{301}", "é", "İ", "ß",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Walks a text from a virtual root as the most permissive file system would; none when it leaves the root or has a
/// component that means another place.
fn walk(text: &str) -> Option<usize> {
    let mut depth = 0;
    for part in text.split(['/', '\\']) {
        match part.trim_end_matches([' ', '.']) {
            "" => return None,
            _ => depth += 1,
        }
    }
    Some(depth)
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        match code {
            Some(byte) if *first == b'%' => (bytes.push(byte), rest = &tail[2..]).1,
            _ => (bytes.push(*first), rest = tail).1,
        }
    }
    String::from_utf8(bytes).expect("accepted paths decode to UTF-8")
}

proptest! {
    #![proptest_config(crate::text::testing::many())]

    #[test]
    fn a_path_never_escapes(text in hostile()) {
        for path in [RelPath::parse(&text), RelPath::from_request(&text)].into_iter().flatten() {
            let depth = path.components().count();
            prop_assert_eq!(walk(path.as_str()), Some(depth));
            prop_assert_eq!(walk(&path.as_str().nfkc().collect::<String>()), Some(depth));
            prop_assert_eq!(walk(&percent_decoded(path.as_str())), Some(depth));
            prop_assert_eq!(walk(&path.collision_key()), Some(depth));
            prop_assert!(!path.as_str().chars().any(char::is_control));
        }
    }

    #[test]
    fn an_accepted_path_is_accepted_again(text in hostile()) {
        if let Ok(path) = RelPath::parse(&text) {
            prop_assert_eq!(path.as_str(), &text);
            prop_assert_eq!(RelPath::from_request(&text), Ok(path.clone()));
            let json = serde_json::to_string(&path).unwrap();
            prop_assert_eq!(&serde_json::from_str::<RelPath>(&json).unwrap(), &path);
        }
        if let Ok(path) = RelPath::from_request(&text) {
            prop_assert_eq!(RelPath::from_request(path.as_str()), Ok(path.clone()));
        }
    }

    #[test]
    fn every_run_of_components_is_a_path(text in hostile()) {
        if let Ok(path) = RelPath::from_request(&text) {
            let parts: Vec<&str> = path.components().collect();
            for start in 0..parts.len() {
                for end in start + 1..=parts.len() {
                    prop_assert!(RelPath::from_request(&parts[start..end].join("/")).is_ok());
                }
            }
        }
        if let Ok(path) = RelPath::parse(&text) {
            let parts: Vec<&str> = path.components().collect();
            for start in 0..parts.len() {
                prop_assert!(RelPath::parse(&parts[start..].join("/")).is_ok());
            }
            for parent in std::iter::successors(path.parent(), RelPath::parent) {
                let rest = path.strip_prefix(&parent).unwrap();
                prop_assert_eq!(parent.join(rest.as_str()), Ok(path.clone()));
            }
        }
    }

    #[test]
    fn no_bytes_panic_and_no_error_disturbs_a_terminal(bytes in any::<Vec<u8>>(), text in hostile()) {
        let _ = RelPath::from_request(&String::from_utf8_lossy(&bytes));
        for error in [RelPath::from_bytes(&bytes), RelPath::parse(&text)].into_iter().filter_map(Result::err) {
            prop_assert!(!error.to_string().chars().any(|c| c.is_control() || crate::text::is_blank(c)));
        }
    }
}
