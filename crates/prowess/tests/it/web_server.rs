//! A web server on loopback that answers as a test says: well, slowly, wrongly or not at all.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess::net::{HttpError, UreqClient};
use prowess::{HttpSource, Layer, Registry, RegistryError, SourceError, SourceErrorKind};

use crate::trees::skill;

/// What a server does when it is asked for a path.
#[derive(Clone)]
pub(crate) enum Answer {
    Ok(Vec<u8>),
    /// The same with an `ETag`, and 304 for requests that have it.
    Tagged(&'static str, Vec<u8>),
    Redirect(String),
    Status(u16),
    /// Says it has more than it sends, and goes away.
    Vanish,
    /// Sends a byte now and then, without end.
    Trickle,
    /// Sends bytes without end.
    Flood,
    /// Never answers.
    Silent,
    Garbage,
}

/// A server with a few paths, and what it was asked for.
pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
    routes: Arc<Mutex<BTreeMap<String, Answer>>>,
}

impl Server {
    pub(crate) fn start(routes: &[(&str, Answer)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let routes: BTreeMap<String, Answer> =
            routes.iter().map(|(path, answer)| ((*path).to_owned(), answer.clone())).collect();
        let routes = Arc::new(Mutex::new(routes));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (known, noted) = (Arc::clone(&routes), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (known, noted) = (Arc::clone(&known), Arc::clone(&noted));
                std::thread::spawn(move || answer(stream, &known, &noted));
            }
        });
        Self { url, asked, routes }
    }

    pub(crate) fn set(&self, path: &str, answer: Answer) {
        self.routes.lock().unwrap().insert(path.to_owned(), answer);
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    pub(crate) fn source(&self, path: &str) -> HttpSource {
        let client = Arc::new(UreqClient::new(None).unwrap());
        HttpSource::new(&format!("{}{path}", self.url), client).unwrap()
    }
}

fn answer(mut stream: TcpStream, routes: &Mutex<BTreeMap<String, Answer>>, asked: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let tag =
        headers.iter().find_map(|line| line.strip_prefix("if-none-match: ")).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(if tag.is_empty() { path.clone() } else { format!("{path} {tag}") });
    let answer = routes.lock().unwrap().get(&path).cloned().unwrap_or(Answer::Status(404));
    let mut say = |head: &str, body: &[u8]| {
        let _ = stream.write_all(format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n").as_bytes());
        let _ = stream.write_all(body);
    };
    match answer {
        Answer::Ok(body) => say(&format!("200 OK\r\ncontent-length: {}", body.len()), &body),
        Answer::Tagged(known, _) if tag == known => say("304 Not Modified", b""),
        Answer::Tagged(known, body) => {
            say(&format!("200 OK\r\netag: {known}\r\ncontent-length: {}", body.len()), &body);
        }
        Answer::Redirect(to) => say(&format!("302 Found\r\nlocation: {to}\r\ncontent-length: 0"), b""),
        Answer::Status(status) => say(&format!("{status} Whatever\r\ncontent-length: 0"), b""),
        Answer::Vanish => say("200 OK\r\ncontent-length: 1000", b"[{\"name\":"),
        Answer::Garbage => {
            let _ = stream.write_all(b"\x00\x01\x02 not http at all\r\n\r\n");
        }
        Answer::Flood => {
            say("200 OK", b"");
            while stream.write_all(&[b' '; 4096]).is_ok() {}
        }
        Answer::Trickle => {
            say("200 OK", b"[");
            // Ends when the other side does; each byte comes within any limit of a single read.
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Answer::Silent => {
            let _ = stream.read_to_end(&mut Vec::new());
        }
    }
}

pub(crate) fn text(name: &str) -> Answer {
    Answer::Ok(skill(name).into_bytes())
}

pub(crate) fn listed(source: impl Into<Layer>) -> Result<Registry, RegistryError> {
    let mut registry = Registry::new();
    registry.add(source);
    registry.refresh()?;
    Ok(registry)
}

pub(crate) fn index(value: &serde_json::Value) -> Answer {
    Answer::Ok(value.to_string().into_bytes())
}

pub(crate) fn http_error(result: Result<Registry, RegistryError>) -> HttpError {
    match result {
        Err(RegistryError::Source(SourceError { kind: SourceErrorKind::Http(error), .. })) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was listed"),
    }
}
