"""What has changed since a session began, and whether it may go on all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from roundtable.engine import Adoption
from roundtable.errors import ConfigurationError
from roundtable.prompts import PROMPT_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.api.seats import Seated
    from roundtable.types import AgentConfig, SessionRecord

__all__ = ["OnChange", "Seating", "check_on_change", "effective", "seated_again"]

OnChange: TypeAlias = Literal["error", "adopt"]
"""Whether a session whose configuration changed meanwhile is refused, or goes on with the new one."""

_COMPARED: Final = ("name", "provider", "model", "system_prompt", "temperature", "max_tokens", "persona")


class Seating(NamedTuple):
    """Who takes part when a session goes on."""

    agents: tuple[AgentConfig, ...]
    """Configurations that hold, in the order of the session."""
    adoption: Adoption | None
    """What has to be stored first, if anything changed."""


def check_on_change(given: OnChange) -> OnChange:
    """Refuse what says nothing about changes."""
    if given not in ("error", "adopt"):
        msg = f"on_change must be 'error' or 'adopt', not {given!r}"
        raise ConfigurationError(msg)
    return given


def effective(seat: Seated) -> AgentConfig:
    """Give the configuration of an agent with the model it really uses, so that a default may change later."""
    if seat.config.model is not None:
        return seat.config
    model = getattr(getattr(seat.agent, "chat_model", None), "model", None)
    if not isinstance(model, str) or not model:
        return seat.config
    return seat.config.model_copy(update={"model": model})


def seated_again(record: SessionRecord, given: Mapping[str, AgentConfig], on_change: OnChange) -> Seating:
    """Compare what a session was begun with to what the table has now.

    Args:
        record: The session as it is stored.
        given: Configurations that the table gives to agents of the session, by id; others are as they were.
        on_change: What to do about differences.

    Raises:
        ConfigurationError: Something changed, and is not to be adopted; `details` list what.
    """
    agents: list[AgentConfig] = []
    changes: list[str] = []
    for stored in record.agents:
        offered = given.get(stored.id, stored)
        if offered.model is None:
            offered = offered.model_copy(update={"model": stored.model})
        different = _differing(stored, offered)
        changes += [f"{stored.id}: {name}" for name in different]
        agents.append(offered if different else stored)
    if record.prompt_version not in {None, PROMPT_VERSION}:
        changes.append(f"prompt texts: version {record.prompt_version} is now {PROMPT_VERSION}")
    if not changes:
        return Seating(record.agents, None)
    if on_change == "error":
        msg = f"session {record.id!r} was begun with another configuration ({'; '.join(changes)})"
        hint = "Go on as it was begun, or take over what is new: on_change='adopt', --adopt, or agents= of a fork."
        raise ConfigurationError(msg, hint=hint, details={"changes": [*changes]})
    return Seating(tuple(agents), Adoption(agents=tuple(agents), prompt_version=PROMPT_VERSION))


def _differing(stored: AgentConfig, offered: AgentConfig) -> Sequence[str]:
    # A session from before models were noted does not say which one it had.
    return [
        name
        for name in _COMPARED
        if getattr(stored, name) != getattr(offered, name) and not (name == "model" and stored.model is None)
    ]
