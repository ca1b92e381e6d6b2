//! Tests of the ranking.
