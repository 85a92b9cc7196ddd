"""What official clients do with each value of their retry headers, and what we do.

The rows are those of the clients' own tests: the table of `retry-after` that openai-python and anthropic-sdk-python
share (it has a cap of 60 s and a first delay of 0.5 s), and openai-python's later one about overflow (cap 120 s, gives
up above). Ours waits 1 s first, obeys up to 120 s, and gives up at once above.
"""

from __future__ import annotations

import pytest

from roundtable.gateway import RetryRule
from roundtable.providers.failures import Refusal, error_for

RULE = RetryRule(jitter=0)
NOW = "Fri, 29 Sep 2023 16:26:37 GMT"
OWN = 1.0
"""Our first delay, where theirs is 0.5 s."""
GIVES_UP = None


def waited(status, headers, retry=1):
    """Seconds until that retry; None where the call ends."""
    error = error_for("acme", status, {"date": NOW, **headers}, Refusal("Synthetic."))
    return RULE.wait_s(error, retry, 0.0) if RULE.allows(error, 1) else GIVES_UP


@pytest.mark.parametrize(
    ("retry", "header", "theirs", "ours"),
    [
        (1, "20", 20, 20),
        (1, "0", 0.5, OWN),
        (1, "-10", 0.5, OWN),
        (1, "60", 60, 60),
        (1, "61", 0.5, 61),
        (1, "inf", 0.5, OWN),
        (1, "nan", 0.5, OWN),
        (1, "Fri, 29 Sep 2023 16:26:57 GMT", 20, 20),
        (1, "Fri, 29 Sep 2023 16:26:37 GMT", 0.5, OWN),
        (1, "Fri, 29 Sep 2023 16:26:27 GMT", 0.5, OWN),
        (1, "Fri, 29 Sep 2023 16:27:37 GMT", 60, 60),
        (1, "Fri, 29 Sep 2023 16:27:38 GMT", 0.5, 61),
        (1, "99999999999999999999999999999999999", 0.5, GIVES_UP),
        (1, "Zun, 29 Sep 2023 16:26:27 GMT", 0.5, OWN),
        (1, "", 0.5, OWN),
        (2, "", 1.0, 2 * OWN),
        (3, "", 2.0, 4 * OWN),
        (1103, "", 8, 32),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_the_header_retry_after_is_read(status, retry, header, theirs, ours):
    assert waited(status, {"retry-after": header}, retry) == ours


@pytest.mark.parametrize(
    ("status", "headers", "theirs", "ours"),
    [
        (429, {"retry-after": "1e999"}, None, GIVES_UP),
        (503, {"retry-after": "9" * 400}, None, GIVES_UP),
        (429, {"retry-after-ms": "1e999"}, None, GIVES_UP),
        (503, {"retry-after-ms": "9" * 400}, None, GIVES_UP),
        (401, {"retry-after": "1e999", "x-should-retry": "true"}, None, GIVES_UP),
        (429, {"retry-after": "inf"}, 0.5, OWN),
        (503, {"retry-after": " +Infinity "}, 0.5, OWN),
        (429, {"retry-after": "NaN"}, 0.5, OWN),
        (429, {"retry-after": "-1e999"}, 0.5, OWN),
        (429, {"retry-after-ms": "inf", "retry-after": "90"}, 0.5, OWN),
        (429, {"retry-after": "1e2"}, 100.0, 100.0),
        (503, {"retry-after-ms": "1e5"}, 100.0, 100.0),
    ],
)
def test_a_retry_after_out_of_range_is_ignored_or_limited(status, headers, theirs, ours):
    assert waited(status, headers) == ours


@pytest.mark.parametrize(
    ("status", "should", "tried"),
    [
        (status, should, tried)
        for status in (400, 401, 408, 409, 425, 429, 500, 502, 503, 504, 529)
        for should, tried in (("true", True), ("false", False), ("maybe", status not in {400, 401}))
    ],
)
def test_the_message_of_the_provider_wins_over_the_status(status, should, tried):
    assert (waited(status, {"x-should-retry": should}) is not GIVES_UP) is tried


@pytest.mark.parametrize(
    ("headers", "ours"),
    [
        ({"retry-after-ms": "50"}, 0.05),
        ({"retry-after-ms": "50", "retry-after": "9"}, 0.05),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after-ms": "-5", "retry-after": "9"}, OWN),
        ({"retry-after": "120"}, 120),
        ({"retry-after": "120.01"}, GIVES_UP),
        ({"retry-after": "86400"}, GIVES_UP),
        ({"retry-after": "soon"}, OWN),
    ],
)
def test_the_longest_wait_of_all_headers_counts(headers, ours):
    assert waited(429, headers) == ours


def test_a_wait_that_is_too_long_is_kept_in_the_error():
    error = error_for("acme", 429, {"retry-after": "86400"}, Refusal())
    assert error.retry_after_s == 86400
    assert error_for("acme", 429, {"retry-after": "9" * 400}, Refusal()).retry_after_s == 1e12
