//! Repositories that attack their reader: links, submodules, filters, hooks, names, modes and sizes.

use super::*;

/// A repository whose skill `a` has one more entry of a mode, a name and a content, made past git's own checks.
fn with_entry(world: &World, mode: &str, name: &str, content: &[u8]) {
    world.init("repo");
    world.skill("repo/skills/a");
    world.commit("repo");
    let blob = world.git_with("repo", &["hash-object", "-w", "--stdin"], content);
    let id = if mode == "160000" { "1".repeat(40) } else { blob };
    let (above, name) = name.rsplit_once('/').unwrap_or(("skills/a", name));
    let tree = world.git("repo", &["ls-tree", "-z", &format!("HEAD:{above}")]);
    let kind = if mode == "160000" { "commit" } else { "blob" };
    let lines = format!("{tree}{mode} {kind} {id}\t{name}\0");
    let tree = world.git_with("repo", &["mktree", "-z", "--missing"], lines.as_bytes());
    let a =
        if above == "skills/a" { tree } else { world.git("repo", &["rev-parse", &format!("HEAD:{above}")]) };
    let skills = world.git_with("repo", &["mktree", "-z"], format!("040000 tree {a}\ta\0").as_bytes());
    let root =
        world.git_with("repo", &["mktree", "-z"], format!("040000 tree {skills}\tskills\0").as_bytes());
    let commit = world.git("repo", &["commit-tree", &root, "-m", "x"]);
    world.git("repo", &["update-ref", "refs/heads/main", &commit]);
}

fn refusal(mode: &str, name: &str, content: &[u8]) -> Option<InstallError> {
    let world = World::new()?;
    with_entry(&world, mode, name, content);
    let error = take(&world.fetcher(), &world.url("repo")).unwrap_err();
    assert!(!is_there(&world.path("store/trees")), "{mode} {name}: nothing is stored");
    Some(error)
}

#[test]
fn links_inside_a_repository_become_plain_files() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    std::os::unix::fs::symlink("../b/scripts", world.path("repo/skills/a/more")).unwrap();
    std::os::unix::fs::symlink("../../unrelated.bin", world.path("repo/skills/a/doc")).unwrap();
    fs::create_dir_all(world.path("repo/skills/c")).unwrap();
    std::os::unix::fs::symlink("../b/SKILL.md", world.path("repo/skills/c/SKILL.md")).unwrap();
    world.commit("repo");
    let fetched = take(&world.fetcher(), &world.url("repo")).unwrap();
    let paths = |skill: &Prepared| {
        skill.tree.files().map(|(file, bytes)| format!("{}={}", file.path, bytes.len())).collect::<Vec<_>>()
    };
    assert_eq!(paths(&fetched[0])[1..], ["doc=10", "more/run.sh=5", "scripts/run.sh=5"]);
    assert_eq!(fetched[2].tree.document().description(), Some("Does b."));
}

#[test]
fn links_that_lead_out_of_a_repository_are_refused_by_name() {
    for (target, words) in [
        ("/etc/passwd", "absolute"),
        ("../../../../../../etc/passwd", "leads out"),
        ("../..", "in a circle"),
        ("x", "in a circle"),
        ("nowhere", "leads to nothing"),
        ("../../.git/config", "leads into .git"),
        ("", "absolute or leads nowhere"),
        ("a\\b", "absolute or leads nowhere"),
    ] {
        let Some(error) = refusal("120000", "x", target.as_bytes()) else { return };
        assert_eq!(error.kind(), InstallErrorKind::Refused, "{target}: {error}");
        assert!(error.to_string().contains(words), "{target}: {error}");
        assert!(error.to_string().ends_with(": skills/a/x"), "{target}: {error}");
    }
    let Some(error) = refusal("120000", "x", b"\xff\xfe") else { return };
    assert!(error.to_string().contains("not UTF-8"), "{error}");
}

#[test]
fn submodules_and_names_that_are_not_safe_everywhere_are_refused_by_name() {
    let Some(error) = refusal("160000", "module", b"") else { return };
    assert_eq!(error.to_string(), "a submodule is never installed: skills/a/module");
    for name in [
        "GIT~1",
        "aux",
        "nul.txt",
        "-rf",
        "a\\b",
        "C:x",
        "a:b",
        "x ",
        "x.",
        ".GIT",
        ".gitmodules",
        "a\u{200b}b",
        "~x",
        "skill.MD",
    ] {
        let Some(error) = refusal("100644", name, b"x") else { return };
        assert_eq!(error.kind(), InstallErrorKind::Refused, "{name}: {error}");
    }
}

#[test]
fn only_the_bit_of_the_owner_is_kept_of_a_mode() {
    let Some(world) = World::new() else { return };
    with_entry(&world, "100755", "tool", b"x");
    let fetched = take(&world.fetcher(), &world.url("repo")).unwrap();
    let executable = fetched[0].tree.manifest().files.iter().filter(|file| file.executable);
    assert_eq!(executable.map(|file| file.path.as_str()).collect::<Vec<_>>(), ["tool"]);
}

#[test]
fn filters_attributes_hooks_and_large_file_pointers_run_nothing_and_change_no_byte() {
    let Some(world) = World::new() else { return };
    let canary = world.path("canary");
    let touch = format!("touch {}", canary.display());
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    world.two_skills();
    world.write("repo/skills/a/.gitattributes", "* filter=evil text eol=crlf ident\n*.bin filter=lfs\n");
    world.write("repo/skills/a/data.bin", pointer);
    world.write("repo/skills/a/text.md", "$Id$\nline\n");
    world.write("repo/.lfsconfig", "[lfs]\nurl = http://127.0.0.1:1/\n");
    world.commit("repo");
    // What the user has configured for work trees is not used either.
    world.write(
        "gitconfig",
        &format!(
            "[filter \"evil\"]\nsmudge = {touch}\nclean = cat\n[filter \"lfs\"]\nsmudge = {touch}\nprocess = {touch}\n[core]\nhooksPath = {0}/hooks\nfsmonitor = {touch}\n",
            world.path("").display()
        ),
    );
    for hook in ["reference-transaction", "post-checkout", "post-merge", "pre-auto-gc"] {
        world.write(&format!("hooks/{hook}"), &format!("#!/bin/sh\n{touch}\n"));
        world.write(&format!("repo/.git/hooks/{hook}"), &format!("#!/bin/sh\n{touch}\n"));
        let script =
            format!("chmod +x '{0}/hooks/{hook}' '{0}/repo/.git/hooks/{hook}'", world.path("").display());
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }
    let fetched = take(&world.fetcher(), &world.url("repo")).unwrap();
    let text = |path: &str| {
        let file = fetched[0].tree.files().find(|(file, _)| file.path.as_str() == path).unwrap();
        String::from_utf8(file.1.to_vec()).unwrap()
    };
    assert_eq!((text("data.bin").as_str(), text("text.md").as_str()), (pointer, "$Id$\nline\n"));
    assert!(!is_there(&canary));
}

#[test]
fn a_tree_that_unfolds_without_end_and_masses_of_files_stop_at_a_limit() {
    let Some(world) = World::new() else { return };
    world.init("repo");
    world.skill("repo/skills/a");
    world.commit("repo");
    let blob = world.git_with("repo", &["hash-object", "-w", "--stdin"], b"x");
    let mut tree = world.git_with("repo", &["mktree"], format!("100644 blob {blob}\tf\n").as_bytes());
    for _ in 0..10 {
        let lines: String = (0..10).map(|at| format!("040000 tree {tree}\td{at}\n")).collect();
        tree = world.git_with("repo", &["mktree"], lines.as_bytes());
    }
    let lines = format!("{}\n040000 tree {tree}\tbomb\n", world.git("repo", &["ls-tree", "HEAD"]));
    let root = world.git_with("repo", &["mktree"], lines.as_bytes());
    let commit = world.git("repo", &["commit-tree", &root, "-m", "x"]);
    world.git("repo", &["update-ref", "refs/heads/main", &commit]);
    let git = GitLimits { listing_bytes: 1 << 20, ..GitLimits::default() };
    let fetcher = world.fetcher_with(FetchOptions { git, ..FetchOptions::default() });
    let error = take(&fetcher, &world.url("repo")).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::TooLarge, "{}", error.full_message());

    world.init("many");
    world.skill("many/a");
    for at in 0..1_001 {
        world.write(&format!("many/a/f{at}"), "");
    }
    world.commit("many");
    let error = take(&world.fetcher(), &world.url("many")).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::TooLarge, "{}", error.full_message());
    assert!(error.hint().to_string().ends_with("files"));
}

#[test]
fn a_file_that_is_too_large_is_named() {
    let Some(world) = World::new() else { return };
    world.init("repo");
    world.skill("repo/a");
    world.write("repo/a/big", &"x".repeat(200_000));
    world.write("repo/a/other", &"y".repeat(200_000));
    world.commit("repo");
    for (file_bytes, bytes, words) in [
        (100_000, 1 << 20, "big: 200000 bytes"),
        (100_000, 10_000, "big: 200000 bytes"),
        (1 << 20, 300_000, "300000 bytes"),
    ] {
        let limits = InstallLimits { bytes, file_bytes, ..InstallLimits::default() };
        let fetcher = world.fetcher_with(FetchOptions { limits, ..FetchOptions::default() });
        let error = take(&fetcher, &world.url("repo")).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::TooLarge, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// A repository whose skill `a` has one more entry, in a tree that git itself would not make.
fn with_raw_entry(world: &World, mode: &str, name: &str, id: &str) {
    let bytes = |id: &str| -> Vec<u8> {
        (0..id.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(id.get(at..at + 2).unwrap(), 16).unwrap())
            .collect()
    };
    let raw = |entries: &[(&str, &str, &str)]| -> String {
        let mut tree = Vec::new();
        for (mode, name, id) in entries {
            tree.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            tree.extend(bytes(id));
        }
        world.git_with("repo", &["hash-object", "-t", "tree", "-w", "--stdin", "--literally"], &tree)
    };
    let own = world.git("repo", &["rev-parse", "HEAD:skills/a/SKILL.md"]);
    let a = raw(&[(mode, name, id), ("100644", "SKILL.md", &own)]);
    let skills = raw(&[("40000", "a", &a)]);
    let root = raw(&[("40000", "skills", &skills)]);
    let commit = world.git("repo", &["commit-tree", &root, "-m", "x"]);
    world.git("repo", &["update-ref", "refs/heads/main", &commit]);
}

#[test]
fn entries_that_git_never_makes_are_refused_by_name_and_never_left_out() {
    for (mode, name) in [
        ("100644", "../../evil"),
        ("100644", "x/y"),
        ("40000", ".git"),
        ("40000", ".Git"),
        ("100644", ".git"),
        ("40000", "../up"),
        ("100644", ".."),
    ] {
        let Some(world) = World::new() else { return };
        world.init("repo");
        world.skill("repo/skills/a");
        world.commit("repo");
        let what = if mode == "40000" { "skills/a/scripts" } else { "skills/a/SKILL.md" };
        let id = world.git("repo", &["rev-parse", &format!("HEAD:{what}")]);
        with_raw_entry(&world, mode, name, &id);
        let error = take(&world.fetcher(), &world.url("repo")).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Refused, "{name}: {error}");
        assert!(error.to_string().ends_with(&format!("skills/a/{name}")), "{name}: {error}");
    }
}

#[test]
fn a_skill_in_a_folder_that_some_system_cannot_keep_is_refused_by_name() {
    let Some(world) = World::new() else { return };
    world.init("repo");
    world.skill("repo/skills/a");
    world.skill("repo/skills/aux");
    world.commit("repo");
    let fetcher = world.fetcher();
    let found = fetcher.find_asked(&world.url("repo").parse().unwrap()).unwrap();
    assert_eq!(names(&found), ["a"]);
    // All others can be installed, and it is named with the reason.
    assert_eq!(found.choose(&[], true).unwrap(), [0]);
    let left_out = found.left_out();
    assert!(
        matches!(&*left_out, [one] if one.name == "skills/aux" && one.reason.contains("some systems")),
        "{left_out:?}"
    );
    assert_eq!(found.choose(&["a".to_owned()], false).unwrap(), [0]);
    world.git("repo", &["rm", "-rq", "skills/a"]);
    world.commit("repo");
    let error = fetcher.find_asked(&world.url("repo").parse().unwrap()).unwrap_err();
    assert!(error.to_string().contains("skills/aux"), "{error}");
}

#[test]
fn a_limit_names_the_skill_that_reaches_it_and_what_to_raise() {
    use crate::install::error::InstallLimit;
    let Some(world) = World::new() else { return };
    world.two_skills();
    let plain = InstallLimits::default();
    for (limits, limit, words) in [
        (
            InstallLimits { files: 1, ..plain },
            InstallLimit::Files,
            "skills/a: the skill has more than 1 files",
        ),
        (
            InstallLimits { depth: 0, ..plain },
            InstallLimit::Depth,
            "skills/a: a file of the skill is too deep",
        ),
        (
            InstallLimits { bytes: 9, ..plain },
            InstallLimit::Bytes,
            "skills/a: the skill has more than 9 bytes",
        ),
        (
            InstallLimits { total_bytes: 99, ..plain },
            InstallLimit::TotalBytes,
            "the skills have more than 99",
        ),
    ] {
        let fetcher = world.fetcher_with(FetchOptions { limits, ..FetchOptions::default() });
        for text in [world.url("repo"), world.path("repo").display().to_string()] {
            let error = take(&fetcher, &text).unwrap_err();
            assert!(error.to_string().starts_with(words), "{text}: {error}");
            assert_eq!((error.kind(), error.limit()), (InstallErrorKind::TooLarge, Some(limit)), "{text}");
        }
    }
}

#[test]
fn a_ref_is_checked_also_when_a_program_wrote_it() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    let organisations = BTreeMap::from([("o".to_owned(), world.url("repo"))]);
    let fetcher = world.fetcher_with(FetchOptions { organisations, ..FetchOptions::default() });
    for text in ["+main:refs/heads/x", "refs/heads/*", "^main", "--upload-pack=x", "main main", ""] {
        let mut spec = InstallSpec::of(InstallPlace::Git(world.url("repo")));
        spec.reference = Some(text.to_owned());
        assert_eq!(fetcher.find_asked(&spec).unwrap_err().kind(), InstallErrorKind::Request, "{text}");
        let mut skill: crate::install::SkillRef = "@o/a".parse().unwrap();
        skill.version = Some(text.to_owned());
        let spec = InstallSpec::of(InstallPlace::Reference(skill));
        assert_eq!(fetcher.find_asked(&spec).unwrap_err().kind(), InstallErrorKind::Request, "{text}");
    }
    assert!(!is_there(&world.path("store/git")));
}

#[test]
fn an_entry_that_is_no_file_whatever_its_mode_says_is_refused() {
    for (mode, what) in
        [("100644", "HEAD:skills"), ("100755", "HEAD:skills"), ("120000", "HEAD:skills"), ("100644", "HEAD")]
    {
        let Some(world) = World::new() else { return };
        world.init("repo");
        world.skill("repo/skills/a");
        world.commit("repo");
        let id = world.git("repo", &["rev-parse", what]);
        with_raw_entry(&world, mode, "x", &id);
        let error = take(&world.fetcher(), &world.url("repo")).unwrap_err();
        let is_refused =
            error.kind() == InstallErrorKind::Refused && error.to_string().contains("in place of a blob");
        // A git that looks at what it sends refuses it first.
        assert!(
            is_refused || error.kind() == InstallErrorKind::Git,
            "{mode} {what}: {}",
            error.full_message()
        );
        assert!(!is_there(&world.path("store/trees")), "{mode} {what}");
    }
}

#[test]
fn an_object_that_was_replaced_in_the_cache_is_refused() {
    for format in ["sha1", "sha256"] {
        for (replaced, kind) in
            [("HEAD:skills/a/SKILL.md", "blob"), ("HEAD:skills/a", "tree"), ("HEAD", "commit")]
        {
            let Some(world) = World::new() else { return };
            fs::create_dir_all(world.path("repo")).unwrap();
            let format = format!("--object-format={format}");
            world.git("repo", &["init", "--quiet", &format, "--initial-branch=main"]);
            world.skill("repo/skills/a");
            world.commit("repo");
            assert_eq!(take(&world.fetcher(), &world.url("repo")).unwrap().len(), 1);
            let id = world.git("repo", &["rev-parse", replaced]);
            world.write("repo/skills/a/SKILL.md", "---\nname: a\ndescription: Of another author.\n---\n");
            world.git("repo", &["add", "--all"]);
            world.git("repo", &["commit", "--quiet", "--message=y"]);
            let other = world.git("repo", &["rev-parse", replaced]);
            assert_ne!(id, other);
            // The other object in the place of the first, as another program of the user could put it there.
            let file = |id: &str| {
                let (folder, name) = id.split_at(2);
                format!("objects/{folder}/{name}")
            };
            let target = world.bare().join(file(&id));
            if !target.exists() {
                let packs = fs::read_dir(world.bare().join("objects/pack")).unwrap();
                for pack in packs
                    .map(|entry| entry.unwrap().path())
                    .filter(|path| path.extension().is_some_and(|end| end == "pack"))
                {
                    let away = world.path("away.pack");
                    fs::rename(&pack, &away).unwrap();
                    let bare = world.bare();
                    world.git_with(
                        bare.to_str().unwrap(),
                        &["unpack-objects", "-q"],
                        &fs::read(away).unwrap(),
                    );
                }
            }
            let _ = fs::remove_file(&target);
            fs::copy(world.path("repo/.git").join(file(&other)), &target).unwrap();
            world.git("repo", &["reset", "--quiet", "--hard", "HEAD~1"]);
            empty_store(&world);
            let commit = world.git("repo", &["rev-parse", "HEAD"]);
            let taken = take(&world.fetcher(), &format!("{}#{commit}", world.url("repo")));
            let error = match taken {
                // git itself notices some of these, and then the commit is fetched again.
                Ok(skills) => {
                    let description = skills[0].tree.document().description().map(str::to_owned);
                    assert!(
                        kind != "blob" && description.as_deref() == Some("Does a."),
                        "{kind}: {description:?}"
                    );
                    continue;
                }
                Err(error) => error,
            };
            assert!(
                error.to_string().contains("is not what was fetched"),
                "{kind}: {}",
                error.full_message()
            );
            assert!(!is_there(&world.path("store/trees")), "{kind}");
        }
    }
}
