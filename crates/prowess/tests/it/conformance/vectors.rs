//! Reads the vectors: the texts, places and expectations that all groups share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use prowess_core::{
    Document, Entry, FileEntry, FixMode, LeftOut, Level, Manifest, Origin, Preset, Profile, RelPath,
    Severity, check, fix, parse,
};
use serde_json::{Map, Value, json};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file below `conformance/`.
pub(crate) fn load(path: &str) -> Value {
    let file = root().join("conformance").join(path);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The items of a list; an absent one is empty.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text that must be there.
pub(crate) fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}

/// A text: a string, or parts of which some are repeated.
pub(crate) fn text(value: &Value) -> String {
    let part = |part: &Value| match part.as_str() {
        Some(text) => text.to_owned(),
        None => word(&part["repeat"]).repeat(usize::try_from(part["times"].as_u64().unwrap()).unwrap()),
    };
    value.as_array().map_or_else(|| part(value), |parts| parts.iter().map(part).collect())
}

/// Bytes written as hexadecimal digits.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// The rules about how well a skill is written, which only some vectors are about.
const QUALITY: [&str; 5] = [
    "description-placeholder",
    "description-too-short",
    "description-without-when",
    "body-placeholder",
    "path-missing",
];

/// What a profile says about a case: the codes of each severity, each once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) errors: BTreeSet<String>,
    pub(crate) warnings: BTreeSet<String>,
    pub(crate) infos: BTreeSet<String>,
    /// Notes about how well it is written; nothing when the vector does not say.
    pub(crate) quality: Option<BTreeSet<String>>,
}

impl Verdict {
    /// The verdict a vector expects.
    pub(crate) fn expected(value: &Value) -> Self {
        Self {
            errors: codes(&value["errors"]),
            warnings: codes(&value["warnings"]),
            infos: codes(&value["infos"]),
            quality: value.get("quality").map(codes),
        }
    }

    /// Whether the skill loads.
    pub(crate) fn loads(&self) -> bool {
        self.errors.is_empty()
    }
}

/// A list of codes as a set; every one must be the code of a rule.
pub(crate) fn codes(value: &Value) -> BTreeSet<String> {
    let code =
        |code: &Value| check::rule(word(code)).unwrap_or_else(|error| panic!("{error}")).code.to_owned();
    list(value).iter().map(code).collect()
}

/// A case that was read: the document, its location, and the files beside it.
pub(crate) struct Reading {
    pub(crate) document: Document,
    at: Origin,
    files: Option<Manifest>,
    levels: BTreeMap<String, Level>,
    options: BTreeMap<String, Level>,
}

impl Reading {
    /// Reads the input of a case.
    pub(crate) fn of(case: &Value) -> Self {
        let bytes = match case["input_hex"].as_str() {
            Some(digits) => hex(digits),
            None => text(&case["input"]).into_bytes(),
        };
        let folder = case["folder"].as_str().unwrap_or("demo");
        let file = case["file"].as_str().unwrap_or("SKILL.md");
        let at = if folder.is_empty() {
            Origin::text("<text>")
        } else {
            Origin::at(format!("skills/{folder}/{file}")).with_folder(folder)
        };
        Self {
            document: parse(&bytes),
            at,
            files: case["files"].as_array().map(|files| manifest(files)),
            levels: serde_json::from_value(case.get("levels").cloned().unwrap_or(json!({}))).unwrap(),
            options: serde_json::from_value(case.get("options").cloned().unwrap_or(json!({}))).unwrap(),
        }
    }

    /// What a profile says.
    pub(crate) fn verdict(&self, preset: Preset) -> Verdict {
        let profile = self.levels.iter().fold(Profile::new(preset), |profile, (code, level)| {
            profile.with_level(code, *level).unwrap_or_else(|error| panic!("{error}"))
        });
        let profile = self.options.iter().fold(profile, |profile, (option, level)| match option.as_str() {
            "folder_match" => profile.with_folder_match(*level),
            "angle_brackets" => profile.with_angle_brackets(*level),
            "unknown_fields" => profile.with_unknown_fields(*level),
            other => panic!("no such option: {other}"),
        });
        let mut verdict = Verdict { quality: Some(BTreeSet::new()), ..Verdict::default() };
        for problem in profile.check(&self.document, self.files.as_ref(), &self.at) {
            let codes = match problem.severity {
                Severity::Info if QUALITY.contains(&problem.code) => verdict.quality.get_or_insert_default(),
                Severity::Error => &mut verdict.errors,
                Severity::Warning => &mut verdict.warnings,
                Severity::Info => &mut verdict.infos,
            };
            codes.insert(problem.code.to_owned());
        }
        let loaded = self.document.load(&self.at, self.files.as_ref(), &profile);
        assert_eq!(loaded.is_ok(), verdict.loads(), "loading and checking agree");
        verdict
    }

    /// What can be said about the skill, whether or not it loads.
    pub(crate) fn entry(&self) -> Entry {
        self.document.entry(&self.at)
    }

    /// The same as the members of a vector's `skill`.
    pub(crate) fn skill(&self) -> Map<String, Value> {
        let entry = self.entry();
        let metadata: Map<String, Value> =
            entry.metadata.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        assert_eq!(metadata.len(), entry.metadata.len(), "no metadata key appears twice");
        let skill = json!({
            "name": entry.name,
            "description": entry.description,
            "license": entry.license,
            "compatibility": entry.compatibility,
            "metadata": metadata,
            "allowed_tools": entry.allowed_tools,
            "tags": entry.tags,
            "version": entry.version,
            "extra": entry.extra,
            "body": self.document.body(),
            "body_offset": entry.body_offset,
            "repaired": entry.repaired,
        });
        skill.as_object().unwrap().clone()
    }

    /// The text at the place of the first finding of a rule.
    fn place(&self, code: &str) -> Option<String> {
        let findings = check::check(&self.document, self.files.as_ref(), &self.at);
        let span = findings.iter().find(|finding| finding.code() == code)?.span?;
        span.slice(self.document.text()).map(str::to_owned)
    }

    /// Everything in which the case is not as expected.
    pub(crate) fn faults(&self, expect: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        let mut compare = |what: &str, found: String, expected: String| {
            if found != expected {
                faults.push(format!("{what}\n    found    {found}\n    expected {expected}"));
            }
        };
        let skill = self.skill();
        for (member, value) in expect.as_object().unwrap() {
            match member.as_str() {
                "skill" => {
                    for (key, expected) in value.as_object().unwrap() {
                        let found =
                            skill.get(key).unwrap_or_else(|| panic!("no such member of skill: {key}"));
                        compare(key, found.to_string(), expected.to_string());
                    }
                }
                "places" => {
                    for (code, expected) in value.as_object().unwrap() {
                        compare(code, format!("{:?}", self.place(code)), format!("{:?}", expected.as_str()));
                    }
                }
                "fixed" => {
                    let fixed =
                        fix(&self.document, self.files.as_ref(), &self.at, &Profile::spec(), FixMode::Safe);
                    compare(member, json!(fixed.document.text()).to_string(), value.to_string());
                }
                profile => {
                    let mut found = self.verdict(profile.parse().unwrap());
                    if value.get("quality").is_none() {
                        found.quality = None;
                    }
                    compare(profile, format!("{found:?}"), format!("{:?}", Verdict::expected(value)));
                }
            }
        }
        faults
    }
}

/// The files of a folder: a path of one byte, a path with its size, a numbered pattern, or what is left out and why.
pub(crate) fn manifest(files: &[Value]) -> Manifest {
    let entry = |path: &str, size: u64| FileEntry::new(RelPath::parse(path).unwrap(), size);
    let (mut entries, mut left_out) = (Vec::new(), Vec::new());
    for file in files {
        if let Some(reason) = file["left_out"].as_str() {
            left_out.push(LeftOut::new(word(&file["path"]), reason));
            continue;
        }
        match (file.as_str(), file["count"].as_u64()) {
            (Some(path), _) => entries.push(entry(path, 1)),
            (None, Some(count)) => {
                let pattern = word(&file["path"]);
                entries.extend((1..=count).map(|n| entry(&pattern.replace("{}", &n.to_string()), 1)));
            }
            (None, None) => entries.push(entry(word(&file["path"]), file["size"].as_u64().unwrap())),
        }
    }
    Manifest::new(entries).with_left_out(left_out)
}

/// Fails with every fault of every case.
pub(crate) fn report(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}
