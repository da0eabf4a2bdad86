//! Does any message make the decoder panic, or accept a job that it would not accept again?

mod profiles;

use kiln_protocol::decode;
use profiles::{Profiles, admission};
use serde_json::Value;
use std::path::Path;

const ROUNDS: usize = 300;

/// Pieces that a message may turn on.
const PIECES: [&str; 16] = [
    "null",
    "-1",
    "1e400",
    "[]",
    "{}",
    "\"\"",
    "..",
    "/",
    "\\u0000",
    "true",
    "0.5",
    "18446744073709551616",
    "\"text\":\"\",",
    "\u{7f}",
    "{\"a\":",
    "]",
];

#[test]
fn no_mutation_of_an_example_surprises() {
    let profiles = Profiles::default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let (mut taken, mut refused) = (0, 0);
    for kind in ["valid", "invalid"] {
        for entry in std::fs::read_dir(folder.join(kind)).expect("examples") {
            let text = std::fs::read(entry.expect("an entry").path()).expect("an example");
            let example: Value = serde_json::from_slice(&text).expect("JSON");
            // A refused job stands beside its refusal.
            let job = example.get("job").unwrap_or(&example);
            for _ in 0..ROUNDS {
                let message = mutate(job.to_string().into_bytes(), &mut dice);
                match decode(&message, &admission(&profiles)) {
                    Err(_) => refused += 1,
                    Ok(accepted) => {
                        taken += 1;
                        let json = accepted.job.to_json();
                        let again = decode(json.as_bytes(), &admission(&profiles))
                            .unwrap_or_else(|rejection| panic!("{}: {json}", rejection.main));
                        assert_eq!(again.job, accepted.job);
                    }
                }
            }
        }
    }
    assert!(
        taken > 100 && refused > 1_000,
        "{taken} taken, {refused} refused"
    );
}

fn mutate(mut message: Vec<u8>, dice: &mut Dice) -> Vec<u8> {
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(message.len());
        match dice.roll(4) {
            0 => message[at] = u8::try_from(dice.roll(256)).expect("below 256"),
            1 => message.truncate(at.max(1)),
            2 => {
                let end = (at + dice.roll(16)).min(message.len());
                message.drain(at..end);
            }
            _ => {
                let piece = PIECES[dice.roll(PIECES.len())];
                message.splice(at..at, piece.bytes());
            }
        }
        if message.is_empty() {
            message.push(b'{');
        }
    }
    message
}

/// A xorshift generator: the same throws on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).expect("below a usize")
    }
}
