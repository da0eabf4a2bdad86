//! Which walls stand around a job, as tried by a job? The program that `kiln doctor --isolation`
//! runs inside real sandboxes.
//!
//! ```text
//!   prober look              tries everything that may be tried in one job
//!   prober plant             leaves something in every place there is
//!   prober hold SECONDS      plants and stays, for a neighbour to look at
//!   prober residue           looks for what `plant` or `hold` left
//!   prober fatal NAME        makes one call that must end the job
//!   prober eat WHAT          takes more of one thing than its limit
//! ```
//!
//! A finding is a line: the property, `held` or `open`, and what was seen, with tabs between. The
//! last line is `done`: whoever reads can tell that nothing is missing. It is static and needs no
//! file of the image, so it runs wherever a sandbox does.
//!
//! # Layout
//!
//! - [`call`]: one raw call, in a process of its own where it may end it
//! - [`refused`]: the calls that must be refused, as a table
//! - [`own`]: what the process is and has
//! - [`files`], [`network`], [`others`]: what it can reach
//! - [`residue`]: what one job may leave for the next
//! - [`eat`]: what takes more than it may

mod call;
mod eat;
mod files;
mod network;
mod others;
mod own;
mod refused;
mod residue;

use std::fmt::Display;
use std::io::Write as _;
use std::process::ExitCode;

/// What came of a look: nothing, or the way that is open.
type Seen = Result<String, String>;

/// A property and its look.
type Look = (&'static str, fn() -> Seen);

/// Every look that bears company in one job.
const LOOKS: [&[Look]; 5] = [
    own::LOOKS,
    refused::LOOKS,
    files::LOOKS,
    network::LOOKS,
    others::LOOKS,
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let told = match words.as_slice() {
        ["look"] => LOOKS
            .iter()
            .flat_map(|looks| looks.iter())
            .all(|(name, look)| tell(name, &look())),
        ["plant"] => tell("residue", &residue::plant()),
        ["hold", seconds] => {
            let held = residue::hold();
            let told = tell("residue", &held.seen);
            residue::stay(seconds.parse().unwrap_or(1));
            told
        }
        ["residue"] => residue::LOOKS
            .iter()
            .all(|(name, look)| tell(name, &look())),
        ["fatal", name] => tell("fatal-calls", &refused::fatal(name)),
        ["eat", what] => tell(what, &eat::eat(what)),
        _ => return ExitCode::from(2),
    };
    if told && put("done") {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Prints a finding; says whether that could be done.
fn tell(name: &str, seen: &Seen) -> bool {
    let (word, text) = match seen {
        Ok(text) => ("held", text),
        Err(text) => ("open", text),
    };
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(300)
        .collect();
    put(&format!("{name}\t{word}\t{text}"))
}

fn put(line: &str) -> bool {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).is_ok()
}

/// What could not be looked at is open: doubt is no wall.
fn unsure(what: impl Display, error: impl Display) -> String {
    format!("cannot tell: {what}: {error}")
}
