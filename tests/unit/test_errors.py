"""Errors carry their facts, survive every copy, and turn into JSON that anyone may read."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
from pathlib import Path

import pytest

import roundtable.errors as module
from roundtable.errors import (
    AgentError,
    APIAuthError,
    APINetworkError,
    APIRateLimitError,
    APITimeoutError,
    BudgetExceeded,
    CassetteMiss,
    CircuitOpen,
    ConfigurationError,
    ContextTooLong,
    LeaseLost,
    ParseError,
    PluginError,
    QuorumLost,
    RoundtableError,
    SessionBusy,
    SessionConflict,
    SessionError,
    SessionNotFound,
    StaleSequence,
    StorageError,
    error_kinds,
)

TABLE = [
    # class, code, retryable, default message
    (RoundtableError, "ROUNDTABLE_ERROR", False, "AI Roundtable failed"),
    (APIRateLimitError, "API_RATE_LIMIT", True, "API rate limit exceeded"),
    (APIAuthError, "API_AUTH_FAILED", False, "API authentication failed"),
    (APINetworkError, "API_NETWORK_ERROR", True, "Network error occurred"),
    (CircuitOpen, "API_NETWORK_ERROR", False, "Circuit breaker open"),
    (APITimeoutError, "API_TIMEOUT", True, "API request timed out"),
    (AgentError, "AGENT_ERROR", False, None),
    (ContextTooLong, "AGENT_ERROR", False, None),
    (ParseError, "PARSE_ERROR", False, None),
    (SessionError, "SESSION_ERROR", False, None),
    (SessionNotFound, "SESSION_ERROR", False, None),
    (SessionConflict, "SESSION_ERROR", False, None),
    (StaleSequence, "SESSION_ERROR", True, None),
    (SessionBusy, "SESSION_ERROR", True, None),
    (LeaseLost, "SESSION_ERROR", False, None),
    (StorageError, "STORAGE_ERROR", False, None),
    (ConfigurationError, "CONFIGURATION_ERROR", False, None),
    (PluginError, "PLUGIN_ERROR", False, None),
    (BudgetExceeded, "BUDGET_EXCEEDED", False, None),
    (CassetteMiss, "CASSETTE_MISS", False, None),
    (QuorumLost, "QUORUM_LOST", True, None),
]
KEYS = {
    "name", "message", "code", "provider", "retryable", "cause", "hint", "requestId", "retryAfterS", "details", "stack",
}  # fmt: skip
every_kind = pytest.mark.parametrize("kind", error_kinds(), ids=lambda kind: kind.__name__)


class PluginsOwn(APIRateLimitError):
    """A subclass of a plugin, with an argument of its own."""

    def __init__(self, bucket: str) -> None:
        super().__init__(f"bucket {bucket} is empty", provider="acme", retry_after_s=2.0)
        self.bucket = bucket


@pytest.mark.parametrize(("kind", "code", "retryable", "message"), TABLE, ids=[str(row[0].__name__) for row in TABLE])
def test_codes_flags_and_messages_are_the_documented_ones(
    kind: type[RoundtableError], code: str, retryable: bool, message: str | None
) -> None:
    error = kind()
    assert (error.code, error.retryable) == (code, retryable)
    if message is not None:
        assert str(error) == error.message == message


def test_the_table_of_this_test_is_complete() -> None:
    assert {row[0] for row in TABLE} == set(error_kinds())
    assert {kind.__name__ for kind in error_kinds()} | {"PartialResult", "error_kinds"} == set(module.__all__)
    assert error_kinds()[0] is RoundtableError


def test_the_tree_in_the_docstring_is_correct() -> None:
    drawn: list[tuple[str, str | None, str, bool]] = []
    parents: list[str] = []
    for line in (module.__doc__ or "").split("```")[1].strip().splitlines():
        match = re.fullmatch(r"([│ ]*(?:[├└]── )?)(\w+)(?:\s+([A-Z_]+))?(\s+retryable)?", line)
        assert match, line
        depth = len(match[1]) // 4
        del parents[depth:]
        drawn.append((match[2], parents[-1] if parents else None, match[3] or "", bool(match[4])))
        parents.append(match[2])
    real = {
        (
            kind.__name__,
            None if kind is RoundtableError else kind.__bases__[0].__name__,
            "" if kind is RoundtableError else kind.default_code,
            kind.default_retryable,
        )
        for kind in error_kinds()
    }
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == real


@every_kind
def test_every_kind_says_when_it_occurs(kind: type[RoundtableError]) -> None:
    assert kind.__doc__
    assert "__doc__" in vars(kind)


@every_kind
def test_a_hint_says_how_to_recover_if_that_is_known(kind: type[RoundtableError]) -> None:
    # A configuration and a plugin can fail in ways of their own; each place that raises gives the hint.
    if kind not in (RoundtableError, ConfigurationError, PluginError):
        assert kind().hint
        assert kind().hint != RoundtableError.default_hint
    assert kind(hint="Do this.").hint == "Do this."


def test_given_facts_win_over_the_defaults_of_the_class() -> None:
    cause = OSError("disk")
    error = SessionError(
        "Session 'abc-123' not found",
        code="A_FINER_CODE",
        provider="p",
        retryable=True,
        cause=cause,
        hint="Look.",
        request_id="req_1",
        retry_after_s=1.5,
        details={"id": "abc-123"},
    )
    assert str(error) == "Session 'abc-123' not found"
    assert (error.code, error.provider, error.retryable, error.hint) == ("A_FINER_CODE", "p", True, "Look.")
    assert (error.request_id, error.retry_after_s, error.details) == ("req_1", 1.5, {"id": "abc-123"})
    assert error.__cause__ is cause


def test_retryable_can_be_switched_off() -> None:
    assert not APIRateLimitError(retryable=False).retryable


def test_the_json_form_is_that_of_the_documentation() -> None:
    assert APIRateLimitError("API rate limit exceeded for anthropic", provider="anthropic").to_dict() == {
        "name": "APIRateLimitError",
        "message": "API rate limit exceeded for anthropic",
        "code": "API_RATE_LIMIT",
        "provider": "anthropic",
        "retryable": True,
        "hint": APIRateLimitError.default_hint,
    }
    error = AgentError("Failed to parse", cause=ValueError("Invalid JSON in response"))
    assert error.to_dict()["cause"] == "Invalid JSON in response"


@every_kind
def test_json_holds_no_stack_and_no_empty_field_unless_asked(kind: type[RoundtableError]) -> None:
    error = _raised(kind())
    plain = json.loads(json.dumps(error.to_dict(), allow_nan=False))
    assert set(plain) <= KEYS - {"stack"}
    assert None not in plain.values()
    assert {"name", "message", "code", "retryable"} <= set(plain)
    stack = error.to_dict(debug=True)["stack"]
    assert isinstance(stack, str)
    assert "in _raised" in stack


def _raised(error: RoundtableError) -> RoundtableError:
    try:
        raise error
    except RoundtableError as caught:
        return caught


@pytest.mark.parametrize("text", ["", "\ud83d", "caf\udce9", "\x00", "a" * 100_000], ids=ascii)
def test_any_text_becomes_json_that_every_wire_can_carry(text: str) -> None:
    error = AgentError(text, cause=OSError(text))
    for document in (error.to_dict(), error.to_dict(debug=True)):
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    assert error.message


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf])
def test_an_invalid_wait_is_unknown(seconds: float) -> None:
    error = APIRateLimitError(retry_after_s=seconds)
    assert error.retry_after_s is None
    json.dumps(error.to_dict(), allow_nan=False)


def test_an_empty_cause_is_named_by_its_class() -> None:
    assert AgentError(cause=TimeoutError()).to_dict()["cause"] == "TimeoutError"


def test_details_are_a_copy() -> None:
    facts = {"a": 1}
    error = AgentError(details=dict(facts))
    shown = error.to_dict()["details"]
    assert isinstance(shown, dict)
    shown["a"] = 2
    assert error.details == facts


ORIGINALS = [
    *(kind(f"{kind.__name__} happened") for kind in error_kinds()),
    APITimeoutError("late", provider="p", request_id="r", retry_after_s=3.0, code="X", retryable=False, hint="Wait."),
    PluginError("broken", plugin="roundtable-acme", stage="import", cause=ImportError("no acme")),
    QuorumLost("lost", details={"failed": ["ada"]}),
    PluginsOwn("tokens"),
]


@pytest.mark.parametrize("error", ORIGINALS, ids=lambda error: f"{type(error).__name__}-{error.message[:6]}")
def test_copies_and_pickles_keep_every_field(error: RoundtableError) -> None:
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert vars(other) == vars(error)
        assert other.args == error.args
        assert other.to_dict() == error.to_dict()


def test_a_pickle_of_version_0_2_is_read() -> None:
    error = AgentError("failed", hint="Ask again.")
    stored = pickle.dumps(error, protocol=0).replace(b"roundtable.core.", b"roundtable.")
    assert b"core" not in stored
    assert pickle.loads(stored).to_dict() == error.to_dict()


def test_a_wrapped_error_travels_as_its_text() -> None:
    original = AgentError("failed", cause=KeyError("x"))
    copied = pickle.loads(pickle.dumps(original))
    assert str(copied.__cause__) == "'x'"
    assert pickle.loads(pickle.dumps(AgentError("failed"))).__cause__ is None


def test_an_error_raised_from_another_names_it() -> None:
    with pytest.raises(StorageError) as caught:
        raise StorageError("outer") from ValueError("inner")
    assert caught.value.to_dict()["cause"] == "inner"


def test_a_plugin_error_names_the_plugin_and_the_stage() -> None:
    error = PluginError(plugin="roundtable-acme", stage="import")
    assert (error.plugin, error.stage) == ("roundtable-acme", "import")
    assert error.to_dict()["details"] == {"plugin": "roundtable-acme", "stage": "import"}
    assert "details" not in PluginError().to_dict()


def test_a_lost_quorum_keeps_the_answers_so_far() -> None:
    partial = object()
    error = QuorumLost(partial=partial, causes=iter([APIAuthError("no"), APITimeoutError("late")]))  # type: ignore[arg-type]
    assert error.partial is partial
    assert [type(cause) for cause in error.causes] == [APIAuthError, APITimeoutError]
    assert "partial" not in error.to_dict()
    assert [str(cause) for cause in pickle.loads(pickle.dumps(QuorumLost(causes=error.causes))).causes] == [
        "no",
        "late",
    ]


def test_subclasses_are_caught_as_the_documented_errors() -> None:
    assert issubclass(ContextTooLong, AgentError)
    assert issubclass(ParseError, AgentError)
    for kind in (SessionNotFound, SessionConflict, StaleSequence, SessionBusy, LeaseLost):
        assert issubclass(kind, SessionError)
        assert kind().code == "SESSION_ERROR"
    assert all(issubclass(kind, RoundtableError) for kind in error_kinds())
    assert PluginsOwn not in error_kinds()


def test_the_page_of_errors_lists_every_kind() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/reference/errors.md").read_text("utf-8")
    for kind in error_kinds():
        assert f"| `{kind.__name__}` | `{kind.default_code}` | {kind.default_message} |" in page
