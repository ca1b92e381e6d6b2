//! Skills in a folder of the disk.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::{Candidate, Document, Manifest, Obstacle, RelPath, Scope, Stamp, parse_prefix};

use super::{Chunk, Offer, Slice, Source, candidate};
use crate::cache::Index;
use crate::error::SourceError;
use crate::scan::{Opened, ScanOptions, Visitor, walk};
use crate::{beneath, files, scan};

/// How many bytes of a SKILL.md are read at first; nearly every frontmatter ends within.
const FIRST_BYTES: usize = 2048;

/// Skills in a folder.
#[derive(Debug)]
pub struct DirSource {
    id: String,
    root: PathBuf,
    scope: Scope,
    options: ScanOptions,
    readers: Vec<&'static str>,
    prefix: Option<String>,
    preload: bool,
    cache: Option<PathBuf>,
}

impl DirSource {
    /// The skills in and below a folder.
    pub fn new(root: impl Into<PathBuf>, options: ScanOptions) -> Self {
        let root = root.into();
        Self {
            id: root.to_string_lossy().into_owned(),
            root,
            scope: Scope::Explicit,
            options,
            readers: Vec::new(),
            prefix: None,
            preload: false,
            cache: None,
        }
    }

    /// Says whose skills they are.
    #[must_use]
    pub fn in_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Says which clients look there.
    #[must_use]
    pub fn read_by(mut self, readers: Vec<&'static str>) -> Self {
        self.readers = readers;
        self
    }

    /// Puts `prefix:` before every key, so that namesakes of other sources live beside them.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Asks for every skill to be active from the start.
    #[must_use]
    pub fn preloaded(mut self) -> Self {
        self.preload = true;
        self
    }

    /// Remembers frontmatter in a file, so that the next list opens only what changed. Safe to delete.
    #[must_use]
    pub fn with_cache(mut self, file: Option<PathBuf>) -> Self {
        self.cache = file;
        self
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn folder(skill: &Candidate) -> PathBuf {
        let path = PathBuf::from(&skill.entry.origin.location);
        scan::Found { path }.folder().to_owned()
    }
}

impl Source for DirSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn list(&self) -> Result<Offer, SourceError> {
        let index = self.cache.as_deref().map(Index::load).unwrap_or_default();
        let mut gather = Gather {
            source: self,
            index: &index,
            hits: Vec::new(),
            fresh: Vec::new(),
            last: None,
            offer: Offer::default(),
            buffer: Vec::new(),
        };
        let problems = walk(&self.root, &self.options, &mut gather);
        let Gather { hits, fresh, mut offer, .. } = gather;
        offer.candidates.sort_by(|a, b| a.entry.origin.location.cmp(&b.entry.origin.location));
        // A start that is not there, or a skill that must not be passed over, ends the whole list.
        let fatal = problems.iter().position(|problem| self.is_fatal(problem));
        offer.problems.extend(problems);
        if let Some(at) = fatal {
            return Err(offer.problems.swap_remove(at));
        }
        let changed = hits.len() != index.len() || !fresh.is_empty();
        if let Some(file) = self.cache.as_deref().filter(|_| changed) {
            let bytes = |path: &PathBuf| path.as_os_str().as_encoded_bytes().to_vec();
            let fresh: Vec<_> =
                fresh.iter().map(|(path, stamp, head)| (bytes(path), *stamp, head.as_slice())).collect();
            let mut skills: Vec<(&[u8], Stamp, &[u8])> =
                hits.iter().filter_map(|at| index.skill(*at)).collect();
            skills.extend(fresh.iter().map(|(path, stamp, head)| (path.as_slice(), *stamp, *head)));
            skills.sort_by(|a, b| a.0.cmp(b.0));
            // A cache that cannot be written costs time and nothing else.
            let _ = Index::save(skills, file);
        }
        Ok(offer)
    }

    fn files(&self, skill: &Candidate) -> Result<Manifest, SourceError> {
        Ok(files::list(&Self::folder(skill))?.manifest)
    }

    fn read(&self, skill: &Candidate, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        let folder = Self::folder(skill);
        let own = skill.entry.origin.file.as_deref().filter(|_| path.as_str() == "SKILL.md");
        let file = match own {
            Some(name) => beneath::open_skill_file(&folder, name)?,
            None => beneath::open(&folder, path, skill.entry.origin.file.as_deref().unwrap_or("SKILL.md"))?,
        };
        beneath::read_slice(file, &folder.join(path.as_str()), slice)
    }
}

impl DirSource {
    fn is_fatal(&self, problem: &SourceError) -> bool {
        let missing = matches!(problem, SourceError::Missing { path } if *path == self.root);
        let not_folder = matches!(problem, SourceError::NotFolder { path } if *path == self.root);
        missing || not_folder || self.options.on_error == scan::OnError::Fail
    }
}

/// Collects candidates during a walk.
struct Gather<'s> {
    source: &'s DirSource,
    index: &'s Index,
    /// The places in the index of what is still as it was.
    hits: Vec<usize>,
    /// What the next index holds besides, when there is to be one.
    fresh: Vec<(PathBuf, Stamp, Vec<u8>)>,
    /// The place of the file that was asked for last.
    last: Option<usize>,
    offer: Offer,
    buffer: Vec<u8>,
}

impl Visitor for Gather<'_> {
    fn knows_anything(&self) -> bool {
        !self.index.is_empty()
    }

    fn is_known(&mut self, path: &Path, stamp: &Stamp) -> bool {
        self.last = self.index.find(path, stamp);
        self.last.is_some()
    }

    fn found(&mut self, path: PathBuf, opened: Opened) -> Result<(), SourceError> {
        let keep = self.source.cache.is_some();
        let (document, stamp) = match opened {
            Opened::Known(stamp) => {
                let Some(at) = self.last.take() else { return Ok(()) };
                self.hits.push(at);
                (parse_prefix(self.index.head(at), true), stamp)
            }
            Opened::File(file, stamp) => match read_prefix(file, &mut self.buffer) {
                Ok(document) => {
                    let head = document.fences().and_then(|fences| self.buffer.get(..fences.body));
                    if let Some(head) = head.filter(|_| keep) {
                        self.fresh.push((path.clone(), stamp, head.to_vec()));
                    }
                    (Some(document), stamp)
                }
                Err(error) => return self.failed(SourceError::io(&path, error)),
            },
            Opened::Failed(problem) => return self.failed(problem),
        };
        let Some(document) = document else { return Ok(()) };
        let at = scan::origin(&path).in_scope(self.source.scope);
        let mut candidate = candidate(&document, &at);
        if let (Some(Obstacle::Broken { .. }), scan::OnError::Ignore) =
            (&candidate.obstacle, self.source.options.on_error)
        {
            return Ok(());
        }
        if let (Some(Obstacle::Broken { problems }), scan::OnError::Fail) =
            (&candidate.obstacle, self.source.options.on_error)
        {
            let reason = problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
            return Err(SourceError::Damaged { path, reason });
        }
        if let Some(prefix) = &self.source.prefix {
            candidate.entry.key = format!("{prefix}:{}", candidate.entry.key);
        }
        candidate.stamp = stamp;
        candidate.preload = self.source.preload;
        candidate.readers.clone_from(&self.source.readers);
        candidate.virtual_path = virtual_path(&self.source.root, &path);
        self.offer.candidates.push(Arc::new(candidate));
        Ok(())
    }
}

impl Gather<'_> {
    fn failed(&mut self, problem: SourceError) -> Result<(), SourceError> {
        match self.source.options.on_error {
            scan::OnError::Fail => Err(problem),
            scan::OnError::Report => {
                self.offer.problems.push(problem);
                Ok(())
            }
            scan::OnError::Ignore => Ok(()),
        }
    }
}

/// The folder of a skill below its root, with `/`; the root's own name when the root is the skill.
fn virtual_path(root: &Path, skill_md: &Path) -> String {
    let folder = skill_md.parent().unwrap_or(root);
    let below = folder.strip_prefix(root).unwrap_or(folder);
    if below.as_os_str().is_empty() {
        return root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    }
    match below.to_str() {
        Some(text) if std::path::MAIN_SEPARATOR == '/' => text.to_owned(),
        _ => below.iter().map(|segment| segment.to_string_lossy()).collect::<Vec<_>>().join("/"),
    }
}

/// Reads as much of a SKILL.md as its frontmatter needs; the buffer then begins with it.
fn read_prefix(mut file: File, buffer: &mut Vec<u8>) -> std::io::Result<Document> {
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
