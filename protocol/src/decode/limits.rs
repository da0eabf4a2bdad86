//! Which limits does a job ask for, and which are then in force?

use crate::fields::{Fields, Report};
use crate::limits::{LimitName, LimitRequest, LimitTable, LimitUnit, Limits, cpus};

/// What the job asks for, and what is in force where the profile is known and allows it.
pub(super) fn read(
    fields: &mut Fields,
    table: Option<&LimitTable>,
    report: &mut Report,
) -> (LimitRequest, Option<Limits>) {
    let mut request = LimitRequest::default();
    if let Some(mut limits) = fields.object("limits", report) {
        for name in LimitName::ALL {
            let field = name.wire_name();
            let asked = match name.unit() {
                LimitUnit::Cpus => limits.number(field, "a number of CPUs", report, |number| {
                    cpus::milli(number.as_f64()?)
                }),
                LimitUnit::Duration | LimitUnit::Size | LimitUnit::Count => {
                    limits.integer(field, report)
                }
            };
            if let Some(value) = asked {
                request.set(name, value);
            }
        }
        limits.finish(report);
    }
    let Some(table) = table else {
        return (request, None);
    };
    match table.resolve(&request) {
        Ok(limits) => (request, Some(limits)),
        Err(refusals) => {
            for refusal in refusals {
                report.refuse(refusal);
            }
            (request, None)
        }
    }
}
