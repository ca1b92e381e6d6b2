//! A home with a trouble of every kind: each is named, and its fix works as printed.

use std::collections::BTreeSet;

use super::*;

/// What a person does where the fix is in words.
fn by_hand(place: &Place, trouble: &Value) {
    let at = |member: &str| PathBuf::from(text(trouble, member));
    let write = |path: &Path, text: &str| fs::write(path, text).unwrap();
    match text(trouble, "kind") {
        "approvals-broken" => fs::remove_file(at("at")).unwrap(),
        "config-broken" => {
            let file = place.path().join("work/prowess.toml");
            write(&file, "[session]\nlocation = true\ntools = ['Read']\n");
        }
        "records-broken" => fs::remove_file(place.path().join("work/skills.lock")).unwrap(),
        "skill-broken" => write(&at("at"), &skill("torn", &own_words(901, 8))),
        "source-unread" => fs::create_dir_all(place.path().join("team")).unwrap(),
        "git-needed" => with_git(place),
        "copy-differs" | "install-leftover" => fs::remove_dir_all(at("at")).unwrap(),
        "skills-compete" => write(&at("at"), &skill(text(trouble, "skill"), &own_words(902, 8))),
        other => panic!("there is no command for {other}: {trouble:#}"),
    }
}

/// A home and a project with a trouble of every kind but `git-missing`, which excludes `git-needed`.
fn ill() -> Option<Place> {
    let place = place(
        &[
            ("src/inst/SKILL.md", &skill("inst", &own_words(1, 8))),
            ("src/late/SKILL.md", &skill("late", &own_words(2, 8))),
            ("home/.claude/skills/pdf/SKILL.md", &skill("pdf", &own_words(3, 8))),
            ("home/.codex/skills/pdf/SKILL.md", &skill("pdf", &own_words(4, 8))),
            (
                "home/.copilot/skills/colon/SKILL.md",
                &skill("colon", &format!("Use when: {}", own_words(5, 8))),
            ),
            ("home/.claude/skills/group/deep/SKILL.md", &skill("deep", &own_words(6, 8))),
            ("home/.claude/skills/torn/SKILL.md", "---\nname: torn\nname: again\ndescription: d\n---\n"),
            (
                "home/.claude/skills/brew-tea/SKILL.md",
                &skill("brew-tea", "Makes hot tea in a pot for guests."),
            ),
            (
                "home/.claude/skills/make-tea/SKILL.md",
                &skill("make-tea", "Makes hot tea in a pot for guests."),
            ),
            ("home/.agents/skills/twin/SKILL.md", &skill("twin", &own_words(7, 8))),
            ("home/.gemini/skills/twin/SKILL.md", &skill("twin", &own_words(7, 8))),
            ("work/.claude/skills/ours/SKILL.md", &skill("ours", &own_words(8, 8))),
            ("work/.claude/skills/shifty/SKILL.md", &skill("shifty", &own_words(9, 8))),
            ("work/.kiro/skills/lonely/SKILL.md", &skill("lonely", &own_words(10, 8))),
            ("work/prowess.toml", "[session]\nlocation = true\nmood = 1\n"),
            ("cache/prowess/index/old", "prowess index 1\n"),
            ("home/.agents/skills/.prowess-00000000000000ab.tmp", "half"),
            ("work/.agents/skills/.prowess-00000000000000cd.stage/x/SKILL.md", "half"),
        ],
        &[".claude", ".codex", ".gemini", ".copilot"],
    );
    let path = |path: &str| place.path().join(path);
    for number in 0..20 {
        let name = format!("large-{number}");
        let text = skill(&name, &own_words(100 + number, 140));
        place.write(&format!("home/.codex/skills/{name}/SKILL.md"), text.as_bytes());
    }
    // A skill from a git repository needs git, which is gone afterwards.
    place.write("repo/git/SKILL.md", skill("from-git", &own_words(11, 8)).as_bytes());
    let git = |args: &[&str]| {
        crate::install_git::git_in(&path("repo"))
            .args(args)
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if !(git(&["init", "-q"]) && git(&["add", "."]) && git(&["commit", "-q", "-m", "x"])) {
        crate::skipped("git cannot run here");
        return None;
    }
    let prowess = |args: &[&str]| {
        let mut command = command(&place, &path("bin/prowess"));
        command.env("PATH", std::env::var_os("PATH").unwrap());
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let url = format!("file://{}", path("repo").display());
    prowess(&["add", "../src/inst", "--user", "--yes"]);
    prowess(&["add", &url, "--user", "--yes"]);
    prowess(&["trust", "shifty", "--yes"]);
    place.write("work/.claude/skills/shifty/SKILL.md", skill("shifty", &own_words(12, 8)).as_bytes());
    place.write("home/.agents/skills/inst/extra.md", b"edited\n");
    let records = path("home/.agents/skills.toml");
    let late = "late = { path = \"../../src/late\" }\n";
    fs::write(&records, fs::read_to_string(&records).unwrap() + late).unwrap();
    place.write("work/skills.lock", b"not a lock {");
    // The journal of an installation that was killed before its first step.
    let mut locks = fs::read_dir(path("state/prowess/install")).unwrap().map(|entry| entry.unwrap().path());
    let lock = locks.find(|file| file.extension().is_some_and(|end| end == "lock")).unwrap();
    let home = path("home");
    let journal = serde_json::json!({
        "version": 1,
        "base": {"named": home, "real": fs::canonicalize(&home).unwrap(), "number": null},
        "stage": ".prowess-00000000000000ef.stage",
        "steps": [], "files": [], "accepted": [], "approvals": null,
    });
    fs::write(lock.with_extension("journal"), journal.to_string()).unwrap();
    symlink("../../gone", path("home/.claude/skills/dangling")).unwrap();
    place.write(
        "config/prowess/prowess.toml",
        format!("[[skills.sources]]\ndir = \"{}\"\n", path("team").display()).as_bytes(),
    );
    fs::copy(path("state/prowess/trust.json"), path("trust.json")).unwrap();
    place.write("state/prowess/connections.json", b"{");
    Some(place)
}

#[test]
fn every_trouble_of_an_ill_home_is_named_and_its_fix_works_as_printed() {
    let Some(place) = ill() else { return };
    // First without what the user trusts, since nothing else is found then.
    let approvals = place.path().join("state/prowess/trust.json");
    fs::write(&approvals, "{").unwrap();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut report = examined(&place);
    let kinds = |report: &Value| -> BTreeSet<String> {
        let troubles = report["troubles"].as_array().unwrap();
        troubles.iter().map(|trouble| text(trouble, "kind").to_owned()).collect()
    };
    assert!(kinds(&report).contains("approvals-broken"), "{report:#}");
    seen.extend(kinds(&report));
    fs::copy(place.path().join("trust.json"), &approvals).unwrap();
    report = examined(&place);
    for _ in 0..80 {
        // Caches may be written by any command.
        let folders = || ["home", "state", "work"].map(|folder| contents(&place.path().join(folder)));
        let before = folders();
        doctor(&place, &[]);
        assert_eq!(before, folders(), "doctor without --fix changes nothing");
        seen.extend(kinds(&report));
        let Some(trouble) = report["troubles"].as_array().unwrap().first().cloned() else { break };
        let commands = trouble["fix"]["commands"].as_array().unwrap();
        let mut ran = Vec::new();
        for printed in commands {
            let printed = printed.as_str().unwrap();
            let takes_all = printed.contains("rm -r") && printed.contains(".stage");
            assert!(!takes_all, "what another user is installing is deleted: {printed}");
            // On a terminal it asks.
            let consent = if printed.starts_with("prowess trust") { " --yes" } else { "" };
            ran.push(run_as_printed(&place, &format!("{printed}{consent}")));
        }
        if commands.is_empty() {
            by_hand(&place, &trouble);
        }
        report = examined(&place);
        let same = |other: &&Value| {
            ["kind", "skill", "at", "what"].iter().all(|member| other[member] == trouble[member])
        };
        let left = report["troubles"].as_array().unwrap().iter().find(same);
        let said: Vec<String> = ran.iter().map(|ran| place.transcript(ran)).collect();
        assert!(left.is_none(), "the fix does not work: {trouble:#}\n{}", said.join("\n"));
    }
    assert_eq!(report["troubles"], Value::Array(Vec::new()), "{report:#}");
    let all = serde_json::from_slice::<Value>(&doctor(&place, &["--list", "--json"]).stdout).unwrap();
    assert_fits("doctor", &all);
    let all = all["kinds"].as_array().unwrap();
    let missing: Vec<&str> = all
        .iter()
        .map(|kind| text(kind, "kind"))
        // Here is no place without git or without a skill.
        .filter(|kind| !seen.contains(*kind) && !["git-missing", "all-left-out"].contains(kind))
        .collect();
    assert_eq!(missing, Vec::<&str>::new(), "these kinds were never named");
    let output = doctor(&place, &[]);
    assert_eq!(code(&output), 0);
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("nothing is wrong\n"));
}
