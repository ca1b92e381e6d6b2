//! Behaviour of the whole library, over vectors, real files and hostile ones.

mod corpus;
mod data;
mod hostile;
