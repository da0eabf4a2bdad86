//! What does a loader of JSON or YAML call that makes objects by the names it reads?
//!
//! The rules see such names as they are mostly written; here they are read as the loader reads
//! them, with escapes undone and the handles of tags resolved.

mod classes;
mod objects;
mod php;

pub use objects::check_xml;
pub(crate) use php::check as check_php;

use super::decode;
use super::pickle::globals::{Standing, standing};
use crate::{Budget, Notes, Severity, Unscannable};
use std::borrow::Cow;

const KERAS: &str = "pickle.keras_lambda";

/// Looks at JSON: objects of jsonpickle, and the configuration of a saved Keras model.
pub fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    budget.charge(text.len().max(1) as u64)?;
    let read = unescaped(text);
    let has = |word: &str| memchr::memmem::find(read.as_bytes(), word.as_bytes()).is_some();
    let typed = TYPE_KEYS.iter().any(|key| has(key));
    if typed {
        budget.charge(read.len().max(1) as u64)?;
        by_class(&read, notes);
    }
    if !has("\"py/") && !has("\"class_name\"") && !has("\"__lambda__\"") {
        return Ok(());
    }
    budget.charge(read.len().max(1) as u64)?;
    let bare: String = read.chars().filter(|c| !c.is_whitespace()).collect();
    // What is written without escapes the rules see.
    if matches!(read, Cow::Owned(_)) {
        jsonpickle(&bare, notes);
    }
    lambda(&bare, notes);
    by_name(&bare, notes);
    Ok(())
}

/// Keys whose value is the class of an object: Json.NET, fastjson, Jackson, `JavaScriptSerializer`.
const TYPE_KEYS: [&str; 5] = [
    "\"$type\"",
    "\"@type\"",
    "\"@class\"",
    "\"__type\"",
    "\"_class\"",
];

/// Objects that say of which class they are, where the class runs code.
fn by_class(read: &str, notes: &mut Notes) {
    let named = TYPE_KEYS.iter().any(|key| {
        read.match_indices(key).any(|(at, _)| {
            let behind = read[at + key.len()..].trim_start().strip_prefix(':');
            let class = behind.and_then(|behind| behind.trim_start().strip_prefix('"'));
            class.is_some_and(|class| classes::runs(value(class)))
        })
    });
    if named {
        notes.find(
            "loader.class",
            Severity::Malicious,
            "",
            "JSON that names a class which runs code when a loader makes an object of it",
        );
    }
}

/// The text with the escapes undone that JSON has for visible letters; quotes stay what they are.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains("\\u00") && !text.contains("\\/") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let letter = match rest.as_bytes() {
            [_, b'u', b'0', b'0', a, b, ..] => decode::hex(&[*a, *b]).first().copied(),
            [_, b'/', ..] => Some(b'/'),
            _ => None,
        };
        let letter = letter.filter(|letter| letter.is_ascii_graphic() && *letter != b'"');
        let length = match letter {
            Some(letter) => {
                out.push(char::from(letter));
                if rest[1..].starts_with('/') { 2 } else { 6 }
            }
            // What is escaped begins no escape itself.
            None => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        if letter.is_none() {
            out.push_str(&rest[..length]);
        }
        rest = &rest[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn jsonpickle(bare: &str, notes: &mut Notes) {
    let calls = ["\"py/reduce\":", "\"py/repr\":", "\"py/newargsex\":"];
    let named = ["\"py/function\":\"", "\"py/type\":\""].iter().any(|key| {
        bare.match_indices(key)
            .any(|(at, _)| is_evil(value(&bare[at + key.len()..])))
    });
    if named || calls.iter().any(|key| bare.contains(key)) {
        notes.find(
            "loader.jsonpickle",
            Severity::Malicious,
            "",
            "JSON that calls Python functions when jsonpickle loads it",
        );
    }
}

/// A text up to its quote.
fn value(text: &str) -> &str {
    decode::head(text, 200).split('"').next().unwrap_or("")
}

fn is_evil(path: &str) -> bool {
    let (module, name) = path.rsplit_once('.').unwrap_or(("", path));
    standing(module, name) == Standing::Evil
}

fn lambda(bare: &str, notes: &mut Notes) {
    let lambda = bare.contains("\"class_name\":\"Lambda\"");
    if bare.contains("\"__lambda__\"")
        || (lambda && (bare.contains("\"code\":") || bare.contains("\"function\":[")))
    {
        notes.find(
            KERAS,
            Severity::Malicious,
            "",
            "a Lambda layer holds compiled code that runs when the model is loaded",
        );
    } else if lambda {
        notes.find(
            KERAS,
            Severity::Suspicious,
            "",
            "a Lambda layer calls a function by name when the model is loaded",
        );
    }
}

/// Objects of Keras that are of a module which no layer is of: its names are imported and called.
fn by_name(bare: &str, notes: &mut Notes) {
    /// How far from one another the two names of an object stand at most.
    const NEAR: usize = 400;
    const OBJECTS_MAX: usize = 100_000;
    const CLASS: &str = "\"class_name\":\"";
    let modules = bare.match_indices("\"module\":\"");
    for (number, (at, key)) in modules.enumerate() {
        if number == OBJECTS_MAX {
            notes.find(
                "loader.keras",
                Severity::Suspicious,
                "",
                "more objects than any model has",
            );
            return;
        }
        let module = value(&bare[at + key.len()..]);
        let before = bare.as_bytes()[..at].iter().rev().take(NEAR);
        let start = at - before.take_while(|byte| **byte != b'{').count();
        // A brace is one byte, so that the text can be cut behind it, but not anywhere else.
        let start = (start..=at)
            .find(|start| bare.is_char_boundary(*start))
            .unwrap_or(at);
        let object = decode::head(&bare[start..], at - start + NEAR);
        let Some(class) = object.find(CLASS) else {
            continue;
        };
        let class = value(&object[class + CLASS.len()..]);
        let package = module.split('.').next().unwrap_or(module);
        let own = ["keras", "tensorflow", "tf_keras"].contains(&package);
        if !own && standing(module, class) == Standing::Evil && object.contains("\"config\":") {
            notes.find(
                "loader.keras",
                Severity::Malicious,
                "",
                "the configuration of a model names what runs code when the model is loaded",
            );
            return;
        }
    }
}

/// The namespace of the tags that are written with two exclamation marks.
const STANDARD: &str = "tag:yaml.org,2002:";
/// Documents have few handles of their own.
const HANDLES_MAX: usize = 64;

/// Looks at the tags of YAML.
pub fn check_yaml(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    budget.charge(text.len().max(1) as u64)?;
    if memchr::memchr(b'!', text.as_bytes()).is_none() {
        return Ok(());
    }
    let handles: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("%TAG")?.split_whitespace();
            words.next().zip(words.next())
        })
        .take(HANDLES_MAX + 1)
        .collect();
    if handles.len() > HANDLES_MAX {
        notes.find(
            "loader.yaml",
            Severity::Suspicious,
            "",
            "YAML that gives its tags more names than anybody needs",
        );
    }
    for at in memchr::memchr_iter(b'!', text.as_bytes()) {
        let begins = text[..at].chars().next_back().is_none_or(|before| {
            before.is_whitespace() || matches!(before, '[' | '{' | ',' | ':' | '?' | '\u{feff}')
        });
        if !begins {
            continue;
        }
        let tag = decode::head(&text[at..], 400);
        let tag = &tag[..tag.find(char::is_whitespace).unwrap_or(tag.len())];
        let behind = text[at + tag.len()..].trim_start_matches([' ', '\t']);
        if let Some((severity, message)) = judge(&resolved(tag, &handles), behind) {
            notes.find("loader.yaml", severity, format!("offset {at}"), message);
            if severity == Severity::Malicious {
                break;
            }
        }
    }
    Ok(())
}

/// The tag as the loader knows it.
fn resolved(tag: &str, handles: &[(&str, &str)]) -> String {
    let (prefix, rest) = if let Some(verbatim) = tag.strip_prefix("!<") {
        ("", verbatim.split('>').next().unwrap_or(verbatim))
    } else {
        let end = tag[1..].find('!').map_or(1, |end| end + 2);
        let (handle, rest) = tag.split_at(end);
        let own = handles.iter().rev().find(|own| own.0 == handle);
        let prefix = match own {
            Some((_, prefix)) => prefix,
            None if handle == "!!" => STANDARD,
            None => handle,
        };
        (prefix, rest)
    };
    let whole = format!("{prefix}{rest}");
    String::from_utf8_lossy(&decode::percent(whole.as_bytes())).into_owned()
}

fn judge(tag: &str, behind: &str) -> Option<(Severity, &'static str)> {
    let (is_standard, name) = match tag.strip_prefix(STANDARD) {
        Some(name) => (true, name),
        None => (false, tag.trim_start_matches('!')),
    };
    if let Some(python) = name.strip_prefix("python/") {
        let begins = |name: &&str| name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let strip = |kinds: [&str; 2]| {
            let named = kinds.iter().find_map(|kind| python.strip_prefix(kind));
            named.filter(begins)
        };
        if strip(["object/apply:", "object/new:"]).is_some() {
            let message = "YAML that calls Python functions when it is loaded";
            return Some((Severity::Malicious, message));
        }
        // Settings of tools name functions of theirs so; what is named is imported, and not called.
        let named = strip(["name:", "module:"])?;
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let named = &named[..named.find(|c| !is_path(c)).unwrap_or(named.len())];
        let evil = is_evil(named) || standing(named, "") == Standing::Evil;
        return Some(if evil {
            (Severity::Malicious, "YAML that hands out what runs code")
        } else {
            (
                Severity::Active,
                "YAML that imports Python modules when it is loaded",
            )
        });
    }
    let ruby = name
        .strip_prefix("ruby/")
        .or_else(|| tag.strip_prefix("tag:ruby.yaml.org,2002:"));
    if let Some(ruby) = ruby {
        let made = ["object:", "hash:", "struct:"];
        let makes = made.iter().any(|kind| ruby.starts_with(kind));
        let message = "YAML that makes objects of Ruby when it is loaded";
        return makes.then_some((Severity::Malicious, message));
    }
    // The constructor of any class of Java is called with what stands in brackets.
    let word = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_$".contains(&b))
    };
    let class = is_standard && name.contains('.') && name.split('.').all(word);
    let severity =
        if classes::runs(name) || ["java.", "javax."].iter().any(|own| name.starts_with(own)) {
            Severity::Malicious
        } else {
            Severity::Suspicious
        };
    let message = "YAML that makes objects of Java when it is loaded";
    (class && behind.starts_with('[')).then_some((severity, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use Severity::{Malicious, Suspicious};

    type Check = fn(&str, &mut Notes, &mut Budget) -> Result<(), Unscannable>;

    #[track_caller]
    fn judged(check: Check, text: &str, expected: Option<Severity>) {
        let mut notes = Notes::default();
        check(text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
        assert_eq!(notes.worst(), expected, "{text}");
    }

    #[test]
    fn json_is_read_as_its_loader_reads_it() {
        for text in [
            r#"{"py\/reduce": [{"py\/function": "os.system"}]}"#,
            r#"{"p\u0079/reduce": []}"#,
            r#"{"a": "\\", "py\u002freduce" : []}"#,
            r#"{"py\/type": "subprocess.Popen"}"#,
            r#"{"class_name": "L\u0061mbda", "config": {"code": "4w"}}"#,
            r#"{"class_name": "Lambda", "config": {"function": {"class_name": "__lambda__", "config": {"code": "4w"}}}}"#,
            r#"{"module": "os", "class_name": "system", "config": "id"}"#,
            r#"{"class_name": "run", "module": "subprocess", "config": {}}"#,
            r#"{"$type": "System.Windows.Data.ObjectDataProvider, PresentationFramework"}"#,
            r#"{"a": {"\u0040type" :"com.sun.rowset.Jdbc\u0052owSetImpl"}}"#,
        ] {
            judged(check, text, Some(Malicious));
        }
        for text in [
            r#"{"class_name": "Dense", "config": {"units": 3}}"#,
            r#"{"class_name": "Dense", "module": "keras.layers", "config": {"units": 3}}"#,
            r#"{"module": "builtins", "class_name": "function", "config": "loss"}"#,
            r#"{"py\/object": "a.B", "path": "C:\\py\/reduce"}"#,
            r#"{"text": "\"py\/reduce\": [] as one may write"}"#,
            r#"{"module": "os", "name": "system"}"#,
            r#"{"@type": "Dataset", "$type": "MyApp.Point, MyApp", "name": "java.lang.Runtime"}"#,
        ] {
            judged(check, text, None);
        }
    }

    #[test]
    fn tags_are_read_as_their_loader_reads_them() {
        for text in [
            "!!pyth%6fn/object/apply:os.system [id]",
            "a: !!python/object%2fapply:os.system [id]",
            "%TAG !x! tag:yaml.org,2002:pyth\n---\n!x!on/object/apply:os.system [id]",
            "%TAG !! tag:yaml.org,2002:python/\n---\n- !!name:os.system",
            "%TAG ! tag:yaml.org,2002:\n---\n[!python/module:os]",
            "!<tag:yaml.org,2002:python/object/new:os.system> [id]",
            "!rub%79/object:Gem::Installer\n",
            "!!javax.script.ScriptEngineManager [x]",
        ] {
            judged(check_yaml, text, Some(Malicious));
        }
        judged(check_yaml, "!!a.b.C [\"x\"]", Some(Suspicious));
        for text in [
            "emoji_index: !!python/name:material.extensions.emoji.twemoji\n",
            "format: !!python/name:pymdownx.superfences.fence_code_format ''\n",
            "a: !!python/module:math\n",
        ] {
            judged(check_yaml, text, Some(Severity::Active));
        }
        for text in [
            "a: !!float 1\nb: !Ref x\nc: !Sub \"${a}!b\"\n- !!a.b.C {d: 1}\n",
            "%TAG !e! tag:example.invalid,2000:\n---\n!e!foo [1]\n",
            "a: !!python/object:__main__.A {}\nb: !!python/tuple [1]\n",
            "text: done! !!! python/name:\n",
        ] {
            judged(check_yaml, text, None);
        }
    }
}
