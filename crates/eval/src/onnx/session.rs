//! The bare run, within this process. A panic of the runtime becomes an error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueView};
use rten_tensor::prelude::*;

use super::operators::registry;
use super::{Batch, ModelFile, OnnxError, Output};
use crate::stats::join;

/// A loaded model.
#[derive(Debug)]
pub struct Session<'a> {
    file: &'a ModelFile,
    model: Model,
}

/// Rows that go in at once where rows are independent: what a layer makes of them stays in the cache.
const CHUNK: usize = 2048;

impl<'a> Session<'a> {
    pub fn load(file: &'a ModelFile) -> Result<Self, OnnxError> {
        let fail = |reason: String| OnnxError::Load { name: file.name.clone(), reason };
        let mut options = ModelOptions::with_ops(registry());
        let options = options.prepack_weights(true);
        let loaded = catch_unwind(AssertUnwindSafe(|| options.load(file.bytes.clone())));
        let loaded = loaded.map_err(|panic| fail(said(&*panic)))?;
        Ok(Self { file, model: loaded.map_err(|error| fail(error.to_string()))? })
    }

    /// All outputs for all rows. The result does not depend on the number of threads.
    pub fn run(&self, batch: &Batch, threads: usize) -> Result<Vec<Output>, OnnxError> {
        let at_once = self.file.check(batch)?;
        let chunk = match at_once {
            Some(at_once) => at_once,
            None if self.file.rowwise => CHUNK,
            None => batch.rows.max(1),
        };
        if chunk >= batch.rows {
            let pool = Arc::new(ThreadPool::with_num_threads(threads.max(1)));
            return self.part(batch, 0, batch.rows, &pool);
        }
        let parts = self.parts(batch, chunk, threads.max(1))?;
        Ok(joined(parts, chunk))
    }

    /// Runs chunk after chunk, several at the same time.
    fn parts(&self, batch: &Batch, chunk: usize, threads: usize) -> Result<Vec<Vec<Output>>, OnnxError> {
        let starts: Vec<usize> = (0..batch.rows).step_by(chunk).collect();
        let some = |first: usize| -> Result<Vec<(usize, Vec<Output>)>, OnnxError> {
            let pool = Arc::new(ThreadPool::with_num_threads(1));
            let mine = starts.iter().skip(first).step_by(threads);
            let run = |start: &usize| {
                let rows = chunk.min(batch.rows - start);
                Ok((*start, self.part(batch, *start, rows, &pool)?))
            };
            mine.map(run).collect()
        };
        let mut all = Vec::new();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|first| scope.spawn(move || some(first))).collect();
            threads.into_iter().map(join).try_for_each(|part| {
                all.extend(part?);
                Ok(())
            })
        })?;
        all.sort_by_key(|(start, _)| *start);
        Ok(all.into_iter().map(|(_, outputs)| outputs).collect())
    }

    fn part(
        &self,
        batch: &Batch,
        start: usize,
        rows: usize,
        pool: &Arc<ThreadPool>,
    ) -> Result<Vec<Output>, OnnxError> {
        let run = catch_unwind(AssertUnwindSafe(|| self.run_rows(batch, start, rows, pool)));
        let fail = |reason: String| OnnxError::Run { name: self.file.name.clone(), reason };
        run.map_err(|panic| fail(said(&*panic)))?.map_err(fail)
    }

    fn run_rows(
        &self,
        batch: &Batch,
        start: usize,
        rows: usize,
        pool: &Arc<ThreadPool>,
    ) -> Result<Vec<Output>, String> {
        let length = batch.row_len();
        let data = &batch.data[start * length..(start + rows) * length];
        let shape = [&[rows], batch.row_shape.as_slice()].concat();
        let view = ValueView::from_shape(&shape, data).map_err(|error| error.to_string())?;
        let mut inputs = vec![(self.node(&batch.input)?, view.into())];
        for (name, row) in &batch.fixed {
            let value = Value::from_shape([rows, row.len()], row.repeat(rows));
            inputs.push((self.node(name)?, value.map_err(|error| error.to_string())?.into()));
        }
        let mut options = RunOptions::default();
        options.thread_pool = Some(Arc::clone(pool));
        let ids = self.model.output_ids();
        let values = self.model.run(inputs, ids, Some(options)).map_err(|error| error.to_string())?;
        ids.iter().zip(values).map(|(id, value)| self.output(*id, value)).collect()
    }

    fn node(&self, name: &str) -> Result<NodeId, String> {
        self.model.find_node(name).ok_or_else(|| format!("there is no input '{name}'"))
    }

    fn output(&self, id: NodeId, value: Value) -> Result<Output, String> {
        let name = self.model.node_info(id).and_then(|info| info.name()).unwrap_or_default().to_owned();
        match value {
            Value::FloatTensor(tensor) => {
                Ok(Output { name, shape: tensor.shape().to_vec(), data: tensor.into_data() })
            }
            Value::Int32Tensor(tensor) => {
                let data = tensor.iter().map(|value| *value as f32).collect();
                Ok(Output { name, shape: tensor.shape().to_vec(), data })
            }
            other => Err(format!("output '{name}' holds {:?}, not numbers of 32 bits", other.dtype())),
        }
    }
}

/// Puts the outputs of chunks together along the rows.
fn joined(parts: Vec<Vec<Output>>, chunk: usize) -> Vec<Output> {
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap_or_default();
    for part in parts {
        for (whole, output) in all.iter_mut().zip(part) {
            whole.data.extend(output.data);
            match (whole.shape.first_mut(), output.shape.first()) {
                (Some(rows), Some(more)) => *rows += more,
                // A number without a shape, from one row each.
                _ if chunk == 1 => whole.shape = vec![whole.data.len()],
                _ => {}
            }
        }
    }
    all
}

/// What a panic said.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the runtime gave up: {}", text.unwrap_or("no reason given"))
}
