//! Owners and modes on Unix. Folders are opened one in the other, from the root down, and what is open is judged: a path
//! could lead elsewhere after it was looked at.

mod group;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{Access, AtFlags, CWD, Dev, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Denied, Need, Refusal, Want, Why, note, private_folders};
use crate::error::{SourceError, SourceErrorKind, shown};
use crate::fs::{modes, read};

/// The permissions of the group and of others.
const OTHERS: u32 = 0o077;
const GROUP_WRITES: u32 = 0o020;
const ANYONE_WRITES: u32 = 0o002;

/// The flags to open the folder above a root with: where the system can, only to pass through it.
#[cfg(target_os = "linux")]
const THROUGH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const THROUGH: OFlags = OFlags::RDONLY;

/// The devices on which changing a mode had no effect, such as a share: there, only the owner is judged.
static WITHOUT_MODES: Mutex<BTreeSet<Dev>> = Mutex::new(BTreeSet::new());

/// Opens a folder below a root, or the root itself.
pub(super) fn enter(root: &Path, folder: &Path, want: Want) -> Result<OwnedFd, Refusal> {
    let outside = || io::Error::new(io::ErrorKind::InvalidInput, "this folder is not below its root");
    let below = folder.strip_prefix(root).map_err(|_| outside())?;
    // The root first: once it is closed, no other user can change what is in it.
    let mut handle = enter_root(root, want)?;
    let mut path = root.to_owned();
    for part in below.components() {
        let Component::Normal(name) = part else { return Err(outside().into()) };
        path.push(name);
        let step = step(&handle, name, false, want)?;
        judge(&step, &path, true)?;
        handle = step.folder;
    }
    Ok(handle)
}

fn enter_root(root: &Path, want: Want) -> Result<OwnedFd, Refusal> {
    let (above, name) = (root.parent(), root.file_name());
    let step = if let (Some(above), Some(name)) = (above, name) {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        if want == Want::Made {
            private_folders(above)?;
        }
        let flags = THROUGH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        step(&rustix::fs::openat(CWD, above, flags, Mode::empty())?, name, true, want)?
    } else {
        // The current folder, or that of the system.
        let folder = rustix::fs::openat(CWD, root, folder_flags(), Mode::empty())?;
        Step { folder, made: false, followed: false }
    };
    judge(&step, root, want == Want::Closed)?;
    Ok(step.folder)
}

/// A folder that was opened in another.
struct Step {
    folder: OwnedFd,
    /// It is new.
    made: bool,
    /// It was reached by a symlink, so it may be used for something else too.
    followed: bool,
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

/// Opens a folder in an open one.
fn step(above: &OwnedFd, name: &OsStr, is_root: bool, want: Want) -> Result<Step, Refusal> {
    let flags = folder_flags() | OFlags::NOFOLLOW;
    let open = || rustix::fs::openat(above, name, flags, Mode::empty());
    let mut made = false;
    let opened = match open() {
        Err(Errno::NOENT) if want == Want::Made => {
            match rustix::fs::mkdirat(above, name, Mode::RWXU) {
                Err(Errno::EXIST) => {}
                done => made = done.map(|()| true)?,
            }
            open()
        }
        opened => opened,
    };
    match opened {
        Ok(folder) => Ok(Step { folder, made, followed: false }),
        Err(Errno::LOOP | Errno::NOTDIR | Errno::MLINK) => {
            Ok(Step { folder: follow(above, name, is_root)?, made: false, followed: true })
        }
        Err(error) => Err(error.into()),
    }
}

/// Opens the folder that a symlink leads to. Below the root, only this user and root can make one. Above it another user
/// may be able to move a symlink there that this user made elsewhere.
fn follow(above: &OwnedFd, name: &OsStr, is_root: bool) -> Result<OwnedFd, Refusal> {
    let link = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if !FileType::from_raw_mode(link.st_mode).is_symlink() {
        return Err(Errno::NOTDIR.into());
    }
    if is_foreign(link.st_uid) {
        return Err(Refusal::Distrusted(Why::Link));
    }
    if is_root && others_write(&rustix::fs::fstat(above)?) {
        return Err(Refusal::Distrusted(Why::Replaceable));
    }
    Ok(rustix::fs::openat(above, name, folder_flags(), Mode::empty())?)
}

/// Judges an open folder. With `may_close`, one of this user is made inaccessible to others, unless a symlink led to it.
fn judge(step: &Step, path: &Path, may_close: bool) -> Result<(), Refusal> {
    let before = rustix::fs::fstat(&step.folder)?;
    if is_foreign(before.st_uid) {
        return Err(Refusal::Distrusted(Why::Folder));
    }
    let may_close = (may_close && !step.followed) || step.made;
    let closes = may_close && before.st_uid == user() && permissions(&before) & OTHERS != 0;
    let closed = closes.then(|| change_mode(&step.folder));
    let after = rustix::fs::fstat(&step.folder)?;
    if closes && permissions(&after) & OTHERS == 0 {
        let could = if others_write(&before) { "write" } else { "read" };
        note(format!("closed a folder that other users could {could}: {}", shown(path)), None);
    }
    if !others_write(&after) {
        return Ok(());
    }
    // The owner of a folder may always change its mode, except on a file system that has none.
    if matches!(closed, Some(Ok(()) | Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS))) {
        WITHOUT_MODES.lock().unwrap_or_else(PoisonError::into_inner).insert(device(&before));
    }
    if keeps_modes(&after, path) {
        return Err(Refusal::Distrusted(Why::Open));
    }
    if step.made {
        let what = "this file system keeps no permissions, so other users may write here";
        note(format!("{what}: {}", shown(path)), None);
    }
    Ok(())
}

/// Whether the file system of something at a path keeps modes.
fn keeps_modes(stat: &Stat, path: &Path) -> bool {
    let without = WITHOUT_MODES.lock().unwrap_or_else(PoisonError::into_inner);
    !without.contains(&device(stat)) && modes::are_kept(path)
}

/// Opens a file below a root, if it is believed.
pub(super) fn open(root: &Path, file: &Path) -> Result<File, SourceError> {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        return Err(SourceErrorKind::Folder.at(file));
    };
    let opened = enter(root, folder, Want::Look).and_then(|folder| open_in(&folder, name, file));
    let opened = opened.map_err(|refusal| refused(refusal, file))?;
    // What is no regular file is not opened, and this says what it is.
    opened.map_or_else(|| read::open_regular(file).and(Err(SourceErrorKind::Missing.at(file))), Ok)
}

/// Opens a file in an open folder; none if it is not regular. The path is where it is.
fn open_in(folder: &OwnedFd, name: &OsStr, path: &Path) -> Result<Option<File>, Refusal> {
    let entry = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let is_link = FileType::from_raw_mode(entry.st_mode).is_symlink();
    if is_foreign(entry.st_uid) {
        return Err(Refusal::Distrusted(if is_link { Why::Link } else { Why::Owner }));
    }
    // Opening a device can have an effect, so its kind is looked at first.
    let target = rustix::fs::statat(folder, name, AtFlags::empty())?;
    if !FileType::from_raw_mode(target.st_mode).is_file() {
        return Ok(None);
    }
    let stay = if is_link { OFlags::empty() } else { OFlags::NOFOLLOW };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | stay;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
    judge_file(&file, path)?;
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Judges an open file. One that others can write is not believed in a closed folder either: they may have written it
/// before the folder was closed, or have another name for it.
fn judge_file(file: &File, path: &Path) -> Result<(), Refusal> {
    let known = rustix::fs::fstat(file)?;
    if is_foreign(known.st_uid) {
        return Err(Refusal::Distrusted(Why::Owner));
    }
    if others_write(&known) && keeps_modes(&known, path) {
        return Err(Refusal::Distrusted(Why::Writable));
    }
    Ok(())
}

/// Opens a file in a folder that is not judged, if the file is believed.
pub(crate) fn open_cached(file: &Path) -> Result<File, SourceError> {
    let is_foreign = |found: io::Result<Metadata>| found.is_ok_and(|found| is_foreign(found.uid()));
    let judged = match read::open_regular(file) {
        // The files of another user's Prowess cannot be opened.
        Err(_) if is_foreign(file.metadata()) => Err(Refusal::Distrusted(Why::Owner)),
        Ok(_) if is_foreign(file.symlink_metadata()) => Err(Refusal::Distrusted(Why::Link)),
        opened => {
            let open = opened?;
            judge_file(&open, file).map(|()| open)
        }
    };
    judged.map_err(|refusal| refused(refusal, file))
}

fn refused(refusal: Refusal, file: &Path) -> SourceError {
    match refusal {
        Refusal::Distrusted(why) => SourceErrorKind::Distrusted { why: why.of_file() }.at(file),
        Refusal::Io(error) => SourceError::io(file, error),
    }
}

/// Whether a file or folder is not believed, or may not be used as it is needed.
pub(super) fn keeps_out(path: PathBuf, need: Need) -> Option<Denied> {
    // A symlink of another user is not followed, whatever it leads to.
    let link = path.symlink_metadata().ok()?.uid();
    let owner = if is_foreign(link) { link } else { path.metadata().ok()?.uid() };
    let is_kept = match need {
        Need::Lock => owner != user() && user() != 0,
        _ => is_foreign(owner),
    };
    (is_kept || is_denied(&path, need)).then(|| by_owner(path))
}

/// Whether permissions keep this user from what is needed.
pub(super) fn is_denied(path: &Path, need: Need) -> bool {
    let access = match need {
        Need::Pass => Access::READ_OK | Access::EXEC_OK,
        Need::Write => Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK,
        Need::Read => Access::READ_OK,
        Need::Lock => Access::READ_OK | Access::WRITE_OK,
    };
    rustix::fs::accessat(CWD, path, access, AtFlags::empty()) == Err(Errno::ACCESS)
}

/// Who can give this user something that is denied: its owner, or this user.
pub(super) fn by_owner(path: PathBuf) -> Denied {
    let user = user();
    let is_foreign_link = path.symlink_metadata().is_ok_and(|link| is_foreign(link.uid()));
    let found = if is_foreign_link { path.symlink_metadata() } else { path.metadata() };
    match found {
        Ok(found) if found.uid() != user => Denied::Owner { path, owner: found.uid(), user },
        _ => Denied::Mode(path),
    }
}

/// An error unless this user may write in a folder.
#[cfg(feature = "install")]
pub(crate) fn check_writable(folder: &Path) -> io::Result<()> {
    let access = Access::WRITE_OK | Access::EXEC_OK;
    match rustix::fs::accessat(CWD, folder, access, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        done => Ok(done?),
    }
}

/// An error unless this user may change the mode of an open file.
#[cfg(feature = "install")]
pub(crate) fn check_owner(file: &File) -> io::Result<()> {
    if [file.metadata()?.uid(), 0].contains(&user()) {
        return Ok(());
    }
    Err(io::ErrorKind::PermissionDenied.into())
}

fn is_foreign(owner: u32) -> bool {
    owner != user() && owner != 0
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether other users can write something.
fn others_write(stat: &Stat) -> bool {
    let mode = permissions(stat);
    mode & ANYONE_WRITES != 0 || (mode & GROUP_WRITES != 0 && !group::is_private(stat.st_gid, user()))
}

/// The permissions in the mode of a file.
#[allow(clippy::useless_conversion, reason = "on some systems a mode has 16 bits")]
fn permissions(stat: &Stat) -> u32 {
    #[cfg(test)]
    if tests::WITHOUT.get().is_some() {
        return 0o777;
    }
    u32::from(stat.st_mode) & 0o777
}

fn device(stat: &Stat) -> Dev {
    #[cfg(test)]
    if let Some((device, _)) = tests::WITHOUT.get() {
        return device;
    }
    stat.st_dev
}

fn change_mode(folder: &OwnedFd) -> Result<(), Errno> {
    #[cfg(test)]
    if let Some((_, answer)) = tests::WITHOUT.get() {
        return answer;
    }
    rustix::fs::fchmod(folder, Mode::RWXU)
}

#[cfg(test)]
mod tests;
