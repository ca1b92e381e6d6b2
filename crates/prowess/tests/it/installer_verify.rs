//! `verify`: every change of a file is found.

use std::fs;

use prowess::install::{FileChange, InstallScope, InstalledState};

use crate::installer::Desk;

#[test]
fn one_flipped_bit_at_any_offset_of_any_file_is_found_and_the_file_named() {
    let desk = Desk::new();
    let source = desk.folder("bits");
    for at in 0..19_u8 {
        let folder = source.join(["references", "scripts", "assets/deep"][usize::from(at % 3)]);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{at}.bin")), vec![at; usize::from(at % 7 + 1)]).unwrap();
    }
    let installer = desk.installer();
    let installed = installer.install_local(&source, InstallScope::Project).unwrap();
    let state = || installer.verify(InstallScope::Project).unwrap().remove(0).state;
    assert_eq!(state(), InstalledState::Clean);
    let mut folders = vec![installed.clone()];
    let (mut files, mut flips) = (0, 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let name = path.strip_prefix(&installed).unwrap().to_str().unwrap().to_owned();
            let bytes = fs::read(&path).unwrap();
            for offset in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[offset] ^= 1 << (offset % 8);
                fs::write(&path, &flipped).unwrap();
                let found = InstalledState::Edited(vec![(name.clone(), FileChange::Changed)]);
                assert_eq!(state(), found, "{name} at {offset}");
                flips += 1;
            }
            fs::write(&path, &bytes).unwrap();
        }
    }
    assert_eq!((files, state()), (20, InstalledState::Clean));
    assert!(flips > 100, "{flips}");
}
