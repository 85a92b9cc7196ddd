"""Whatever agents wrote, a report holds no active content and no control character, in any of its forms."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from roundtable.report import (
    CostView,
    OptionView,
    ReportView,
    RoundView,
    SourceView,
    SpeakerView,
    csv_parts,
    plain,
    to_fragment,
    to_markdown,
    to_page,
    to_text,
)

if TYPE_CHECKING:
    from decimal import Decimal

LAW = settings(deadline=None)
ALLOWED = {
    "code",
    *("div", "h1", "h2", "h3", "p", "strong", "em", "br", "a", "blockquote", "details", "summary"),
    *("ul", "ol", "li", "table", "tbody", "thead", "tr", "th", "td"),
}
SCHEMES = re.compile(r"(https?|mailto):", re.IGNORECASE)
VOID = {"br"}
HOSTILE = (
    "<script>alert(1)</script>",
    "</div><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' onclick='alert(1)",
    "<svg/onload=alert(1)>",
    "&lt;script&gt;",
    "&#60;script&#62;",
    "<!--",
    "]]>",
    "[x](javascript:alert(1))",
    "![x](http://a.example/y.png)",
    "<javascript:alert(1)>",
    "<http://a.example>",
    "[x]: javascript:alert(1)",
    "[x][y]",
    "](x) [",
    "`code`",
    "```\n",
    "~~~",
    "    code",
    "# title",
    "title\n=====",
    "---",
    "***",
    "- item",
    "1. item",
    "1) item",
    "> quote",
    "| a | b |",
    "\\",
    "\\\n",
    "*a*",
    "__b__",
    "\n\n",
    "\r",
    "\u2028",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\u202e",
    "\x00",
    "\ud800",
    "=1+1",
)
URLS = (
    "javascript:alert(1)",
    "java\tscript:alert(1)",
    " \x01javascript:alert(1)",
    "data:text/html;base64,PHN2Zz4=",
    "https://a.example/<script>",
    'https://a.example/"onmouseover="alert(1)',
    "https://a.example/)[x](javascript:alert(1)",
    "https://a.example/>x",
    "https://a.example/\\>x",
    "https://a.example/&#62;",
    "https://a.example/a\nb",
    "mailto:a@b.example?subject=<x>",
    "http:javascript:alert(1)",
    "//a.example",
    "",
)
text = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=5).map("".join)
url = st.sampled_from(URLS) | text | st.text(max_size=6).map(lambda tail: "https://a.example/" + tail)
speakers = st.builds(
    SpeakerView,
    name=text,
    role=text,
    position=text,
    choice=st.none() | text,
    reasoning=text,
    confidence=st.none() | st.floats(0, 1),
    sources=st.lists(st.tuples(text, url), max_size=2).map(tuple),
    notes=st.lists(text, max_size=2).map(tuple),
    error=st.none() | text,
)
views = st.builds(
    ReportView,
    title=text,
    facts=st.lists(st.tuples(text, text), max_size=2).map(tuple),
    answer=st.none() | text,
    answer_reason=text,
    missing=st.lists(text, max_size=2).map(tuple),
    failed=st.lists(text, max_size=2).map(tuple),
    rounds=st.lists(
        st.builds(
            RoundView,
            number=st.integers(1, 99),
            complete=st.booleans(),
            agreement=st.none() | st.floats(0, 1),
            summary=text,
            speakers=st.lists(speakers, max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
)


class Inspector(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ALLOWED:
            self.faults.append(f"element {tag}")
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if (tag, name) == ("a", "href"):
                self.links.append(value or "")
                if not SCHEMES.match(value or ""):
                    self.faults.append(f"link to {value!r}")
            elif (tag, name) not in {("a", "rel"), ("div", "class"), ("details", "open"), ("ol", "start")}:
                self.faults.append(f"attribute {tag}.{name}={value!r}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID or attrs:
            self.faults.append(f"element {tag}")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"end of {tag}")

    def handle_comment(self, data: str) -> None:
        self.faults.append("comment")

    def handle_decl(self, decl: str) -> None:
        self.faults.append("declaration")

    def unknown_decl(self, data: str) -> None:
        self.faults.append("declaration")

    def handle_pi(self, data: str) -> None:
        self.faults.append("instruction")


def inspect(html: str) -> Inspector:
    found = Inspector()
    found.feed(html)
    found.close()
    assert found.faults == []
    assert found.open == []
    return found


def assert_visible(rendered: str) -> None:
    hidden = {char for char in rendered if unicodedata.category(char) in {"Cc", "Cf", "Cs"}} - set("\n\u200c\u200d")
    assert not hidden
    rendered.encode()


@LAW
@given(views)
def test_html_has_no_active_content(view: ReportView) -> None:
    rendered = to_fragment(view)
    assert_visible(rendered)
    inspect(rendered)


names = st.lists(text, max_size=2).map(tuple)
whole = st.builds(
    replace,
    views,
    state=text,
    about=text,
    answer_note=text,
    seats=names,
    rule=text,
    options=st.lists(
        st.builds(OptionView, name=text, score=text, share=st.floats(0, 1), won=st.booleans(), backers=names),
        max_size=2,
    ).map(tuple),
    figures=st.lists(st.tuples(text, text, text), max_size=2).map(tuple),
    independent=st.none() | st.floats(0, 1),
    minority=st.lists(speakers, max_size=2).map(tuple),
    sources=st.lists(st.builds(SourceView, title=text, url=url, snippet=text, cited_by=names), max_size=2).map(tuple),
    costs=st.lists(st.builds(CostView, name=text, model=text, turns=text, tokens=text, cost=text), max_size=2).map(
        tuple
    ),
    cost=text,
)
PAGE = {
    *(
        "html",
        "head",
        "body",
        "meta",
        "title",
        "style",
        "header",
        "nav",
        "main",
        "section",
        "footer",
        "article",
        "span",
    ),
    *("figure", "svg", "desc", "line", "text", "polyline", "circle", "rect", "dl", "dt", "dd", "i", "pre", "code"),
}
QUIET = {
    *("class", "id", "dir", "lang", "role", "scope", "open", "content", "charset", "name", "http-equiv", "rel"),
    *("aria-labelledby", "aria-label", "aria-hidden", "viewbox", "preserveaspectratio", "points", "text-anchor"),
    *("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height"),
}


class PageInspector(Inspector):
    """Knows what besides belongs on a whole page."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = tag in PAGE
        own = [pair for pair in attrs if not (pair[0] in QUIET or (pair[0] == "href" and (pair[1] or "")[:1] == "#"))]
        super().handle_starttag("div" if known else tag, own)
        if self.open[-1:] == ["div"] and known:
            self.open[-1] = tag
        if tag == "meta":
            self.open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_decl(self, decl: str) -> None:
        if decl != "doctype html":
            self.faults.append(f"declaration {decl}")


@LAW
@given(whole)
def test_a_page_has_no_active_content(view: ReportView) -> None:
    rendered = to_page(view)
    assert_visible(rendered)
    found = PageInspector()
    found.feed(rendered)
    found.close()
    assert found.faults == []
    assert found.open == []
    assert rendered.count("<style>") == rendered.count("<html") == 1


@LAW
@given(views)
@pytest.mark.parametrize("preset", ["commonmark", "gfm-like"])
def test_markdown_renders_to_no_active_content(preset: str, view: ReportView) -> None:
    rendered = to_markdown(view)
    assert_visible(rendered)
    # Linked addresses need a package of their own, and lead to the web alone.
    page = MarkdownIt(preset, {"html": True, "linkify": False}).render(rendered)
    found = inspect(page)
    assert page.count("<h1>") == 1
    assert page.count("<h2>") == len(view.rounds)
    assert page.count("<h3>") == sum(len(held.speakers) for held in view.rounds)
    shown = sum(len(one.sources) for held in view.rounds for one in held.speakers if one.error is None)
    assert len(found.links) + page.count("(unsafe link left out)") >= shown


@LAW
@given(whole)
def test_a_whole_report_in_markdown_renders_to_no_active_content(view: ReportView) -> None:
    rendered = to_markdown(view)
    assert_visible(rendered)
    page = MarkdownIt("commonmark", {"html": True}).render(rendered)
    inspect(page)
    more = bool(view.minority) + bool(view.sources) + bool(view.costs)
    assert page.count("<h2>") == len(view.rounds) + more


@LAW
@given(views)
def test_text_has_no_control_character_and_starts_no_new_line(view: ReportView) -> None:
    rendered = to_text(view)
    assert_visible(rendered)
    assert len(rendered.splitlines()) == rendered.count("\n")
    assert sum(line.startswith("Answer:") for line in rendered.splitlines()) >= 1


class Words(HTMLParser):
    """Collects what a reader sees, block by block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[str] = [""]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"strong", "em", "a"}:
            self.blocks.append("")

    def handle_data(self, data: str) -> None:
        self.blocks[-1] += data


def read(page: str) -> list[str]:
    """Return the blocks of text on a page."""
    words = Words()
    words.feed(page)
    words.close()
    return [block.strip() for block in words.blocks if block.strip()]


marks = st.text(st.sampled_from("ab1 .)(*_#-+>~`\\[]!&;:/@<|="), max_size=12)
said = (text | marks | st.text(max_size=12)).filter(lambda given: plain(given) != "")


@settings(max_examples=4 * settings().max_examples, deadline=None)
@given(said)
@pytest.mark.parametrize("preset", ["commonmark", "gfm-like"])
def test_markdown_shows_every_text_as_it_was_written(preset: str, given: str) -> None:
    spoken = SpeakerView(
        name=given,
        position=given,
        choice=given,
        reasoning=plain(given),
        sources=((given, "https://a.example"), (given, "javascript:x")),
        notes=(given,),
    )
    broken = SpeakerView(name="Bo", error=given)
    held = RoundView(number=1, complete=True, agreement=None, summary=given, speakers=(spoken, broken))
    view = ReportView(
        title=given, facts=((given, given),), answer=given, answer_reason=None, missing=(given,), rounds=(held,)
    )
    shown = plain(given)
    page = MarkdownIt(preset, {"html": True, "linkify": False}).render(to_markdown(view))
    assert read(page) == [
        shown,
        f"Missing {shown}",
        f"Answer: {shown}",
        f"{shown}: {shown}",
        "Round 1",
        shown,
        shown,
        shown,
        f"Answer: {shown}",
        shown,
        shown,
        f"{shown} (unsafe link left out)",
        shown,
        "Bo",
        f"Failed: {shown}",
    ]


@settings(max_examples=2 * settings().max_examples, deadline=None)
@given(said)
def test_markdown_makes_no_address_of_a_text_a_link(given: str) -> None:
    """Not even where a renderer makes links of whatever looks like an address."""
    speaker = SpeakerView(name="Ada", reasoning=plain(given))
    held = RoundView(number=1, complete=True, agreement=None, summary="", speakers=(speaker,))
    view = ReportView(title="t", facts=(), answer="a", answer_reason=None, missing=(), rounds=(held,))
    assert not re.search(r"(?<!\\)://|www(?<!\\)\.|(?<!\\)@", to_markdown(view), re.IGNORECASE)


@LAW
@given(st.decimals(min_value=0, max_value=10**15, allow_nan=False), st.sampled_from("+-"), st.booleans())
def test_csv_keeps_every_signed_decimal(number: Decimal, sign: str, grouped: bool) -> None:
    text = f"{sign}{format(number, ',f' if grouped else 'f')}"
    assert list(csv.reader(io.StringIO("".join(csv_parts(("a",), [{"a": text}])))))[1] == [text]


@LAW
@given(st.text("0123456789,.eE%+-=@;cmd| \n", min_size=1, max_size=12))
def test_csv_never_begins_a_cell_with_a_sign_unless_it_is_a_number(text: str) -> None:
    (cell,) = list(csv.reader(io.StringIO("".join(csv_parts(("a",), [{"a": text}])), newline="")))[1]
    if cell.lstrip()[:1] in {"=", "+", "-", "@"}:
        assert not set(cell) & set("=@;cmd| \n")
        assert cell[0] in "+-"
        assert not set(re.sub("[eE][+-]", "", cell[1:])) & {"+", "-"}
        assert cell[-1] in "0123456789%"
