"""How are the containers of the variants written, true ones and ones that lie?"""
import base64
import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib

M, S, U, C, A = "malicious", "suspicious", "unscannable", "clean", "active"

# Taken apart, so that no virus scanner takes this file.
EICAR = (r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR" + "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*").encode()
ELF = b"\x7fELF\x02\x01\x01" + bytes(57) + b"\x01" + bytes(63)
PE = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + bytes(120)
HOST = "example.invalid"


def b64(data):
    return base64.b64encode(data).decode()


def zipped(members, how=zipfile.ZIP_DEFLATED, comment=b"", extra=b""):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        archive.comment = comment
        for name, data in members:
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name)
            info.compress_type = how
            info.extra = extra
            archive.writestr(info, data)
    return out.getvalue()


def zip_link(name, target):
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, 0o120777 << 16
    return info, target.encode()


def tarred(members, how=tarfile.PAX_FORMAT):
    """Members are (name, data) or (name, data, fields of the header)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=how) as archive:
        for name, data, *more in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for fields in more:
                for key, value in fields.items():
                    setattr(info, key, value)
            archive.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return out.getvalue()


def gz(data, name=""):
    out = io.BytesIO()
    with gzip.GzipFile(name, "wb", fileobj=out, mtime=0) as stream:
        stream.write(data)
    return out.getvalue()


def zst(data, run=None):
    """Raw blocks; or blocks that repeat one byte `run` times."""
    frame = b"\x28\xb5\x2f\xfd\x00\x58"
    blocks = []
    if run:
        while run > 0:
            size = min(run, 128 << 10)
            blocks.append((size << 3 | 1 << 1, data))
            run -= size
    else:
        for at in range(0, max(len(data), 1), 128 << 10):
            piece = data[at : at + (128 << 10)]
            blocks.append((len(piece) << 3, piece))
    for number, (head, body) in enumerate(blocks):
        last = number + 1 == len(blocks)
        frame += struct.pack("<I", head | last)[:3] + body
    return frame


def png(width=8, height=8, chunks=(), tail=b""):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    for kind, body in chunks:
        out += chunk(kind, body)
    return out + chunk(b"IDAT", zlib.compress(bytes(72))) + chunk(b"IEND", b"") + tail


def jpeg(segments=(), tail=b"", size=(8, 8)):
    out = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    for mark, body in segments:
        out += b"\xff" + bytes([mark]) + struct.pack(">H", len(body) + 2) + body
    out += b"\xff\xc0\x00\x0b\x08" + struct.pack(">HH", *size) + b"\x01\x01\x11\x00"
    return out + b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00" + bytes(8) + b"\xff\xd9" + tail


def gif(size=(1, 1), comment=b"", tail=b""):
    out = b"GIF89a" + struct.pack("<HH", *size) + b"\x80\x00\x00" + bytes(6)
    if comment:
        out += b"\x21\xfe" + bytes([len(comment)]) + comment + b"\x00"
    return out + b"\x2c" + bytes(4) + struct.pack("<HH", *size) + b"\x00\x02\x02\x44\x01\x00;" + tail


def riff(kind, chunks):
    body = kind
    for name, data in chunks:
        body += name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def wav(chunks=()):
    form = struct.pack("<HHIIHH", 1, 1, 8000, 8000, 1, 8)
    return riff(b"WAVE", [(b"fmt ", form), *chunks, (b"data", bytes(16))])


def npy(data, dtype="<f8", shape="(1,)"):
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def pdf(objects, head=b"%PDF-1.7\n", root=1, more=b""):
    """Objects are bytes; object 1 is the catalogue."""
    out, places = head, []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root %d 0 R %s >>\n" % (len(objects) + 1, root, more)
    return out + b"startxref\n%d\n%%%%EOF\n" % table


def stream(data, fields=b""):
    return b"<< /Length %d %s >>\nstream\n" % (len(data), fields) + data + b"\nendstream"


TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
DOC = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"


def ooxml(main, kind, text, extra=(), rels=(), more_types=""):
    """A package with one main part, other parts, and relations of the main part (type, target)."""
    folder, name = main.split("/")
    listed = "".join(
        f'<Relationship Id="r{n}" Type="{t if "//" in t else DOC + "/" + t}" Target="{target}" TargetMode="External"/>'
        for n, (t, target) in enumerate(rels)
    )
    parts = [
        (
            "[Content_Types].xml",
            f'<?xml version="1.0"?><Types xmlns="{TYPES}"><Default Extension="rels" ContentType="application/'
            f'vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/{main}" ContentType="{kind}"/>{more_types}</Types>',
        ),
        (
            "_rels/.rels",
            f'<?xml version="1.0"?><Relationships xmlns="{RELS}"><Relationship Id="r" '
            f'Type="{DOC}/officeDocument" Target="{main}"/></Relationships>',
        ),
        (main, text),
    ]
    if rels:
        parts.append(
            (f"{folder}/_rels/{name}.rels", f'<?xml version="1.0"?><Relationships xmlns="{RELS}">{listed}</Relationships>')
        )
    return zipped([*parts, *extra])


W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
X = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def docx(body="<w:p><w:r><w:t>hello</w:t></w:r></w:p>", **more):
    text = f'<?xml version="1.0"?><w:document xmlns:w="{W}" xmlns:r="{DOC}"><w:body>{body}</w:body></w:document>'
    return ooxml("word/document.xml", WORD, text, **more)


def xlsx(cells="<c r='A1'><v>1</v></c>", book="", extra=(), **more):
    text = f'<?xml version="1.0"?><workbook xmlns="{X}" xmlns:r="{DOC}"><sheets><sheet name="a" sheetId="1" r:id="s"/></sheets>{book}</workbook>'
    sheet = f'<?xml version="1.0"?><worksheet xmlns="{X}"><sheetData><row r="1">{cells}</row></sheetData></worksheet>'
    return ooxml("xl/workbook.xml", SHEET, text, extra=[("xl/worksheets/sheet1.xml", sheet), *extra], **more)


def pptx(body="", **more):
    return ooxml("ppt/presentation.xml", SLIDES, f"<?xml version='1.0'?><p:presentation xmlns:p='urn:p'>{body}</p:presentation>", **more)


def ovba(source):
    """Source of a macro, packed by literals alone (MS-OVBA 2.4.1)."""
    out, text = b"\x01", source.encode()
    for at in range(0, len(text), 3500):
        piece = text[at : at + 3500]
        coded = b"".join(b"\0" + piece[n : n + 8] for n in range(0, len(piece), 8))
        out += struct.pack("<H", 0xB000 | (len(coded) - 1)) + coded
    return out


def cfb(streams):
    """A compound file: {path: bytes}, one level of storages, small streams padded to 4096 bytes."""
    names = {""}
    for path in streams:
        names.add(path.rpartition("/")[0])
    storages = sorted(names - {""})
    entries = [("Root Entry", 5, b"")] + [(name, 1, b"") for name in storages]
    entries += [(path, 2, data.ljust(4096, b"\0")) for path, data in streams.items()]
    children = {number: [] for number in range(len(entries))}
    for number, (path, _, _) in enumerate(entries[1:], 1):
        folder = path.rpartition("/")[0]
        children[storages.index(folder) + 1 if folder else 0].append(number)
    directory_sectors = -(-len(entries) // 4)
    fat = [0xFFFFFFFD] + [n + 2 for n in range(directory_sectors - 1)] + [0xFFFFFFFE]
    body, starts = b"", {}
    for number, (_, kind, data) in enumerate(entries):
        if kind == 2:
            count = -(-len(data) // 512)
            starts[number] = len(fat)
            fat += [len(fat) + n + 1 for n in range(count - 1)] + [0xFFFFFFFE]
            body += data.ljust(count * 512, b"\0")
    assert len(fat) <= 128
    directory = b""
    for number, (path, kind, data) in enumerate(entries):
        name = path.rpartition("/")[2].encode("utf-16-le")
        right = 0xFFFFFFFF
        for group in children.values():
            if number in group and group.index(number) + 1 < len(group):
                right = group[group.index(number) + 1]
        child = children[number][0] if children.get(number) else 0xFFFFFFFF
        start = starts.get(number, 0xFFFFFFFE if kind == 5 else 0)
        directory += name.ljust(64, b"\0") + struct.pack("<HBBIII", len(name) + 2, kind, 1, 0xFFFFFFFF, right, child)
        directory += bytes(16) + bytes(4) + bytes(16) + struct.pack("<IQ", start, len(data))
    directory = directory.ljust(directory_sectors * 512, b"\0")
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
    head += struct.pack("<I", 0) + b"\xff\xff\xff\xff" * 108
    table = b"".join(struct.pack("<I", entry) for entry in fat).ljust(512, b"\xff")
    return head + table + directory + body


def vba(source):
    module = b"\0" * 64 + ovba('Attribute VB_Name = "M"\r\n' + source)
    return {"VBA/dir": ovba("dir"), "VBA/_VBA_PROJECT": b"\xcc\x61\xff\xff", "VBA/M": module, "PROJECT": b"ID=..."}
