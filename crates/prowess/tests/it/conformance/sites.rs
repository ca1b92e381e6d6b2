//! Runs `sites.json`: the pages of a site in, its skills and their files out.

use std::collections::BTreeMap;
use std::sync::Arc;

use prowess::net::{HttpClient, HttpError, HttpRequest, HttpResponse};
use prowess::source::Slice;
use prowess::{HttpSource, Obstacle, Registry};
use serde_json::{Value, json};

use super::vectors::{list, load, text, word};

const SITE: &str = "https://site.test";

/// A site that is a table of pages.
struct Pages(BTreeMap<String, String>);

impl HttpClient for Pages {
    fn get(&self, request: &HttpRequest<'_>) -> Result<HttpResponse, HttpError> {
        let page = request.url.strip_prefix(SITE).and_then(|path| self.0.get(path));
        let (status, body) = page.map_or((404, Vec::new()), |page| (200, page.clone().into_bytes()));
        Ok(HttpResponse { status, body, ..HttpResponse::default() })
    }
}

#[test]
fn a_site_offers_the_skills_and_files_that_the_vectors_say() {
    let vectors = load("sites.json");
    for case in list(&vectors["cases"]) {
        let id = word(&case["id"]);
        let pages = case["pages"].as_object().unwrap();
        let pages = pages
            .iter()
            .map(|(path, page)| (path.clone(), if page.is_string() { text(page) } else { page.to_string() }));
        let source = HttpSource::new(SITE, Arc::new(Pages(pages.collect()))).unwrap();
        let mut registry = Registry::new();
        registry.add(source.with_unlisted(case["unlisted"] == true));
        registry.refresh().unwrap();
        let catalog = registry.catalog();
        let skills: Vec<Value> = catalog
            .all()
            .map(|(skill, _)| {
                let entry = &skill.entry;
                let broken = matches!(skill.obstacle, Some(Obstacle::Broken { .. }));
                json!({"key": entry.key, "name": entry.name, "location": entry.origin.location, "broken": broken})
            })
            .collect();
        assert_eq!(json!(skills), case["expect"]["skills"], "{id}");
        assert_eq!(json!(registry.problems().len()), case["expect"]["problems"], "{id}");
        for read in list(&case["expect"]["reads"]) {
            let (key, path) = (word(&read["key"]), word(&read["path"]));
            let bytes = registry.read_bytes(key, path, Slice::first(1_000)).ok().map(|chunk| chunk.bytes);
            let got = bytes.map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(json!(got), read["text"], "{id}: {key} {path}");
        }
    }
}
