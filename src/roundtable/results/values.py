"""The values of a debate in the caller's own type: one for each agent, and the one that the answer's holders share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from roundtable.analysis.findings import Vote
    from roundtable.types import Decision, JsonObject, JsonValue, RoundRecord

__all__ = ["shared_value", "values_by_agent"]


def values_by_agent(last: RoundRecord | None) -> dict[str, JsonObject]:
    """Return the value of each agent that gave one in a round, from its last position there."""
    values: dict[str, JsonObject] = {}
    for response in () if last is None else last.responses:
        values.pop(response.agent_id, None)
        if response.value is not None:
            values[response.agent_id] = response.value
    return values


def shared_value(
    values: Mapping[str, JsonObject], decision: Decision | None, votes: Iterable[Vote]
) -> JsonObject | None:
    """Return the value that more than half of those who hold the winning answer gave.

    Numbers are compared by value, so `1` is `1.0`, but not `true`; the order of the members of an object makes no
    difference.

    Args:
        values: Value of each agent that gave one.
        decision: Outcome of the last complete round.
        votes: Votes of that round.
    """
    winner = None if decision is None else decision.winner
    held = [values.get(vote.agent_id) for vote in votes if winner is not None and vote.choice == winner]
    told_apart = [_told_apart(value) for value in held]
    for value, its in zip(held, told_apart, strict=True):
        if value is not None and 2 * told_apart.count(its) > len(held):
            return value
    return None


def _told_apart(value: JsonValue) -> object:
    """Return a copy in which `true` is not equal to 1, as it is in Python."""
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, dict):
        return {name: _told_apart(member) for name, member in value.items()}
    return [_told_apart(member) for member in value] if isinstance(value, list) else value
