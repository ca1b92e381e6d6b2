//! Tests of reading and writing where to install from; `conformance/install.json` has the cases one by one.

use proptest::prelude::*;

use super::*;
use crate::install::InstallErrorKind;

/// What is read of a text is written so that it is read as the same.
fn round_trip(text: &str) {
    if let Ok(spec) = text.parse::<InstallSpec>() {
        let written = spec.to_string();
        assert_eq!(written.parse::<InstallSpec>().ok(), Some(spec), "{text:?} written as {written:?}");
    }
}

proptest! {
    #![proptest_config(crate::env::many_cases())]

    #[test]
    fn any_text_is_read_without_a_panic_and_written_as_it_is_read(text in "\\PC{0,40}") {
        round_trip(&text);
    }

    #[test]
    fn what_looks_like_an_address_is_written_as_it_is_read(
        text in "(\\./|~/|@|git@|ext::|(https|http|ssh|git|file|git\\+https)://)?\
                 (github\\.com/|gitlab\\.com/|127\\.0\\.0\\.1:8/|u@h/|h:|/)?\
                 [a-z.-]{1,3}/[a-z.-]{1,4}(\\.git)?(/tree|/-/tree|/blob)?(/[a-z%25#?@. -]{1,5}){0,3}\
                 (@[a-z]{1,3})?(#[a-z./-]{1,5})?"
    ) {
        round_trip(&text);
    }
}

#[test]
fn a_refusal_names_the_text_and_says_what_to_write() {
    let error = "ext::sh -c touch% x".parse::<InstallSpec>().unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Request);
    assert_eq!(
        error.to_string(),
        "nothing can be installed from this: ext::sh -c touch% x: this way of transport is not used"
    );
    assert_eq!(error.hint().to_string(), "use https://, ssh://, git@host:path or file://");
}

#[test]
fn a_refused_password_is_not_repeated() {
    for text in
        ["https://joe:hunter2@host/x.git", "https://hunter2@host/x.git", "ssh://joe:hunter2@host/x.git"]
    {
        let error = text.parse::<InstallSpec>().unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert!(error.hint().to_string().contains("credential helper"), "{error}");
    }
    for text in [
        "https://host/x.git?token=hunter2",
        "https://joe:pw@host/x.git?a=b&token=hunter2#x",
        "ftp://host/x.git?hunter2",
        "https://host/../x.git#hunter2",
        "joe:hunter2@host:x.git",
        "joe:hunter2@host/x.git",
    ] {
        let error = text.parse::<InstallSpec>().unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    let said = "fatal: unable to access 'https://a:b@h/x/': 403 and ssh://git@h/x";
    assert_eq!(
        without_credentials(said),
        "fatal: unable to access 'https://***@h/x/': 403 and ssh://***@h/x"
    );
}

#[test]
fn a_host_is_told_from_each_kind_of_address() {
    for (url, host) in [
        ("https://h.example:8/x.git", "h.example:8"),
        ("ssh://git@h/x", "h"),
        ("git@h:x/y.git", "h"),
        ("file:///srv/x", ""),
    ] {
        assert_eq!(host_of(url), host, "{url}");
    }
}

#[test]
fn a_folder_that_was_given_by_a_program_is_written_as_a_folder() {
    let spec = InstallSpec::of(InstallPlace::Folder(PathBuf::from("skills/pdf")));
    assert_eq!(spec.to_string(), "./skills/pdf");
}

#[test]
fn parts_without_a_short_form_are_shown_in_parentheses() {
    let mut spec: InstallSpec = "git@h:x.git#v1".parse().unwrap();
    spec.skill = Some("pdf".to_owned());
    assert_eq!(spec.to_string(), "git@h:x.git#v1 (pdf)");
}

#[test]
fn a_long_text_that_is_refused_is_shown_as_cut() {
    let text = format!("https://h.example/{}?", "y".repeat(300));
    let error = text.parse::<InstallSpec>().unwrap_err().to_string();
    assert!(error.contains("yyy…: it has a ? in it"), "{error}");
}
