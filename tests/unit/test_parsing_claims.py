"""Claims of an answer: whatever a model writes there, its answer is read, and what does not count is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.parsing import Parsed, ParseFailure, parse_answer
from roundtable.parsing.claims import ParsedClaim, parse_claims
from roundtable.results.evidence import has_words

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
FIELDS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("text", "supports", "attacks", "evidence", "quote", "url"), JSON_VALUES)
)


def answered(claims: Any, **more: Any) -> Parsed:
    parsed = parse_answer(json.dumps({"position": "Tea.", "claims": claims} | more), claims=True)
    assert not isinstance(parsed, ParseFailure)
    assert parsed.position == "Tea."
    return parsed


def test_a_claim_has_its_text_labels_and_sources() -> None:
    whole = {
        "text": " Tea \n keeps. ",
        "supports": ["R1-KTBM-1", "R1-KTBM-1"],
        "attacks": "R1-KTBM-2",
        "evidence": [{"url": " https://example.org/tea ", "quote": "tea\tkeeps"}, "http://example.org/b"],
    }
    assert answered([whole, "It is cheap.", {"text": 42}]).claims == (
        ParsedClaim(
            "Tea keeps.",
            ("R1-KTBM-1",),
            ("R1-KTBM-2",),
            (("https://example.org/tea", "tea keeps"), ("http://example.org/b", None)),
        ),
        ParsedClaim("It is cheap."),
        ParsedClaim("42"),
    )


@pytest.mark.parametrize(
    ("claims", "count", "warning"),
    [
        (None, 0, "no claims were given"),
        ([], 0, "no claims were given"),
        (7, 0, "the claims are not a list; they do not count"),
        ("Tea keeps.", 1, None),
        ({"text": "Tea keeps."}, 1, None),
        ([f"Claim {number}." for number in range(50)], 5, "only the first 5 of 50 claims count"),
        ([{"text": ""}, None, True, ["a"], {"claim": "a"}], 0, "claim 1 has no text and does not count"),
        (["Tea keeps.", "TEA  KEEPS."], 1, "claim 2 repeats another one and does not count"),
        ([{"text": "a", "supports": 7}], 1, "the labels supported by claim 1 are not a list; they do not count"),
        ([{"text": "a", "attacks": {"b": 1}}], 1, "the labels attacked by claim 1 are not a list; they do not count"),
        ([{"text": "a", "attacks": ["x"] * 21}], 1, "only the first 20 of 21 labels attacked by claim 1 count"),
        ([{"text": "a", "evidence": 7}], 1, "the evidence of claim 1 is not a list; it does not count"),
        ([{"text": "a", "evidence": ["http://a.example"] * 6}], 1, "only the first 5 of 6 sources of claim 1 count"),
    ],
)
def test_invalid_claims_are_dropped_with_a_warning(claims: Any, count: int, warning: str | None) -> None:
    parsed = answered(claims)
    assert len(parsed.claims) == count
    told = [text for text in parsed.warnings if "claim" in text]
    assert told[:1] == ([] if warning is None else [warning])


@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", "file:///etc/passwd", "https://", "example.org/a", "https://u:p@example.org/", ""),
        *("https://example.org/ a", "https://example.org/\u2028a", "https://[::1/", "https://a.example:port/", 7, None),
        *("https://example.org/<b>", 'https://example.org/"onload="x', f"https://example.org/{'a' * 2048}"),
    ],
)
def test_text_that_is_not_a_web_address_is_not_evidence(url: Any) -> None:
    parsed = answered([{"text": "Tea keeps.", "evidence": [{"url": url, "quote": "so"}]}])
    assert parsed.claims[0].evidence == ()
    assert "a source of claim 1 has no web address and does not count" in parsed.warnings


def test_a_long_claim_is_cut_and_control_characters_are_spaces() -> None:
    parsed = answered(["x" * 301, "a\u202eb\x1b[31mc\u200bd"])
    assert (len(parsed.claims[0].text), parsed.claims[0].text[-1]) == (300, "\u2026")
    assert parsed.claims[1].text == "ab [31mcd"
    assert "claim 1 has more than 300 characters and was cut" in parsed.warnings
    many = answered([{"text": "a", "evidence": [{"url": "https://a.example", "quote": "y" * 2_000}]}])
    assert many.claims[0].evidence == (("https://a.example", "y" * 999 + "\u2026"),)
    assert "a quote of claim 1 has more than 1000 characters and was cut" in many.warnings


def test_a_long_quote_is_cut_at_the_end_of_a_word_so_that_its_page_still_has_it() -> None:
    page = "green tea keeps for a year " * 60
    words = {f"{word}\u2026" for word in page.split()}
    parsed = answered([{"text": "a", "evidence": [{"url": "https://a.example", "quote": page}]}])
    quote = parsed.claims[0].evidence[0][1]
    assert quote is not None
    assert 980 < len(quote) <= 1_000
    assert quote.split()[-1] in words
    assert has_words(page, quote)


def test_joiners_are_kept_and_other_invisible_signs_are_not_spaces() -> None:
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0686\u0627\u06cc \u0628\u0646\u0648\u0634\u0645"
    source = {"url": "https://a.example", "quote": f"{persian} \u00adta\u00adble\u200b"}
    parsed = answered([{"text": f"{persian}\u200e", "evidence": [source]}])
    assert parsed.claims[0].text == persian
    quote = parsed.claims[0].evidence[0][1]
    assert quote == f"{persian} table"
    assert has_words(f"... {persian} table", quote)
    assert has_words(f"... {persian} ta\u00adble", quote)


def test_truncated_claims_are_lost_but_not_the_answer() -> None:
    text = json.dumps({"position": "Tea.", "confidence": 1, "claims": [{"text": "Tea keeps."}, {"text": "It"}]})
    parsed = parse_answer(text[:-7], claims=True)
    assert not isinstance(parsed, ParseFailure)
    assert (parsed.position, parsed.confidence, parsed.claims, parsed.truncated) == ("Tea.", 1.0, (), True)
    assert "the claims are cut off; they do not count" in parsed.warnings


def slipped(before: str, claims: str = "", after: str = "") -> str:
    """Write an answer with so many lists and one comma too many that it is not repaired as a whole."""
    many = ", ".join('{"text": "a", "supports": [], "attacks": [], "evidence": []}' for _ in range(16))
    return f'{{{before}, "claims": [{claims or many},]{after}}}'


def test_unreadable_claims_are_lost_but_not_the_answer() -> None:
    text = slipped('"position": "Tea.", "reasoning": "It says \\"claims\\": so.", "confidence": 1')
    parsed = parse_answer(f"Well: ```json\n{text}\n``` Done.", claims=True)
    assert not isinstance(parsed, ParseFailure)
    assert (parsed.position, parsed.confidence, parsed.claims) == ("Tea.", 1.0, ())
    assert parsed.reasoning == 'It says "claims": so.'
    assert (parsed.repaired, parsed.truncated) == (True, False)
    assert parsed.warnings == ("the claims cannot be read; they do not count",)


@pytest.mark.parametrize(
    "text",
    [
        slipped('"position": "Tea.", "confidence": 1', after=', "choice": "Milk"'),
        slipped('"more": {"position": "Tea."', after="}"),
        slipped('"position": "Tea'),
        slipped('"position": "They say \\"tea'),
        slipped('"answer": "Tea."'),
    ],
)
def test_a_text_that_may_have_lost_more_than_its_claims_is_not_an_answer(text: str) -> None:
    assert isinstance(parse_answer(text, claims=True), ParseFailure)


def test_an_answer_is_not_cut_before_claims_that_were_not_requested() -> None:
    assert isinstance(parse_answer(slipped('"position": "Tea.", "confidence": 1')), ParseFailure)


def test_claims_that_were_not_requested_are_not_read() -> None:
    parsed = parse_answer('{"position": "Tea.", "confidence": 1, "claims": 7}')
    assert not isinstance(parsed, ParseFailure)
    assert (parsed.claims, parsed.warnings) == ((), ())
    empty = parse_claims([{"text": "a", "supports": "", "attacks": None, "evidence": ""}])
    assert empty == ((ParsedClaim("a"),), ())


@given(JSON_VALUES | st.lists(FIELDS | st.text(max_size=20), max_size=8))
def test_every_value_leads_to_at_most_five_clean_claims(value: Any) -> None:
    claims, warnings = parse_claims(value)
    assert len(claims) <= 5
    assert len({claim.text.casefold() for claim in claims}) == len(claims)
    for claim in claims:
        assert 0 < len(claim.text) <= 300
        assert claim.text.replace("\u200c", "").replace("\u200d", "").isprintable()
        assert all(url.startswith(("http://", "https://")) for url, _ in claim.evidence)
    assert all(isinstance(text, str) for text in warnings)
