//! Whom does `worker.user` name?

use kiln_warden::confine::User;
use std::fs::File;
use std::io::Read as _;

/// Where this machine's users are listed.
const PASSWD: &str = "/etc/passwd";
/// Bytes of it that are read.
const PASSWD_BYTES_MAX: u64 = 1 << 20;

/// A user of this machine by name, or by number, whose group has the same number then. `base` is
/// the first uid of sandboxes.
pub(super) fn user(text: &str, base: u32) -> Result<User, String> {
    let user = if let Ok(uid) = text.parse::<u32>() {
        User { uid, gid: uid }
    } else {
        let list = read().map_err(|error| format!("`{PASSWD}` cannot be read: {error}"))?;
        named(&list, text).ok_or_else(|| {
            format!(
                "no user of this machine is named `{text}`; make one by `useradd --system {text}`"
            )
        })?
    };
    if user.uid == 0 || user.gid == 0 {
        return Err(format!("`{text}` is root; leave it out, or name another"));
    }
    if user.uid >= base.saturating_sub(1) || user.gid >= base.saturating_sub(1) {
        return Err(format!(
            "`{text}` is uid {}, from {} on they are the sandboxes'",
            user.uid,
            base.saturating_sub(1)
        ));
    }
    Ok(user)
}

fn read() -> std::io::Result<String> {
    let mut text = String::new();
    File::open(PASSWD)?
        .take(PASSWD_BYTES_MAX)
        .read_to_string(&mut text)?;
    Ok(text)
}

fn named(list: &str, name: &str) -> Option<User> {
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is = fields.next()? == name;
        let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        is.then_some(User { uid, gid })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u32 = 4_194_304;
    const LIST: &str =
        "root:x:0:0:root:/root:/bin/bash\nodd\nkiln:x:998:997::/:/usr/sbin/nologin\n";

    #[test]
    fn a_user_has_a_name_or_a_number() {
        assert_eq!(named(LIST, "kiln"), Some(User { uid: 998, gid: 997 }));
        assert_eq!((named(LIST, "odd"), named(LIST, "")), (None, None));
        assert_eq!(
            user("1234", BASE),
            Ok(User {
                uid: 1234,
                gid: 1234
            })
        );
    }

    #[test]
    fn root_and_the_sandboxes_are_nobody_to_become() {
        for (text, wanted) in [
            ("0", "`0` is root"),
            ("root", "`root` is root"),
            ("4194303", "from 4194303 on they are the sandboxes'"),
            (
                "no-such-user-here",
                "make one by `useradd --system no-such-user-here`",
            ),
            ("", "no user of this machine is named ``"),
        ] {
            let said = user(text, BASE).expect_err(text);
            assert!(said.contains(wanted), "{said}");
        }
    }
}
