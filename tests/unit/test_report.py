"""A report as text, Markdown and HTML: what is shown, and in what order."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import re
from dataclasses import replace

import pytest
from unit.report_kit import debate

from roundtable.report import (
    PairTable,
    ReportView,
    RoundView,
    SpeakerView,
    csv_parts,
    pair_lines,
    plain,
    to_fragment,
    to_markdown,
    to_page,
    to_text,
)
from roundtable.report.charts import trajectory
from roundtable.report.html import SECTIONS
from roundtable.report.html_builder import prose, tag
from roundtable.report.sanitize import safe_url
from roundtable.results.view import view_of
from roundtable.types import BallotAnswer

ADA = SpeakerView(
    name="Ada",
    role="judge",
    position="Use a monolith.",
    choice="No",
    reasoning="It is simple.\n\n  It is cheap.  ",
    confidence=0.85,
    sources=(("Paper", "https://example.org/a?b=1&c=<2>"), ("", "javascript:alert(1)")),
    notes=("the answer was prose",),
)
BO = SpeakerView(name="Bo", error="no key")
CY = SpeakerView(name="Cy", position="Split it.")
VIEW = ReportView(
    title="Should we?",
    facts=(("Agreement", "0.50"), ("Cost", "unknown")),
    answer="Use a monolith.",
    answer_reason=None,
    missing=("Bo failed: no key",),
    rounds=(
        RoundView(number=1, complete=True, agreement=0.5, summary="Two positions.", speakers=(ADA, BO)),
        RoundView(number=2, complete=False, agreement=None, summary="", speakers=(CY,)),
    ),
)
NOTHING = ReportView(title="Tea?", facts=(), answer=None, answer_reason="two positions tie", missing=(), rounds=())


def test_text_shows_missing_agents_then_rounds_then_the_answer() -> None:
    assert to_text(VIEW) == (
        "Should we?\n"
        "\n"
        "! Bo failed: no key\n"
        "Round 1, agreement 0.50\n"
        "  Ada (judge) (85%): [No] Use a monolith.\n"
        "    It is simple.\n"
        "    It is cheap.\n"
        "    source: Paper https://example.org/a?b=1&c=<2>\n"
        "    source:  javascript:alert(1)\n"
        "    note: the answer was prose\n"
        "  Bo FAILED: no key\n"
        "  Two positions.\n"
        "\n"
        "Round 2 (not completed)\n"
        "  Cy: Split it.\n"
        "\n"
        "Answer: Use a monolith.\n"
        "Agreement: 0.50\n"
        "Cost: unknown\n"
    )
    assert to_text(NOTHING) == "Tea?\n\nAnswer: none: two positions tie\n"


def test_markdown_is_a_document_of_headings() -> None:
    assert to_markdown(VIEW) == (
        "# Should we?\n"
        "\n"
        "> **Missing** Bo failed: no key\n"
        "\n"
        "**Answer:** Use a monolith.\n"
        "\n"
        "- **Agreement:** 0.50\n"
        "- **Cost:** unknown\n"
        "\n"
        "## Round 1, agreement 0.50\n"
        "\n"
        "Two positions.\n"
        "\n"
        "### Ada (judge)\n"
        "\n"
        "**Use a monolith.**\n"
        "\n"
        "Answer: No\n"
        "\n"
        "Confidence: 85%\n"
        "\n"
        "It is simple.\n"
        "\n"
        "It is cheap.\n"
        "\n"
        "- [Paper](<https://example.org/a?b=1&c=%3C2%3E>)\n"
        "\n"
        "- javascript:alert(1) (unsafe link left out)\n"
        "\n"
        "*the answer was prose*\n"
        "\n"
        "### Bo\n"
        "\n"
        "*Failed:* no key\n"
        "\n"
        "## Round 2 (not completed)\n"
        "\n"
        "### Cy\n"
        "\n"
        "**Split it.**\n"
    )
    assert "**Answer:** none: two positions tie" in to_markdown(NOTHING)


PROSE = (
    'Ship it (v2.0), don\'t wait: 3 < 5, x_train > y, R&D at 50% - "C# + Go!" costs $5/month; see #7 & RFC-2119.',
    "2 * 3 = 6, snake_case_names and a_b",
    "C:\\temp is a folder, a\\b too",
    "1.5 times, 2.5.1 is a version, -5 is a number, #hashtag",
    "Question? {braces} | pipes |",
)


@pytest.mark.parametrize("said", PROSE)
def test_ordinary_prose_is_unchanged(said: str) -> None:
    speaker = SpeakerView(name="Ada", position=said, reasoning=said)
    held = RoundView(number=1, complete=True, agreement=None, summary=said, speakers=(speaker,))
    view = ReportView(title=said, facts=((said, said),), answer=said, answer_reason=None, missing=(), rounds=(held,))
    assert to_markdown(view).count(said) == 7


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("- a", "\\- a"),
        ("1. a", "1\\. a"),
        ("12) a", "12\\) a"),
        ("# a", "\\# a"),
        ("> a", "\\> a"),
        ("---", "\\---"),
        ("* * *", "\\* * \\*"),
        ("**a** _b_", "\\*\\*a\\*\\* \\_b\\_"),
        ("<b> &amp;", "\\<b> \\&amp;"),
        ("[a](b) `c` ~~d~~", "\\[a\\](b) \\`c\\` \\~\\~d\\~\\~"),
        ("https://a.example www.a.example me@a.example", "https\\://a.example www\\.a.example me\\@a.example"),
        ("a\\* b\\", "a\\\\\\* b\\\\"),
        ("a #", "a \\#"),
        (":smile:", "\\:smile:"),
    ],
)
def test_text_that_would_change_the_page_is_escaped(said: str, written: str) -> None:
    speaker = SpeakerView(name="Ada", reasoning=said)
    held = RoundView(number=1, complete=True, agreement=None, summary="", speakers=(speaker,))
    view = ReportView(title="t", facts=(), answer="a", answer_reason=None, missing=(), rounds=(held,))
    assert to_markdown(view).endswith(f"### Ada\n\n{written}\n")


def test_html_is_a_fragment_with_everything_in_it() -> None:
    text = to_fragment(VIEW)
    assert text.startswith(
        '<div class="roundtable"><h3>Should we?</h3><p><strong>Missing</strong> Bo failed: no key</p>'
    )
    assert "<tr><th>Cost</th><td>unknown</td></tr>" in text
    assert "<strong>Ada (judge)</strong> (85%): [No] Use a monolith.<p>It is simple.<br>It is cheap.</p>" in text
    assert '<a href="https://example.org/a?b=1&amp;c=&lt;2&gt;" rel="noopener noreferrer">Paper</a>' in text
    assert "<li>javascript:alert(1) (unsafe link left out)</li>" in text
    assert "<strong>Bo</strong> <em>failed:</em> no key" in text
    assert "none: two positions tie" in to_fragment(NOTHING)
    flow = to_fragment(view_of(debate()))
    assert "<tr><th>Sonar the researcher</th><td>C 90%</td><td>A 98% moved</td><td>A 100%</td></tr>" in flow
    assert "<li>C: Stay with a monolith</li>" in flow
    assert not re.search(r"<svg|href=.#|tabindex", flow)


def test_a_position_without_text_makes_no_rule_across_the_page() -> None:
    empty = SpeakerView(name="Ada", position="\u202e ")
    held = RoundView(number=1, complete=True, agreement=None, summary="", speakers=(empty,))
    view = ReportView(title="t", facts=(), answer="", answer_reason=None, missing=(), rounds=(held,))
    assert "****" not in to_markdown(view)
    assert "\n  Ada:\n" in to_text(view)


def test_text_lines_are_at_most_a_hundred_characters_but_addresses_stay_whole() -> None:
    long = "word " * 100 + "x" * 300
    address = "https://example.org/" + "a" * 200
    speaker = SpeakerView(name=long, position=long, reasoning=long, notes=(long,), sources=(("t", address),))
    failed = SpeakerView(name="Bo", error=long)
    held = RoundView(number=1, complete=True, agreement=None, summary=long, speakers=(speaker, failed))
    view = ReportView(
        title=long, facts=(("a", long),), answer=long, answer_reason=None, missing=(long,), rounds=(held,)
    )
    lines = to_text(view).splitlines()
    assert max(len(line) for line in lines if address not in line) <= 100
    assert any(line.endswith(address) for line in lines)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/b", "https://a.example/b"),
        ("HTTP://a.example", "HTTP://a.example"),
        ("mailto:a@b.example", "mailto:a@b.example"),
        (" https://a.example/b c\n", "https://a.example/b%20c"),
        ("ht\ttps://a.example", "https://a.example"),
        ("\u202ehttps://a.example\u200b", "https://a.example"),
        ("javascript:alert(1)", None),
        ("java\nscript:alert(1)", None),
        ("\x01javascript:alert(1)", None),
        ("JaVaScRiPt:alert(1)", None),
        ("data:text/html,x", None),
        ("vbscript:x", None),
        ("file:///etc/passwd", None),
        ("//a.example", None),
        ("a.example", None),
        ("&#106;avascript:alert(1)", None),
        ("http&#58;//a.example", None),
        ("https://[bad", None),
        ("", None),
    ],
    ids=ascii,
)
def test_only_web_and_mail_addresses_are_links(url: str, expected: str | None) -> None:
    assert safe_url(url) == expected


def test_plain_text_is_one_line_without_hidden_characters() -> None:
    hidden = "a\x00b\x1b[31mc\u202ed\u2066e\u200bf\ud800g\ufeff"
    assert plain(hidden) == "ab[31mcdefg"
    assert plain(" a\r\nb\u2028c\x85d\te ") == "a b c d e"
    assert plain("a\r\nb\x0bc\td", lines=True) == "a\nb\nc d"
    spelt = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f680"
    assert plain(spelt) == spelt


def shown(page: str) -> dict[str, str]:
    """Return the text of each section of a page."""
    parts = re.split(r'<section class="[a-z ]+" id="([a-z]+)"', page)
    words = [html.unescape(" ".join(re.sub(r"<[^>]*>", " ", part).split())) for part in parts]
    return dict(zip(words[1::2], words[2::2], strict=True))


def test_a_page_has_all_its_sections_in_order() -> None:
    page = debate().to_html()
    sections = shown(page)
    assert list(sections) == [name for name in SECTIONS if name not in {"synthesis", "claims"}]  # nobody asked
    assert "Start modular, split later" in sections["answer"]
    assert "3 of 4 agents hold it" in sections["answer"]
    assert "0.1353 USD 24,970 tokens" in sections["answer"]
    assert "Adopt microservices GPT the optimist 1" in sections["decision"]
    assert "The number of each option shows its votes; its bar shows their share." in sections["decision"]
    assert "A Start modular, split later the answer held by Claude the pragmatist, Gemini" in sections["camps"]
    assert "Agent Round 1 Round 2 Round 3 Claude the pragmatist A 63%" in sections["movement"]
    assert "Sonar the researcher C 90% \u2192 moved A 98%" in sections["movement"]
    assert "Agreement 0.50 0.75 0.75" in sections["movement"]
    assert "2 0.75 86% 3 of 4" in sections["trajectory"]
    assert "GPT the optimist Adopt microservices 88% confident" in sections["minority"]
    assert "Gemini" not in sections["minority"]
    assert "no answer within 120 s" in sections["rounds"]
    assert "Tools used: search_web" in sections["rounds"]
    assert "cited by Claude the pragmatist, Sonar the researcher" in sections["sources"]
    assert "Most split too soon." in sections["sources"]
    assert "scripted:model-1 2 answered, 1 failed 3,700 in, 840 out" in sections["cost"]
    assert f"Session {'4f1c' * 8}" in sections["session"]


def test_a_page_carries_its_style_and_allows_nothing_else() -> None:
    page = debate().to_html()
    style = page[page.index("<style>") + len("<style>") : page.index("</style>")]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = html.unescape(page.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0])
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert " style=" not in page
    assert not re.search(r"url\(|@import|<script|<img|<link|<iframe", page)


def test_without_an_answer_the_page_says_why_and_lists_the_positions() -> None:
    held = RoundView(number=1, complete=False, agreement=None, summary="", speakers=(ADA, BO, CY))
    view = replace(NOTHING, rounds=(held,), state="paused")
    sections = shown(to_page(view))
    assert "No answer two positions tie" in sections["answer"]
    assert "Ada : No: Use a monolith. Cy : Split it." in sections["answer"]
    assert "This debate is paused." in to_page(view)
    assert "minority" not in sections
    assert "There is no decision to differ from" in sections["decision"]
    assert "Round 1 · not completed" in sections["rounds"]
    assert "No decision rule was applied." in sections["decision"]


def test_an_empty_debate_has_a_page_too() -> None:
    sections = shown(to_page(NOTHING))
    assert list(sections) == ["answer", "decision", "rounds", "session"]
    assert sections["rounds"].endswith("No round was begun.")
    assert "Nobody held another view" not in sections["decision"]
    unanimous = replace(NOTHING, answer="Tea")
    assert "Nobody held another view" in shown(to_page(unanimous))["decision"]


@pytest.mark.parametrize(
    ("said", "block"),
    [
        ("one\ntwo\n\nthree", "<p>one<br>two</p><p>three</p>"),
        ("- a\n- **b**\nend", "<ul><li>a</li><li><strong>b</strong></li></ul><p>end</p>"),
        ("1. a\n2) b", '<ul><li class="numbered">1. a</li><li class="numbered">2) b</li></ul>'),
        ("## Title\n* x", "<p><strong>Title</strong></p><ul><li>x</li></ul>"),
        ("```py\na < b\n\n- c\n```\nend", "<pre><code>a &lt; b\n\n- c</code></pre><p>end</p>"),
        ("```\nnever closed", "<pre><code>never closed</code></pre>"),
        ("``` \n```", ""),
        ("2 * 3 * 4, a_b, *so*, `<i>`", "<p>2 * 3 * 4, a_b, <em>so</em>, <code>&lt;i&gt;</code></p>"),
        ("**a *b** c", "<p>**a <em>b</em>* c</p>"),
        ("> said\n>> twice", "<blockquote>said<br>twice</blockquote>"),
        (
            "**[a](http://a.ex)** ![b](//b)",
            '<p><strong><a href="http://a.ex" rel="noopener noreferrer">a</a></strong> b (unsafe link left out)</p>',
        ),
        (
            "see https://a.example/?q=<b>.",
            '<p>see <a href="https://a.example/?q=" rel="noopener noreferrer">https://a.example/?q=</a>&lt;b&gt;.</p>',
        ),
        (
            "(https://a.example/b), done",
            '<p>(<a href="https://a.example/b" rel="noopener noreferrer">https://a.example/b</a>), done</p>',
        ),
        ("", ""),
    ],
)
def test_the_markdown_of_models_is_rendered(said: str, block: str) -> None:
    assert "".join(part.text for part in prose(said)) == block


@pytest.mark.slow
def test_long_runs_of_stars_take_linear_time() -> None:
    for hostile in (
        "**a" * 50_000,
        "*" * 100_000,
        "a`" * 50_000,
        "** " * 50_000,
        "# " * 50_000,
        "1." * 50_000,
        "[a" * 50_000,
        "[a](b" * 50_000,
        "> x\n" * 20_000,
        "https://a" * 20_000,
    ):
        assert len("".join(part.text for part in prose(hostile))) > 1000


def test_active_attributes_cannot_be_put_into_a_tag() -> None:
    for attributes in ({"onclick": "x"}, {"style": "x"}, {"src": "x"}, {"href": "https://a.example"}):
        with pytest.raises(ValueError, match="a page has no attribute"):
            tag("p", **attributes)
    assert tag("a", "b", href="#c").text == '<a href="#c">b</a>'


def test_the_chart_has_gaps_for_rounds_without_a_measurement() -> None:
    sure = (SpeakerView(name="Ada", confidence=0.5),)
    rounds = tuple(
        RoundView(number=number, complete=True, agreement=level, summary="", speakers=sure)
        for number, level in enumerate((0.1, 0.2, None, 0.4), 1)
    )
    drawn = trajectory(replace(VIEW, rounds=rounds))
    assert drawn is not None
    assert drawn.text.count('<polyline class="agreement"') == 1
    assert drawn.text.count('<circle class="agreement"') == 3
    assert "round 4: agreement 0.40, mean confidence 50%" in drawn.text
    assert trajectory(NOTHING) is None


def test_the_chart_of_many_rounds_stays_small() -> None:
    rounds = tuple(
        RoundView(number=number, complete=True, agreement=0.5, summary="", speakers=(ADA,)) for number in range(1, 501)
    )
    drawn = trajectory(replace(VIEW, rounds=rounds, independent=0.25))
    assert drawn is not None
    assert drawn.text.count("<circle") == 1  # where it began
    assert drawn.text.count("<text") <= 5 + 10 + 1


def test_csv_has_no_formula_and_no_control_character() -> None:
    rows = [
        {"a": text, "b": -1.5} for text in ("=1+1", " +1", "-x", "@x", "\uff1dx", "\t=1", "\x1b[31mred", 'a,"b"\nc')
    ]
    written = "".join(csv_parts(("a", "b", "c"), [*rows, {"c": None}] * 100))
    read = list(csv.reader(io.StringIO(written)))
    assert read[0] == ["a", "b", "c"]
    assert len(read) == 901
    said = [row[0] for row in read[1:10]]
    assert said == ["'=1+1", "' +1", "'-x", "'@x", "'\uff1dx", "' =1", "[31mred", 'a,"b"\nc', ""]
    assert {row[1] for row in read[1:]} == {"-1.5", ""}


@pytest.mark.parametrize(
    "text", ["-5", "+7", "-1,250.50", "+1,000,000", "-.5", "-0.25", "-3.5e6", "+1E-9", "-12%", "-007", "5", "1,250.50"]
)
def test_csv_keeps_plain_numbers(text: str) -> None:
    assert "".join(csv_parts(("a",), [{"a": text}])).split("\r\n")[1].strip('"') == text


@pytest.mark.parametrize(
    "text",
    [
        *("-", "+", "-.", "--5", "+-5", "-5-5", "-5+cmd", "-5;=1", "-2+3+cmd|' /C calc'!A0", "-1,25", "-1250,000"),
        *(
            "-1,250,",
            "-5%+1",
            "-5%%",
            "-1e",
            "-1e5e5",
            "-1.2.3",
            "-A1",
            "-SUM(1)",
            "+\u0665",
            "\uff0d5",
            "-5\n=1",
            "-5\n",
        ),
        *("-5 ", " -5", "=5", "@5", "-5!", "-0x41", "+1:2", "-1,250.50,3"),
    ],
)
def test_csv_keeps_no_other_text_with_a_sign(text: str) -> None:
    written = "".join(csv_parts(("a",), [{"a": text}]))
    assert list(csv.reader(io.StringIO(written, newline="")))[1][0].startswith("'")


@pytest.mark.parametrize(
    "text",
    [
        "fine;=1+1",
        'fine;=HYPERLINK("http://evil.example","x");ok',
        'fine;"=1+1"',
        'fine;""=1+1',
        "fine;+1;-1;@x;\uff1d1",
        "fine\t=1+1",
        "fine\n=1+1",
        "fine\r=1+1",
        "fine\u2028+1+1",
        'fine\n"@x',
        "fine\n-1+1",
        "fine\n=-1",
        ";=1",
        "fine; =1+1",
        'fine; "=1+1"',
        'fine;\u00a0 " =1+1',
        "fine\n  =1+1",
        "fine; \uff1d1",
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_has_no_formula_whatever_separates_the_cells(text: str, delimiter: str) -> None:
    """Spreadsheets in most of Europe separate cells by semicolons."""
    for row in ({"a": "Ada", "b": text}, {"a": text, "b": "Ada"}):
        written = "".join(csv_parts(("a", "b"), [row]))
        cells = [cell for read in csv.reader(io.StringIO(written), delimiter=delimiter) for cell in read]
        assert not [cell for cell in cells if cell.lstrip('" \n\u00a0').startswith(("=", "+", "-", "@", "\uff1d"))]


@pytest.mark.parametrize(
    "text",
    [
        "Tea; it keeps - and 1+1=2; -5 is cold.",
        "Fine ;-) and a=b;c=d",
        "Reasons:\n- it keeps\n- it is cheap\n\n+ more",
        "One; =) two;\n  =====\nthree",
        "Title\n=====\nabove\n---\nbelow\n-- \nAda",
        'She said;"yes"\n"no"',
    ],
)
def test_csv_does_not_change_ordinary_prose(text: str) -> None:
    written = "".join(csv_parts(("a",), [{"a": text}]))
    assert list(csv.reader(io.StringIO(written, newline="")))[1] == [text]


def test_markdown_ends_with_minority_sources_and_cost() -> None:
    text = debate().to_markdown()
    end = text[text.index("## Minority report") :]
    assert end.startswith("## Minority report\n\n- **GPT the optimist:** Adopt microservices: ")
    assert "\n\n## Sources\n\n- [A study" in end
    assert "(Claude the pragmatist, Sonar the researcher) \u201cMost split too soon.\u201d" in end
    assert end.endswith("- **Sonar the researcher (scripted:model-3):** 3 answered, 5,550 in, 1,260 out, 0.0369 USD\n")
    assert "Tools used: search\\_web" in text or "Tools used: search_web" in text


def test_an_answer_that_is_not_a_position_is_described_in_words() -> None:
    made = debate(rounds=1)
    turn = made.rounds[0].turns[0]
    assert turn.outcome == "answered"
    voted = turn.result.model_copy(update={"answer": BallotAnswer(choice="Tea", reasoning="It keeps.")})
    held = made.rounds[0].model_copy(update={"turns": (turn.model_copy(update={"result": voted}),)})
    page = made.model_copy(update={"rounds": (held,)}).to_html()
    assert "votes: Tea It keeps." in shown(page)["rounds"]


PAIRS = PairTable(
    caption="Head to head",
    names=("Lisbon | *the* capital", "\u202eP" + "o" * 200, "<b>Faro</b>"),
    cells=(("-", "3", "2.5"), ("1", "-", "2"), ("1.5", "2", "-")),
)


def test_pairs_of_a_vote_are_a_small_table_in_every_form() -> None:
    view = replace(NOTHING, pairs=PAIRS)
    assert to_text(view).splitlines()[-5:] == [
        "Head to head",
        "         1    2    3",
        "    1    -    3  2.5  Lisbon | *the* capital",
        f"    2    1    -    2  P{'o' * 76}\u2026",
        "    3  1.5    2    -  <b>Faro</b>",
    ]
    assert max(map(len, pair_lines(PAIRS, 40))) == 40
    assert (
        "\nHead to head\n"
        "\n"
        "|  | 1 | 2 | 3 |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| 1. Lisbon \\| \\*the\\* capital | - | 3 | 2.5 |\n"
        f"| 2. P{'o' * 58}\u2026 | 1 | - | 2 |\n"
        "| 3. \\<b>Faro\\</b> | 1.5 | 2 | - |\n"
    ) in to_markdown(view)
    for page in (to_page(view), to_fragment(view)):
        assert '<th scope="row" dir="auto">3. &lt;b&gt;Faro&lt;/b&gt;</th><td class="number">1.5</td>' in page
        assert "\u202e" not in page
    for shown in (to_text(NOTHING), to_markdown(NOTHING), to_page(NOTHING), to_fragment(NOTHING)):
        assert "Head to head" not in shown


def test_a_role_is_shown_with_the_name_if_one_agent_speaks_twice() -> None:
    speakers = (SpeakerView(name="Ada", role="independent", position="Tea"), SpeakerView(name="Ada", position="Milk"))
    held = RoundView(number=1, complete=True, agreement=None, summary="", speakers=speakers)
    view = replace(NOTHING, rounds=(held,))
    assert "### Ada (independent)\n\n**Tea**\n\n### Ada\n\n**Milk**\n" in to_markdown(view)
    assert "  Ada (independent): Tea\n  Ada: Milk\n" in to_text(view)
    assert "<strong>Ada (independent)</strong>: Tea" in to_fragment(view)
    assert '<span class="chip">independent</span>' in to_page(view)
