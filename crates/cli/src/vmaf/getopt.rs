//! Arguments as GNU getopt_long reads them: `-rFILE`, `-r FILE`, `--reference FILE`, `--reference=FILE`, unique
//! prefixes of long names, options and other words in any order, `--` ends the options. What cannot be read gets getopt's
//! message, and reading goes on behind it.

/// An option of the command line.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    pub long: &'static str,
    pub short: Option<char>,
    pub takes_value: bool,
}

/// What was found, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// An option by its long name, with its value if it takes one.
    Option(&'static str, Option<String>),
    /// A word that belongs to no option.
    Word(String),
    /// Something that is no option, or an option that lacks its value or has one that it does not take: getopt's message.
    Complaint(String),
}

/// Reads the arguments behind the program's name. Complaints are worded as getopt's, under the program's name.
pub fn parse(args: &[String], opts: &'static [Opt]) -> Vec<Found> {
    let program = args.first().map_or("vmaf", String::as_str);
    let mut rest = args.iter().skip(1).cloned();
    let mut found = Vec::new();
    while let Some(arg) = rest.next() {
        if arg == "--" {
            found.extend(rest.by_ref().map(Found::Word));
        } else if let Some(long) = arg.strip_prefix("--") {
            let option = long_option(program, long, opts, &mut rest);
            found.push(option.unwrap_or_else(Found::Complaint));
        } else if let Some(cluster) = arg.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
            short_options(program, cluster, opts, &mut rest, &mut found);
        } else {
            found.push(Found::Word(arg));
        }
    }
    found
}

fn long_option(
    program: &str,
    text: &str,
    opts: &'static [Opt],
    rest: &mut impl Iterator<Item = String>,
) -> Result<Found, String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let opt = find_long(program, name, opts)?;
    match (opt.takes_value, value) {
        (false, Some(_)) => Err(format!("{program}: option '--{}' doesn't allow an argument", opt.long)),
        (false, None) => Ok(Found::Option(opt.long, None)),
        (true, Some(value)) => Ok(Found::Option(opt.long, Some(value))),
        (true, None) => match rest.next() {
            Some(value) => Ok(Found::Option(opt.long, Some(value))),
            None => Err(format!("{program}: option '--{}' requires an argument", opt.long)),
        },
    }
}

fn find_long(program: &str, name: &str, opts: &'static [Opt]) -> Result<&'static Opt, String> {
    if let Some(exact) = opts.iter().find(|opt| opt.long == name) {
        return Ok(exact);
    }
    let candidates: Vec<&'static Opt> = opts.iter().filter(|opt| opt.long.starts_with(name)).collect();
    match candidates[..] {
        [] => Err(format!("{program}: unrecognized option '--{name}'")),
        [only] => Ok(only),
        _ => {
            let names: String = candidates.iter().map(|opt| format!(" '--{}'", opt.long)).collect();
            Err(format!("{program}: option '--{name}' is ambiguous; possibilities:{names}"))
        }
    }
}

fn short_options(
    program: &str,
    cluster: &str,
    opts: &'static [Opt],
    rest: &mut impl Iterator<Item = String>,
    found: &mut Vec<Found>,
) {
    let mut letters = cluster.chars();
    while let Some(letter) = letters.next() {
        let Some(opt) = opts.iter().find(|opt| opt.short == Some(letter)) else {
            found.push(Found::Complaint(format!("{program}: invalid option -- '{letter}'")));
            continue;
        };
        if !opt.takes_value {
            found.push(Found::Option(opt.long, None));
            continue;
        }
        let attached = letters.as_str();
        let value = if attached.is_empty() { rest.next() } else { Some(attached.to_owned()) };
        found.push(match value {
            Some(value) => Found::Option(opt.long, Some(value)),
            None => Found::Complaint(format!("{program}: option requires an argument -- '{letter}'")),
        });
        return;
    }
}
