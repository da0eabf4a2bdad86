//! Does a job meet the network that another left, and only where nothing was done in it?

use acceptance::batch::{self, Batch, sandbox, text};
use serde_json::Value;

/// The job's network namespace, after whatever it did there.
fn network(batch: &mut Batch, id: &str, code: &str) -> (Value, String) {
    let code = format!("import os, socket\n{code}\nprint(os.readlink('/proc/self/ns/net'))");
    let outcome = batch.run(&batch::python(id, &code));
    assert_eq!(outcome["status"], "succeeded", "{outcome:#}");
    let name = text(&outcome, "stdout").to_owned();
    (outcome, name)
}

#[test]
fn a_network_serves_the_next_job_until_one_uses_it() {
    let mut batch = Batch::start(1, &[]);
    let (first, unused) = network(&mut batch, "first", "");
    let (second, again) = network(&mut batch, "second", "");
    assert_eq!(sandbox(&first).0, sandbox(&second).0, "one sandbox");
    assert_eq!(unused, again, "nothing was done in it");
    let send =
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.sendto(b'x', ('127.0.0.1', 9))";
    let connect = "l = socket.create_server(('127.0.0.1', 0))\n\
                   c = socket.create_connection(l.getsockname())\nc.close()";
    let six = "l = socket.create_server(('::1', 0), family=socket.AF_INET6)\n\
               c = socket.create_connection(l.getsockname()[:2])";
    // Told from a new one by what the job sees: no packet, no socket, no port that still waits.
    let look = "dev = open('/proc/net/dev').read().split('lo:')[1].split()\n\
                assert set(dev) == {'0'}, dev\n\
                assert len(open('/proc/net/tcp').readlines()) == 1";
    for (id, used) in [("send", send), ("connect", connect), ("six", six)] {
        network(&mut batch, id, used);
        network(&mut batch, &format!("{id}-after"), look);
    }
    let ended = batch.end();
    assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
}
