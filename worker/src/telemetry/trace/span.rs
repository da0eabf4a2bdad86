//! What is one stretch of a trace, and what is said of it?

/// One stretch of time.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) id: u64,
    pub(super) parent: Under,
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Nanoseconds since 1970.
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) attributes: Vec<(&'static str, Attribute)>,
    pub(super) failed: bool,
}

/// Of what a span is a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Under {
    /// The sender's span, where there is one.
    Sender,
    Span(u64),
}

/// In the numbers of OTLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Internal = 1,
    Client = 3,
    Producer = 4,
    Consumer = 5,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    Text(String),
    Number(u64),
    Yes,
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// What the conventions for messaging say of everything that is done with a message.
pub(super) fn messaging(
    name: &'static str,
    kind: &'static str,
    destination: &str,
) -> Vec<(&'static str, Attribute)> {
    vec![
        ("messaging.system", "rabbitmq".into()),
        ("messaging.operation.name", name.into()),
        ("messaging.operation.type", kind.into()),
        ("messaging.destination.name", destination.into()),
    ]
}
