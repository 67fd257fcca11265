//! Hostile requests against one server process: files that explode, folders that are swapped, clients that say nothing.
//! After each of them `/healthz` answers and a normal score is what it was.
#![cfg(target_os = "linux")]

mod bare;
mod bombs;
mod crowds;
mod races;
mod served;
