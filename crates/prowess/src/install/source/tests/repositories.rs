//! Repositories over `file://`: refs, trees, choosing, locks, and clones that a killed process left behind.

use super::*;

#[test]
fn a_repository_gives_the_same_trees_as_a_folder_with_its_commit_and_its_git_trees() {
    let Some(world) = World::new() else { return };
    let commit = world.two_skills();
    let fetcher = world.fetcher();
    let fetched = take(&fetcher, &world.url("repo")).unwrap();
    let plain = take(&fetcher, &format!("{}/skills", world.path("repo").display())).unwrap();
    assert_eq!(fetched.len(), 2);
    for (skill, plain) in fetched.iter().zip(&plain) {
        let path = format!("skills/{}", skill.locked.name);
        assert_eq!(skill.locked.path.as_ref().unwrap().as_str(), path);
        assert_eq!(skill.tree, plain.tree);
        assert_eq!(skill.locked.source.git(), Some(&*world.url("repo")));
        assert_eq!(
            (skill.locked.commit.as_deref(), skill.locked.requested.as_ref()),
            (Some(commit.as_str()), None)
        );
        assert_eq!(
            skill.locked.git_tree.as_deref(),
            Some(&*world.git("repo", &["rev-parse", &format!("HEAD:{path}")]))
        );
        assert_eq!(skill.locked.declared_version.as_deref(), Some("1.2.0"));
        assert_eq!(fetcher.store().get(skill.tree.digest()).as_ref(), Some(&skill.tree));
    }
    assert_eq!(fetcher.warning(), None);
    assert!(!is_there(&world.bare().join("index")), "nothing is checked out");
}

#[test]
fn branches_tags_and_commits_are_told_apart() {
    let Some(world) = World::new() else { return };
    let first = world.two_skills();
    world.git("repo", &["tag", "--annotate", "v1", "--message=x"]);
    world.git("repo", &["tag", "light"]);
    world.git("repo", &["branch", "feature/a"]);
    world.skill("repo/skills/c");
    let second = world.commit("repo");
    let fetcher = world.fetcher();
    let url = world.url("repo");
    for (reference, requested, commit) in [
        ("", None, &second),
        ("#main", Some("branch:main".to_owned()), &second),
        ("#feature/a", Some("branch:feature/a".to_owned()), &first),
        ("#v1", Some("tag:v1".to_owned()), &first),
        ("#light", Some("tag:light".to_owned()), &first),
        ("#refs/heads/main", Some("branch:main".to_owned()), &second),
        (&*format!("#{first}"), Some(format!("commit:{first}")), &first),
    ] {
        let found = fetcher.find_asked(&format!("{url}{reference}").parse().unwrap()).unwrap();
        assert_eq!(found.commit(), Some(commit.as_str()), "{reference}");
        assert_eq!(found.requested().map(ToString::to_string), requested, "{reference}");
        assert_eq!(found.skills.len(), if commit == &second { 3 } else { 2 }, "{reference}");
    }
}

#[test]
fn a_ref_that_is_not_there_is_named_with_those_that_are_like_it() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    world.git("repo", &["tag", "v1.2.0"]);
    let fetcher = world.fetcher();
    let find = |text: String| fetcher.find_asked(&text.parse().unwrap()).unwrap_err();
    let error = find(format!("{}#v1.2.1", world.url("repo")));
    assert_eq!(error.kind(), InstallErrorKind::NotFound);
    assert!(
        error.to_string().contains("no such branch or tag") && error.to_string().ends_with(": v1.2.1"),
        "{error}"
    );
    assert!(error.hint().to_string().contains("v1.2.0"), "{}", error.hint());
    let unknown = find(format!("{}#{}", world.url("repo"), "0".repeat(40)));
    assert_eq!(unknown.kind(), InstallErrorKind::NotFound, "{}", unknown.full_message());
    world.init("empty");
    assert!(find(world.url("empty")).to_string().contains("is empty"));
    assert_eq!(find(world.url("nowhere")).kind(), InstallErrorKind::NotFound);
}

#[test]
fn the_address_of_a_folder_is_split_at_the_longest_ref() {
    let Some(world) = World::new() else { return };
    let first = world.two_skills();
    world.git("repo", &["branch", "feature/x"]);
    world.skill("repo/x/skills/a");
    let second = world.commit("repo");
    world.git("repo", &["branch", "release"]);
    world.git("repo", &["tag", "feature/x"]);
    let fetcher = world.fetcher();
    let mut spec = InstallSpec::of(InstallPlace::Git(world.url("repo")));
    let mut at = |tree: &str| {
        spec.tree = Some(tree.to_owned());
        fetcher.find_asked(&spec).map(|found| {
            (
                found.commit().unwrap().to_owned(),
                found.requested().map(ToString::to_string).unwrap_or_default(),
                found.skills.len(),
            )
        })
    };
    assert_eq!(at("feature/x/skills/a").unwrap(), (first.clone(), "branch:feature/x".to_owned(), 1));
    assert_eq!(at("release/x").unwrap(), (second.clone(), "branch:release".to_owned(), 1));
    assert_eq!(at("main").unwrap(), (second, "branch:main".to_owned(), 3));
    assert_eq!(at(&format!("{first}/skills")).unwrap(), (first.clone(), format!("commit:{first}"), 2));
    let error = at("feature/y/skills").unwrap_err();
    assert!(error.to_string().contains("no such branch or tag"), "{error}");
    assert_eq!(at("main/nowhere").unwrap_err().kind(), InstallErrorKind::NotFound);
}

#[test]
fn several_skills_are_ambiguous_until_one_is_named() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    world.write("repo/other/a/SKILL.md", "---\nname: a\ndescription: Another a.\n---\n");
    world.write("repo/odd/SKILL.md", "---\nname: ../../up\ndescription: Odd.\n---\n");
    world.commit("repo");
    let fetcher = world.fetcher();
    let found = fetcher.find_asked(&world.url("repo").parse().unwrap()).unwrap();
    assert_eq!(names(&found), ["odd", "a", "a", "b"]);
    assert_eq!(found.skills[3].description.as_deref(), Some("Does b."));
    let choose = |names: &[&str]| {
        found.choose(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), false)
    };
    let several = choose(&[]).unwrap_err();
    assert_eq!(several.kind(), InstallErrorKind::Ambiguous);
    assert!(several.to_string().contains("odd, a (other/a), a (skills/a), b (skills/b)"), "{several}");
    assert_eq!(choose(&["b", "odd"]).unwrap(), [3, 0]);
    assert_eq!(choose(&["a"]).unwrap_err().kind(), InstallErrorKind::SameName);
    assert_eq!(choose(&["skills/a"]).unwrap(), [2]);
    let none = choose(&["c"]).unwrap_err();
    assert_eq!(none.kind(), InstallErrorKind::NotFound);
    // The skill in a folder that was named is chosen, and so is a skill that the text names.
    let mut spec: InstallSpec = world.url("repo").parse().unwrap();
    spec.path = Some("skills/a".parse().unwrap());
    assert_eq!(fetcher.find_asked(&spec).unwrap().choose(&[], false).unwrap(), [0]);
    spec.path = None;
    spec.skill = Some("b".to_owned());
    assert_eq!(fetcher.find_asked(&spec).unwrap().choose(&[], false).unwrap(), [3]);
    world.init("none");
    world.write("none/readme.md", "x");
    world.commit("none");
    let none = fetcher.find_asked(&world.url("none").parse().unwrap()).unwrap_err();
    assert_eq!(none.kind(), InstallErrorKind::NotFound);
    assert!(none.to_string().contains("no SKILL.md"), "{none}");
}

#[test]
fn a_skill_in_the_root_is_the_whole_repository_and_has_its_name() {
    let Some(world) = World::new() else { return };
    world.init("whole.git");
    world.write("whole.git/SKILL.md", "---\ndescription: All of it.\n---\n");
    world.write("whole.git/.gitattributes", "* text\n");
    let commit = world.commit("whole.git");
    let fetcher = world.fetcher();
    let fetched = take(&fetcher, &world.url("whole.git")).unwrap();
    assert_eq!((fetched[0].locked.name.as_str(), fetched[0].locked.path.as_ref()), ("whole", None));
    assert_eq!(
        fetched[0].locked.git_tree.as_deref(),
        Some(&*world.git("whole.git", &["rev-parse", "HEAD^{tree}"]))
    );
    assert_eq!(fetched[0].tree.manifest().files.len(), 2);
    // So is a repository that a reference leads to.
    let organisations = BTreeMap::from([("acme".to_owned(), format!("{}{{name}}.git", world.url("")))]);
    let fetcher = world.fetcher_with(FetchOptions { organisations, ..FetchOptions::default() });
    let found = fetcher.find_asked(&format!("@acme/whole@{commit}").parse().unwrap()).unwrap();
    assert_eq!((found.choose(&[], false).unwrap(), found.commit()), (vec![0], Some(commit.as_str())));
}

#[test]
fn a_lock_is_read_from_its_commit_and_never_from_another() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    let fetcher = world.fetcher();
    let fetched = take(&fetcher, &world.url("repo")).unwrap();
    let locks: Vec<LockedSkill> = fetched.iter().map(locked).collect();
    let locks: Vec<&LockedSkill> = locks.iter().collect();
    world.write("repo/skills/a/SKILL.md", "---\nname: a\ndescription: Changed.\n---\n");
    world.commit("repo");
    // From the clone, which has the commit, though the repository is away.
    fs::rename(world.path("repo"), world.path("away")).unwrap();
    let trees = |fetcher: &Fetcher| fetcher.again(&locks);
    assert_eq!(fetcher.stored(locks[0]).unwrap(), fetched[0].tree);
    empty_store(&world);
    assert_eq!(trees(&fetcher).unwrap()[1], fetched[1].tree);
    // From the repository, when it is back.
    fs::rename(world.path("away"), world.path("repo")).unwrap();
    empty_store(&world);
    fs::remove_dir_all(world.bare()).unwrap();
    assert_eq!(trees(&fetcher).unwrap()[0], fetched[0].tree);
    assert!(fetcher.store().get(fetched[0].tree.digest()).is_some());
    // A digest that the commit does not have.
    let mut other = locks[0].clone();
    other.digest = Some([0; 32].into());
    let error = fetcher.again(&[&other]).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Mismatch, "{error}");
    // A lock that does not say where from.
    for source in ["git+ext::sh -c x", "git+--upload-pack=x", "svn+x", "git+./here"] {
        other.source = Upstream::read(source);
        assert!(fetcher.again(&[&other]).is_err(), "{source}");
    }
}

/// How a clone is damaged.
type Damage = (&'static str, fn(&Path));

#[test]
fn what_a_killed_process_left_of_a_repository_is_made_again() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    let (fetcher, url) = (world.fetcher(), world.url("repo"));
    take(&fetcher, &url).unwrap();
    let damages: [Damage; 6] = [
        ("a lock", |bare| fs::write(bare.join("shallow.lock"), "").unwrap()),
        ("a pack that was being written", |bare| {
            fs::write(bare.join("objects/pack/tmp_pack_x"), "x").unwrap();
        }),
        ("no configuration", |bare| fs::remove_file(bare.join("config")).unwrap()),
        ("half a configuration", |bare| fs::write(bare.join("config"), "[core]\n\tbare").unwrap()),
        ("no head", |bare| fs::remove_file(bare.join("HEAD")).unwrap()),
        ("broken objects", |bare| {
            for entry in fs::read_dir(bare.join("objects/pack")).unwrap() {
                let path = entry.unwrap().path();
                fs::remove_file(&path).unwrap();
                fs::write(path, "broken").unwrap();
            }
            fs::write(bare.join("shallow"), "broken").unwrap();
        }),
    ];
    for (what, damage) in damages {
        world.commit("repo");
        damage(&world.bare());
        let fetched = take(&fetcher, &url);
        assert_eq!(
            fetched.map(|fetched| fetched.len()).map_err(|error| error.full_message()),
            Ok(2),
            "{what}"
        );
    }
}

#[test]
fn a_repository_that_a_killed_git_left_without_a_file_is_fetched_again() {
    let Some(world) = World::new() else { return };
    let commit = world.two_skills();
    let text = format!("{}#{commit}", world.url("repo"));
    take(&world.fetcher(), &text).unwrap();
    let file = world.git("repo", &["rev-parse", "HEAD:skills/a/scripts/run.sh"]);
    let (first, rest) = file.split_at(2);
    let object = world.bare().join("objects").join(first).join(rest);
    fs::remove_file(&object).unwrap();
    empty_store(&world);
    let fetched = take(&world.fetcher(), &text);
    assert_eq!(fetched.map(|fetched| fetched.len()).map_err(|error| error.full_message()), Ok(2));
    assert!(is_there(&object));
}

#[test]
fn a_fetch_that_did_not_end_is_noticed_when_the_repository_is_opened() {
    let Some(world) = World::new() else { return };
    let commit = world.two_skills();
    let text = format!("{}#{commit}", world.url("repo"));
    let file = world.git("repo", &["rev-parse", "HEAD:skills/a/scripts/run.sh"]);
    let (first, rest) = file.split_at(2);
    // A git that is killed before it has written the last file.
    let killed = format!(
        "#!/bin/sh\n'{}' \"$@\" || exit\ncase \"$*\" in *fetch*) rm \"$GIT_DIR/objects/{first}/{rest}\"; kill -9 $$;; esac\n",
        world.program
    );
    world.write("git-killed", &killed);
    let made = Command::new("chmod").arg("+x").arg(world.path("git-killed")).status().unwrap();
    assert!(made.success());
    let git = GitCommand::new(world.path("store/git"), Environment::of([]), FetchOptions::default().git)
        .with_program(world.path("git-killed").to_str().unwrap());
    let dying = Fetcher::with_git(Store::at(world.path("store")), Arc::new(git), FetchOptions::default());
    take(&dying, &text).unwrap_err();
    let object = world.bare().join("objects").join(first).join(rest);
    assert!(world.bare().join("fetching").exists() && !is_there(&object));
    // Nothing is taken yet: the list of skills is enough.
    assert_eq!(names(&world.fetcher().find_asked(&text.parse().unwrap()).unwrap()), ["a", "b"]);
    assert!(is_there(&object) && !world.bare().join("fetching").exists());
    // A fetch that failed in an ordinary way leaves the repository as it was.
    fs::rename(world.path("repo"), world.path("away")).unwrap();
    take(&world.fetcher(), &world.url("repo")).unwrap_err();
    empty_store(&world);
    assert_eq!(take(&world.fetcher(), &text).unwrap().len(), 2);
}

#[test]
fn eight_processes_fetch_one_repository_at_once() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let fetched = take(&world.fetcher(), &world.url("repo"));
                assert_eq!(fetched.map(|fetched| fetched.len()).map_err(|error| error.full_message()), Ok(2));
            });
        }
    });
}

#[test]
fn a_store_that_cannot_be_written_is_a_warning() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    fs::write(world.path("store"), "a file").unwrap();
    let fetcher = world.fetcher();
    assert_eq!(take(&fetcher, &world.url("repo")).unwrap().len(), 2);
    assert!(fetcher.warning().unwrap().contains("the store could not be written"));
}

#[test]
fn without_git_the_error_says_what_to_install() {
    let Some(world) = World::new() else { return };
    let empty = Environment::of([("PATH", "/no/such/folder:.")]);
    let git = Arc::new(GitCommand::new(world.path("clones"), empty, GitLimits::default()));
    let fetcher = Fetcher::with_git(Store::at(world.path("store")), git, FetchOptions::default());
    let error = fetcher.find_asked(&world.url("x").parse().unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (InstallErrorKind::Git, "git is not installed".to_owned()));
    assert!(error.hint().to_string().contains("install git"));
}

#[test]
fn an_organisation_leads_to_its_mapping_or_to_github() {
    let Some(world) = World::new() else { return };
    let organisations = BTreeMap::from([
        ("acme".to_owned(), "https://git.acme.example/{org}/{name}.git".to_owned()),
        ("many".to_owned(), "many/skills/folder".to_owned()),
        ("local".to_owned(), "/srv/{name}".to_owned()),
        ("bad".to_owned(), "ext::sh -c {name}".to_owned()),
        ("round".to_owned(), "@acme/{name}".to_owned()),
    ]);
    let fetcher = world.fetcher_with(FetchOptions { organisations, ..FetchOptions::default() });
    let resolved = |text: &str| fetcher.resolve(&text.parse().unwrap()).map(|source| source.spec.to_string());
    assert_eq!(resolved("@acme/pdf@v1").unwrap(), "https://git.acme.example/acme/pdf.git#v1");
    // Another case is no other organisation.
    assert_eq!(resolved("@ACME/pdf").unwrap(), "https://git.acme.example/acme/pdf.git");
    assert_eq!(resolved("@other/pdf").unwrap(), "other/pdf");
    assert_eq!(resolved("@many/pdf@v2").unwrap(), "many/skills/folder@pdf#v2");
    assert_eq!(resolved("@local/pdf").unwrap(), "/srv/pdf");
    assert_eq!(resolved("owner/repo#x").unwrap(), "owner/repo#x");
    assert_eq!(resolved("@bad/pdf").unwrap_err().kind(), InstallErrorKind::Request);
    assert_eq!(resolved("@round/pdf").unwrap_err().kind(), InstallErrorKind::Request);
}

#[test]
fn a_locked_commit_that_is_gone_says_to_add_the_skill_again() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    let fetched = take(&world.fetcher(), &world.url("repo")).unwrap();
    let mut lock = locked(&fetched[0]);
    fs::remove_dir_all(world.path("store")).unwrap();
    lock.commit = Some("1".repeat(40));
    let error = world.fetcher().again(&[&lock]).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::NotFound);
    assert!(error.to_string().starts_with("the commit that the lock names is gone: a: "), "{error}");
    assert!(error.hint().to_string().starts_with("add the skill again"), "{}", error.hint());
}

#[test]
fn a_repository_is_not_changed_while_another_process_reads_it() {
    let Some(world) = World::new() else { return };
    let commit = world.two_skills();
    take(&world.fetcher(), &world.url("repo")).unwrap();
    let lock = world.bare().with_extension("lock");
    let wait = std::time::Duration::ZERO;
    // A program that another test starts inherits a lock until it runs, so taking one waits.
    let patience = std::time::Duration::from_secs(60);
    let reader = crate::fs::atomic::lock_to_read(&lock, patience).unwrap().unwrap();
    let limits = GitLimits { lock_timeout: wait, ..GitLimits::default() };
    let git = GitCommand::new(world.path("store/git"), Environment::of([]), limits);
    let git = git.with_program(&world.program);
    assert!(git.tree(&world.url("repo"), &commit).unwrap().is_some());
    let busy = git.fetch(&world.url("repo"), &GitVersion::Default).unwrap_err();
    assert_eq!(busy.kind(), InstallErrorKind::Busy);
    drop(reader);
    let writer = crate::fs::atomic::lock_within(None, &lock, patience).unwrap();
    assert_eq!(git.tree(&world.url("repo"), &commit).unwrap_err().kind(), InstallErrorKind::Busy);
    drop(writer);
}
