//! Codec strings as manifests need them (RFC 6381), from the configuration records of a stream.

/// The string for a sample entry. `configuration` finds a box inside the entry.
pub(crate) fn of_sample_entry<'a>(
    fourcc: &[u8; 4],
    configuration: impl Fn(&[u8; 4]) -> Option<&'a [u8]>,
) -> Option<String> {
    match fourcc {
        b"avc1" | b"avc3" => avc(fourcc, configuration(b"avcC")?),
        b"hvc1" | b"hev1" => hevc(fourcc, configuration(b"hvcC")?),
        b"av01" => av1(configuration(b"av1C")?),
        b"vp09" => vp9(configuration(b"vpcC")?),
        b"vvc1" | b"vvi1" => vvc(fourcc, configuration(b"vvcC")?),
        other => Some(String::from_utf8_lossy(other).into_owned()),
    }
}

fn name(fourcc: &[u8; 4]) -> String {
    String::from_utf8_lossy(fourcc).into_owned()
}

/// Profile, compatibility and level, as they stand.
fn avc(fourcc: &[u8; 4], record: &[u8]) -> Option<String> {
    let bytes = record.get(1..4)?;
    Some(format!("{}.{:02X}{:02X}{:02X}", name(fourcc), bytes[0], bytes[1], bytes[2]))
}

/// ISO/IEC 14496-15, E.3.
fn hevc(fourcc: &[u8; 4], record: &[u8]) -> Option<String> {
    let head = *record.get(1)?;
    let space = ["", "A", "B", "C"][usize::from(head >> 6)];
    let compatibility = u32::from_be_bytes(record.get(2..6)?.try_into().ok()?).reverse_bits();
    let tier = if head & 0x20 == 0 { 'L' } else { 'H' };
    let mut text =
        format!("{}.{space}{}.{compatibility:X}.{tier}{}", name(fourcc), head & 0x1f, record.get(12)?);
    let constraints = record.get(6..12)?;
    let used = constraints.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    for byte in &constraints[..used] {
        text.push_str(&format!(".{byte:X}"));
    }
    Some(text)
}

/// AV1 in ISO media, section 5: the parts with defaults are left out where they hold the defaults.
fn av1(record: &[u8]) -> Option<String> {
    let (first, second) = (*record.get(1)?, *record.get(2)?);
    let tier = if second & 0x80 == 0 { 'M' } else { 'H' };
    let (high, twelve) = (second & 0x40 != 0, second & 0x20 != 0);
    let depth = if !high { 8 } else { 10 + 2 * u32::from(twelve && first >> 5 == 2) };
    Some(format!("av01.{}.{:02}{tier}.{depth:02}", first >> 5, first & 0x1f))
}

/// VP codecs in ISO media: profile, level, depth, chroma and colour.
fn vp9(record: &[u8]) -> Option<String> {
    let body = record.get(4..10)?;
    let (depth, chroma, full) = (body[2] >> 4, body[2] >> 1 & 7, body[2] & 1);
    let mut text = format!("vp09.{:02}.{:02}.{depth:02}", body[0], body[1]);
    if (chroma, body[3], body[4], body[5], full) != (1, 1, 1, 1, 0) {
        text.push_str(&format!(".{chroma:02}.{:02}.{:02}.{:02}.{full:02}", body[3], body[4], body[5]));
    }
    Some(text)
}

/// ISO/IEC 14496-15, 11.2.4.2: profile, tier and level follow the head if they are there.
fn vvc(fourcc: &[u8; 4], record: &[u8]) -> Option<String> {
    if record.get(4)? & 1 == 0 {
        return Some(name(fourcc));
    }
    // Output layer set, sublayers, frame rate, chroma and depth take three bytes; constraints come next.
    let at = 8;
    let (profile_tier, level) = (*record.get(at + 1)?, *record.get(at + 2)?);
    let tier = if profile_tier & 1 == 0 { 'L' } else { 'H' };
    Some(format!("{}.{}.{tier}{level}", name(fourcc), profile_tier >> 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_known_streams() {
        assert_eq!(avc(b"avc1", &[1, 0x64, 0, 0x28]).unwrap(), "avc1.640028");
        // Main profile, level 3.1, progressive and frame-only.
        let main = [1, 1, 0x60, 0, 0, 0, 0xb0, 0, 0, 0, 0, 0, 93];
        assert_eq!(hevc(b"hvc1", &main).unwrap(), "hvc1.1.6.L93.B0");
        let main10 = [1, 0x22, 0x20, 0, 0, 0, 0x90, 0, 0, 0, 0, 0, 120];
        assert_eq!(hevc(b"hev1", &main10).unwrap(), "hev1.2.4.H120.90");
        assert_eq!(av1(&[0x81, 0x08, 0x0c, 0]).unwrap(), "av01.0.08M.08");
        assert_eq!(av1(&[0x81, 0x0d, 0x4c, 0]).unwrap(), "av01.0.13M.10");
        assert_eq!(vp9(&[1, 0, 0, 0, 0, 31, 0x82, 1, 1, 1]).unwrap(), "vp09.00.31.08");
        assert_eq!(vp9(&[1, 0, 0, 0, 2, 10, 0xa2, 9, 16, 9]).unwrap(), "vp09.02.10.10.01.09.16.09.00");
    }

    #[test]
    fn short_records_give_nothing() {
        for length in 0..4 {
            let record = vec![1u8; length];
            assert_eq!((avc(b"avc1", &record), hevc(b"hvc1", &record), vp9(&record)), (None, None, None));
        }
    }
}
