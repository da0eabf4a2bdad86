//! Which classes run code when a loader makes an object of them by the name it reads?

/// Classes and packages of Java and .NET that are known from attacks on loaders, in small letters. A
/// name that ends in a dot stands for all that is in it.
const CLASSES: [&str; 54] = [
    "java.lang.processbuilder",
    "java.lang.runtime",
    "java.lang.processimpl",
    "java.lang.unixprocess",
    "java.beans.eventhandler",
    "java.net.urlclassloader",
    "java.rmi.",
    "javax.script.scriptenginemanager",
    "javax.script.scriptengine",
    "javax.naming.initialcontext",
    "javax.naming.ldap.rdn",
    "javax.naming.spi.",
    "javax.management.",
    "javax.imageio.",
    "javax.swing.jeditorpane",
    "javax.swing.uidefaults$proxylazyvalue",
    "com.sun.rowset.",
    "com.sun.org.apache.",
    "com.sun.jndi.",
    "com.sun.corba.",
    "com.sun.xml.internal.",
    "com.sun.jmx.",
    "com.sun.script.",
    "sun.rmi.",
    "sun.swing.",
    "sun.reflect.",
    "jdk.nashorn.",
    "org.apache.commons.collections.functors.",
    "org.apache.commons.collections4.functors.",
    "org.apache.commons.configuration.jndiconfiguration",
    "org.apache.commons.dbcp.",
    "org.apache.xalan.",
    "org.apache.xbean.",
    "org.apache.ibatis.datasource.jndi.",
    "org.codehaus.groovy.runtime.",
    "org.springframework.context.support.classpathxmlapplicationcontext",
    "org.springframework.context.support.filesystemxmlapplicationcontext",
    "org.springframework.beans.factory.config.propertypathfactorybean",
    "ch.qos.logback.core.db.",
    "com.mchange.v2.c3p0.",
    "com.zaxxer.hikari.hikariconfig",
    "groovy.lang.groovyshell",
    "groovy.util.expando",
    "bsh.",
    "system.diagnostics.process",
    "system.diagnostics.processstartinfo",
    "system.windows.data.objectdataprovider",
    "system.windows.resourcedictionary",
    "system.windows.forms.axhost",
    "system.windows.forms.bindingsource",
    "system.configuration.install.assemblyinstaller",
    "system.security.principal.windowsidentity",
    "system.activities.",
    "system.management.automation.",
];

/// Whether a class of that name runs code: what its arguments and its assembly are says nothing.
pub(in super::super) fn runs(name: &str) -> bool {
    let name = name.trim();
    let end = name
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '$' | '-')))
        .unwrap_or(name.len());
    let name = &name[..end.min(200)];
    // Nothing of the list is shorter.
    if name.len() < 5 || !name.contains('.') {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    CLASSES.iter().any(|class| {
        let rest = lower.strip_prefix(class);
        rest.is_some_and(|rest| {
            class.ends_with('.') || rest.is_empty() || rest.starts_with(['_', '$', '-'])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_known_by_their_whole_name() {
        for name in [
            "java.lang.ProcessBuilder",
            " com.sun.rowset.JdbcRowSetImpl",
            "javax.naming.ldap.Rdn_-RdnEntry",
            "System.Windows.Data.ObjectDataProvider, PresentationFramework, Version=4.0.0.0",
        ] {
            assert!(runs(name), "{name}");
        }
        for name in [
            "java.lang.ProcessBuilders",
            "java.lang.RuntimeException",
            "java.util.HashMap",
            "System.String",
            "bsh",
            "",
            "ü.ü",
        ] {
            assert!(!runs(name), "{name}");
        }
    }
}
