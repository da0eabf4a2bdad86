//! Is a word said somewhere in a text, in whatever clothes?
//!
//! A log that prints bytes as numbers, or in base64, tells what it must not tell as well as one that prints them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The lines of a text in which a word is said: plain, in hex, in base64, or as a list of its bytes.
pub fn lines_with<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let forms = forms(word);
    let said = |line: &&str| {
        let lower = line.to_lowercase();
        forms.iter().any(|form| match form {
            Form::AnyCase(form) => lower.contains(form),
            Form::Exact(form) => line.contains(form),
        })
    };
    text.lines().filter(said).collect()
}

enum Form {
    AnyCase(String),
    Exact(String),
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

fn forms(word: &str) -> Vec<Form> {
    let word = word.to_lowercase();
    let bytes = word.as_bytes();
    let list = |between: &str| {
        let numbers: Vec<_> = bytes.iter().map(u8::to_string).collect();
        numbers.join(between)
    };
    let mut all = vec![
        Form::AnyCase(word.clone()),
        Form::AnyCase(hex(bytes)),
        Form::Exact(list(", ")),
        Form::Exact(list(",")),
    ];
    // Where it stands among other bytes, base64 writes it in one of three ways; what hangs over at both ends is not its own.
    all.extend((0..3).map(|before| {
        let padded: Vec<u8> = std::iter::repeat_n(0, before)
            .chain(bytes.iter().copied())
            .collect();
        let text = STANDARD_NO_PAD.encode(&padded);
        let (from, over) = (
            [0, 2, 3][before],
            usize::from(!padded.len().is_multiple_of(3)),
        );
        Form::Exact(text[from..text.len() - over].to_owned())
    }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_whatever_it_wears() {
        let word = "marker";
        let among = b"{\"stdin\":\"a marker-stdin of a job\"}";
        for shift in 0..3 {
            let text = STANDARD_NO_PAD.encode(&among[shift..]);
            assert_eq!(
                lines_with(&text, word),
                [text.as_str()],
                "base64, {shift} less"
            );
        }
        for said in [
            "{\"message\":\"a MARKER-output\"}".to_owned(),
            format!("{among:?}"),
            serde_json::to_string(&among.to_vec()).expect("a list"),
            hex(among).to_uppercase(),
            "a\\u001b[2Jmarker-input".to_owned(),
        ] {
            assert_eq!(lines_with(&said, word).len(), 1, "{said}");
        }
    }

    #[test]
    fn another_word_is_not() {
        let text = "{\"event\":\"job.done\",\"asked\":{\"program_sha256\":\"6d61726b\"}}\nmark her\n109, 97, 114\n";
        assert!(lines_with(text, "marker").is_empty());
    }
}
