//! Activity measured on groups of 2x2 pixels, in plain Rust that is compiled for every CPU level.
//!
//! Two rows of pixels at a time become sums of pairs of pixels, for a tile of columns whose sums stay in the nearest cache;
//! everything else runs on these, one number per group, side by side. Rows are read from end to end, as memory likes it.
//!
//! The high-pass for a group of 2x2 pixels, with `U` and `L` for its upper and lower row,
//!
//! ```text
//!    0 -1 -1 -1 -1  0
//!   -1 -2 -3 -3 -2 -1
//! U -1 -3 12 12 -3 -1
//! L -1 -3 12 12 -3 -1
//!   -1 -2 -3 -3 -2 -1
//!    0 -1 -1 -1 -1  0
//! ```
//!
//! is 16 times the group less two smoothings: by 1, 1, 1, 1 along rows and 1, 1, 2, 2, 1, 1 down columns, and the same the other
//! way round. The group's own rows have a share in it, and so have the rows of the groups above and below.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Range, Sub};

use visus_video::{Plane, Sample};

/// Samples whose pairs are read as one number of twice their bits.
pub trait Paired: Sample {
    /// Holds every value that the filter makes of samples.
    type Word: Word;

    /// The left and the right sample of a pair.
    fn split(pair: [Self; 2]) -> [Self::Word; 2];

    /// The tiles that hold what is made of such samples.
    fn tiles(tiles: &mut Tiles) -> &mut Vec<Tile<Self::Word>>;
}

impl Paired for u8 {
    type Word = i16;

    #[inline(always)]
    fn split(pair: [Self; 2]) -> [i16; 2] {
        let both = u16::from_le_bytes(pair);
        [(both & 0xff) as i16, (both >> 8) as i16]
    }

    fn tiles(tiles: &mut Tiles) -> &mut Vec<Tile<i16>> {
        &mut tiles.narrow
    }
}

impl Paired for u16 {
    type Word = i32;

    #[inline(always)]
    fn split([left, right]: [Self; 2]) -> [i32; 2] {
        let both = u32::from(left) | u32::from(right) << 16;
        [(both & 0xffff) as i32, (both >> 16) as i32]
    }

    fn tiles(tiles: &mut Tiles) -> &mut Vec<Tile<i32>> {
        &mut tiles.wide
    }
}

/// Numbers with a sign.
pub trait Word: Copy + Debug + Default + Add<Output = Self> + Sub<Output = Self> {
    /// As wide, without a sign.
    type Sum: Copy + Debug + Default + AddAssign + Into<u32>;

    /// High-pass values that fit a sum: each is up to 48 times the largest sample. Two that are thrown away are up to 64 times as
    /// large, differences are smaller.
    const SHORT_ROWS: usize;

    fn sixteenfold(self) -> Self;
    fn magnitude(self) -> Self::Sum;
}

impl Word for i16 {
    type Sum = u16;

    const SHORT_ROWS: usize = u16::MAX as usize / (48 * 255);

    #[inline(always)]
    fn sixteenfold(self) -> Self {
        self << 4
    }

    #[inline(always)]
    fn magnitude(self) -> u16 {
        self.unsigned_abs()
    }
}

impl Word for i32 {
    type Sum = u32;

    const SHORT_ROWS: usize = u32::MAX as usize / (48 * 65535);

    #[inline(always)]
    fn sixteenfold(self) -> Self {
        self << 4
    }

    #[inline(always)]
    fn magnitude(self) -> u32 {
        self.unsigned_abs()
    }
}

/// Groups of a tile.
const TILE: usize = 512;

/// With the groups beside it.
const REACH: usize = TILE + 2;

/// Luma of the source and of the pictures before it. The last one is there if second differences are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Pictures<'a, T> {
    pub source: Plane<'a, T>,
    pub before: Plane<'a, T>,
    pub earlier: Option<Plane<'a, T>>,
}

/// The groups of a block in each row: all of them, and those with a spatial activity.
#[derive(Clone, Debug)]
pub struct Block {
    pub all: Range<usize>,
    pub active: Range<usize>,
}

/// Memory for rows of one width, which is taken with the first of them.
#[derive(Clone, Debug, Default)]
pub struct Tiles {
    narrow: Vec<Tile<i16>>,
    wide: Vec<Tile<i32>>,
}

/// Adds the spatial and the temporal activity of some rows of a row of blocks. Of the rows `down` those in `active` have a spatial
/// activity; both begin with a group.
#[inline(always)]
pub fn add_activity<T: Paired>(
    pictures: &Pictures<'_, T>,
    (down, active): (Range<usize>, Range<usize>),
    blocks: &[Block],
    tiles: &mut Tiles,
    [spatial, temporal]: [&mut [u64]; 2],
) {
    let tiles = T::tiles(tiles);
    if tiles.is_empty() {
        *tiles = Tile::all(pictures.source.width().div_ceil(2));
    }
    for tile in &mut *tiles {
        tile.spatial.reset();
        tile.temporal.reset();
    }
    let mut groups = Groups::new();
    let is_active = !active.is_empty();
    let (mut y, mut end) = (down.start, down.end);
    if is_active {
        // The high-pass needs the groups above and below.
        (y, end) = (y.min(active.start - 2), end.max(active.end + 2));
    }
    while y < end {
        for tile in &mut *tiles {
            groups.read(pictures.source, y, &tile.across);
            if is_active {
                tile.add_high_pass(&groups);
                // No high-pass is complete before the groups below the first ones; what came of earlier rows is thrown away.
                if y <= active.start {
                    tile.spatial.clear();
                }
            }
            if down.contains(&y) {
                tile.add_change(&groups, pictures, y);
            }
        }
        y += 2;
    }
    for tile in tiles {
        tile.spatial.lengthen();
        tile.temporal.lengthen();
        for (index, block) in blocks.iter().enumerate() {
            // Sums of the high-pass begin with the second group.
            spatial[index] += tile.spatial.total(&block.active, &tile.own, tile.across.start + 1);
            temporal[index] += tile.temporal.total(&block.all, &tile.own, tile.across.start);
        }
    }
}

/// A number for each group of a tile.
#[repr(align(64))]
#[derive(Clone, Copy, Debug)]
struct Row<V>([V; REACH]);

impl<V: Copy + Default> Row<V> {
    #[inline(always)]
    fn new() -> Self {
        Self([V::default(); REACH])
    }
}

/// Sums of the absolute values of columns. Those of some rows fit few bits, so that vectors hold more of them. A block has at most
/// 728 rows of groups, whose values fit 32 bits even for samples of 16 bits.
#[derive(Clone, Debug)]
struct ColumnSums<W: Word> {
    /// Of the latest rows.
    short: Row<W::Sum>,
    rows: usize,
    sums: Row<u32>,
}

impl<W: Word> ColumnSums<W> {
    #[inline(always)]
    fn new() -> Self {
        Self { short: Row::new(), rows: 0, sums: Row::new() }
    }

    /// Forgets everything.
    #[inline(always)]
    fn reset(&mut self) {
        self.clear();
        self.sums = Row::new();
    }

    /// Forgets the latest rows.
    #[inline(always)]
    fn clear(&mut self) {
        self.short = Row::new();
        self.rows = 0;
    }

    /// Counts a row that was added to the short sums.
    #[inline(always)]
    fn end_row(&mut self) {
        self.rows += 1;
        if self.rows == W::SHORT_ROWS {
            self.lengthen();
        }
    }

    #[inline(always)]
    fn lengthen(&mut self) {
        add_to(&mut self.sums.0, &self.short.0);
        self.clear();
    }

    /// The sum of those groups of a block that are a tile's own, whose sums begin with group `first`.
    #[inline(always)]
    fn total(&self, block: &Range<usize>, own: &Range<usize>, first: usize) -> u64 {
        let (start, end) = (block.start.max(own.start), block.end.min(own.end));
        let mut total = 0;
        if start < end {
            for sum in &self.sums.0[start - first..end - first] {
                total += u64::from(*sum);
            }
        }
        total
    }
}

/// Apart from its caller, so that the compiler knows that the arrays do not overlap.
#[inline(always)]
fn add_to<V: Copy + Into<u32>>(sums: &mut [u32; REACH], values: &[V; REACH]) {
    for i in 0..REACH {
        sums[i] += values[i].into();
    }
}

/// Two rows of pixels in the columns of a tile.
struct Groups<W> {
    /// Sums of the pairs in the upper and the lower row of groups.
    upper: Row<W>,
    lower: Row<W>,
    /// Sums of the columns of groups.
    left: Row<W>,
    right: Row<W>,
}

impl<W: Word> Groups<W> {
    #[inline(always)]
    fn new() -> Self {
        Self { upper: Row::new(), lower: Row::new(), left: Row::new(), right: Row::new() }
    }

    /// Takes the rows from `y` on.
    #[inline(always)]
    fn read<T: Paired<Word = W>>(&mut self, plane: Plane<'_, T>, y: usize, across: &Range<usize>) {
        let Pairs { upper, lower, odd } = Pairs::new(plane, y, across);
        for i in 0..upper.len() {
            self.set(i, upper[i], lower[i]);
        }
        if let Some([above, below]) = odd {
            self.set(upper.len(), above, below);
        }
    }

    #[inline(always)]
    fn set<T: Paired<Word = W>>(&mut self, i: usize, upper: [T; 2], lower: [T; 2]) {
        let ([a, b], [c, d]) = (T::split(upper), T::split(lower));
        self.upper.0[i] = a + b;
        self.lower.0[i] = c + d;
        self.left.0[i] = a + c;
        self.right.0[i] = b + d;
    }
}

/// Some columns of a row of blocks.
#[derive(Clone, Debug)]
pub struct Tile<W: Word> {
    own: Range<usize>,
    /// Its own groups and one beside them on either side, if the picture goes on there.
    across: Range<usize>,
    /// What the latest groups give to the high-pass of those below, from the second group on.
    above: Row<W>,
    /// High-pass of the latest groups with its sign reversed, but for the share of the groups below, from the second group on.
    pending: Row<W>,
    /// From the second group on.
    spatial: ColumnSums<W>,
    temporal: ColumnSums<W>,
}

impl<W: Word> Tile<W> {
    /// Tiles of rows of groups.
    #[inline(always)]
    fn all(groups: usize) -> Vec<Self> {
        let mut tiles = Vec::with_capacity(groups.div_ceil(TILE));
        let mut first = 0;
        while first < groups {
            let own = first..groups.min(first + TILE);
            first = own.end;
            tiles.push(Self {
                across: own.start.saturating_sub(1)..groups.min(own.end + 1),
                own,
                above: Row::new(),
                pending: Row::new(),
                spatial: ColumnSums::new(),
                temporal: ColumnSums::new(),
            });
        }
        tiles
    }

    /// Takes the next groups, and completes the high-pass of those above them.
    #[inline(always)]
    fn add_high_pass(&mut self, groups: &Groups<W>) {
        let len = self.across.len();
        let (upper, lower) = (&groups.upper.0[..len], &groups.lower.0[..len]);
        let (left, right) = (&groups.left.0[..len], &groups.right.0[..len]);
        let (above, pending) = (&mut self.above.0[..len], &mut self.pending.0[..len]);
        let sums = &mut self.spatial.short.0[..len];
        for i in 2..len {
            let group = upper[i - 1] + lower[i - 1];
            let along = right[i - 2] + group + left[i];
            let for_above = along + (upper[i - 2] + upper[i - 1]) + (upper[i - 1] + upper[i]);
            let for_below = along + (lower[i - 2] + lower[i - 1]) + (lower[i - 1] + lower[i]);
            sums[i - 2] += (pending[i - 2] + for_above).magnitude();
            pending[i - 2] = above[i - 2] + for_above + for_below - group.sixteenfold();
            above[i - 2] = for_below;
        }
        self.spatial.end_row();
    }

    /// Adds what changed in the groups, which begin in row `y`.
    #[inline(always)]
    fn add_change<T: Paired<Word = W>>(&mut self, groups: &Groups<W>, pictures: &Pictures<'_, T>, y: usize) {
        let before = Pairs::new(pictures.before, y, &self.across);
        let len = before.upper.len();
        let (upper, lower) = (&groups.upper.0, &groups.lower.0);
        let sums = &mut self.temporal.short.0;
        match pictures.earlier {
            None => {
                for i in 0..len {
                    let now = upper[i] + lower[i];
                    sums[i] += (now - before.group(i)).magnitude();
                }
                if before.odd.is_some() {
                    let now = upper[len] + lower[len];
                    sums[len] += (now - before.odd_group()).magnitude();
                }
            }
            Some(earlier) => {
                let earlier = Pairs::new(earlier, y, &self.across).cut(len);
                for i in 0..len {
                    let (now, before) = (upper[i] + lower[i], before.group(i));
                    sums[i] += (now - before - before + earlier.group(i)).magnitude();
                }
                if before.odd.is_some() {
                    let (now, before) = (upper[len] + lower[len], before.odd_group());
                    sums[len] += (now - before - before + earlier.odd_group()).magnitude();
                }
            }
        }
        self.temporal.end_row();
    }
}

/// Pairs of two rows of pixels; the last one of rows of odd length stands apart.
#[derive(Clone, Copy)]
struct Pairs<'a, T> {
    upper: &'a [[T; 2]],
    lower: &'a [[T; 2]],
    odd: Option<[[T; 2]; 2]>,
}

impl<'a, T: Paired> Pairs<'a, T> {
    /// The groups `across` of the rows from `y` on. Beyond the picture its last row and column are repeated.
    #[inline(always)]
    fn new(plane: Plane<'a, T>, y: usize, across: &Range<usize>) -> Self {
        let last = plane.height() - 1;
        let columns = 2 * across.start..plane.width().min(2 * across.end);
        let (upper, odd_above) = plane.row(y)[columns.clone()].as_chunks();
        let (lower, odd_below) = plane.row(last.min(y + 1))[columns].as_chunks();
        let odd = if odd_above.is_empty() { None } else { Some([[odd_above[0]; 2], [odd_below[0]; 2]]) };
        Self { upper, lower, odd }.cut(upper.len().min(REACH))
    }

    #[inline(always)]
    fn cut(self, len: usize) -> Self {
        Self { upper: &self.upper[..len], lower: &self.lower[..len], ..self }
    }

    /// The sum of a group.
    #[inline(always)]
    fn group(&self, i: usize) -> T::Word {
        sum(self.upper[i], self.lower[i])
    }

    #[inline(always)]
    fn odd_group(&self) -> T::Word {
        self.odd.map_or(T::Word::default(), |[upper, lower]| sum(upper, lower))
    }
}

/// The sum of a group.
#[inline(always)]
fn sum<T: Paired>(upper: [T; 2], lower: [T; 2]) -> T::Word {
    let ([a, b], [c, d]) = (T::split(upper), T::split(lower));
    (a + b) + (c + d)
}
