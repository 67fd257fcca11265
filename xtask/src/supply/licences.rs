//! Licence expressions (SPDX) and whether a list of licences satisfies them.

/// The licences that `deny.toml` allows.
pub fn allowed(deny: &str) -> Vec<String> {
    let list = deny.split_once("[licenses]").and_then(|(_, rest)| rest.split_once("allow = ["));
    let list = list.and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether an expression can be satisfied with allowed licences: `OR` and the old `/` leave a choice, `AND` does not.
pub fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words, allowed };
    let fits = parser.any();
    fits && parser.words.is_empty()
}

struct Parser<'a> {
    words: &'a [&'a str],
    allowed: &'a [String],
}

impl Parser<'_> {
    fn next(&mut self, word: &str) -> bool {
        let there = self.words.first() == Some(&word);
        if there {
            self.words = &self.words[1..];
        }
        there
    }

    fn any(&mut self) -> bool {
        let mut fits = self.all();
        while self.next("OR") {
            fits |= self.all();
        }
        fits
    }

    fn all(&mut self) -> bool {
        let mut fits = self.one();
        while self.next("AND") {
            fits &= self.one();
        }
        fits
    }

    fn one(&mut self) -> bool {
        if self.next("(") {
            let fits = self.any();
            return self.next(")") && fits;
        }
        let Some((name, rest)) = self.words.split_first() else { return false };
        self.words = rest;
        let mut name = (*name).to_owned();
        if self.next("WITH") {
            let exception = self.words.first().copied().unwrap_or_default();
            self.words = self.words.get(1..).unwrap_or_default();
            name = format!("{name} WITH {exception}");
        }
        self.allowed.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        for good in [
            "MIT",
            "MIT OR GPL-3.0",
            "MIT/Apache-2.0",
            "(MIT OR GPL-3.0) AND Apache-2.0",
            "Apache-2.0 WITH LLVM-exception OR X",
        ] {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT)", "Apache-2.0 WITH Other", "MIT GPL-3.0"]
        {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn the_list_is_read_from_the_file() {
        let text = "[licenses]\nversion = 2\nallow = [\n    \"MIT\",\n    \"ISC\",\n]\n[bans]\n";
        assert_eq!(allowed(text), ["MIT", "ISC"]);
    }
}
