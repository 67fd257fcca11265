//! How large a message from a client may be: in bytes, and in the values that it holds.
//!
//! A short text can stand for much memory: `{"":0},` is seven bytes, and a map of its own once it is parsed. Values are
//! therefore counted before anything is parsed.

/// The longest message, in bytes.
pub const LONGEST: usize = 4 << 20;
/// The values of one message, at most. Two rate curves of a thousand points each are the largest that make sense.
pub const MOST_VALUES: usize = 16_384;

/// Refuses a message with too many values, in words that name the limit.
pub fn check_values(message: &[u8]) -> Result<(), String> {
    if values(message) <= MOST_VALUES {
        return Ok(());
    }
    Err(format!("the message holds more than {MOST_VALUES} values, which is the limit"))
}

/// The number of values and keys that a JSON text can hold at most: one more than what separates and begins them. Where the text
/// is no JSON, the number means nothing; parsing will say so.
fn values(message: &[u8]) -> usize {
    let (mut in_text, mut escaped, mut count) = (false, false, 1);
    for byte in message {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b':' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (text, count) in [
            ("", 1),
            ("1", 1),
            (r#"{"a":1}"#, 3),
            (r#"[1,2,3]"#, 4),
            (r#"{"a,[{:":"b\",[","c":[]}"#, 6),
            (r#""\\","#, 2),
        ] {
            assert_eq!(values(text.as_bytes()), count, "{text}");
        }
    }

    #[test]
    fn what_explodes_is_refused_and_long_texts_are_not() {
        for bomb in [r#"{"":0},"#, "[],", "0,", r#""","#] {
            let message = format!("[{}0]", bomb.repeat(MOST_VALUES));
            let refused = check_values(message.as_bytes()).unwrap_err();
            assert!(refused.contains("16384"), "{refused}");
        }
        let points = vec![serde_json::json!({ "kbps": 1, "quality": 2 }); 1000];
        let curves = serde_json::json!({ "anchor": points, "test": points }).to_string();
        assert_eq!(check_values(curves.as_bytes()), Ok(()));
        assert_eq!(check_values(format!(r#"{{"a":"{}"}}"#, "[,".repeat(1 << 20)).as_bytes()), Ok(()));
    }
}
