//! The counters of the server, and their page in the text format of Prometheus.

mod exposition;
mod histogram;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prowess::internal::locked;

use crate::library::publication::Publication;
use crate::library::states::SkillCounts;
use crate::metrics::exposition::Page;
use crate::metrics::histogram::Histogram;
use crate::protocol::methods;

/// The maximum number of skills with series of their own. Calls of further ones count as [`OTHER`].
const MAX_SKILLS: usize = 200;
/// The maximum number of series of calls. A new one beyond it counts as one of [`OTHER`].
const MAX_SERIES: usize = 2000;
/// The label of what is beyond a limit or not in a table.
pub(crate) const OTHER: &str = "other";
/// The methods of HTTP without a message. They have series of their own, as every method that is served.
const WITHOUT_MESSAGE: [&str; 2] = ["GET", "DELETE"];

/// The counters of a server.
#[derive(Default)]
pub(crate) struct Metrics {
    calls: Mutex<Calls>,
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    durations: Mutex<BTreeMap<&'static str, Histogram>>,
    refusals: Mutex<BTreeMap<&'static str, u64>>,
    reloads: Mutex<Reloads>,
}

#[derive(Default)]
struct Calls {
    skills: BTreeSet<String>,
    /// By tool, skill and reason.
    counts: BTreeMap<(String, String, &'static str), u64>,
}

#[derive(Clone, Copy, Default)]
struct Reloads {
    ok: u64,
    tokens_failed: u64,
    failed: u64,
}

/// How a reload ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReloadResult {
    Ok,
    /// The tokens could not be used, and the old ones stay; everything else was reloaded.
    TokensFailed,
    Failed,
}

/// What is counted elsewhere: numbers of the moment.
pub(crate) struct Gauges {
    pub(crate) connections: usize,
    pub(crate) requests: usize,
    pub(crate) sessions: usize,
    pub(crate) streams: usize,
    /// The bytes that sessions keep.
    pub(crate) kept: usize,
    pub(crate) tokens: usize,
    /// Whether the file of tokens could be used when it was last read; `None` without one.
    pub(crate) tokens_read: Option<bool>,
}

impl Metrics {
    /// Counts a call of a tool. The tool and the skill come from our own tables, never from the text of a client.
    pub(crate) fn count_call(&self, tool: &str, skill: Option<&str>, reason: &'static str) {
        let mut calls = locked(&self.calls);
        let mut skill = skill.unwrap_or_default();
        if !skill.is_empty() && !calls.skills.contains(skill) {
            if calls.skills.len() < MAX_SKILLS {
                calls.skills.insert(skill.to_owned());
            } else {
                skill = OTHER;
            }
        }
        let mut series = (tool.to_owned(), skill.to_owned(), reason);
        if calls.counts.len() >= MAX_SERIES && !calls.counts.contains_key(&series) {
            OTHER.clone_into(&mut series.1);
        }
        *calls.counts.entry(series).or_default() += 1;
    }

    /// Counts a request for `/mcp` and its time until the response begins.
    pub(crate) fn count_request(&self, method: &str, status: u16, time: Duration) {
        let without_message = || WITHOUT_MESSAGE.into_iter().find(|known| *known == method);
        let method = methods::served(method).or_else(without_message).unwrap_or(OTHER);
        *locked(&self.requests).entry((method, status)).or_default() += 1;
        locked(&self.durations).entry(method).or_default().observe(time);
    }

    pub(crate) fn count_refusal(&self, reason: &'static str) {
        *locked(&self.refusals).entry(reason).or_default() += 1;
    }

    pub(crate) fn count_reload(&self, result: ReloadResult) {
        let mut reloads = locked(&self.reloads);
        *match result {
            ReloadResult::Ok => &mut reloads.ok,
            ReloadResult::TokensFailed => &mut reloads.tokens_failed,
            ReloadResult::Failed => &mut reloads.failed,
        } += 1;
    }

    /// The page for a scraper. It is built at once, so that a slow reader holds no lock.
    pub(crate) fn page(&self, gauges: &Gauges, publication: &Publication) -> String {
        let mut page = Page::default();
        page.gauge("prowess_build_info", "The version of the server.");
        page.sample("prowess_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        page.gauge("process_start_time_seconds", "When the process started, in seconds since 1970.");
        page.sample("process_start_time_seconds", &[], seconds(started()));
        if let Some(bytes) = resident_bytes() {
            page.gauge("process_resident_memory_bytes", "Resident memory of the process.");
            page.sample("process_resident_memory_bytes", &[], bytes);
        }
        self.traffic(&mut page);
        for (name, help, value) in [
            ("prowess_connections", "Open connections.", gauges.connections),
            (
                "prowess_requests_in_progress",
                "Requests for /mcp that are handled, or wait for their turn.",
                gauges.requests,
            ),
            ("prowess_sessions", "Open sessions of versions with a handshake.", gauges.sessions),
            ("prowess_streams", "Open streams and subscriptions.", gauges.streams),
            ("prowess_kept_bytes", "Memory that sessions keep for active skills.", gauges.kept),
            ("prowess_tokens", "Tokens that are accepted.", gauges.tokens),
        ] {
            page.gauge(name, help);
            page.sample(name, &[], value);
        }
        if let Some(read) = gauges.tokens_read {
            let help = "Whether the token file could be used when it was last read.";
            page.gauge("prowess_tokens_read_success", help);
            page.sample("prowess_tokens_read_success", &[], u8::from(read));
        }
        library(&mut page, publication);
        let reloads = *locked(&self.reloads);
        page.counter("prowess_reloads_total", "Reloads by SIGHUP, by result.");
        page.sample("prowess_reloads_total", &[("result", "ok")], reloads.ok);
        page.sample("prowess_reloads_total", &[("result", "tokens_failed")], reloads.tokens_failed);
        page.sample("prowess_reloads_total", &[("result", "failed")], reloads.failed);
        page.finish()
    }

    /// What clients asked for.
    fn traffic(&self, page: &mut Page) {
        page.counter("prowess_calls_total", "Calls of tools, by tool, skill and reason.");
        for ((tool, skill, reason), count) in &locked(&self.calls).counts {
            let labels = [("tool", tool.as_str()), ("skill", skill), ("reason", reason)];
            page.sample("prowess_calls_total", &labels, *count);
        }
        page.counter("prowess_requests_total", "Requests for /mcp, by method and status of HTTP.");
        for ((method, status), count) in &*locked(&self.requests) {
            let labels = [("method", *method), ("status", &status.to_string())];
            page.sample("prowess_requests_total", &labels, *count);
        }
        let name = "prowess_request_duration_seconds";
        page.histogram(name, "Time until the response to a request for /mcp begins, by method.");
        for (method, histogram) in &*locked(&self.durations) {
            histogram.write(page, name, ("method", method));
        }
        page.counter("prowess_refusals_total", "Requests that were refused, by reason.");
        for (reason, count) in &*locked(&self.refusals) {
            page.sample("prowess_refusals_total", &[("reason", reason)], *count);
        }
    }
}

/// The state of the library.
fn library(page: &mut Page, publication: &Publication) {
    let counts = publication.whole().map(|now| now.counts());
    page.gauge("prowess_skills", "Skills that were found, by state.");
    for (state, number) in counts.iter().flat_map(SkillCounts::states) {
        page.sample("prowess_skills", &[("state", state)], number);
    }
    let reading = publication.reading();
    page.gauge("prowess_library_problems", "Sources and parts of them that could not be read.");
    page.sample("prowess_library_problems", &[], reading.problems);
    if let Some(last) = reading.last {
        page.gauge("prowess_last_refresh_timestamp_seconds", "When the library was last read.");
        page.sample("prowess_last_refresh_timestamp_seconds", &[], seconds(last));
        page.gauge("prowess_last_refresh_success", "Whether the library could be read then.");
        page.sample("prowess_last_refresh_success", &[], u8::from(publication.could_read()));
    }
}

/// The start of this process, as far as it is known: when it was first asked for.
pub(crate) fn started() -> SystemTime {
    static STARTED: std::sync::OnceLock<SystemTime> = std::sync::OnceLock::new();
    *STARTED.get_or_init(SystemTime::now)
}

fn seconds(time: SystemTime) -> String {
    let time = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}.{:03}", time.as_secs(), time.subsec_millis())
}

/// The resident memory of this process. Only Linux reports it as a file.
fn resident_bytes() -> Option<u64> {
    let status = prowess::fs::read::read_small("/proc/self/status".as_ref(), 64 * 1024).ok()?;
    let status = String::from_utf8_lossy(&status).into_owned();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(kilobytes.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(metrics: &Metrics) -> String {
        let gauges = Gauges {
            connections: 1,
            requests: 6,
            sessions: 2,
            streams: 3,
            kept: 5,
            tokens: 4,
            tokens_read: None,
        };
        metrics.page(&gauges, &Publication::new(true))
    }

    #[test]
    fn the_number_of_series_is_limited() {
        let metrics = Metrics::default();
        for number in 0..10 * MAX_SKILLS {
            metrics.count_call("load_skill", Some(&format!("skill-{number}")), "ok");
            metrics.count_request(&format!("made/up/{number}"), 404, Duration::ZERO);
        }
        let page = page(&metrics);
        let calls = page.lines().filter(|line| line.starts_with("prowess_calls_total{"));
        assert_eq!(calls.count(), MAX_SKILLS + 1);
        let rest = 9 * MAX_SKILLS;
        assert!(
            page.contains(&format!(r#"{{tool="load_skill",skill="other",reason="ok"}} {rest}"#)),
            "{page}"
        );
        assert!(page.contains(r#"prowess_requests_total{method="other",status="404"} 2000"#), "{page}");
    }

    #[test]
    fn reasons_cannot_multiply_the_series_without_end() {
        let metrics = Metrics::default();
        for skill in 0..MAX_SKILLS {
            for reason in prowess::session::Reason::ALL {
                metrics.count_call("load_skill", Some(&format!("skill-{skill}")), reason.code());
            }
        }
        let series = page(&metrics).lines().filter(|line| line.starts_with("prowess_calls_total{")).count();
        assert!(series <= MAX_SERIES + prowess::session::Reason::ALL.len(), "{series}");
    }
}
