//! Does a text of XML make objects when a loader reads it?

use super::super::decode;
use super::super::markup::{Tag, Token, Tokens};
use super::super::xml;
use super::classes;
use crate::{Budget, Notes, Severity, Unscannable};

/// What a text must have for any of this, as it is written or by references.
const HINTS: [&str; 12] = [
    "java",
    "jdk.",
    "com.sun.",
    "org.",
    "groovy.",
    "ObjectDataProvider",
    "clr-namespace",
    "schemas.microsoft.com/clr",
    "x-microsoft.net.object",
    "dynamic-proxy",
    "TaskFactory",
    "System.",
];

/// Looks at the elements and attributes that name classes.
pub fn check_xml(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let written = |hint: &&str| memchr::memmem::find(text.as_bytes(), hint.as_bytes()).is_some();
    if !HINTS.iter().any(written) && !text.contains("&#") && !text.contains("<!ENTITY") {
        return Ok(());
    }
    let text = xml::expanded(text, budget)?;
    let mut tokens = Tokens::xml(&text);
    let mut read = 0;
    while let Some(token) = tokens.next() {
        budget.charge((tokens.at() - read).max(1) as u64)?;
        read = tokens.at();
        if let Token::Open(tag) = token
            && let Some((severity, message)) = judge(&tag)
        {
            notes.find(
                "loader.xml",
                severity,
                format!("offset {}", tag.at),
                message,
            );
            if severity == Severity::Malicious {
                break;
            }
        }
    }
    Ok(())
}

fn judge(tag: &Tag<'_>) -> Option<(Severity, &'static str)> {
    const RUNS: &str = "XML that runs code when a loader makes objects of it";
    const MAKES: &str = "XML that calls what it names when a loader makes objects of it";
    let local = tag.name.rsplit(':').next().unwrap_or(&tag.name);
    let calls = local == "objectdataprovider" && tag.attribute("methodname").is_some();
    // XStream takes the names of elements for classes, and this one for one that calls any other.
    if calls || local == "dynamic-proxy" || classes::runs(local) {
        return Some((Severity::Malicious, RUNS));
    }
    let mut worst = None;
    for (key, value) in &tag.attributes {
        let value = decode::references(value);
        let value = value.trim();
        let lower = decode::head(value, 400).to_ascii_lowercase();
        let compiles = key == "taskfactory" && lower.ends_with("codetaskfactory");
        // Reports of tests say by this whose test they are of.
        let names =
            key != "classname" && (classes::runs(value) || lower.contains("objectdataprovider"));
        if compiles || names {
            return Some((Severity::Malicious, RUNS));
        }
        let makes = lower == "java.beans.xmldecoder"
            || lower.contains("schemas.microsoft.com/clr/")
            || lower.contains("x-microsoft.net.object")
            || lower.starts_with("clr-namespace:system.diagnostics")
            || key == "serialization" && lower == "custom";
        if makes {
            worst = Some((Severity::Suspicious, MAKES));
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use Severity::{Malicious, Suspicious};

    #[track_caller]
    fn judged(text: &str, expected: Option<Severity>) {
        let mut notes = Notes::default();
        check_xml(text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
        assert_eq!(notes.worst(), expected, "{text}");
    }

    #[test]
    fn objects_that_run_are_seen_however_they_are_named() {
        for text in [
            "<java class='java.beans.XMLDecoder'><object class='java.lang.ProcessBuilder'/></java>",
            "<java><object class='java.lang.Process&#66;uilder'/></java>",
            "<!DOCTYPE a [<!ENTITY b 'java.lang.Runtime'>]><a><void class='&b;' method='x'/></a>",
            "<sorted-set><dynamic-proxy><interface>a</interface></dynamic-proxy></sorted-set>",
            "<map><entry><jdk.nashorn.internal.objects.NativeString/></entry></map>",
            "<beans><bean id='a' class='java.lang.ProcessBuilder' init-method='start'/></beans>",
            "<a><ObjectDataProvider MethodName='Start' ObjectType='{x:Type d:Process}'/></a>",
            "<item type='System.Data.Services.Internal.ExpandedWrapper`2[[a],[System.Windows.Data.ObjectDataProvider, b]]'/>",
            "<Project><UsingTask TaskName='a' TaskFactory='RoslynCodeTaskFactory'/></Project>",
        ] {
            judged(text, Some(Malicious));
        }
        for text in [
            "<java version='1.8' class='java.beans.XMLDecoder'><int>1</int></java>",
            "<java.util.PriorityQueue serialization='custom'/>",
            "<root><data mimetype='application/x-microsoft.net.object.binary.base64'/></root>",
        ] {
            judged(text, Some(Suspicious));
        }
    }

    #[test]
    fn reports_and_settings_are_quiet() {
        for text in [
            "<testcase classname='java.lang.ProcessBuilder' name='start'><failure>java.lang.Runtime.exec</failure></testcase>",
            "<project xmlns='http://maven.apache.org/POM/4.0.0'><groupId>org.apache.xbean</groupId></project>",
            "<java.util.HashMap><string>a</string></java.util.HashMap>",
            "<data type='System.String'>org.</data>",
        ] {
            judged(text, None);
        }
    }
}
