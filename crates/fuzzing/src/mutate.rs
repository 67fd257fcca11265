//! Changes of inputs.

/// Numbers that look random.
#[derive(Debug)]
pub struct Dice(u64);

/// Numbers at the edges of their types, in both byte orders, and texts that many parsers stumble over.
const WORDS: [&[u8]; 14] = [
    b"\0",
    b"\xff",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x80\0\0\0",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"-1",
    b"1e999",
    b"99999999999999999999",
    b"\"",
    b"[{\"",
    b"null",
    b"\r\n",
];

impl Dice {
    /// The same numbers in every run, or others in every run.
    pub fn new(target: &str, fresh: bool) -> Self {
        let seed = target.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let time = now.map_or(0, |now| now.as_nanos() as u64);
        Self(if fresh { seed ^ time } else { seed })
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    /// One of the inputs with a few changes.
    pub fn changed(&mut self, inputs: &[Vec<u8>], words: &[&[u8]], longest: usize) -> Vec<u8> {
        // The newest ones are the least known.
        let from = if self.below(2) == 0 { inputs.len().saturating_sub(8) } else { 0 };
        let mut input = inputs[from + self.below(inputs.len() - from)].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut input, inputs, words);
        }
        input.truncate(longest);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, inputs: &[Vec<u8>], words: &[&[u8]]) {
        let at = self.below(input.len() + 1);
        let end = (at + self.below(40)).min(input.len());
        match self.below(9) {
            0 => input.truncate(at),
            1 => drop(input.drain(at..end)),
            2 => input.extend_from_within(at..end),
            3 if at < input.len() => input[at] ^= 1 << self.below(8),
            4 if at < input.len() => input[at] = self.below(256) as u8,
            5 => drop(input.splice(at..at, self.word(words).iter().copied())),
            6 => drop(input.splice(at..end, self.word(words).iter().copied())),
            7 => self.splice(input, at, inputs),
            _ => drop(input.splice(at..at, [self.below(256) as u8])),
        }
    }

    fn word<'a>(&mut self, words: &[&'a [u8]]) -> &'a [u8] {
        match self.below(words.len() + WORDS.len()) {
            own if own < words.len() => words[own],
            other => WORDS[other - words.len()],
        }
    }

    /// Goes on with a piece of another input.
    fn splice(&mut self, input: &mut Vec<u8>, at: usize, inputs: &[Vec<u8>]) {
        let other = &inputs[self.below(inputs.len())];
        let from = self.below(other.len() + 1);
        let to = (from + self.below(200)).min(other.len());
        drop(input.splice(at..at, other[from..to].iter().copied()));
    }
}
