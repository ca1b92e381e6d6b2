//! Which value counts, for users and projects that set the same keys.

use std::fs;

use prowess_core::HostTools;
use prowess_core::session::{Filter, Options};

use super::*;
use crate::error::SourceErrorKind;
use crate::library::{LibraryOptions, library, library_with_session};

/// A home and a project with these files.
fn place(user: &str, project: &str, trusted: bool) -> (tempfile::TempDir, Environment) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("p/.git")).unwrap();
    fs::create_dir_all(root.join("home/.config/prowess")).unwrap();
    fs::write(root.join("home/.config/prowess/prowess.toml"), user).unwrap();
    fs::write(root.join("p/prowess.toml"), project).unwrap();
    let environment = Environment::of([("HOME", root.join("home").to_str().unwrap())]);
    if trusted {
        let file = Approvals::file(&environment).unwrap();
        Approvals::update(&file, |approvals| {
            approvals.trust_folder(root.join("p"));
            Ok::<_, crate::SourceError>(())
        })
        .unwrap();
    }
    (folder, environment)
}

fn values(settings: &EffectiveSettings, key: &str) -> Vec<String> {
    let of_key = settings.values.iter().filter(|setting| setting.key.to_string() == key);
    of_key
        .map(|setting| format!("{:?} {}", setting.origin, setting.value.clone().unwrap_or_default()))
        .collect()
}

fn unused(settings: &EffectiveSettings) -> Vec<String> {
    let words = |(setting, why): &(ConfigSetting, WhyUnused)| format!("{} {}", setting.key, why.code());
    settings.unused.iter().map(words).collect()
}

#[test]
fn the_user_comes_before_the_project_and_lists_of_both_count() {
    let user =
        "[scan]\ndepth = 2\n[skills]\ndisable = ['a']\nduplicates = 'last'\n[check]\nprofile = 'plugin'\n";
    let project = "[scan]\ndepth = 1\nnested = false\n[skills]\ndisable = ['b']\nduplicates = 'error'\n\
                   [check]\nprofile = 'anthropic'\n[session]\ntools = ['Read']\nplain = true\n";
    let (folder, environment) = place(user, project, true);
    let settings = EffectiveSettings::of(&folder.path().join("p"), &environment, &[]).unwrap();
    assert_eq!(values(&settings, "scan.depth"), ["User 2"]);
    assert_eq!(values(&settings, "scan.nested"), ["Project false"]);
    assert_eq!(values(&settings, "skills.disable"), [r#"User ["a"]"#, r#"Project ["b"]"#]);
    assert_eq!(values(&settings, "skills.duplicates"), [r#"User "last""#]);
    assert_eq!(values(&settings, "check.profile"), [r#"Project "anthropic""#]);
    assert_eq!(values(&settings, "session.tools"), [r#"Project ["Read"]"#]);
    assert_eq!(values(&settings, "session.plain"), ["Default false"]);
    assert_eq!(values(&settings, "skills.strict"), ["Default null"]);
    assert_eq!(
        unused(&settings),
        [
            "check.profile only-in-project",
            "skills.duplicates overridden",
            "scan.depth overridden",
            "session.plain only-in-own-file"
        ]
    );
    let options = [("scan.depth", Value::from(9)), ("skills.disable", Value::from(vec!["c"]))];
    let settings = EffectiveSettings::of(&folder.path().join("p"), &environment, &options).unwrap();
    assert_eq!(values(&settings, "scan.depth"), ["Option 9"]);
    assert_eq!(values(&settings, "skills.disable").len(), 3);
}

#[test]
fn a_project_that_is_not_trusted_only_narrows() {
    let project = "[scan]\ndepth = 20\nnested = false\n[skills]\ndisable = ['b']\nduplicates = 'error'\n\
                   sources = [{ url = 'https://x.test' }, { mcp = 'https://y.test' }, { dir = 'v' },\n\
                   { dir = '/etc/other' }, { archive = '../x.zip' }, { jsonl = '~/x.jsonl' }, { plugin = '..' }]\n\
                   [session]\nfilter = 'none'\nmax_activation_bytes = 9\n";
    let (folder, environment) = place("", project, false);
    let settings = EffectiveSettings::of(&folder.path().join("p"), &environment, &[]).unwrap();
    assert_eq!(values(&settings, "scan.nested"), ["Project false"]);
    assert_eq!(values(&settings, "skills.sources"), [r#"Project [{"dir":"v"}]"#]);
    assert_eq!(
        settings.untrusted(),
        [
            "skills.sources",
            "skills.duplicates",
            "scan.depth",
            "session.filter",
            "session.max_activation_bytes"
        ]
    );
    assert!(unused(&settings).contains(&"skills.sources server-of-project".to_owned()));
    assert_eq!(settings.values.iter().find(|one| one.key.key.name == "disable").unwrap().line, Some(5));
    // What waits for trust is what a library reports.
    let waits = settings
        .unused
        .iter()
        .filter(|(one, why)| one.key.to_string() == "skills.sources" && *why == WhyUnused::Untrusted);
    let library = library(&folder.path().join("p"), &environment, &LibraryOptions::default()).unwrap();
    let _ = library.refresh_local();
    let problems = library.problems();
    let withheld = problems.iter().filter(|problem| {
        matches!(problem.kind, SourceErrorKind::SiteOfProject | SourceErrorKind::OutsideProject)
    });
    assert_eq!((waits.count(), withheld.count()), (5, 5));
}

#[test]
fn a_number_means_the_same_in_every_notation() {
    for written in ["2", "0x2", "0b10", "0o2", "+2"] {
        let text = format!("[scan]\ndepth = {written}\n[session]\nmax_activation_bytes = {written}\n");
        let (folder, environment) = place("", &text, true);
        let settings = EffectiveSettings::of(&folder.path().join("p"), &environment, &[]).unwrap();
        assert_eq!(values(&settings, "scan.depth"), ["Project 2"], "{written}");
        assert_eq!(values(&settings, "session.max_activation_bytes"), ["Project 2"], "{written}");
    }
    // A value that is not lower has no effect, however large it is.
    let large = "[session]\nmax_activation_bytes = 18446744073709551615\n";
    let (folder, environment) = place("", large, true);
    let settings = EffectiveSettings::of(&folder.path().join("p"), &environment, &[]).unwrap();
    assert_eq!(unused(&settings), ["session.max_activation_bytes not-lower"]);
    let (folder, environment) = place(large, "[session]\nmax_activation_bytes = 9\n", true);
    let settings = EffectiveSettings::of(&folder.path().join("p"), &environment, &[]).unwrap();
    assert_eq!(values(&settings, "session.max_activation_bytes"), ["Project 9"]);
}

#[test]
fn a_project_sets_what_the_user_leaves_open_and_loosens_nothing() {
    let session = |user: &str, project: &str| {
        let [user, project] = [user, project].map(|text| format!("[session]\n{text}"));
        let (folder, environment) = place(&user, &project, true);
        EffectiveSettings::of(&folder.path().join("p"), &environment, &[]).unwrap().session()
    };
    let project = "filter = 'a/*'\ntools = []\nplain = true\ninline = true\nlocation = true\n\
                   max_activation_bytes = 99999999\nmax_kept_bytes = 99999999";
    let used = session("filter = 'none'", project);
    assert_eq!((used.policy().filter, used.filter_file.is_some()), (Filter::none(), true));
    assert_eq!(used.policy().host_tools, HostTools::Only(Vec::new()));
    assert_eq!((used.options(), used.location), (Options::default(), None));
    let used = session("max_activation_bytes = 5000", "max_activation_bytes = 10\nmax_kept_bytes = 20");
    assert_eq!((used.options().max_activation_bytes, used.options().max_kept_bytes), (10, 20));
}

/// What is said about sessions is what sessions get, for every combination of values.
#[test]
fn what_is_said_about_sessions_is_what_they_get() {
    let values = ["", "max_activation_bytes = 10\n", "max_activation_bytes = 99999999\n", "filter = 'a/*'\n"];
    for user in values {
        for project in values {
            for trusted in [true, false] {
                let [own, of_project] = [user, project].map(|text| format!("[session]\n{text}"));
                let (folder, environment) = place(&own, &of_project, trusted);
                let from = folder.path().join("p");
                let settings = EffectiveSettings::of(&from, &environment, &[]).unwrap();
                let options = LibraryOptions::default();
                let (_, used) = library_with_session(&from, &environment, &options).unwrap();
                let value = |key: &str| {
                    let mut all = settings.values.iter();
                    all.find(|one| one.key.to_string() == key).and_then(|one| one.value.clone())
                };
                let most = value("session.max_activation_bytes").and_then(|most| most.as_u64());
                assert_eq!(
                    most,
                    Some(used.options().max_activation_bytes as u64),
                    "{user}{project}{trusted}"
                );
                let filter = value("session.filter").is_some();
                assert_eq!(filter, used.filter.is_some(), "{user}{project}{trusted}");
            }
        }
    }
}
