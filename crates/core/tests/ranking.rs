//! A property of selection: the same skills have the same scores, to the last bit, for every way of building the index.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

use proptest::prelude::*;
use prowess_core::select::{Bm25, Corpus, Hit, Postings, Reader, Settings, Texts};

/// Words that share stems, parts and neighbours, and some that are hard.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec![
            "deploy", "deploys", "image", "images", "review", "code", "codeReview", "next.js", "snake_case", "c++",
            "表单", "填写", "the", "kubernetes", "k8s", "git-commit", "pdf",
        ]).prop_map(str::to_owned),
        1 => "[a-z]{1,9}",
        1 => "\\PC{0,6}",
    ]
}

fn text(length: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(word(), length).prop_map(|words| words.join(" "))
}

type Row = (String, String, Option<String>);

fn read(rows: &[(usize, Row)]) -> Corpus {
    let mut reader = Reader::new();
    for (_, (name, about, body)) in rows {
        reader.add(&Texts { name, about: vec![about], body: body.as_deref() });
    }
    reader.finish()
}

fn found(
    rows: &[(usize, Row)],
    terms: impl Into<Postings>,
    queries: &[String],
    limit: usize,
) -> Vec<Vec<Hit>> {
    let keys = rows.iter().map(|(number, _)| format!("skill-{number:03}")).collect();
    let index = Bm25::new(keys, terms, Settings::default());
    queries.iter().map(|query| index.search(query, limit, None)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_ranking_does_not_depend_on_order_parts_or_storage(
        (rows, shuffled) in prop::collection::vec((text(1..3), text(0..12), prop::option::of(text(0..40))), 0..40)
            .prop_map(|rows| rows.into_iter().enumerate().collect::<Vec<_>>())
            .prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
        queries in prop::collection::vec(text(0..10), 1..4),
        part in 1_usize..50,
        limit in 1_usize..60,
    ) {
        let expected = found(&rows, read(&rows), &queries, limit);
        for hits in &expected {
            prop_assert!(hits.iter().all(|hit| hit.score.is_finite() && hit.score > 0.0));
            for hit in hits {
                let sum: f32 = hit.why.iter().map(|reason| reason.score).sum();
                prop_assert!((sum - hit.score).abs() <= 1e-4 * hit.score.max(1.0), "{} {}", sum, hit.score);
            }
        }
        // Another order, in parts as threads would make them, stored and read again.
        let stored = |postings: &Postings| {
            let (head, shards) = postings.to_blocks();
            Postings::from_blocks(&head, shards.into_iter().map(<[u8]>::to_vec).collect()).unwrap()
        };
        let parts = shuffled.chunks(part).map(|part| stored(&read(part).into()));
        prop_assert_eq!(&found(&shuffled, Postings::joined(parts), &queries, limit), &expected);
        // A refresh: of what was known some is gone, and the rest is new.
        let sorted: Vec<_> = rows.iter().map(|(number, _)| u32::try_from(*number).unwrap()).collect();
        let (old, new): (Vec<_>, Vec<_>) = shuffled.iter().cloned().partition(|(number, _)| number % part > part / 2);
        let gone = (usize::MAX, ("gone".to_owned(), "code review".to_owned(), Some("deploy images".to_owned())));
        let known = [&old[..], &[gone], &new[..new.len() / 2]].concat();
        let number = |(number, _): &(usize, Row)| sorted.get(*number).copied();
        let mut kept: Vec<_> = known.iter().map(number).collect();
        kept[old.len() + 1..].fill(None);
        let fresh = (read(&new).into(), new.iter().map(number).collect());
        let refreshed = Postings::merge(vec![(stored(&read(&known).into()), kept), fresh]);
        prop_assert_eq!(&refreshed, &Postings::from(read(&rows)));
        prop_assert_eq!(&found(&rows, refreshed, &queries, limit), &expected);
        // One skill at a time, from its own terms.
        let whole = read(&shuffled);
        let mut corpus = Corpus::default();
        for at in 0..whole.len() {
            corpus.push(&whole.terms(at).unwrap());
        }
        prop_assert_eq!(&found(&shuffled, corpus, &queries, limit), &expected);
        // More wanted is more of the same.
        let all = found(&rows, read(&rows), &queries, usize::MAX);
        for (hits, all) in expected.iter().zip(&all) {
            prop_assert_eq!(&hits[..], &all[..limit.min(all.len())]);
        }
    }
}
