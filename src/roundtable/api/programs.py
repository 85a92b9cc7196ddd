"""Programs of this machine that a session from a file names, and whether they may be started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundtable.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable._registry import Registry
    from roundtable.providers import ProviderFactory
    from roundtable.types import AgentConfig, SessionRecord

__all__ = ["check_programs"]


def check_programs(
    record: SessionRecord,
    wanted: Sequence[AgentConfig],
    seated: Mapping[str, AgentConfig],
    providers: Registry[ProviderFactory],
) -> None:
    """Refuse to start a program just because a file that was imported names it.

    A factory says by a true attribute `runs_programs` that its models are programs.

    Args:
        record: The session.
        wanted: Agents that would be made by their configurations.
        seated: Configurations of agents that the caller seated under the same ids: what they name is asked for.
        providers: What this installation knows.

    Raises:
        ConfigurationError: An agent is a program, and nobody here asked for it; `details` name the agents.
    """
    if not record.imported:
        return
    refused = [
        config
        for config in wanted
        if getattr(providers.get(config.provider), "runs_programs", False) and not _asked(config, seated.get(config.id))
    ]
    if refused:
        names = [f"{config.provider}:{config.model or ''}".rstrip(":") for config in refused]
        msg = f"session {record.id!r} was imported, and would start programs on this machine: {', '.join(names)}"
        hint = (
            "If you trust where it came from, import it once more with run_programs=True (and new_id=True; in the "
            "command --run-programs --new-id), or seat these agents at this table."
        )
        raise ConfigurationError(
            msg, code="PROGRAM_REFUSED", hint=hint, details={"agents": [one.id for one in refused]}
        )


def _asked(config: AgentConfig, seat: AgentConfig | None) -> bool:
    return seat is not None and (seat.provider, seat.model) == (config.provider, config.model)
