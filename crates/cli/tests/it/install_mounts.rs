//! A folder of the user that is mounted in an installed skill, in a copy of one, or in what an installation left: nothing
//! is moved, replaced or deleted through the mount.

use std::fs;
use std::process::{Command, Stdio};

use crate::install::{place, read};
use crate::install_places::kept_for_project;
use crate::shelf::{command, run};
use crate::{Place, skipped};

/// A place in which `pdf` is installed, and a folder of the user has the files of its `scripts`.
fn installed(more: &[&str]) -> Place {
    let place = place();
    let said = run(&place, &[&["add", "./from/pdf", "--yes"], more].concat());
    assert!(said.starts_with("exit 0"), "{said}");
    fs::create_dir(place.path().join("real")).unwrap();
    fs::copy(place.path().join("from/pdf/scripts/run.sh"), place.path().join("real/run.sh")).unwrap();
    place
}

/// What a script of the shell says in a mount namespace of its own, in which `$prowess` is the command. None where that
/// is not possible.
fn in_namespace(place: &Place, script: &str) -> Option<String> {
    let own = command(place);
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", script]).stdin(Stdio::null());
        let variables = own.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("prowess", own.get_program()).envs(variables);
        command.current_dir(own.get_current_dir().unwrap()).output()
    };
    // Linux says from 5.8 on what is a mount point. Before, one on the same file system is only found when it is deleted.
    let probe = "uname -r | awk -F. '{exit !($1 > 5 || $1 == 5 && $2 >= 8)}' && mkdir mounted && \
                 mount --bind mounted mounted";
    if !unshare(probe).is_ok_and(|output| output.status.success()) {
        skipped("no folder can be mounted in a namespace here, or the kernel does not say what is mounted");
        return None;
    }
    Some(place.transcript(&unshare(script).unwrap()))
}

#[test]
fn a_skill_with_a_mount_in_it_is_neither_removed_nor_replaced_and_the_mount_is_named() {
    for mount in [
        "mount --bind real .agents/skills/pdf/scripts",
        // A file can be a mount point too.
        "mount --bind real/run.sh .agents/skills/pdf/scripts/run.sh",
        "mount --bind .agents/skills/pdf .agents/skills/pdf",
    ] {
        for change in [
            "remove pdf",
            "remove pdf --overwrite --yes",
            "remove pdf --overwrite --yes --dry-run",
            "sync --overwrite --yes",
            "add ./from/pdf --yes --overwrite",
        ] {
            let place = installed(&[]);
            let lock = read(&place, "skills.lock");
            let script = format!("{mount} && $prowess {change}; echo $? > code; find .agents -type f | sort");
            let Some(said) = in_namespace(&place, &script) else { return };
            let files = ".agents/skills/pdf/SKILL.md\n.agents/skills/pdf/scripts/run.sh\n";
            assert!(said.contains(files) && !said.contains(".stage"), "{mount}: {change}: {said}");
            assert_eq!(read(&place, "code"), "2\n", "{mount}: {change}: {said}");
            let at = mount.rsplit(' ').next().unwrap();
            assert!(said.contains(&format!(": [DIR]/{at}\n")), "{mount}: {change}: {said}");
            assert!(said.contains("hint: unmount it, then run the command again"), "{change}: {said}");
            assert_eq!(read(&place, "skills.lock"), lock, "{mount}: {change}");
            assert!(place.path().join("real/run.sh").exists(), "{mount}: {change}");
        }
    }
}

#[test]
fn a_skill_with_a_mount_in_it_is_not_as_installed() {
    let place = installed(&[]);
    let script = "mount --bind real .agents/skills/pdf/scripts; $prowess verify; $prowess doctor; $prowess remove pdf --keep";
    let Some(said) = in_namespace(&place, script) else { return };
    assert!(said.contains("pdf  changed: scripts: something is mounted here\n"), "{said}");
    let first = "; unmount [DIR]/.agents/skills/pdf/scripts, then restore with: prowess sync --overwrite\n";
    assert!(said.contains(first), "{said}");
    let fix = "hint: unmount [DIR]/.agents/skills/pdf/scripts, then look again";
    assert!(said.contains(fix) && !said.contains("fix: prowess sync"), "{said}");
    assert!(place.path().join("real/run.sh").exists());
    assert!(place.path().join(".agents/skills/pdf/scripts/run.sh").exists());
}

#[test]
fn a_copy_of_a_client_with_a_mount_in_it_is_not_removed() {
    let place = installed(&["--client", "claude-code", "--link", "copy"]);
    let script = "mount --bind real .claude/skills/pdf/scripts && $prowess remove pdf --overwrite --yes";
    let Some(said) = in_namespace(&place, script) else { return };
    assert!(said.contains(": [DIR]/.claude/skills/pdf/scripts\n"), "{said}");
    for path in ["real/run.sh", ".claude/skills/pdf/scripts/run.sh", ".agents/skills/pdf/SKILL.md"] {
        assert!(place.path().join(path).exists(), "{path}: {said}");
    }
}

#[test]
fn nothing_that_is_mounted_in_a_leftover_is_deleted_by_a_later_command() {
    let place = installed(&[]);
    place.write(".agents/skills/.prowess-0123.stage/0/scripts/run.sh", b"old");
    let staged = fs::canonicalize(place.path().join(".agents/skills/.prowess-0123.stage")).unwrap();
    fs::write(kept_for_project(&place, "stages"), serde_json::to_vec(&[&staged]).unwrap()).unwrap();
    place.write("real/precious", b"mine");
    let script = "mount --bind real .agents/skills/.prowess-0123.stage/0/scripts
        $prowess verify; $prowess list; $prowess sync --yes; $prowess add ./from/notes --yes
        $prowess doctor --fix --yes; find real -type f | sort
        $prowess remove notes";
    let Some(said) = in_namespace(&place, script) else { return };
    assert!(said.contains("real/precious\nreal/run.sh\n"), "{said}");
    assert_eq!(read(&place, "real/precious"), "mine");
    let unmount = "unmount [DIR]/.agents/skills/.prowess-0123.stage/0/scripts";
    assert!(said.contains(&format!("hint: {unmount}, then run the command again")), "{said}");
    // Removing a skill says what could not be deleted, and never that it is to be deleted with the mount in it.
    assert!(said.contains(&format!("{unmount} first: ")) && !said.contains("delete it yourself"), "{said}");
    // It can be removed once nothing is mounted there.
    assert!(run(&place, &["verify"]).starts_with("exit 0"));
    assert!(!staged.exists() && place.path().join("real/precious").exists());
}

#[test]
fn nothing_that_is_mounted_in_an_unfinished_skill_is_deleted() {
    let place = installed(&[]);
    place.write("new/.prowess-0123.tmp/scripts/run.sh", b"old");
    place.write("real/precious", b"mine");
    let script = "mount --bind real new/.prowess-0123.tmp/scripts && cd new && $prowess new tidy";
    let Some(said) = in_namespace(&place, script) else { return };
    assert_eq!(read(&place, "real/precious"), "mine", "{said}");
    assert!(place.path().join("new/tidy/SKILL.md").exists(), "{said}");
}
