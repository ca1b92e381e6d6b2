//! Tests of precedence, shadowing and what a catalog can say about them.

use super::candidate::Decision;
use super::found::Appearance;
use super::*;
use crate::{Origin, Scope, parse};

fn made(candidates: Vec<Candidate>, duplicates: Duplicates) -> Result<Catalog, DuplicateError> {
    Catalog::new(candidates.into_iter().map(Arc::new).collect(), duplicates)
}

fn candidate(name: &str, location: &str, scope: Scope) -> Candidate {
    let text = format!("---\nname: {name}\ndescription: d\n---\n");
    let at = Origin::at(format!("{location}/SKILL.md")).with_scope(scope);
    let mut candidate = Candidate::new(parse(text.as_bytes()).skill(&at).unwrap());
    candidate.virtual_path = location.to_owned();
    candidate
}

fn with(mut candidate: Candidate, obstacle: Obstacle) -> Candidate {
    candidate.obstacle = Some(obstacle);
    candidate
}

fn offered(catalog: &Catalog, key: &str) -> Location {
    catalog.get(key).unwrap().entry.origin.location.clone()
}

#[test]
fn the_first_the_last_or_neither_wins() {
    let both = || vec![candidate("a", "one/a", Scope::Project), candidate("a", "two/a", Scope::User)];
    let first = made(both(), Duplicates::First).unwrap();
    assert_eq!(offered(&first, "a"), "one/a/SKILL.md");
    assert_eq!(first.why("a")[1].1, &Standing::Shadowed { by: "one/a/SKILL.md".into() });
    assert_eq!(offered(&made(both(), Duplicates::Last).unwrap(), "a"), "two/a/SKILL.md");
    let error = made(both(), Duplicates::Error).unwrap_err();
    assert_eq!((error.first, error.second), ("one/a/SKILL.md".into(), "two/a/SKILL.md".into()));
}

#[test]
fn what_cannot_be_used_never_stands_in_the_way() {
    for obstacle in [
        Obstacle::Untrusted,
        Obstacle::Broken { problems: Vec::new(), profile: None },
        Obstacle::Disabled { by: TurnedOffBy::List("x".into()) },
    ] {
        for duplicates in [Duplicates::First, Duplicates::Last, Duplicates::Error] {
            let first = with(candidate("a", "one/a", Scope::Project), obstacle.clone());
            let last = with(candidate("a", "three/a", Scope::Project), obstacle.clone());
            let catalog = made(vec![first, candidate("a", "two/a", Scope::User), last], duplicates).unwrap();
            assert_eq!(offered(&catalog, "a"), "two/a/SKILL.md", "{obstacle:?} {duplicates:?}");
        }
    }
}

#[test]
fn an_untrusted_skill_alone_is_listed_and_a_broken_one_is_not() {
    let seen = with(candidate("a", "one/a", Scope::Project), Obstacle::Untrusted);
    let broken = with(
        candidate("b", "one/b", Scope::Project),
        Obstacle::Broken { problems: Vec::new(), profile: None },
    );
    let catalog = made(vec![seen, broken], Duplicates::First).unwrap();
    assert!(catalog.has("a") && !catalog.get("a").unwrap().is_usable());
    assert!(!catalog.has("b"));
    assert!(matches!(catalog.why("b")[0].1, Standing::Blocked { obstacle: Obstacle::Broken { .. } }));
}

#[test]
fn remote_never_shadows_local() {
    let both = vec![candidate("a", "here/a", Scope::User), candidate("a", "there/a", Scope::Remote)];
    assert_eq!(offered(&made(both, Duplicates::Last).unwrap(), "a"), "here/a/SKILL.md");
}

#[test]
fn a_skill_of_a_server_never_shadows_one_of_a_site() {
    let mut server = candidate("a", "server/a", Scope::Remote);
    server.wants_approval = true;
    let site = candidate("a", "site/a", Scope::Remote);
    for duplicates in [Duplicates::First, Duplicates::Last] {
        for both in [[server.clone(), site.clone()], [site.clone(), server.clone()]] {
            assert_eq!(offered(&made(both.into(), duplicates).unwrap(), "a"), "site/a/SKILL.md");
        }
    }
}

#[test]
fn a_skill_that_a_client_may_not_see_shadows_none_that_it_may_see() {
    let at = |place: &str| Location::parse(&format!("{place}/SKILL.md"));
    for duplicates in [Duplicates::First, Duplicates::Last] {
        let mut all: Vec<Candidate> =
            ["one", "two", "three"].map(|place| candidate("pdf", place, Scope::User)).into();
        all.push(candidate("far", "remote", Scope::Remote));
        all.push(candidate("far", "local", Scope::User));
        let catalog = made(all, duplicates).unwrap();
        let among = |hidden: &[&str]| {
            let hidden: Vec<Location> = hidden.iter().map(|text| at(text)).collect();
            catalog.among(|candidate| !hidden.contains(&candidate.entry.origin.location))
        };
        let (first, second) = if duplicates == Duplicates::First { ("one", "two") } else { ("three", "two") };
        assert_eq!(offered(&catalog, "pdf"), at(first));
        // Nothing changes where the offered skill is seen, or no skill of that name is.
        assert!(
            among(&[]).is_none() && among(&[second]).is_none() && among(&["one", "two", "three"]).is_none()
        );
        let own = among(&[first, "local"]).unwrap();
        assert_eq!((offered(&own, "pdf"), offered(&own, "far")), (at(second), at("remote")));
        assert_eq!((own.len(), own.all().count()), (2, 5));
        let standing = |place: &str| {
            own.all()
                .find(|(candidate, _)| candidate.entry.origin.location == at(place))
                .map(|(_, is)| is.clone())
        };
        assert_eq!(standing(first), Some(Standing::Shadowed { by: at(second) }));
        assert_eq!(standing(second), Some(Standing::Listed));
    }
}

#[test]
fn preload_is_anyones_wish() {
    let mut second = candidate("a", "two/a", Scope::User);
    second.preload = true;
    let catalog = made(vec![candidate("a", "one/a", Scope::Project), second], Duplicates::First).unwrap();
    assert_eq!(catalog.preloaded().len(), 1);
    assert_eq!(offered(&catalog, "a"), "one/a/SKILL.md");
}

#[test]
fn prefixed_namesakes_live_side_by_side() {
    let mut other = candidate("a", "two/a", Scope::User);
    other.entry.key = "team:a".into();
    let catalog = made(vec![candidate("a", "one/a", Scope::User), other], Duplicates::Error).unwrap();
    assert_eq!(catalog.iter().map(|c| c.entry.key.as_str()).collect::<Vec<_>>(), ["a", "team:a"]);
    let at = |position| catalog.at(position).map(|c| c.entry.key.as_str());
    assert_eq!([at(0), at(1), at(2)], [Some("a"), Some("team:a"), None]);
    assert_eq!(catalog.why("a").len(), 2);
}

#[test]
fn folders_hold_what_is_below_them() {
    let catalog = made(
        vec![
            candidate("a", "skills/billing/a", Scope::User),
            candidate("b", "skills/billing-x/b", Scope::User),
            candidate("c", "skills/c", Scope::User),
        ],
        Duplicates::First,
    )
    .unwrap();
    let names =
        |folder: &str| catalog.list_for_dir(folder).iter().map(|e| e.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(""), ["a", "b", "c"]);
    assert_eq!(names("skills/billing"), ["a"]);
    assert_eq!(names("/skills/billing/"), ["a"]);
    assert_eq!(names("skills/billing/a"), ["a"]);
    assert!(names("skill").is_empty());
}

#[test]
fn a_delta_names_what_changed() {
    let make = |names: &[(&str, &str)]| {
        let candidates = names.iter().map(|(name, place)| candidate(name, place, Scope::User)).collect();
        made(candidates, Duplicates::First).unwrap()
    };
    let before = make(&[("a", "x/a"), ("b", "x/b"), ("c", "x/c")]);
    let broken =
        with(candidate("c", "x/c", Scope::User), Obstacle::Broken { problems: Vec::new(), profile: None });
    let now = vec![
        candidate("a", "x/a", Scope::User),
        candidate("b", "y/b", Scope::User),
        candidate("d", "x/d", Scope::User),
        broken,
    ];
    let after = made(now, Duplicates::First).unwrap();
    let delta = after.since(&before);
    assert_eq!((delta.added, delta.changed), (vec!["d".to_owned()], vec!["b".to_owned()]));
    assert_eq!((delta.removed, delta.newly_broken), (vec!["c".to_owned()], vec!["c".to_owned()]));
    assert!(before.since(&before).is_empty());
    assert_eq!(after.similar("dd"), ["d"]);
    assert!(after.similar("").is_empty(), "nothing resembles nothing");
}

#[test]
fn a_name_means_one_skill_however_it_is_written() {
    let at = Origin::at("x/docs-architect/SKILL.md");
    let loud = Candidate::new(parse(b"---\nname: DOCS-ARCHITECT\ndescription: d\n---\n").skill(&at).unwrap());
    let catalog = made(vec![loud, candidate("pdf", "x/pdf", Scope::User)], Duplicates::First).unwrap();
    for name in ["docs-architect", "DOCS-ARCHITECT", "Docs-Architect"] {
        let Named::One(skill) = catalog.named(name) else { panic!("{name}: {:?}", catalog.named(name)) };
        assert_eq!(skill.entry.key, "DOCS-ARCHITECT");
    }
    assert_eq!(catalog.named("nothing"), Named::Unknown);
}

#[test]
fn an_exact_name_comes_before_one_that_differs_in_case() {
    let broken = with(
        candidate("pdf", "x/pdf", Scope::User),
        Obstacle::Broken { problems: Vec::new(), profile: None },
    );
    let catalog = made(vec![candidate("PDF", "y/PDF", Scope::User), broken], Duplicates::First).unwrap();
    assert!(matches!(catalog.named("PDF"), Named::One(_)));
    assert!(matches!(catalog.named("pdf"), Named::NotOffered(found) if found.len() == 1));
}

#[test]
fn a_key_is_never_suggested_in_its_own_place() {
    let broken = with(
        candidate("pdf", "x/pdf", Scope::User),
        Obstacle::Broken { problems: Vec::new(), profile: None },
    );
    let catalog = made(vec![broken, candidate("pdf2", "x/pdf2", Scope::User)], Duplicates::First).unwrap();
    assert_eq!(catalog.similar("pdf"), ["pdf2"]);
}

#[test]
fn a_name_that_several_skills_have_needs_a_key() {
    let mut one = candidate("pdf", "x/pdf", Scope::User);
    let mut other = candidate("pdf", "y/pdf", Scope::User);
    one.entry.key = "one:pdf".to_owned();
    other.entry.key = "other:pdf".to_owned();
    let catalog = made(vec![one, other], Duplicates::First).unwrap();
    assert!(matches!(catalog.named("pdf"), Named::Several(found) if found.len() == 2));
    assert!(matches!(catalog.named("one:pdf"), Named::One(_)));
}

fn found(name: &str) -> Found {
    let at = Origin::at(format!("skills/{name}-folder/SKILL.md"));
    Found::new(parse(format!("---\nname: {name}\ndescription: d\n---\n").as_bytes()).skill(&at).unwrap())
}

#[test]
fn a_skill_appears_as_every_layer_around_it_says() {
    let mut skill = found("a");
    let inner = Appearance {
        key_from: Some(KeyFrom::Folder),
        mount: Some("team".to_owned()),
        readers: vec!["codex"],
        ..Appearance::default()
    };
    skill.appear_as(&inner);
    skill.appear_as(&Appearance { prefix: Some("x".to_owned()), approval: true, ..Appearance::default() });
    skill.appear_as(&Appearance { preload: true, ..Appearance::default() });
    let candidate = Candidate::build(skill, Decision::default());
    assert_eq!((candidate.entry.key.as_str(), candidate.virtual_path.as_str()), ("x:a-folder", "team/a"));
    assert!(candidate.wants_approval && candidate.preload);
    assert_eq!(candidate.readers, ["codex"]);
}

#[test]
fn what_a_registry_decides_comes_before_what_its_source_found() {
    let mut skill = found("a");
    skill.obstacle = Some(Obstacle::Untrusted);
    let decision = Decision {
        obstacle: Some(Obstacle::Disabled { by: TurnedOffBy::List("x".into()) }),
        ..Decision::default()
    };
    assert_eq!(
        Candidate::build(skill.clone(), decision).obstacle,
        Some(Obstacle::Disabled { by: TurnedOffBy::List("x".into()) })
    );
    assert_eq!(Candidate::build(skill, Decision::default()).obstacle, Some(Obstacle::Untrusted));
}

#[test]
fn a_file_is_the_own_one_by_its_name_or_by_the_usual_one() {
    let path = |text| crate::RelPath::parse(text).unwrap();
    let at = Origin::at("skills/a/skill.md");
    let small = Found::new(parse(b"---\nname: a\ndescription: d\n---\n").skill(&at).unwrap());
    assert_eq!(small.source_skill().own_name(), "skill.md");
    assert!(["skill.md", "SKILL.md"].iter().all(|name| small.source_skill().is_own(&path(name))));
    assert!(!small.source_skill().is_own(&path("sub/SKILL.md")));
}
