//! [`Plan`]: what must change so that a place is as its orders ask, compared with what is there. A plan is made under the
//! lock of the place. It is printed by a dry run, or carried out in one transaction.

mod accepted;
mod actual;
pub(super) mod change;
mod client_folder;
mod clients;
mod losses;
mod names;
pub(super) mod prepare;
pub(super) mod protected;
mod skills;
pub(super) mod sources;
pub(super) mod sync;

use std::path::{Path, PathBuf};

pub(super) use self::accepted::AcceptedSkills;
use self::actual::Actual;
use self::change::{Action, Changes};
pub(super) use self::client_folder::{ClientFolder, client_folders};
pub use self::losses::Loss;
pub(crate) use self::losses::unknown;
use self::losses::{all_edited, check_shown};
use self::names::{Names, check_distinct};
pub(crate) use self::names::{check_installable, same_name};
use self::prepare::Prepared;
use self::protected::Protected;
pub(crate) use self::skills::copy;
use super::apply::{Placements, State, Transaction, state_of};
use super::error::{InstallError, InstallErrorKind};
use super::installer::{InstallOptions, Installer, Write};
use super::records::{InstallTarget, Records, SKILLS_FOLDER, with_line_ends_of};
use super::store::Store;
use super::verify::compare::Listing;
use crate::fs::dir::Folder;

/// What to do with one name.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    Install(Box<Prepared>),
    /// The files are correct; only the links are checked.
    Keep(String),
    Remove(String),
    /// The lock names it and `skills.toml` does not. The user did not name it, and the lock may have come from
    /// elsewhere, so only files that Prowess is known to have placed are removed.
    Drop(String),
}

/// The skills that orders install.
pub(super) fn installs(orders: &[Order]) -> impl Iterator<Item = &Prepared> {
    orders.iter().filter_map(|order| match order {
        Order::Install(new) => Some(&**new),
        _ => None,
    })
}

/// How a plan is made.
pub(crate) struct ApplyOptions<'o> {
    pub(crate) place: &'o InstallTarget,
    pub(crate) options: &'o InstallOptions,
    pub(crate) write: Write,
    pub(crate) installer: &'o Installer,
    pub(crate) store: &'o Store,
    /// The files of a tree that was installed before, by its digest.
    pub(crate) listing: Listing<'o>,
    /// The records of the other scope, or why they cannot be read.
    pub(crate) elsewhere: &'o Result<Option<(InstallTarget, Records)>, InstallError>,
}

/// Changes of one place that are not carried out yet.
pub(crate) struct Plan<'p> {
    actual: Actual<'p>,
    /// The records, as they are to be.
    records: Records,
    transaction: Transaction<'p>,
    created: CreatedDirs,
    changes: Changes,
}

impl<'p> Plan<'p> {
    /// Makes a plan. The caller holds the lock of the place, and has recovered interrupted installations.
    pub(crate) fn of(
        how: ApplyOptions<'p>,
        records: Records,
        orders: &'p [Order],
    ) -> Result<Self, InstallError> {
        let (place, options) = (how.place, how.options);
        let mut created = CreatedDirs::default();
        let making = how.write.files && installs(orders).next().is_some();
        if making {
            created.expect(&place.base.join(SKILLS_FOLDER));
        }
        let dir = place.skills_folder(making)?.as_deref().map(open).transpose()?;
        let files = installs(orders).map(|new| new.tree.manifest().files.len()).sum();
        let transaction = Transaction::begin(&place.books, files).with_folders(how.write.files);
        let names = Names::of(dir.as_ref(), &records.lock)?;
        let accepted = AcceptedSkills::of(place)?;
        let placements = Placements::load(&place.books)?;
        check_distinct(orders)?;
        for new in installs(orders) {
            let environment = how.installer.environment();
            Protected::check_new_source(place, &records, new, (&options.clients, environment))?;
        }
        let protected = Protected::of(place, &records, orders, how.elsewhere);
        let copies = records.wanted.link().copies();
        let copied_for = if copies { records.wanted.clients().to_vec() } else { Vec::new() };
        let lock = records.lock.clone();
        let actual = Actual { how, orders, dir, lock, copied_for, placements, accepted, protected };
        let mut plan = Self { actual, records, transaction, created, changes: Changes::default() };
        plan.plan_skills(names)?;
        plan.records.wanted.set_clients(&options.clients, options.link);
        plan.plan_clients()?;
        options.shown.as_deref().map_or(Ok(()), |shown| check_shown(&plan.changes.skills, shown))?;
        let log = plan.actual.how.installer.fetch_log();
        plan.changes.skills.iter_mut().for_each(|change| change.fetched = log.has(&change.locked));
        plan.plan_records()?;
        Ok(plan)
    }

    /// Carries it out. Without the rights to write anything, nothing happens. Returns what it did, or would do.
    pub(crate) fn carry_out(mut self) -> Result<Changes, InstallError> {
        let (Actual { how, orders, placements, .. }, records) = (&self.actual, &self.records);
        let nothing = self.transaction.is_empty();
        let is_recorded = |name: &str| records.lock.get(name).is_some() || records.wanted.get(name).is_some();
        self.transaction.forget(placements.gone(is_recorded));
        // Before the journal is written, and after everything that lets the caller plan again.
        if !how.options.dry_run && installs(orders).next().is_some() {
            how.installer.accept_fetched(installs(orders).map(Prepared::locked));
        }
        self.transaction.commit()?;
        if !nothing {
            self.created.keep();
        }
        Ok(self.changes)
    }

    fn plan_skills(&mut self, mut names: Names) -> Result<(), InstallError> {
        let mut edited = Vec::new();
        for order in self.actual.orders {
            let change = match order {
                Order::Install(new) => self.install(new, &mut names),
                Order::Keep(name) => match self.records.lock.get(name) {
                    Some(locked) => Ok(self.actual.change(locked, Action::Unchanged)),
                    None => Err(self.actual.unknown(name)),
                },
                Order::Remove(name) => self.remove(name),
                Order::Drop(name) => self.remove_extra(name),
            };
            match change {
                Ok(change) => self.changes.skills.push(change),
                // All edited skills are named at once.
                Err(error) if error.kind() == InstallErrorKind::Edited => edited.push(error),
                Err(error) => return Err(error),
            }
        }
        all_edited(edited).map_or(Ok(()), Err)
    }

    fn plan_records(&mut self) -> Result<(), InstallError> {
        let Records { wanted, wanted_text, lock, lock_text } = &mut self.records;
        // A folder without any records stays without them when there is nothing to record.
        if lock_text.is_none() && lock.skills().is_empty() && wanted_text.is_none() {
            return Ok(());
        }
        let ApplyOptions { place, write, .. } = self.actual.how;
        let text = with_line_ends_of(lock_text.as_deref(), lock.to_text());
        let files = [
            (place.wanted_file(), wanted_text.take(), wanted.to_text()),
            (place.lock_file(), lock_text.take(), text),
        ];
        for (file, before, after) in files {
            if before.as_deref() == Some(&*after) {
                continue;
            }
            self.changes.records.push(file.clone());
            place.check_record(&file, &after)?;
            if write.records {
                self.transaction.write(file, before, after, place.within());
            }
        }
        Ok(())
    }
}

pub(super) fn state(dir: &Folder, name: &str) -> Result<Option<State>, InstallError> {
    state_of(dir, name).map_err(|error| InstallError::io("read", &dir.path().join(name), error))
}

pub(super) fn open(folder: &Path) -> Result<Folder, InstallError> {
    Folder::open_real(folder).map_err(|error| InstallError::io("open the folder of skills", folder, error))
}

/// The folders that an installation creates. Unless it completes, those that are empty are removed again.
#[derive(Debug, Default)]
pub(super) struct CreatedDirs(Vec<PathBuf>);

impl CreatedDirs {
    /// Notes the missing folders on the path to a folder.
    fn expect(&mut self, folder: &Path) {
        self.0.extend(folder.ancestors().take_while(|above| !above.exists()).map(Path::to_owned));
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for CreatedDirs {
    fn drop(&mut self) {
        // The innermost first.
        self.0.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        for folder in &self.0 {
            let _ = std::fs::remove_dir(folder);
        }
    }
}
