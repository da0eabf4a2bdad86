//! How is somebody's word shown so that it cannot break a line or steer a terminal?

/// The text with its control characters escaped.
pub(crate) fn plain(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(|c| {
        let control = c.is_control();
        (!control)
            .then_some(c)
            .into_iter()
            .chain(control.then(|| c.escape_default()).into_iter().flatten())
    })
}
