//! Repositories that are served: partial fetches, passwords, and connections that fail.

use std::time::Duration;

use super::http::{Mode, Server};
use super::*;
use crate::install::error::InstallLimit;

/// Whether the clone has an object, without fetching it.
fn has(world: &World, id: &str) -> bool {
    let bare = world.bare();
    let mut git = Command::new(&world.program);
    without_settings(&mut git)
        .arg("--git-dir")
        .arg(bare)
        .args(["cat-file", "-e", id])
        .env("GIT_NO_LAZY_FETCH", "1");
    git.stderr(Stdio::null()).status().unwrap().success()
}

fn blob(world: &World, path: &str) -> String {
    world.git("repo", &["rev-parse", &format!("HEAD:{path}")])
}

#[test]
fn only_the_files_of_skills_are_fetched_and_all_of_them_at_once() {
    for mode in [Mode::Plain, Mode::Daemon] {
        let Some(world) = World::new() else { return };
        let commit = world.two_skills();
        std::os::unix::fs::symlink("../../LICENSE", world.path("repo/skills/a/LICENSE")).unwrap();
        world.write("repo/LICENSE", "free\n");
        let next = world.commit("repo");
        let Some(server) = Server::start(&world, mode) else { continue };
        let fetcher = world.fetcher();
        let fetched = take(&fetcher, &server.url("repo")).unwrap();
        let plain = take(&fetcher, &format!("{}#{next}", world.url("repo"))).unwrap();
        assert_eq!(
            fetched.iter().map(|skill| &skill.tree).collect::<Vec<_>>(),
            plain.iter().map(|skill| &skill.tree).collect::<Vec<_>>()
        );
        assert_eq!(fetched[0].locked.commit.as_deref(), Some(next.as_str()));
        fs::remove_dir_all(world.path("store")).unwrap();
        // One for the commit, one for its files, and one for where a link leads.
        let before = server.fetches();
        take(&fetcher, &server.url("repo")).unwrap();
        assert!(mode == Mode::Daemon || server.fetches() - before == 3, "{}", server.fetches() - before);
        assert!(has(&world, &blob(&world, "skills/b/scripts/run.sh")), "{mode:?}");
        assert!(!has(&world, &blob(&world, "unrelated.bin")), "{mode:?}");
        // Without the link, one fetch brings all files.
        fs::remove_dir_all(world.path("store")).unwrap();
        let before = server.fetches();
        take(&fetcher, &format!("{}#{commit}", server.url("repo"))).unwrap();
        assert!(mode == Mode::Daemon || server.fetches() - before == 2, "{}", server.fetches() - before);
        // Once more, nothing is fetched: the commit is here.
        let before = server.fetches();
        take(&fetcher, &format!("{}#{commit}", server.url("repo"))).unwrap();
        assert_eq!(server.fetches(), before);
    }
}

#[test]
fn a_server_that_cannot_leave_files_out_is_asked_once() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    world.git("repo", &["config", "uploadpack.allowFilter", "false"]);
    let Some(server) = Server::start(&world, Mode::Plain) else { return };
    assert_eq!(take(&world.fetcher(), &server.url("repo")).unwrap().len(), 2);
    assert_eq!(server.fetches(), 1);
}

#[test]
fn a_server_that_gives_nothing_by_id_gives_branches_and_all_their_files() {
    let Some(world) = World::new() else { return };
    let first = world.two_skills();
    world.skill("repo/skills/c");
    world.commit("repo");
    let Some(server) = Server::start(&world, Mode::Old) else { return };
    let fetched = take(&world.fetcher(), &server.url("repo"));
    assert_eq!(fetched.map(|fetched| fetched.len()).map_err(|error| error.full_message()), Ok(3));
    fs::remove_dir_all(world.path("store")).unwrap();
    let fetched = take(&world.fetcher(), &format!("{}#{first}", server.url("repo")));
    assert_eq!(fetched.map(|fetched| fetched.len()).map_err(|error| error.full_message()), Ok(2));
}

#[test]
fn a_private_repository_asks_for_a_credential_helper_and_uses_one() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    let Some(server) = Server::start(&world, Mode::Private) else { return };
    let find = || take(&world.fetcher(), &server.url("repo"));
    let error = find().unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Git);
    assert!(error.to_string().starts_with("127.0.0.1:"), "{error}");
    assert!(error.to_string().contains("does not give access to this repository"), "{error}");
    assert!(error.hint().to_string().contains("credential helper"), "{}", error.hint());
    // A wrong password is not shown, wherever it comes from.
    let url = server.url("repo");
    let wrong = url.replace("http://", "http://joe:wr0ng@");
    world.write("gitconfig", &format!("[url \"{wrong}\"]\n\tinsteadOf = {url}\n"));
    let error = find().unwrap_err();
    assert!(!error.full_message().contains("wr0ng"), "{}", error.full_message());
    let helper = "!f() { echo username=joe; echo password=hunter2; }; f";
    world.write("gitconfig", &format!("[credential]\n\thelper = \"{helper}\"\n"));
    assert_eq!(find().unwrap().len(), 2);
}

#[test]
fn a_connection_that_fails_says_so_and_the_next_one_works() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    world.write("repo/skills/a/long.md", &(0..5_000).map(|at| format!("{at} ")).collect::<String>());
    world.commit("repo");
    let kind_of = |mode, words: &str| {
        let Some(server) = Server::start(&world, mode) else { return };
        let git = GitLimits {
            timeout: Duration::from_secs(if mode == Mode::Silent { 1 } else { 300 }),
            ..GitLimits::default()
        };
        let fetcher = world.fetcher_with(FetchOptions { git, ..FetchOptions::default() });
        let error = take(&fetcher, &server.url("repo")).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Git, "{mode:?}: {}", error.full_message());
        assert!(error.to_string().contains(words), "{mode:?}: {}", error.full_message());
        assert!(!is_there(&world.path("store/trees")), "{mode:?}");
    };
    kind_of(Mode::Cut, "the connection failed");
    kind_of(Mode::Silent, "git took more than 1 s");
    let Some(server) = Server::start(&world, Mode::Plain) else { return };
    let url = server.url("repo");
    assert_eq!(take(&world.fetcher(), &url).unwrap().len(), 2);
    let missing = take(&world.fetcher(), &server.url("nowhere")).unwrap_err();
    assert_eq!(missing.kind(), InstallErrorKind::NotFound, "{}", missing.full_message());
    assert!(missing.to_string().contains("no such repository"), "{missing}");
    drop(server);
    let refused = take(&world.fetcher(), &url).unwrap_err();
    assert!(refused.to_string().contains("the connection failed"), "{}", refused.full_message());
}

#[test]
fn offline_a_served_commit_is_read_from_what_was_fetched() {
    let Some(world) = World::new() else { return };
    let commit = world.two_skills();
    let Some(server) = Server::start(&world, Mode::Plain) else { return };
    let fetched = take(&world.fetcher(), &server.url("repo")).unwrap();
    let lock = locked(&fetched[0]);
    let text = format!("{}#{commit}", server.url("repo"));
    let default = server.url("repo");
    drop(server);
    let offline = world.fetcher_with(FetchOptions { offline: true, ..FetchOptions::default() });
    assert_eq!(offline.stored(&lock).unwrap(), fetched[0].tree);
    empty_store(&world);
    assert_eq!(offline.again(&[&lock]).unwrap()[0], fetched[0].tree);
    assert_eq!(take(&offline, &text).unwrap().len(), 2);
    let error = take(&offline, &default).unwrap_err();
    assert!(error.to_string().contains("the network is not to be used"), "{error}");
    fs::remove_dir_all(world.path("store")).unwrap();
    let error = offline.again(&[&lock]).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Offline, "{error}");
}

#[test]
fn a_redirect_to_another_host_is_named_and_never_followed() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    let Some(other) = Server::start(&world, Mode::Plain) else { return };
    let Some(server) = Server::start(&world, Mode::Elsewhere(other.port())) else { return };
    let error = take(&world.fetcher(), &server.url("repo")).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Git, "{}", error.full_message());
    assert!(error.to_string().contains(&format!(": {}/info/refs", other.url("repo"))), "{error}");
    let mut tree = InstallSpec::of(InstallPlace::Git(server.url("repo")));
    tree.tree = Some("main/skills".to_owned());
    assert!(world.fetcher().find_asked(&tree).unwrap_err().to_string().contains("leads to another address"));
    assert_eq!(other.fetches(), 0);
}

#[test]
fn a_redirect_on_the_same_host_is_followed_and_the_lock_keeps_the_address_that_was_asked_for() {
    let Some(world) = World::new() else { return };
    let commit = world.two_skills();
    let Some(server) = Server::start(&world, Mode::Moved) else { return };
    let fetched = take(&world.fetcher(), &server.url("moved")).unwrap();
    assert_eq!(fetched.len(), 2);
    assert_eq!(fetched[0].locked.source.git(), Some(&*server.url("moved")));
    fs::remove_dir_all(world.path("store")).unwrap();
    let mut tree = InstallSpec::of(InstallPlace::Git(server.url("moved")));
    tree.tree = Some("main/skills".to_owned());
    assert_eq!(world.fetcher().find_asked(&tree).unwrap().commit(), Some(commit.as_str()));
}

#[test]
fn a_server_that_sends_nothing_for_a_while_is_left() {
    let Some(world) = World::new() else { return };
    let Some(server) = Server::start(&world, Mode::Silent) else { return };
    let git = GitLimits { quiet: Duration::from_secs(1), ..GitLimits::default() };
    for (url, said) in [
        (server.url("repo"), "sends next to nothing"),
        (server.url("repo").replace("http:", "git:"), "sent no part of the repository within 2 s"),
    ] {
        let fetcher = world.fetcher_with(FetchOptions { git, ..FetchOptions::default() });
        let error = take(&fetcher, &url).unwrap_err();
        assert!(error.to_string().contains(said), "{url}: {}", error.full_message());
    }
}

/// Bytes that cannot be compressed.
fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(size).collect()
}

#[test]
fn a_repository_that_is_too_large_is_an_error_and_does_not_stay_on_the_disk() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    fs::write(world.path("repo/skills/a/noise"), noise(1, 300_000)).unwrap();
    world.commit("repo");
    let git = GitLimits { repository_bytes: 200_000, ..GitLimits::default() };
    let fetcher = world.fetcher_with(FetchOptions { git, ..FetchOptions::default() });
    let server = Server::start(&world, Mode::Plain);
    let served = server.as_ref().map(|server| server.url("repo"));
    for url in [world.url("repo")].into_iter().chain(served) {
        let error = take(&fetcher, &url).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::TooLarge, "{}", error.full_message());
        assert!(error.to_string().ends_with("more than 200000 bytes"), "{error}");
        let left = fs::read_dir(world.path("store/git")).unwrap().flatten();
        assert_eq!(left.filter(|entry| entry.path().is_dir()).count(), 0, "{url}");
    }
}

#[test]
fn a_repository_that_grew_over_time_is_fetched_anew() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    let git = GitLimits { repository_bytes: 200_000, ..GitLimits::default() };
    let fetcher = world.fetcher_with(FetchOptions { git, ..FetchOptions::default() });
    for seed in 1..=3 {
        fs::write(world.path("repo/skills/a/noise"), noise(seed, 120_000)).unwrap();
        world.commit("repo");
        let fetched = take(&fetcher, &world.url("repo"));
        assert_eq!(fetched.map(|fetched| fetched.len()).map_err(|error| error.full_message()), Ok(2));
    }
}

/// Two repositories of 150 KB whose server cannot leave files out, by their addresses, and the server.
fn two_large(world: &World) -> Option<(Server, [String; 2])> {
    for (seed, name) in [(1, "one"), (2, "two")] {
        world.init(name);
        world.skill(&format!("{name}/skills/a"));
        fs::write(world.path(&format!("{name}/noise")), noise(seed, 150_000)).unwrap();
        world.commit(name);
        world.git(name, &["config", "uploadpack.allowFilter", "false"]);
    }
    let server = Server::start(world, Mode::Plain)?;
    let urls = ["one", "two"].map(|name| server.url(name));
    Some((server, urls))
}

/// How many repositories are on the disk.
fn kept(world: &World) -> usize {
    let entries = fs::read_dir(world.path("store/git")).unwrap().flatten();
    entries.filter(|entry| entry.path().is_dir()).count()
}

#[test]
fn one_command_fetches_no_more_than_its_limit_from_all_repositories() {
    let Some(world) = World::new() else { return };
    let Some((_server, [one, two])) = two_large(&world) else { return };
    let git = GitLimits { command_bytes: 200_000, ..GitLimits::default() };
    let command = || world.fetcher_with(FetchOptions { git, ..FetchOptions::default() });
    let first = command();
    take(&first, &one).unwrap();
    let error = take(&first, &two).unwrap_err();
    assert_eq!(error.limit(), Some(InstallLimit::FetchedBytes), "{}", error.full_message());
    assert!(error.to_string().ends_with("more than 200000 bytes were fetched"), "{error}");
    assert_eq!(kept(&world), 0, "nothing stays of a command that fetched too much");
    // What is there already was not fetched by this command.
    take(&command(), &one).unwrap();
    let second = command();
    take(&second, &one).unwrap();
    take(&second, &two).unwrap();
    assert_eq!(kept(&world), 2);
}

#[test]
fn repositories_that_no_process_uses_make_room_and_those_in_use_stay() {
    let Some(world) = World::new() else { return };
    let Some((_server, [one, two])) = two_large(&world) else { return };
    let git = GitLimits { store_bytes: 200_000, ..GitLimits::default() };
    let command = || world.fetcher_with(FetchOptions { git, ..FetchOptions::default() });
    let first = command();
    let skill = take(&first, &one).unwrap().remove(0);
    take(&command(), &two).unwrap();
    assert_eq!(kept(&world), 2, "the first is still in use");
    drop(first);
    take(&command(), &two).unwrap();
    assert_eq!(kept(&world), 1);
    // Offline, what is recorded is installed from the store, without its repository.
    let offline = world.fetcher_with(FetchOptions { offline: true, ..FetchOptions::default() });
    assert!(offline.stored(&locked(&skill)).is_some());
}

#[test]
fn a_repository_that_was_fetched_for_the_first_time_goes_when_it_is_declined() {
    let Some(world) = World::new() else { return };
    let Some((_server, [one, two])) = two_large(&world) else { return };
    take(&world.fetcher(), &one).unwrap();
    let options = FetchOptions::default();
    let received = Arc::clone(&options.received);
    let fetcher = world.fetcher_with(options);
    for url in [&one, &two] {
        take(&fetcher, url).unwrap();
    }
    assert_eq!(kept(&world), 2);
    received.discard();
    assert_eq!(kept(&world), 1);
    // Both can be fetched again.
    for url in [&one, &two] {
        take(&fetcher, url).unwrap();
    }
}
