//! What does a url name? Nothing of it is ever quoted in an error: it may hold a password.

use std::fmt::Write as _;

/// The parts of a url.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Url<'a> {
    pub(super) scheme: &'a str,
    /// Whether there is a user, or a password.
    pub(super) user: bool,
    pub(super) host: &'a str,
    pub(super) port: Option<u16>,
    /// With its slash; without what follows `?` and `#`.
    pub(super) path: &'a str,
}

/// Takes a url apart whose scheme is one of these; `example` is how one looks.
pub(super) fn parse<'a>(text: &'a str, schemes: &[&str], example: &str) -> Result<Url<'a>, String> {
    let wrong = |what: &str| Err(format!("{what}: write it as `{example}`"));
    if !text.bytes().all(|b| b.is_ascii_graphic()) {
        return wrong("it holds a blank or a sign that a url has not");
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return wrong("it is not a url");
    };
    if !schemes.contains(&scheme) {
        let known = schemes.join("://` or `");
        return Err(format!("it must begin with `{known}://`"));
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if path.contains('@') {
        return Err(
            "in a user or a password `/`, `?`, `#` and `@` are written as `%2F`, `%3F`, `%23` \
             and `%40`"
                .to_owned(),
        );
    }
    let (user, place) = match authority.rsplit_once('@') {
        None => (false, authority),
        Some((_, place)) => (true, place),
    };
    let bracketed = place.strip_prefix('[').and_then(|it| it.split_once(']'));
    let (host, port) = match bracketed {
        Some((host, rest)) => (
            host,
            rest.strip_prefix(':').or((!rest.is_empty()).then_some("")),
        ),
        None => place
            .split_once(':')
            .map_or((place, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return wrong("it names no host");
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    if !host
        .bytes()
        .all(|b| plain(b) || bracketed.is_some() && b == b':')
    {
        return wrong("its host is not one");
    }
    let port = match port.map(str::parse::<u16>) {
        None => None,
        Some(Ok(port)) if port > 0 => Some(port),
        Some(_) => return wrong("its port is not a number from 1 to 65535"),
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    Ok(Url {
        scheme,
        user,
        host,
        port,
        path,
    })
}

impl Url<'_> {
    /// The url with its user and password as stars, and without its parameters.
    pub(super) fn masked(&self) -> String {
        let mut text = format!("{}://", self.scheme);
        if self.user {
            text.push_str("***@");
        }
        if self.host.contains(':') {
            write!(text, "[{}]", self.host).expect("a string takes whatever is written");
        } else {
            text.push_str(self.host);
        }
        if let Some(port) = self.port {
            write!(text, ":{port}").expect("a string takes whatever is written");
        }
        text.push_str(self.path);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amqp(text: &str) -> Result<Url<'_>, String> {
        parse(text, &["amqp", "amqps"], "amqp://host")
    }

    #[test]
    fn a_url_is_taken_apart_and_masked() {
        for (text, masked) in [
            ("amqp://host", "amqp://host"),
            (
                "amqps://u:p@host:5671/v?heartbeat=10",
                "amqps://***@host:5671/v",
            ),
            ("amqp://u:p@@q@[::1]:5672/%2f", "amqp://***@[::1]:5672/%2f"),
            ("amqp://[::1]", "amqp://[::1]"),
        ] {
            assert_eq!(amqp(text).map(|url| url.masked()).as_deref(), Ok(masked));
        }
    }

    #[test]
    fn a_wrong_url_is_told_without_a_word_of_it() {
        for (text, wanted) in [
            ("hunter2", "it is not a url"),
            (
                "http://hunter2",
                "it must begin with `amqp://` or `amqps://`",
            ),
            ("amqp://u:hunter2@", "names no host"),
            ("amqp:///hunter2", "names no host"),
            ("amqp://hunter2:0", "its port"),
            ("amqp://u:hunter2", "its port"),
            ("amqp://u:12/hunter2@host", "are written as"),
            ("amqp://u:12#hunter2@host", "are written as"),
            ("amqp://u@[::1]hunter2", "its port"),
            ("amqp://u:hunter2@a b", "blank"),
            ("amqp://u:hunter2@ä", "blank"),
            ("amqp://u@hunter2!", "its host"),
        ] {
            let said = amqp(text).expect_err(text);
            assert!(said.contains(wanted), "{text}: {said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}
