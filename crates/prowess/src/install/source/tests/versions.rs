//! Which commit is fetched: by long ids, and by names that two refs have.

use super::*;
use crate::install::records::record;

#[test]
fn a_repository_with_long_ids_is_fetched() {
    let Some(world) = World::new() else { return };
    fs::create_dir_all(world.path("repo")).unwrap();
    world.git("repo", &["init", "--quiet", "--object-format=sha256", "--initial-branch=main"]);
    world.skill("repo/skills/a");
    let commit = world.commit("repo");
    assert_eq!(commit.len(), 64);
    let fetcher = world.fetcher();
    for text in [world.url("repo"), format!("{}#{commit}", world.url("repo"))] {
        let fetched = take(&fetcher, &text).unwrap();
        assert_eq!(fetched[0].locked.commit.as_deref(), Some(commit.as_str()));
    }
    // By the commit alone, as a teammate follows the lock; also where a repository with short ids had this address.
    let lock = locked(&take(&fetcher, &world.url("repo")).unwrap()[0]);
    for short in [false, true] {
        fs::remove_dir_all(world.path("store")).unwrap();
        if short {
            fs::rename(world.path("repo"), world.path("long")).unwrap();
            world.two_skills();
            take(&world.fetcher(), &world.url("repo")).unwrap();
            fs::remove_dir_all(world.path("repo")).unwrap();
            fs::rename(world.path("long"), world.path("repo")).unwrap();
        }
        let again = world.fetcher().again(&[&lock]);
        assert_eq!(again.map(|trees| trees.len()).map_err(|error| error.full_message()), Ok(1), "{short}");
    }
}

#[test]
fn a_branch_beside_a_tag_of_its_name_is_recorded_by_its_whole_name() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    world.git("repo", &["tag", "v1"]);
    world.git("repo", &["branch", "v1"]);
    world.git("repo", &["branch", "other"]);
    let mut spec = InstallSpec::of(InstallPlace::Git(world.url("repo")));
    for (tree, requested, whole_ref) in
        [("v1/skills/a", "branch:v1", Some("refs/heads/v1")), ("other/skills/a", "branch:other", None)]
    {
        spec.tree = Some(tree.to_owned());
        let mut found = world.fetcher().find_asked(&spec).unwrap();
        let all = found.choose(&[], true).unwrap();
        let taken = world.fetcher().take(&mut found, &all, Refusal::OfAll).unwrap();
        let mut skill = taken.into_iter().next().unwrap().unwrap();
        assert_eq!(
            (skill.locked.requested.as_ref().map(ToString::to_string).as_deref(), found.whole_ref()),
            (Some(requested), whole_ref)
        );
        record(&mut skill, &spec, (None, None, found.whole_ref()));
        let wanted = skill.wanted.unwrap();
        assert_eq!(wanted.reference.as_deref(), whole_ref.or(Some("other")));
    }
}
