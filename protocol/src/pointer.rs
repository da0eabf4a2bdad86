//! Where in a message is a field? JSON pointers (RFC 6901).

/// The longest name that is repeated to whoever sent it; a longer one is pointed to by its parent.
const TOKEN_BYTES_MAX: usize = 128;

/// The pointer to a field or an element of what `parent` points to.
pub(crate) fn child(parent: &str, token: &str) -> String {
    if token.len() > TOKEN_BYTES_MAX {
        return parent.to_owned();
    }
    format!("{parent}/{}", token.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_escaped_and_a_long_one_left_out() {
        assert_eq!(child("/env", "A/~B"), "/env/A~1~0B");
        assert_eq!(child("", ""), "/");
        assert_eq!(child("/env", &"A".repeat(129)), "/env");
    }
}
