// Objects that were written down by a language's own means: whoever reads them back calls what they name.
// For `shown_in` see scripts.yar.
rule java_objects
{
    meta:
        severity = "suspicious"
        message = "serialized objects of Java, which call code when they are read"
    strings:
        $raw = { AC ED 00 05 (70|71|72|73|74|75|76|77|78|79|7A|7B|7C|7D|7E) }
        $base64 = /rO0ABX[A-Za-z0-9+\/_-]{8}/
        $hex = /aced00057[0-9a-e][0-9a-f]{8}/ nocase
    condition:
        $raw at 0 or $base64 or $hex
}

rule java_gadgets
{
    meta:
        severity = "malicious"
        message = "serialized objects of Java that start programs when they are read"
    strings:
        $raw = { AC ED 00 05 }
        $a = "org.apache.commons.collections"
        $b = "org.apache.xalan.xsltc.trax.TemplatesImpl"
        $c = "com.sun.org.apache.xalan.internal.xsltc.trax.TemplatesImpl"
        $d = "com.sun.rowset.JdbcRowSetImpl"
        $e = "sun.reflect.annotation.AnnotationInvocationHandler"
        $f = "org.codehaus.groovy.runtime."
        $g = "java.rmi.server.RemoteObjectInvocationHandler"
        $h = "bsh.XThis"
    condition:
        $raw at 0 and any of ($a, $b, $c, $d, $e, $f, $g, $h)
}

rule net_objects
{
    meta:
        severity = "suspicious"
        message = "serialized objects of .NET, which call code when they are read"
    strings:
        $raw = { 00 01 00 00 00 FF FF FF FF 01 00 00 00 00 00 00 00 }
        $base64 = "\x00\x01\x00\x00\x00\xff\xff\xff\xff\x01\x00\x00\x00\x00" base64
    condition:
        $raw at 0 or $base64
}

rule php_objects
{
    meta:
        severity = "suspicious"
        message = "serialized objects of PHP, which call code when they are read"
        shown_in = "code"
    strings:
        $base64 = /Tzo([w-z0-35]OiJ|4OiJ[^z]|4OiJz[^d]|[w-z0-5][MNO][DTjz]oi)[A-Za-z0-9+\/]{8}/
        $archive = /__HALT_COMPILER\(\);\s{0,2}(\?>)?\r?\n?[\x00-\xff]{3}\x00/
    condition:
        any of them
}

rule ruby_objects
{
    meta:
        severity = "suspicious"
        message = "serialized objects of Ruby, which call code when they are read"
    strings:
        $raw = { 04 08 (6F 3A | 55 3A | 75 3A | 65 3A) }
        $gem = "Gem::"
        $base64 = /BAh(vOg|VOg|1Og|bC[A-Za-z0-9+\/]{3}R2VtOj)[A-Za-z0-9+\/]{6}/
    condition:
        $raw at 0 or (uint16(0) == 0x0804 and $gem) or $base64
}

rule typed_json
{
    meta:
        severity = "malicious"
        message = "JSON that names a class which runs code when a loader makes an object of it"
        shown_in = "code"
    strings:
        // A string for each: of one with alternatives any `["` would be a beginning to look at.
        $jdbc = /\[\s*"com\.sun\.rowset\.JdbcRowSetImpl"\s*,/
        $xalan = /\[\s*"(com\.sun\.)?org\.apache\.xalan\.[a-z.]{0,20}trax\.TemplatesImpl"\s*,/
        $spring = /\[\s*"org\.springframework\.context\.support\.(ClassPath|FileSystem)XmlApplicationContext"\s*,/
        $logback = /\[\s*"ch\.qos\.logback\.core\.db\.[A-Za-z]{1,40}"\s*,/
        $pool = /\[\s*"com\.mchange\.v2\.c3p0\.[A-Za-z]{1,40}"\s*,/
        $jndi = /\[\s*"org\.apache\.ibatis\.datasource\.jndi\.JndiDataSourceFactory"\s*,/
        $swing = /\[\s*"javax\.swing\.JEditorPane"\s*,/
    condition:
        any of them
}

rule state_that_runs
{
    meta:
        severity = "malicious"
        message = "objects of Python whose state is source, which they run when they are loaded"
        shown_in = "code"
    strings:
        $key = "_parse_arg_template"
        $yaml = "python/object"
        $json = "py/object"
    condition:
        $key and ($yaml or $json)
}

rule sql_that_runs
{
    meta:
        severity = "suspicious"
        message = "a dump of a database that starts a program when it is loaded"
        shown_in = "code"
    strings:
        $sqlite = /(^|\n)\.(shell|system)\s+[^\s]/
        $psql = /\n\\! ?[a-z\/]{2}/
        $copy = /\bCOPY\s[^;]{1,200}\b(FROM|TO)\s+PROGRAM\s+'/ nocase
        $sql = /\b(CREATE\s+TABLE|INSERT\s+INTO|BEGIN\s+TRANSACTION|SELECT\s)/ nocase
    condition:
        $copy or (($sqlite or $psql) and $sql)
}

rule pages_that_run
{
    meta:
        severity = "suspicious"
        message = "a drawing or a text that starts a program when it is shown or set"
        shown_in = "code"
    strings:
        $postscript = /\(%pipe%[^)]{1,200}\)/
        $latex = /\\(immediate\s*\\)?write18\s*\{/
        $latex_pipe = /\\input\s*\{?\s*"?\|/
        $logging = /\nargs\s*=\s*\(?\s*__import__\s*\(/
    condition:
        any of them
}

rule queries_of_sheets
{
    meta:
        severity = "suspicious"
        message = "queries of a workbook that fetch or run what lies elsewhere"
        shown_in = "code"
    strings:
        $section = /\bsection\s+[A-Za-z0-9_]{1,80}\s*;/
        $reach = /\b(Web\.(Contents|Page|BrowserContents|Headers)|OData\.Feed|Odbc\.|OleDb\.|Sql\.Database|SharePoint\.|Value\.NativeQuery|Expression\.Evaluate|Python\.Execute|R\.Execute|AdoDotNet\.|Oracle\.|MySQL\.|PostgreSQL\.|Hdfs\.|AzureStorage\.|ActiveDirectory\.|Exchange\.)/
        $share = /(File|Folder)\.(Contents|Files)\s*\(\s*"\s*(\\\\|\/\/|http)/
        $shared = "#shared"
    condition:
        $section and any of ($reach, $share, $shared)
}

rule yaml_of_other_tongues
{
    meta:
        severity = "suspicious"
        message = "YAML that makes objects or functions when it is loaded"
        shown_in = "code"
    strings:
        $js = /!!js\/(function|undefined|regexp)[ \t]+["'|>]?\s{0,9}(function|\(?[a-z, ]{0,40}\)?\s*=>)/
        $php = /!php\/object[: ]/
        $perl = /!!?perl\/(hash|array|code|ref|glob|scalar)?:?[A-Z][A-Za-z:]{1,60}/
        $net = /!System\.(Diagnostics\.Process|Windows\.Data\.ObjectDataProvider|Configuration\.Install)/
        $java = /!!(com\.sun\.rowset\.|com\.mchange\.v2\.c3p0\.|org\.springframework\.(context|beans)\.|org\.apache\.(xbean|xalan|commons\.configuration)\.)[A-Za-z.]{3,80}/
    condition:
        any of them
}

rule target_that_is_called
{
    meta:
        severity = "malicious"
        message = "settings that name what runs code, which is called when they are carried out"
        shown_in = "code"
    strings:
        $target = /["']?_target_["']?\s*:\s*["']?(os|posix|nt|subprocess|builtins|pty|runpy|importlib|shutil|pickle|marshal|ctypes|webbrowser|timeit|cProfile|codeop|torch\.load|joblib\.load|pandas\.read_pickle|numpy\.load)\b/
    condition:
        $target
}
