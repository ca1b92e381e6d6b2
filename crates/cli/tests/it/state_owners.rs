//! What another user of the group tries with the files of Prowess itself: no file of theirs is believed, by whatever path.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

use crate::install::skill;
use crate::state::{GROUP, OTHER, USER, give, mode, run_as, shared, shell_as};

#[test]
fn a_configuration_of_another_user_runs_nothing() {
    let Some(place) = shared() else { return };
    let said = run_as(&place, USER, &["config", "set", "--user", "scan.depth", "5"]);
    assert!(said.starts_with("exit 0"), "{said}");
    let (folder, file) =
        (place.path().join("config/prowess"), place.path().join("config/prowess/prowess.toml"));
    assert_eq!(mode(&folder), 0o700);
    // As earlier commits, or the user, made it.
    for open in ["config", "config/prowess"] {
        fs::set_permissions(place.path().join(open), fs::Permissions::from_mode(0o775)).unwrap();
    }
    let ran = place.path().join("ran");
    let planted = format!("[[skills.sources]]\nmcp = \"/usr/bin/touch {}\"\n", ran.display());
    place.write("planted.toml", planted.as_bytes());
    chown(place.path().join("planted.toml"), Some(OTHER), Some(GROUP)).unwrap();
    shell_as(&place, OTHER, "mv -f planted.toml config/prowess/prowess.toml");
    for command in [&["list"][..], &["search", "pdf"], &["config"]] {
        let said = run_as(&place, USER, command);
        let expected = "ignored, since it belongs to another user: [DIR]/config/prowess/prowess.toml";
        assert!(said.contains(expected) && !ran.exists(), "{command:?}: {said}");
    }
    assert_eq!(mode(&folder), 0o700);
    // Nor does setting a key make it the user's.
    let said = run_as(&place, USER, &["config", "set", "--user", "scan.depth", "5"]);
    assert!(said.starts_with("exit 2") && said.contains("it belongs to another user"), "{said}");
    assert_eq!(fs::metadata(&file).unwrap().uid(), OTHER);
}

#[test]
fn a_configuration_of_the_user_in_an_open_folder_is_used_and_the_folder_closed() {
    let Some(place) = shared() else { return };
    run_as(&place, USER, &["config", "set", "--user", "scan.depth", "5"]);
    let folder = place.path().join("config/prowess");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o775)).unwrap();
    let said = run_as(&place, USER, &["config", "get", "scan.depth"]);
    assert!(said.contains("5\n"), "{said}");
    assert!(said.contains("closed a folder that other users could write: [DIR]/config/prowess"), "{said}");
    assert_eq!(mode(&folder), 0o700);
    assert!(!run_as(&place, USER, &["config", "get", "scan.depth"]).contains("closed"));
}

#[test]
fn a_configuration_that_others_can_write_runs_nothing() {
    let Some(place) = shared() else { return };
    let ran = place.path().join("ran");
    place.write("config/prowess/prowess.toml", b"");
    give(place.path());
    for (path, mode) in [("config/prowess", 0o775), ("config/prowess/prowess.toml", 0o664)] {
        fs::set_permissions(place.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    // The owner stays.
    let planted = format!("[[skills.sources]]\nmcp = \"/usr/bin/touch {}\"\n", ran.display());
    shell_as(&place, OTHER, &format!("printf '%s' '{planted}' > config/prowess/prowess.toml"));
    for command in [&["list"][..], &["search", "pdf"], &["config"]] {
        let said = run_as(&place, USER, command);
        assert!(
            said.contains("ignored, since other users can write it") && !ran.exists(),
            "{command:?}: {said}"
        );
    }
}

#[test]
fn a_configuration_behind_a_symlink_is_used_unless_others_can_write_it() {
    let Some(place) = shared() else { return };
    place.write("dotfiles/prowess.toml", b"[scan]\ndepth = 5\n");
    fs::create_dir_all(place.path().join("config/prowess")).unwrap();
    std::os::unix::fs::symlink(
        "../../dotfiles/prowess.toml",
        place.path().join("config/prowess/prowess.toml"),
    )
    .unwrap();
    give(place.path());
    for (mode, is_used) in [(0o644, true), (0o664, false)] {
        let file = place.path().join("dotfiles/prowess.toml");
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        let said = run_as(&place, USER, &["config", "get", "scan.depth"]);
        assert_eq!(said.contains("5\n"), is_used, "{said}");
        assert_eq!(said.contains("ignored, since other users can write it"), !is_used, "{said}");
    }
}

#[test]
fn a_folder_of_state_that_is_a_symlink_of_others_is_not_believed() {
    let Some(place) = shared() else { return };
    place.write(".claude/skills/theirs/SKILL.md", skill("theirs", "one").as_bytes());
    let trusted = format!("{{\"version\":1,\"folders\":[\"{}\"],\"skills\":[]}}", place.path().display());
    place.write("clone/trust.json", trusted.as_bytes());
    place.write("state/x", b"");
    give(place.path());
    let clone = place.path().join("clone");
    for folder in ["clone", "state"] {
        fs::set_permissions(place.path().join(folder), fs::Permissions::from_mode(0o775)).unwrap();
    }
    // The first is made by the other user. The second is one that the user cloned, and that the other user moved.
    for (made, by) in [("ln -s ../clone state/prowess", OTHER), ("ln -s ../clone clone/link", USER)] {
        shell_as(&place, by, made);
        if by == USER {
            shell_as(&place, OTHER, "rm state/prowess; mv clone/link state/prowess");
        }
        let said = run_as(&place, USER, &["list"]);
        assert!(said.contains("ignored, since it is reached by a symlink"), "{said}");
        assert!(said.contains("not trusted"), "{said}");
        assert_eq!(mode(&clone), 0o775);
        let said = run_as(&place, USER, &["trust", ".", "--yes"]);
        assert!(said.starts_with("exit 2") && said.contains("it is reached by a symlink"), "{said}");
        assert!(!clone.join("trust.lock").exists());
    }
    // One in a folder that only the user can write is the user's choice, and so is the mode of its target.
    fs::set_permissions(place.path().join("state"), fs::Permissions::from_mode(0o755)).unwrap();
    let said = run_as(&place, USER, &["list"]);
    assert!(said.contains("ignored, since other users can write in its folder"), "{said}");
    assert_eq!(mode(&clone), 0o775);
    fs::set_permissions(&clone, fs::Permissions::from_mode(0o755)).unwrap();
    let said = run_as(&place, USER, &["list"]);
    assert!(!said.contains("ignored") && !said.contains("not trusted"), "{said}");
}

#[test]
fn every_folder_of_ours_is_closed_from_the_top() {
    let Some(place) = shared() else { return };
    run_as(&place, USER, &["add", "./from/pdf", "--yes"]);
    let ours = ["state/prowess", "state/prowess/install", "cache/prowess", "cache/prowess/store"];
    for folder in ours.into_iter().chain(["state", "cache"]) {
        fs::set_permissions(place.path().join(folder), fs::Permissions::from_mode(0o775)).unwrap();
    }
    run_as(&place, USER, &["verify"]);
    for top in ["cache/prowess", "state/prowess", "state/prowess/install"] {
        assert_eq!(mode(&place.path().join(top)), 0o700, "{top}");
    }
    // Those above are the user's.
    for above in ["state", "cache"] {
        assert_eq!(mode(&place.path().join(above)), 0o775, "{above}");
    }
}

#[test]
fn a_cache_of_another_user_is_not_read() {
    let Some(place) = shared() else { return };
    let cache = place.path().join("cache/prowess");
    fs::create_dir_all(&cache).unwrap();
    give(place.path());
    chown(&cache, Some(OTHER), Some(GROUP)).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let said = run_as(&place, USER, &["list"]);
    assert!(said.contains("ignored, since it belongs to another user: [DIR]/cache/prowess"), "{said}");
}

#[test]
fn a_record_of_another_user_is_set_aside_and_its_new_name_is_said() {
    let Some(place) = shared() else { return };
    place.write(".claude/skills/own/SKILL.md", skill("own", "one").as_bytes());
    let theirs = "{\"version\":1,\"folders\":[\"/other\"],\"skills\":[]}";
    for (at, kept) in ["trust.json-set-aside", "trust.json-set-aside-2"].into_iter().enumerate() {
        let file = place.path().join("state/prowess/trust.json");
        if at == 0 {
            place.write("state/prowess/trust.json", theirs.as_bytes());
            give(place.path());
        }
        fs::write(&file, theirs).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        chown(&file, Some(OTHER), Some(GROUP)).unwrap();
        let said = run_as(&place, USER, &["trust", "own", "--yes"]);
        assert!(said.starts_with("exit 0"), "{said}");
        let set_aside =
            format!("set aside, since it belongs to another user, as [DIR]/state/prowess/{kept}: ");
        assert!(said.contains(&set_aside), "{said}");
        let kept = place.path().join("state/prowess").join(kept);
        assert_eq!(
            (fs::read_to_string(&kept).unwrap(), fs::metadata(&kept).unwrap().uid()),
            (theirs.into(), OTHER)
        );
        assert_eq!(fs::metadata(&file).unwrap().uid(), USER);
    }
}

#[test]
fn the_record_of_connections_of_another_user_is_not_replaced() {
    let Some(place) = shared() else { return };
    let before = b"{ \"theme\": \"dark\" }\n";
    place.write("home/.cursor/mcp.json", before);
    give(place.path());
    let said = run_as(&place, USER, &["connect", "cursor", "--write"]);
    assert!(said.starts_with("exit 0"), "{said}");
    let (record, client) =
        (place.path().join("state/prowess/connections.json"), place.path().join("home/.cursor/mcp.json"));
    let (recorded, connected) = (fs::read(&record).unwrap(), fs::read(&client).unwrap());
    fs::set_permissions(&record, fs::Permissions::from_mode(0o644)).unwrap();
    chown(&record, Some(OTHER), Some(GROUP)).unwrap();
    for command in [&["disconnect", "cursor", "--write"][..], &["connect", "cursor", "--all", "--write"]] {
        let said = run_as(&place, USER, command);
        assert!(said.starts_with("exit 2") && said.contains("it belongs to another user"), "{said}");
        // What another user wrote must not become what this one believes.
        assert!(!said.contains("chown"), "{said}");
        let hint = "belongs to another user: run the command as that user, or move it away with: mv ";
        assert!(said.contains(hint) && said.contains("; nothing was changed"), "{said}");
        assert_eq!(
            (fs::read(&record).unwrap(), fs::read(&client).unwrap()),
            (recorded.clone(), connected.clone())
        );
    }
    // Doctor names it, with the same way out.
    let said = run_as(&place, USER, &["doctor"]);
    assert!(said.contains("error: connections-broken: [DIR]/state/prowess/connections.json"), "{said}");
    assert!(said.contains("run the command as that user, or move it away"), "{said}");
    assert!(!said.contains("chown"), "{said}");
    // Once it is the user's own, it is undone byte for byte.
    chown(&record, Some(USER), Some(GROUP)).unwrap();
    let said = run_as(&place, USER, &["disconnect", "cursor", "--write"]);
    assert!(said.starts_with("exit 0") && fs::read(&client).unwrap() == before, "{said}");
}
