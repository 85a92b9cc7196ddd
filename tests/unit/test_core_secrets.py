"""No form of a secret survives, and what holds none stays as it is."""

from __future__ import annotations

import base64
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.secrets_kit import traces

from roundtable.core.base.secrets import REDACTED, Scrubber, secret_forms
from roundtable.logs import ContextFormatter

KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60)
PLAIN = st.text(st.characters(codec="utf-8"), max_size=60)


@given(KEYS, PLAIN, PLAIN)
def test_every_form_of_a_secret_is_removed(key, before, after):
    scrubber = Scrubber([key])
    for trace in traces(key):
        found = scrubber.text(f"{before}{trace}{after}")
        assert all(form not in found.replace(REDACTED, "\0") for form in secret_forms(key))
        assert trace not in found.replace(REDACTED, "\0")


@given(KEYS, PLAIN, PLAIN)
def test_scrubbing_again_changes_nothing(key, before, after):
    scrubber = Scrubber([key])
    once = scrubber.text(f"{before} {key} {after}")
    assert scrubber.text(once) == once


@given(st.text(st.characters(codec="utf-8", categories=("L", "N", "Zs")), max_size=200))
def test_a_text_without_secrets_stays_as_it_is(text):
    assert Scrubber(["canary-0123456789"]).text(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("key sk-ant-api03-abcdefghijklmnop.", "key [redacted]."),
        ("Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer [redacted]"),
        ("x-api-key: abcdefgh, next", "x-api-key: [redacted], next"),
        ("X-Goog-Api-Key: abcdefgh", "X-Goog-Api-Key: [redacted]"),
        ("https://host/v1?alt=sse&key=abc&x=1", "https://host/v1?alt=sse&key=[redacted]&x=1"),
        ("postgres://me:pass@host/db", "postgres://[redacted]@host/db"),
        ("AIza" + "x" * 35, "[redacted]"),
        ("the bearer of good news is at risk-averse", "the bearer of good news is at risk-averse"),
    ],
)
def test_text_that_looks_like_a_key_is_removed_too(text, left):
    assert Scrubber().text(text) == left
    assert Scrubber().text(left) == left


def test_the_beginning_of_a_long_key_is_a_secret_as_well():
    assert Scrubber(["canary-0123456789"]).text("bad key canary-01234...") == "bad key [redacted]..."


KEY = "canary/0123+456789/wxyz"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (KEY.replace("/", "\\/"), REDACTED),
        (json.dumps({"key": 'quo"ted/' + KEY}).replace("/", "\\/"), '{"key": "quo\\"ted\\/[redacted]"}'),
        ("bad key ****wxyz", "bad key [redacted]"),
        ("bad key canary\u2026wxyz.", "bad key canary[redacted]."),
        ("bad key ...wxyz", "bad key [redacted]"),
        ("**bold** wxyz and ****wxyzabc", "**bold** wxyz and ****wxyzabc"),
        (json.dumps(json.dumps(KEY.replace("/", "\\/"))), '"\\"[redacted]\\""'),
        (KEY.replace("/", "\\u002f").replace("+", "\\u002B"), REDACTED),
        (KEY.replace("/", "%2f").replace("+", "%2B"), REDACTED),
        (KEY.replace("/", "%252F"), REDACTED),
        (KEY.replace("/", "&#x2F;").replace("+", "&#43;"), REDACTED),
        ("bad key ****9/wxyz, ***789/wxyz", "bad key [redacted], [redacted]"),
        ("****8/wxyz", "****8/wxyz"),
    ],
)
def test_escaped_keys_and_ends_after_a_mask_are_removed(text, left):
    assert Scrubber([KEY]).text(text) == left


def test_a_key_with_a_quotation_mark_is_removed_from_json():
    key = 'canary"0123/456\\789'
    assert Scrubber([key]).text(json.dumps(key)) == f'"{REDACTED}"'
    assert Scrubber([key]).text(json.dumps(key).replace("/", "\\/")) == f'"{REDACTED}"'


@pytest.mark.parametrize("before", ["", "a", "ab", "Bearer "])
@pytest.mark.parametrize("key", [KEY, KEY + "1", KEY + "12", "~" * 9 + "?>?>?>"])
def test_nothing_of_the_end_of_a_key_is_left_in_base64(before, key):
    encoded = base64.b64encode((before + key).encode()).decode()
    for text in (encoded, encoded.replace("/", "\\/")):
        left = Scrubber([key]).text(f"sent {text} today")
        assert left.endswith(f"{REDACTED} today")
        assert len(left) <= len(f"sent {REDACTED} today") + len(base64.b64encode(before.encode())) + 4


def test_short_placeholder_keys_are_not_removed():
    assert secret_forms("ollama") == ()
    assert Scrubber(["ollama", ""]).text("ollama runs") == "ollama runs"


def test_json_values_are_scrubbed_in_names_and_depth():
    scrubber = Scrubber()
    scrubber.add(["canary-12"])
    value = {"a": ["canary-12", 1, None, {"canary-12": True}]}
    assert scrubber.value(value) == {"a": [REDACTED, 1, None, {REDACTED: True}]}


def test_log_lines_hold_no_form_of_a_secret():
    form = ContextFormatter(secrets=["canary-0123456789"], as_json=True)
    for trace in traces("canary-0123456789"):
        line = form.format(logging.makeLogRecord({"msg": f"sent {trace}", "levelname": "INFO", "where": [trace]}))
        assert "canary-01234" not in json.loads(line)["message"]
        assert trace not in line
