//! Folders through the fetcher: which skill is chosen, how a lock names it, and that a changed folder is noticed.

use super::*;

#[test]
fn a_folder_is_named_relative_to_the_base_and_read_again_from_there() {
    let Some(world) = World::new() else { return };
    world.skill("work/skills/a");
    world.skill("elsewhere/b");
    fs::create_dir_all(world.path("work/project")).unwrap();
    let base = Some(world.path("work/project"));
    let fetcher = world.fetcher_with(FetchOptions { base, ..FetchOptions::default() });
    for (folder, source) in [
        ("work/skills", "path+../skills"),
        ("elsewhere/b", "path+../../elsewhere/b"),
        ("work/project/../skills/a", "path+../skills/a"),
    ] {
        let fetched = take(&fetcher, world.path(folder).to_str().unwrap()).unwrap();
        assert_eq!(fetched[0].locked.source.to_string(), source);
        assert_eq!(
            (&fetched[0].locked.commit, &fetched[0].locked.git_tree, &fetched[0].locked.requested),
            (&None, &None, &None)
        );
        empty_store(&world);
        let lock = locked(&fetched[0]);
        assert_eq!(fetcher.again(&[&lock]).unwrap()[0], fetched[0].tree);
    }
    let fetched = take(&fetcher, world.path("elsewhere/b").to_str().unwrap()).unwrap();
    empty_store(&world);
    world.write("elsewhere/b/scripts/run.sh", "changed");
    let error = fetcher.again(&[&locked(&fetched[0])]).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Mismatch);
    assert!(error.to_string().contains(": b: path+../../elsewhere/b"), "{error}");
    world.skill("work/project/own");
    let own = take(&fetcher, world.path("work/project/own").to_str().unwrap()).unwrap();
    assert_eq!(own[0].locked.source.folder(), Some("own"));
}

#[test]
fn a_folder_that_is_a_skill_is_meant_although_there_are_others_in_it() {
    let Some(world) = World::new() else { return };
    world.skill("outer");
    world.skill("outer/examples/inner");
    let fetcher = world.fetcher();
    let found = fetcher.find_asked(&world.path("outer").to_str().unwrap().parse().unwrap()).unwrap();
    assert_eq!(names(&found), ["outer", "inner"]);
    assert_eq!(found.choose(&[], false).unwrap(), [0]);
    assert_eq!(found.choose(&["inner".to_owned()], false).unwrap(), [1]);
}

#[test]
fn offline_a_folder_and_a_local_repository_are_read_and_others_say_what_they_need() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    let fetcher = world.fetcher_with(FetchOptions { offline: true, ..FetchOptions::default() });
    assert_eq!(take(&fetcher, &world.url("repo")).unwrap().len(), 2);
    assert_eq!(take(&fetcher, world.path("repo/skills").to_str().unwrap()).unwrap().len(), 2);
    for text in ["https://git.example/x.git", "owner/repo/tree@x", "https://github.com/o/r/tree/main/x"] {
        let error = fetcher.find_asked(&text.parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("the network is not to be used"), "{text}: {error}");
        assert_eq!(error.kind(), InstallErrorKind::Offline, "{text}");
    }
}
