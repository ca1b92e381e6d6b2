//! Rules about the skill's files: the name of SKILL.md, how many files there are and how large they are.

use crate::check::findings::Findings;
use crate::files::manifest::Manifest;
use crate::finding::Finding;
use crate::finding::rule::rules;
use crate::limits::{MAX_SKILL_BYTES, MAX_SKILL_FILES};
use crate::skill::location::Origin;

rules! {
    FILE_NAME_CASE = "file-name-case" [W O W E W],
        "the file is not called SKILL.md",
        "The name is `SKILL.md`, in capitals. Most clients on case-sensitive file systems do not find another.\n\nRename the file.";
    FILE_LEFT_OUT = "file-left-out" [W O W W W],
        "an entry of the folder is not a file of the skill",
        "A skill's files are regular files whose names every system can store, in the skill's own folder: no broken links or links out of it, no sockets, no names with `:` or `?` or that are not UTF-8. What is left out is not listed for agents, not installed and not served. A file whose name only this system can store can still be read here by an agent that knows its name. Of `SKILL.md` and `skill.md` in one folder only the first is a file of the skill: on other systems they are one file.\n\nRename it, put the file itself in place of the link, make it readable, or remove it.";
    SKILL_REPOSITORY = "skill-repository" [W O E E W],
        "a version control system takes a folder of the skill for a repository",
        "An agent that calls `git status` or `hg status` in a folder runs the programs that the configuration of its repository names. A folder is a repository by an entry such as `.hg`, `.jj` or `.svn`, and for git also by the files `HEAD` and `config`, or the folders `objects` and `refs`, in any case. Such a skill is not installed from a repository and not published. What a clone has of its own, such as `.git` or `.hg` in the folder of the skill, is no part of the skill: `add` leaves it out of a folder.\n\nRename the files, or put them into an archive.";
    SKILL_TOO_MANY_FILES = "skill-too-many-files" [W O W W O],
        "the skill has more than 512 files",
        "Hosts that get skills over MCP need not accept more than 512 files.";
    SKILL_TOO_LARGE = "skill-too-large" [W O W W O],
        "the skill is larger than 16 MiB",
        "Hosts that get skills over MCP need not accept more than 16 MiB.";
}

/// The most left-out entries that are named; the rest is counted.
const MAX_NAMED: usize = 20;

/// Checks the name of the skill's own file.
pub(in crate::check) fn check_name(at: &Origin, findings: &mut Findings<'_>) {
    if let Some(file) =
        at.file.as_deref().filter(|file| *file != "SKILL.md" && file.eq_ignore_ascii_case("skill.md"))
    {
        let message = format!("the file is not called SKILL.md: {file}");
        findings.push(Finding::new(&FILE_NAME_CASE, message).with_help("rename it to SKILL.md"));
    }
}

/// Checks the folder's contents.
pub(in crate::check) fn check(files: Option<&Manifest>, findings: &mut Findings<'_>) {
    let Some(files) = files else { return };
    for left in files.left_out.iter().take(MAX_NAMED) {
        let message =
            format!("an entry of the folder is not a file of the skill: {}: {}", left.path, left.reason);
        let help = if left.unreadable {
            "make it readable for this user, or remove it"
        } else {
            "rename it, or remove it"
        };
        findings.push(Finding::new(&FILE_LEFT_OUT, message).with_help(help));
    }
    if let Some(more) = files.left_out.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        let message = format!("more entries of the folder are not files of the skill: {more}");
        findings.push(Finding::new(&FILE_LEFT_OUT, message));
    }
    if let Some(found) = files.repository() {
        let message =
            format!("{} takes this folder of the skill for a repository: {}", found.system, found.folder);
        let help = "rename its files, or put them into an archive";
        findings.push(Finding::new(&SKILL_REPOSITORY, message).with_help(help));
    }
    let least = if files.incomplete { "at least " } else { "" };
    let count = files.files.len();
    if count > MAX_SKILL_FILES {
        let message = format!("the skill has {least}{count} files, more than {MAX_SKILL_FILES}");
        findings.push(Finding::new(&SKILL_TOO_MANY_FILES, message));
    }
    let size = files.total_size();
    if size > MAX_SKILL_BYTES {
        let message = format!("the skill has {least}{size} bytes, more than {MAX_SKILL_BYTES}");
        findings.push(Finding::new(&SKILL_TOO_LARGE, message));
    }
}
