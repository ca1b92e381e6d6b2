//! What a host writes is what it gets: approvals are asked for, and what cannot work is an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prowess::registry::trust::Trust;
use prowess::session::{Policy, Untrusted};
use prowess::source::Layer;
use prowess::{DirSource, Obstacle, ScanOptions, Skills, SkillsBuilder};
use tempfile::TempDir;

use crate::trees::{skill, tree};

/// A builder over one skill, `a`, whose layer requires approval, and what counts the questions.
fn required(folder: &TempDir, answer: bool) -> (SkillsBuilder, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let layer =
        Layer::from(DirSource::new(folder.path(), ScanOptions::default())).with_approval_required(true);
    let builder = Skills::builder().with_layer(layer).with_approval(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        answer
    });
    (builder, asked)
}

#[test]
fn a_layer_that_requires_approval_needs_one_though_no_trust_is_set() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let asking = Policy::default().with_untrusted(Untrusted::Ask);
    for answer in [false, true] {
        let (builder, asked) = required(&folder, answer);
        let skills = builder.with_policy(asking.clone()).build().unwrap();
        assert_eq!(skills.registry().get("a").unwrap().obstacle, Some(Obstacle::Untrusted));
        let mut chat = skills.chat("chat-1");
        assert_eq!(chat.activate("a", "").is_ok(), answer);
        assert_eq!((chat.active().len(), asked.load(Ordering::Relaxed)), (usize::from(answer), 1));
    }

    // Without a policy that asks, the skill is hidden.
    let (builder, asked) = required(&folder, true);
    let skills = builder.build().unwrap();
    let mut chat = skills.chat("chat-2");
    assert_eq!(chat.prompt().unwrap(), "");
    assert!(!chat.activate("a", "").is_ok());
    assert_eq!(asked.load(Ordering::Relaxed), 0);

    // Only a host that trusts everything, and says so, uses it without an approval.
    let (builder, asked) = required(&folder, false);
    let skills = builder.with_trust(Trust::everything()).build().unwrap();
    assert!(skills.chat("chat-3").activate("a", "").is_ok());
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}
