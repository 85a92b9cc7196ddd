"""JSON from a stranger: read, or refused with an error of ours."""

from __future__ import annotations

import json

import pytest

from roundtable.errors import AgentError
from roundtable.providers.wire import cost_of, dump_json, items_of, load_json, object_of, text_of, tokens_of


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        ('\ufeff["x"]', ["x"]),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b'["\\ud800x", {"\\udfff": "\\ud83d\\ude00"}]', ["\ufffdx", {"\ufffd": "\U0001f600"}]),
        (b"[NaN, Infinity, -Infinity]", [None, None, None]),
        (b" null ", None),
        (b"[" * 500 + b"]" * 500, json.loads("[" * 500 + "]" * 500)),
        (b"[" + b"[]," * 600 + b"[]]", [[]] * 601),
    ],
)
def test_odd_but_readable_answers_are_read(body, value):
    assert load_json(body) == value


@pytest.mark.parametrize(
    ("body", "why", "retryable"),
    [
        pytest.param(b"", "is empty", True, id="empty"),
        pytest.param(b" \n", "is empty", True, id="blank"),
        pytest.param(b'{"a": [1, 2', "is not JSON", True, id="cut"),
        pytest.param(b'{"a": "\xff"}', "is not UTF-8", True, id="bytes"),
        pytest.param('{"a": 1}'.encode("utf-16"), "is not UTF-8", True, id="utf-16"),
        pytest.param(b"[" * 200_000 + b"]" * 200_000, "too deeply", False, id="deep"),
        pytest.param(b'{"\\u0041":' * 5000 + b"1" + b"}" * 5000, "too deeply", False, id="deep objects"),
        pytest.param(b"[" * 501 + b"]" * 501, "too deeply", False, id="just too deep"),
        pytest.param(b'{"a": ' + b"9" * 5000 + b"}", "too many digits", False, id="long number"),
    ],
)
def test_unreadable_answers_are_refused_without_keeping_the_body(body, why, retryable):
    with pytest.raises(AgentError, match=why) as caught:
        load_json(body)
    assert caught.value.retryable is retryable
    assert not isinstance(caught.value.__cause__, UnicodeDecodeError)
    assert len(str(caught.value.to_dict())) < 600


def test_a_request_is_compact_utf8_with_surrogates_replaced():
    assert dump_json({"a": ["é", 1.5, None], "b": "\ud800"}) == '{"a":["é",1.5,null],"b":"?"}'.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_cannot_express_is_refused(number):
    with pytest.raises(AgentError, match="JSON"):
        dump_json({"temperature": number})


def test_readers_return_their_type_for_any_input():
    for value in (None, True, 1, 1.5, "x", [1], {"a": 1}):
        assert isinstance(object_of(value), dict)
        assert len(items_of(value)) == (1 if value == [1] else 0)
        assert text_of(value) == ("x" if value == "x" else "")
        assert tokens_of(value) in {0, 1}
    assert tokens_of(float("inf")) == 10**9
    assert tokens_of(float("nan")) == 0
    assert tokens_of(3.9) == 3
    assert tokens_of(True) == 0


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"cost": {"total_cost": 0.5}}, 0.5),
        ({"cost": 0}, 0.0),
        ({"cost": "much"}, None),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}, 0.21),
        ({"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": None}}, None),
        ({"cost": 0, "is_byok": True}, None),
        ({"cost": 0.1, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.1}}, 0.1),
        ({"cost_in_usd_ticks": 232_856_000}, 0.0232856),
        ({"cost_in_usd_ticks": 0}, None),
        ({"cost_in_usd_ticks": -1}, None),
        ({"cost_in_usd_ticks": 10**400}, None),
        ({"cost_in_usd_ticks": "many"}, None),
    ],
)
def test_a_cost_is_what_the_caller_pays(usage, cost):
    assert cost_of(usage) == pytest.approx(cost)
