//! Writes the JavaScript around a WebAssembly file: `prowess-bindgen FILE.wasm FOLDER`.
//!
//! It is the library of `wasm-bindgen` in the version of the lock file, so nothing has to be installed.

#![allow(clippy::print_stderr, reason = "a tool that says why it failed")]

use std::path::Path;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, folder] = arguments.as_slice() else {
        eprintln!("usage: prowess-bindgen FILE.wasm FOLDER");
        return ExitCode::from(2);
    };
    match write(Path::new(input), Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {input}: {reason}");
            ExitCode::from(2)
        }
    }
}

fn write(input: &Path, folder: &Path) -> Result<(), String> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(input).out_name("engine").typescript(false).remove_name_section(true);
    bindgen.remove_producers_section(true);
    bindgen.web(true).map_err(|error| error.to_string())?;
    bindgen.generate(folder).map_err(|error| format!("{error:#}"))
}
