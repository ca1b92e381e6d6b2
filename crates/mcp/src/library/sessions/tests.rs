//! What a client finds that may not see some skills.

use prowess::session::Actor;
use prowess::source::Layer;
use prowess::{MemorySource, Scope};

use super::*;

#[test]
fn a_view_indexes_only_what_it_has_in_place_of_hidden_skills_and_finds_all_that_it_sees() {
    let source = MemorySource::new("memory");
    for (key, about) in [
        ("first/twin", "Keeps ledgers for harbours"),
        ("first/hidden", "Sails boats into harbours"),
        ("second/twin", "Sails boats"),
        ("second/third", "Paints boats and doors"),
        ("second/fourth", "Paints doors"),
    ] {
        let name = key.rsplit('/').next().unwrap();
        source.insert(
            key,
            format!("---\nname: {name}\ndescription: {about}.\n---\nDo it.\n"),
            Scope::Explicit,
        );
    }
    let mut registry = Registry::new();
    registry.add(Layer::shared(Arc::new(source)));
    registry.refresh().unwrap();
    let (catalog, registry) = (registry.catalog(), Arc::new(registry));
    let index = Arc::new(LazyIndex::new(Arc::clone(&registry)));
    let whole = Sessions::new(registry, index, catalog, Policy::default(), Options::default());
    let policy = Policy::default().with_bounds("second/**".parse().unwrap());
    let view = whole.with_policy(policy);
    let own = view.own.as_ref().unwrap();
    assert_eq!(own.index.built().selector().keys(), ["twin"]);
    let seen = view.connection.visible(Actor::Model, view.connection.filter());
    let among: Vec<&Entry> = seen.iter().map(|skill| &skill.entry).collect();
    let find = |words: &str| -> Vec<String> {
        let hits = own.index.select(&Query::text(words), &among, 5).unwrap();
        hits.into_iter().map(|hit| hit.key).collect()
    };
    assert_eq!(find("sails boats"), ["twin", "third"], "its own skill ranks as it would in one index");
    assert_eq!(find("paints doors"), ["fourth", "third"]);
    assert!(find("ledgers harbours").is_empty());
    // The filter of the server narrows what the library offers, with tokens and without.
    let server = Policy::default().with_filter("second/**".parse().unwrap());
    assert!(whole.with_policy(server).own.is_none());
    // A client that is offered what all are has no index of its own.
    let other = whole.with_policy(Policy::default().with_bounds("first/**".parse().unwrap()));
    assert!(other.own.is_none());
}
