//! File systems that keep no modes: FAT, exFAT, NTFS and the drives of Windows in WSL.

use std::path::Path;

/// Whether the file system of a folder, or of the folder that it would be made in, keeps the modes of files.
#[cfg(target_os = "linux")]
pub(crate) fn are_kept(folder: &Path) -> bool {
    let system = folder.ancestors().find_map(|above| rustix::fs::statfs(above).ok());
    system.is_none_or(|system| linux::keeps_modes(system.f_type, linux::is_wsl))
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::Path;

    use rustix::fs::FsWord;

    use crate::fs::read::read_small;

    /// FAT, exFAT, NTFS by two drivers, and the drives of Windows in WSL 1.
    const WITHOUT: [FsWord; 5] = [0x4d44, 0x2011_bab0, 0x5346_544e, 0x7366_746e, 0x5346_4846];
    /// 9p: the drives of Windows in WSL 2. Elsewhere it is a share with modes, such as one of a virtual machine.
    pub(super) const SHARE: FsWord = 0x0102_1997;

    /// Whether a file system of this type keeps the executable bit.
    pub(super) fn keeps_modes(system: FsWord, is_wsl: impl FnOnce() -> bool) -> bool {
        !WITHOUT.contains(&system) && (system != SHARE || !is_wsl())
    }

    /// Whether the kernel is one of WSL.
    pub(super) fn is_wsl() -> bool {
        read_small(Path::new("/proc/sys/kernel/osrelease"), 4096).is_ok_and(|release| is_of_wsl(&release))
    }

    pub(super) fn is_of_wsl(release: &[u8]) -> bool {
        release.to_ascii_lowercase().windows(9).any(|part| part == b"microsoft")
    }
}

/// Whether the file system of a folder keeps the modes of files.
#[cfg(not(target_os = "linux"))]
pub(crate) fn are_kept(_: &Path) -> bool {
    cfg!(unix)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    #[test]
    fn a_share_keeps_modes_except_for_the_drives_of_windows_in_wsl() {
        use super::linux::{SHARE, is_of_wsl, keeps_modes};
        const FAT: rustix::fs::FsWord = 0x4d44;
        const EXT4: rustix::fs::FsWord = 0xef53;
        for (release, share) in [
            ("6.1.0-13-amd64", true),
            ("5.15.90.1-microsoft-standard-WSL2", false),
            ("4.4.0-19041-Microsoft", false),
        ] {
            let wsl = || is_of_wsl(release.as_bytes());
            assert_eq!(keeps_modes(SHARE, wsl), share, "{release}");
            assert!(keeps_modes(EXT4, wsl) && !keeps_modes(FAT, wsl), "{release}");
        }
    }
}
