//! Answers stay small, strict and true.
