//! Is a secret found in every disguise, and nothing else taken for one?

#![expect(clippy::format_collect, reason = "short texts, built once")]

use super::super::decode::to_base64;
use super::{Own, check};
use crate::{Budget, Limits, Notes};

pub(super) fn rules(view: &[u8]) -> Vec<&'static str> {
    let mut notes = Notes::default();
    check(view, &mut notes, &mut Budget::new(Limits::default())).expect("small");
    notes
        .findings()
        .iter()
        .map(|finding| finding.rule)
        .collect()
}

/// Tokens of nobody, put together here so that no scanner of repositories takes them for real.
#[expect(clippy::too_many_lines, reason = "a table")]
fn tokens() -> Vec<(&'static str, String)> {
    let key = "MIIEpAIBALXU02ykH6Ff3dyOht2ZRyTF4MDMX4tmEU/aKeUe/wGD1hxGtklz5SgK\n";
    vec![
        ("secrets.aws", format!("{}{}", "AKIA", "4R3V6VFDI6LFAEBL")),
        ("secrets.aws", format!("{}{}", "ASIA", "4R3V6VFDI6LFAEBL")),
        (
            "secrets.github",
            format!("{}{}", "ghp_", "op6FasrEF582wWhLUSQWhnSCynAd8U1lWSRy"),
        ),
        (
            "secrets.github",
            format!(
                "{}{}",
                "github_pat_", "11AQWEFGR0qKd8sW2mZxPv_7hN3bYcRtUeJgLkQwErTyUiOpAsDfGhJkLzXcVbNm12"
            ),
        ),
        (
            "secrets.gitlab",
            format!("{}{}", "glpat-", "x7Kq2mZ9wLp4Rt8VbN3c"),
        ),
        (
            "secrets.slack",
            format!(
                "{}{}",
                "xoxb-", "362669510879-545550164408-ErdFu1TBVDL4J1GokGczqmum"
            ),
        ),
        (
            "secrets.stripe",
            format!("{}{}", "sk_live_", "oaY1INkDNi8s7yjvvq1a4jmq"),
        ),
        (
            "secrets.google",
            format!("{}{}", "AIza", "SyD3kq9ZxP2mW7vLr8TbN4cYhJ6gFeQaU1s"),
        ),
        (
            "secrets.anthropic",
            format!(
                "{}{}",
                "sk-ant-api03-",
                "Bahe6KCojtzwd3uv4Pg5TKqgFo5_DOoNtI1HocaVxhPufedHFdL9-RlzwSlVsUy7W5Sk"
            ),
        ),
        (
            "secrets.openai",
            format!(
                "{}{}",
                "sk-proj-", "Bahe6KCojtzwd3uv4Pg5TKqgFo5DOoNtI1HocaVxhPufedHFdL9"
            ),
        ),
        (
            "secrets.jwt",
            format!(
                "{}.{}.{}",
                "eyJhbGciOiAiSFMyNTYiLCAidHlwIjogIkpXVCJ9",
                "eyJzdWIiOiAiMjEwNTI5Njc3MSJ9",
                "WmBcBA24hwdps0fYGwDksQ4bUt0PH1WknjjwJRnYe58"
            ),
        ),
        (
            "secrets.private_key",
            format!("-----BEGIN RSA {} KEY-----\n{key}{key}", "PRIVATE"),
        ),
        (
            "secrets.private_key",
            format!(
                "-----BEGIN OPENSSH {} KEY-----\\n{}\\n",
                "PRIVATE",
                key.trim()
            ),
        ),
        (
            "secrets.private_key",
            format!(
                "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\n{key}"
            ),
        ),
        (
            "secrets.connection",
            format!("postgres://app:{}@db.internal:5432/app", "Us06AlPM7Qzy22UD"),
        ),
        (
            "secrets.connection",
            format!("mongodb+srv://u:{}@c.invalid", "k9Xw27Lq"),
        ),
        (
            "secrets.assignment",
            format!(
                "aws_secret_access_key={}",
                "Sjw8pDs6jvJ8UxDfL46KFbM8tzzxNjGvYMx6YlTT"
            ),
        ),
        (
            "secrets.assignment",
            format!("\"api_key\": \"{}\"", "q7Zx2Lp9Vb4Kt8Rm3Wc6Yd1N"),
        ),
        (
            "secrets.azure",
            format!(
                "AccountName=x;AccountKey={}==",
                "Sjw8pDs6jvJ8UxDfL46KFbM8tzzxNjGvYMx6YlTTq7Zx2Lp9Vb4Kt8Rm3Wc6Yd1NBahe6KCojtzwd3uv4Pg5TK"
            ),
        ),
    ]
}

#[test]
fn tokens_are_found_in_every_view() {
    for (rule, token) in tokens() {
        let line = format!("some text, {token}\nmore text\n");
        let wide: Vec<u8> = line.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = line.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let hex: String = line.bytes().map(|b| format!("{b:02x}")).collect();
        let percent: String = line.bytes().map(|b| format!("%{b:02X}")).collect();
        let base64 = to_base64(line.as_bytes(), false);
        let twice = to_base64(&base64, true);
        let wider: Vec<u8> = line
            .chars()
            .flat_map(|c| u32::from(c).to_le_bytes())
            .collect();
        let bigger: Vec<u8> = line
            .chars()
            .flat_map(|c| u32::from(c).to_be_bytes())
            .collect();
        let base32 = super::codings_tests::base32(line.as_bytes());
        let small = base32.to_ascii_lowercase();
        let lines: Vec<u8> = base64
            .chunks(76)
            .flat_map(|line| [line, b"\n"].concat())
            .collect();
        let in_bytes = [&[0, 1, 2, 0xff, 0][..], line.as_bytes(), &[0; 9]].concat();
        for view in [
            line.clone().into_bytes(),
            wide,
            big,
            wider,
            bigger,
            base32,
            small,
            hex.into_bytes(),
            percent.into_bytes(),
            base64,
            twice,
            lines,
            in_bytes,
        ] {
            assert!(
                rules(&view).contains(&rule),
                "{rule}: {}",
                view.escape_ascii()
            );
        }
    }
}

#[test]
fn stand_ins_and_data_are_left_alone() {
    for text in [
        "Use your own key, not AKIAIOSFODNN7EXAMPLE and `wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY`.",
        ">seq\nACCAGTTACCAGTTGACCATGACCAGTTACCAGTTGACC\nAKIAVLLLWWQPSTRAAGHK\n",
        "DB_PASSWORD=\nAPI_KEY=<your key here>\nAWS_SECRET_ACCESS_KEY=${AWS_SECRET}\nTOKEN=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
        "password = os.environ['DB_PASSWORD']\napi_key = get_secret('api_key')\n",
        "-----BEGIN PUBLIC KEY-----\nLqLtJnvg6BwjjWVi+32JDiMoLiwhD3MRbZ9FGNxs63eiw5iMkWzDupWjn6fDm+J3\n-----END PUBLIC KEY-----\n",
        "commit 3ae44402b1c5d6e7f8091a2b3c4d5e6f70819200\nsha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n",
        "postgres://user:password@localhost/db http://a.invalid:8080/x@y mailto:a@b.invalid",
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----\n",
        "token = tokenizer.convert_tokens_to_ids(tokenizer.eos_token)\n",
        "next_token: Optional[TokenInfo20] = self.tokens[-1]\n",
    ] {
        assert_eq!(rules(text.as_bytes()), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn the_jobs_own_secrets_are_found_in_every_form() {
    let secret = "s3cr:t/ü+value";
    let own = Own::new(&[b"other-secret".as_slice(), secret.as_bytes(), b"tiny"]).expect("few");
    assert_eq!(own.short, 1);
    let count = |view: &[u8]| {
        let mut notes = Notes::default();
        own.check(view, &mut notes, &mut Budget::new(Limits::default()))
            .expect("small");
        assert!(
            notes
                .findings()
                .iter()
                .all(|finding| !finding.message.contains("s3cr"))
        );
        notes.findings().len()
    };
    for pad in 0..5 {
        let text = format!("{}{secret}{}", "p".repeat(pad), "tail");
        for view in [
            text.clone().into_bytes(),
            to_base64(text.as_bytes(), false),
            to_base64(text.as_bytes(), true),
            text.bytes()
                .map(|b| format!("{b:02x}"))
                .collect::<String>()
                .into_bytes(),
            text.bytes()
                .map(|b| format!("{b:02X}"))
                .collect::<String>()
                .into_bytes(),
            text.bytes()
                .map(|b| format!("%{b:02x}"))
                .collect::<String>()
                .into_bytes(),
            b"s3cr%3At%2F%C3%BC%2Bvalue".to_vec(),
        ] {
            assert!(count(&view) > 0, "{}", view.escape_ascii());
        }
    }
    assert_eq!(count(b"nothing of the kind"), 0);
}

#[test]
fn no_view_panics() {
    let all: Vec<u8> = tokens()
        .iter()
        .flat_map(|(_, token)| [token.as_bytes(), b"%41\0a\0"].concat())
        .collect();
    for at in (0..all.len()).step_by(3) {
        rules(&all[at..all.len().min(at + 200)]);
    }
}

/// What is too short for a run of its own, or just long enough, amid what has none.
#[test]
fn the_shortest_are_found_wherever_they_stand() {
    let shortest = [
        ("secrets.assignment", "passwd = \"aB3dE5gH7jK9\"".to_owned()),
        (
            "secrets.header",
            format!("Authorization: Basic {}", "Oms5WHcyN0xx"),
        ),
        (
            "secrets.flutterwave",
            format!("FLWSECK_TEST-{}", "0a1b2c3d4e5f"),
        ),
        ("secrets.connection", format!("x://:{}@h", "k9Xw27Lq")),
        ("secrets.connection", format!("h:5432:d:u:{}", "k9Xw27Lq")),
    ];
    for (rule, text) in shortest {
        for at in (0..20).chain(240..270).chain(500..520) {
            let view = format!("{}{text}{}", "1, ".repeat(at), " 2,".repeat(200));
            assert_eq!(rules(view.as_bytes()), [rule], "{text} at {at}");
        }
    }
}

#[test]
fn escapes_before_a_token_and_within_it_hide_nothing() {
    let token = format!("{}{}", "ghp_", "op6FasrEF582wWhLUSQWhnSCynAd8U1lWSRy");
    let hex: String = token.bytes().map(|b| format!("\\x{b:02x}")).collect();
    for text in [
        format!("key \x1b[1m{token}\x1b[0m"),
        format!("{{\"log\": \"key \\u001b[1;31m{token}\\u001b[0m\"}}"),
        format!("'\\x1b[1m{token}' '\\033[1m' ^[[1m"),
        format!("^[[1m{token}"),
        format!("\x1b[01;31m\x1b[Kghp_\x1b[m\x1b[K{}", &token[4..]),
        format!("\"\\u001b[31mghp_\\u001b[0m{}\"", &token[4..]),
        format!("key: \"{hex}\""),
    ] {
        assert!(rules(text.as_bytes()).contains(&"secrets.github"), "{text}");
    }
    let pair = String::from_utf8(to_base64(b"bob:Us06AlPM7Qzy22UD", false)).expect("ASCII");
    let long = "q7Zx2Lp9Vb4Kt8Rm3Wc6Yd1NhJ";
    for (rule, text) in [
        (
            "secrets.slack",
            r"https:\/\/hooks.slack.com\/services\/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"
                .to_owned(),
        ),
        (
            "secrets.connection",
            r"postgres:\/\/bob:Us06AlPM7Qzy22UD@db.invalid\/app".to_owned(),
        ),
        (
            "secrets.header",
            format!("{{\"auths\":{{\"r.invalid\":{{\"auth\":\"{pair}\"}}}}}}"),
        ),
        ("secrets.header", format!(r#""{{\"auth\":\"{pair}\"}}""#)),
        ("secrets.header", format!("authorization: bearer {long}")),
        ("secrets.header", format!("AUTHORIZATION:BASIC {pair}")),
        (
            "secrets.header",
            format!("{{'Authorization': 'Bearer {long}'}}"),
        ),
    ] {
        assert!(rules(text.as_bytes()).contains(&rule), "{text}");
    }
}

#[test]
fn digests_and_words_of_manuals_are_left_alone() {
    let digest = "3ae44402b1c5d6e7f8091a2b3c4d5e6f";
    for text in [
        format!("restored cache-key-{digest}"),
        format!(
            "\"secret_hash\": \"{digest}\", token_sha={digest}{digest} tokenSha256: {digest}{digest}"
        ),
        "Authorization: Bearer <your token>, \"Authorization\": \"Bearer $TOKEN\"".to_owned(),
        "\x1b[32mok\x1b[0m \x1b[1mmodel\x1b[0m_key \\u001b[1mghp_\\u001b[0m".to_owned(),
    ] {
        assert_eq!(rules(text.as_bytes()), Vec::<&str>::new(), "{text}");
    }
    let key = format!("api_key={digest} key-{digest}");
    assert_eq!(
        rules(key.as_bytes()),
        ["secrets.mailgun", "secrets.assignment"]
    );
}

#[test]
fn tokens_of_more_services_are_found() {
    let (hex, word) = ("4f1b7a9c0e83d265b7f0a91c3d48e625", "q7Rk2mZ9wLp4TxVb");
    let (long, up) = (word.repeat(5), "abcdefgh12345678");
    for text in [
        format!("{}{}", "tskey-auth-", &long[..30]),
        format!("{}{}", "AVNS_", &long[..20]),
        format!("SK{hex}"),
        format!("{}{hex}", "sk-"),
        format!("{hex}-us12"),
        format!("abc8Q~{}", &long[..34]),
        format!("{}AZDO{}", &long[..76], &up[..4]),
        format!("bob:500:{hex}:{hex}:::"),
        format!("bob:$y$j9T${}${}", &long[..22], &long[..43]),
        format!("client = Client('AC{hex}', '{hex}')"),
        format!("<D>{long}</D>"),
        format!("my_{}{}", "ghp_", "op6FasrEF582wWhLUSQWhnSCynAd8U1lWSRy"),
        format!("token{}{}", "ghp_", "op6FasrEF582wWhLUSQWhnSCynAd8U1lWSRy"),
    ] {
        assert!(!rules(text.as_bytes()).is_empty(), "{text}");
    }
    for text in [
        format!("task-{hex}"),
        format!("disk_{hex}"),
        format!("{hex}-user"),
        format!("SK{hex}0"),
        "8Q~".to_owned(),
        format!("{hex}:{hex}"),
    ] {
        assert!(rules(text.as_bytes()).is_empty(), "{text}");
    }
    let packed = {
        use std::io::Write as _;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        let text = format!("{}{}", "ghp_", "op6FasrEF582wWhLUSQWhnSCynAd8U1lWSRy");
        packer.write_all(text.as_bytes()).expect("to memory");
        packer.finish().expect("to memory")
    };
    assert_eq!(rules(&to_base64(&packed, false)), ["secrets.github"]);
}

#[test]
fn json_in_base64_without_a_secret_is_none() {
    let token = |json: &str| {
        format!(
            "TOKEN=\"{}\"",
            String::from_utf8_lossy(&to_base64(json.as_bytes(), true))
        )
    };
    let plain = token(r#"{"session_id": "default"}  "#);
    assert!(rules(plain.as_bytes()).is_empty(), "{plain}");
    let secret = token(r#"{"session_id": "q7Zr2Xv9LmT4kPw8"}  "#);
    assert_eq!(rules(secret.as_bytes()), ["secrets.assignment"]);
}

#[test]
fn no_text_is_left_out_for_what_stands_before_it() {
    let token = format!("{}{}  ", "ghp_", "op6FasrEF582wWhLUSQWhnSCynAd8U1lWSRy");
    let hidden = String::from_utf8_lossy(&to_base64(token.as_bytes(), false)).into_owned();
    let prose = "some words of prose, a line of them\n".repeat(500_000);
    let text = format!("%41%41%41%41\n{prose}{hidden}\n");
    let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
    budget.packed(text.len() as u64);
    check(text.as_bytes(), &mut notes, &mut budget).expect("within the limits");
    assert_eq!(notes.findings()[0].rule, "secrets.github");
}
