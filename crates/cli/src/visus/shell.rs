//! Completions and the man page, from the same definition as the help.

use anyhow::Result;
use clap::CommandFactory;

use super::args::Args;
use super::score::print_all;

pub fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "visus", &mut text);
    print_all(&String::from_utf8_lossy(&text))
}

pub fn man() -> Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Args::command()).render(&mut text)?;
    for command in Args::command().get_subcommands() {
        let title = format!("visus-{}", command.get_name());
        clap_mangen::Man::new(command.clone()).title(title).render(&mut text)?;
    }
    print_all(&String::from_utf8_lossy(&text))
}
