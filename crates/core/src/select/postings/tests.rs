//! Tests of postings: merged, stored, and read back from damaged bytes.

use super::*;
use crate::select::{Reader, Texts};

fn postings(names: &[&str]) -> Postings {
    let mut reader = Reader::new();
    for name in names {
        reader.add(&Texts {
            name,
            about: vec!["Fills 表单 forms"],
            body: Some(&format!("{name} body text")),
        });
    }
    reader.finish().into()
}

fn owned(postings: &Postings) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (head, shards) = postings.to_blocks();
    (head, shards.into_iter().map(<[u8]>::to_vec).collect())
}

#[test]
fn every_term_is_found_and_no_other() {
    let names: Vec<String> = (0..300).map(|number| format!("word{number} x{}", number * 7)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let postings = postings(&names);
    assert_eq!(postings.len(), 300);
    let mut terms = 0;
    for (id, text) in postings.terms() {
        assert_eq!(postings.find(std::str::from_utf8(text).unwrap()), Some(id));
        assert!(!postings.front(id).is_empty() || !postings.back(id).is_empty());
        terms += 1;
    }
    assert!(terms > 600, "{terms}");
    assert_eq!(postings.find("absent"), None);
    assert_eq!(Postings::default().find("absent"), None);
    let form = postings.find("form").unwrap();
    assert_eq!(postings.front(form).len(), 300);
    assert_eq!(InFront::read(postings.front(form)[7]), InFront(7, [0, 2, 0]));
    let body = postings.back(postings.find("bodi").unwrap());
    assert_eq!((InBody::read(body[9]).skill(), InBody::read(body[9]).count()), (9, 2));
}

#[test]
fn joined_parts_have_the_same_bytes_as_the_whole() {
    let names = ["pdf-forms", "git-commit", "", "表单 pdf", "git form"];
    let whole = postings(&names);
    let first = (postings(&[names[4], names[1]]), vec![Some(4), Some(1)]);
    let second =
        (postings(&[names[0], "gone entirely", names[3], names[2]]), vec![Some(0), None, Some(3), Some(2)]);
    assert_eq!(Postings::merge(vec![first, second]), whole);
    let all = |count: u32| (0..count).map(Some).collect();
    assert_eq!(Postings::merge(vec![(whole.clone(), all(5))]), whole);
    assert_eq!(Postings::merge(vec![(whole, vec![None; 5])]).len(), 0);
    assert!(Postings::merge(Vec::new()).is_empty());
}

#[test]
fn blocks_give_the_same_postings_and_damaged_blocks_give_none() {
    for before in [postings(&["pdf-forms", "git-commit", ""]), Postings::default()] {
        let (head, shards) = owned(&before);
        assert_eq!(Postings::from_blocks(&head, shards.clone()), Some(before));
        for at in 0..head.len() {
            let mut damaged = head.clone();
            damaged[at] ^= 0x10;
            assert_eq!(Postings::from_blocks(&damaged, shards.clone()), None);
            assert_eq!(Postings::from_blocks(&head[..at], shards.clone()), None);
        }
        for number in 0..shards.len() {
            for at in 0..shards[number].len() {
                let mut damaged = shards.clone();
                damaged[number][at] ^= 1;
                assert_eq!(Postings::from_blocks(&head, damaged.clone()), None);
                damaged[number].truncate(at);
                assert_eq!(Postings::from_blocks(&head, damaged), None);
            }
        }
        if !shards.is_empty() {
            assert_eq!(Postings::from_blocks(&head, shards[1..].to_vec()), None);
        }
    }
}
