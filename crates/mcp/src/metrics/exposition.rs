//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write as _};

/// A page of samples.
#[derive(Default)]
pub(super) struct Page(String);

impl Page {
    /// Begins a family of counters.
    pub(super) fn counter(&mut self, name: &str, help: &str) {
        self.family(name, "counter", help);
    }

    /// Begins a family of gauges.
    pub(super) fn gauge(&mut self, name: &str, help: &str) {
        self.family(name, "gauge", help);
    }

    /// Begins a family of histograms.
    pub(super) fn histogram(&mut self, name: &str, help: &str) {
        self.family(name, "histogram", help);
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Writes one sample. Any text may be the value of a label.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let _ = write!(self.0, "{}{label}=\"", if at == 0 { '{' } else { ',' });
            // On one line, and without characters that a terminal interprets.
            for c in prowess::text::inline(text).chars() {
                if matches!(c, '\\' | '"') {
                    self.0.push('\\');
                }
                self.0.push(c);
            }
            self.0.push('"');
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_label_ends_its_line_or_its_quotes() {
        let mut page = Page::default();
        page.sample("n", &[("a", "q\" b\\ n\n r\r e\u{1b}"), ("b", "")], 1);
        page.sample("m", &[], 0.5);
        let page = page.finish();
        assert_eq!(page.lines().count(), 2, "{page}");
        assert!(!page.contains(['\r', '\u{1b}']), "{page}");
        assert!(page.starts_with(r#"n{a="q\" b\\ n\\n r\\r e\\u{1b}""#), "{page}");
        assert!(page.ends_with("\",b=\"\"} 1\nm 0.5\n"), "{page}");
    }
}
