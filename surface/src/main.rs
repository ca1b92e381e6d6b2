//! Compares the public API of `prowess` and `prowess-core` with the lists in `surface/`, and fails when they differ.
//!
//! `cargo run --manifest-path surface/Cargo.toml` compares, and `-- --update` rewrites the lists.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

/// The crates that hosts use, each with the file that lists its API.
const CRATES: [(&str, &str); 2] = [("prowess-core", "prowess-core.txt"), ("prowess", "prowess.txt")];

/// The form of rustdoc JSON that is understood here: that of Rust 1.95.
const FORMAT: &str = "\"format_version\":57";

/// The most lines of a difference that are shown.
const SHOWN: usize = 40;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let update = env::args().skip(1).any(|argument| argument == "--update");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut same = true;
    for (name, file) in CRATES {
        let file = folder.join(file);
        let Some(now) = listed(name, folder)? else { return Ok(ExitCode::SUCCESS) };
        if update {
            fs::write(&file, now)?;
            continue;
        }
        let before = fs::read_to_string(&file)?;
        same &= before == now;
        report(name, &before, &now);
    }
    if !same {
        println!("the public API has changed; if that is wanted, accept it with:");
        println!("  cargo run --manifest-path surface/Cargo.toml -- --update");
    }
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The public API of a crate, an item per line; nothing when this toolchain writes another form of rustdoc JSON.
fn listed(name: &str, folder: &Path) -> Result<Option<String>, Box<dyn Error>> {
    let json = rustdoc_json(name, folder)?;
    if !fs::read_to_string(&json)?.contains(FORMAT) {
        println!("skipped: this toolchain does not write rustdoc JSON with {FORMAT}");
        return Ok(None);
    }
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    Ok(Some(api.items().map(|item| format!("{item}\n")).collect()))
}

/// Documents a crate as JSON. The output is not stable yet, so the compiler needs permission.
fn rustdoc_json(name: &str, folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let workspace = folder.parent().ok_or("the folder has no parent")?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    let target = target.join("surface");
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(workspace)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", &target)
        .args(["rustdoc", "--quiet", "--locked", "--lib", "--all-features", "-p", name, "--"])
        .args(["-Z", "unstable-options", "--output-format", "json"])
        .status()?;
    if !status.success() {
        return Err(format!("could not document {name}").into());
    }
    Ok(target.join("doc").join(format!("{}.json", name.replace('-', "_"))))
}

/// Shows what is gone and what is new.
fn report(name: &str, before: &str, now: &str) {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| format!("- {line}"));
    let added = new.iter().filter(|line| !old.contains(line)).map(|line| format!("+ {line}"));
    let lines: Vec<String> = gone.chain(added).collect();
    if lines.is_empty() {
        return;
    }
    println!("{name}:");
    for line in lines.iter().take(SHOWN) {
        println!("{line}");
    }
    if lines.len() > SHOWN {
        println!("and {} more", lines.len() - SHOWN);
    }
}
