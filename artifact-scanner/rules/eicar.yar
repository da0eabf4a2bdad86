// The test string of the anti-virus makers; it stands here in hexadecimal digits, so that no
// virus scanner takes this file. By its definition it counts at the very start of a file only.
rule eicar_at_start
{
    meta:
        severity = "malicious"
        message = "the anti-virus test string"
    strings:
        $a = { 58 35 4F 21 50 25 40 41 50 5B 34 5C 50 5A 58 35 34 28 50 5E 29 37 43 43 29 37 7D 24 45 49 43 41 52 }
    condition:
        $a at 0 or $a at 3
}

rule eicar_within
{
    meta:
        severity = "suspicious"
        message = "the anti-virus test string, amid other bytes"
    strings:
        $a = { 58 35 4F 21 50 25 40 41 50 5B 34 5C 50 5A 58 35 34 28 50 5E 29 37 43 43 29 37 7D 24 45 49 43 41 52 }
    condition:
        $a and not $a at 0 and not $a at 3
}
