//! Text from outside inside markup: the one function that every XML, SVG and HTML of the project goes through.

/// Text for XML and HTML, attributes included. Control characters that XML cannot hold become U+FFFD.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_escapes() {
        assert_eq!(escape("<a href='x'>&\"\n\0"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&#10;\u{fffd}");
        assert_eq!(escape("größe 漢字"), "größe 漢字");
    }
}
