//! `visus plan`, `work`, `gather`, `status` and `top`: a catalogue scored by many machines that share a folder.
//!
//! A plan is a folder. `plan.ndjson` lists the tasks: a pair, or a range of a long pair; cheap ones share a bundle. Whoever has
//! scored a bundle puts its result under `results/`, whole or not at all, named by everything that the result depends on. The
//! result is the mark that its tasks are done; there is no other state. So a worker can be killed at any time, two workers can have
//! the same shard, and a plan that is made again keeps every result that is still right.
//!
//! | question | where |
//! |---|---|
//! | what are the tasks, and who scores which? | [`plan`], [`bundle`], [`cost`]; [`file`] is how that is written |
//! | how do workers know the pairs of a film that is cut? | [`pairs`] |
//! | where are results, and how do they get there? | [`folder`], [`store`] |
//! | what if videos or the plan lie in an object store? | [`place`] |
//! | what does a worker do? | [`work`], [`score`]; `queue` where it takes tasks from NATS |
//! | how can it be watched? | [`watch`], [`trace`], [`status`], [`top`] |
//! | how do results become one table? | [`gather`] |
//! | how long will it take? | [`simulate`] |

mod bundle;
mod cost;
mod file;
mod folder;
mod gather;
mod pairs;
mod place;
mod plan;
#[cfg(feature = "nats")]
mod queue;
mod score;
mod simulate;
mod status;
mod store;
mod top;
mod trace;
mod watch;
mod work;

pub use gather::{GatherArgs, run as gather};
pub use plan::{PlanArgs, run as plan};
pub use status::{StatusArgs, run as status};
pub use top::{TopArgs, run as top};
pub use work::{WorkArgs, run as work};
