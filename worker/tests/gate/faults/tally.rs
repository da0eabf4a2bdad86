//! What came of the faults, kind by kind: how many struck, and whether the gate held?

use super::order::Fault;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Things that went wrong that are told in full.
const TOLD_MAX: usize = 20;

/// What came of one round, or of all of a kind.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// Faults that struck: a scan, a check or a write broke off by it.
    pub(super) struck: u64,
    /// Tries that met nobody; they are tried again, and count for nothing.
    pub(super) missed: u64,
    /// Scans, checks by clamd and writes that did not come to their end.
    pub(super) broke_off: u64,
    pub(super) files: u64,
    /// Of these, the ones of which no scan finished, and that say so.
    pub(super) unscannable: u64,
    /// The ones that are let out although no scan of theirs can have finished.
    pub(super) clean: u64,
    /// The ones without a word or a place, or with other bytes there.
    pub(super) lost: u64,
    /// What is neither, and wrong.
    pub(super) wrong: u64,
    told: Vec<String>,
}

impl Row {
    pub(super) fn clean(&mut self, what: String) {
        self.clean += 1;
        self.told.push(what);
    }

    pub(super) fn lost(&mut self, what: String) {
        self.lost += 1;
        self.told.push(what);
    }

    pub(super) fn wrong(&mut self, what: String) {
        self.wrong += 1;
        self.told.push(what);
    }

    fn add(&mut self, other: &Self) {
        self.struck += other.struck;
        self.missed += other.missed;
        self.broke_off += other.broke_off;
        self.files += other.files;
        self.unscannable += other.unscannable;
        self.clean += other.clean;
        self.lost += other.lost;
        self.wrong += other.wrong;
    }

    fn line(&self, name: &str) -> String {
        format!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} |\n",
            self.struck,
            self.missed,
            self.broke_off,
            self.files,
            self.unscannable,
            self.clean,
            self.lost
        )
    }
}

/// All rounds so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    rows: BTreeMap<Fault, Row>,
    told: Vec<String>,
}

impl Tally {
    pub(super) fn add(&mut self, number: u64, fault: Fault, mut round: Row) {
        self.rows.entry(fault).or_default().add(&round);
        let told = round.told.drain(..).map(|what| {
            let kind = fault.told();
            format!("round {number}, {kind}: {what}")
        });
        self.told.extend(told);
        self.told.truncate(TOLD_MAX);
    }

    /// That of others who did some of the rounds.
    pub(super) fn join(&mut self, other: Self) {
        for (fault, row) in other.rows {
            self.rows.entry(fault).or_default().add(&row);
        }
        self.told.extend(other.told);
        self.told.truncate(TOLD_MAX);
    }

    pub(super) fn sum(&self) -> Row {
        let mut sum = Row::default();
        self.rows.values().for_each(|row| sum.add(row));
        sum
    }

    /// A row for each kind, and one for all.
    pub(super) fn table(&self) -> String {
        let mut text = "| fault | struck | missed | broke off | files | unscannable \
            | clean without a finished scan | lost |\n|---|---|---|---|---|---|---|---|\n"
            .to_owned();
        for (fault, row) in &self.rows {
            text += &row.line(fault.told());
        }
        text + &self.sum().line("all")
    }

    /// Ends the test where anything was clean, lost or wrong.
    pub(super) fn assert_held(&self) {
        let sum = self.sum();
        let mut told = String::new();
        for what in &self.told {
            writeln!(told, "  {what}").expect("a text takes it");
        }
        assert_eq!(
            (sum.clean, sum.lost, sum.wrong),
            (0, 0, 0),
            "clean without a finished scan, lost, otherwise wrong:\n{told}"
        );
    }
}

#[test]
fn one_clean_file_among_many_ends_the_test() {
    let mut tally = Tally::default();
    for number in 0..40 {
        let round = Row {
            struck: 1,
            files: 4,
            ..Row::default()
        };
        tally.add(number, Fault::Kill, round);
    }
    tally.assert_held();
    let mut round = Row::default();
    round.clean("`b.com` is clean".to_owned());
    tally.add(41, Fault::Stop, round);
    assert!(
        tally
            .table()
            .ends_with("| all | 40 | 0 | 0 | 160 | 0 | 1 | 0 |\n")
    );
    let caught = std::panic::catch_unwind(|| tally.assert_held()).expect_err("it is told");
    let told = caught.downcast_ref::<String>().expect("words");
    assert!(told.contains("round 41, SIGSTOP: `b.com`"), "{told}");
}
