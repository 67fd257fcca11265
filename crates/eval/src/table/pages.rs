//! Parquet pages compressed with zstd, unpacked in pure Rust.
//!
//! The parquet crate unpacks zstd through a C library. Here it is given metadata that says nothing is compressed, and what it hands out
//! is unpacked afterwards.

use std::io::Read;

use bytes::Bytes;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

/// Unpacks the pages of another reader.
pub(super) struct ZstdPages<R> {
    pub packed: R,
}

/// The largest page that is unpacked; writers make pages of one megabyte.
const MAX_PAGE: u64 = 256 << 20;

impl<R: PageReader> PageReader for ZstdPages<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.packed.get_next_page()?.map(unpacked_page).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.packed.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.packed.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.packed.at_record_boundary()
    }
}

impl<R: PageReader> Iterator for ZstdPages<R> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

fn unpacked_page(mut page: Page) -> Result<Page> {
    match &mut page {
        Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => *buf = unpacked(buf, 0)?,
        Page::DataPageV2 { buf, is_compressed, rep_levels_byte_len, def_levels_byte_len, .. } => {
            // The levels stand before the values and are never compressed.
            let levels = (*rep_levels_byte_len as usize).saturating_add(*def_levels_byte_len as usize);
            if *is_compressed {
                *buf = unpacked(buf, levels)?;
                *is_compressed = false;
            }
        }
    }
    Ok(page)
}

fn unpacked(packed: &Bytes, plain: usize) -> Result<Bytes> {
    let bad = |reason: String| ParquetError::General(format!("a zstd page cannot be unpacked: {reason}"));
    let (head, tail) = packed.split_at_checked(plain).ok_or_else(|| bad("it is too short".to_owned()))?;
    let mut out = head.to_vec();
    if !tail.is_empty() {
        let mut decoder =
            ruzstd::decoding::StreamingDecoder::new(tail).map_err(|error| bad(error.to_string()))?;
        let read = (&mut decoder).take(MAX_PAGE + 1).read_to_end(&mut out);
        if read.map_err(|error| bad(error.to_string()))? as u64 > MAX_PAGE {
            return Err(bad(format!("it has more than {MAX_PAGE} bytes")));
        }
    }
    Ok(out.into())
}
