//! What becomes of a file when a clamd is asked too, and it is dead, slow or talks nonsense?

use super::{file, gate};
use artifact_scanner::Verdict;
use kiln::config::ClamdAddress;
use kiln::screen::table::Fate;
use kiln::screen::{GateOptions, Outputs};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixListener;

/// Screens a harmless file beside a clamd that reads everything and says this.
async fn beside(answer: Option<&'static [u8]>) -> (Verdict, Fate, String) {
    let folder = std::env::temp_dir().join(format!("kiln-clamd-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder).expect("scratch");
    let path = folder.join("clamd.ctl");
    let listener = UnixListener::bind(&path).expect("scratch");
    let serve = async move {
        let (mut socket, _) = listener.accept().await.expect("ours");
        let Some(answer) = answer else { return };
        let mut seen = Vec::new();
        while !seen.ends_with(&[0, 0, 0, 0]) {
            assert!(socket.read_buf(&mut seen).await.expect("ours") > 0);
        }
        socket.write_all(answer).await.expect("ours");
    };
    let served = tokio::spawn(serve);
    let gate = gate(GateOptions {
        clamd: Some(ClamdAddress::Unix(path)),
        ..GateOptions::default()
    });
    let files = vec![file("a.csv", b"1,2\n")];
    let screened = gate
        .screen(Outputs::of([b"", b""], files, Vec::new()))
        .await;
    let cleared = screened.expect("it is scanned");
    served.await.expect("it served");
    std::fs::remove_dir_all(&folder).expect("scratch");
    let (_, word, fate) = cleared.files().next().expect("one file");
    (word.verdict(), fate, word.why())
}

#[tokio::test]
async fn a_harmless_file_leaves_only_if_both_say_so() {
    let (verdict, fate, _) = beside(Some(b"stream: OK\0")).await;
    assert_eq!((verdict, fate), (Verdict::Clean, Fate::Release));
    let (verdict, fate, why) = beside(Some(b"stream: Win.Test FOUND\0")).await;
    assert_eq!((verdict, fate), (Verdict::Malicious, Fate::Withhold));
    assert!(why.contains("Win.Test"), "{why}");
    for odd in [
        None,
        Some(&b"stream: OK"[..]),
        Some(b"\0"),
        Some(b"UNKNOWN COMMAND\0"),
    ] {
        let (verdict, fate, why) = beside(odd).await;
        assert_eq!((verdict, fate), (Verdict::Unscannable, Fate::Withhold));
        assert!(why.contains("clamd gave no verdict"), "{why}");
    }
}
