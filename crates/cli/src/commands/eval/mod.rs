//! `prowess eval`: how well skills are found, by the queries that they carry or by a pool with known answers.

mod library;
mod pool;
mod report;
mod selectors;

use crate::Outcome;
use crate::args::Eval;
use crate::error::{CommandError, Failure};
use crate::ui::Ui;

/// Runs the command.
pub(crate) fn run(args: &Eval, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    ui.working("ranking");
    match (&args.pool, &args.queries) {
        (Some(pool), Some(queries)) => pool::run(args, pool, queries, json, ui),
        (None, None) => library::run(args, json, ui),
        _ => Err(Failure::new(
            "a pool and its queries belong together",
            "give both --pool and --queries, or a folder with skills",
        )
        .into()),
    }
}

/// A share in percent, with one digit.
fn percent(part: f64, whole: usize) -> f64 {
    let whole = f64::from(u32::try_from(whole.max(1)).unwrap_or(u32::MAX));
    (1_000.0 * part / whole).round() / 10.0
}
