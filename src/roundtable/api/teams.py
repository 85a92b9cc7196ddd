"""One conversation of a team, from the caller's words to a session that is ready to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, get_args

from pydantic import ValidationError

from roundtable.api.asking import Ask, Asked, unusable
from roundtable.api.checks import check_budget, check_deadline, check_mapping
from roundtable.api.profiles import profile_of
from roundtable.api.team_seats import seat_team
from roundtable.errors import ConfigurationError
from roundtable.types import ChatMessage, DebateConfig, Team
from roundtable.types.base import first_misfit
from roundtable.types.profiles import AgentProfile
from roundtable.types.teams import INITIATOR, SUMMARIZER, TeamOrder

if TYPE_CHECKING:
    from typing import Unpack

    from roundtable.api.converse import ConverseOptions
    from roundtable.api.debates import Debates
    from roundtable.api.live import Prepared
    from roundtable.api.wiring import Wiring
    from roundtable.types.teams import TeamMember

__all__ = ["asked_of_team", "calls_of_team", "prepare_team"]

_MOST_AGENTS: Final = 5
_MOST_ROUNDS: Final = 10


def asked_of_team(
    wiring: Wiring,
    agents: Sequence[str | AgentProfile],
    messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
    **options: Unpack[ConverseOptions],
) -> Asked:
    """Check what is asked for, and seat who works; nothing is stored, and nobody is asked anything yet.

    Raises:
        ConfigurationError: Something asked for does not exist or does not fit.
    """
    rounds, order = options.get("rounds", 2), options.get("order", "sequential")
    timeout_s, budget, metadata = options.get("timeout_s"), options.get("budget"), options.get("metadata")
    _check_rounds(rounds, min(_MOST_ROUNDS, wiring.settings.max_rounds))
    if order not in get_args(TeamOrder):
        raise _invalid("order", f"must be 'sequential' or 'parallel', not {order!r}")
    check_deadline(timeout_s, "timeout_s")
    check_budget(budget)
    check_mapping("metadata", metadata)
    earlier, request = _asked(messages)
    chosen = _chosen(agents, wiring)
    framing = (_framing(INITIATOR, options.get("initiator")), _framing(SUMMARIZER, options.get("summarizer")))
    seats, members = seat_team((*chosen, *framing), wiring)
    team = Team(members=members[:-2], initiator=members[-2], summarizer=members[-1], order=order, messages=earlier)
    try:
        config = DebateConfig(
            topic=request,
            mode="team",
            agents=tuple(profile.name for profile in chosen),
            rounds=rounds,
            budget=budget,
            seed=wiring.options.seed,
            team=team,
            metadata=dict(metadata or {}),
        )
    except ValidationError as error:
        if error.errors()[0]["loc"] == ("topic",):
            raise _invalid("messages", "must end with a request of 1 to 10,000 characters") from None
        raise unusable(error) from None
    ask = Ask(topic=request, mode="team", rounds=rounds, agents=(), budget=budget, deadline_s=timeout_s)
    return Asked(ask, seats, config, None, {})


async def prepare_team(
    debates: Debates,
    wiring: Wiring,
    agents: Sequence[str | AgentProfile],
    messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
    **options: Unpack[ConverseOptions],
) -> Prepared:
    """Check everything and store an empty session; nobody is asked anything yet.

    Raises:
        ConfigurationError: Something asked for does not exist or does not fit.
        StorageError: The session could not be stored.
    """
    return await debates.begun(asked_of_team(wiring, agents, messages, **options))


def calls_of_team(team: Team, rounds: int) -> int:
    """Give the most model calls that a team takes as planned: whoever has tools takes all its steps in every turn.

    Tries that fail, and turns that a profile has taken once more, are left out.

    Example:
        >>> from roundtable.types.teams import TeamMember
        >>> members = TeamMember(agent="clerk", tools=("search",), max_steps=4), TeamMember(agent="editor")
        >>> calls_of_team(Team(members=members), rounds=3)
        17
    """
    framing = (team.initiator, team.summarizer)
    return rounds * sum(map(_most_calls, team.members)) + sum(map(_most_calls, framing))


def _most_calls(member: TeamMember) -> int:
    return member.max_steps if member.tools else 1


def _invalid(field: str, why: str) -> ConfigurationError:
    return ConfigurationError(f"{field} {why}", code="VALIDATION_ERROR", details={"field": field})


def _check_rounds(rounds: object, most: int) -> None:
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise _invalid("rounds", f"must be a whole number from 1 to {most}, not {rounds!r}")
    if rounds > most:
        msg = f"{rounds} rounds are too many; a team works for at most {most}"
        raise ConfigurationError(msg, code="MAX_ROUNDS_EXCEEDED", details={"field": "rounds"})


def _chosen(agents: object, wiring: Wiring) -> tuple[AgentProfile, ...]:
    if isinstance(agents, str) or not isinstance(agents, Sequence) or not 1 <= len(agents) <= _MOST_AGENTS:
        raise _invalid("agents", f"must be a list of 1 to {_MOST_AGENTS} names or profiles")
    chosen = tuple(profile_of(one, wiring.catalog.profiles) for one in agents)
    names = [profile.name for profile in chosen]
    twice = sorted({name for name in names if names.count(name) > 1 or name in {INITIATOR, SUMMARIZER}})
    if twice:
        why = "must be named once each, and neither 'initiator' nor 'summarizer'"
        raise _invalid("agents", f"{why}: {', '.join(twice)}")
    return chosen


def _framing(name: str, given: object) -> AgentProfile:
    """Give the profile of initiator or summarizer."""
    if given is None:
        return AgentProfile(name)
    if not isinstance(given, AgentProfile) or given.name != name:
        raise _invalid(name, f"must be an AgentProfile named {name!r}")
    return given


def _asked(messages: object) -> tuple[tuple[ChatMessage, ...], str]:
    """Give the conversation so far, and the request it ends with."""
    given = [messages] if isinstance(messages, str) else messages
    if not isinstance(given, Sequence):
        raise _invalid("messages", "must be a text or a list of messages")
    read = [_message(place, one) for place, one in enumerate(given)]
    asked = [place for place, one in enumerate(read) if one.role == "user" and one.content.strip()]
    if not asked:
        raise _invalid("messages", "must hold at least one message of the user")
    last = asked[-1]
    return (*read[:last], *read[last + 1 :]), read[last].content


def _message(place: int, given: object) -> ChatMessage:
    if isinstance(given, ChatMessage):
        return given
    if isinstance(given, str):
        return ChatMessage(role="user", content=given)
    try:
        return ChatMessage.model_validate(given)
    except ValidationError as error:
        where, why = first_misfit(error)
        raise _invalid(f"messages[{place}]", f"is no message: {where or 'it'}: {why}") from None
