//! An async host: fetches skills ahead of time, and lets no thread of its own wait for a disk.

use std::sync::Arc;

use prowess::{MemorySource, Registry, Scope};

/// A service of the host that answers asynchronously, as one on the network would.
async fn fetch(name: &str) -> Result<String, String> {
    tokio::task::yield_now().await;
    match name {
        "gone" => Err("the service has no such skill".to_owned()),
        name => Ok(format!("---\nname: {name}\ndescription: Does {name}.\n---\nDo {name}.\n")),
    }
}

/// Fetches all skills at once into memory; what cannot be fetched is said, and the others are there.
async fn prefetch(names: &[&'static str]) -> (Arc<MemorySource>, Vec<String>) {
    let memory = Arc::new(MemorySource::new("service"));
    let mut failures = Vec::new();
    let tasks: Vec<_> = names.iter().map(|name| (*name, tokio::spawn(fetch(name)))).collect();
    for (name, task) in tasks {
        match task.await {
            Ok(Ok(text)) => memory.insert(name, text, Scope::Explicit),
            Ok(Err(reason)) => failures.push(format!("{name}: {reason}")),
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
    (memory, failures)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (memory, failures) = prefetch(&["greet", "gone", "refunds"]).await;
    for failure in &failures {
        eprintln!("not fetched: {failure}");
    }
    let mut registry = Registry::new();
    registry.add(prowess::Layer::shared(memory));
    let registry = Arc::new(registry);

    // Sources may block. A catalog, once made, is a value that every task can hold.
    let blocking = Arc::clone(&registry);
    tokio::task::spawn_blocking(move || blocking.refresh().map(|_| ())).await??;
    let catalog = registry.catalog();
    for entry in catalog.list() {
        println!("{}: {}", entry.key, entry.description);
    }
    let blocking = Arc::clone(&registry);
    let document = tokio::task::spawn_blocking(move || blocking.document("greet")).await??;
    println!("{}", document.body());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_could_be_fetched_is_there() {
        let (memory, failures) = prefetch(&["greet", "gone"]).await;
        let mut registry = Registry::new();
        registry.add(prowess::Layer::shared(memory));
        let keys = tokio::task::spawn_blocking(move || registry.refresh().map(|delta| delta.added));
        assert_eq!(keys.await.unwrap().unwrap(), ["greet"]);
        assert_eq!(failures.len(), 1);
    }
}
