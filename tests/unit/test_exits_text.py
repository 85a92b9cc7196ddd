"""Stop criteria written as text."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtable.errors import ConfigurationError
from roundtable.exits import (
    AllConfident,
    ConsensusReached,
    Converged,
    Exit,
    MaxRounds,
    MinRounds,
    Stable,
    exit_from_spec,
    exit_from_text,
    exit_registry,
)


@pytest.mark.parametrize(
    ("text", "criterion"),
    [
        ("consensus", ConsensusReached()),
        ("consensus(0.9)", ConsensusReached(0.9)),
        ("consensus(2/3)", ConsensusReached("2/3")),
        (" consensus( threshold = 0.9 ) ", ConsensusReached(0.9)),
        ("max_rounds(5) | consensus & min_rounds(2)", MaxRounds(5) | ConsensusReached() & MinRounds(2)),
        ("(max_rounds(5) | consensus) & min_rounds(2)", (MaxRounds(5) | ConsensusReached()) & MinRounds(2)),
        ("max_rounds(3) | max_rounds(4) | max_rounds(5)", MaxRounds(3) | MaxRounds(4) | MaxRounds(5)),
        ("confidence | convergence", AllConfident() | Converged()),
        ("stable", Stable()),
    ],
)
def test_a_criterion_as_text_equals_the_criterion_in_python(text: str, criterion: Exit) -> None:
    assert exit_from_text(text).to_spec() == criterion.to_spec()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "brackets or operators"),
        ("consensus(", "brackets or operators"),
        ("consensus max_rounds(3)", "brackets or operators"),
        ("consensus + max_rounds(3)", "is not a criterion"),
        ("consensus or max_rounds(3)", "is not a criterion"),
        ("[1]", "is not a criterion"),
        ("consensus.threshold", "is not a criterion"),
        ("__import__('os').system('true')", "is not a criterion"),
        ("consensus(high)", "is not a number"),
        ("consensus(10**9)", "is not a number"),
        ("consensus(open('/etc/passwd'))", "is not a number"),
        ("consensus(**{'threshold': 1})", "the field '**' of 'consensus' has no name or is set twice"),
        ("consensus(0.9, threshold=0.8)", "the field 'threshold' of 'consensus' has no name or is set twice"),
        ("consensus(kind='any')", "is set twice"),
        ("consensus(0.9, 2)", "does not take 2 values"),
        ("consensus(1.5)", "must lie in [0, 1]"),
        ("consensus(-0.5)", "must lie in [0, 1]"),
        ("max_rounds(0)", "at least 1"),
        ("nobody_knows", "unknown exit"),
        ("any", "join them with | or &"),
        ("all(consensus, max_rounds(3))", "join them with | or &"),
        ("max_rounds", "needs 'rounds'"),
        ("no-more(2)", "is not a criterion"),
        ("consensus(" + "-" * 1_000 + "1)", "is not a number"),
        ("(" * 500 + "consensus" + ")" * 500, "brackets or operators"),
        (" | ".join(["consensus"] * 60), "nested more than 30 deep"),
        ("consensus" + " " * 2_000, "more than 2000"),
    ],
)
def test_an_unreadable_text_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=r".") as refused:
        exit_from_text(text)
    assert reason in refused.value.message
    assert len(refused.value.message) < 400


@given(st.text(alphabet="consuamxrd_()|&,=0123456789./ -'\"[]{}*\n", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        criterion = exit_from_text(text)
    except ConfigurationError:
        return
    assert exit_from_spec(criterion.to_spec()).to_spec() == criterion.to_spec()


@dataclass(frozen=True, slots=True)
class Noted(Exit):
    """An exit with fields that hold no number."""

    kind = "noted"
    strict: bool = False
    note: str | None = "none"


@pytest.mark.parametrize(
    ("text", "criterion"),
    [
        ("noted(true, none)", Noted(strict=True, note=None)),
        ("noted(False, 'x')", Noted(strict=False, note="x")),
        ("noted(note=null, strict=false)", Noted(strict=False, note=None)),
        ("noted", Noted()),
    ],
)
def test_fields_can_be_flags_texts_and_none(text: str, criterion: Noted) -> None:
    exits = exit_registry()
    exits.add("noted", Noted.from_spec, source="test")
    assert exit_from_text(text, exits) == criterion


def test_kinds_of_plugins_are_known_by_their_registry() -> None:
    class Never(Exit):
        kind = "never"

    exits = exit_registry()
    exits.add("never", lambda spec, _load: Never(), source="test")
    exits.add("no-more", lambda spec, _load: Never(), source="test")
    assert exit_from_text("'no-more' | 'no-more'(left=2)", exits).to_spec()["kind"] == "any"
    assert exit_from_text("never | max_rounds(3)", exits).to_spec()["of"][0] == {"kind": "never"}
    with pytest.raises(ConfigurationError, match=r"name its fields"):
        exit_from_text("never(1)", exits)
