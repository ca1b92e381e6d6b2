//! The text a model sees: the catalog of skills, an activated skill, one skill described.
//!
//! All escaping happens in [`text`](crate::text). No text of a skill can close a wrapper or appear outside it.

mod activation;
mod budget;
mod catalog;

pub use activation::{Activation, ActivationStyle, Inlined, compose, describe};
pub(crate) use activation::{ActivationParts, WeakActivation};
pub(crate) use activation::{BELOW_FOLDER, FOLDER};
pub use budget::{Budget, BudgetReport, Budgeted, estimate_tokens, render_within};
pub use catalog::{CatalogStyle, Shape, render_catalog};

#[cfg(test)]
mod tests;
