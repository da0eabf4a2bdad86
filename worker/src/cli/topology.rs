//! `kiln topology`: what must the broker hold, does it, and can it be made to?

use super::exit::Exit;
use super::link::{LinkArgs, print};
use super::stop::Stop;
use crate::intake::amqp::connect::close;
use crate::intake::amqp::declare::{Findings, inspect};
use clap::Subcommand;
use kiln_protocol::topology::Topology;
use serde_json::json;

/// Print, make or check the exchanges and queues that Kiln needs.
#[derive(Debug, clap::Args)]
pub(super) struct TopologyArgs {
    #[command(subcommand)]
    command: TopologyCommand,
}

#[derive(Debug, Subcommand)]
enum TopologyCommand {
    /// Print the definitions, for `rabbitmqctl import_definitions`; no broker is asked
    Print(LinkArgs),
    /// Make what is missing; what differs is told and left alone (exit 78)
    Apply(LinkArgs),
    /// Say what is missing or differs, a line each (exit 78)
    ///
    /// Comparing takes the right to configure: what may not be looked at is told (exit 69).
    /// Bindings are not looked at: the protocol has no question for them.
    Check(LinkArgs),
}

pub(super) fn run(args: &TopologyArgs) -> Result<Exit, Stop> {
    match &args.command {
        TopologyCommand::Print(link) => definitions(link),
        TopologyCommand::Apply(link) => look(link, true),
        TopologyCommand::Check(link) => look(link, false),
    }
}

fn definitions(link: &LinkArgs) -> Result<Exit, Stop> {
    let place = link.place()?;
    let definitions = Topology::new(&place.tenants).definitions(place.vhost());
    if link.json {
        print(&definitions.to_string())?;
    } else {
        print(&format!("{definitions:#}"))?;
    }
    Ok(Exit::Succeeded)
}

fn look(link: &LinkArgs, create: bool) -> Result<Exit, Stop> {
    let place = link.place()?;
    let found = super::runtime()?.block_on(async {
        let connection = place.connect().await?;
        let topology = Topology::new(&place.tenants);
        let found = inspect(&connection, &topology, create).await;
        close(&connection).await;
        found.map_err(|error| place.failed(error))
    })?;
    tell(&found, link.json)?;
    Ok(exit(&found))
}

/// What was not looked at is not right.
fn exit(found: &Findings) -> Exit {
    if !found.differences.is_empty() {
        Exit::Config
    } else if !found.unseen.is_empty() {
        Exit::Unavailable
    } else {
        Exit::Succeeded
    }
}

fn tell(found: &Findings, as_json: bool) -> Result<(), Stop> {
    let Findings {
        differences,
        made,
        unseen,
    } = found;
    if as_json {
        let all = json!({"differences": differences, "made": made, "unseen": unseen});
        return print(&all.to_string());
    }
    for line in made {
        print(&format!("made {line}"))?;
    }
    for line in unseen {
        print(&format!("{line} was not looked at: this user may not"))?;
    }
    for line in differences {
        print(line)?;
    }
    if exit(found) == Exit::Succeeded {
        print("ok")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_looked_at_is_not_right() {
        let mut found = Findings::default();
        assert_eq!(exit(&found), Exit::Succeeded);
        found.unseen.push("queue `q`".to_owned());
        assert_eq!(exit(&found), Exit::Unavailable);
        found.differences.push("queue `r` is missing".to_owned());
        assert_eq!(exit(&found), Exit::Config);
    }
}
