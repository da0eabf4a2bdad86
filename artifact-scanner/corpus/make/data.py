"""Pickles that call, secrets that leave, and files that are harmless: which other spellings does each have?"""
import bz2
import collections
import datetime
import decimal
import hashlib
import json
import lzma
import pickle
import struct
import zlib

from build import *  # noqa: F403
from containers import notebook, shown, sqlite


def call(module, name, argument="id", protocol=0):
    """A pickle that would call module.name(argument)."""
    if protocol == 0:
        return f"c{module}\n{name}\n(S'{argument}'\ntR.".encode()
    text = lambda one: b"\x8c" + bytes([len(one)]) + one.encode() if protocol >= 4 else b"X" + struct.pack("<I", len(one)) + one.encode()
    found = text(module) + b"\x94" + text(name) + b"\x94\x93" if protocol >= 4 else f"c{module}\n{name}\n".encode()
    return b"\x80" + bytes([protocol]) + found + text(argument) + b"\x85R."


def pickles():
    run = call("os", "sys" + "tem")
    text = lambda one: b"\x8c" + bytes([len(one)]) + one.encode()
    state = b"\x80\x04" + text("collections") + text("OrderedDict") + b"\x93)R}" + text("a") + text("os") + text("sys" + "tem") + b"\x93sb."
    model = {"class_name": "Sequential", "config": {"layers": [{"class_name": "Lambda", "config": {"function": ["4wEAAAA=", None, None]}}]}}
    head = b"\x80\x04\x95" + struct.pack("<Q", len(run))
    rows = [
        *[(f"{module}_{name}.pkl", M, call(module, name, protocol=n % 6)) for n, (module, name) in enumerate([
            ("os", "popen"), ("nt", "system"), ("subprocess", "Popen"), ("subprocess", "check_output"), ("builtins", "exec"), ("builtins", "eval"), ("builtins", "compile"),
            ("builtins", "__import__"), ("__builtin__", "eval"), ("importlib", "import_module"), ("runpy", "run_path"), ("pty", "spawn"), ("code", "interact"), ("timeit", "timeit"),
            ("cProfile", "run"), ("pdb", "run"), ("doctest", "debug_script"), ("trace", "Trace.run"), ("webbrowser", "open"), ("shutil", "rmtree"), ("socket", "create_connection"),
            ("urllib.request", "urlopen"), ("ctypes", "CDLL"), ("marshal", "loads"), ("types", "FunctionType"), ("operator", "attrgetter"), ("asyncio.base_events", "BaseEventLoop"),
            ("multiprocessing.util", "spawnv_passfds"), ("distutils.file_util", "write_file"), ("logging.config", "fileConfig"), ("numpy.testing._private.utils", "runstring"),
            ("torch.utils.collect_env", "run"), ("numpy.f2py.crackfortran", "myeval"), ("pip._internal.cli.main", "main"), ("idlelib.autocomplete", "AutoComplete.fetch_completions"), ("lib2to3.pgen2.grammar", "Grammar.loads"),
        ])],
        ("a.pickle.xz", M, lzma.compress(run)), ("a.pickle.bz2", M, bz2.compress(run)), ("zlib.joblib", M, zlib.compress(run)), ("lzma.joblib", M, lzma.compress(run, lzma.FORMAT_ALONE)),
        ("gzip.joblib", M, gz(run)), ("archive.zip", M, zipped([("a/data.pkl", run)])), ("weights.pt", M, zipped([("weights/data.pkl", run), ("weights/version", "3\n")], 0)),
        ("weights.pth", M, b"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03." + run), ("weights.tar", M, tarred([("pickle", run)])), ("weights.bin", M, zipped([("w/data.pkl", run)])),
        ("model.keras", M, zipped([("config.json", json.dumps(model)), ("metadata.json", "{}")])), ("object.npy", M, npy(run, "|O")), ("object.npz", M, zipped([("a.npy", npy(run, "|O"))])),
        ("plain_object.npy", M, npy(run, "O")), ("value.sqlite", M, sqlite(run)), ("as.csv", M, run), ("as.txt", M, run), ("as.bin", M, call("os", "sys" + "tem", protocol=4)),
        ("broken.pkl", M, run[:-1] + b"\xff\xfe\xfd"), ("second.pkl", M, pickle.dumps([1]) + run), ("third.pkl", M, pickle.dumps([1]) + pickle.dumps({"a": 2}) + b"\0" * 8 + run),
        ("framed.pkl", M, head + run), ("state.pkl", M, state), ("inst.pkl", M, b"(S'id'\nios\nsys" + b"tem\n."), ("object.pkl", M, b"(cos\nsys" + b"tem\nS'id'\no."),
        ("newobj.pkl", M, b"\x80\x02csubprocess\nPopen\nS'id'\n\x85\x81."), ("newobj_ex.pkl", M, b"\x80\x04" + text("subprocess") + text("Popen") + b"\x93)}\x92."),
        ("memo.pkl", M, b"\x80\x04" + text("os") + b"\x94" + text("sys" + "tem") + b"\x940h\0h\x01\x93" + text("id") + b"\x85R."),
        ("put.pkl", M, b"S'os'\np5\n0S'sys" + b"tem'\np6\n0\x80\x04g5\ng6\n\x93S'id'\n\x85R."), ("dup.pkl", M, b"\x80\x04" + text("os") + text("sys" + "tem") + b"\x932" + text("id") + b"\x85R."),
        ("ext.pkl", S, b"\x80\x02\x82\x01)R."), ("persistent.pkl", S, b"Pos.sys" + b"tem\n."), ("unknown.pkl", S, call("some_module", "thing", protocol=2)),
        ("dotted.pkl", M, b"\x80\x04" + text("numpy") + text("os.sys" + "tem") + b"\x93" + text("id") + b"\x85R."), ("getattr.pkl", S, call("builtins", "getattr", protocol=4)),
        ("nested.pkl", M, pickle.dumps({"model": run})), ("list.pkl", M, b"]" + run[:-1] + b"a."), ("escaped.pkl", M, run.replace(b"S'id'", b"S'\\x69d'")),
        ("unicode_name.pkl", M, b"\x80\x04V\\u006fs\nV\\u0073ys" + b"tem\n\x93V\\u0069d\n\x85R."), ("reduce_list.pkl", M, b"\x80\x03cbuiltins\nmap\ncos\nsys" + b"tem\n]S'id'\na\x86R."),
        ("jsonpickle.json", M, b'{"py/reduce": [{"py/function": "os.sys' + b'tem"}, {"py/tuple": ["id"]}]}'),
        ("apply.yaml", M, b"!!python/object/apply:os.sys" + b"tem ['id']\n"), ("new.yml", M, b"a: !!python/object/new:subprocess.Popen [[id]]\n"), ("name.yaml", M, b"a: !!python/name:os.sys" + b"tem\n"),
        ("tag.yaml", M, b"%TAG ! tag:yaml.org,2002:\n---\na: !python/object/apply:os.sys" + b"tem ['id']\n"), ("long.yaml", M, b"a: !<tag:yaml.org,2002:python/object/apply:os.sys" + b"tem> ['id']\n"),
    ]
    return rows


def letters(length, seed, alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"):
    out, block = "", hashlib.sha256(seed.encode()).digest()
    while len(out) < length:
        block = hashlib.sha256(block).digest()
        out += "".join(alphabet[byte % len(alphabet)] for byte in block)
    return out[:length]


def github(body="1a2b3c4d5e6f7g8h9i0jKLMNOPQRST"):
    """With its checksum right: CRC-32 of the random part, in base 62."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    crc, out = zlib.crc32(body.encode()), ""
    while crc:
        crc, rest = divmod(crc, 62)
        out = digits[rest] + out
    return "gh" + "p_" + body + out.rjust(6, "0")


def secrets():
    key = "-----BEGIN {}PRIVATE" + " KEY-----\n" + "".join(letters(64, f"k{n}") + "\n" for n in range(8)) + "-----END {}PRIVATE" + " KEY-----\n"
    upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    token = github()
    pem = key.format("", "")
    aws = "AK" + "IA" + "4" + letters(15, "aws", upper)
    plain = {
        "github.txt": token, "fine.env": "TOKEN=github_" + "pat_" + letters(22, "a") + "_" + letters(59, "b"), "oauth.log": "gh" + "o_" + letters(36, "c"),
        "gitlab.yml": "token: gl" + "pat-" + letters(20, "d"), "slack.json": json.dumps({"t": "xo" + "xb-730219584167-5820647193058-" + letters(24, "e")}),
        "hook.md": "https://hooks.sl" + "ack.com/services/T" + letters(8, "f", upper) + "/B" + letters(8, "g", upper) + "/" + letters(24, "h"),
        "discord.txt": "https://discord.com/api/web" + "hooks/849302175640298173/" + letters(68, "i"), "aws.csv": "user,key\nana," + aws,
        "credentials": f"[default]\naws_access_key_id = {aws}\naws_secret_access_key = {letters(40, 'j')}\n", "session.txt": "AS" + "IA" + "5" + letters(15, "k", upper),
        "google.js": "const k = 'AI" + "za" + letters(35, "l") + "'", "oauth.json": json.dumps({"client_secret": "GOC" + "SPX-" + letters(28, "m")}),
        "account.json": json.dumps({"type": "service_account", "private_key": pem}), "azure.config": "DefaultEndpointsProtocol=https;AccountName=a;Account" + "Key=" + b64(hashlib.sha512(b"n").digest()),
        "sas.txt": "https://a.blob.core.windows.net/c?sv=2022-11-02&ss=b&srt=o&sp=r&se=2030-01-01&s" + "ig=" + b64(hashlib.sha256(b"o").digest()).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D"),
        "stripe.py": "stripe.api_key = 'sk_" + "live_" + letters(24, "p") + "'", "twilio.env": "TWILIO_AUTH_TOKEN=" + hashlib.md5(b"q").hexdigest(), "mail.txt": "SG" + "." + letters(22, "r") + "." + letters(43, "s"),
        "openai.txt": "sk-" + "proj-" + letters(48, "t"), "openai_old.txt": "sk-" + letters(20, "u") + "T3Blbk" + "FJ" + letters(20, "v"), "anthropic.toml": "key = 'sk-" + "ant-api03-" + letters(93, "w") + "AA'",
        "hugging.log": "hf" + "_" + letters(34, "x", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), ".npmrc": "//registry.example.invalid/:_authToken=npm" + "_" + letters(36, "y"),
        "pypi.cfg": "password = py" + "pi-AgEIcHlwaS5vcmc" + letters(70, "z"), "ocean.txt": "dop" + "_v1_" + hashlib.sha256(b"aa").hexdigest(), "jwt.txt": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + "eyJzdWIiOiJhbmEiLCJleHAiOjk5OTk5OTk5OTl9" + "." + letters(43, "bb"),
        "database.ini": "url = postgres" + f"ql://ana:{letters(16, 'cc')}@db.example.invalid/prod", "mongo.yaml": "uri: mongo" + f"db+srv://root:{letters(20, 'dd')}@c.example.invalid/", "redis.txt": f"redis://:{letters(24, 'ee')}@cache.example.invalid:6379/0",
        ".netrc": f"machine api.example.invalid login ana password {letters(18, 'ff')}", ".pgpass": f"db.example.invalid:5432:prod:ana:{letters(18, 'gg')}", "config.json": json.dumps({"auths": {"registry.example.invalid": {"auth": b64(f"ana:{letters(18, 'hh')}".encode())}}}),
        "secret.yaml": "apiVersion: v1\nkind: Secret\ndata:\n  password: " + b64(letters(20, "ii").encode()), "shadow": f"root:$6${letters(16, 'jj')}${letters(86, 'kk')}:19000:0:99999:7:::", "htpasswd": f"ana:$apr1${letters(8, 'll')}${letters(22, 'mm')}",
        "telegram.txt": "bot_token = 730219584:AA" + letters(33, "nn"), "vault.txt": "hvs" + "." + letters(90, "oo"), "databricks.txt": "da" + "pi" + hashlib.md5(b"pp").hexdigest(), "age.txt": "AGE-SECRET" + "-KEY-1" + letters(58, "qq", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
        "rsa.pem": key.format("RSA ", "RSA "), "ec.key": key.format("EC ", "EC "), "ssh.txt": key.format("OPENSSH ", "OPENSSH "), "locked.pem": key.format("ENCRYPTED ", "ENCRYPTED "), "pgp.asc": "-----BEGIN PGP PRIVATE" + " KEY BLOCK-----\n\n" + letters(64, "rr") + "\n" + letters(64, "ss") + "\n-----END PGP PRIVATE KEY BLOCK-----\n",
        "putty.ppk": "PuTTY-User-Key" + "-File-2: ssh-rsa\nEncryption: none\nComment: a\nPublic-Lines: 1\n" + letters(64, "tt") + "\nPrivate-Lines: 1\n" + letters(64, "uu") + "\n", "line.json": json.dumps({"k": pem}), "shell.log": f"export API_KEY={letters(40, 'vv')}\n",
        "header.log": f"> Authorization: Bearer {letters(48, 'ww')}\n", "basic.log": "> Authorization: Basic " + b64(f"ana:{letters(20, 'xx')}".encode()) + "\n", "kube.yaml": "users:\n- name: a\n  user:\n    client-key-data: " + b64(pem.encode()) + "\n",
        "shopify.txt": "shp" + "at_" + hashlib.md5(b"yy").hexdigest(), "docker.txt": "dckr" + "_pat_" + letters(27, "zz"), "square.txt": "sq0" + "csp-" + letters(43, "ab"), "mailgun.txt": "key" + "-" + hashlib.md5(b"ac").hexdigest(), "url.txt": f"https://ana:{letters(20, 'ad')}@git.example.invalid/a.git",
        "django.py": f"SECRET_KEY = 'django-insecure-{letters(50, 'ae')}'", "encoded.txt": "token%3Dgh" + "p_" + token[4:], "linear.txt": "lin" + "_api_" + letters(40, "af"), "grafana.txt": "gl" + "sa_" + letters(32, "ag") + "_" + hashlib.md5(b"ah").hexdigest()[:8],
        "planetscale.txt": "pscale" + "_tkn_" + letters(43, "ai"), "doppler.txt": "dp" + ".pt." + letters(43, "aj"), "sentry.txt": "sntr" + "ys_" + letters(80, "ak"), "notion.txt": "nt" + "n_" + letters(46, "al"), "airtable.txt": "pat" + letters(14, "am") + "." + hashlib.sha256(b"an").hexdigest(), "figma.txt": "fig" + "d_" + letters(40, "ao"), "newrelic.txt": "NR" + "AK-" + letters(27, "ap", upper), "pulumi.txt": "pul" + "-" + hashlib.sha1(b"aq").hexdigest(), "terraform.txt": letters(14, "ar") + ".atlas" + "v1." + letters(65, "as"), "postman.txt": "PMAK" + "-" + hashlib.md5(b"at").hexdigest()[:24] + "-" + (hashlib.md5(b"au").hexdigest() + "ab"), "flutter.txt": "FLWSECK" + "_TEST-" + hashlib.md5(b"av").hexdigest()[:12], "perplexity.txt": "pplx" + "-" + letters(48, "aw"),
    }
    out = [(name, S, text.encode()) for name, text in plain.items()]
    words = "".join(f"<w:r><w:t>{token[at : at + 7]}</w:t></w:r>" for at in range(0, len(token), 7))
    return [
        *out,
        ("wide.csv", S, f"user,token\nana,{token}\n".encode("utf-16")), ("wide_be.log", S, f"token {token}\n".encode("utf-16-be")), ("packed.log.gz", S, gz(token.encode())), ("packed.tar.xz", S, lzma.compress(tarred([("a/id", pem.encode())]))),
        ("packed.zip", S, zipped([("a.env", token)])), ("text.docx", S, docx(f"<w:p>{words}</w:p>")), ("cell.xlsx", S, xlsx(extra=[("xl/sharedStrings.xml", f'<sst xmlns="{X}"><si><t>{token}</t></si></sst>')])), ("inline.xlsx", S, xlsx(f"<c r='A1' t='inlineStr'><is><t>{token}</t></is></c>")),
        ("text.pptx", S, pptx(extra=[("ppt/slides/slide1.xml", f"<a:t xmlns:a='urn:a'>{aws}</a:t>")])), ("text.png", S, png(chunks=[(b"tEXt", b"Comment\0" + token.encode())])), ("packed.png", S, png(chunks=[(b"zTXt", b"Comment\0\0" + zlib.compress(token.encode()))])), ("comment.jpg", S, jpeg([(0xFE, token.encode())])),
        ("info.wav", S, wav([(b"LIST", b"INFOICMT" + struct.pack("<I", len(token)) + token.encode())])), ("rows.npy", S, npy(token.encode().ljust(72), "|S72")), ("rows.npz", S, zipped([("a.npy", npy(token.encode("utf-32-le").ljust(288), "<U72"))])), ("list.pkl", S, pickle.dumps({"token": token})),
        ("stream.ipynb", S, notebook([{"output_type": "stream", "name": "stdout", "text": [f"{token}\n"]}])), ("lines.ipynb", S, notebook([{"output_type": "stream", "name": "stdout", "text": [line + "\n" for line in pem.splitlines()]}])), ("page.html", S, f"<!doctype html><p>{token}</p>".encode()),
        ("text.svg", S, f"<svg xmlns='http://www.w3.org/2000/svg'><text>{token}</text></svg>".encode()), ("text.pdf", S, pdf([b"<< /Type /Catalog >>", stream(zlib.compress(b"BT (" + token.encode() + b") Tj ET"), b"/Filter /FlateDecode")])), ("row.sqlite", S, sqlite(token)), ("head.safetensors", S, struct.pack("<Q", 90) + json.dumps({"__metadata__": {"k": token}}).encode().ljust(90)),
        ("comment.zip", S, zipped([("a", b"1")], comment=token.encode())), ("escaped.json", S, json.dumps(token).replace("_", "\\u005f").encode()), ("references.html", S, ("<!doctype html><p>" + "".join(f"&#{ord(c)};" for c in token)).encode()),
    ]


def harmless():
    values = [
        {"a": [1, 2.5, None, True, "x"]}, datetime.datetime(2024, 1, 2, 3, 4, 5), decimal.Decimal("1.5"), collections.OrderedDict(a=1), {1, 2}, frozenset([3]), b"bytes", 2**99, complex(1, 2),
        [datetime.date(2024, 1, 2), datetime.timedelta(days=1), datetime.timezone.utc], collections.Counter("abca"), collections.deque([1, 2]), collections.defaultdict(list, a=[1]), bytearray(b"x"), slice(1, 2), range(3),
    ]
    rows = [(f"value{n}.pkl", C, pickle.dumps(value, n % 6)) for n, value in enumerate(values)]
    chart = "<div id='c'></div><script>Plotly.newPlot('c', [{x: [1, 2], y: [3, 4]}])</script>"
    return [
        *rows,
        ("a.csv.zst", C, zst(b"a,b\n1,-2\n")), ("a.tar.xz", C, lzma.compress(tarred([("a/b.csv", b"1,2\n"), ("c", b"", {"type": b"2", "linkname": "a/b.csv"})]))), ("lzma.zip", C, zipped([("a.csv", b"1,2\n")], 14)), ("bz.zip", C, zipped([("a.csv", b"1,2\n" * 99)], 12)),
        ("numbers.csv", C, "a,b\n-1,+2\n+49 170 123,-1.5e-3\n@ana,—\n−5,- item\n".encode()), ("quotes.csv", C, b'a,b\n"-","say ""=x"""\n'), ("sum.xlsx", C, xlsx("<c r='A1'><f>SUM(B1:B9)</f><v>3</v></c>")), ("plain.docx", C, docx()), ("plain.pptx", C, pptx()),
        ("plain.pdf", C, pdf([b"<< /Type /Catalog /Pages 2 0 R /OpenAction [3 0 R /Fit] >>", b"<< /Type /Pages /Kids [] /Count 0 >>"])), ("link.pdf", C, pdf([b"<< /Type /Catalog >>", b"<< /Type /Annot /Subtype /Link /A << /S /URI /URI (https://example.invalid/) >> >>"])),
        ("plot.svg", C, b"<?xml version='1.0'?><!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd'><svg xmlns='http://www.w3.org/2000/svg'><defs><path id='a' d='M0 0'/></defs><use href='#a'/></svg>"),
        ("chart.html", A, f"<!doctype html><html><body>{chart}</body></html>".encode()), ("table.ipynb", C, notebook([shown(text__html="<table><tr><td>1</td></tr></table>", text__plain="1")])), ("read.md", C, b"# a\n\n[b](https://example.invalid/) `<script>`\n\n![c](https://img.example.invalid/b.svg?style=flat)\n"),
        ("photo.jpg", C, jpeg([(0xFE, b"made by hand")])), ("photo.gif", C, gif(comment=b"made by hand")), ("tone.wav", C, wav([(b"LIST", b"INFOISFT\x04\0\0\0Lavf")])), ("array.npy", C, npy(bytes(8))), ("array.npz", C, zipped([("a.npy", npy(bytes(8)))])), ("rows.sqlite", C, sqlite("hello")),
        ("env.txt", C, b"API_KEY=${API_KEY}\nPASSWORD=changeme\nTOKEN=<your token>\n"), ("digests.txt", C, "".join(hashlib.sha256(bytes([n])).hexdigest() + f"  file{n}\n" for n in range(9)).encode()), ("public.pem", C, ("-----BEGIN PUBLIC KEY-----\n" + letters(64, "pub") + "\n-----END PUBLIC KEY-----\n").encode()),
        ("cert.pem", C, ("-----BEGIN CERTIFICATE-----\n" + letters(64, "cert") + "\n-----END CERTIFICATE-----\n").encode()), ("ids.json", C, json.dumps([{"uuid": "123e4567-e89b-12d3-a456-426614174000", "etag": hashlib.md5(b"a").hexdigest()}]).encode()), ("config.yaml", C, b"defaults: &d\n  a: 1\njob:\n  <<: *d\n  password_file: /run/secrets/x\n"),
        ("tool.py", C, b"import os\nimport subprocess\nsubprocess.run(['ls'])\nprint(os.environ['HOME'])\n"), ("make.sh", C, b"#!/bin/sh\nset -e\ncurl -fsSO https://example.invalid/data.csv\nsha256sum -c sums\n"),
    ]
