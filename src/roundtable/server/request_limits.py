"""Upper bounds for one request: rounds, planned model calls, seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.api.offered import agents_of_table
from roundtable.api.teams import calls_of_team
from roundtable.core.base.words import counted
from roundtable.core.errors import ConfigurationError, RoundtableError

if TYPE_CHECKING:
    from roundtable.api.options import DebateOptions
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.debate import DebateConfig
    from roundtable.server.quota import Further
    from roundtable.server.state import Caller

__all__ = ["check_affordable", "check_fork", "check_further", "check_most_rounds", "check_team", "seconds_of"]


_MAX_CALLS: Final = 500
_CONVERSATION_S: Final = 600.0


def check_most_rounds(caller: Caller, rounds: int) -> None:
    """Check that a debate does not have too many rounds.

    Raises:
        RoundtableError: The code is `MAX_ROUNDS_EXCEEDED`.
    """
    limit = caller.tenant_session.table.settings.max_rounds
    if rounds > limit:
        details = {"field": "rounds", "message": f"must be at most {limit}"}
        raise RoundtableError(
            f"{counted(rounds, 'round is', 'rounds are')} too many; at most {limit}",
            code="MAX_ROUNDS_EXCEEDED",
            details={**details},
        )


async def check_affordable(caller: Caller, topic: str, options: DebateOptions) -> None:
    """Check that a debate is possible and does not take too many calls.

    Raises:
        ConfigurationError: An option is not valid or names something unknown, or the debate is too large or takes too
            long to plan.
    """
    await caller.tenant_session.table.estimate_aside(topic, most_calls=_max_calls(caller), **options)


async def check_fork(caller: Caller, session_id: str, changes: DebateOptions) -> int:
    """Check that a fork does not have too many rounds or calls; return its rounds.

    Args:
        caller: The caller.
        session_id: The session to fork.
        changes: Options that the fork changes.

    Raises:
        RoundtableError: No session has this id, or an option is not valid or exceeds a limit.
    """
    table = caller.tenant_session.table
    fold = await table.state(session_id)
    config, rounds = fold.record.config, changes.get("rounds", fold.progress.total_rounds)
    check_most_rounds(caller, rounds)
    if config.team is None:
        agents = agents_of_table(table, fold.record.agents)
        stored: DebateOptions = {
            "mode": config.mode,
            "rounds": rounds,
            "agents": agents,
            "options": config.options,
            "vote": config.vote,
            "baseline": config.baseline,
            "synthesize": config.synthesize,
        }
        await check_affordable(caller, config.topic, {**stored, **changes})
    return rounds


def check_team(caller: Caller, config: DebateConfig) -> None:
    """Check that a conversation does not take too many calls, even if every member takes all its steps.

    Raises:
        ConfigurationError: The conversation may take too many calls.
    """
    if config.team is not None:
        _check_calls(caller, calls_of_team(config.team, config.rounds), "this conversation may take {:,} model calls")


def check_further(caller: Caller, fold: Fold, further: Further) -> None:
    """Check that further rounds do not take too many calls. A debate counts one call for each agent and round.

    Raises:
        ConfigurationError: The rounds take too many calls.
    """
    team, rounds = fold.record.config.team, max(0, further.through - further.held)
    if team is not None:
        _check_calls(caller, calls_of_team(team, rounds), f"{rounds} more rounds may take {{:,}} model calls")
    else:
        _check_calls(caller, len(fold.record.agents) * rounds, f"{rounds} more rounds take {{:,}} model calls or more")


def _check_calls(caller: Caller, calls: int, message: str) -> None:
    limit = _max_calls(caller)
    if calls > limit:
        raise ConfigurationError(
            f"{message.format(calls)}; {limit:,} are allowed", hint="Use fewer rounds, agents or steps."
        )


def _max_calls(caller: Caller) -> int:
    return caller.state.options.get("most_calls", _MAX_CALLS)


def seconds_of(caller: Caller, asked_s: float | None, field: str = "deadlineS", *, team: bool) -> float | None:
    """Return the seconds that a new or resumed run may take; a team may take at most what the server allows.

    Args:
        caller: Who makes the request.
        asked_s: Seconds in the request, if any.
        field: Name of the field with these seconds.
        team: Whether the session is the conversation of a team.

    Raises:
        RoundtableError: The request asks for more than a conversation may take; the code is `VALIDATION_ERROR`.
    """
    most_s = caller.state.options.get("conversation_s", _CONVERSATION_S)
    if not team:
        return asked_s
    if asked_s is not None and asked_s > most_s:
        details = {"field": field, "message": f"must be at most {most_s:g}"}
        msg = f"a conversation may take {most_s:g} s at most"
        raise RoundtableError(msg, code="VALIDATION_ERROR", details={**details})
    return most_s if asked_s is None else asked_s
