//! How are the scripts called: as functions where the server has them, else by their hash?

use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisError, Value};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::sync::LazyLock;

const SOURCE: &str = include_str!("scripts/kiln.lua");

/// The version of the scripts, which is what they say: two versions never meet under one name.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let digest = Sha256::digest(SOURCE.as_bytes());
    digest[..4].iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
        text
    })
});

/// The scripts as one server has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Library {
    Functions,
    /// For servers that are older or refuse functions; the hash of the one script.
    Script(String),
}

/// One call of a script.
#[derive(Clone, Debug)]
pub(super) struct Call {
    name: &'static str,
    keys: Vec<String>,
    args: Vec<String>,
}

impl Call {
    pub(super) fn new(name: &'static str, keys: Vec<String>, args: Vec<String>) -> Self {
        Self { name, keys, args }
    }
}

impl Library {
    /// Brings the scripts to the server.
    pub(super) async fn load(connection: &mut MultiplexedConnection) -> Result<Self, RedisError> {
        let loaded: Result<Value, RedisError> = redis::cmd("FUNCTION")
            .arg("LOAD")
            .arg("REPLACE")
            .arg(functions())
            .query_async(connection)
            .await;
        match loaded {
            Ok(_) => Ok(Self::Functions),
            Err(error) if is_refusal(&error) => {
                let load = redis::cmd("SCRIPT").arg("LOAD").arg(script()).to_owned();
                load.query_async(connection).await.map(Self::Script)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn command(&self, call: &Call) -> Cmd {
        let mut command = match self {
            Self::Functions => {
                let mut command = redis::cmd("FCALL");
                command.arg(format!("kiln_{}_{}", *VERSION, call.name));
                command
            }
            Self::Script(hash) => {
                let mut command = redis::cmd("EVALSHA");
                command.arg(hash);
                command
            }
        };
        command.arg(call.keys.len()).arg(&call.keys);
        if matches!(self, Self::Script(_)) {
            command.arg(call.name);
        }
        command.arg(&call.args);
        command
    }
}

/// Whether the server does not know functions or does not let us have them; any other error says
/// that it cannot serve us now.
fn is_refusal(error: &RedisError) -> bool {
    matches!(error.code(), Some("ERR" | "NOPERM"))
}

fn functions() -> String {
    let version = &*VERSION;
    format!(
        "#!lua name=kiln_{version}\n{SOURCE}\n\
         for name, work in pairs(F) do redis.register_function('kiln_{version}_' .. name, work) end\n"
    )
}

fn script() -> String {
    format!("{SOURCE}\nlocal name = table.remove(ARGV, 1)\nreturn F[name](KEYS, ARGV)\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_carry_the_same_keys_and_arguments() {
        let call = Call::new("drain", vec!["{kiln}:worker:a".into()], vec!["x".into()]);
        let text = |library: Library| {
            let packed = library.command(&call).get_packed_command();
            String::from_utf8(packed).expect("text")
        };
        let function = text(Library::Functions);
        assert!(function.contains(&format!("kiln_{}_drain", *VERSION)));
        assert!(function.contains("{kiln}:worker:a") && function.ends_with("x\r\n"));
        let script = text(Library::Script("abc".into()));
        assert!(script.contains("EVALSHA") && script.contains("drain"));
        assert!(script.ends_with("x\r\n"));
    }
}
