//! The server for agents, as its clients see it: the shipped binaries over standard input and output.
#![cfg(unix)]

mod cancel;
mod client;
mod clips;
mod encoded;
mod external;
mod leaving;
mod modern;
mod protocol;
mod schema;
mod sdk;
mod sizes;
mod tools;
mod tuning;
