"""Going on with another configuration than a session began with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundtable.errors import SessionConflict
from roundtable.types import Control

if TYPE_CHECKING:
    from datetime import datetime

    from roundtable.agents import AgentRegistry
    from roundtable.protocols import Agent
    from roundtable.record import Fold
    from roundtable.types import AgentConfig

__all__ = ["Adoption", "adopted", "check_open", "check_past", "present"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What holds from now on."""

    agents: tuple[AgentConfig, ...]
    """Configurations of all agents of the session, in its order."""
    prompt_version: str
    """Version of the prompt texts."""


def adopted(fold: Fold, asked: Adoption, now: datetime) -> Control:
    """Give the event with which the session goes on."""
    return Control(
        session_id=fold.record.id,
        timestamp=now,
        action="resume",
        agents=asked.agents,
        prompt_version=asked.prompt_version,
    )


def check_open(fold: Fold) -> None:
    """Refuse to run a session that is over.

    Raises:
        SessionConflict: It is completed.
    """
    if fold.progress.status == "completed":
        msg = f"session {fold.record.id!r} is completed"
        raise SessionConflict(msg, hint="Extend it to hold further rounds.")


def check_past(fold: Fold) -> Fold:
    """Give the session, unless it is a fork whose past was not stored because its process died in between.

    Raises:
        SessionConflict: The past is not there.
    """
    origin = fold.record.forked_from
    if origin is not None and fold.last_seq < origin.events:
        msg = f"session {fold.record.id!r} lacks the past that it was to share with session {origin.session_id!r}"
        raise SessionConflict(msg, hint="Delete it, and fork the other session again.")
    return fold


def present(registry: AgentRegistry, fold: Fold) -> dict[str, Agent]:
    """Give who takes part in a session, and who sits beside it."""
    beside = {one: registry.get_agent(one) for ids in fold.record.config.seats.values() for one in ids}
    return {
        **registry.resolve(fold.record.agents),
        **{one: agent for one, agent in beside.items() if agent is not None},
    }
