// Files that are one thing to one reader and another to the next.
rule gif_as_script
{
    meta:
        severity = "malicious"
        message = "a GIF that is a script as well"
    strings:
        $comment = /GIF8[79]a\/\*/
        $assign = /GIF8[79]a\s*=\s*[0-9"'(\/]/
        $back = "*/"
    condition:
        ($comment at 0 and $back) or $assign at 0
}

rule bitmap_as_script
{
    meta:
        severity = "malicious"
        message = "a bitmap that is a script as well"
    strings:
        $comment = { 42 4D 2F 2A }
        $back = /\*\/\s*=/
    condition:
        $comment at 0 and $back
}

rule java_archive_behind_picture
{
    meta:
        severity = "malicious"
        message = "a Java archive behind a picture"
    strings:
        $manifest = "META-INF/MANIFEST.MF"
        $local = { 50 4B 03 04 }
        $gif = "GIF8"
        $png = { 89 50 4E 47 0D 0A 1A 0A }
        $jpeg = { FF D8 FF }
    condition:
        ($gif at 0 or $png at 0 or $jpeg at 0) and $local and $manifest
}
