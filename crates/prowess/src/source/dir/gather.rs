//! Collects the skills of a walk: each SKILL.md becomes a skill or a broken one, from its bytes or from the cache.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use prowess_core::{Document, Found, Obstacle, parse, parse_prefix};

use super::DirSource;
use super::sightings::{self, Links};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::file_cache::FileCache;
use crate::fs::location::location_of;
use crate::fs::stamp::FileStamp;
use crate::fs::walk::{self, OnError, Opened, Reader, Visitor};
use crate::internal::locked;
use crate::source::budget::{self, Cost};
use crate::source::{Listing, found_at, reasons, unread};

/// How many bytes of a SKILL.md are read first; nearly every frontmatter is shorter.
const FIRST_BYTES: usize = 2048;

/// Reads the skills of a walk.
#[derive(Debug)]
pub(super) struct SkillReader<'s> {
    pub(super) source: &'s DirSource,
    /// The path before that of a skill below the root, in its virtual path.
    pub(super) above: PathBuf,
    pub(super) index: &'s FileCache,
}

/// Collects skills during a walk.
#[derive(Debug)]
pub(super) struct Gather<'s> {
    pub(super) reader: &'s SkillReader<'s>,
    /// The positions in the cache of files that are unchanged.
    pub(super) hits: Vec<usize>,
    /// The new entries of the cache, if there is one.
    pub(super) fresh: Vec<(PathBuf, FileStamp, Vec<u8>)>,
    /// The links that the walk met, if they matter.
    pub(super) links: Links,
    /// Whether a skill may be inside another.
    pub(super) any_deep: bool,
    pub(super) listing: Listing,
}

/// The result of reading a SKILL.md.
#[derive(Debug)]
pub(super) enum Skill {
    /// A skill, or a broken one.
    Read(Read),
    /// It exists and cannot be read.
    Failed(PathBuf, SourceError),
}

/// A SKILL.md that was read, or is in the cache.
#[derive(Debug)]
pub(super) struct Read {
    found: Box<Found>,
    /// The size of its frontmatter.
    head: usize,
    memory: Memory,
    /// Whether it is below another folder of the root, so that it may be inside another skill.
    is_deep: bool,
    /// Its path, if its location has another text.
    odd: Option<PathBuf>,
}

/// What the next cache has of a SKILL.md.
#[derive(Debug)]
enum Memory {
    /// The entry of this cache at a position.
    Kept(usize),
    /// Its path, its state and the bytes that its frontmatter is read from.
    Fresh(PathBuf, FileStamp, Vec<u8>),
    Nothing,
}

impl Reader for SkillReader<'_> {
    type Skill = Skill;

    fn knows_anything(&self) -> bool {
        !self.index.is_empty()
    }

    fn known(&self, path: &Path, stamp: &FileStamp) -> Option<usize> {
        let at = self.index.find(path, stamp)?;
        // Only the file itself shows whether its body is blank.
        let blank = self.source.sighted.is_some() && sightings::may_be_blank(stamp, self.index.kept(at));
        (!blank).then_some(at)
    }

    fn read(&self, path: PathBuf, opened: Opened, buffer: &mut Vec<u8>) -> Skill {
        let (mut document, stamp, memory) = match opened {
            Opened::Known(at, stamp) => {
                let head = self.index.kept(at);
                (parse_prefix(head, true).unwrap_or_else(|| parse(head)), stamp, Memory::Kept(at))
            }
            Opened::File(mut file, stamp) => match read_prefix(&mut file, buffer) {
                Ok(document) => {
                    if self.source.sighted.is_some() && sightings::may_be_blank(&stamp, buffer) {
                        // A body that is cut off here would count as text, however blank it is.
                        let _ = file.take(sightings::MAX_BLANK).read_to_end(buffer);
                    }
                    // All bytes that decided the reading. Those before the body are too few if the closing fence is
                    // missing: where the body begins is seen only from what follows.
                    let memory = if self.source.cache.is_some() && document.fences().is_some() {
                        Memory::Fresh(path.clone(), stamp, document.raw().to_vec())
                    } else {
                        Memory::Nothing
                    };
                    (document, stamp, memory)
                }
                Err(error) => {
                    let problem = SourceError::io(&path, error);
                    return Skill::Failed(path, problem);
                }
            },
            Opened::Failed(problem) => return Skill::Failed(path, problem),
        };
        // This is the same whether the head was read or cached.
        let head = document.fences().map_or(document.raw().len(), |fences| fences.body);
        document.note_size(stamp.size);
        let at = walk::origin(&path).with_scope(self.source.scope);
        let mut found = found_at(&document, &at, self.virtual_path(&path));
        found.stamp = stamp.into();
        if let Some(policies) = self.source.sighted {
            let read = if matches!(memory, Memory::Kept(_)) { None } else { Some(buffer.as_slice()) };
            let sighting = sightings::of(&document, &found.entry, stamp.size, read);
            found.sighting = Some(sightings::with_policies(sighting, policies, &path));
        }
        let is_deep = self.is_deep(&path);
        let odd = Some(path).filter(|path| path.to_str().is_none());
        Skill::Read(Read { found, head, memory, is_deep, odd })
    }
}

impl Visitor<Skill> for Gather<'_> {
    fn listed(&mut self, path: &Path, entries: usize) -> Result<(), SourceError> {
        budget::spend(self.reader.source.budget.as_deref(), Cost::Entries(entries), || location_of(path))
    }

    fn counts_all(&self) -> bool {
        self.reader.source.sighted.is_some()
    }

    fn passed_over(&mut self) {
        self.listing.passed_over = true;
    }

    fn linked(&mut self, path: &Path) {
        if self.reader.source.sighted.is_some() {
            self.links.folders.insert(path.to_owned());
        }
    }

    fn linked_file(&mut self, path: &Path) {
        if self.reader.source.sighted.is_some() {
            self.links.files.insert(path.to_owned());
        }
    }

    fn found(&mut self, skill: Skill) -> Result<(), SourceError> {
        let Read { found, head, memory, is_deep, odd } = match skill {
            Skill::Read(read) => read,
            Skill::Failed(path, problem) => self.unread(path, problem)?,
        };
        match memory {
            Memory::Kept(at) => self.hits.push(at),
            Memory::Fresh(path, stamp, head) => self.fresh.push((path, stamp, head)),
            Memory::Nothing => {}
        }
        let source = self.reader.source;
        let at = || found.entry.origin.location.clone();
        budget::spend(source.budget.as_deref(), Cost::Skill(head), at)?;
        // Usually the skill, which another thread has read, is not looked at here.
        if source.options.on_error != OnError::Report
            && let Some(Obstacle::Broken { problems, .. }) = &found.obstacle
        {
            if source.options.on_error == OnError::Ignore {
                return Ok(());
            }
            return Err(SourceErrorKind::Damaged { reason: reasons(problems) }.at_location(at()));
        }
        if let Some(path) = odd {
            locked(&source.odd).insert(at(), path);
        }
        self.any_deep |= is_deep;
        self.listing.skills.push(found);
        Ok(())
    }
}

impl Gather<'_> {
    /// The skill of a SKILL.md that cannot be read: a broken one, so that `why` can explain it.
    fn unread(&self, path: PathBuf, problem: SourceError) -> Result<Read, SourceError> {
        if self.reader.source.options.on_error == OnError::Fail {
            return Err(problem);
        }
        let at = walk::origin(&path).with_scope(self.reader.source.scope);
        let mut found = Box::new(unread(&problem, &at));
        found.virtual_path = self.reader.virtual_path(&path);
        found.sighting = self.reader.source.sighted.map(|_| sightings::unread(&problem));
        let is_deep = self.reader.is_deep(&path);
        let odd = Some(path).filter(|path| path.to_str().is_none());
        Ok(Read { found, head: 0, memory: Memory::Nothing, is_deep, odd })
    }
}

impl SkillReader<'_> {
    fn virtual_path(&self, path: &Path) -> String {
        virtual_path(&self.source.root, &self.above, path)
    }

    fn is_deep(&self, path: &Path) -> bool {
        text_below(&self.source.root, path).is_none_or(|below| below.contains('/'))
    }
}

/// The folder of a skill below its root, after the path before it and with `/`; the root's own name when the root is
/// the skill.
fn virtual_path(root: &Path, above: &Path, skill_md: &Path) -> String {
    if let Some(below) = text_below(root, skill_md).filter(|_| above.as_os_str().is_empty()) {
        return below.to_owned();
    }
    let folder = skill_md.parent().unwrap_or(root);
    let below = folder.strip_prefix(root).unwrap_or(folder);
    let whole;
    let below = if above.as_os_str().is_empty() {
        below
    } else {
        whole = if below.as_os_str().is_empty() { above.to_owned() } else { above.join(below) };
        &whole
    };
    if below.as_os_str().is_empty() {
        return root.file_name().map(walk::text_of).unwrap_or_default();
    }
    match below.to_str() {
        Some(text) if std::path::MAIN_SEPARATOR == '/' => text.to_owned(),
        _ => below.iter().map(walk::text_of).collect::<Vec<_>>().join("/"),
    }
}

/// The path of a skill below its root in the usual case, from the two texts: comparing paths part by part is expensive
/// for very many skills.
fn text_below<'p>(root: &Path, skill_md: &'p Path) -> Option<&'p str> {
    let below = skill_md.to_str()?.strip_prefix(root.to_str()?)?.strip_prefix('/')?;
    below.rsplit_once('/').map(|(folder, _)| folder).filter(|_| std::path::MAIN_SEPARATOR == '/')
}

/// Orders skills so that one inside another follows those that are not: it must not take their names, since its author
/// chose its name, and the user may know only the skill around it.
pub(super) fn outer_first(root: &Path, skills: &mut [Box<Found>]) {
    fn file(found: &Found) -> &Path {
        Path::new(found.entry.origin.location.path().unwrap_or_default())
    }
    let folders: BTreeSet<PathBuf> =
        skills.iter().filter_map(|found| file(found).parent()).map(Path::to_owned).collect();
    // A root with a SKILL.md is still a folder of skills.
    skills.sort_by_cached_key(|found| {
        let above = file(found).ancestors().skip(2).take_while(|above| *above != root);
        above.filter(|above| folders.contains(*above)).count()
    });
}

/// Reads as much of a SKILL.md as its frontmatter needs, into the buffer.
pub(super) fn read_prefix(file: &mut File, buffer: &mut Vec<u8>) -> std::io::Result<Document> {
    buffer.clear();
    let mut want = FIRST_BYTES;
    loop {
        let filled = buffer.len();
        buffer.resize(filled + want, 0);
        let got = file.read(buffer.get_mut(filled..).unwrap_or(&mut []))?;
        buffer.truncate(filled + got);
        if let Some(document) = parse_prefix(buffer, got == 0) {
            return Ok(document);
        }
        want = buffer.len().max(FIRST_BYTES);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_path_is_the_folder_below_the_root_however_the_root_is_written() {
        let path = |root: &str, above: &str, file: &str| {
            virtual_path(Path::new(root), Path::new(above), Path::new(file))
        };
        assert_eq!(path("/s", "", "/s/a/SKILL.md"), "a");
        assert_eq!(path("/s", "", "/s/a/b/SKILL.md"), "a/b");
        assert_eq!(path("/s", "", "/s/SKILL.md"), "s");
        assert_eq!(path("/", "", "/a/SKILL.md"), "a");
        assert_eq!(path("/s/", "", "/s/a/SKILL.md"), "a");
        assert_eq!(path("/s", "x/s", "/s/a/SKILL.md"), "x/s/a");
        assert_eq!(path("/s", "", "/s-other/a/SKILL.md"), "/s-other/a");
        let odd =
            Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"/s/\xff/SKILL.md"));
        assert_eq!(virtual_path(Path::new("/s"), Path::new(""), odd), "\\xff");
    }
}
