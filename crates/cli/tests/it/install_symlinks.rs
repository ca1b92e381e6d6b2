//! Symlinks where installed skills are: one in place of a file or of a skill, and the folder of one client that is a link
//! to that of another.

use std::fs;
use std::os::unix::fs::symlink;

use crate::Place;
use crate::install::{place, read, skill};
use crate::shelf::run;

/// Replaces the SKILL.md of the installed `pdf` by a link to the file that it came from.
fn linked(more: &[&str]) -> Place {
    let place = place();
    assert!(run(&place, &[&["add", "./from/pdf", "--yes"], more].concat()).starts_with("exit 0"));
    let home = if more.contains(&"--user") { "home/" } else { "" };
    let file = place.path().join(format!("{home}.agents/skills/pdf/SKILL.md"));
    fs::remove_file(&file).unwrap();
    symlink(place.path().join("from/pdf/SKILL.md"), &file).unwrap();
    place
}

#[test]
fn an_installed_skill_file_that_became_a_link_is_changed_and_sync_restores_it() {
    for more in [&[][..], &["--user"]] {
        let place = linked(more);
        let with = |args: &[&str]| run(&place, &[args, more].concat());
        let said = with(&["verify"]);
        assert!(said.starts_with("exit 1") && said.contains("  changed  SKILL.md\n"), "{more:?}: {said}");
        let said = run(&place, &["list", "--installed"]);
        assert!(said.contains("pdf  edited"), "{more:?}: {said}");
        let said = with(&["sync", "--yes"]);
        assert!(said.starts_with("exit 2") && said.contains("--overwrite"), "{more:?}: {said}");
        let said = with(&["sync", "--overwrite", "--yes"]);
        assert!(said.starts_with("exit 0"), "{more:?}: {said}");
        assert!(with(&["verify"]).starts_with("exit 0"), "{more:?}");
        assert!(run(&place, &["activate", "pdf"]).starts_with("exit 0"), "{more:?}");
        assert_eq!(read(&place, "from/pdf/SKILL.md"), skill("pdf", "one"));
    }
}

#[test]
fn a_link_in_an_installed_skill_is_an_edit_also_if_it_leads_to_the_same_bytes() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    let script = place.path().join(".agents/skills/pdf/scripts/run.sh");
    fs::rename(&script, script.with_file_name("real.sh")).unwrap();
    symlink("real.sh", &script).unwrap();
    let said = run(&place, &["verify"]);
    assert!(said.contains("scripts/real.sh") && said.contains("scripts/run.sh"), "{said}");
    assert!(run(&place, &["remove", "pdf"]).starts_with("exit 2"));
    // A folder, too.
    fs::rename(script.with_file_name("real.sh"), &script).unwrap();
    let scripts = script.parent().unwrap();
    fs::rename(scripts, scripts.with_file_name("real")).unwrap();
    symlink("real", scripts).unwrap();
    assert!(run(&place, &["verify"]).starts_with("exit 1"));
}

#[test]
fn a_folder_with_a_relative_link_to_the_same_file_is_overwritten() {
    let place = place();
    let folder = place.path().join("home/.claude/skills/notes");
    fs::create_dir_all(&folder).unwrap();
    symlink("../../../../from/notes/SKILL.md", folder.join("SKILL.md")).unwrap();
    let add = ["add", "./from/notes", "--user", "--yes", "--client", "claude-code", "--overwrite"];
    let said = run(&place, &add);
    assert!(said.starts_with("exit 0") && folder.is_symlink(), "{said}");
    assert_eq!(read(&place, "from/notes/SKILL.md"), skill("notes", "one"));
    // In the folder of installed skills, too.
    let folder = place.path().join(".agents/skills/pdf");
    fs::create_dir_all(folder.join("scripts")).unwrap();
    symlink("../../../from/pdf/SKILL.md", folder.join("SKILL.md")).unwrap();
    fs::copy(place.path().join("from/pdf/scripts/run.sh"), folder.join("scripts/run.sh")).unwrap();
    let said = run(&place, &["add", "./from/pdf", "--yes", "--overwrite"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(!folder.join("SKILL.md").is_symlink() && run(&place, &["verify"]).starts_with("exit 0"));
}

/// A project in which the folders of `.agents` and `.claude` are one.
fn one_folder(real: &str, link: &str) -> Place {
    let place = place();
    for folder in [".agents", ".claude", real] {
        fs::create_dir_all(place.path().join(folder)).unwrap();
    }
    symlink(format!("../{real}"), place.path().join(link)).unwrap();
    place
}

const FOLDERS: [(&str, &str); 2] =
    [(".agents/skills", ".claude/skills"), (".claude/skills", ".agents/skills")];

#[test]
fn a_skill_is_trusted_for_each_client_whose_folder_is_a_link_to_that_of_another() {
    for (real, link) in FOLDERS {
        let place = one_folder(real, link);
        let claude = |args: &[&str]| run(&place, &[args, &["--client", "claude-code"]].concat());
        let said = run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code"]);
        assert!(said.starts_with("exit 0"), "{link}: {said}");
        for args in [&["list"][..], &["why", "pdf"], &["doctor"]] {
            let said = claude(args);
            assert!(!said.contains("not trusted") && !said.contains("untrusted"), "{link}: {args:?}: {said}");
        }
        assert!(claude(&["activate", "pdf"]).starts_with("exit 0"), "{link}");
        // Nor with other files, until these are accepted by either path.
        place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "two").as_bytes());
        assert!(claude(&["activate", "pdf"]).starts_with("exit 2"), "{link}");
        assert!(run(&place, &["activate", "pdf"]).starts_with("exit 2"), "{link}");
        let said = run(&place, &["trust", "pdf", "--yes"]);
        assert!(said.starts_with("exit 0"), "{link}: {said}");
        assert!(claude(&["activate", "pdf"]).starts_with("exit 0"), "{link}");
        // The files from before are trusted by no path now.
        place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "one").as_bytes());
        assert!(claude(&["activate", "pdf"]).starts_with("exit 2"), "{link}");
        assert!(run(&place, &["activate", "pdf"]).starts_with("exit 2"), "{link}");
        // And revoking ends it for both.
        claude(&["trust", "pdf", "--yes"]);
        assert!(run(&place, &["activate", "pdf"]).starts_with("exit 0"), "{link}");
        run(&place, &["trust", "--revoke", "pdf", "--yes"]);
        assert!(claude(&["activate", "pdf"]).starts_with("exit 2"), "{link}");
    }
}

#[test]
fn a_skill_that_was_trusted_by_a_link_stays_trusted_when_it_is_updated_and_ends_with_its_removal() {
    for (real, link) in FOLDERS {
        let place = one_folder(real, link);
        let claude = |args: &[&str]| run(&place, &[args, &["--client", "claude-code"]].concat());
        let add = || run(&place, &["add", "./from/pdf", "--yes"]);
        assert!(add().starts_with("exit 0"), "{link}");
        assert!(claude(&["trust", "pdf", "--yes"]).starts_with("exit 0"), "{link}");
        place.write("from/pdf/SKILL.md", skill("pdf", "newer").as_bytes());
        assert!(add().starts_with("exit 0"), "{link}");
        for said in [run(&place, &["activate", "pdf"]), claude(&["activate", "pdf"])] {
            assert!(said.starts_with("exit 0"), "{link}: {said}");
        }
        assert!(run(&place, &["remove", "pdf"]).starts_with("exit 0"), "{link}");
        let trusted = crate::shelf::json_of(&place, &["trust", "--list", "--json"]);
        assert_eq!(trusted["skills"].as_array().map(Vec::len), Some(0), "{link}: {trusted}");
    }
}

#[test]
fn trust_is_revoked_by_any_path_to_the_skill() {
    for (real, link) in FOLDERS {
        for what in [format!("{link}/pdf"), format!("{link}/pdf/SKILL.md"), link.to_owned()] {
            let place = one_folder(real, link);
            assert!(run(&place, &["add", "./from/pdf", "--yes"]).starts_with("exit 0"), "{link}");
            let said = run(&place, &["trust", "--revoke", &what, "--yes"]);
            assert!(said.starts_with("exit 0"), "{what}: {said}");
            assert!(run(&place, &["activate", "pdf"]).starts_with("exit 2"), "{what}");
        }
    }
}

#[test]
fn an_edited_skill_of_the_user_is_withheld_in_each_client_whose_folder_is_a_link_to_that_of_another() {
    for (real, link) in FOLDERS {
        let place = one_folder(&format!("home/{real}"), "x");
        fs::remove_file(place.path().join("x")).unwrap();
        fs::create_dir_all(place.path().join("home").join(link).parent().unwrap()).unwrap();
        symlink(format!("../{real}"), place.path().join("home").join(link)).unwrap();
        let said = run(&place, &["add", "./from/pdf", "--yes", "--user"]);
        assert!(said.starts_with("exit 0"), "{link}: {said}");
        let claude = |args: &[&str]| run(&place, &[args, &["--client", "claude-code"]].concat());
        assert!(claude(&["activate", "pdf"]).starts_with("exit 0"), "{link}");
        place.write("home/.agents/skills/pdf/SKILL.md", skill("pdf", "edited").as_bytes());
        assert!(claude(&["activate", "pdf"]).starts_with("exit 2"), "{link}");
        // The hint names what has an effect.
        let said = claude(&["list"]);
        assert!(said.contains("prowess sync --overwrite --user"), "{link}: {said}");
        run(&place, &["sync", "--overwrite", "--user", "--yes"]);
        assert!(claude(&["activate", "pdf"]).starts_with("exit 0"), "{link}");
    }
}

#[test]
fn revoking_the_trust_in_a_skill_by_one_path_ends_it_by_each_link_to_the_skill() {
    for what in [".agents/skills/pdf", ".claude/skills/pdf"] {
        for what in [what.to_owned(), format!("{what}/SKILL.md"), what.trim_end_matches("/pdf").to_owned()] {
            let place = place();
            let claude = |args: &[&str]| run(&place, &[args, &["--client", "claude-code"]].concat());
            assert!(claude(&["add", "./from/pdf", "--yes"]).starts_with("exit 0"));
            assert!(place.path().join(".claude/skills/pdf").is_symlink());
            let said = run(&place, &["trust", "--revoke", &what, "--yes"]);
            assert!(said.starts_with("exit 0"), "{what}: {said}");
            assert!(claude(&["activate", "pdf"]).starts_with("exit 2"), "{what}");
            assert!(run(&place, &["activate", "pdf"]).starts_with("exit 2"), "{what}");
            let trusted = crate::shelf::json_of(&place, &["trust", "--list", "--json"]);
            assert_eq!(trusted["skills"].as_array().map(Vec::len), Some(0), "{what}: {trusted}");
        }
    }
}

#[test]
fn trust_in_a_skill_that_is_gone_ends_by_each_link_to_it() {
    for what in [".agents/skills/pdf", ".claude/skills/pdf/SKILL.md"] {
        let place = place();
        let claude = |args: &[&str]| run(&place, &[args, &["--client", "claude-code"]].concat());
        assert!(claude(&["add", "./from/pdf", "--yes"]).starts_with("exit 0"));
        // Another branch does not have it, and the next one has it again.
        let (here, away) = (place.path().join(".agents/skills/pdf"), place.path().join("away"));
        fs::rename(&here, &away).unwrap();
        let said = run(&place, &["trust", "--revoke", what, "--yes"]);
        assert!(said.starts_with("exit 0"), "{what}: {said}");
        fs::rename(&away, &here).unwrap();
        assert!(claude(&["activate", "pdf"]).starts_with("exit 2"), "{what}");
        assert!(run(&place, &["activate", "pdf"]).starts_with("exit 2"), "{what}");
    }
}

#[test]
fn trust_that_was_given_by_a_link_is_revoked_by_the_real_path() {
    for what in ["drafts", "drafts/pdf", "drafts/pdf/SKILL.md", "one", "one/pdf", ".claude/skills/pdf"] {
        let place = place();
        fs::create_dir_all(place.path().join(".claude")).unwrap();
        fs::rename(place.path().join("from"), place.path().join("drafts")).unwrap();
        symlink("../drafts", place.path().join(".claude/skills")).unwrap();
        symlink("drafts", place.path().join("one")).unwrap();
        let claude = |args: &[&str]| run(&place, &[args, &["--client", "claude-code"]].concat());
        assert!(claude(&["trust", "pdf", "--yes"]).starts_with("exit 0"));
        assert!(claude(&["activate", "pdf"]).starts_with("exit 0"));
        let what = place.path().join(what).display().to_string();
        let said = run(&place, &["trust", "--revoke", &what, "--yes"]);
        assert!(said.starts_with("exit 0"), "{what}: {said}");
        assert!(claude(&["activate", "pdf"]).starts_with("exit 2"), "{what}");
    }
    // A folder that is trusted, too.
    let place = place();
    symlink("from", place.path().join("link")).unwrap();
    let of = |folder: &str| place.path().join(folder).display().to_string();
    assert!(run(&place, &["trust", &of("link"), "--yes"]).starts_with("exit 0"));
    let said = run(&place, &["trust", "--revoke", &of("from"), "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
}

#[test]
fn revoking_a_skill_says_when_it_stays_trusted_as_one_that_was_installed_for_the_user() {
    let place = place();
    assert!(run(&place, &["add", "./from/pdf", "--yes", "--user"]).starts_with("exit 0"));
    fs::create_dir_all(place.path().join(".claude/skills")).unwrap();
    let link = place.path().join(".claude/skills/pdf");
    symlink("../../home/.agents/skills/pdf", &link).unwrap();
    // As `prowess trust` wrote it before the link was there.
    let trusted = fs::read_to_string(place.path().join("state/prowess/trust.json")).unwrap();
    let own = format!(
        r#"{{"name":"pdf","location":"{}/SKILL.md","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}},"#,
        link.display()
    );
    let both = trusted.replace("\"skills\": [", &format!("\"skills\": [{own}"));
    place.write("state/prowess/trust.json", both.as_bytes());
    let said = run(&place, &["trust", "--revoke", "./.claude/skills/pdf", "--yes"]);
    assert!(said.contains("still trusted through: [DIR]/home/.agents/skills/pdf/SKILL.md"), "{said}");
    assert!(said.starts_with("exit 0") && said.contains("no longer trusted by itself"), "{said}");
}

#[test]
fn a_skill_of_the_user_that_is_a_link_to_a_project_needs_no_approval_of_its_own() {
    let place = place();
    let work = place.path().join("home/work");
    fs::create_dir_all(work.join(".git")).unwrap();
    fs::create_dir_all(place.path().join("home/.claude/skills")).unwrap();
    place.write("home/work/.claude/skills/x/SKILL.md", skill("x", "one").as_bytes());
    let claude = |folder: &str, args: &[&str]| {
        let mut command = crate::shelf::command(&place);
        command.args(args).args(["--client", "claude-code"]).current_dir(place.path().join(folder));
        place.transcript(&command.output().unwrap())
    };
    assert!(claude("home/work", &["trust", "x", "--yes"]).starts_with("exit 0"));
    symlink(work.join(".claude/skills/x"), place.path().join("home/.claude/skills/x")).unwrap();
    place.write("home/work/.claude/skills/x/SKILL.md", skill("x", "edited").as_bytes());
    let said = claude("from", &["activate", "x"]);
    assert!(said.starts_with("exit 0") && said.contains("edited"), "{said}");
    // In the project, the new files need trust as before.
    fs::remove_file(place.path().join("home/.claude/skills/x")).unwrap();
    assert!(claude("home/work", &["activate", "x"]).starts_with("exit 2"));
}

#[test]
fn removing_a_skill_ends_trust_in_a_skill_inside_it_that_was_trusted_by_the_folder_of_a_client() {
    for (real, link) in FOLDERS {
        let place = one_folder(real, link);
        place.write("from/pdf/inner/SKILL.md", skill("inner", "one").as_bytes());
        let claude = |args: &[&str]| run(&place, &[args, &["--client", "claude-code"]].concat());
        assert!(run(&place, &["add", "./from/pdf", "--yes"]).starts_with("exit 0"), "{link}");
        let ended = run(&place, &["trust", "--revoke", ".agents/skills/pdf/inner", "--yes"]);
        assert!(ended.starts_with("exit 0"), "{link}: {ended}");
        let said = claude(&["trust", "inner", "--yes"]);
        assert!(said.starts_with("exit 0"), "{link}: {said}");
        assert!(run(&place, &["remove", "pdf"]).starts_with("exit 0"), "{link}");
        let trusted = crate::shelf::json_of(&place, &["trust", "--list", "--json"]);
        assert_eq!(trusted["skills"].as_array().map(Vec::len), Some(0), "{link}: {trusted}");
    }
}
