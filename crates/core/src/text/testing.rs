//! The number of cases that the properties run.

use proptest::test_runner::Config;

/// The cases of each named property: 10³, or as many as `PROWESS_PROPERTY_CASES` says; `.ci/nightly` says 10⁴.
pub(crate) fn many() -> Config {
    #[expect(clippy::disallowed_methods, reason = "this is a test")]
    let asked = std::env::var("PROWESS_PROPERTY_CASES").ok().and_then(|number| number.parse().ok());
    Config {
        cases: asked.unwrap_or(1_000),
        failure_persistence: None,
        max_global_rejects: u32::MAX,
        ..Config::default()
    }
}
