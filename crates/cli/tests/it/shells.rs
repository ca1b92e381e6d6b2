//! Completions in real shells, manual pages, and the other names of commands.

use std::path::Path;
use std::process::Command;

use crate::Place;
use crate::shelf::{self, run, shelf};

/// What a shell prints for a script, with `prowess` on its path; `None` if there is no such shell here.
fn shell(place: &Place, shell: &str, script: &str) -> Option<String> {
    let bin = place.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_prowess"), bin.join("prowess"));
    let found =
        ["/usr/bin", "/bin", "/usr/local/bin"].iter().find(|folder| Path::new(folder).join(shell).exists());
    let Some(folder) = found else {
        crate::skipped(&format!("there is no {shell} here"));
        return None;
    };
    let mut command = Command::new(Path::new(folder).join(shell));
    for (name, value) in shelf::command(place).get_envs() {
        command.env(name, value.unwrap());
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let output = command.current_dir(place.path()).env("PATH", path).args(["-c", script]).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn fish_completes_skills_clients_and_rules() {
    let place = shelf();
    let ask = |line: &str| format!("prowess completions fish | source; complete -C '{line}'");
    let Some(skills) = shell(&place, "fish", &ask("prowess why ma")) else { return };
    assert_eq!(skills, "mail\tWrites letters.\n");
    let clients = shell(&place, "fish", &ask("prowess list --client gemini")).unwrap();
    assert_eq!(clients, "gemini-cli\tGemini CLI\n");
    let rules = shell(&place, "fish", &ask("prowess check --allow name-typed,name-pad")).unwrap();
    assert!(rules.starts_with("name-typed,name-padded\t"), "{rules}");
}

#[test]
fn bash_completes_skills_commands_and_keys() {
    let place = shelf();
    let ask = |words: &str, at: usize, word: &str| {
        format!(
            "source <(prowess completions bash); COMP_WORDS=({words}); COMP_CWORD={at}; COMP_TYPE=9; \
             COMP_LINE='{words}'; _clap_complete_prowess prowess '{word}' x; echo \"${{COMPREPLY[@]}}\""
        )
    };
    let Some(skills) = shell(&place, "bash", &ask("prowess why ma", 2, "ma")) else { return };
    assert_eq!(skills, "mail\n");
    let commands = shell(&place, "bash", &ask("prowess comp", 1, "comp")).unwrap();
    assert_eq!(commands, "completions\n");
    let keys = shell(&place, "bash", &ask("prowess config get scan.de", 3, "scan.de")).unwrap();
    assert_eq!(keys, "scan.depth\n");
}

#[test]
fn cat_completes_the_files_of_the_skill_that_the_line_names() {
    let place = shelf();
    place.write("more/pdf/SKILL.md", b"---\nname: pdf\ndescription: Another.\n---\n");
    place.write("more/pdf/assets/a.md", b"");
    place.write("home/.codex/skills/mail/scripts/send.sh", b"");
    let ask = |words: &str, at: usize, word: &str| {
        format!(
            "source <(prowess completions bash); COMP_WORDS=({words}); COMP_CWORD={at}; COMP_TYPE=9; \
             COMP_LINE=\"{words}\"; _clap_complete_prowess prowess '{word}' x; echo \"${{COMPREPLY[@]}}\""
        )
    };
    let Some(files) = shell(&place, "bash", &ask("prowess cat mail ''", 3, "")) else { return };
    assert!(files.starts_with("SKILL.md scripts/send.sh "), "{files}");
    let complete = |words: &str, at, word| shell(&place, "bash", &ask(words, at, word)).unwrap();
    assert_eq!(complete("prowess cat mail scr", 3, "scr"), "scripts/send.sh\n");
    assert_eq!(complete("prowess cat --in more pdf a", 5, "a"), "assets/a.md\n");
    assert_eq!(complete("prowess cat no-such-skill s", 3, "s"), "\n");
}

/// What the completer itself answers for a line, as the scripts of all shells ask it.
fn completed(place: &Place, words: &[&str]) -> String {
    let mut command = shelf::command(place);
    command.current_dir(place.path()).env("PROWESS_COMPLETE", "fish").args(["--", "prowess"]).args(words);
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn built_in_skills_are_completed_only_for_commands_that_find_them() {
    let place = shelf();
    for command in ["cat", "activate"] {
        assert!(completed(&place, &[command, "code-rev"]).starts_with("code-review\t"), "{command}");
    }
    for command in ["why", "trust", "show", "check"] {
        assert_eq!(completed(&place, &[command, "code-rev"]), "", "{command}");
        assert!(completed(&place, &[command, "ma"]).starts_with("mail\t"), "{command}");
    }
}

#[test]
fn commands_and_sources_are_completed() {
    let place = shelf();
    place.write("my-folder/x", b"");
    let ask = |line: &str| format!("prowess completions fish | source; complete -C '{line}'");
    let Some(commands) = shell(&place, "fish", &ask("prowess man doc")) else { return };
    assert!(commands.starts_with("doctor\t"), "{commands}");
    let folders = shell(&place, "fish", &ask("prowess add my-fo")).unwrap();
    assert!(folders.contains("my-folder/"), "{folders}");
}

#[test]
fn zsh_takes_its_script() {
    let place = shelf();
    let script =
        "autoload -U compinit && compinit -u -D; source <(prowess completions zsh); print ${_comps[prowess]}";
    let Some(function) = shell(&place, "zsh", script) else { return };
    assert_eq!(function, "_clap_dynamic_completer_prowess\n");
}

#[test]
fn a_name_with_characters_of_a_shell_is_not_completed() {
    let hostile = "---\nname: $(touch pwned)\ndescription: d\n---\n";
    let place = Place::with(&[("home/.agents/skills/x/SKILL.md", hostile)]);
    let Some(found) = shell(&place, "fish", "prowess completions fish | source; complete -C 'prowess why '")
    else {
        return;
    };
    assert!(!found.contains("touch"), "{found}");
}

#[test]
fn a_path_with_characters_of_a_shell_is_not_completed() {
    let place = Place::with(&[("$(touch pwned)/SKILL.md", ""), ("plain/SKILL.md", "")]);
    for line in ["prowess add ./", "prowess list --in ./", "prowess eval ./", "prowess new x --dir ./"] {
        let script = format!("prowess completions fish | source; complete -C '{line}'");
        let Some(found) = shell(&place, "fish", &script) else { return };
        assert!(found.contains("plain") && !found.contains("touch"), "{line}: {found}");
    }
}

#[test]
fn every_shell_has_a_script_and_another_is_refused() {
    let place = Place::with(&[]);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.output(&["completions", shell]);
        assert!(String::from_utf8_lossy(&script.stdout).contains("PROWESS_COMPLETE"), "{shell}");
    }
    assert_eq!(place.output(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn each_command_has_a_manual_page() {
    let place = Place::with(&[]);
    let page = |args: &[&str]| String::from_utf8(place.output(args).stdout).unwrap();
    assert!(page(&["man"]).contains(".TH prowess 1"));
    assert!(page(&["man", "list"]).contains("prowess\\-list \\- List the skills"));
    let header = format!("\"prowess {}\"", env!("CARGO_PKG_VERSION"));
    for (args, title) in [(&["man"][..], ".TH prowess 1"), (&["man", "list"], ".TH prowess-list 1")] {
        let page = page(args);
        assert!(page.contains(title) && page.contains(&header), "{page}");
    }
    assert!(run(&place, &["man", "lst"]).contains("there is no such command: lst; did you mean list"));
    insta::assert_snapshot!(run(&place, &["man", "nothing"]), @r"
    exit 2
    --- stderr
    error: there is no such command: nothing
      hint: list the commands with: prowess help
    ");
}

#[test]
fn the_names_that_people_try_work() {
    let place = shelf();
    for (other, name) in [("ls", "list"), ("find", "search"), ("lint", "check"), ("info", "show")] {
        let args = |first: &'static str| match first {
            "ls" | "list" => vec![first],
            "lint" | "check" => vec![first, "home/.codex/skills/mail"],
            _ => vec![first, "mail"],
        };
        assert_eq!(run(&place, &args(other)), run(&place, &args(name)), "{other}");
    }
    let install = place.output(&["install", "--help"]);
    assert_eq!(install.stdout, place.output(&["add", "--help"]).stdout);
}

#[test]
fn bash_completes_paths_values_after_an_equals_sign_and_names_with_spaces() {
    let place = shelf();
    place.write("newd/some-new/SKILL.md", b"---\nname: some-new\ndescription: d\n---\n");
    place.write("home/.codex/skills/pair/SKILL.md", b"---\nname: Pair Programming\ndescription: d\n---\n");
    let ask = |words: &str, at: usize, word: &str| {
        let script = format!(
            "source <(prowess completions bash); COMP_WORDS=({words}); COMP_CWORD={at}; COMP_TYPE=9; \
             COMP_LINE=\"{words}\"; _clap_complete_prowess prowess '{word}' x; echo \"${{COMPREPLY[@]}}\""
        );
        shell(&place, "bash", &script)
    };
    let Some(found) = ask("prowess check newd/so", 2, "newd/so") else { return };
    assert_eq!(found, "newd/some-new/\n");
    let of = |words: &str, at: usize, word: &str| ask(words, at, word).unwrap();
    assert_eq!(of("prowess show newd/some-new/SK", 2, "newd/some-new/SK"), "newd/some-new/SKILL.md\n");
    assert_eq!(of("prowess check '~/.cod'", 2, "~/.cod"), "~/.codex/\n");
    assert_eq!(of("prowess trust ./new", 2, "./new"), "./newd/\n");
    assert_eq!(of("prowess list --client = gemini", 4, "gemini"), "gemini-cli\n");
    assert!(of("prowess list --client = ''", 3, "").contains("codex"));
    assert_eq!(of("prowess check --ignore = yaml-synt", 4, "yaml-synt"), "yaml-syntax\n");
    assert_eq!(of("prowess check --deny warn", 3, "warn"), "warnings\n");
    assert_eq!(of("prowess why Pair", 2, "Pair"), "Pair\\ Programming\n");
    let key = "check.levels.name-upp";
    assert_eq!(of(&format!("prowess config set {key}"), 3, key), "check.levels.name-uppercase\n");
    let commands = of("prowess ''", 1, "");
    for name in ["search", "show", "check", "list", "add", "remove"] {
        assert!(commands.split_whitespace().any(|word| word == name), "{name}: {commands}");
    }
    assert!(!commands.split_whitespace().any(|word| word == "rm"), "{commands}");
    assert_eq!(of("prowess fin", 1, "fin"), "find\n");
}
