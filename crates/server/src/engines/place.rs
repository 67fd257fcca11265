//! Files that a child opens by a path; see [`visus_child::Place`].

pub use visus_child::Place;
