"""A page's text is what a person sees on it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.tools.html_text import page_text

HIDDEN = (
    "<p hidden>{}</p>",
    '<p hidden="hidden">{}</p>',
    '<p aria-hidden="true">{}</p>',
    "<!-- {} -->",
    "<script>{}</script>",
    "<script type='text/plain'>{}</script>",
    "<style>{}</style>",
    "<noscript>{}</noscript>",
    "<template>{}</template>",
    "<svg><text>{}</text></svg>",
    "<iframe>{}</iframe>",
    "<object>{}</object>",
    "<canvas>{}</canvas>",
    "<dialog>{}</dialog>",
    "<select><option>{}</option></select>",
    "<datalist><option>{}</option></datalist>",
    "<?obey {}?>",
    '<img alt="{0}" title="{0}">',
    '<meta name="description" content="{}">',
    '<input type="hidden" value="{}">',
    '<p style="display:none">{}</p>',
    '<p style="DISPLAY : NONE !important">{}</p>',
    '<p style="color:red;display:/* no */none">{}</p>',
    '<div style="display:none"><p><b>{}</b></p></div>',
    '<p style="visibility:hidden">{}</p>',
    '<p style="visibility: collapse">{}</p>',
    '<p style="content-visibility:hidden">{}</p>',
    '<p style="opacity:0">{}</p>',
    '<p style="opacity:0.00">{}</p>',
    '<p style="font-size:0">{}</p>',
    '<p style="font-size:0px">{}</p>',
    '<p style="font-size:1px">{}</p>',
    '<p style="font-size:0.01em">{}</p>',
    '<p style="color:transparent">{}</p>',
    '<p style="color:#fff;background:#fff">{}</p>',
    '<p style="color:white;background-color:white">{}</p>',
    '<p style="display:none ! important">{}</p>',
    '<p style="display:none!important;display:block">{}</p>',
    '<p style="opacity:-1">{}</p>',
    '<p style="opacity:0.001">{}</p>',
    '<p style="opacity:.0e2">{}</p>',
    '<p style="opacity:1e-9">{}</p>',
    '<p style="opacity:4%">{}</p>',
    '<p style="color:#0000">{}</p>',
    '<p style="color:#12345600">{}</p>',
    '<p style="color:rgba(0,0,0,0)">{}</p>',
    '<p style="color:hsl(9 9% 9% / 0%)">{}</p>',
    '<p style="color:RGBA( 0, 0, 0, .01 )">{}</p>',
    '<p style="color:rgb(0 0 0 / 0%)">{}</p>',
    '<p style="color:hsl(0 0% 0%/0)">{}</p>',
    '<p style="-webkit-text-fill-color:transparent">{}</p>',
    '<p style="font:0/0 a">{}</p>',
    '<p style="font:italic 400 1px / 2 serif">{}</p>',
    '<p style="font-size:20px;font: 0.0 a">{}</p>',
    '<p style="font-size:1e-3px">{}</p>',
    '<p style="font-size:0vw">{}</p>',
    '<p style="height:0;overflow-y:hidden">{}</p>',
    '<p style="max-width:0;overflow:visible clip">{}</p>',
    '<p style="text-indent:-9999px">{}</p>',
    '<p style="position:absolute;left:-10000px">{}</p>',
    '<p style="position:absolute;top:-999em">{}</p>',
    '<p style="margin-left:-5000px">{}</p>',
    '<p style="clip:rect(0,0,0,0);position:absolute">{}</p>',
    '<p style="clip: rect(1px, 1px, 1px, 1px)">{}</p>',
    '<p style="clip-path:inset(50%)">{}</p>',
    '<p style="transform:scale(0)">{}</p>',
    '<p style="transform:translateX(-9999px)">{}</p>',
    '<p style="height:0;overflow:hidden">{}</p>',
    '<p style="width:0px;overflow:hidden">{}</p>',
    '<p style="max-height:0;overflow:clip">{}</p>',
    "<style>.x{{display:none}}</style><p class='a x'>{}</p>",
    "<p id='y'>{}</p><style>a, #y {{ visibility: hidden }}</style>",
    "<style>aside{{opacity:0}}</style><aside>{}</aside>",
    "<style>p.a.b{{font-size:0}}</style><p class='B A'>{}</p>",
    "<style>/* }} */ @import 'z'; .x{{color:red}} .x{{left:-9999px}}</style><p class=x>{}</p>",
    "<style>@media print{{.z{{color:red}}}} .x{{display:none}}</style><p class=x>{}</p>",
)
SEEN = (
    "<p hidden='until-found'>{}</p>",
    "<dialog open>{}</dialog>",
    "<details><summary>More</summary>{}</details>",
    '<p style="display:block;opacity:0.9;font-size:12px;text-indent:-1em;left:-5px">{}</p>',
    '<p style="opacity:1;color:#fff;background:#000;height:0;overflow:visible">{}</p>',
    '<p style="opacity:0.05;color:#000f;height:0.5em;overflow-x:hidden">{}</p>',
    '<p style="opacity:50%;color:#000000ff;font:1 16px/0 serif">{}</p>',
    '<p style="color:rgba(0,0,0,.5);font:bold 0.9em a">{}</p>',
    '<p style="color:var(--x, 0)">{}</p>',
    '<p style="color:var(--x, rgb(9, 9, 9), 0, 0)">{}</p>',
    '<p style="color:rgb(0 0 0);font:0/0 a;font-size:16px">{}</p>',
    '<p style="color:rgb(0,0,0);opacity:1e999;font-size:-1px">{}</p>',
    '<p style="color:rgb(9 9 9 / 0.9);display:block!important;display:none">{}</p>',
    "<style>body{{visibility:hidden}} html{{opacity:0}}</style>{}",
    "<style>@media print{{.x{{display:none}}}}</style><p class=x>{}</p>",
    "<style>@media (max-width:1px){{.a{{color:red}} .x{{display:none}}}}</style><p class=x>{}</p>",
    "<style>.x .y{{display:none}} p.q.x{{display:none}}</style><p class=x>{}</p>",
    "<style>{{{{}}}}}} .x{{</style><p class=x>{}</p>",
    "<table><tr><td>{}</table>",
    "<pre>{}</pre>",
    "{}",
    "<textarea>{}</textarea>",
    "<p>&#x2060;{}</p>",
)


@pytest.mark.parametrize("page", HIDDEN)
def test_hidden_text_is_left_out(page):
    html = f"<body><p>Before.</p>{page.format('Obey me.')}<p>After.</p>"
    assert page_text(html).text == "Before.\nAfter."


@pytest.mark.parametrize("page", SEEN)
def test_visible_text_is_kept(page):
    assert "Green tea." in page_text(f"<body>{page.format('Green tea.')}").text


def test_a_page_becomes_lines_and_has_a_title():
    page = page_text(
        "<!doctype html><title> Tea \n time </title><h1>Tea</h1><p>Green\n tea <b>is</b> <i>fine</i>.<br>Black too."
        "<ul><li>one<li>two</ul><table><tr><td>a<td>b</table>&lt;b&gt; &amp; &copy; &#128512;"
    )
    assert page.title == "Tea time"
    assert page.text == "Tea\nGreen tea is fine.\nBlack too.\none\ntwo\na\nb\n<b> & © 😀"


@pytest.mark.parametrize("html", ["", " ", "\0", "<", "<!--", "<!doctype html>", "<?xml?>", "</p>", "<html>"])
def test_text_that_is_not_html_gives_no_error(html):
    assert page_text(html).title == ""


def test_nesting_has_a_limit():
    assert page_text("<p>Before.</p>" + "<div>" * 100_000 + "deep").text == "Before."


def test_style_sheets_are_read_up_to_a_limit():
    rules = "".join(f".a{number}{{display:none}}" for number in range(3_000))
    html = f"<style>{rules}</style><p class=a1>one</p><p class=a2999>late</p>"
    assert page_text(html).text == "late"
    assert page_text(f"<style>{' ' * 2**18}.x{{display:none}}</style><p class=x>far</p>").text == "far"


PIECES = [*"<>/'\"=-! ;{}", "p", "b", "div", "style", "hidden", "<!--", "-->", "é", "\0", "\ud800"]


@given(st.lists(st.sampled_from(PIECES)))
def test_every_page_is_read_without_an_error(pieces):
    page_text("".join(pieces))
