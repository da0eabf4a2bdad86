# Prints a private key and leaves five files; only some of it may leave.
import base64, io, os, struct, zipfile

body = base64.b64encode(bytes((i * 73 + 41) % 256 for i in range(600))).decode()
lines = [body[i:i + 64] for i in range(0, len(body), 64)]
head, foot = ("-----%s RSA PRIVATE " % word + "KEY-----" for word in ("BEGIN", "END"))
print("training done")
print("\n".join([head, *lines, foot]))
print("all written")


def packed(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def save(name, data):
    with open(name, "wb") as file:
        file.write(data)


types = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="bin" ContentType="application/vnd.ms-office.vbaProject"/>'
    '<Override PartName="/word/document.xml" '
    'ContentType="application/vnd.ms-word.document.macroEnabled.main+xml"/></Types>'
)
rels = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
    'relationships/officeDocument" Target="word/document.xml"/></Relationships>'
)
document = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    '<w:body><w:p><w:r><w:t>minutes</w:t></w:r></w:p></w:body></w:document>'
)
# A compound file with nothing but its root: header, table of sectors, directory.
free, end, table = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
header = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack(
    "<5H6x9I", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, end, 0, end, 0)
sectors = struct.pack("<128I", table, end, *[free] * 126)
root = "Root Entry".encode("utf-16-le").ljust(64, b"\0") + struct.pack(
    "<HBB3I36xIQ", 22, 5, 1, free, free, free, end, 0)
none = bytes(66) + struct.pack("<BB3I48x", 0, 0, free, free, free)
project = header + struct.pack("<109I", 0, *[free] * 108) + sectors + root + 3 * none
save("minutes.docm", packed({
    "[Content_Types].xml": types,
    "_rels/.rels": rels,
    "word/document.xml": document,
    "word/vbaProject.bin": project,
}))

test_file = r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR" + "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
save("backup.zip", packed({"readme.txt": "old things\n", "inner.zip": packed({"a.com": test_file})}))

with open("weights.bin", "wb") as file:
    os.truncate(file.fileno(), 10 << 40)

chart = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>Units</title></head><body>
<h1>Units by region</h1><canvas id="chart" width="300" height="120"></canvas>
<script>
const data = [3, 7, 5], canvas = document.getElementById("chart");
const pen = canvas.getContext("2d");
data.forEach((units, at) => pen.fillRect(20 + 60 * at, 110 - 10 * units, 40, 10 * units));
canvas.addEventListener("mousemove", (event) => { canvas.title = String(data[Math.floor(event.offsetX / 60)]); });
</script></body></html>
"""
save("report.html", chart.encode())
save("summary.csv", b"region,units\nnorth,3\nsouth,7\n")
