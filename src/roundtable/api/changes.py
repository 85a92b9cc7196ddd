"""Changes since a session began, whether the session may continue with them, and forks of the session."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, cast

from roundtable.api.options import CallerRequest
from roundtable.api.session_plugins import tool_hints
from roundtable.core.errors import ConfigurationError
from roundtable.core.prompts.compose import PROMPT_VERSION
from roundtable.core.types.base import NativeSearch
from roundtable.core.types.debate import CallerObjects
from roundtable.core.types.events import Control, DebateStart
from roundtable.engine import Adoption
from roundtable.exits import AnyOf, MaxRounds, asks_moderator, exit_from_spec
from roundtable.tools.toolkit import NAMES_WITHOUT_APPROVAL

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from roundtable.api.assembly import TableParts
    from roundtable.api.options import DebateOptions
    from roundtable.api.seats import Seated
    from roundtable.core.base.registry import Registry
    from roundtable.core.protocols import Agent, DebateModeStrategy
    from roundtable.core.record.fold import Fold
    from roundtable.core.record.transitions import HeldRound
    from roundtable.core.types.agents import AgentConfig
    from roundtable.core.types.answers import ContextResult
    from roundtable.core.types.budget import Budget
    from roundtable.core.types.debate import DebateConfig, SessionRecord
    from roundtable.core.types.events import DurableEvent
    from roundtable.exits import ExitFactory
    from roundtable.providers import ProviderFactory

__all__ = [
    "OnChange",
    "Rearranged",
    "ResolvedSeats",
    "agent_unavailable_error",
    "caller_objects",
    "check_objects_present",
    "check_on_change",
    "check_programs",
    "effective_config",
    "end_after_round",
    "first_events",
    "fork_config",
    "fork_options",
    "keeps_exit",
    "resolve_stored_seats",
]

_COMPARED: Final = ("name", "provider", "model", "system_prompt", "temperature", "max_tokens", "persona")


class Rearranged(NamedTuple):
    """A fork that repeats one round with a change."""

    session_id: str
    """Id of the new session."""
    seats: tuple[str, ...]
    """Ids of the agents that take part, in their new order."""
    seed: int
    """Seed of the new session."""
    round: HeldRound
    """The round to repeat."""
    budget: Budget | None = None
    """Limits of the new session; `None` keeps those of the forked session."""


def fork_options(
    fold: Fold,
    at_round: int,
    agents: Sequence[Agent],
    mode: DebateModeStrategy | None,
    changes: DebateOptions,
    *,
    exits: Registry[ExitFactory],
) -> DebateOptions:
    """Return the options of a fork: those of the original debate, with the changes applied.

    Args:
        fold: The original session.
        at_round: Last round that the original and the fork share.
        agents: The agents of the fork.
        mode: The mode, if the caller passed an object.
        changes: What the caller changes.
        exits: Registry of stop criteria.

    Raises:
        ConfigurationError: No round is left to run.
    """
    config = fold.record.config
    rounds = changes.get("rounds", fold.progress.total_rounds)
    if isinstance(rounds, int) and rounds <= at_round:
        msg = f"a fork at round {at_round} with rounds={rounds} has no round left to run"
        raise ConfigurationError(msg, hint=f"Fork at an earlier round, or pass rounds={at_round + 1} or more.")
    focus = fold.rounds[at_round - 1].focus_question if at_round else config.focus_question
    options = {
        field.name: getattr(config, field.name) for field in fields(CallerRequest) if hasattr(config, field.name)
    }
    # The topic does not change, and the criteria that end a debate early are stored in another form; see `fork_config`.
    for name in ("topic", "exit_on_consensus", "quorum"):
        del options[name]
    options |= {
        "mode": mode or config.mode,
        "rounds": rounds,
        "focus_question": focus,
        "perspectives": config.perspectives or None,
        "attachments": fold.record.attachments,
        "agents": agents,
    }
    if config.exit is not None and asks_moderator(config.exit, exits):
        # `fork_config` sets the criterion too, but too late: the moderator agent has to be created before.
        options["exit_when"] = exit_from_spec(config.exit, exits)
    if "vote" in changes and "decide" not in changes and config.decide in {"plurality", "schulze"}:
        options["decide"] = None  # the stored rule may be the default with or without a vote
    return cast("DebateOptions", options | {**changes})


def keeps_exit(changes: DebateOptions) -> bool:
    """Check whether a fork with these changes keeps the exit criteria of the forked session."""
    return not {"exit_when", "exit_on_consensus"} & set(changes)


def fork_config(config: DebateConfig, before: DebateConfig, changes: DebateOptions) -> DebateConfig:
    """Return a fork's configuration, with original values where the caller cannot set or did not change them."""
    original: dict[str, object] = {"seed": before.seed}
    if "quorum" not in changes:
        original["quorum"] = before.quorum
    if keeps_exit(changes):
        original |= {"exit": before.exit, "exit_on_consensus": before.exit_on_consensus}
    return config.model_copy(update=original)


def end_after_round(config: DebateConfig, held: HeldRound, exits: Registry[ExitFactory]) -> DebateConfig:
    """Return a configuration that ends the debate after the held round, if that round ended its debate early."""
    if not held.ended or held.number >= held.planned:
        return config
    limit = MaxRounds(held.number)
    either = limit if config.exit is None else AnyOf((exit_from_spec(config.exit, exits), limit))
    return config.model_copy(update={"exit": either.to_spec()})


def first_events(
    fold: Fold,
    past: Sequence[DurableEvent],
    config: DebateConfig,
    context_results: Sequence[ContextResult],
    now: datetime,
) -> tuple[DurableEvent, ...]:
    """Return the events that a fork starts with; an empty tuple if it shares nothing with the original."""
    session_id = fold.record.id
    extension = Control(
        session_id=session_id,
        timestamp=now,
        action="extend",
        total_rounds=config.rounds,
        context_results=tuple(context_results),
    )
    events = (*past, extension) if context_results else tuple(past)
    if not events:
        return ()
    start = DebateStart(
        session_id=session_id,
        timestamp=now,
        topic=config.topic,
        mode=config.mode,
        agents=config.agents,
        rounds=config.rounds,
    )
    return (start, *events)


OnChange: TypeAlias = Literal["error", "adopt"]
"""Whether a session with a changed configuration is refused, or continues with the new configuration."""


class ResolvedSeats(NamedTuple):
    """The agents that take part when a session continues."""

    agents: tuple[AgentConfig, ...]
    """Configurations in effect, in the order of the session."""
    adoption: Adoption | None
    """The change that must be stored before the session continues, if there is one."""


def check_on_change(on_change: OnChange) -> OnChange:
    """Check that a value is a valid `on_change`."""
    if on_change not in ("error", "adopt"):
        msg = f"on_change must be 'error' or 'adopt', not {on_change!r}"
        raise ConfigurationError(msg)
    return on_change


def effective_config(seat: Seated) -> AgentConfig:
    """Return the configuration with the model and search that the agent actually uses; defaults may change later."""
    actual: dict[str, object] = {}
    model = getattr(getattr(seat.agent, "chat_model", None), "model", None)
    if seat.config.model is None and isinstance(model, str) and model:
        actual["model"] = model
    search = getattr(seat.agent, "search", None)
    if seat.config.search is None and isinstance(search, NativeSearch):
        actual["search"] = search
    return seat.config.model_copy(update=actual) if actual else seat.config


def resolve_stored_seats(
    record: SessionRecord, table_agents: Mapping[str, AgentConfig], on_change: OnChange
) -> ResolvedSeats:
    """Compare the agents and prompts that a session began with to the agents and prompts of the table.

    Args:
        record: The session as it is stored.
        table_agents: The table's configurations of agents of the session, by id; agents without one count as unchanged.
        on_change: What to do if the configurations differ.

    Raises:
        ConfigurationError: Something changed, and `on_change` does not adopt changes; `details` list the changes.
    """
    agents: list[AgentConfig] = []
    changes: list[str] = []
    for stored in record.agents:
        current = table_agents.get(stored.id, stored)
        if current.model is None:
            current = current.model_copy(update={"model": stored.model})
        differing = _differing_fields(stored, current)
        changes += [f"{stored.id}: {name}" for name in differing]
        agents.append(current if differing else stored)
    if record.prompt_version not in {None, PROMPT_VERSION}:
        changes.append(f"prompt texts: version {record.prompt_version} is now {PROMPT_VERSION}")
    if not changes:
        return ResolvedSeats(record.agents, None)
    if on_change == "error":
        msg = f"session {record.id!r} started with another configuration ({'; '.join(changes)})"
        hint = (
            "Restore the configuration; or accept the new one with on_change='adopt' (--adopt); or fork the session "
            "with other agents."
        )
        raise ConfigurationError(msg, hint=hint, details={"changes": [*changes]})
    return ResolvedSeats(tuple(agents), Adoption(agents=tuple(agents), prompt_version=PROMPT_VERSION))


def _differing_fields(stored: AgentConfig, current: AgentConfig) -> Sequence[str]:
    # Old sessions, stored before models were recorded, do not say which model they used.
    return [
        name
        for name in _COMPARED
        if getattr(stored, name) != getattr(current, name) and not (name == "model" and stored.model is None)
    ]


def caller_objects(
    seats: Sequence[Seated], config: DebateConfig, mode: DebateModeStrategy | None, wiring: TableParts
) -> CallerObjects:
    """Describe the objects of a session that the caller passed and that no registry contains.

    Observers are not included, because they only follow a debate and change nothing in it.

    Args:
        seats: The agents that take part.
        config: Configuration of the debate.
        mode: The mode, if the caller passed an object.
        wiring: The table.
    """
    analyzer = wiring.options.analyzer
    return CallerObjects(
        agents=tuple(seat.config.id for seat in seats if seat.is_object),
        mode=mode is not None and _has_settings(mode, wiring),
        tools=() if config.team is not None else wiring.tools.names,
        seats=tuple(seat for seat in sorted(wiring.options.seats) if _is_used(seat, config)),
        analyzer=None if isinstance(analyzer, str) else type(analyzer).__name__,
        approval=wiring.options.approve_tools is not None and _has_tools_to_approve(seats, config, wiring),
    )


def _has_tools_to_approve(seats: Sequence[Seated], config: DebateConfig, wiring: TableParts) -> bool:
    toolkits = (getattr(seat.agent, "toolkit", None) for seat in seats)
    own = {tool.name for toolkit in toolkits if toolkit is not None for tool in toolkit.get_tools()}
    return config.team is not None or bool({*own, *wiring.tools.names} - NAMES_WITHOUT_APPROVAL)


def _has_settings(mode: DebateModeStrategy, wiring: TableParts) -> bool:
    """Check whether a mode has other settings than the registered mode of the same name."""
    modes = wiring.engine.modes
    if not modes.has_mode(mode.name):
        return False  # an unknown mode is refused by name
    registered = modes.get_mode(mode.name)
    return getattr(registered, "__dict__", None) != getattr(mode, "__dict__", None)


def _is_used(seat: str, config: DebateConfig) -> bool:
    match seat:
        case "facilitator":
            return "facilitator" in config.seats or "moderator" in config.seats
        case "judge":
            return "judge" in config.seats
        case "synthesizer":
            return config.synthesize
        case _:
            return config.team is None


def check_objects_present(
    record: SessionRecord,
    seated: Collection[str],
    mode: DebateModeStrategy | None,
    wiring: TableParts,
    on_change: OnChange,
    *,
    needs_approval: bool = True,
) -> None:
    """Refuse to continue a session without the objects that it began with.

    Args:
        record: The session as it is stored.
        seated: Ids of the agents that the table has, as objects or by name.
        mode: The mode, if the table still has the object.
        wiring: The table; its tools must be prepared.
        on_change: `"adopt"` continues without missing objects.
        needs_approval: Whether tool calls must still be approved if the session began with approval. False for a fork,
            because the table that runs the fork decides this.

    Raises:
        ConfigurationError: Something is missing; `details["lacking"]` lists it.
    """
    if on_change == "adopt":
        return
    objects, options = record.caller_objects, wiring.options
    missing = [
        f"agent {agent.id!r} ({agent.provider}:{agent.model})"
        for agent in record.agents
        if agent.id in objects.agents and agent.id not in seated
    ]
    if objects.mode and mode is None:
        missing.append(f"mode {record.config.mode!r} with its settings")
    tool_names = wiring.tools.with_missing(objects.tools).names
    missing += [f"tool {name!r}" for name in objects.tools if name not in tool_names]
    missing += [f"seats[{seat!r}]" for seat in objects.seats if seat not in options.seats]
    if objects.analyzer is not None and isinstance(options.analyzer, str):
        missing.append(f"analyzer {objects.analyzer}")
    if needs_approval and objects.approval and options.approve_tools is None:
        missing.append("approve_tools")
    if missing:
        msg = f"this table lacks objects that session {record.id!r} started with: {', '.join(missing)}"
        hint = (
            "Pass the missing objects, as in Roundtable(agents=[...], tools=[...]), or --tools; or continue without "
            "them: on_change='adopt' (--adopt) creates agents by name and leaves out the rest."
        )
        if missing == ["approve_tools"]:
            hint = (
                "Tool calls of this session needed approval: pass approve_tools again, or --approve-tools; or let "
                "tools be called without approval: on_change='adopt' (--adopt)."
            )
        if any(each.startswith("tool ") for each in missing):
            hint = " ".join([hint, *tool_hints(record)])
        absent = (agent for agent in record.agents if agent.id in objects.agents and agent.id not in seated)
        if any(wiring.catalog.provider_info(agent.provider).is_person for agent in absent):
            hint = (
                "Pass the missing objects, including the person: Roundtable(agents=[HumanModel(ask, ...)]); or "
                "continue without the person: fork(..., agents=...). on_change='adopt' (--adopt) cannot replace "
                "a person."
            )
        raise ConfigurationError(msg, hint=hint, details={"lacking": [*missing]})


def check_programs(
    record: SessionRecord,
    wanted: Sequence[AgentConfig],
    seated: Mapping[str, AgentConfig],
    providers: Registry[ProviderFactory],
) -> None:
    """Refuse to start programs that only an imported file requests.

    If the attribute `runs_programs` of a provider's factory is true, its models are programs.

    Args:
        record: The session.
        wanted: Agents that would be created from their stored configurations.
        seated: Configurations of agents that the caller passed with the same ids; their programs are allowed.
        providers: Providers of this installation.

    Raises:
        ConfigurationError: An agent is a program that the caller did not request; `details` name the agents.
    """
    if not record.imported:
        return
    refused = [
        config
        for config in wanted
        if getattr(providers.get(config.provider), "runs_programs", False)
        and not _is_requested(config, seated.get(config.id))
    ]
    if refused:
        names = [f"{config.provider}:{config.model or ''}".rstrip(":") for config in refused]
        msg = f"session {record.id!r} was imported, and would start programs on this machine: {', '.join(names)}"
        hint = (
            "If you trust its source, import the session again with run_programs=True (and new_id=True; in the "
            "command --run-programs --new-id), or pass these agents to this table."
        )
        raise ConfigurationError(
            msg, code="PROGRAM_REFUSED", hint=hint, details={"agents": [config.id for config in refused]}
        )


def _is_requested(config: AgentConfig, seat: AgentConfig | None) -> bool:
    return seat is not None and (seat.provider, seat.model) == (config.provider, config.model)


def agent_unavailable_error(
    record: SessionRecord, config: AgentConfig, error: ConfigurationError
) -> ConfigurationError:
    """Return the error for an agent of a stored session that cannot be created here from its name."""
    hint = f"Pass agent {config.id!r} to this table: Roundtable(agents=[...])."
    return ConfigurationError(
        f"agent {config.id!r} of session {record.id!r} cannot be created here: {error.message}",
        code=error.code,
        cause=error,
        hint=f"{error.hint} {hint}" if error.hint else hint,
        details=error.details,
    )
