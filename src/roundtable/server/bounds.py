"""How large a run may be: rounds, model calls and seconds; asked before anything begins, and nothing is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.api.teams import calls_of_team
from roundtable.errors import ConfigurationError, RoundtableError

if TYPE_CHECKING:
    from roundtable.api.options import DebateOptions
    from roundtable.record import Fold
    from roundtable.server.limits import Further
    from roundtable.server.state import Caller
    from roundtable.types import DebateConfig

__all__ = ["check_affordable", "check_further", "check_most_rounds", "check_team", "seconds_of"]

_MOST_CALLS: Final = 500
_CONVERSATION_S: Final = 600.0


def check_most_rounds(caller: Caller, rounds: int) -> None:
    """Refuse more rounds than a debate may have.

    Raises:
        RoundtableError: The code is `MAX_ROUNDS_EXCEEDED`.
    """
    most = caller.desk.table.wiring.settings.max_rounds
    if rounds > most:
        details = {"field": "rounds", "message": f"must be at most {most}"}
        raise RoundtableError(
            f"{rounds} rounds are too many; at most {most}", code="MAX_ROUNDS_EXCEEDED", details={**details}
        )


def check_affordable(caller: Caller, topic: str, options: DebateOptions) -> None:
    """Refuse what cannot be held, or would take too many calls.

    Raises:
        ConfigurationError: Something asked for does not exist or does not fit, or the debate is too large.
    """
    caller.desk.table.estimate(topic, most_calls=_most_calls(caller), **options)


def check_team(caller: Caller, config: DebateConfig) -> None:
    """Refuse a conversation that would take too many calls where every member takes all its steps.

    Raises:
        ConfigurationError: It would.
    """
    if config.team is not None:
        _check_calls(caller, calls_of_team(config.team, config.rounds), "this conversation may take {:,} model calls")


def check_further(caller: Caller, fold: Fold, further: Further) -> None:
    """Refuse to go on with rounds that would take too many calls, in a debate even where everybody speaks but once.

    Raises:
        ConfigurationError: They would.
    """
    team, rounds = fold.record.config.team, max(0, further.through - further.held)
    if team is not None:
        _check_calls(caller, calls_of_team(team, rounds), f"{rounds} more rounds may take {{:,}} model calls")
    else:
        _check_calls(caller, len(fold.record.agents) * rounds, f"{rounds} more rounds take {{:,}} model calls or more")


def _check_calls(caller: Caller, calls: int, what: str) -> None:
    most = _most_calls(caller)
    if calls > most:
        raise ConfigurationError(
            f"{what.format(calls)}; {most:,} are allowed", hint="Ask for fewer rounds, or for fewer agents or steps."
        )


def _most_calls(caller: Caller) -> int:
    return caller.state.options.get("most_calls", _MOST_CALLS)


def seconds_of(caller: Caller, asked_s: float | None, field: str = "deadlineS", *, team: bool) -> float | None:
    """Give the seconds that a run may take: a team's no more than the server allows, whether it begins or goes on.

    Args:
        caller: Who asks.
        asked_s: Seconds they ask for.
        field: Where they say so.
        team: Whether a team works.

    Raises:
        RoundtableError: They ask for more than a conversation may take; the code is `VALIDATION_ERROR`.
    """
    most_s = caller.state.options.get("conversation_s", _CONVERSATION_S)
    if not team:
        return asked_s
    if asked_s is not None and asked_s > most_s:
        details = {"field": field, "message": f"must be at most {most_s:g}"}
        msg = f"a conversation may take {most_s:g} s at most"
        raise RoundtableError(msg, code="VALIDATION_ERROR", details={**details})
    return most_s if asked_s is None else asked_s
