//! Are pages and drawings cut into the pieces that browsers cut them into?

use super::{Token, Tokens};

#[test]
fn tags_are_read_as_browsers_read_them() {
    let tag = |text| match Tokens::html(text).next() {
        Some(Token::Open(tag)) => tag,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        tag("<IMG/SRC=x/onerror=a(1)>").attributes,
        [("src".into(), "x/onerror=a(1)")]
    );
    assert_eq!(
        tag("<img src='a>b' ONerror = \"x\">").attribute("onerror"),
        Some("x")
    );
    assert_eq!(tag("<svg/onload=a>").attribute("onload"), Some("a"));
    assert_eq!(tag("<s:script>").name, "script");
    assert_eq!(tag("<img src=x onerror=a").attribute("onerror"), Some("a"));
}

#[test]
fn a_script_is_one_text() {
    let tokens: Vec<_> = Tokens::html("<script>if (a<b) '</p>'</SCRIPT >x").collect();
    assert_eq!(tokens[1], Token::Text("if (a<b) '</p>'"));
    assert_eq!(tokens[3], Token::Text("x"));
}

/// The names of the tags that open.
fn opened(text: &str) -> String {
    let names = Tokens::html(text).filter_map(|token| match token {
        Token::Open(tag) => Some(tag.name.into_owned()),
        Token::Doubt(_) => Some("?".to_owned()),
        _ => None,
    });
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn what_ends_in_a_browser_ends_here() {
    for text in [
        "<!--a--!><s><!-- -->",
        "<!-----><s>-->",
        "<!----!><s>-->",
        "<![CDATA[><s>]]>",
        "<![x><s>]>",
        "<!x ><s>",
        "<!doctype html [><s>]>",
        "<!doctype html PUBLIC \"><s>\">",
        "</! <!-- ><s>-->",
        "<? <!-- ><s>-->",
        "</p a=\"><!--\"><s>-->",
        "</p a=1 b='><!--'><s>-->",
        "<s></x\n<!-- >",
    ] {
        assert_eq!(opened(text), "s", "{text}");
    }
    assert_eq!(opened("<!-- --!a><s>-->"), "");
    assert_eq!(opened("<!---!><s>-->"), "");
}

#[test]
fn only_elements_of_html_hold_no_tags() {
    for (text, wanted) in [
        ("<title></title-><!--</title><s>-->", "title s"),
        ("<title></title\u{b}><!--</title><s>-->", "title s"),
        ("<x:title><s></x:title>", "title s"),
        ("<title\u{b}><s>", "title\u{b} s"),
        ("<iframe><!--</iframe><s>-->", "iframe s"),
        ("<noscript><!--</noscript><s>-->", "noscript s"),
        (
            "<script><!--<script></script><title>--></script><s></title>",
            "script s",
        ),
        ("<script><!--<script>--></script><s>", "script s"),
        ("<script><!--></script><s>--></script>", "script s"),
        ("<script><!--<scripts></script><s>", "script s"),
        ("<svg><title><p><s></title></svg>", "svg title p s"),
        ("<svg><style><s></style></svg>", "svg style s"),
        ("<svg><style/></svg><s>", "svg style s"),
        ("<svg><path d=x></svg><style><s></style>", "svg path style"),
        ("<svg><![CDATA[><s>]]></svg>", "svg"),
        (
            "<svg><foreignObject><style><!--</style><s>--></foreignObject></svg>",
            "svg foreignobject style s",
        ),
        ("<math><mi><style><s></style></mi></math>", "math mi style"),
        ("<svg><mi><style><s></style></mi></svg>", "svg mi style s"),
        (
            "<math><annotation-xml><svg><desc></desc><style><s></style>",
            "math annotation-xml svg desc style s",
        ),
    ] {
        assert_eq!(opened(text), wanted, "{text}");
    }
}

#[test]
fn where_browsers_must_build_the_page_it_is_in_doubt() {
    let hidden = "<title><a x='</title><!--'><script>-->";
    for before in [
        "<svg><p>",
        "<svg><foreignObject><div/></foreignObject></svg></div></foreignObject>",
        "<svg><foreignObject><p></svg></p></foreignObject>",
        "<p><b></p><svg><foreignObject>x</foreignObject></svg></b></foreignObject>",
        "<svg><tr><foreignObject><tr></tr>",
        "<math><mi><mglyph>",
        "<math><annotation-xml encoding='text/&#104;tml'>",
        "<select>",
        "<select><svg></select>",
        "<frameset>",
        "<div><svg></div>",
    ] {
        let text = format!("{before}{hidden}");
        assert!(opened(&text).contains('?'), "{text}: {}", opened(&text));
    }
    for plain in [
        "<select><option>a</select><script>a<b</script>",
        "<svg><title>a</title><path/></svg><script>a<b</script>",
        "<svg><g><path d=''></g></svg><script>a<b</script>",
        "<svg><foreignObject><div>a<br>b</div></foreignObject></svg><script>a<b</script>",
    ] {
        assert!(!opened(plain).contains('?'), "{plain}");
    }
}

#[test]
fn an_inner_subset_is_read_past_its_comments() {
    for text in [
        "<!DOCTYPE svg [<!-- it's -->]><s>",
        "<!DOCTYPE svg [<?x ' ?>]><s>",
        "<!DOCTYPE svg [<!-- [[ -->]><s>",
        "<!DOCTYPE svg SYSTEM \"a[b\"><s>",
        "<!DOCTYPE svg [<!ENTITY a ']>'>]><s>",
        "<!DOCTYPE svg '><s>",
    ] {
        let opened = Tokens::xml(text).any(|token| matches!(token, Token::Open(_)));
        assert!(opened, "{text}");
    }
}

#[test]
fn any_cut_of_a_page_is_read_to_its_end() {
    let page = "<!doctype html><!-- é --><a hr\u{e9}f='x'><?x?><![CDATA[y]]><script>é</script></p><b c=d e";
    for cut in 0..page.len() {
        if page.is_char_boundary(cut) {
            assert!(Tokens::html(&page[cut..]).count() + Tokens::xml(&page[..cut]).count() < 60);
        }
    }
}
