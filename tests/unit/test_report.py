"""A report as text, Markdown and HTML: what is shown, and in what order."""

from __future__ import annotations

import pytest

from roundtable.report import ReportView, RoundView, SpeakerView, to_html, to_markdown, to_text
from roundtable.report.render import plain, safe_url

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


def test_text_shows_who_is_missing_then_rounds_then_the_answer() -> None:
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
        "### Ada\n"
        "\n"
        "**Use a monolith.**\n"
        "\n"
        "Choice: No\n"
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
def test_ordinary_prose_stays_as_it_was_written(said: str) -> None:
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
def test_what_would_change_the_page_is_escaped(said: str, written: str) -> None:
    speaker = SpeakerView(name="Ada", reasoning=said)
    held = RoundView(number=1, complete=True, agreement=None, summary="", speakers=(speaker,))
    view = ReportView(title="t", facts=(), answer="a", answer_reason=None, missing=(), rounds=(held,))
    assert to_markdown(view).endswith(f"### Ada\n\n{written}\n")


def test_html_is_a_fragment_with_everything_in_it() -> None:
    text = to_html(VIEW)
    assert text.startswith(
        '<div class="roundtable"><h3>Should we?</h3><p><strong>Missing</strong> Bo failed: no key</p>'
    )
    assert "<tr><th>Cost</th><td>unknown</td></tr>" in text
    assert "<strong>Ada</strong> (85%): [No] Use a monolith.<p>It is simple.<br>It is cheap.</p>" in text
    assert '<a href="https://example.org/a?b=1&amp;c=&lt;2&gt;" rel="noopener noreferrer">Paper</a>' in text
    assert "<li>javascript:alert(1) (unsafe link left out)</li>" in text
    assert "<strong>Bo</strong> <em>failed:</em> no key" in text
    assert "none: two positions tie" in to_html(NOTHING)


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
