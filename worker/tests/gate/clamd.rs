//! What becomes of a file when a clamd is asked too, and it is dead, slow or talks nonsense?

use super::{Folder, file, gate};
use artifact_scanner::Verdict;
use kiln::config::ClamdAddress;
use kiln::screen::table::Fate;
use kiln::screen::{GateOptions, Outputs};
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

const CLAMD: &str = "/usr/sbin/clamd";

/// Screens a harmless file beside a clamd that reads everything and says this.
async fn beside(answer: Option<&'static [u8]>) -> (Verdict, Fate, String) {
    let folder = Folder::new();
    let path = folder.0.join("clamd.ctl");
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

/// The daemon of Debian's `clamav-daemon`, with one signature of our own: `needle` anywhere.
#[tokio::test]
async fn a_real_clamd_is_asked() {
    let folder = Folder::new();
    let (socket, config) = (folder.0.join("clamd.ctl"), folder.0.join("clamd.conf"));
    let signature = "Kiln.Test.Needle:0:*:6e6565646c655f696e5f686179\n";
    std::fs::write(folder.0.join("own.ndb"), signature).expect("scratch");
    let text = format!(
        "LocalSocket {}\nDatabaseDirectory {}\nForeground yes\nAlertExceedsMax yes\n\
         StreamMaxLength 1M\nUser root\n",
        socket.display(),
        folder.0.display(),
    );
    std::fs::write(&config, text).expect("scratch");
    let mut daemon = Command::new(CLAMD)
        .arg("--config-file")
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{CLAMD} of `clamav-daemon` is needed: {error}"));
    let up = async {
        while UnixStream::connect(&socket).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let up = tokio::time::timeout(Duration::from_mins(1), up).await;
    let gate = gate(GateOptions {
        clamd: Some(ClamdAddress::Unix(socket)),
        ..GateOptions::default()
    });
    let large = b"a,b\n1,2\n".repeat(200_000);
    let files = vec![
        file("a.csv", b"1,2\n"),
        file("b.csv", b"needle_in_hay,2\n"),
        file("c.csv", &large),
    ];
    let screened = gate
        .screen(Outputs::of([b"", b""], files, Vec::new()))
        .await;
    daemon.kill().expect("ours");
    daemon.wait().expect("ours");
    up.expect("clamd listens");
    let cleared = screened.expect("it is scanned");
    let said: Vec<_> = cleared
        .files()
        .map(|(path, word, _)| (path, word.verdict(), word.why()))
        .collect();
    assert_eq!(
        (said[0].1, said[1].1),
        (Verdict::Clean, Verdict::Malicious),
        "{said:?}"
    );
    assert!(said[1].2.contains("Kiln.Test.Needle"), "{said:?}");
    // It is larger than what this clamd takes; that it says so may be lost on the way.
    assert_eq!(said[2].1, Verdict::Unscannable, "{said:?}");
    assert!(said[2].2.contains("clamd gave no verdict"), "{said:?}");
}
