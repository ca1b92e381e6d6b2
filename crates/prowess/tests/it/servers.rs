//! MCP servers in a library: who may name them, their labels, and what opens them.

use std::fs;
use std::sync::{Arc, Mutex};

use prowess::env::Environment;
use prowess::library::{LibraryOptions, library};
use prowess::source::open::OpenServer;
use prowess::source::spec::Server;
use prowess::{MemorySource, Obstacle, Registry, Scope, Source, SourceError, SourceErrorKind, SourceSpec};

use crate::trees::tree;

/// Opens no server, notes what it was to open, and has one skill for each but those that are called broken.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<(Server, String)>>);

impl OpenServer for Notes {
    fn open(&self, server: &Server, label: &str) -> Result<Arc<dyn Source>, SourceError> {
        if server.shown().ends_with("broken") {
            return Err(SourceErrorKind::Missing.at("token"));
        }
        self.0.lock().unwrap().push((server.clone(), label.to_owned()));
        let source = MemorySource::new(format!("mcp:{label}"));
        source.insert("pdf", "---\nname: pdf\ndescription: Reads.\n---\n", Scope::Remote);
        Ok(Arc::new(source))
    }
}

struct Home {
    folder: tempfile::TempDir,
    notes: Arc<Notes>,
}

impl Home {
    fn with(files: &[(&str, &str)]) -> Self {
        Self { folder: tree(files), notes: Arc::default() }
    }

    fn library(&self, sources: &[&str], opener: bool) -> Registry {
        let home = self.folder.path().join("home");
        let environment = Environment::of([("HOME", home.to_str().unwrap())]);
        let servers: Option<Arc<dyn OpenServer>> = opener.then(|| self.notes.clone() as _);
        let sources = sources.iter().map(|source| SourceSpec::parse(source).unwrap()).collect();
        let options = LibraryOptions::default().with_sources(sources).with_servers(servers);
        let registry = library(&self.folder.path().join("project"), &environment, &options).unwrap();
        registry.refresh().unwrap();
        registry
    }

    fn opened(&self) -> Vec<String> {
        self.notes
            .0
            .lock()
            .unwrap()
            .iter()
            .map(|(server, label)| format!("{label}={}", server.shown()))
            .collect()
    }
}

fn problems(registry: &Registry) -> Vec<String> {
    registry.problems().iter().map(|problem| format!("{problem} ({})", problem.hint())).collect()
}

#[test]
fn keys_have_the_label_of_their_server_and_skills_need_approval() {
    let home = Home::with(&[("project/x", "")]);
    let library = home.library(&["mcp=https://skills.x.test/mcp", "mcp=/bin/tool serve,prefix=team"], true);
    let keys: Vec<String> = library.catalog().list().iter().map(|entry| entry.key.clone()).collect();
    assert_eq!(keys, ["skills.x.test:pdf", "team:pdf"]);
    assert_eq!(library.get("team:pdf").unwrap().obstacle, Some(Obstacle::Untrusted));
    assert_eq!(home.opened(), ["skills.x.test=https://skills.x.test/mcp", "team=/bin/tool"]);
}

#[test]
fn one_label_is_one_server() {
    let home = Home::with(&[("project/x", "")]);
    let library = home.library(&["mcp=npx a", "mcp=npx b", "mcp=npx c,prefix=c"], true);
    assert_eq!(home.opened(), ["npx=npx", "c=npx"]);
    assert_eq!(
        problems(&library),
        [
            "two MCP servers have one label, and this one was left out: npx: npx (give one of them a prefix of its own)"
        ]
    );
}

#[test]
fn a_server_that_cannot_be_opened_takes_no_label() {
    let home = Home::with(&[("project/x", "")]);
    let specs = ["mcp=https://x.test/broken", "mcp=https://x.test/mcp", "mcp=https://x.test/more"];
    let library = home.library(&specs, true);
    assert_eq!(home.opened(), ["x.test=https://x.test/mcp"]);
    let problems = problems(&library);
    assert!(
        problems[0].contains("token") && problems[1].contains("x.test: https://x.test/more"),
        "{problems:?}"
    );
    assert_eq!(problems.len(), 2);
}

#[test]
fn without_an_opener_a_server_is_an_error_that_says_what_is_missing() {
    let home = Home::with(&[("project/x", "")]);
    let library = home.library(&["mcp=npx a"], false);
    let [problem] = problems(&library).try_into().unwrap();
    assert!(
        problem
            .starts_with("this was built without support for mcp: npx (open it with the crate prowess-mcp"),
        "{problem}"
    );
}

#[test]
fn a_project_starts_no_program_and_asks_no_server_trusted_or_not() {
    let config = "[[skills.sources]]\nmcp = 'touch pwned'\n[[skills.sources]]\nmcp = 'https://x.test/mcp'\nprefix = 'x'\n";
    let home = Home::with(&[("project/.git/HEAD", ""), ("project/prowess.toml", config)]);
    let wanted = [
        "a project names an MCP server, which was neither started nor asked: touch (name it in your own prowess.toml)",
        "a project names an MCP server, which was neither started nor asked: https://x.test/mcp (name it in your own prowess.toml)",
    ];
    assert_eq!(problems(&home.library(&[], true)), wanted);
    let state = home.folder.path().join("home/.local/state/prowess");
    fs::create_dir_all(&state).unwrap();
    let folder = home.folder.path().join("project");
    fs::write(
        state.join("trust.json"),
        serde_json::json!({"version": 1, "folders": [folder], "skills": []}).to_string(),
    )
    .unwrap();
    assert_eq!(problems(&home.library(&[], true)), wanted, "trust in instructions is no trust in programs");
    assert!(home.opened().is_empty());
}

#[test]
fn the_users_own_configuration_may_name_servers_with_files_beside_it() {
    let config = "[[skills.sources]]\nmcp = 'https://x.test/mcp'\nca_file = 'ca.pem'\ntoken_file = 'token'\nprefix = 'x'\n";
    let home = Home::with(&[("home/.config/prowess/prowess.toml", config), ("project/x", "")]);
    let library = home.library(&[], true);
    assert!(problems(&library).is_empty() && library.get("x:pdf").is_ok());
    let opened = home.notes.0.lock().unwrap();
    let (Server::At { ca_file, token_file, .. }, _) = &opened[0] else { panic!("{opened:?}") };
    let beside = home.folder.path().join("home/.config/prowess");
    assert_eq!(
        (ca_file.clone(), token_file.clone()),
        (Some(beside.join("ca.pem")), Some(beside.join("token")))
    );
}

#[test]
fn a_program_is_started_where_its_configuration_lies_and_not_where_one_stands() {
    let config = "[[skills.sources]]\nmcp = './srv --x'\n[[skills.sources]]\nmcp = '~/bin/tool ./a'\n[[skills.sources]]\nmcp = 'npx acme'\n";
    let home = Home::with(&[
        ("home/.config/prowess/prowess.toml", config),
        ("project/srv", "a trap"),
        ("project/node_modules/.bin/acme", "a trap"),
    ]);
    home.library(&[], true);
    home.library(&["mcp=./srv"], true);
    let beside = home.folder.path().join("home/.config/prowess");
    let here = home.folder.path().join("project");
    let path = |path: &str| home.folder.path().join(path).to_str().unwrap().to_owned();
    let wanted = [
        (vec![path("home/.config/prowess/srv"), "--x".to_owned()], &beside),
        (vec![path("home/bin/tool"), "./a".to_owned()], &beside),
        (vec!["npx".to_owned(), "acme".to_owned()], &beside),
        // What is named on the command line is named from here.
        (vec![path("project/srv")], &here),
    ];
    let opened = home.notes.0.lock().unwrap();
    let started: Vec<Server> = opened.iter().map(|(server, _)| server.clone()).collect();
    let wanted = wanted.map(|(argv, folder)| Server::Started { argv, folder: Some(folder.clone()) }).to_vec();
    assert_eq!(started, wanted);
}
