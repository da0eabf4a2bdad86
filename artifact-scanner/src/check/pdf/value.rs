//! What are the values of a document, as far as they are kept?

/// What is kept of a value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Name(String),
    Text(Vec<u8>),
    Number(i64),
    Array(Vec<Value>),
    Dict(Dict),
    /// The number of another object.
    Reference(i64),
    /// A keyword, and what was not kept.
    Other,
}

impl Value {
    /// A string as text.
    pub(super) fn text(&self) -> Option<String> {
        let wide = |wide: &[u8], unit: fn([u8; 2]) -> u16| {
            let units: Vec<u16> = wide
                .chunks_exact(2)
                .map(|pair| unit([pair[0], pair[1]]))
                .collect();
            String::from_utf16_lossy(&units)
        };
        match self {
            Self::Text(bytes) => Some(match bytes.as_slice() {
                [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
                [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
                [0xef, 0xbb, 0xbf, plain @ ..] | plain => {
                    String::from_utf8_lossy(plain).into_owned()
                }
            }),
            _ => None,
        }
    }
}

/// The entries of a dictionary, names decoded.
#[derive(Clone, Debug, Default)]
pub(super) struct Dict(pub(super) Vec<(String, Value)>);

impl Dict {
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.0
            .iter()
            .find(|(own, _)| own == key)
            .map(|(_, value)| value)
    }

    /// The same from behind, where a key stands twice: readers differ in which they take.
    pub(super) fn backwards(&self) -> Option<Self> {
        const TELLING: [&str; 14] = [
            "S",
            "F",
            "UF",
            "URI",
            "FS",
            "JS",
            "Type",
            "Subtype",
            "OpenAction",
            "Next",
            "Filter",
            "DecodeParms",
            "First",
            "Win",
        ];
        let mut seen = 0_u32;
        let twice = self.0.iter().any(|(own, _)| {
            let at = TELLING.iter().position(|key| own == key);
            let bit = at.map_or(0, |at| 1 << at);
            let again = seen & bit != 0;
            seen |= bit;
            again
        });
        twice.then(|| Self(self.0.iter().rev().cloned().collect()))
    }

    pub(super) fn name(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Value::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// What a dictionary keeps of the values of one within.
pub(super) fn outline(value: &Value) -> Value {
    match value {
        Value::Name(name) => Value::Name(name.clone()),
        Value::Number(number) => Value::Number(*number),
        Value::Reference(number) => Value::Reference(*number),
        Value::Text(text) => Value::Text(text[..text.len().min(256)].to_vec()),
        _ => Value::Other,
    }
}
