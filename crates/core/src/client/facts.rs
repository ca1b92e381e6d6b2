//! [`Facts`]: a set of [`Fact`]s, and those of a SKILL.md.

use std::fmt;

use serde::{Serialize, Serializer};

use super::fact::Fact;
use crate::document::rules::{
    BYTE_ORDER_MARK, DUPLICATE_IDENTITY, DUPLICATE_KEY, FENCE_IRREGULAR, FENCE_LEADING_TEXT,
    FRONTMATTER_EMPTY, FRONTMATTER_MISSING, FRONTMATTER_NOT_MAPPING, FRONTMATTER_TOO_LARGE,
    FRONTMATTER_UNCLOSED, NOT_UTF8, YAML_SYNTAX, YAML_UNREADABLE,
};
use crate::document::{Document, Node, NodeKind};
use crate::finding::Finding;
use crate::limits::{MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS};
use crate::skill::Entry;
use crate::span::Span;

/// A file that is larger than this is [`Fact::FileLarge`].
const LARGE_FILE: u64 = 256_000;

/// The names of this platform in the fields of skills.
const PLATFORM: &[&str] = if cfg!(target_os = "windows") {
    &["windows", "win32"]
} else if cfg!(target_os = "macos") {
    &["macos", "darwin"]
} else {
    &["linux"]
};

/// A set of [`Fact`]s.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Facts(u64);

impl Facts {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// The set of these facts.
    pub const fn of(facts: &[Fact]) -> Self {
        let mut set = Self::NONE;
        let mut rest = facts;
        while let [first, others @ ..] = rest {
            set = set.with(*first);
            rest = others;
        }
        set
    }

    /// The set with one more fact.
    #[must_use]
    pub const fn with(self, fact: Fact) -> Self {
        Self(self.0 | 1 << fact as u32)
    }

    /// The union with another set.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The intersection with another set.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The difference: the facts that another set does not have.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the set has a fact.
    pub const fn has(self, fact: Fact) -> bool {
        self.0 & 1 << fact as u32 != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The facts, in the order of [`Fact::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Fact> {
        Fact::ALL.iter().copied().filter(move |fact| self.has(*fact))
    }

    fn set(&mut self, fact: Fact, holds: bool) {
        if holds {
            *self = self.with(fact);
        }
    }

    /// The facts about a SKILL.md itself. `size` is that of the file, and `blank` says that nothing follows its
    /// frontmatter.
    pub fn of_document(document: &Document, entry: &Entry, size: u64, blank: bool) -> Self {
        let mut facts = Self::NONE;
        let file =
            entry.origin.location.path().map_or("SKILL.md", |path| path.rsplit('/').next().unwrap_or(path));
        facts.set(Fact::OtherFileName, file != "SKILL.md");
        facts.set(Fact::OtherSpelling, !["SKILL.md", "skill.md"].contains(&file));
        facts.set(Fact::FileLarge, size > LARGE_FILE);
        facts.add_findings(document);
        if facts.has_no_fields() {
            return facts;
        }
        facts.set(Fact::BlankBody, blank);
        facts.add_name(document, entry);
        facts.add_description(document, entry);
        facts.add_flags(document, entry);
        facts
    }

    /// Whether nothing is known about the fields, since there is no frontmatter to read.
    fn has_no_fields(self) -> bool {
        const UNREAD: Facts = Facts::of(&[
            Fact::Unreadable,
            Fact::EmptyFile,
            Fact::CarriageReturns,
            Fact::FenceDashes,
            Fact::Unclosed,
            Fact::NoFrontmatter,
        ]);
        !self.common(UNREAD).is_empty()
    }

    fn add_findings(&mut self, document: &Document) {
        for finding in document.findings() {
            let rule = finding.rule;
            let fact = if rule == &BYTE_ORDER_MARK {
                Fact::ByteOrderMark
            } else if rule == &NOT_UTF8 {
                Fact::NotUtf8
            } else if rule == &FENCE_LEADING_TEXT {
                let leading = finding.span.and_then(|span| span.slice(document.text())).unwrap_or("");
                if leading.trim().is_empty() { Fact::LeadingBlank } else { Fact::LeadingText }
            } else if [&FRONTMATTER_UNCLOSED, &FRONTMATTER_TOO_LARGE, &FENCE_IRREGULAR].contains(&rule) {
                Fact::Unclosed
            } else if [&FRONTMATTER_MISSING, &FRONTMATTER_EMPTY, &FRONTMATTER_NOT_MAPPING].contains(&rule) {
                no_frontmatter(document.text())
            } else if rule == &DUPLICATE_KEY {
                Fact::KeyTwice
            } else if rule == &DUPLICATE_IDENTITY {
                Fact::IdentityTwice
            } else if rule == &YAML_UNREADABLE {
                Fact::YamlOther
            } else {
                if rule == &YAML_SYNTAX {
                    self.add_syntax(finding, document.text());
                }
                continue;
            };
            *self = self.with(fact);
        }
        if let Some(fences) = document.fences() {
            let spaced = |fence: Span| {
                document.text().get(fence.end..).is_some_and(|after| after.starts_with([' ', '\t']))
            };
            self.set(Fact::FenceSpaces, spaced(fences.open) || spaced(fences.close));
        }
    }

    /// Adds the facts about YAML that was repaired. The repair shows what was wrong.
    fn add_syntax(&mut self, finding: &Finding, text: &str) {
        for edit in finding.fix.iter().flat_map(|fix| &fix.edits) {
            let written = edit.span.slice(text).unwrap_or("");
            let fact = if written.contains('\t') && written.trim().is_empty() {
                Fact::YamlTab
            } else if written.starts_with(['[', '{']) {
                Fact::YamlFlow
            } else if written.contains(": ") || written.ends_with(':') {
                Fact::YamlColon
            } else {
                Fact::YamlOther
            };
            *self = self.with(fact);
        }
    }

    fn add_name(&mut self, document: &Document, entry: &Entry) {
        let field = document.field("name");
        let Some(scalar) = field.and_then(Node::scalar).filter(|scalar| !scalar.is_null()) else {
            let fact = if field.is_some_and(|node| node.scalar().is_none()) {
                Fact::NameNotText
            } else {
                Fact::NameMissing
            };
            *self = self.with(fact);
            return;
        };
        let name = entry.name.as_str();
        self.set(Fact::NameMissing, scalar.text.trim().is_empty());
        self.set(Fact::NameNotText, scalar.other_type().is_some());
        self.set(Fact::NameLong, name.chars().count() > MAX_NAME_CHARS);
        let folder = entry.origin.folder.as_deref();
        self.set(Fact::NameNotFolder, folder.is_some_and(|folder| folder != name));
        for character in name.chars() {
            let fact = match character {
                'a'..='z' | '0'..='9' | '-' => continue,
                'A'..='Z' => Fact::NameUpper,
                '_' => Fact::NameUnderscore,
                '.' => Fact::NameDot,
                ' ' => Fact::NameSpace,
                ':' => Fact::NameColon,
                '/' | '\\' => Fact::NameSlash,
                _ if !character.is_ascii() => Fact::NameNotAscii,
                _ => Fact::NameOther,
            };
            *self = self.with(fact);
        }
        self.set(Fact::NameDoubleHyphen, name.contains("--"));
        self.set(Fact::NameEdgeHyphen, name.starts_with('-') || name.ends_with('-'));
    }

    fn add_description(&mut self, document: &Document, entry: &Entry) {
        let fact = match document.field("description").map(|node| &node.kind) {
            None => Fact::DescriptionMissing,
            Some(NodeKind::Sequence(_) | NodeKind::Mapping(_)) => Fact::DescriptionList,
            Some(NodeKind::Scalar(scalar)) if scalar.is_null() => Fact::DescriptionNull,
            Some(NodeKind::Scalar(scalar)) if scalar.text.trim().is_empty() => Fact::DescriptionEmpty,
            Some(NodeKind::Scalar(scalar)) if scalar.other_type().is_some() => Fact::DescriptionNotText,
            // There are at least as many bytes as characters.
            Some(_) if entry.description.len() <= MAX_DESCRIPTION_CHARS => return,
            Some(_) if entry.description.chars().count() > MAX_DESCRIPTION_CHARS => Fact::DescriptionLong,
            Some(_) => return,
        };
        *self = self.with(fact);
    }

    fn add_flags(&mut self, document: &Document, entry: &Entry) {
        let is = |node: Option<&Node>, word: &str| node.and_then(Node::text) == Some(word);
        let metadata = document.field("metadata");
        let nested = |key: &str| metadata.and_then(|node| node.get(key));
        let shapeless = document.field("compatibility").is_some_and(|node| node.scalar().is_none());
        self.set(Fact::CompatibilityNotText, shapeless);
        // A hint in brackets is text to most clients, and a list to YAML.
        let listed = document.field("argument-hint").is_some_and(|node| node.scalar().is_none());
        self.set(Fact::HintNotText, listed);
        self.set(Fact::NoModel, !entry.invocation.model);
        self.set(Fact::Paths, document.field("paths").is_some_and(|node| !node.is_null()));
        self.set(Fact::Internal, is(nested("internal"), "true"));
        self.set(
            Fact::Disabled,
            is(document.field("disabled"), "true") || is(document.field("enabled"), "false"),
        );
        let ours = |item: &Node| item.text().is_some_and(|text| PLATFORM.contains(&text));
        let elsewhere = |node: &Node| node.items().is_some_and(|items| !items.iter().any(ours));
        let platforms = [document.field("platforms"), nested("openclaw").and_then(|node| node.get("os"))];
        self.set(Fact::OtherPlatform, platforms.into_iter().flatten().any(elsewhere));
    }
}

/// Why a text has no frontmatter.
fn no_frontmatter(text: &str) -> Fact {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.is_empty() {
        Fact::EmptyFile
    } else if text.starts_with("----") {
        Fact::FenceDashes
    } else if text.starts_with("---\r") && !text.contains('\n') {
        Fact::CarriageReturns
    } else {
        Fact::NoFrontmatter
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter().map(Fact::code)).finish()
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Fact::code))
    }
}

/// The depth of a SKILL.md below its root, and the facts about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sighting {
    /// The number of folders between the root and the file.
    pub depth: u16,
    /// The facts.
    pub facts: Facts,
}

impl Sighting {
    /// A skill at this depth, with these facts.
    pub const fn new(depth: u16, facts: Facts) -> Self {
        Self { depth, facts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::skill::location::Origin;

    fn facts(text: &[u8]) -> Vec<&'static str> {
        let document = parse(text);
        let entry = document.entry(&Origin::at("skills/demo/SKILL.md"));
        let blank = document.body().is_empty();
        Facts::of_document(&document, &entry, text.len() as u64, blank).iter().map(Fact::code).collect()
    }

    #[test]
    fn each_way_to_write_a_skill_is_told_apart() {
        let with =
            |extra: &str| facts(format!("---\nname: demo\ndescription: d\n{extra}---\nbody\n").as_bytes());
        assert!(with("").is_empty() && with("metadata:\n  a: &x b\n  c: *x\n").is_empty());
        for (extra, fact) in [
            ("hint: [a] b\n", "yaml-flow"),
            ("hint: a: b\n", "yaml-colon"),
            ("metadata:\n\ta: b\n", "yaml-tab"),
            ("license: a\nlicense: b\n", "key-twice"),
            ("name: demo\n", "identity-twice"),
            ("compatibility: [a]\n", "compatibility-not-text"),
            ("disable-model-invocation: true\n", "no-model"),
            ("argument-hint: [file]\n", "argument-hint-not-text"),
            ("paths: a\n", "paths"),
            ("enabled: false\n", "disabled"),
            ("platforms: [plan9]\n", "other-platform"),
            ("metadata:\n  internal: true\n", "internal"),
        ] {
            assert_eq!(with(extra), [fact]);
        }
        assert_eq!(facts(b"---\nname: demo\ndescription: d\n---\n\n"), ["blank-body"]);
        assert_eq!(facts(b"\xef\xbb\xbf---\nname: demo\ndescription: d\n---\nb"), ["byte-order-mark"]);
        assert_eq!(facts(b"\n---\nname: demo\ndescription: d\n---\nb"), ["leading-blank"]);
        assert_eq!(facts(b"<!-- a -->\n---\nname: demo\ndescription: d\n---\nb"), ["leading-text"]);
        assert_eq!(facts(b"--- \nname: demo\ndescription: d\n---\nb"), ["fence-spaces"]);
        assert_eq!(facts(b"----\nname: demo\ndescription: d\n----\nb"), ["fence-dashes"]);
        assert_eq!(facts(b"---\nname: demo\ndescription: d\n\nBody.\n"), ["frontmatter-unclosed"]);
        assert_eq!(facts(b"# demo\n"), ["frontmatter-missing"]);
        assert_eq!(facts(b"---\rname: demo\r---\r"), ["carriage-returns"]);
        assert_eq!(facts(b""), ["empty-file"]);
        assert_eq!(facts(b"---\nname: demo\ndescription: d\xe9\n---\nb"), ["not-utf8"]);
    }

    #[test]
    fn names_and_descriptions_are_told_apart() {
        let named = |name: &str| facts(format!("---\nname: {name}\ndescription: d\n---\nb\n").as_bytes());
        assert_eq!(named("Demo_1.x"), ["name-not-folder", "name-upper", "name-underscore", "name-dot"]);
        assert_eq!(
            named("'-a b:c/é--'"),
            [
                "name-not-folder",
                "name-space",
                "name-colon",
                "name-slash",
                "name-not-ascii",
                "name-double-hyphen",
                "name-edge-hyphen"
            ]
        );
        assert_eq!(named("12"), ["name-not-text", "name-not-folder"]);
        assert_eq!(named(""), ["name-missing"]);
        let described = |text: &str| facts(format!("---\nname: demo\n{text}---\nb\n").as_bytes());
        assert_eq!(described(""), ["description-missing"]);
        assert_eq!(described("description:\n"), ["description-null"]);
        assert_eq!(described("description: ''\n"), ["description-empty"]);
        assert_eq!(described("description: true\n"), ["description-not-text"]);
        assert_eq!(described("description: [a]\n"), ["description-list"]);
        assert_eq!(described(&format!("description: {}\n", "é".repeat(1024))), Vec::<&str>::new());
        assert_eq!(described(&format!("description: {}\n", "é".repeat(1025))), ["description-long"]);
    }

    #[test]
    fn every_fact_has_a_bit_a_code_and_words_of_its_own() {
        assert!(Fact::ALL.len() <= 64);
        let mut codes: Vec<&str> = Fact::ALL.iter().map(|fact| fact.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Fact::ALL.len());
        let all = Facts::of(Fact::ALL);
        assert_eq!(all.iter().count(), Fact::ALL.len());
        assert!(all.without(all).is_empty() && Fact::ALL.iter().all(|fact| !fact.fix().is_empty()));
    }
}
