//! A socket that talks clamd's protocol, and everything that can go wrong with one.

use super::*;
use crate::cli::scratch::Folder;
use artifact_scanner::Verdict;
use tokio::net::UnixListener;

/// What the other side does with a question.
#[derive(Clone, Copy, Debug)]
enum Play {
    /// Reads all of it, and says this.
    Says(&'static [u8]),
    /// Says this at once, and closes.
    Breaks(&'static [u8]),
    Silent,
    Away,
}

/// What our side makes of it; what was sent is compared where it was read.
async fn asked(play: Play) -> Option<Word> {
    let dir = Folder::new();
    let path = dir.path().join("clamd.ctl");
    let content = b"1,2\n".repeat(400_000);
    let file = File::from(memfd::sealed("file", &content).expect("memfd"));
    let mut clamd = Clamd::new(ClamdAddress::Unix(path.clone()));
    clamd.wait = Duration::from_millis(300);
    let listener = match play {
        Play::Away => None,
        _ => Some(UnixListener::bind(&path).expect("scratch")),
    };
    let size = content.len() as u64;
    let serve = async {
        let Some(listener) = listener else { return };
        let (mut socket, _) = listener.accept().await.expect("ours");
        match play {
            Play::Says(answer) => {
                assert_eq!(received(&mut socket).await, content);
                socket.write_all(answer).await.expect("ours");
            }
            Play::Breaks(answer) => socket.write_all(answer).await.expect("ours"),
            Play::Silent | Play::Away => std::future::pending().await,
        }
    };
    let word = clamd.word(&file, size);
    tokio::pin!(word);
    tokio::select! {
        word = &mut word => word,
        () = serve => word.await,
    }
}

/// The bytes of one `INSTREAM`.
async fn received(socket: &mut UnixStream) -> Vec<u8> {
    let mut word = [0; 10];
    socket.read_exact(&mut word).await.expect("a command");
    assert_eq!(&word, b"zINSTREAM\0");
    let mut all = Vec::new();
    loop {
        let length = socket.read_u32().await.expect("a length");
        if length == 0 {
            return all;
        }
        let from = all.len();
        all.resize(from + usize::try_from(length).expect("small"), 0);
        socket.read_exact(&mut all[from..]).await.expect("a chunk");
    }
}

#[tokio::test]
async fn only_the_exact_answer_has_nothing_against_it() {
    assert_eq!(asked(Play::Says(b"stream: OK\0")).await, None);
    let found = asked(Play::Says(b"stream: Eicar-Test FOUND\0")).await;
    let found = found.expect("it says something");
    assert_eq!(found.verdict(), Verdict::Malicious);
    assert_eq!(found.why(), "clamd knows it as `Eicar-Test`");
    // It cannot have seen what it had not read.
    let hasty = asked(Play::Breaks(b"stream: OK\0")).await;
    assert_eq!(hasty.map(|word| word.verdict()), Some(Verdict::Unscannable));
    let odd: [&[u8]; 12] = [
        b"",
        b"\0",
        b"stream: OK",
        b"stream: OK\0\0",
        b"stream: OK\n\0",
        b" stream: OK\0",
        b"STREAM: OK\0",
        b"stream: OK stream: OK\0",
        b"stream:  FOUND\0",
        b"INSTREAM size limit exceeded. ERROR\0",
        b"stream: Can't allocate memory ERROR\0",
        b"\xff\xfe\0",
    ];
    for answer in odd {
        for play in [Play::Says(answer), Play::Breaks(answer)] {
            let word = asked(play).await.expect("it is no answer");
            assert_eq!(word.verdict(), Verdict::Unscannable, "{play:?}");
            assert_eq!(word.reason(), Some("engine_error"), "{play:?}");
        }
    }
}

#[tokio::test]
async fn one_that_is_away_or_silent_is_no_answer() {
    let silent = asked(Play::Silent).await.expect("it says nothing");
    assert_eq!(silent.reason(), Some("timeout"));
    let away = asked(Play::Away).await.expect("it is not there");
    assert_eq!(away.reason(), Some("engine_error"));
    assert!(
        away.why()
            .contains("clamd gave no verdict: failed to connect")
    );
}
