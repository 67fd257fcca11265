//! Plain tables.

/// Prints rows with columns as wide as their widest cell; the first column is flush left.
pub fn print(head: &[&str], rows: &[Vec<String>]) {
    let widths: Vec<usize> = (0..head.len())
        .map(|column| rows.iter().map(|row| row[column].len()).chain([head[column].len()]).max().unwrap_or(0))
        .collect();
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    for row in std::iter::once(&head).chain(rows) {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(n, (cell, width))| match n {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        println!("{}", cells.collect::<Vec<_>>().join("  "));
    }
}
