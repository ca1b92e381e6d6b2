//! Runs the language-neutral vectors of `conformance/` at the root of the repository.

mod documents;
mod paths;
mod tools;
mod vectors;
