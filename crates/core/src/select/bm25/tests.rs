//! Tests of the ranking: computed by hand, the same bits for every way of building, and hard input.

use super::{Bm25, Settings};
use crate::select::testing::entry;
use crate::select::{Corpus, Field, Hit, Postings, Query, Reader, Selector as _, Texts};

fn index(skills: &[(&str, &str, Option<&str>)], settings: Settings) -> Bm25 {
    let mut reader = Reader::new();
    for (name, about, body) in skills {
        reader.add(&Texts { name, about: vec![about], body: *body });
    }
    let keys = skills.iter().map(|(name, ..)| (*name).to_owned()).collect();
    Bm25::new(keys, reader.finish(), settings)
}

fn keys(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.key.as_str()).collect()
}

fn close(found: f32, expected: f32) {
    assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
}

#[test]
fn a_score_is_what_the_formula_says() {
    let skills =
        [("alpha", "red fish", Some("blue blue")), ("beta", "red bird", None), ("gamma", "green tree", None)];
    let index = index(&skills, Settings::default());
    // All names have 1 word, all descriptions 2, the one body 2: every length is the mean, so norms are the weights.
    let ln = |x: f32| x.ln();
    // "fish" is in 1 of 3 skills, once in the description.
    let fish = ln(1.0 + 2.5 / 1.5) * 3.0 / (1.6 + 3.0);
    let hits = index.search("fish", 5, None);
    assert_eq!(keys(&hits), ["alpha"]);
    close(hits[0].score, fish);
    // "red" is in 2 of 3; half a share of coverage for the skill without "fish", and "red fish" is a pair.
    let hits = index.search("red fish", 5, None);
    assert_eq!(keys(&hits), ["alpha", "beta"]);
    let (rare, common) = (ln(1.0 + 2.5 / 1.5), ln(1.0 + 1.5 / 2.5));
    let share = 3.0 / 4.6;
    close(hits[0].score, (rare + common + 0.4 * rare) * share);
    close(hits[1].score, common * share * (common / (rare + common)).powf(0.25));
    // Twice in the body only: 0.25 × 2 ÷ (1.6 + 0.25 × 2).
    let hits = index.search("blue", 5, None);
    close(hits[0].score, rare * 0.5 / 2.1);
    assert_eq!(hits[0].why[0].field, Field::Body);
}

#[test]
fn reasons_sum_to_the_score() {
    let skills = [
        ("pdf-forms", "Fill in PDF forms and fields", Some("# PDF\nFill every form field of the PDF.")),
        ("git-commit", "Write commit messages", Some("Fill in the message form.")),
    ];
    let index = index(&skills, Settings::default());
    for query in ["fill pdf form", "form", "write a pdf commit mesage form form form"] {
        for hit in index.search(query, 9, None) {
            let sum: f32 = hit.why.iter().map(|reason| reason.score).sum();
            assert!((sum - hit.score).abs() < 1e-4 * hit.score, "{query}: {sum} is not {}", hit.score);
            assert!(hit.why.iter().all(|reason| reason.score > 0.0));
        }
    }
}

#[test]
fn an_unknown_word_is_read_as_the_nearest_known_one() {
    let skills = [("kubernetes-deploy", "Deploy to Kubernetes", None), ("pdf", "Fill forms", None)];
    let find =
        |text: &str, typo| index(&skills, Settings { typo, ..Settings::default() }).search(text, 5, None);
    let hits = find("kubernetse", 0.6);
    assert_eq!(keys(&hits), ["kubernetes-deploy"]);
    assert_eq!(hits[0].why[0].instead_of.as_deref(), Some("kubernets"));
    assert_eq!(keys(&find("kubernetse", 0.0)), [""; 0]);
    assert_eq!(keys(&find("xubernetes", 0.6)), [""; 0]);
}

#[test]
fn neighbouring_words_count_more() {
    let skills = [("a", "code to review later", None), ("b", "later review code", None)];
    assert_eq!(keys(&index(&skills, Settings::default()).search("review code", 5, None)), ["b", "a"]);
}

#[test]
fn an_empty_query_finds_nothing_and_equal_skills_are_sorted_by_key() {
    assert_eq!(index(&[], Settings::default()).search("pdf", 5, None), []);
    let same = [("c", "pdf", Some("x")), ("a", "pdf", Some("x")), ("b", "pdf", Some("x"))];
    let same = index(&same, Settings::default());
    assert_eq!(keys(&same.search("pdf", 2, None)), ["a", "b"]);
    assert_eq!(same.search("pdf", 0, None), []);
    assert_eq!(same.search("", 5, None), []);
    let one = index(&[("a", "pdf", None)], Settings::default());
    assert_eq!(keys(&one.search("pdf", usize::MAX, None)), ["a"]);
}

#[test]
fn hard_queries_have_defined_results_in_bounded_time() {
    let index = index(&[("pdf-forms", "Fill in PDF forms 表单", Some("c++ k8s"))], Settings::default());
    let long = "pdf form ".repeat(12_000);
    let many: String = (0..20_000).map(|number| format!("w{number} ")).collect();
    for (query, found) in [
        ("x", 0),
        ("😀🎉👩‍👩‍👧", 0),
        ("\u{0}\u{1}\u{1b}[31m\u{7f}", 0),
        ("PDF \u{0} 表单 форма", 1),
        (&long, 1),
        (&many, 0),
        ("C++", 1),
    ] {
        let hits = index.search(query, 5, None);
        assert_eq!(hits.len(), found, "{:?}", query.chars().take(20).collect::<String>());
        assert!(hits.iter().all(|hit| hit.score.is_finite() && hit.score > 0.0));
    }
}

#[test]
fn only_skills_that_may_be_shown_are_found() {
    let skills = [("a", "pdf", None), ("b", "pdf pdf", None), ("c", "pdf", None)];
    let index = index(&skills, Settings::default());
    let (a, c, stranger) = (entry("a", ""), entry("c", ""), entry("zz", ""));
    for among in [[&a, &c, &stranger], [&stranger, &c, &a]] {
        assert_eq!(keys(&index.select(&Query::text("pdf"), &among, 5).unwrap()), ["a", "c"]);
    }
}

/// Skills with common and rare words, long lists and equal scores.
fn library(count: usize) -> Vec<(String, String, String)> {
    let words =
        ["deploy", "review", "test", "image", "chart", "query", "parse", "train", "mail", "cloud", "rare"];
    let word = |seed: usize| words[(seed * seed / 7 + seed) % words.len()];
    let text = |seed: usize, length: usize| {
        (0..length).map(|at| word(seed * 31 + at * 17)).collect::<Vec<_>>().join(" ")
    };
    (0..count)
        .map(|at| (format!("{}-{at:04}", word(at)), text(at / 2, 5 + at % 4), text(at / 3, 20 + at % 50)))
        .collect()
}

#[test]
fn leaving_postings_unread_changes_nothing() {
    let skills = library(3_000);
    let rows: Vec<_> = skills.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), Some(c.as_str()))).collect();
    let index = index(&rows, Settings::default());
    for query in
        ["deploy", "rare image chart", "review test query parse train mail cloud", "rare deploy deploy mail"]
    {
        let all = index.search(query, usize::MAX, None);
        assert!(all.len() > 1_000, "{query}");
        for limit in [1, 5, 50] {
            assert_eq!(index.search(query, limit, None), all[..limit], "{query}");
        }
    }
}

#[test]
fn the_ranking_has_the_same_bits_for_every_order_and_way_of_building() {
    let skills = library(600);
    let queries = ["deploy the chart", "rare mail", "revew image tests", "cloud cloud query parse"];
    let read = |skills: &[&(String, String, String)]| {
        let mut reader = Reader::new();
        for (name, about, body) in skills {
            reader.add(&Texts { name, about: vec![about], body: Some(body) });
        }
        reader.finish()
    };
    let found = |skills: &[&(String, String, String)], postings: Postings| -> Vec<Vec<Hit>> {
        let keys = skills.iter().map(|(name, ..)| name.clone()).collect();
        let index = Bm25::new(keys, postings, Settings::default());
        queries.iter().map(|query| index.search(query, 20, None)).collect()
    };
    let sorted: Vec<_> = skills.iter().collect();
    let expected = found(&sorted, read(&sorted).into());
    assert!(expected.iter().all(|hits| !hits.is_empty()));
    let mut order = sorted.clone();
    for round in 0..6 {
        // Each time in another order and in parts of another size, some of them from stored terms.
        order
            .sort_by_key(|(name, ..)| name.bytes().rev().fold(round, |sum, byte| sum * 31 + u64::from(byte)));
        let mut parts: Vec<Postings> = Vec::new();
        for (at, part) in order.chunks(usize::try_from(97 + round * 100).unwrap()).enumerate() {
            let mut part = read(part);
            if at % 2 == 1 {
                let mut again = Corpus::default();
                (0..part.len()).for_each(|at| again.push(&part.terms(at).unwrap()));
                part = again;
            }
            parts.push(part.into());
        }
        assert_eq!(found(&order, Postings::joined(parts)), expected, "round {round}");
    }
}

#[test]
fn two_indexes_whose_results_are_merged_have_comparable_scores() {
    let large = index(
        &[("alpha", "red fish", None), ("beta", "red bird", None), ("gamma", "green tree", None)],
        Settings::default(),
    );
    let small = index(&[("delta", "red boat", None)], Settings::default());
    let both = index(
        &[
            ("alpha", "red fish", None),
            ("beta", "red bird", None),
            ("delta", "red boat", None),
            ("gamma", "green tree", None),
        ],
        Settings::default(),
    );
    for text in ["red", "boat", "red boat", "red fish", "boats red bird"] {
        let (of_small, of_large): (Vec<Hit>, Vec<Hit>) =
            both.search(text, 5, None).into_iter().partition(|hit| hit.key == "delta");
        assert_eq!(small.search_beside(&large, text, 5, None), of_small, "{text}");
        assert_eq!(large.search_beside(&small, text, 5, None), of_large, "{text}");
        assert!(small.search(text, 5, None)[0].score < of_small[0].score, "{text}");
    }
    assert_eq!(small.search_beside(&large, "fish", 5, None), []);
}
