//! The wire format of Protocol Buffers: fields with numbers.

/// A field's value. Numbers of fixed width are not looked into.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Fixed,
}

impl<'a> Value<'a> {
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub fn text(self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }
}

/// A field as it stands in its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub number: u64,
    pub value: Value<'a>,
    /// The bytes of the whole field, with its tag.
    pub whole: &'a [u8],
}

/// What is wrong with a message.
pub(super) type Malformed = &'static str;

/// All fields of a message.
pub(super) fn fields(mut rest: &[u8]) -> impl Iterator<Item = Result<Field<'_>, Malformed>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = field(&mut rest);
        if field.is_err() {
            rest = &[];
        }
        Some(field)
    })
}

fn field<'a>(rest: &mut &'a [u8]) -> Result<Field<'a>, Malformed> {
    let start = *rest;
    let tag = varint(rest)?;
    let value = match tag & 7 {
        0 => Value::Number(varint(rest)?),
        1 => fixed(rest, 8)?,
        2 => {
            let length = varint(rest)?;
            let length = usize::try_from(length).ok().filter(|length| *length <= rest.len());
            Value::Bytes(take(rest, length.ok_or("a field is longer than the file")?))
        }
        5 => fixed(rest, 4)?,
        _ => return Err("a field has an unknown type"),
    };
    Ok(Field { number: tag >> 3, value, whole: &start[..start.len() - rest.len()] })
}

fn fixed<'a>(rest: &mut &'a [u8], width: usize) -> Result<Value<'a>, Malformed> {
    if rest.len() < width {
        return Err("it ends within a number");
    }
    take(rest, width);
    Ok(Value::Fixed)
}

/// The caller has checked that there are so many bytes.
fn take<'a>(rest: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, left) = rest.split_at(length);
    *rest = left;
    taken
}

fn varint(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let mut number = 0u64;
    for shift in (0..70).step_by(7) {
        let (byte, left) = rest.split_first().ok_or("it ends within a number")?;
        *rest = left;
        number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err("a number is too long")
}

/// Writes a number as the wire has it.
pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes a field of bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    put_varint(out, number << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
