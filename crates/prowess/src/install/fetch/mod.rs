//! Fetching skills from folders and git repositories. Nothing that is installed is changed here.

mod contents;
mod folder;
