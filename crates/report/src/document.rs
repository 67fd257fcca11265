//! A page of paragraphs, tables and charts: no script and nothing from elsewhere, so it can be mailed.
//!
//! Everything that is added is text and is escaped here; only charts, which this crate draws itself, go in as they are.

use crate::escape::escape;

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    pub text: String,
    /// What stands behind it in small letters.
    pub small: String,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), small: String::new() }
    }
}

impl Cell {
    pub fn with_small(text: impl Into<String>, small: impl Into<String>) -> Self {
        Self { text: text.into(), small: small.into() }
    }

    fn html(&self, tag: &str) -> String {
        let small = match self.small.as_str() {
            "" => String::new(),
            small => format!(" <small>{}</small>", escape(small)),
        };
        format!("<{tag}>{}{small}</{tag}>", escape(&self.text))
    }
}

/// A page in the making.
#[derive(Clone, Debug)]
pub struct Document {
    title: String,
    body: String,
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:1180px;margin:2rem auto;padding:0 1rem;color:#1b1f24;\
    background:#fff}svg{max-width:100%;height:auto}table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto;\
    font-variant-numeric:tabular-nums}td,th{padding:.3rem .7rem;border-bottom:1px solid #dde1e6;text-align:right;\
    white-space:nowrap}td:first-child,th:first-child,td:last-child,th:last-child{text-align:left}small,.soft{color:#5b636d}\
    .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(340px,1fr));gap:1rem}.error{color:#b42318}\
    @media(prefers-color-scheme:dark){body{background:#16181c;color:#eceff3}td,th{border-color:#343a42}\
    small,.soft{color:#a3abb5}.error{color:#f97066}}";

impl Document {
    pub fn new(title: &str) -> Self {
        Self { title: escape(title), body: String::new() }
    }

    pub fn heading(mut self, text: &str) -> Self {
        self.body.push_str(&format!("<h2>{}</h2>\n", escape(text)));
        self
    }

    pub fn paragraph(mut self, text: &str) -> Self {
        self.body.push_str(&format!("<p>{}</p>\n", escape(text)));
        self
    }

    /// A remark that may be passed over.
    pub fn remark(mut self, text: &str) -> Self {
        self.body.push_str(&format!("<p class=\"soft\">{}</p>\n", escape(text)));
        self
    }

    /// Something that went wrong, and with what.
    pub fn error(mut self, what: &str, reason: &str) -> Self {
        self.body.push_str(&format!("<p class=\"error\"><b>{}</b>: {}</p>\n", escape(what), escape(reason)));
        self
    }

    /// Charts of this crate, side by side where there is space.
    pub fn charts(mut self, svgs: impl IntoIterator<Item = String>) -> Self {
        let all: String = svgs.into_iter().collect();
        self.body.push_str(&format!("<div class=\"charts\">\n{all}</div>\n"));
        self
    }

    pub fn table<R: AsRef<[Cell]>>(mut self, columns: &[&str], rows: &[R]) -> Self {
        let row = |cells: &[Cell], tag: &str| {
            format!("<tr>{}</tr>\n", cells.iter().map(|cell| cell.html(tag)).collect::<String>())
        };
        let names: Vec<Cell> = columns.iter().map(|name| Cell::from(*name)).collect();
        let body: String = rows.iter().map(|cells| row(cells.as_ref(), "td")).collect();
        let head = row(&names, "th");
        self.body.push_str(&format!("<table><thead>{head}</thead>\n<tbody>\n{body}</tbody></table>\n"));
        self
    }

    /// The whole page.
    pub fn html(&self) -> String {
        let Self { title, body } = self;
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<meta name=\"viewport\" \
             content=\"width=device-width,initial-scale=1\">\n<style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n{body}\
             </body></html>\n"
        )
    }
}

/// A page with a chart and a table.
pub fn chart_and_table(title: &str, svg: &str, columns: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<Cell>> = rows.iter().map(|row| row.iter().map(Cell::from).collect()).collect();
    Document::new(title).charts([svg.to_owned()]).table(columns, &rows).html()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let rows = [[Cell::from("<b>"), Cell::with_small("1", "[<0>, 2]")]];
        let page = Document::new("a & b")
            .heading("<h>")
            .paragraph("<p>")
            .remark("<r>")
            .error("<e>", "\"why\"")
            .table(&["<c>", "d"], &rows)
            .charts(["<svg></svg>".to_owned()])
            .html();
        for part in [
            "<title>a &amp; b</title>",
            "<h1>a &amp; b</h1>",
            "<h2>&lt;h&gt;</h2>",
            "<p>&lt;p&gt;</p>",
            "<p class=\"soft\">&lt;r&gt;</p>",
            "<b>&lt;e&gt;</b>: &quot;why&quot;",
            "<th>&lt;c&gt;</th><th>d</th>",
            "<td>&lt;b&gt;</td><td>1 <small>[&lt;0&gt;, 2]</small></td>",
            "<div class=\"charts\">\n<svg></svg></div>",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }
}
