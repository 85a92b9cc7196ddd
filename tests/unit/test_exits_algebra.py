"""The algebra of stop criteria."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pytest

from roundtable.errors import ConfigurationError
from roundtable.exits import (
    BUILTIN_EXITS,
    AllOf,
    AnyOf,
    Exit,
    MaxRounds,
    MinRounds,
    exit_from_spec,
    exit_registry,
    members,
    without_met,
)
from roundtable.exits.base import as_json
from roundtable.protocols import ExitRound
from roundtable.types import ExitResult, JsonObject, RoundRecord


def held(count: int) -> list[RoundRecord]:
    return [RoundRecord(number=number, complete=True) for number in range(1, count + 1)]


@dataclass(frozen=True, slots=True)
class Never(Exit):
    kind = "never"
    note: object = None

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=False)


def test_max_rounds_ends_at_its_number() -> None:
    assert MaxRounds(2).check([]).figures == {"round": 0, "maxRounds": 2}
    assert not MaxRounds(2).check(held(1)).should_exit
    result = MaxRounds(2).check(held(2))
    assert (result.should_exit, result.reason) == (True, "max_rounds")
    assert result.figures == {"round": 2, "maxRounds": 2}
    assert result.details == "round 2 is the last of at most 2"
    assert MaxRounds(2).check(held(3)).should_exit


def test_min_rounds_holds_from_its_number_on() -> None:
    assert MinRounds(2).check(held(1)).reason is None
    assert not MinRounds(2).check(held(1)).should_exit
    assert MinRounds(2).check(held(2)).reason == "min_rounds"
    assert MinRounds(2).check(held(2)).figures == {"round": 2, "minRounds": 2}


@pytest.mark.parametrize("rounds", [0, -1, 1.5, "2", True, None])
@pytest.mark.parametrize("kind", [MaxRounds, MinRounds])
def test_a_number_of_rounds_is_a_whole_number_from_one(kind: type[MaxRounds | MinRounds], rounds: object) -> None:
    with pytest.raises(ConfigurationError, match=f"{kind.__name__} must be a whole number of at least 1"):
        kind(rounds)  # type: ignore[arg-type]


def test_the_operator_and_binds_tighter_than_or_and_equal_operators_are_flattened() -> None:
    joined = MaxRounds(5) | MaxRounds(3) & MinRounds(2) & MinRounds(1) | MaxRounds(4)
    assert joined == AnyOf((MaxRounds(5), AllOf((MaxRounds(3), MinRounds(2), MinRounds(1))), MaxRounds(4)))
    assert (MaxRounds(1) | (MaxRounds(2) | MaxRounds(3))) == ((MaxRounds(1) | MaxRounds(2)) | MaxRounds(3))
    assert (MaxRounds(1) & (MaxRounds(2) & MaxRounds(3))) == ((MaxRounds(1) & MaxRounds(2)) & MaxRounds(3))
    assert (MaxRounds(1) & (MaxRounds(2) | MaxRounds(3))).kind == "all"


def test_the_first_criterion_that_ends_gives_the_reason_and_all_checked_ones_are_recorded() -> None:
    result = (Never() | MaxRounds(3) | MaxRounds(2) | MaxRounds(1)).check(held(2))
    assert (result.should_exit, result.reason) == (True, "max_rounds")
    assert result.details == "round 2 is the last of at most 2"
    assert result.figures == {
        "checked": [
            {"exit": "never", "ends": False, "figures": {}},
            {"exit": "max_rounds", "ends": False, "figures": {"round": 2, "maxRounds": 3}},
            {"exit": "max_rounds", "ends": True, "figures": {"round": 2, "maxRounds": 2}},
        ]
    }
    not_ended = (Never() | MaxRounds(3)).check(held(2))
    assert (not_ended.should_exit, not_ended.reason) == (False, None)
    assert len(not_ended.figures["checked"]) == 2  # type: ignore[arg-type]


def test_an_and_needs_all_criteria_and_a_precondition_gives_no_reason() -> None:
    joined = MinRounds(2) & MaxRounds(1)
    assert not joined.check(held(1)).should_exit
    assert joined.check(held(1)).reason is None
    assert [row["ends"] for row in joined.check(held(1)).figures["checked"]] == [False, True]  # type: ignore[index, call-overload, union-attr]
    result = joined.check(held(2))
    assert (result.should_exit, result.reason) == (True, "max_rounds")
    assert result.details == "round 2 of at least 2; round 2 is the last of at most 1"
    assert (MinRounds(1) & MinRounds(2)).check(held(2)).reason == "min_rounds"


def test_a_criterion_can_be_read_back_from_json() -> None:
    criterion = MaxRounds(5) | MaxRounds(3) & MinRounds(2)
    spec = criterion.to_spec()
    assert spec == {
        "kind": "any",
        "of": [
            {"kind": "max_rounds", "rounds": 5},
            {"kind": "all", "of": [{"kind": "max_rounds", "rounds": 3}, {"kind": "min_rounds", "rounds": 2}]},
        ],
    }
    assert exit_from_spec(spec) == criterion


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({}, "needs the name of its kind, not None; known: any, all, max_rounds", id="no kind"),
        pytest.param({"kind": 3}, "not 3", id="kind is no name"),
        pytest.param({"kind": "max_round"}, "unknown exit 'max_round'. Did you mean 'max_rounds'", id="unknown"),
        pytest.param({"kind": "max_rounds"}, "'max_rounds' needs 'rounds'", id="missing"),
        pytest.param({"kind": "max_rounds", "rounds": 0}, "at least 1", id="out of range"),
        pytest.param({"kind": "max_rounds", "n": 0}, "has no field 'n'; it has: rounds", id="unknown field"),
        pytest.param({"kind": "any"}, "'any' needs a list of criteria", id="no members"),
        pytest.param({"kind": "all", "of": []}, "at least one criterion", id="empty"),
        pytest.param({"kind": "all", "of": ["max_rounds"]}, "must be an object", id="no object"),
    ],
)
def test_json_that_describes_no_criterion_is_refused(spec: JsonObject, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        exit_from_spec(spec)


def nested(depth: int) -> JsonObject:
    spec: JsonObject = {"kind": "max_rounds", "rounds": 3}
    for level in range(depth):
        spec = {"kind": "all" if level % 2 else "any", "of": [spec]}
    return spec


@pytest.mark.parametrize("depth", [31, 400])
def test_json_that_is_nested_more_than_thirty_deep_is_refused(depth: int) -> None:
    assert exit_from_spec(nested(30)).to_spec() == nested(30)
    with pytest.raises(ConfigurationError, match="can be nested at most 30 levels deep"):
        exit_from_spec(nested(depth))


def test_criteria_that_are_joined_more_than_thirty_deep_are_refused() -> None:
    deepest = exit_from_spec(nested(30))
    assert (deepest & MinRounds(2)).to_spec()["kind"] == "all"
    with pytest.raises(ConfigurationError, match="can be nested at most 30 levels deep"):
        deepest | MinRounds(2)


@dataclass(frozen=True, slots=True)
class Longer(Exit):
    """An exit of a plugin that compares its field, whatever it is."""

    kind = "longer"
    words: int = 5

    def __post_init__(self) -> None:
        assert self.words > 0


def test_a_field_with_a_value_that_the_class_cannot_use_is_refused() -> None:
    exits = exit_registry()
    exits.add("longer", Longer.from_spec, source="test")
    assert exit_from_spec({"kind": "longer", "words": 3}, exits) == Longer(3)
    with pytest.raises(ConfigurationError, match=r"'longer' cannot be built: '>' not supported"):
        exit_from_spec({"kind": "longer", "words": "many"}, exits)


def test_only_criteria_can_be_joined() -> None:
    with pytest.raises(ConfigurationError, match="3 is not a stop criterion"):
        MaxRounds(1) | 3  # type: ignore[operator]

    class Half:
        def check(self, rounds: object) -> None: ...

    with pytest.raises(ConfigurationError, match="is not a stop criterion"):
        MaxRounds(1) & Half()  # type: ignore[operator]


def test_a_custom_criterion_can_be_joined_and_read_back() -> None:
    exits = exit_registry()
    exits.add("never", Never.from_spec)
    criterion = Never("x") | MaxRounds(2)
    assert exit_from_spec(criterion.to_spec(), exits) == criterion
    with pytest.raises(ConfigurationError, match="unknown exit 'never'"):
        exit_from_spec(criterion.to_spec())

    class Foreign:
        def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
            return ExitResult(should_exit=True, reason="foreign")

        def to_spec(self) -> JsonObject:
            return {}

    result = (MaxRounds(9) | Foreign()).check(held(1))
    assert result.reason == "foreign"
    assert result.figures["checked"][1]["exit"] == "Foreign"  # type: ignore[index, call-overload, union-attr]


def test_a_criterion_must_implement_its_check() -> None:
    with pytest.raises(NotImplementedError, match="Exit must override check"):
        Exit().check([])


def test_fields_are_kept_as_json() -> None:
    assert Never(Fraction(2, 3)).to_spec() == {"kind": "never", "note": "2/3"}
    assert [as_json(value) for value in (Fraction(9, 10), None, True, 3, "x", 0.5)] == [0.9, None, True, 3, "x", 0.5]
    with pytest.raises(ConfigurationError, match="must be a JSON value"):
        Never(object()).to_spec()


def test_every_built_in_criterion_has_its_own_kind() -> None:
    assert len({found.kind for found in BUILTIN_EXITS}) == len(BUILTIN_EXITS) == len(exit_registry())
    assert all(entry.summary for entry in exit_registry())


class Foreign:
    """A criterion that is no `Exit`, as the protocol allows."""

    def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
        return ExitResult(should_exit=len(rounds) > 1)

    def to_spec(self) -> JsonObject:
        return {"kind": "foreign"}


def test_the_members_of_a_criterion_are_listed_in_order() -> None:
    joined = MaxRounds(9) | (MaxRounds(3) & (Never() | MinRounds(2)))
    assert members(joined) == (MaxRounds(9), MaxRounds(3), Never(), MinRounds(2))
    assert members(Never()) == (Never(),)
    assert members(MaxRounds(2) | Foreign()) == (MaxRounds(2),)
    assert members(Foreign()) == ()


def test_criteria_that_held_before_an_extension_are_left_out_after_it() -> None:
    joined = MaxRounds(2) | MaxRounds(4) | MinRounds(1) & Never()
    assert without_met(joined, held(1)) == joined
    assert without_met(joined, held(2)) == AnyOf((MaxRounds(4), MinRounds(1) & Never()))
    assert without_met(MaxRounds(1) | MinRounds(1), held(1)) is None
    assert without_met(MaxRounds(2), held(2)) is None
    assert without_met(MaxRounds(2), held(1)) == MaxRounds(2)
    assert without_met(MaxRounds(2) & MinRounds(1), held(2)) is None
    foreign = Foreign()
    assert without_met(foreign, held(1)) is foreign
    assert without_met(foreign, held(2)) is None


def test_an_extension_without_earlier_rounds_leaves_out_and_checks_nothing() -> None:
    class Greedy(Foreign):
        def check(self, rounds: Sequence[ExitRound]) -> ExitResult:
            raise AssertionError("asked")

    greedy = Greedy()
    assert without_met(greedy, ()) is greedy


def test_a_class_without_its_fields_cannot_be_joined() -> None:
    with pytest.raises(ConfigurationError, match=r"<class '.*MinRounds'> is not a stop criterion"):
        MaxRounds(2) | MinRounds  # type: ignore[operator]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"kind": "stop_requested", "role": 1}, "role of StopRequested must be a text that is not empty, not 1"),
        ({"kind": "stop_requested", "word": None}, "word of StopRequested must be a text that is not empty, not None"),
        ({"kind": "unassailable", "votesOnce": "false"}, "votes_once of LeadIsDecisive must be True or False"),
    ],
)
def test_a_field_of_a_wrong_type_is_refused(spec: JsonObject, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        exit_from_spec(spec)
