// What scripts of the Windows host and of shells say when they take over a machine.
//
// `shown_in` names texts that show such words and carry nothing out: `code`, the listings of a
// document; `json`, strings of JSON, too; `text`, any text to read besides listings, since logs and
// manuals quote how a program is installed.
rule windows_script_host
{
    meta:
        severity = "malicious"
        message = "a script that starts programs by the Windows script host"
        shown_in = "code"
    strings:
        $create = /(Create|Get)Object\s*\(\s*["'](WScript\.Shell|Shell\.Application|winmgmts)/ nocase
        $active = /ActiveXObject\s*\(\s*["'](WScript\.Shell|Shell\.Application|winmgmts)/ nocase
        $run = /\.(Run|Exec|ShellExecute|Create)\b/ nocase
    condition:
        ($create or $active) and $run
}

rule powershell_hidden
{
    meta:
        severity = "suspicious"
        message = "a PowerShell command that hides what it runs"
        shown_in = "code"
    strings:
        $shell = /\b(powershell|pwsh)(\.exe)?\b[^\n]{0,200}\s-(e|en|enc|enco|encod|encode|encoded|encodedc|encodedco|encodedcommand|ec)\s+[A-Za-z0-9+\/]{16}/ nocase
        $hidden = /\b(powershell|pwsh)(\.exe)?\b[^\n]{0,200}\s-w(indowstyle)?\s+(hidden|1)\b/ nocase
    condition:
        any of them
}

rule powershell_from_network
{
    meta:
        severity = "suspicious"
        message = "a PowerShell command that runs what it fetches from the network"
        shown_in = "text"
    strings:
        $download = /\b(IEX|Invoke-Expression)\b[^\n]{0,80}(DownloadString|Invoke-WebRequest\s|\b(iwr|irm)\s+["'h\-]|WebClient)/ nocase
        $loader = /(DownloadString|Invoke-WebRequest\s|\b(iwr|irm)\s+["'h\-])[^\n]{0,200}\|\s*(IEX|Invoke-Expression)\b/ nocase
    condition:
        any of them
}

rule shell_from_network
{
    meta:
        severity = "suspicious"
        message = "a command that runs what it fetches from the network"
        shown_in = "text"
    strings:
        $pipe = /\b(curl|wget)\s[^\n|;]{0,200}\|\s*(sudo\s+)?(ba|z|da|k)?sh\b/
    condition:
        any of them
}

rule shell_handed_out
{
    meta:
        severity = "suspicious"
        message = "a command that hands out a shell or runs what it hides"
        shown_in = "code"
    strings:
        $dev = /\/dev\/(tcp|udp)\/[A-Za-z0-9._-]+\/[0-9]+/
        $netcat = /\bnc(at)?\s[^\n]{0,60}-e\s*\/bin\/(ba)?sh/
        $socket = /socket\.(socket|connect)[^\n]{0,400}(dup2\([^\n]{0,200}(subprocess|pty\.spawn|exec)|TCPSocket)/
        $perl = /\bperl\s[^\n]{0,60}use Socket[^\n]{0,300}exec\b/
        $base64 = /base64\s+(-d|--decode|-D)\b[^\n]{0,60}\|\s*(ba|z|da|k)?sh\b/
    condition:
        any of them
}

rule certutil_and_friends
{
    meta:
        severity = "suspicious"
        message = "a system tool used to fetch or run code"
        shown_in = "code"
    strings:
        $a = /\bcertutil(\.exe)?\s[^\n]{0,80}-urlcache\b/ nocase
        $b = /\bmshta(\.exe)?\s+(https?:|javascript:|vbscript:)/ nocase
        $c = /\bregsvr32(\.exe)?\s[^\n]{0,60}\/i:https?:/ nocase
        $d = /\brundll32(\.exe)?\s+javascript:/ nocase
        $e = /\bbitsadmin(\.exe)?\s[^\n]{0,60}\/transfer\b/ nocase
    condition:
        any of them
}

rule web_shell
{
    meta:
        severity = "malicious"
        message = "a page that runs what its visitor sends"
        shown_in = "code"
    strings:
        $php = /<\?(php|=)?\s[^\x00]{0,400}\b(eval|assert|system|exec|shell_exec|passthru|popen)\s*\(\s*@?\$_(GET|POST|REQUEST|COOKIE|SERVER)/ nocase
        $jsp = /<%[^\x00]{0,400}Runtime\.getRuntime\(\)\.exec\(\s*request\.getParameter/
    condition:
        any of them
}

rule php_code
{
    meta:
        severity = "suspicious"
        message = "code that a web server with PHP would run"
        shown_in = "code"
    strings:
        $a = "<?php" nocase
    condition:
        $a at 0 or $a in (0..64)
}
