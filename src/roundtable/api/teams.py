"""One team conversation: its agents and its checks."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast, get_args

from pydantic import ValidationError

from roundtable.agents import BaseAgent
from roundtable.api.checks import check_budget, check_deadline, check_depth, check_mapping
from roundtable.api.options import CallerRequest
from roundtable.api.profiles import THIS_TABLE, profile_of
from roundtable.api.request import ResolvedDebate, unusable
from roundtable.api.seats import Seated
from roundtable.api.tools import TableTools
from roundtable.core.capabilities import Prepares
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.agents import AgentConfig, AgentProfile
from roundtable.core.types.base import first_error
from roundtable.core.types.debate import DebateConfig
from roundtable.core.types.teams import INITIATOR, SUMMARIZER, ChatMessage, Team, TeamMember, TeamOrder
from roundtable.providers import split_model_name

if TYPE_CHECKING:
    from typing import Unpack

    from roundtable.api.assembly import TableParts
    from roundtable.api.options import ConverseOptions
    from roundtable.api.tools import ToolLike
    from roundtable.core.protocols import Agent, AgentToolkit, ChatModel

__all__ = [
    "calls_of_team",
    "check_profiles",
    "resolve_team",
    "restore_agents",
    "seat_team",
    "table_models_by_id",
]

_MOST_AGENTS: Final = 5
_MOST_ROUNDS: Final = 10


def seat_team(
    profiles: Sequence[AgentProfile], wiring: TableParts
) -> tuple[tuple[Seated, ...], tuple[TeamMember, ...]]:
    """Create an agent for every profile, and the settings of the team's members.

    Profiles without a model use the models of the table in turn.

    Raises:
        ConfigurationError: A model or a tool is not available.
    """
    seats: list[Seated] = []
    members: list[TeamMember] = []
    for index, profile in enumerate(profiles):
        toolkit, tools = _tools_of(profile, wiring)
        provider, model, is_object = _model_of_profile(profile, index, wiring)
        config = AgentConfig(
            id=profile.name,
            name=profile.name,
            provider=provider,
            model=model.model,
            system_prompt=profile.instructions or None,
            temperature=profile.temperature,
            max_tokens=profile.max_tokens,
        )
        seats.append(Seated(config, BaseAgent(config, model, toolkit=toolkit), is_object=is_object))
        on_error, max_steps = profile.on_error, profile.max_steps
        members.append(TeamMember(agent=profile.name, tools=tools, max_steps=max_steps, on_error=on_error))
    return tuple(seats), tuple(members)


def restore_agents(missing: Sequence[AgentConfig], team: Team, wiring: TableParts) -> dict[str, Agent]:
    """Create agents of a stored team again; use the table's own model object if the table has the same model.

    Raises:
        ConfigurationError: A model or a tool is not available.
    """
    models = table_models_by_id(wiring) if missing else {}
    agents: dict[str, Agent] = {}
    for config in missing:
        model = models.get((config.provider, config.model or ""))
        agent = wiring.agents.build(config) if model is None else BaseAgent(config, model)
        agents[config.id] = _with_team_tools(agent, team, wiring)
    return agents


def table_models_by_id(wiring: TableParts) -> Mapping[tuple[str, str | None], ChatModel]:
    """Return the models of the table's agents by provider and model, so that team members can use them."""
    if wiring.options.agents is None:
        return {}
    return {(model.provider, model.model): model for _, model, _ in _table_models(wiring)}


def _with_team_tools(agent: BaseAgent, team: Team, wiring: TableParts) -> Agent:
    """Return a copy of an agent with the tools that its team lists for it."""
    equipped = copy.copy(agent)
    equipped.set_toolkit(_toolkit(team.member(agent.id).tools, wiring)[0])
    return equipped


def check_profiles(wiring: TableParts) -> None:
    """Check that the profiles passed to the table name only tools that exist.

    The names of some tools, such as those of an MCP server, are known only after the tools have connected. With such
    tools, profiles are checked when a team conversation is requested.

    Raises:
        ConfigurationError: A profile names an unknown tool; the message says which.
    """
    if wiring.tools.needs_connection:
        return
    for name in wiring.catalog.profiles.names():
        entry = wiring.catalog.profiles.entry(name)
        if entry.source == THIS_TABLE:
            _tools_of(entry.thing, wiring)


def _tools_of(profile: AgentProfile, wiring: TableParts) -> tuple[AgentToolkit | None, tuple[str, ...]]:
    """Return the toolkit of a profile, and the names of its tools.

    Raises:
        ConfigurationError: A tool is not available.
    """
    try:
        return _toolkit(profile.tools, wiring)
    except ConfigurationError as error:
        hint = "Profiles use tools of the table (Roundtable(tools=[...]) or --tools) and of plugins."
        hint = f"{hint} {error.hint}" if error.hint else hint
        msg = f"profile {profile.name!r}: {error.message}"
        raise ConfigurationError(msg, code=error.code, hint=hint, details=error.details) from error


def _toolkit(tools: Sequence[object], wiring: TableParts) -> tuple[AgentToolkit | None, tuple[str, ...]]:
    """Return a toolkit with these tools, and the tools' names; look up names first in the table, then in plugins.

    The toolkit may also have other tools of the table; the plan of a turn determines which tools may be called.
    """
    table_toolkit = wiring.tools.toolkit
    table_names = set() if table_toolkit is None else {tool.name for tool in table_toolkit.get_tools()}
    names = tuple(tool for tool in tools if isinstance(tool, str) and tool in table_names)
    others = [tool for tool in tools if tool not in names]
    if any(isinstance(tool, Prepares) or hasattr(tool, "aclose") for tool in others):
        msg = "a profile cannot have tools that open connections, such as from_mcp(...); only a table can have them"
        raise ConfigurationError(
            msg, hint="Pass such a tool to Roundtable(tools=[...]), and write its name in the profile."
        )
    new_tools = cast("Sequence[ToolLike]", others)
    toolkit = TableTools(
        new_tools,
        wiring.catalog,
        wiring.settings,
        wiring.models.guard,
        dependencies=wiring.options.tool_dependencies,
        approve=wiring.options.approve_tools,
    ).toolkit
    names += () if toolkit is None else tuple(tool.name for tool in toolkit.get_tools())
    if toolkit is None or table_toolkit is None:
        return toolkit or table_toolkit, names
    toolkit.include(table_toolkit)
    return toolkit, names


def _model_of_profile(profile: AgentProfile, index: int, wiring: TableParts) -> tuple[str, ChatModel, bool]:
    """Return a profile's provider and model, and whether the model was given as an object."""
    model = profile.model
    if model is None:
        models = _table_models(wiring)
        return models[index % len(models)]
    if isinstance(model, str):
        provider, name = split_model_name(model)
        return provider, wiring.models.guard(wiring.models.get(provider, name)), False
    if callable(getattr(model, "complete", None)):
        guarded = wiring.models.guard(cast("ChatModel", model))
        return guarded.provider, guarded, True
    msg = f"profile {profile.name!r}: model must be 'provider:model' or a chat model, not {type(model).__name__}"
    raise ConfigurationError(msg)


def _table_models(wiring: TableParts) -> list[tuple[str, ChatModel, bool]]:
    """Return the provider and model of each of the table's agents, and whether the agent was passed as an object."""
    seats = [(seat, getattr(seat.agent, "chat_model", None)) for seat in wiring.seats(None)]
    models = [(seat.config.provider, model, seat.is_object) for seat, model in seats if model is not None]
    if not models:
        msg = "a profile has no model, and no agent of the table has a chat model that it could use instead"
        raise ConfigurationError(msg, hint="Set the model of every profile.")
    return models


def resolve_team(
    wiring: TableParts,
    agents: Sequence[str | AgentProfile],
    messages: str | Sequence[str | ChatMessage | Mapping[str, object]],
    **options: Unpack[ConverseOptions],
) -> ResolvedDebate:
    """Check the arguments, and create the agents of the team; nothing is stored, and no model is called yet.

    Raises:
        ConfigurationError: An argument is not valid.
    """
    rounds, order = options.get("rounds", 2), options.get("order", "sequential")
    timeout_s, budget, metadata = options.get("timeout_s"), options.get("budget"), options.get("metadata")
    _check_rounds(rounds, min(_MOST_ROUNDS, wiring.settings.max_rounds))
    if order not in get_args(TeamOrder):
        raise _validation_error("order", f"must be 'sequential' or 'parallel', not {order!r}")
    check_deadline(timeout_s, "timeout_s")
    check_budget(budget)
    check_mapping("metadata", metadata)
    check_depth("metadata", metadata)
    earlier, request = _split_messages(messages)
    profiles = _chosen_profiles(agents, wiring)
    framing = (
        _framing_profile(INITIATOR, options.get("initiator")),
        _framing_profile(SUMMARIZER, options.get("summarizer")),
    )
    seats, members = seat_team((*profiles, *framing), wiring)
    team = Team(members=members[:-2], initiator=members[-2], summarizer=members[-1], order=order, messages=earlier)
    try:
        config = DebateConfig(
            topic=request,
            mode="team",
            agents=tuple(profile.name for profile in profiles),
            rounds=rounds,
            budget=budget,
            seed=wiring.options.seed,
            team=team,
            metadata=dict(metadata or {}),
        )
    except ValidationError as error:
        if error.errors()[0]["loc"] == ("topic",):
            raise _validation_error("messages", "must end with a request of 1 to 10,000 characters") from None
        raise unusable(error) from None
    ask = CallerRequest(topic=request, mode="team", rounds=rounds, agents=(), budget=budget, deadline_s=timeout_s)
    return ResolvedDebate(ask, seats, config, None, {})


def calls_of_team(team: Team, rounds: int) -> int:
    """Return the maximum number of planned model calls of a team: agents with tools use all their steps in every turn.

    Failed tries, and turns that a profile repeats, are not counted.

    Example:
        >>> from roundtable.core.types.teams import TeamMember
        >>> members = TeamMember(agent="clerk", tools=("search",), max_steps=4), TeamMember(agent="editor")
        >>> calls_of_team(Team(members=members), rounds=3)
        17
    """
    framing = (team.initiator, team.summarizer)
    return rounds * sum(map(_most_calls, team.members)) + sum(map(_most_calls, framing))


def _most_calls(member: TeamMember) -> int:
    return member.max_steps if member.tools else 1


def _validation_error(field: str, reason: str) -> ConfigurationError:
    return ConfigurationError(f"{field} {reason}", code="VALIDATION_ERROR", details={"field": field})


def _check_rounds(rounds: object, most: int) -> None:
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise _validation_error("rounds", f"must be a whole number from 1 to {most}, not {rounds!r}")
    if rounds > most:
        msg = f"{rounds} rounds are too many; a team works for at most {most}"
        raise ConfigurationError(msg, code="MAX_ROUNDS_EXCEEDED", details={"field": "rounds"})


def _chosen_profiles(agents: object, wiring: TableParts) -> tuple[AgentProfile, ...]:
    if isinstance(agents, str) or not isinstance(agents, Sequence) or not 1 <= len(agents) <= _MOST_AGENTS:
        raise _validation_error("agents", f"must be a list of 1 to {_MOST_AGENTS} names or profiles")
    profiles = tuple(profile_of(agent, wiring.catalog.profiles) for agent in agents)
    names = [profile.name for profile in profiles]
    duplicates = sorted({name for name in names if names.count(name) > 1 or name in {INITIATOR, SUMMARIZER}})
    if duplicates:
        reason = "must have different names, none of them 'initiator' or 'summarizer'"
        raise _validation_error("agents", f"{reason}, not {', '.join(map(repr, duplicates))}")
    return profiles


def _framing_profile(name: str, profile: object) -> AgentProfile:
    """Return the profile of the initiator or summarizer."""
    if profile is None:
        return AgentProfile(name)
    if not isinstance(profile, AgentProfile) or profile.name != name:
        raise _validation_error(name, f"must be an AgentProfile named {name!r}")
    return profile


def _split_messages(messages: object) -> tuple[tuple[ChatMessage, ...], str]:
    """Return the other messages, and the request, which is the last user message."""
    items = [messages] if isinstance(messages, str) else messages
    if not isinstance(items, Sequence):
        raise _validation_error("messages", "must be a text or a list of messages")
    conversation = [_to_message(index, item) for index, item in enumerate(items)]
    requests = [
        index for index, message in enumerate(conversation) if message.role == "user" and message.content.strip()
    ]
    if not requests:
        raise _validation_error("messages", "must contain at least one message of the user")
    last = requests[-1]
    return (*conversation[:last], *conversation[last + 1 :]), conversation[last].content


def _to_message(index: int, item: object) -> ChatMessage:
    if isinstance(item, ChatMessage):
        return item
    if isinstance(item, str):
        return ChatMessage(role="user", content=item)
    try:
        return ChatMessage.model_validate(item)
    except ValidationError as error:
        field, reason = first_error(error)
        raise _validation_error(f"messages[{index}]", f"is not a message: {field or 'it'}: {reason}") from None
