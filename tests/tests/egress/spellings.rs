//! Do spellings, names and answers lead to an address that a job may not reach?

use crate::{World, addresses, said};
use acceptance::outside::Answer;

/// Ways to say 127.0.0.1, 127.0.0.2 or something near it, none of which is a granted name.
const SPELLINGS: &[&str] = &[
    "127.0.0.1",
    "127.0.0.2",
    "127.1",
    "127.2",
    "127.0.1",
    "2130706433",
    "2130706434",
    "0x7f000001",
    "0x7f.0.0.1",
    "0X7F.0x0.0x0.0x2",
    "017700000001",
    "0177.0.0.1",
    "0177.0.0.02",
    "127.0.0.01",
    "0000127.0.0.1",
    "127.0.0.1.",
    "127.0.0.2.",
    "0",
    "0.0.0.0",
    "0.0",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "localhost.localdomain",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::0001]",
    "[::ffff:127.0.0.1]",
    "[::ffff:127.0.0.2]",
    "[::ffff:7f00:1]",
    "[::ffff:7f00:2]",
    "[::127.0.0.2]",
    "[::7f00:2]",
    "[64:ff9b::127.0.0.2]",
    "[64:ff9b::7f00:2]",
    "[64:ff9b:1::7f00:2]",
    "[2002:7f00:2::]",
    "[2001:0:7f00:2::]",
    "[fe80::1%lo]",
    "[fe80::1%25lo]",
    "[::1%lo]",
    "[::1",
    "::1",
    "ok.test.",
    "OK.TEST.",
    "x.ok.test",
    "ok.test@127.0.0.2",
    "127.0.0.2@ok.test",
    "u:p@ok.test",
    "ok.test%00.evil.test",
    "127.0.0.2%00ok.test",
    "%6fk.test",
    "ok.test%2e",
    "ok%2etest",
    "%31%32%37.0.0.2",
    "127%2e0%2e0%2e2",
    "ok.test#@127.0.0.2",
    "127.0.0.2#ok.test",
    "127.0.0.2?ok.test",
    "127.0.0.2\\\\@ok.test",
    "ok.test\\\\.evil.test",
    "\u{2460}\u{2461}\u{2466}.0.0.2",
    "127\u{3002}0\u{3002}0\u{3002}2",
    "\u{ff4f}k.test",
    "o\u{212a}.test",
    "ok\u{ff0e}test",
    "ok.te\u{ad}st",
    "ok.test\u{200b}",
    "0x7f000002.",
    "*.test",
    "ok..test",
    ".ok.test",
    "-ok.test",
    "ok_.test",
    "169.254.169.254",
    "[fd00:ec2::254]",
    "metadata.google.internal",
    "10.0.0.1",
    "192.168.0.1",
    "172.16.0.1",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
];

#[test]
fn no_spelling_reaches_what_is_not_granted() {
    let world = World::new(Vec::new(), "");
    let list = serde_json::json!(SPELLINGS).to_string();
    let run = world.python(
        &format!(
            r#"
import json
for host in json.loads(r'''{list}'''):
    at = f"{{host}}:{{PORT}}"
    both = [
        ask(f"GET http://{{at}}/ HTTP/1.1\r\nHost: {{at}}\r\n\r\n"),
        ask(f"GET http://{{at}}/ HTTP/1.1\r\nHost: ok.test:{{PORT}}\r\n\r\n"),
        ask(f"CONNECT {{at}} HTTP/1.1\r\nHost: {{at}}\r\n\r\n"),
    ]
    print(*[status(one) for one in both], ascii(host))
print(status(get(f"ok.test:{{PORT}}")), "granted")
"#
        ),
        &["ok.test"],
    );
    let text = said(&run);
    let lines: Vec<_> = text.lines().collect();
    assert!(SPELLINGS.len() >= 60);
    assert_eq!(lines.len(), SPELLINGS.len() + 1, "{run:#?}");
    for (line, spelling) in lines.iter().zip(SPELLINGS) {
        let refused = line
            .split(' ')
            .take(3)
            .all(|status| matches!(status, "400" | "403"));
        assert!(refused, "{spelling}: {line}");
    }
    assert_eq!(lines.last(), Some(&"200 granted"));
    assert_eq!(world.site.heard().len(), 1, "{:#?}", world.site.heard());
    assert_eq!(world.canary.heard(), [""; 0]);
}

/// Names that a job was granted, and what their owner answers.
fn tricks() -> Vec<(&'static str, Answer)> {
    let always = |all: &[&str]| Answer::Always(addresses(all));
    let chain = |names: &[&str], all: &[&str]| {
        Answer::Chain(
            names.iter().map(ToString::to_string).collect(),
            addresses(all),
        )
    };
    vec![
        ("loopback.test", always(&["127.0.0.2"])),
        ("far-loopback.test", always(&["127.255.255.254"])),
        ("zero.test", always(&["0.0.0.0"])),
        ("private-a.test", always(&["10.0.0.1"])),
        ("private-b.test", always(&["172.16.0.1"])),
        ("private-c.test", always(&["192.168.0.1"])),
        ("cgnat.test", always(&["100.64.0.1"])),
        ("link.test", always(&["169.254.0.1"])),
        ("metadata.test", always(&["169.254.169.254"])),
        ("azure.test", always(&["168.63.129.16"])),
        ("alibaba.test", always(&["100.100.100.200"])),
        ("oracle.test", always(&["192.0.0.192"])),
        ("documentation.test", always(&["192.0.2.1"])),
        ("benchmark.test", always(&["198.18.0.1"])),
        ("multicast.test", always(&["224.0.0.1"])),
        ("reserved.test", always(&["240.0.0.1"])),
        ("broadcast.test", always(&["255.255.255.255"])),
        ("six-loopback.test", always(&["::1"])),
        ("six-any.test", always(&["::"])),
        ("mapped.test", always(&["::ffff:127.0.0.2"])),
        ("mapped-granted.test", always(&["::ffff:127.0.0.1"])),
        ("compatible.test", always(&["::127.0.0.2"])),
        ("translated.test", always(&["::ffff:0:127.0.0.2"])),
        ("nat64.test", always(&["64:ff9b::127.0.0.2"])),
        ("nat64-local.test", always(&["64:ff9b:1::127.0.0.2"])),
        ("six-to-four.test", always(&["2002:7f00:2::"])),
        ("teredo.test", always(&["2001:0:7f00:2::1"])),
        ("ula.test", always(&["fd00:ec2::254"])),
        ("six-link.test", always(&["fe80::1"])),
        ("site-local.test", always(&["fec0::1"])),
        ("six-multicast.test", always(&["ff02::1"])),
        ("six-documentation.test", always(&["2001:db8::1"])),
        ("mixed.test", always(&["127.0.0.1", "127.0.0.2"])),
        ("mixed-last.test", always(&["127.0.0.2", "127.0.0.1"])),
        ("mixed-six.test", always(&["127.0.0.1", "::1"])),
        (
            "mixed-mapped.test",
            always(&["127.0.0.1", "::ffff:127.0.0.2"]),
        ),
        (
            "chain.test",
            chain(&["a.test", "b.test", "c.test"], &["127.0.0.2"]),
        ),
        ("chain-private.test", chain(&["localhost"], &["127.0.0.2"])),
        (
            "chain-mapped.test",
            chain(&["ok.test"], &["::ffff:127.0.0.2"]),
        ),
        ("circle.test", Answer::Circle),
        ("nothing.test", always(&[])),
    ]
}

#[test]
fn no_answer_of_a_name_server_reaches_what_is_forbidden() {
    let tricks = tricks();
    let known = tricks
        .iter()
        .map(|(name, answer)| ((*name).to_owned(), answer.clone()))
        .collect();
    let world = World::new(known, "");
    let names: Vec<_> = tricks
        .iter()
        .map(|(name, _)| *name)
        .chain(["absent.test"])
        .collect();
    let list = serde_json::json!(names).to_string();
    let granted: Vec<_> = names.iter().copied().chain(["ok.test"]).collect();
    let run = world.python(
        &format!(
            r#"
import json
for name in json.loads('''{list}'''):
    at = f"{{name}}:{{PORT}}"
    print(status(get(at)), status(ask(f"CONNECT {{at}} HTTP/1.1\r\nHost: {{at}}\r\n\r\n")), name)
print(status(get(f"ok.test:{{PORT}}")))
"#
        ),
        &granted,
    );
    let text = said(&run);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), names.len() + 1, "{run:#?}");
    for (line, name) in lines.iter().zip(&names) {
        let wanted = match *name {
            "circle.test" | "nothing.test" | "absent.test" => "502",
            _ => "403",
        };
        assert_eq!(*line, format!("{wanted} {wanted} {name}"));
    }
    assert_eq!(lines.last(), Some(&"200"));
    assert_eq!(world.site.heard().len(), 1, "{:#?}", world.site.heard());
    assert_eq!(world.canary.heard(), [""; 0]);
}

/// The guard bites: what these tests say is forbidden is reached where an operator opens it.
#[test]
fn what_an_operator_opens_is_reached() {
    let always = |all: &[&str]| Answer::Always(addresses(all));
    let known = [
        ("loopback.test", always(&["127.0.0.2"])),
        ("mixed.test", always(&["127.0.0.1", "127.0.0.2"])),
    ];
    let known = known.map(|(name, answer)| (name.to_owned(), answer));
    let mut world = World::new(known.into(), "");
    world.open("127.0.0.0/8");
    let run = world.python(
        "for name in ('loopback.test', 'mixed.test'): print(status(get(f'{name}:{PORT}')))\n",
        &["loopback.test", "mixed.test"],
    );
    assert_eq!(said(&run), "200\n200\n", "{run:#?}");
    assert_eq!(world.canary.heard().len(), 1);
}

#[test]
fn a_name_that_answers_differently_the_second_time_keeps_its_first_answer() {
    let then = |first: &[&str], then: &[&str]| Answer::Then(addresses(first), addresses(then));
    let world = World::new(
        vec![
            (
                "turns.test".to_owned(),
                then(&["127.0.0.1"], &["127.0.0.2"]),
            ),
            (
                "returns.test".to_owned(),
                then(&["127.0.0.2"], &["127.0.0.1"]),
            ),
            (
                "other.test".to_owned(),
                Answer::OfAnother("evil.test".to_owned(), addresses(&["127.0.0.1"])),
            ),
        ],
        "",
    );
    let run = world.python(
        "for name in ['turns.test'] * 5 + ['returns.test'] * 2 + ['other.test']:\n    \
             print(name, status(get(f'{name}:{PORT}')))\n",
        &["turns.test", "returns.test", "other.test"],
    );
    let text = said(&run);
    assert!(
        text.starts_with(&"turns.test 200\n".repeat(5)),
        "{text}\n{run:#?}"
    );
    // What was refused is asked for again, and what is then fit is reached.
    assert!(
        text.contains("returns.test 403\nreturns.test 200\nother.test 502\n"),
        "{text}"
    );
    assert_eq!(world.names.asked("turns.test"), 1, "it is pinned");
    assert_eq!(world.site.heard().len(), 6);
    assert_eq!(world.canary.heard(), [""; 0]);
}
