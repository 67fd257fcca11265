//! Arguments as GNU getopt_long reads them: `-rFILE`, `-r FILE`, `--reference FILE`, `--reference=FILE`, unique
//! prefixes of long names, options and other words in any order, `--` ends the options.

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
}

/// Reads the arguments behind the program's name. Errors are worded as getopt's, under the program's name.
pub fn parse(args: &[String], opts: &'static [Opt]) -> Result<Vec<Found>, String> {
    let program = args.first().map_or("vmaf", String::as_str);
    let mut rest = args.iter().skip(1).cloned();
    let mut found = Vec::new();
    while let Some(arg) = rest.next() {
        if arg == "--" {
            found.extend(rest.by_ref().map(Found::Word));
        } else if let Some(long) = arg.strip_prefix("--") {
            found.push(long_option(program, long, opts, &mut rest)?);
        } else if let Some(cluster) = arg.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
            short_options(program, cluster, opts, &mut rest, &mut found)?;
        } else {
            found.push(Found::Word(arg));
        }
    }
    Ok(found)
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
) -> Result<(), String> {
    let mut letters = cluster.chars();
    while let Some(letter) = letters.next() {
        let opt = opts
            .iter()
            .find(|opt| opt.short == Some(letter))
            .ok_or_else(|| format!("{program}: invalid option -- '{letter}'"))?;
        if !opt.takes_value {
            found.push(Found::Option(opt.long, None));
            continue;
        }
        let attached = letters.as_str();
        let value = if attached.is_empty() { rest.next() } else { Some(attached.to_owned()) };
        let value = value.ok_or_else(|| format!("{program}: option requires an argument -- '{letter}'"))?;
        found.push(Found::Option(opt.long, Some(value)));
        return Ok(());
    }
    Ok(())
}
