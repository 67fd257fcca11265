//! How large a message from a client may be: in bytes, and in the values that it holds.
//!
//! A short text can stand for much memory: `{"":0},` is seven bytes, and a map of its own once it is parsed. Values are
//! therefore counted before anything is parsed.

use visus_engine::model::json_values;

/// The longest message, in bytes.
pub const LONGEST: usize = 4 << 20;
/// The values of one message, at most. Two rate curves of a thousand points each are the largest that make sense.
pub const MOST_VALUES: usize = 16_384;

/// Refuses a message with too many values, in words that name the limit.
pub fn check_values(message: &[u8]) -> Result<(), String> {
    if json_values(message) <= MOST_VALUES {
        return Ok(());
    }
    Err(format!("the message holds more than {MOST_VALUES} values, which is the limit"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
