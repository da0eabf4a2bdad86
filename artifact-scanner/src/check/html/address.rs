//! What an address in an attribute does.

use super::super::decode;
use super::pieces;

/// Places that draw what stands in the address: the data is the picture.
const DRAWS: [&str; 9] = [
    "badgen.net/badge/",
    "chart.googleapis.com/",
    "img.shields.io/badge/",
    "kroki.io/",
    "latex.codecogs.com/",
    "mermaid.ink/",
    "private-user-images.githubusercontent.com/",
    "quickchart.io/",
    "www.plantuml.com/",
];
/// Where films and maps are meant to be framed from; what stands there cannot lead on.
const PLAYERS: [&str; 6] = [
    "player.vimeo.com/video/",
    "www.google.com/maps/embed",
    "www.openstreetmap.org/export/embed.html",
    "www.youtube-nocookie.com/embed/",
    "www.youtube.com/embed/",
    "youtube.com/embed/",
];

/// The scheme of an address, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Scheme {
    /// `javascript:` or `vbscript:`; whether it was written so that a search would miss it.
    Script {
        hidden: bool,
    },
    Data,
    Other,
}

/// Reads the scheme as a browser does: references resolved, white space and controls dropped.
pub(in super::super) fn is_script(address: &str) -> (Scheme, String) {
    let resolved = decode::references(address);
    let head: String = resolved
        .trim_start_matches(|c: char| c <= ' ')
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r' | '\0'))
        .collect();
    let lower: String = head
        .chars()
        .take(12)
        .collect::<String>()
        .to_ascii_lowercase();
    let scheme = if lower.starts_with("javascript:")
        || lower.starts_with("vbscript:")
        || lower.starts_with("livescript:")
        || lower.starts_with("jscript:")
    {
        let plain = address.trim().to_ascii_lowercase();
        Scheme::Script {
            hidden: !(plain.starts_with("javascript:") || plain.starts_with("vbscript:")),
        }
    } else if lower.starts_with("data:") {
        Scheme::Data
    } else {
        Scheme::Other
    };
    (scheme, head)
}

/// Whether an address has a scheme that a program other than the browser follows.
pub(super) fn leaves_web(address: &str) -> bool {
    let (scheme, _) = address.split_once(':').unwrap_or_default();
    let names = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(names)
        && !["http", "https", "about", "blob"].contains(&&*scheme.to_ascii_lowercase())
}

/// Whether the address is a file on another computer, which a login is sent to.
pub(in super::super) fn on_share(address: &str) -> bool {
    let address = decode::head(address.trim_start(), 400).replace('\\', "/");
    let Some(rest) = address
        .get(..5)
        .filter(|scheme| scheme.eq_ignore_ascii_case("file:"))
        .map(|_| &address[5..])
    else {
        return false;
    };
    let slashes = rest.len() - rest.trim_start_matches('/').len();
    let host = rest[slashes..].split('/').next().unwrap_or("");
    // `file:///C:/a` and `file://C:/a` are here; so are `file:/a` and `file:///a`.
    let here =
        host.is_empty() || host.contains([':', '|']) || host.eq_ignore_ascii_case("localhost");
    !here && (slashes == 2 || slashes > 3)
}

/// Whether the address is of a place that draws its pictures from their addresses, and fetches nothing
/// from another that the address names.
fn is_drawn(address: &str) -> bool {
    let rest = address.strip_prefix("https://").unwrap_or_default();
    let fetches = ["/dynamic/", "url="].iter().any(|word| rest.contains(word));
    !fetches && DRAWS.iter().any(|place| rest.starts_with(place))
}

/// Whether a frame shows a film or a map of one of those who let anybody frame them.
pub(super) fn is_player(address: &str) -> bool {
    let rest = address.trim();
    let rest = rest.strip_prefix("https:").unwrap_or(rest);
    let rest = rest.strip_prefix("//").unwrap_or_default();
    PLAYERS.iter().any(|player| rest.starts_with(player))
}

/// Whether an address has data in it that was encoded to be carried out.
pub(in super::super) fn carries_data(address: &str) -> bool {
    let address = address.split('#').next().unwrap_or("");
    if is_drawn(address.trim()) {
        return false;
    }
    let Some(path) = address.find("//").and_then(|at| {
        address[at + 2..]
            .find('/')
            .map(|slash| &address[at + 2 + slash..])
    }) else {
        return address
            .find("//")
            .is_some_and(|at| encoded_host(&address[at + 2..]));
    };
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let host = address
        .find("//")
        .map_or("", |at| address[at + 2..].split('/').next().unwrap_or(""));
    query.split(['&', '=', ';']).any(|value| encoded(value, 32))
        || path.split('/').any(|step| encoded(step, 60))
        || encoded_host(host)
        || pieces::carry(host, path, query)
}

/// Long labels of a host name carry data through its look-up.
fn encoded_host(host: &str) -> bool {
    host.split('.')
        .any(|label| label.len() >= 40 && encoded(label, 40))
}

fn encoded(value: &str, least: usize) -> bool {
    let value = value.trim_end_matches("%3D").trim_end_matches('=');
    if pieces::is_base32(value, least) {
        return true;
    }
    let fits = value
        .bytes()
        .all(|b| decode::sextet(b).is_some() || b == b'%');
    if value.len() < least || !fits {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let upper = value.bytes().filter(u8::is_ascii_uppercase).count();
    let lower = value.bytes().filter(u8::is_ascii_lowercase).count();
    let hexadecimal = value.bytes().all(|b| b.is_ascii_hexdigit()) && digits > 4;
    // A digest is 32, 40 or 64 digits long and says nothing by itself.
    (hexadecimal && !matches!(value.len(), 32 | 40 | 64 | 128))
        || (digits > 0
            && upper > 2
            && lower > 2
            && value.matches(['-', '_']).count() < value.len() / 8)
        || value.matches('%').count() > 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_read_through_disguise() {
        for address in [
            "javascript:x",
            " JaVaScript:x",
            "&#106;ava&#x09;script:x",
            "java\nscript:x",
            "\u{1}javascript:x",
            "javascript&colon;x",
            "vbscript:x",
        ] {
            assert!(
                matches!(is_script(address).0, Scheme::Script { .. }),
                "{address}"
            );
        }
        for address in [
            "/javascript:x",
            "https://x/javascript:",
            "java script:x",
            "#",
            "",
        ] {
            assert_eq!(is_script(address).0, Scheme::Other, "{address}");
        }
    }

    #[test]
    fn files_of_others_are_told_from_own_ones() {
        for address in [
            "file://a.invalid/s/x.png",
            "FILE:////a.invalid/s",
            "file:\\\\a.invalid\\s",
            "file://///a/s",
        ] {
            assert!(on_share(address), "{address}");
        }
        for address in [
            "file:///C:/plot.png",
            "file://C:/plot.png",
            "file:///home/a/plot.png",
            "file:plot.png",
            "file://localhost/a",
            "https://a.invalid/",
            "file:",
        ] {
            assert!(!on_share(address), "{address}");
        }
    }

    #[test]
    fn data_in_an_address_is_seen() {
        assert!(carries_data(
            "https://a.invalid/p?q=eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzGZwvtaPM36s0R"
        ));
        assert!(carries_data(
            "https://4a6f686e20446f65204a6f686e20446f65204a6f686e.a.invalid/x.png"
        ));
        assert!(!carries_data(
            "https://img.shields.io/badge/build-passing-green.svg?style=flat"
        ));
        let data = "eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzGZwvtaPM36s0R";
        assert!(!carries_data(&format!(
            "https://img.shields.io/badge/a-b-c.svg?logo={data}"
        )));
        for place in [
            "img.shields.io.a.invalid/badge/a-b-c.svg?logo",
            "img.shields.io/endpoint?url=https://a.invalid/&d",
            "img.shields.io/badge/dynamic/json?uri=https://a.invalid/&d",
            "badgen.net/https/a.invalid/?d",
        ] {
            assert!(carries_data(&format!("https://{place}={data}")), "{place}");
        }
        assert!(!carries_data(
            "https://a.invalid/static/0123456789abcdef0123456789abcdef/plot.png"
        ));
    }

    #[test]
    fn players_are_told_from_what_is_called_like_them() {
        assert!(is_player("https://www.youtube.com/embed/x?start=1"));
        assert!(is_player("//player.vimeo.com/video/1"));
        for address in [
            "https://www.youtube.com/redirect?q=x",
            "https://www.youtube.com.a.invalid/embed/x",
            "https://www.youtube.com@a.invalid/embed/x",
            "http://a.invalid/https://www.youtube.com/embed/x",
            "www.youtube.com/embed/x",
        ] {
            assert!(!is_player(address), "{address}");
        }
    }
}
