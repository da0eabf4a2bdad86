//! Who says what: the file, or the environment in its place?

use super::section::{AMQP, FILE_ALONE, PLAIN, REDIS, Section, names};
use super::{ConfigError, Origin};
use kiln_warden::profile::keys::{Keys, unknown};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use toml::{Table, Value};

/// What every variable that sets a key begins with; between section and key stand two `_`.
const PREFIX: &str = "KILN_";

/// The file and the environment, and everything that is wrong with either.
#[derive(Debug)]
pub(super) struct Sources<'a> {
    file: &'a Table,
    /// By section and key, as typed as a text can be, and as it was written.
    variables: BTreeMap<&'static str, Table>,
    pub(super) errors: RefCell<Vec<ConfigError>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(
        file: &'a Table,
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> Self {
        let mut sources = Self {
            file,
            variables: BTreeMap::new(),
            errors: RefCell::default(),
        };
        let known = names();
        for name in file.keys() {
            if !known.contains(&name.as_str()) {
                sources.wrong(name.clone(), unknown(name, &known));
            }
        }
        for (name, value) in variables {
            // What is not UTF-8 is shown so and then refused like any other wrong value.
            if let Ok(name) = name.into_string() {
                sources.variable(&name, &value.to_string_lossy());
            }
        }
        sources
    }

    fn variable(&mut self, name: &str, value: &str) {
        let rest = name.strip_prefix(PREFIX);
        let Some((section, key)) = rest.and_then(|rest| rest.split_once("__")) else {
            return;
        };
        let (section, key) = (section.to_ascii_lowercase(), key.to_ascii_lowercase());
        let problem = if let Some(found) = PLAIN.into_iter().find(|it| it.name == section) {
            match found.key(&key) {
                Ok(key) => {
                    let value = key.kind.value(value);
                    let set = self.variables.entry(found.name).or_default();
                    set.insert(key.name.to_owned(), value);
                    return;
                }
                Err(problem) => problem,
            }
        } else if FILE_ALONE.contains(&section.as_str()) {
            format!("{section} are set in the file alone")
        } else {
            unknown(&section, &names())
        };
        self.wrong(name.to_owned(), problem);
    }

    /// What a section says, by the file and by the environment in its place. The file's own
    /// mistakes are told even where the environment stands in for them.
    pub(super) fn section<T>(&self, section: &Section, read: impl Fn(&Keys) -> T) -> T {
        let nothing = Table::new();
        let own = self.table(section.name).unwrap_or(&nothing);
        let keys = Keys::new(own, section.name, &self.errors);
        keys.only(&section.names());
        let found = read(&keys);
        let Some(set) = self.variables.get(section.name) else {
            return found;
        };
        let mut both = own.clone();
        both.extend(set.clone());
        let errors = RefCell::default();
        let found = read(&Keys::new(&both, section.name, &errors));
        for error in errors.into_inner() {
            if let ConfigError::Key { key, problem } = error {
                let key = key.rsplit('.').next().unwrap_or_default();
                if set.contains_key(key) {
                    self.wrong(self.label(section, key), problem);
                }
            }
        }
        found
    }

    /// The section of the file with this name, where it is one.
    pub(super) fn table(&self, name: &str) -> Option<&'a Table> {
        let value = self.file.get(name)?;
        if value.as_table().is_none() {
            let problem = format!("it must be a table: `[{name}]`");
            self.wrong(name.to_owned(), problem);
        }
        value.as_table()
    }

    pub(super) fn wrong(&self, key: String, problem: impl Into<String>) {
        let problem = problem.into();
        self.errors
            .borrow_mut()
            .push(ConfigError::Key { key, problem });
    }

    /// What a key is called where it was set; a variable with its value, but for secrets.
    pub(super) fn label(&self, section: &Section, key: &str) -> String {
        let set = self.variables.get(section.name).and_then(|it| it.get(key));
        let Some(value) = set else {
            return format!("{}.{key}", section.name);
        };
        let name = variable(section.name, key);
        // A url may hold a password, also where none belongs.
        let secret = matches!(key, "url" | "endpoint");
        match value {
            Value::String(text) if !secret => format!("{name}={text}"),
            _ => name,
        }
    }

    /// What is said under a key, by whoever counts, where it is a text.
    pub(super) fn text(&self, section: &str, key: &str) -> Option<String> {
        let said = |table: Option<&Table>| table?.get(key)?.as_str().map(str::to_owned);
        let file = || said(self.file.get(section).and_then(Value::as_table));
        said(self.variables.get(section)).or_else(file)
    }

    /// Who says a key.
    pub(super) fn origin(&self, section: &str, key: &str) -> Origin {
        let says = |table: Option<&Table>| table.is_some_and(|table| table.contains_key(key));
        if says(self.variables.get(section)) {
            Origin::Environment
        } else if says(self.file.get(section).and_then(Value::as_table)) {
            Origin::File
        } else {
            Origin::Default
        }
    }
}

/// The variable that sets a key.
pub(super) fn variable(section: &str, key: &str) -> String {
    format!("{PREFIX}{section}__{key}").to_ascii_uppercase()
}

/// Who says each key that somebody says, by section and key.
pub(super) fn origins(sources: &Sources) -> BTreeMap<String, Origin> {
    let all = PLAIN.into_iter().flat_map(|section| {
        let keys = section.keys.iter().map(|key| key.name);
        keys.map(|key| (section.name, key))
    });
    let told = all.filter_map(|(section, key)| {
        let origin = sources.origin(section, key);
        (origin != Origin::Default).then(|| (format!("{section}.{key}"), origin))
    });
    told.collect()
}

/// The files of secrets. Their names are no secrets.
pub(super) fn secret_files(sources: &Sources) -> BTreeMap<String, String> {
    let all = PLAIN.into_iter().flat_map(|section| {
        let keys = section.keys.iter().map(|key| key.name);
        keys.map(|key| (section.name, key))
    });
    let named = all.filter(|(_, key)| key.ends_with("_file"));
    let told = named.filter_map(|(section, key)| {
        let path = sources.text(section, key)?;
        Some((format!("{section}.{key}"), path))
    });
    told.collect()
}

/// Warns of passwords in a file that others can read.
pub(super) fn readable(path: &Path, sources: &Sources) -> Option<String> {
    let mode = path.metadata().ok()?.mode();
    let holds = |section: &&Section| {
        let text = sources.table(section.name)?.get("url")?.as_str()?;
        text.contains('@').then_some(section.name)
    };
    let section = [&AMQP, &REDIS]
        .iter()
        .find_map(holds)
        .filter(|_| mode & 0o004 != 0)?;
    Some(format!(
        "`{section}.url` holds a password, and everybody can read `{}`: `chmod o-r`, or \
         `{section}.url_file`",
        path.display()
    ))
}
