//! Does an address carry data in letters of one size, or in pieces?

/// Pieces that look drawn by lot, and their letters in all; honest addresses have one or two.
const PIECES_MIN: usize = 3;
const LETTERS_MIN: usize = 24;
/// Steps of a path with digits: a date and a tile have three.
const STEPS_MIN: usize = 10;
const PIECE: std::ops::Range<usize> = 8..60;

/// Base32: letters of one size and the digits from 2 to 7, both.
pub(super) fn is_base32(value: &str, least: usize) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let upper = value.bytes().any(|b| b.is_ascii_uppercase());
    let lower = value.bytes().any(|b| b.is_ascii_lowercase());
    value.len() >= least
        && upper != lower
        && digits * 12 >= value.len()
        && value
            .bytes()
            .all(|b| b.is_ascii_alphabetic() || matches!(b, b'2'..=b'7'))
}

/// Whether host, path and query hold many short pieces that together say something.
pub(super) fn carry(host: &str, path: &str, query: &str) -> bool {
    let labels = host.split('.').count();
    let outer = host.split('.').take(labels.saturating_sub(2));
    let steps = path
        .split('/')
        .map(|step| step.split('.').next().unwrap_or(step));
    let values = query
        .split(['&', ';'])
        .map(|value| value.split_once('=').map_or(value, |(_, value)| value));
    let (mut drawn, mut mixed, mut letters) = (0, 0, 0);
    for piece in outer.chain(steps.clone()).chain(values) {
        match look(piece) {
            Look::Drawn => drawn += 1,
            Look::Mixed => mixed += 1,
            Look::Plain => continue,
        }
        letters += piece.len();
    }
    let numbered = steps
        .filter(|step| step.bytes().any(|b| b.is_ascii_digit()))
        .count();
    // What has no digit is one of them only beside others that have.
    let enough = drawn >= PIECES_MIN || drawn + 1 == PIECES_MIN && mixed > 0;
    (enough && letters >= LETTERS_MIN) || numbered >= STEPS_MIN
}

/// How a piece looks.
enum Look {
    /// Letters and digits change as often as they do by chance.
    Drawn,
    /// So do large and small letters, as they do in names that are glued together.
    Mixed,
    Plain,
}

fn look(piece: &str) -> Look {
    let class = |byte: u8| match byte {
        b'0'..=b'9' => Some(0),
        b'A'..=b'Z' => Some(1),
        b'a'..=b'z' => Some(2),
        _ => None,
    };
    if !PIECE.contains(&piece.len()) || !piece.bytes().all(|b| class(b).is_some()) {
        return Look::Plain;
    }
    let digits = piece.bytes().filter(u8::is_ascii_digit).count();
    let is_digest = piece.bytes().all(|b| b.is_ascii_hexdigit()) && matches!(piece.len(), 32 | 40);
    let changes = piece
        .as_bytes()
        .windows(2)
        .filter(|pair| class(pair[0]) != class(pair[1]))
        .count();
    match digits {
        _ if is_digest || digits == piece.len() => Look::Plain,
        0 if changes * 3 >= piece.len() => Look::Mixed,
        0 => Look::Plain,
        _ if changes * 4 >= piece.len() => Look::Drawn,
        _ => Look::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::super::carries_data;

    #[test]
    fn data_is_seen_in_one_size_and_in_pieces() {
        for address in [
            "https://a.invalid/?q=NBSWY3DPEB3W64TMMQQGQZLMNRXSA53P",
            "https://a.invalid/?q=nbswy3dpeb3w64tmmqqgqzlmnrxsa53p",
            "https://a.invalid/SGVsbG8g/d29ybGQx/MjM0NTY3/ODkwYWJj/ZGVmMTIz.png",
            "https://a.invalid/p.png?a=SGVsbG8gd29y&b=bGQxMjM0NTY3&c=ODkwYWJjZGVm",
            "https://4a6f686e2044.6f652c20676f.6c64656e3132.a.invalid/x.png",
            "https://a.invalid/72/101/108/108/111/32/119/111/114/108/100.png",
        ] {
            assert!(carries_data(address), "{address}");
        }
        for address in [
            "https://a.invalid/2024/01/02/plot-of-Sales2023.png?width=1200&height=800&v=3",
            "https://a.invalid/attachments/1180234567890123456/1180234567890123999/a.png?ex=65f0a1b2&is=65dd2c32",
            "https://a.invalid/tiles/12/2048/1361@2x.png",
            "https://a.invalid/static/0123456789abcdef0123456789abcdef/main.3f2a1b9c.js",
            "https://a.invalid/users/getUserName/profilePicture/large/index.png",
            "https://a.invalid/abcdefghijklmnopqrstuvwxyzabcdefghijklmnop.png",
        ] {
            assert!(!carries_data(address), "{address}");
        }
    }
}
