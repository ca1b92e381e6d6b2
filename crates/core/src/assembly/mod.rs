//! [`Assembly`]: the skills that the layers of a library list become a [`Catalog`].
//!
//! The rules about skills are here: which are turned off, which may be used, and which of several with one key is offered.
//! They need no input or output. What only the host can know is asked through [`Questions`], where the answer decides
//! something.

mod disabled;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use disabled::{Disabled, names_of};

use crate::catalog::candidate::Decision;
use crate::catalog::{
    Approved, Candidate, Catalog, DuplicateError, Duplicates, Found, LayerId, Obstacle, Stamp, TurnedOffBy,
};
use crate::digest::Digest;
use crate::skill::location::{Location, Origin, Scope};

/// What is decided about the skills of a library.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AssemblyRules {
    /// Which of two skills with one key is offered.
    pub duplicates: Duplicates,
    /// Which skills are turned off.
    pub disabled: Vec<Disabled>,
    /// The keys of found skills that the host unregistered.
    pub unregistered: BTreeSet<String>,
    /// Which skills need no approval.
    pub trusted: Trusted,
    /// Whether a list of names also means the names of folders.
    pub by_folder: bool,
}

with_methods! { AssemblyRules:
    with_duplicates duplicates: Duplicates;
}

/// Which skills may be used without an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trusted {
    /// All.
    Everything,
    /// Those of every scope, except where their layer requires an approval.
    EveryScope,
    /// Those that the user named, and the user's own that were not installed.
    #[default]
    OwnSkills,
}

/// What the user accepted of a skill. Exhaustive, because a host that does not know an answer would use the skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// Whatever it has.
    Anything,
    /// Its files, if they have one of these digests.
    Digests(Vec<Digest>),
}

impl Accepted {
    /// Whether a skill with this digest is accepted.
    pub fn covers(&self, digest: Digest) -> bool {
        match self {
            Self::Anything => true,
            Self::Digests(digests) => digests.contains(&digest),
        }
    }
}

/// What an [`Assembly`] asks its host. Without an answer, nothing is turned off, installed, accepted or the same.
pub trait Questions {
    /// Whether a skill is in a folder, or a configuration in that folder names its source.
    fn is_of(&self, _skill: &Found, _layer: LayerId, _folder: &str) -> bool {
        false
    }

    /// What turns a skill off besides the rules.
    fn left_out(&self, _skill: &Found) -> Option<TurnedOffBy> {
        None
    }

    /// Whether a skill of the user was installed, or is inside an installed one. It comes from elsewhere, so it is used
    /// only with files that the user accepted.
    fn is_installed(&self, _origin: &Origin) -> bool {
        false
    }

    /// What the user accepted of a skill.
    fn accepted(&self, _origin: &Origin) -> Accepted {
        Accepted::Digests(Vec::new())
    }

    /// The approval of a skill, if the digest over its files is accepted. Its data is then that of the digested bytes.
    fn approved(&self, _skill: &mut Found, _layer: LayerId, _accepted: &Accepted) -> Option<Approved> {
        None
    }

    /// Whether two locations are in one folder, which was found by two paths.
    fn is_same_folder(&self, _one: &Location, _other: &Location) -> bool {
        false
    }
}

/// No question has an answer.
impl Questions for () {}

/// The skills of some layers, the strongest layer first, before it is decided which of them are offered.
#[derive(Debug, Default)]
pub struct Assembly<Q> {
    rules: AssemblyRules,
    questions: Q,
    candidates: Vec<Arc<Candidate>>,
}

impl<Q: Questions> Assembly<Q> {
    /// An assembly without skills.
    pub fn new(rules: AssemblyRules, questions: Q) -> Self {
        Self { rules, questions, candidates: Vec::new() }
    }

    /// Adds the skills of the next layer, and decides which of them may be used. A skill is turned off whether it loads or
    /// not: a client may list one that Prowess cannot load.
    pub fn add(&mut self, layer: LayerId, label: &Arc<str>, skills: impl IntoIterator<Item = Box<Found>>) {
        let Self { rules, questions, candidates } = self;
        let decided = |mut found: Box<Found>| {
            let mut decision = Decision::of_layer(layer, label);
            let loads = found.obstacle.is_none();
            let left_out = loads.then(|| questions.left_out(&found)).flatten();
            match left_out.or_else(|| rules.turned_off(&found, layer, &*questions)) {
                Some(by) => decision.obstacle = Some(Obstacle::Disabled { by }),
                None if loads => {
                    (decision.obstacle, decision.approved) = rules.trusted(&mut found, layer, &*questions);
                }
                None => {}
            }
            Arc::new(Candidate::build(*found, decision))
        };
        candidates.extend(skills.into_iter().map(decided));
    }

    /// What answers its questions.
    pub fn questions(&self) -> &Q {
        &self.questions
    }

    /// The skills so far.
    pub fn candidates(&self) -> &[Arc<Candidate>] {
        &self.candidates
    }

    /// The skills, for a caller that decides itself which of them are listed.
    pub fn into_candidates(self) -> Vec<Arc<Candidate>> {
        self.candidates
    }

    /// Decides which skills are offered: see [`Catalog::new`]. A skill that was found twice, through links, is one skill.
    pub fn catalog(self) -> Result<Catalog, DuplicateError> {
        let same = |one: &Candidate, other: &Candidate| {
            // The stamps distinguish most skills without a question.
            one.stamp == other.stamp
                && one.stamp != Stamp::default()
                && !one.overrides
                && !other.overrides
                && self.questions.is_same_folder(&one.entry.origin.location, &other.entry.origin.location)
        };
        Catalog::merging(self.candidates, self.rules.duplicates, &same)
    }
}

impl AssemblyRules {
    /// What turns a skill off: the host, an option or a list.
    fn turned_off(&self, found: &Found, layer: LayerId, questions: &impl Questions) -> Option<TurnedOffBy> {
        if !found.overrides && self.unregistered.contains(&found.entry.key) {
            return Some(TurnedOffBy::Host);
        }
        let is_off = |list: &&Disabled| {
            list.names(&found.entry, self.by_folder)
                && list.within.as_deref().is_none_or(|folder| questions.is_of(found, layer, folder))
        };
        let off = || {
            let of_kind = |others| self.disabled.iter().filter(move |list| list.others == others);
            of_kind(false).chain(of_kind(true)).filter(is_off).map(|list| &list.by)
        };
        // An option counts in the view of every client, and a configuration only for Prowess.
        let by_option = off().find(|by| matches!(by, TurnedOffBy::Option(_)));
        by_option.or_else(|| off().next()).cloned()
    }

    /// Whether a skill may be used: its obstacle, and the approval that this depends on.
    fn trusted(
        &self,
        found: &mut Found,
        layer: LayerId,
        questions: &impl Questions,
    ) -> (Option<Obstacle>, Option<Approved>) {
        let origin = &found.entry.origin;
        let needs_approval = match (self.trusted, origin.scope) {
            (Trusted::Everything, _) => return (None, None),
            (Trusted::OwnSkills, Scope::Project) => true,
            (Trusted::OwnSkills, Scope::User) => found.wants_approval || questions.is_installed(origin),
            _ => found.wants_approval,
        };
        if !needs_approval {
            return (None, None);
        }
        let accepted = questions.accepted(origin);
        let approved = match &accepted {
            Accepted::Anything => return (None, None),
            Accepted::Digests(digests) if digests.is_empty() => None,
            Accepted::Digests(_) => questions.approved(found, layer, &accepted),
        };
        (approved.is_none().then_some(Obstacle::Untrusted), approved)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::parse;
    use crate::path::Glob;

    /// Notes the questions. The user accepted the skill `accepted`; two skills with one key are in one folder.
    #[derive(Debug, Default)]
    struct Noted(RefCell<Vec<&'static str>>);

    impl Questions for Noted {
        fn is_of(&self, _: &Found, _: LayerId, folder: &str) -> bool {
            self.0.borrow_mut().push("is_of");
            folder == "here"
        }

        fn is_installed(&self, _: &Origin) -> bool {
            self.0.borrow_mut().push("is_installed");
            false
        }

        fn accepted(&self, origin: &Origin) -> Accepted {
            self.0.borrow_mut().push("accepted");
            let is_accepted = origin.folder.as_deref() == Some("accepted");
            Accepted::Digests(if is_accepted { vec![Digest::from([1; 32])] } else { Vec::new() })
        }

        fn approved(&self, _: &mut Found, _: LayerId, accepted: &Accepted) -> Option<Approved> {
            self.0.borrow_mut().push("approved");
            let digest = Digest::from([1; 32]);
            accepted.covers(digest).then_some(Approved { digest, files: None })
        }

        fn is_same_folder(&self, _: &Location, _: &Location) -> bool {
            self.0.borrow_mut().push("is_same_folder");
            true
        }
    }

    fn found(folder: &str, name: &str, scope: Scope) -> Box<Found> {
        let document = parse(format!("---\nname: {name}\ndescription: d\n---\n").as_bytes());
        let at = Origin::at(format!("{folder}/{name}/SKILL.md")).with_scope(scope).with_folder(folder);
        Box::new(Found::new(document.skill(&at).unwrap()))
    }

    fn asked(
        rules: AssemblyRules,
        skills: impl IntoIterator<Item = Box<Found>>,
    ) -> (Vec<&'static str>, Catalog) {
        let noted = Noted::default();
        let mut assembly = Assembly::new(rules, noted);
        assembly.add(LayerId::default(), &"layer".into(), skills);
        let asked = assembly.questions().0.take();
        let catalog = assembly.catalog().unwrap();
        (asked, catalog)
    }

    #[test]
    fn a_question_is_asked_only_where_its_answer_decides_something() {
        let rules = AssemblyRules::default;
        for (folder, scope, questions, usable) in [
            ("named", Scope::Explicit, &[][..], true),
            ("own", Scope::User, &["is_installed"], true),
            ("project", Scope::Project, &["accepted"], false),
            ("accepted", Scope::Project, &["accepted", "approved"], true),
        ] {
            let (asked, catalog) = asked(rules(), [found(folder, "a", scope)]);
            assert_eq!((&*asked, catalog.get("a").unwrap().is_usable()), (questions, usable), "{folder}");
        }
        let everything = AssemblyRules { trusted: Trusted::Everything, ..rules() };
        assert!(asked(everything, [found("project", "a", Scope::Project)]).0.is_empty());

        let list = |glob: &str, folder: &str| {
            let by = TurnedOffBy::List("prowess.toml".to_owned());
            Disabled::new(Glob::parse(glob).unwrap(), by).with_within(Some(folder.to_owned()))
        };
        let disabled = vec![list("b", "here"), list("a", "elsewhere"), list("a", "here")];
        let (asked, catalog) =
            asked(AssemblyRules { disabled, ..rules() }, [found("named", "a", Scope::Explicit)]);
        assert!(asked.iter().all(|question| *question == "is_of") && !catalog.has("a"));
    }

    #[test]
    fn only_skills_with_one_stamp_may_be_one_skill() {
        let stamped = |folder: &str, mark: u64| {
            let mut found = found(folder, "a", Scope::Explicit);
            found.stamp = Stamp::new(0, [mark, 0, 0, 0]);
            found
        };
        for (marks, expected) in [([1, 1], 1), ([1, 2], 2), ([0, 0], 2)] {
            let skills = [stamped("one", marks[0]), stamped("other", marks[1])];
            let (_, catalog) = asked(AssemblyRules::default(), skills);
            assert_eq!(catalog.all().count(), expected, "{marks:?}");
        }
    }
}
