//! A home with the tree of skills on which clients differ.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use prowess::env::Environment;
use prowess::library::LibraryOptions;
use prowess::library::clients::Client;
use prowess::library::views::{Reach, Views};
use prowess::registry::trust::Approvals;
use serde_json::Value;

use crate::data;

/// The scenes: where a client was asked, below the home.
pub(super) const SCENES: [(&str, &str); 5] = [
    ("root", "code/proj"),
    ("sub", "code/proj/packages/app"),
    ("worktree", "code/wt"),
    ("nogit", "nogit/a/b"),
    ("rootfile", "code/rf"),
];

/// The folders with markers in every folder of a project that a client may read, and the keys of the markers.
const MARKED: [(&str, &str); 8] = [
    ("code/proj/packages/app", "0"),
    ("code/proj/packages", "1"),
    ("code/proj", "2"),
    ("code", "3"),
    ("code/wt", "w"),
    ("nogit/a/b", "n0"),
    ("nogit/a", "n1"),
    ("nogit", "n2"),
];

pub(super) fn vectors(file: &str) -> Value {
    let path = data::repository("conformance/clients").join(file);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

pub(super) fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap()).collect()
}

/// A home with the tree of the vectors, without its shapes.
pub(super) struct Home {
    folder: tempfile::TempDir,
    tree: Value,
}

pub(super) fn put(file: &Path, text: &[u8]) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

pub(super) fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\nDo the thing.\n")
}

fn slug(path: &str) -> String {
    let words = path.split(|character: char| !character.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-").to_lowercase()
}

impl Home {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Self { folder, tree: vectors("tree.json") };
        for (repository, worktree) in [("code/proj", Some("code/wt")), ("code/rf", None)] {
            fs::create_dir_all(home.at(repository).join(".git/worktrees/wt")).unwrap();
            if let Some(worktree) = worktree {
                let git = home.at(repository).join(".git/worktrees/wt");
                put(&home.at(worktree).join(".git"), format!("gitdir: {}\n", git.display()).as_bytes());
            }
        }
        for path in texts(&home.tree["markers"]["project"]) {
            home.mark_project(path);
        }
        for path in texts(&home.tree["markers"]["user"]) {
            home.mark_user(path);
        }
        let file = Approvals::file(&home.environment()).unwrap();
        let mut approvals = Approvals::default();
        for folder in ["code", "nogit"] {
            approvals.trust_folder(fs::canonicalize(home.at(folder)).unwrap());
        }
        approvals.save(&file).unwrap();
        home
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join(path)
    }

    pub(super) fn environment(&self) -> Environment {
        Environment::of([("HOME", self.at("").to_str().unwrap())])
    }

    fn mark_project(&self, path: &str) {
        for (folder, key) in MARKED {
            let name = format!("m{key}-{}", slug(path));
            let text = skill(&name, &format!("Marker {key} {path}."));
            put(&self.at(folder).join(path).join(name).join("SKILL.md"), text.as_bytes());
        }
        let names = ["dup-all", "dup-proj", "dup-above"];
        for (folder, tag, names) in
            [("code/proj", "proj", &names[..]), ("code/proj/packages/app", "app", &["dup-above"])]
        {
            for name in names {
                let text = skill(name, &format!("{tag} {path}"));
                put(&self.at(folder).join(path).join(name).join("SKILL.md"), text.as_bytes());
            }
        }
    }

    fn mark_user(&self, path: &str) {
        let marker = format!("mh-{}", slug(path));
        put(
            &self.at(path).join(&marker).join("SKILL.md"),
            skill(&marker, &format!("Marker h {path}.")).as_bytes(),
        );
        for name in ["dup-all", "dup-user"] {
            let text = skill(name, &format!("user {path}"));
            put(&self.at(path).join(name).join("SKILL.md"), text.as_bytes());
        }
    }

    /// Puts the shapes into a folder of the project and one of the user.
    pub(super) fn shape(&self, project: &str, user: &str, without: &[&str]) {
        for (root, prefix, number, scope) in [
            (self.at("code/proj").join(project), "s-", "12345", "project"),
            (self.at(user), "u-", "67890", "user"),
        ] {
            let named = |text: &str| text.replace("{p}", prefix).replace("{number}", number);
            for shape in self.tree["shapes"].as_array().unwrap() {
                let path = shape["path"].as_str().unwrap();
                let left_out = without.iter().any(|name| path.starts_with(&format!("{{p}}{name}/")));
                if left_out || shape["only"].as_str().is_some_and(|only| only != prefix) {
                    continue;
                }
                let text = named(&repeated(&shape["text"]));
                let latin1 = || text.chars().map(|character| u8::try_from(u32::from(character)).unwrap());
                let bytes = if shape["latin1"] == true { latin1().collect() } else { text.into_bytes() };
                put(&root.join(named(path)), &bytes);
            }
            for link in self.tree["links"].as_array().unwrap() {
                let path = root.join(named(link["path"].as_str().unwrap()));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                symlink(root.join(named(link["to"].as_str().unwrap())), path).unwrap();
            }
            put(&root.join("dup-scope/SKILL.md"), skill("dup-scope", scope).as_bytes());
        }
        let root = self.at("code/rf").join(project);
        put(&root.join("SKILL.md"), skill("s-root-file", "SKILL.md right in the root.").as_bytes());
        for name in ["rf-one", "rf-two"] {
            put(&root.join(name).join("SKILL.md"), skill(name, "Beside a SKILL.md in the root.").as_bytes());
        }
    }

    /// Takes the shapes away.
    pub(super) fn plain(&self, project: &str, user: &str) {
        for (base, path) in [(self.at("code/proj"), project), (self.at(""), user)] {
            let root = base.join(path);
            for prefix in ["s-", "u-"] {
                let _ = fs::remove_dir_all(root.parent().unwrap().join(format!("{prefix}away")));
            }
            fs::remove_dir_all(root).unwrap();
        }
        fs::remove_dir_all(self.at("code/rf").join(project)).unwrap();
        self.mark_project(project);
        self.mark_user(user);
    }

    /// The names that a client lists in a folder, with the descriptions of the skills.
    pub(super) fn names(
        &self,
        client: &'static Client,
        scene: &str,
        prompt: bool,
    ) -> BTreeMap<String, Vec<String>> {
        let views = Views::open(
            &self.at(scene),
            &self.environment(),
            &LibraryOptions::default(),
            &[client],
            Reach::Clients,
        )
        .unwrap();
        views.refresh().unwrap();
        assert!(views.registry().problems().is_empty(), "{:?}", views.registry().problems());
        let catalog = views.registry().catalog();
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for sight in views.of(client, &catalog) {
            if let Ok(seen) = sight.seen
                && !(prompt && seen.hidden.is_some())
            {
                let description = sight.skill.entry.description.clone();
                names.entry(seen.shown_as.into_owned()).or_default().push(description);
            }
        }
        names
    }
}

/// A text, or one that is made of parts.
fn repeated(text: &Value) -> String {
    let part = |part: &Value| match part {
        Value::String(text) => text.clone(),
        part => {
            let times = usize::try_from(part["times"].as_u64().unwrap()).unwrap();
            part["repeat"].as_str().unwrap().repeat(times)
        }
    };
    match text {
        Value::Array(parts) => parts.iter().map(part).collect(),
        text => part(text),
    }
}
