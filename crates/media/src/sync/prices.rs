//! What edits cost, as the logarithm of how rare they are.

/// What edits cost.
#[derive(Clone, Copy, Debug)]
pub struct Prices {
    /// Frames of the reference are left out.
    pub drop: f32,
    /// A frame is shown twice.
    pub double: f32,
    /// Either of these, where the pictures repeat themselves.
    pub copy: f32,
    /// Something else is shown for a while, and back at another offset.
    pub insert: f32,
    pub back: f32,
    /// A frame without counterpart that looks as if it had one, and one that does not.
    pub alone: f32,
    pub foreign: f32,
    /// The former, before the first or behind the last frame of the reference.
    pub beyond: f32,
    /// The videos do not begin, or do not end, together.
    pub begin: f32,
    pub end: f32,
}

impl Prices {
    /// Nothing is known beside the pictures.
    pub const OPEN: Self = Self {
        drop: 9.0,
        double: 9.0,
        copy: 5.0,
        insert: 9.0,
        back: 4.5,
        alone: 4.0,
        foreign: 0.1,
        beyond: 1.0,
        begin: 5.0,
        end: 3.0,
    };

    /// Frames are dropped or doubled all the time. It costs [`Prices::BUSY_ONCE`] to assume that.
    pub const BUSY: Self = Self { drop: 2.5, double: 2.5, copy: 1.5, ..Self::OPEN };
    pub const BUSY_ONCE: f32 = 24.0;

    /// Lengths and times agree, so that nothing was edited: several times as much evidence is asked for, and not quite as
    /// much to begin looking for more of it.
    pub fn strict(watching: bool) -> Self {
        let times = if watching { 3.0 } else { 7.0 };
        let Self { drop, double, copy, insert, back, alone, foreign, beyond, begin, end } = Self::OPEN;
        let [drop, double, copy, insert, back, begin, end] =
            [drop, double, copy, insert, back, begin, end].map(|price| times * price);
        Self { drop, double, copy, insert, back, alone, foreign, beyond, begin, end }
    }

    /// The way goes on from a pair; it does not begin.
    pub fn going_on(self) -> Self {
        Self { begin: self.drop, ..self }
    }

    /// More frames may follow on both sides.
    pub fn open_ended(self) -> Self {
        Self { end: 0.0, ..self }
    }
}
