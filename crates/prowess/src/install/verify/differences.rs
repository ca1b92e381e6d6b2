//! [`ClientDifference`]: what clients have that is not as it should be.

use std::path::PathBuf;

use prowess_core::Digest;

use super::compare::{Difference, FileChange, Listing, changes_at};
use crate::env::Environment;
use crate::install::apply::{Placement, Placements, State, manifest_of};
use crate::install::error::InstallError;
use crate::install::plan::{ClientFolder, client_folders};
use crate::install::records::{InstallTarget, Records};

/// A client that does not have an installed skill as it should.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientDifference {
    /// The client.
    pub client: String,
    /// Where it looks for the skill.
    pub path: PathBuf,
    /// What is there instead.
    pub state: ClientState,
}

/// What is at the path where a client looks for an installed skill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientState {
    /// Nothing.
    Missing,
    /// A copy in which these files differ from what was installed; none are named when that is not known.
    Edited(Vec<(String, FileChange)>),
    /// A copy in which these files have other line ends, and nothing else differs.
    LineEnds(Vec<(String, FileChange)>),
    /// A copy of another version, as Prowess placed it. Nothing was edited.
    OtherVersion,
    /// Something else: another link, a link where there should be a copy, a folder where there should be a link.
    Other,
    /// Something of the user, which an earlier command was told to keep. No command replaces it unasked.
    Left,
}

/// The clients that do not have installed skills as they should, by the names of the skills.
pub(super) fn differences(
    place: &InstallTarget,
    records: &Records,
    environment: &Environment,
    listing: Listing<'_>,
) -> Result<Vec<(String, ClientDifference)>, InstallError> {
    let copies = records.wanted.link().copies();
    let placements = Placements::load(&place.books)?;
    let is_placed = |folder: &ClientFolder, name: &str, there: Digest| {
        let placed = folder.placement(name, &placements);
        matches!(placed, Some(Placement::Placed(digest)) if *digest == there)
    };
    let mut found = Vec::new();
    for folder in client_folders(place, records, environment, None)? {
        for locked in records.lock.skills() {
            let there = folder.state(&locked.name)?;
            if folder.is_fine(there.as_ref(), place, locked, (copies, listing)) {
                continue;
            }
            let path = folder.folder.join(&locked.name);
            let state = match there {
                None => ClientState::Missing,
                Some(_) if folder.placement(&locked.name, &placements) == Some(&Placement::Users) => {
                    ClientState::Left
                }
                Some(State::Tree(digest)) if copies && is_placed(&folder, &locked.name, digest) => {
                    ClientState::OtherVersion
                }
                Some(State::Tree(_) | State::Other) if copies && !path.is_symlink() => {
                    let of = |there| Difference::of(&path, &there, locked.digest, listing);
                    match manifest_of(&path).map(of) {
                        Ok(Difference::LineEnds(files)) => ClientState::LineEnds(files),
                        Ok(Difference::Edited(files)) => ClientState::Edited(files.unwrap_or_default()),
                        Err(_) => ClientState::Edited(
                            locked
                                .digest
                                .and_then(listing)
                                .map(|before| changes_at(&path, &before))
                                .unwrap_or_default(),
                        ),
                    }
                }
                Some(_) => ClientState::Other,
            };
            let client = folder.client.clone();
            found.push((locked.name.clone(), ClientDifference { client, path, state }));
        }
    }
    Ok(found)
}
