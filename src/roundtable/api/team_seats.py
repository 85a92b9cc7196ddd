"""The agents of a team: from profiles to agents with models and tools."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, cast

from roundtable.agents import BaseAgent
from roundtable.api.seats import Seated
from roundtable.api.tools import TableTools
from roundtable.errors import ConfigurationError
from roundtable.protocols import Prepares
from roundtable.providers import split_model_name
from roundtable.types import AgentConfig, TeamMember

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.api.tools import ToolLike
    from roundtable.api.wiring import Wiring
    from roundtable.protocols import Agent, AgentToolkit, ChatModel
    from roundtable.types import Team
    from roundtable.types.profiles import AgentProfile

__all__ = ["restored", "seat_team"]


def seat_team(profiles: Sequence[AgentProfile], wiring: Wiring) -> tuple[tuple[Seated, ...], tuple[TeamMember, ...]]:
    """Give every profile an agent, and what it may do.

    A profile without a model speaks through the models of the table, one after another.

    Raises:
        ConfigurationError: A model or a tool cannot be had.
    """
    seats: list[Seated] = []
    members: list[TeamMember] = []
    for place, profile in enumerate(profiles):
        toolkit, tools = _toolkit(profile.tools, wiring)
        provider, model = _speaker(profile, place, wiring)
        config = AgentConfig(
            id=profile.name,
            name=profile.name,
            provider=provider,
            model=model.model,
            system_prompt=profile.instructions or None,
            temperature=profile.temperature,
            max_tokens=profile.max_tokens,
        )
        seats.append(Seated(config, BaseAgent(config, model, toolkit=toolkit)))
        on_error, steps = profile.on_error, profile.max_steps
        members.append(TeamMember(agent=profile.name, tools=tools, max_steps=steps, on_error=on_error))
    return tuple(seats), tuple(members)


def restored(missing: Sequence[AgentConfig], team: Team, wiring: Wiring) -> dict[str, Agent]:
    """Make agents of a stored team anew, with a model of the table where it has the one that they had.

    Raises:
        ConfigurationError: A model or a tool cannot be had.
    """
    lenders: Mapping[tuple[str, str], ChatModel] = {}
    if missing and wiring.options.agents is not None:
        lenders = {(model.provider, model.model): model for _, model in _models(wiring)}
    agents: dict[str, Agent] = {}
    for config in missing:
        model = lenders.get((config.provider, config.model or ""))
        made = wiring.agents.build(config) if model is None else BaseAgent(config, model)
        agents[config.id] = _equipped(made, team, wiring)
    return agents


def _equipped(agent: BaseAgent, team: Team, wiring: Wiring) -> Agent:
    """Give an agent with the tools that its team knows it by."""
    double = copy.copy(agent)
    double.set_toolkit(_toolkit(team.member(agent.id).tools, wiring)[0])
    return double


def _toolkit(tools: Sequence[object], wiring: Wiring) -> tuple[AgentToolkit | None, tuple[str, ...]]:
    """Give a toolkit that has these tools, and their names; a name is looked up at the table first, then at plugins.

    The toolkit may have others of the table besides: which of them a turn may call, its plan says.
    """
    own = wiring.tools.toolkit
    there = set() if own is None else {tool.name for tool in own.get_tools()}
    names = tuple(one for one in tools if isinstance(one, str) and one in there)
    others = [one for one in tools if one not in names]
    if any(isinstance(one, Prepares) or hasattr(one, "aclose") for one in others):
        msg = "a tool that connects to something belongs to the table, which opens and closes it"
        raise ConfigurationError(msg, hint="Give it in Roundtable(tools=[...]), and its names in the profile.")
    given = cast("Sequence[ToolLike]", others)
    toolkit = TableTools(given, wiring.catalog, wiring.settings, wiring.models.guarded).toolkit
    names += () if toolkit is None else tuple(tool.name for tool in toolkit.get_tools())
    if toolkit is None or own is None:
        return toolkit or own, names
    toolkit.include(own)
    return toolkit, names


def _speaker(profile: AgentProfile, place: int, wiring: Wiring) -> tuple[str, ChatModel]:
    """Give a profile's provider and model."""
    given = profile.model
    if given is None:
        models = _models(wiring)
        return models[place % len(models)]
    if isinstance(given, str):
        provider, name = split_model_name(given)
        return provider, wiring.models.guarded(wiring.models.get(provider, name))
    if callable(getattr(given, "complete", None)):
        model = wiring.models.guarded(cast("ChatModel", given))
        return model.provider, model
    msg = f"profile {profile.name!r}: model must be 'provider:model' or a chat model, not {type(given).__name__}"
    raise ConfigurationError(msg)


def _models(wiring: Wiring) -> list[tuple[str, ChatModel]]:
    """Give the models that the agents of the table speak through."""
    seats = [(seat.config.provider, getattr(seat.agent, "chat_model", None)) for seat in wiring.seats(None)]
    models = [(provider, model) for provider, model in seats if model is not None]
    if not models:
        msg = "no agent of the table speaks through a chat model that a team could use"
        raise ConfigurationError(msg, hint="Give every profile a model.")
    return models
