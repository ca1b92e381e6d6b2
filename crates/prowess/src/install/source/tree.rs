//! [`SkillTree`]: the files of one skill in memory, checked once, in the form in which they are stored and installed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prowess_core::path::{MAX_DEPTH, first_collision};
use prowess_core::{Digest, Document, FileEntry, Manifest, Origin, RelPath, parse};

use crate::fs::walk::{FILE_NAMES, is_no_part};
use crate::install::error::{About, InstallError, InstallErrorKind, InstallLimit};
use crate::registry::digests::{self, DigestLimits};

/// The limits on a skill that is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstallLimits {
    /// The most files.
    pub files: usize,
    /// The most bytes in all files together.
    pub bytes: u64,
    /// The most bytes in one file.
    pub file_bytes: u64,
    /// The most folders between the skill's folder and a file.
    pub depth: usize,
    /// The most bytes in all skills of one source together.
    pub total_bytes: u64,
    /// The most bytes that one command fetches from all git repositories together.
    pub fetched_bytes: u64,
    /// The most bytes of all git repositories and skills that are kept in the store. Beyond it, those are removed that
    /// were not used for the longest time.
    pub store_bytes: u64,
}

impl Default for InstallLimits {
    fn default() -> Self {
        Self {
            files: 1_000,
            bytes: 25 << 20,
            file_bytes: 10 << 20,
            depth: 16,
            total_bytes: 256 << 20,
            fetched_bytes: 1 << 30,
            store_bytes: 2 << 30,
        }
    }
}

impl InstallLimits {
    /// No limits, for skills that were accepted before.
    pub(crate) const NONE: Self = Self {
        files: usize::MAX,
        bytes: u64::MAX,
        file_bytes: u64::MAX,
        depth: MAX_DEPTH,
        total_bytes: u64::MAX,
        fetched_bytes: u64::MAX,
        store_bytes: u64::MAX,
    };

    /// The limits for a skill that a lock names by its digest: up to what can be verified, since they may have been
    /// raised when it was added.
    pub(crate) fn of_locked(self) -> Self {
        let most = DigestLimits::approving();
        Self {
            files: self.files.max(most.files),
            bytes: self.bytes.max(most.bytes),
            file_bytes: self.file_bytes.max(most.bytes),
            depth: MAX_DEPTH,
            ..self
        }
    }

    /// An error when a file is too large or too deep.
    pub(crate) fn check_file(&self, path: &str, size: u64) -> Result<(), InstallError> {
        if size > self.file_bytes {
            let message = format!(
                "a file of the skill is too large: {path}: {size} bytes, at most {}",
                self.file_bytes
            );
            return Err(too_large(message, InstallLimit::FileBytes));
        }
        if path.split('/').count() > self.depth + 1 {
            let message =
                format!("a file of the skill is too deep: {path}: more than {} folders", self.depth);
            return Err(too_large(message, InstallLimit::Depth));
        }
        Ok(())
    }

    /// An error when files are too many or too large together.
    pub(crate) fn check_sum(&self, files: usize, bytes: u64) -> Result<(), InstallError> {
        if files > self.files {
            return Err(too_large(
                format!("the skill has more than {} files", self.files),
                InstallLimit::Files,
            ));
        }
        if bytes > self.bytes {
            return Err(too_large(
                format!("the skill has more than {} bytes", self.bytes),
                InstallLimit::Bytes,
            ));
        }
        Ok(())
    }

    /// An error when all skills of a source are too large together.
    pub(crate) fn check_total(&self, bytes: u64) -> Result<(), InstallError> {
        if bytes > self.total_bytes {
            let message = format!("the skills have more than {} bytes together", self.total_bytes);
            return Err(too_large(message, InstallLimit::TotalBytes));
        }
        Ok(())
    }
}

fn too_large(message: String, limit: InstallLimit) -> InstallError {
    let hint = format!("if you want it nonetheless, raise the limit of {}", limit.words());
    InstallError::new(InstallErrorKind::TooLarge, message, hint).about(About::Limit(limit))
}

/// An error when a skill is too large to be compared with its digest later: it would always count as edited, and could
/// not be accepted. No option raises this limit.
fn check_verifiable(files: &[TreeFile], bytes: u64) -> Result<(), InstallError> {
    let most = DigestLimits::approving();
    let mut folders = BTreeSet::new();
    for file in files {
        let mut path = file.path.as_str();
        while let Some((above, _)) = path.rsplit_once('/') {
            if !folders.insert(above) {
                break;
            }
            path = above;
        }
    }
    let reason = if files.len() + folders.len() > most.files {
        format!("more than {} files and folders", most.files)
    } else if bytes > most.bytes {
        format!("more than {} bytes", most.bytes)
    } else {
        return Ok(());
    };
    let message = format!("the skill is larger than what can be verified: {reason}");
    let hint = "install a smaller version; no option raises this limit";
    Err(InstallError::new(InstallErrorKind::TooLarge, message, hint))
}

/// One file of a future tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeFile {
    /// Its path below the skill's folder.
    pub(crate) path: RelPath,
    /// Whether its owner may execute it.
    pub(crate) executable: bool,
    /// Its bytes.
    pub(crate) bytes: Arc<[u8]>,
}

/// A skill in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeSkill {
    /// The path of its SKILL.md.
    pub(crate) file: String,
    /// Its name.
    pub(crate) name: String,
    /// The tree digest of its folder.
    pub(crate) digest: Digest,
}

/// The files of one skill: within the limits, with paths that are valid on every system, and with the digests of these
/// bytes. Only a `SkillTree` can be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillTree {
    manifest: Manifest,
    /// The bytes of each file of the manifest, in its order.
    contents: Vec<Arc<[u8]>>,
    digest: Digest,
}

impl SkillTree {
    /// Checks files, and makes a tree of them.
    pub(crate) fn new(mut files: Vec<TreeFile>, limits: &InstallLimits) -> Result<Self, InstallError> {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut bytes = 0_u64;
        for file in &files {
            let size = file.bytes.len() as u64;
            limits.check_file(file.path.as_str(), size)?;
            bytes = bytes.saturating_add(size);
            check_name(&file.path)?;
        }
        limits.check_sum(files.len(), bytes)?;
        check_verifiable(&files, bytes)?;
        if let Some((one, other)) = first_collision(files.iter().map(|file| &file.path)) {
            let message = format!("two files of the skill are one on some systems: {one}: {other}");
            return Err(refused(message));
        }
        let entries = files.iter().map(|file| {
            let mut entry = FileEntry::new(file.path.clone(), file.bytes.len() as u64);
            (entry.executable, entry.digest) = (file.executable, Some(digests::of_bytes(&file.bytes)));
            entry
        });
        let manifest = Manifest::new(entries.collect());
        if let Some(found) = manifest.repository() {
            let message = format!(
                "{} takes this folder of the skill for a repository, which can run programs: {}",
                found.system, found.folder
            );
            return Err(refused(message));
        }
        if manifest.own().is_none() {
            return Err(refused(format!("there is no {} in the skill's folder", FILE_NAMES[0])));
        }
        let digest = digests::of_tree(&manifest).ok_or_else(|| refused("a file has no digest"))?;
        Ok(Self { manifest, contents: files.into_iter().map(|file| file.bytes).collect(), digest })
    }

    /// The files with their sizes, modes and digests, sorted by path.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The tree digest v1.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Each file with its bytes.
    pub fn files(&self) -> impl Iterator<Item = (&FileEntry, &[u8])> {
        self.manifest.files.iter().zip(self.contents.iter().map(|bytes| &**bytes))
    }

    /// The same files, all of them executable or none.
    pub(crate) fn with_modes(&self, executable: bool) -> Self {
        let mut tree = self.clone();
        tree.manifest.files.iter_mut().for_each(|file| file.executable = executable);
        tree.digest = digests::of_tree(&tree.manifest).unwrap_or(tree.digest);
        tree
    }

    /// The skills in it: itself, and those inside it, which agents find too.
    pub(crate) fn skills(&self) -> Vec<TreeSkill> {
        let mut skills: BTreeMap<&str, TreeSkill> = BTreeMap::new();
        let own = self.manifest.own().map(|own| own.path.as_str());
        for (file, bytes) in self.files() {
            let path = file.path.as_str();
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            // If both names exist, the first one counts, and it is first in this order.
            let is_own = FILE_NAMES.contains(&name) && (!folder.is_empty() || own == Some(path));
            if !is_own || skills.contains_key(folder) {
                continue;
            }
            let at = Origin::at(path).with_folder(folder.rsplit('/').next().unwrap_or_default());
            let name = parse(bytes).entry(&at).name;
            skills
                .insert(folder, TreeSkill { file: path.to_owned(), name, digest: self.digest_below(folder) });
        }
        skills.into_values().collect()
    }

    /// The tree digest of one of its folders.
    fn digest_below(&self, folder: &str) -> Digest {
        if folder.is_empty() {
            return self.digest;
        }
        let files = self.manifest.files.iter().filter_map(|file| {
            let path = file.path.as_str().strip_prefix(folder)?.strip_prefix('/')?;
            let mut below = file.clone();
            below.path = RelPath::parse(path).ok()?;
            Some(below)
        });
        digests::of_tree(&Manifest::new(files.collect())).unwrap_or(self.digest)
    }

    /// Its parsed SKILL.md.
    pub fn document(&self) -> Document {
        let own = self.manifest.own().map(|own| &own.path);
        let bytes = self.files().find(|(file, _)| Some(&file.path) == own).map(|(_, bytes)| bytes);
        parse(bytes.unwrap_or_default())
    }
}

/// An error for names that are not part of a skill elsewhere in Prowess, so that no digest would cover them.
pub(crate) fn check_name(path: &RelPath) -> Result<(), InstallError> {
    match path.components().find(|name| is_no_part(name)) {
        Some(name) => Err(refused(format!("{name} is no part of a skill, and is not installed: {path}"))),
        None => Ok(()),
    }
}

/// The error for something that is never installed.
pub(crate) fn refused(message: impl AsRef<str>) -> InstallError {
    let hint = "nothing was installed; ask the author to change this, or install another version";
    InstallError::new(InstallErrorKind::Refused, message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::verify::compare::{FileChange, changes};

    fn file(path: &str, executable: bool, bytes: &str) -> TreeFile {
        TreeFile { path: RelPath::parse(path).unwrap(), executable, bytes: bytes.as_bytes().into() }
    }

    fn tree(files: &[(&str, bool, &str)]) -> Result<SkillTree, InstallError> {
        let files = files.iter().map(|(path, executable, bytes)| file(path, *executable, bytes));
        SkillTree::new(files.collect(), &InstallLimits::default())
    }

    #[test]
    fn a_digest_changes_with_a_name_a_byte_or_a_mode_and_not_with_the_order() {
        let digest = |files| tree(files).unwrap().digest();
        let plain = digest(&[("SKILL.md", false, "x"), ("a", false, "bc")]);
        assert_eq!(plain, digest(&[("a", false, "bc"), ("SKILL.md", false, "x")]));
        for other in [
            digest(&[("SKILL.md", false, "x"), ("ab", false, "c")]),
            digest(&[("SKILL.md", false, "x"), ("a", true, "bc")]),
            digest(&[("SKILL.md", false, "y"), ("a", false, "bc")]),
        ] {
            assert_ne!(plain, other);
        }
    }

    #[test]
    fn a_tree_has_a_skill_file_and_no_names_that_are_one_file_elsewhere() {
        for files in [
            &[("readme.md", false, "x")][..],
            &[("SKILL.md", false, "x"), ("A.md", false, ""), ("a.md", false, "")],
            &[("SKILL.md", false, "x"), ("node_modules/a.js", false, "")],
        ] {
            assert_eq!(tree(files).unwrap_err().kind(), InstallErrorKind::Refused, "{files:?}");
        }
    }

    #[test]
    fn limits_name_the_file_and_what_to_raise() {
        let limits = InstallLimits { file_bytes: 1, ..InstallLimits::default() };
        let error = SkillTree::new(vec![file("SKILL.md", false, "xx")], &limits).unwrap_err();
        assert_eq!(error.to_string(), "a file of the skill is too large: SKILL.md: 2 bytes, at most 1");
        assert!(error.hint().to_string().ends_with("bytes in one file"));
        assert_eq!(error.limit(), Some(InstallLimit::FileBytes));
        let limits = InstallLimits { depth: 1, ..InstallLimits::default() };
        let files = vec![file("SKILL.md", false, ""), file("a/b/c", false, "")];
        assert_eq!(SkillTree::new(files, &limits).unwrap_err().kind(), InstallErrorKind::TooLarge);
    }

    #[test]
    fn what_cannot_be_verified_is_refused_whatever_the_limits_are() {
        let most = DigestLimits::approving();
        let many = (0..most.files / 2).map(|at| file(&format!("d{at}/x"), false, ""));
        let mut many: Vec<TreeFile> = many.chain([file("SKILL.md", false, "x")]).collect();
        let error = SkillTree::new(many.clone(), &InstallLimits::NONE).unwrap_err();
        assert!(error.to_string().ends_with("more than 10000 files and folders"), "{error}");
        assert_eq!((error.kind(), error.limit()), (InstallErrorKind::TooLarge, None));
        many.remove(0);
        assert!(SkillTree::new(many, &InstallLimits::NONE).is_ok());
        let large: Arc<[u8]> = vec![0; usize::try_from(most.bytes).unwrap()].into();
        let large = TreeFile { bytes: large, ..file("a", false, "") };
        let error = SkillTree::new(vec![large, file("SKILL.md", false, "x")], &InstallLimits::NONE);
        assert!(error.unwrap_err().to_string().ends_with("more than 67108864 bytes"));
    }

    #[test]
    fn a_changed_an_added_and_a_missing_file_are_told_apart() {
        let old = tree(&[("SKILL.md", false, "x"), ("a", false, "1"), ("b", false, "1"), ("c", false, "1")])
            .unwrap();
        let new = tree(&[("SKILL.md", false, "x"), ("a", false, "2"), ("b", true, "1"), ("d", false, "1")])
            .unwrap();
        let changes = changes(old.manifest(), new.manifest());
        let expected = [
            ("a", FileChange::Changed),
            ("b", FileChange::Mode),
            ("c", FileChange::Missing),
            ("d", FileChange::Added),
        ];
        assert_eq!(changes, expected.map(|(path, change)| (path.to_owned(), change)));
    }
}
