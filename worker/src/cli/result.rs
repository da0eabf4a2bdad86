//! `kiln result`: what became of a job, as the store has it?

use super::exit::Exit;
use super::stop::Stop;
use super::unkept::store_stop_at;
use super::{config, escape, summary, withheld};
use crate::config::Store;
use crate::report::whose;
use crate::store::StoreError;
use crate::store::ledger::{Ledger, let_out};
use crate::telemetry::metric::Metrics;
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::outcome::Outcome;
use serde::Deserialize;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

/// Print the outcome of a job from the store.
///
/// The exit code is 0 where there is one, whatever it says; 1 where there is none, or where it is
/// another tenant's; 69 where the store is away.
#[derive(Debug, clap::Args)]
pub(super) struct ResultArgs {
    /// The job
    #[arg(value_name = "ID")]
    id: JobId,
    /// Print the outcome as it is stored, byte for byte
    #[arg(long)]
    json: bool,
    /// Only where it is a job of this tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
}

/// Finds the outcome and prints it.
pub(super) fn run(args: &ResultArgs) -> Result<Exit, Stop> {
    let config = config::load(args.config.as_deref())?;
    let failed = |error| store_stop_at(&config.store, &error);
    let ledger = Ledger::open_to_read(&config.store, Metrics::new()).map_err(failed)?;
    let runtime = super::runtime()?;
    let found = runtime.block_on(find(&ledger, &args.id, args.tenant.as_ref()));
    let Some(document) = found.map_err(failed)? else {
        let line = format!("there is no result of `{}`", args.id);
        return Err(Stop::new(Exit::Failed, vec![line]));
    };
    let text = if args.json {
        document
    } else {
        let text = readable(&document, &args.id, &config.store).map_err(failed)?;
        let since = runtime.block_on(out_since(&ledger, &document));
        (text + &since.map_err(failed)?).into_bytes()
    };
    let mut stdout = io::stdout().lock();
    stdout.write_all(&text).map_err(|e| Stop::output(&e))?;
    if args.json && stdout.is_terminal() {
        stdout.write_all(b"\n").map_err(|e| Stop::output(&e))?;
    }
    stdout.flush().map_err(|e| Stop::output(&e))?;
    Ok(Exit::Succeeded)
}

/// The outcome's bytes; `None` where there are none, or none that this tenant may see.
async fn find(
    ledger: &Ledger,
    id: &JobId,
    tenant: Option<&Tenant>,
) -> Result<Option<Vec<u8>>, StoreError> {
    if let Some(tenant) = tenant {
        // Of a job that was refused nothing says whose it was: nobody's, then.
        let Some(job) = ledger.job(id).await? else {
            return Ok(None);
        };
        if !belongs_to(&job, tenant) {
            return Ok(None);
        }
    }
    let found = ledger.result(id).await?;
    let shown =
        found.filter(|bytes| tenant.is_none_or(|tenant| !whose::is_anothers(bytes, tenant)));
    Ok(shown.map(|bytes| bytes.to_vec()))
}

/// What was withheld then, and was let out by an operator since: a line for each, with its place.
async fn out_since(ledger: &Ledger, document: &[u8]) -> Result<String, StoreError> {
    let Ok(outcome) = serde_json::from_slice::<Outcome>(document) else {
        return Ok(String::new());
    };
    let withheld = withheld::all(&outcome);
    if withheld.is_empty() {
        return Ok(String::new());
    }
    // A copy names what another job made.
    let job = outcome.duplicate_of.as_ref().unwrap_or(&outcome.job_id);
    let out = ledger.out(job).await?;
    let lines = withheld.into_iter().filter_map(|(name, object)| {
        let place = let_out(&object).filter(|place| out.contains(place))?;
        let line = format!("let out since: {name}, as `{place}`");
        Some(format!("kiln: {}\n", escape::name(&line)))
    });
    Ok(lines.collect())
}

/// The one field of a job's document that is asked for here.
#[derive(Deserialize)]
struct Owned {
    #[serde(default)]
    tenant: Tenant,
}

fn belongs_to(job: &[u8], tenant: &Tenant) -> bool {
    serde_json::from_slice::<Owned>(job).is_ok_and(|owned| owned.tenant == *tenant)
}

fn readable(document: &[u8], id: &JobId, store: &Store) -> Result<String, StoreError> {
    let outcome: Outcome =
        serde_json::from_slice(document).map_err(|source| StoreError::Document {
            key: format!("results/{id}.json"),
            source,
        })?;
    let place = match store {
        Store::Files(path) => path.clone(),
        Store::S3(s3) => PathBuf::from(format!("s3://{}", s3.bucket)).join(&s3.prefix),
    };
    Ok(summary::render(&outcome, &place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::scratch::Folder;
    use crate::report::answer::Unrun;

    fn id() -> JobId {
        "j-1".parse().expect("an id")
    }

    fn store(dir: &Folder) -> Store {
        let root = dir.path();
        let outcome = Outcome::from(Unrun::expired(id(), 1_500, "w")).to_json();
        for (folder, text) in [("jobs", r#"{"tenant":"acme"}"#), ("results", &outcome)] {
            std::fs::create_dir(root.join(folder)).expect("scratch");
            std::fs::write(root.join(folder).join("j-1.json"), text).expect("scratch");
        }
        Store::Files(root.to_owned())
    }

    fn found(store: &Store, id: &JobId, tenant: Option<&str>) -> Option<Vec<u8>> {
        let runtime = crate::cli::runtime().expect("a runtime");
        let ledger = Ledger::open_to_read(store, Metrics::new()).expect("it is there");
        let tenant = tenant.map(|text| text.parse().expect("a tenant"));
        runtime
            .block_on(find(&ledger, id, tenant.as_ref()))
            .expect("it can be read")
    }

    #[test]
    fn another_tenants_result_is_unknown() {
        let dir = Folder::new();
        let store = store(&dir);
        assert!(found(&store, &id(), None).is_some());
        assert!(found(&store, &id(), Some("acme")).is_some());
        assert!(found(&store, &id(), Some("default")).is_none());
        assert!(found(&store, &"j-2".parse().expect("an id"), None).is_none());
        std::fs::remove_file(dir.path().join("jobs/j-1.json")).expect("scratch");
        assert!(
            found(&store, &id(), Some("acme")).is_none(),
            "whose it was is not known"
        );
    }

    #[test]
    fn a_job_without_a_tenant_is_the_defaults() {
        assert!(belongs_to(b"{}", &Tenant::default()));
        assert!(!belongs_to(b"nonsense", &Tenant::default()));
    }

    #[test]
    fn reading_makes_nothing() {
        let dir = Folder::new();
        let store = store(&dir);
        let text = found(&store, &id(), None).expect("there");
        let text = readable(&text, &id(), &store).expect("an outcome");
        assert!(text.starts_with("kiln: expired (deadline): the deadline passed 1.5 s before"));
        let names = std::fs::read_dir(dir.path()).expect("there");
        assert_eq!(names.count(), 2, "jobs and results");
        let absent = Store::Files(dir.path().join("absent"));
        let error = Ledger::open_to_read(&absent, Metrics::new()).expect_err("absent");
        assert_eq!(store_stop_at(&absent, &error).report(), Exit::Unavailable);
        assert!(!dir.path().join("absent").exists());
        std::fs::write(dir.path().join("file"), "").expect("scratch");
        for wrong in [dir.path().join("file"), "/proc/kiln".into()] {
            let wrong = Store::Files(wrong);
            let error = Ledger::open_to_read(&wrong, Metrics::new()).expect_err("no folder");
            assert_eq!(store_stop_at(&wrong, &error).report(), Exit::Config);
        }
    }
}
