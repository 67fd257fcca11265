//! Where banding was found, and how strong it is.

/// Columns that are measured together. Groups begin at multiples of this.
pub const GROUP: usize = 16;

/// The strengths of a picture, group by group; groups without any banding are left out.
#[derive(Clone, Debug)]
pub struct Strengths {
    values: Vec<[f32; GROUP]>,
    /// Row and group of the values.
    places: Vec<(u16, u16)>,
}

impl Strengths {
    /// Memory for pictures of up to this size.
    pub fn new(width: usize, height: usize) -> Self {
        let groups = width.div_ceil(GROUP) * height;
        Self { values: Vec::with_capacity(groups), places: Vec::with_capacity(groups) }
    }

    /// Begins a picture.
    pub fn clear(&mut self) {
        self.values.clear();
        self.places.clear();
    }

    /// Takes the strengths of those columns of a group that have a bit in `inside`. Rows come from top to bottom, groups from
    /// left to right.
    #[inline(always)]
    pub fn put(&mut self, y: usize, group: usize, inside: u16, strengths: &[f32; GROUP]) {
        let place = (y as u16, group as u16);
        if self.places.last() != Some(&place) {
            self.places.push(place);
            self.values.push([0.0; GROUP]);
        }
        let Some(values) = self.values.last_mut() else { return };
        // All of them are read before one is written, so that there is nothing to branch for.
        let mut chosen = *values;
        for lane in 0..GROUP {
            let inside = u32::from(inside) & 1 << lane != 0;
            chosen[lane] = if inside { strengths[lane] } else { chosen[lane] };
        }
        *values = chosen;
    }

    /// All that are not zero, some zeros among them.
    pub fn values(&self) -> &[f32] {
        self.values.as_flattened()
    }

    /// Puts the strengths at their places in a picture of zeros. Groups may reach over its right edge.
    pub fn spread(&self, width: usize, plane: &mut [f32]) {
        for (values, (y, group)) in self.values.iter().zip(&self.places) {
            let row = &mut plane[usize::from(*y) * width..][..width];
            let part = &mut row[usize::from(*group) * GROUP..];
            part.iter_mut().zip(values).for_each(|(out, value)| *out = *value);
        }
    }
}
