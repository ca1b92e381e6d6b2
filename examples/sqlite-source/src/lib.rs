//! A source of one's own: the skills of a company, in an SQLite database.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use prowess::source::{Chunk, Listing, Slice, found};
use prowess::{
    FileEntry, Location, Manifest, Origin, RelPath, Scope, Source, SourceError, SourceErrorKind, SourceSkill,
    parse,
};
use rusqlite::{Connection, OptionalExtension as _, params};

/// The tables: a skill has a SKILL.md, and may have other files.
pub const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS skill (id TEXT PRIMARY KEY, skill_md TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS file (
        skill TEXT NOT NULL REFERENCES skill (id), path TEXT NOT NULL, bytes BLOB NOT NULL,
        PRIMARY KEY (skill, path));
";

/// The skills in a database.
pub struct SqliteSource {
    id: String,
    database: Mutex<Connection>,
}

impl SqliteSource {
    /// Opens a database and makes its tables, if they are not there.
    pub fn open(file: &Path) -> rusqlite::Result<Self> {
        let database = Connection::open(file)?;
        database.execute_batch(TABLES)?;
        Ok(Self { id: file.display().to_string(), database: Mutex::new(database) })
    }

    /// Asks the database, and says of which place when it fails.
    fn ask<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, SourceError> {
        let database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        ask(&database).map_err(|error| SourceError::io(&self.id, std::io::Error::other(error)))
    }

    /// The id of a skill that was listed.
    fn id_of(skill: SourceSkill<'_>) -> &str {
        if let Location::Record { id, .. } = skill.location() { id } else { "" }
    }
}

impl Source for SqliteSource {
    fn id(&self) -> &str {
        &self.id
    }

    // The catalog needs names and descriptions, so the text is read; no other file is.
    fn list(&self) -> Result<Listing, SourceError> {
        let rows: Vec<(String, String)> = self.ask(|database| {
            let mut statement = database.prepare("SELECT id, skill_md FROM skill ORDER BY id")?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })?;
        let mut listing = Listing::default();
        for (id, skill_md) in rows {
            // Within a source a skill is known by its location, so that is made of the key.
            let location = Location::Record { file: self.id.as_str().into(), id: id.as_str().into() };
            let at = Origin::at(location).with_scope(Scope::Explicit).with_folder(&*id);
            // A row that is no skill becomes a broken one, which says why; it hides no other.
            let mut listed = found(&parse(skill_md.as_bytes()), &at);
            listed.virtual_path = id;
            listing.push(listed);
        }
        Ok(listing)
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        let id = Self::id_of(skill);
        let found: Option<Vec<u8>> = self.ask(|database| {
            if path.as_str() == "SKILL.md" {
                let text = "SELECT CAST(skill_md AS BLOB) FROM skill WHERE id = ?1";
                database.query_row(text, [id], |row| row.get(0)).optional()
            } else {
                let text = "SELECT bytes FROM file WHERE skill = ?1 AND path = ?2";
                database.query_row(text, params![id, path.as_str()], |row| row.get(0)).optional()
            }
        })?;
        let missing = || SourceErrorKind::Missing.at(format!("{}/{path}", skill.location()));
        Ok(slice.of(&found.ok_or_else(missing)?))
    }

    fn files(&self, skill: SourceSkill<'_>) -> Result<Manifest, SourceError> {
        let id = Self::id_of(skill);
        let rows: Vec<(String, u64)> = self.ask(|database| {
            let text = "SELECT path, length(bytes) FROM file WHERE skill = ?1
                UNION ALL SELECT 'SKILL.md', length(CAST(skill_md AS BLOB)) FROM skill WHERE id = ?1";
            let mut statement = database.prepare(text)?;
            statement
                .query_map([id], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?
                .collect()
        })?;
        // A path that could lead out of a skill is none: it is left out here and cannot be asked for.
        let files = rows
            .into_iter()
            .filter_map(|(path, size)| Some(FileEntry::new(RelPath::parse(&path).ok()?, size)));
        Ok(Manifest::new(files.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess::{Registry, TooLarge};

    fn skill(name: &str, body: &str) -> String {
        format!("---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n")
    }

    #[test]
    fn a_database_is_a_source_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("skills.db");
        let mut registry = Registry::new();
        registry.add(SqliteSource::open(&file).unwrap());
        registry.refresh().unwrap();
        assert!(registry.catalog().is_empty());

        // Another connection writes to the same file.
        let writer = Connection::open(&file).unwrap();
        let put = |id: &str, text: &str| {
            writer.execute("INSERT OR REPLACE INTO skill VALUES (?1, ?2)", params![id, text]).unwrap();
        };
        put("refunds", &skill("refunds", "Pay it back."));
        put("broken", "no frontmatter");
        for path in ["references/rules.md", "../secret"] {
            let row = params!["refunds", path, b"bytes"];
            writer.execute("INSERT INTO file VALUES (?1, ?2, ?3)", row).unwrap();
        }
        assert_eq!(registry.refresh().unwrap().added, ["refunds"]);
        assert_eq!(registry.document("refunds").unwrap().body(), "Pay it back.");
        assert_eq!(registry.files("refunds").unwrap().files.len(), 2);
        let read = |path: &str| registry.read_resource("refunds", path, Slice::first(99), TooLarge::Refuse);
        assert_eq!(read("references/rules.md").unwrap().size, 5);
        assert!(read("../secret").is_err());
        assert_eq!(registry.catalog().why("broken").len(), 1);

        // Digests for approvals and for MCP come with it.
        let manifest = registry.manifest_of(&registry.get("refunds").unwrap()).unwrap();
        let before = prowess::registry::digests::of_tree(&manifest).unwrap();
        put("refunds", &skill("refunds", "Pay half of it back."));
        let manifest = registry.manifest_of(&registry.get("refunds").unwrap()).unwrap();
        assert_ne!(prowess::registry::digests::of_tree(&manifest).unwrap(), before);
        assert_eq!(registry.document("refunds").unwrap().body(), "Pay half of it back.", "never stale");
    }
}
