//! [`view`]: which of the skills in its folders a client lists, and why it does not list the others.

use std::borrow::Cow;

use super::fact::Fact;
use super::facts::{Facts, Sighting};
use super::row::{Reads, Rewrite, Same};
use crate::skill::Entry;

/// A skill in a folder that a client reads.
#[derive(Clone, Copy, Debug)]
pub struct Seeing<'s> {
    /// The skill as Prowess reads it.
    pub entry: &'s Entry,
    /// Its depth below the root, and its facts.
    pub sighting: Sighting,
    /// The identity of its file, such as device and inode, if it is known: a client lists a file once.
    pub file: Option<(u64, u64)>,
}

/// A skill that a client lists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen<'s> {
    /// The name under which the client shows it.
    pub shown_as: Cow<'s, str>,
    /// The fact that makes the client hide it from its model, if there is one.
    pub hidden: Option<Fact>,
    /// Whether other skills have this name, and the client does not always list the same one.
    pub one_of_several: bool,
}

/// Why a client does not list a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotListed {
    /// It is deeper below the root than the client looks.
    TooDeep {
        /// Its depth.
        depth: u16,
        /// The depth of the client.
        limit: u16,
    },
    /// The client skips skills with these facts.
    Refused(Facts),
    /// The client lists the same file by another path.
    SameFile {
        /// The skill that is listed.
        by: usize,
    },
    /// The client lists another skill with this name.
    SameName {
        /// The skill that is listed.
        by: usize,
    },
}

/// How a client lists each skill, or why it does not, in the order in which they were given.
pub type View<'s> = Vec<Result<Seen<'s>, NotListed>>;

/// Which of the skills in its folders a client lists. The skills are given in the order in which the client prefers
/// them.
///
/// ```
/// use prowess_core::client::{Facts, Fact, Reads, Seeing, Sighting, NotListed, view};
/// use prowess_core::{Origin, parse};
///
/// let entry = parse(b"---\nname: tidy\ndescription: Tidies up.\n---\n").entry(&Origin::at("tidy/SKILL.md"));
/// let row = Reads { depth: 1, ..Reads::UNKNOWN };
/// let at = |depth| [Seeing { entry: &entry, sighting: Sighting::new(depth, Facts::NONE), file: None }];
/// assert_eq!(view(&row, &at(1))[0].as_ref().unwrap().shown_as, "tidy");
/// assert_eq!(view(&row, &at(2))[0], Err(NotListed::TooDeep { depth: 2, limit: 1 }));
/// ```
pub fn view<'s>(row: &Reads, skills: &[Seeing<'s>]) -> View<'s> {
    let mut view: View<'s> = skills.iter().map(|skill| look(row, skill)).collect();
    once(&mut view, |at, _| skills.get(at)?.file, Same::First, |by| NotListed::SameFile { by });
    if row.same != Same::All {
        let key = |_, seen: &Seen<'s>| {
            Some(if row.ignores_case {
                Cow::Owned(seen.shown_as.to_lowercase())
            } else {
                seen.shown_as.clone()
            })
        };
        once(&mut view, key, row.same, |by| NotListed::SameName { by });
    }
    view
}

/// How a client lists one skill, without regard to the others.
fn look<'s>(row: &Reads, skill: &Seeing<'s>) -> Result<Seen<'s>, NotListed> {
    let Sighting { depth, facts } = skill.sighting;
    if depth > row.depth {
        return Err(NotListed::TooDeep { depth, limit: row.depth });
    }
    let refused = facts.common(row.refuses);
    if !refused.is_empty() {
        return Err(NotListed::Refused(refused));
    }
    let hidden = facts.common(row.hides).iter().next();
    Ok(Seen { shown_as: row.shown_as(skill.entry, facts), hidden, one_of_several: false })
}

impl Reads {
    /// The name under which the client shows a skill with these facts.
    pub fn shown_as<'s>(&self, entry: &'s Entry, facts: Facts) -> Cow<'s, str> {
        let folder = entry.origin.folder.as_deref().filter(|folder| !folder.is_empty());
        let by_folder = self.by_folder || !facts.common(self.folder_if).is_empty();
        let name = folder.filter(|_| by_folder).unwrap_or(&entry.name);
        match self.rewrite {
            Rewrite::Slug => slug(name),
            Rewrite::Hyphens(characters) if name.contains(|character| characters.contains(character)) => name
                .chars()
                .map(|character| if characters.contains(character) { '-' } else { character })
                .collect(),
            Rewrite::None | Rewrite::Hyphens(_) => Cow::Borrowed(name),
            Rewrite::Cut(most) => {
                let end = name.char_indices().nth(most).map_or(name.len(), |(at, _)| at);
                Cow::Borrowed(name.get(..end).unwrap_or(name))
            }
        }
    }
}

fn slug(name: &str) -> Cow<'_, str> {
    let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9');
    let hyphens = name.starts_with('-') || name.ends_with('-') || name.contains("--");
    if !hyphens && name.bytes().all(|byte| plain(byte) || byte == b'-') {
        return Cow::Borrowed(name);
    }
    let mut slug = String::with_capacity(name.len());
    for character in name.chars() {
        let lower = character.to_ascii_lowercase();
        if lower.is_ascii_alphanumeric() {
            slug.push(lower);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug.into()
}

/// Keeps one of the seen skills with the same key.
fn once<'s, K: Ord>(
    view: &mut View<'s>,
    key: impl Fn(usize, &Seen<'s>) -> Option<K>,
    same: Same,
    unseen: impl Fn(usize) -> NotListed,
) {
    let mut keys: Vec<(K, usize)> = Vec::with_capacity(view.len());
    for (at, seen) in view.iter().enumerate() {
        keys.extend(seen.as_ref().ok().and_then(|seen| key(at, seen)).map(|key| (key, at)));
    }
    keys.sort_unstable();
    let mut others = Vec::new();
    for group in keys.chunk_by(|one, other| one.0 == other.0).filter(|group| group.len() > 1) {
        let winner = if same == Same::Last { group.last() } else { group.first() };
        let Some((_, winner)) = winner else { continue };
        others.extend(group.iter().filter(|(_, at)| at != winner).map(|(_, at)| (*at, *winner)));
    }
    for (at, winner) in others {
        if let (Same::Unstable, Some(Ok(winner))) = (same, view.get_mut(winner)) {
            winner.one_of_several = true;
        }
        if let Some(slot) = view.get_mut(at) {
            *slot = Err(unseen(winner));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;
    use crate::skill::location::Origin;

    fn entry(name: &str, folder: &str) -> Entry {
        let text = format!("---\nname: {name}\ndescription: d\n---\nbody\n");
        parse(text.as_bytes()).entry(&Origin::at(format!("skills/{folder}/SKILL.md")))
    }

    fn names(row: &Reads, entries: &[Entry]) -> Vec<Option<String>> {
        let seeing = |entry| Seeing { entry, sighting: Sighting::new(1, Facts::NONE), file: None };
        let seeings: Vec<Seeing<'_>> = entries.iter().map(seeing).collect();
        view(row, &seeings).into_iter().map(|seen| seen.ok().map(|seen| seen.shown_as.into_owned())).collect()
    }

    #[test]
    fn a_name_is_shown_as_the_row_says() {
        let one = |row: Reads, name: &str| names(&row, &[entry(name, "the-folder")]).remove(0).unwrap();
        let rewrite = |rewrite| Reads { rewrite, ..Reads::UNKNOWN };
        assert_eq!(one(Reads { by_folder: true, ..Reads::UNKNOWN }, "a"), "the-folder");
        assert_eq!(one(rewrite(Rewrite::Slug), "A_b.c--d-"), "a-b-c-d");
        assert_eq!(one(rewrite(Rewrite::Slug), "plain-1"), "plain-1");
        assert_eq!(one(rewrite(Rewrite::Hyphens(" /")), "a b/c:d"), "a-b-c:d");
        assert_eq!(one(rewrite(Rewrite::Cut(3)), "äbcd"), "äbc");
    }

    #[test]
    fn of_several_skills_with_one_name_the_row_says_which_is_listed() {
        let skills = [entry("one", "a"), entry("One", "b"), entry("one", "c")];
        let listed = |same, ignores_case| {
            let names = names(&Reads { same, ignores_case, ..Reads::UNKNOWN }, &skills);
            names.iter().map(Option::is_some).collect::<Vec<_>>()
        };
        assert_eq!(listed(Same::First, false), [true, true, false]);
        assert_eq!(listed(Same::Last, false), [false, true, true]);
        assert_eq!(listed(Same::First, true), [true, false, false]);
        assert_eq!(listed(Same::Last, true), [false, false, true]);
        assert_eq!(listed(Same::All, true), [true, true, true]);
        assert_eq!(listed(Same::Unstable, false), [true, true, false]);
    }

    #[test]
    fn a_client_that_takes_one_or_the_other_of_two_skills_is_not_said_to_take_the_first() {
        let skills = [entry("one", "a"), entry("one", "b"), entry("two", "c")];
        let seeing = |entry| Seeing { entry, sighting: Sighting::new(1, Facts::NONE), file: None };
        let seeings: Vec<Seeing<'_>> = skills.iter().map(seeing).collect();
        let of_several = |same| {
            let seen = view(&Reads { same, ..Reads::UNKNOWN }, &seeings);
            seen.iter().flatten().map(|seen| seen.one_of_several).collect::<Vec<_>>()
        };
        assert_eq!(
            (of_several(Same::Unstable), of_several(Same::First)),
            (vec![true, false], vec![false; 2])
        );
    }

    #[test]
    fn a_file_that_is_reached_by_two_paths_is_listed_once_even_by_a_client_that_lists_all() {
        let skills = [entry("one", "a"), entry("one", "b")];
        let seeing = |entry| Seeing { entry, sighting: Sighting::default(), file: Some((1, 7)) };
        let seeings: Vec<Seeing<'_>> = skills.iter().map(seeing).collect();
        let seen = view(&Reads { same: Same::All, ..Reads::UNKNOWN }, &seeings);
        assert_eq!(seen[1], Err(NotListed::SameFile { by: 0 }));
    }

    #[test]
    fn a_skill_that_is_passed_over_takes_no_name_and_one_that_is_hidden_does() {
        let skills = [entry("one", "a"), entry("one", "b")];
        let row = Reads {
            hides: Facts::of(&[Fact::Paths]),
            refuses: Facts::of(&[Fact::Internal]),
            ..Reads::UNKNOWN
        };
        let seen = |fact| {
            let first = Sighting::new(1, Facts::of(&[fact]));
            let seeings = [
                Seeing { entry: &skills[0], sighting: first, file: None },
                Seeing { entry: &skills[1], sighting: Sighting::new(1, Facts::NONE), file: None },
            ];
            view(&row, &seeings).iter().map(Result::is_ok).collect::<Vec<_>>()
        };
        assert_eq!((seen(Fact::Internal), seen(Fact::Paths)), (vec![false, true], vec![true, false]));
    }
}
