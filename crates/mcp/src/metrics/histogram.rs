//! A histogram of durations with fixed buckets.

use std::time::Duration;

use crate::metrics::exposition::Page;

/// The upper bounds of the buckets, in milliseconds, and as Prometheus writes them, in seconds.
const BOUNDS: [(u64, &str); 12] = [
    (1, "0.001"),
    (3, "0.003"),
    (5, "0.005"),
    (10, "0.01"),
    (30, "0.03"),
    (50, "0.05"),
    (100, "0.1"),
    (300, "0.3"),
    (1_000, "1"),
    (3_000, "3"),
    (10_000, "10"),
    (30_000, "30"),
];

/// Durations, counted by size.
#[derive(Default)]
pub(super) struct Histogram {
    /// Each duration is counted once here; the page adds up.
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

impl Histogram {
    pub(super) fn observe(&mut self, time: Duration) {
        self.count += 1;
        self.sum += time;
        let fits = BOUNDS.iter().position(|(most, _)| time <= Duration::from_millis(*most));
        if let Some(bucket) = fits.and_then(|at| self.buckets.get_mut(at)) {
            *bucket += 1;
        }
    }

    pub(super) fn write(&self, page: &mut Page, name: &str, label: (&str, &str)) {
        let bucket = format!("{name}_bucket");
        let mut total = 0;
        for ((_, bound), count) in BOUNDS.iter().zip(self.buckets) {
            total += count;
            page.sample(&bucket, &[label, ("le", bound)], total);
        }
        page.sample(&bucket, &[label, ("le", "+Inf")], self.count);
        page.sample(&format!("{name}_sum"), &[label], self.sum.as_secs_f64());
        page.sample(&format!("{name}_count"), &[label], self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_counts_all_durations_up_to_its_bound() {
        let mut histogram = Histogram::default();
        for ms in [0, 1, 2, 1_000, 60_000] {
            histogram.observe(Duration::from_millis(ms));
        }
        let mut page = Page::default();
        histogram.write(&mut page, "t", ("method", "m"));
        let page = page.finish();
        for line in [
            r#"t_bucket{method="m",le="0.001"} 2"#,
            r#"t_bucket{method="m",le="0.003"} 3"#,
            r#"t_bucket{method="m",le="0.3"} 3"#,
            r#"t_bucket{method="m",le="1"} 4"#,
            r#"t_bucket{method="m",le="30"} 4"#,
            r#"t_bucket{method="m",le="+Inf"} 5"#,
            r#"t_sum{method="m"} 61.003"#,
            r#"t_count{method="m"} 5"#,
        ] {
            assert!(page.lines().any(|own| own == line), "{line}: {page}");
        }
    }
}
