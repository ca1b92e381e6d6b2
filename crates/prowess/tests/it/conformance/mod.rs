//! Runs the language-neutral vectors of `conformance/` at the root of the repository.

#[cfg(unix)]
mod digests;
#[cfg(unix)]
mod discover;
mod documents;
mod five_systems;
#[cfg(feature = "install")]
mod install;
mod keys;
mod page;
mod paths;
mod render;
mod select;
#[cfg(feature = "http")]
mod sites;
mod skills_ref;
mod tools;
pub(crate) mod vectors;
