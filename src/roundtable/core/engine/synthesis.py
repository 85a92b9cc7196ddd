"""Write the synthesis of a debate once, and store it as one event; a failure never loses the debate."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import anyio

from roundtable.core.base.text import error_text
from roundtable.core.engine.lease import LeaseKeeper
from roundtable.core.errors import ConfigurationError, RoundtableError, SessionConflict
from roundtable.core.stages import error_from_info, error_info, is_fault
from roundtable.core.types.chat import Usage
from roundtable.core.types.events import SynthesisComplete

if TYPE_CHECKING:
    from datetime import datetime

    from roundtable.core.engine.journal import Journal
    from roundtable.core.protocols import Clock
    from roundtable.core.record.fold import Fold
    from roundtable.core.types.consensus import SynthesisResult
    from roundtable.core.types.debate import DebateContext

__all__ = ["Synthesized", "Writer", "cancelled_synthesis", "stored_synthesis", "synthesis_event", "synthesize_stored"]


class Synthesized(NamedTuple):
    """A synthesis, and the usage of its calls."""

    synthesis: SynthesisResult
    usage: Usage


class Writer(Protocol):
    """Writes the synthesis of a debate, such as `roundtable.agents.Synthesizer`."""

    @property
    def id(self) -> str:
        """The `synthesizer_id` of the synthesis."""

    async def write(self, view: DebateContext) -> Synthesized:
        """Write the synthesis.

        Raises:
            RoundtableError: The synthesis failed; `usage` is what it consumed.
        """


class _MissingWriter:
    """A writer that always fails, for sessions without a model to write the synthesis."""

    id = ""

    async def write(self, view: DebateContext) -> Synthesized:
        """Raise the error.

        Raises:
            ConfigurationError: Always.
        """
        msg = f"session {view.session_id!r} has no model to write the synthesis"
        raise ConfigurationError(msg, hint="Name one with seats={'synthesizer': 'provider:model'}.")


async def synthesis_event(writer: Writer | None, fold: Fold, clock: Clock) -> SynthesisComplete:
    """Write the synthesis; if that fails, the event contains the error and the usage."""
    failure: RoundtableError
    try:
        written = await (writer or _MissingWriter()).write(fold.view())
    except RoundtableError as error:
        failure = error
    except BaseException as error:  # a model may be third-party code; its error must not lose the debate
        if not is_fault(error):
            raise
        failure = RoundtableError(
            f"the synthesizer raised {type(error).__name__}: {error_text(error)[:500]}", cause=error
        )
    else:
        return SynthesisComplete(
            session_id=fold.record.id, timestamp=clock.now(), synthesis=written.synthesis, usage=written.usage
        )
    usage = failure.usage if isinstance(failure.usage, Usage) else None
    return SynthesisComplete(session_id=fold.record.id, timestamp=clock.now(), error=error_info(failure), usage=usage)


def cancelled_synthesis(fold: Fold, now: datetime, usage: Usage) -> SynthesisComplete:
    """Return the event of a synthesis that a deadline or a stop cancelled, with the usage that may be billed."""
    error = RoundtableError("the synthesis was cancelled", hint="Call `synthesize` to write it.")
    return SynthesisComplete(session_id=fold.record.id, timestamp=now, error=error_info(error), usage=usage)


def stored_synthesis(fold: Fold, by: str | None) -> SynthesisResult | None:
    """Return the stored synthesis, unless it is unreadable or another synthesizer than `by` wrote it.

    Raises:
        SessionConflict: The session has no answers yet, or is a team conversation.
    """
    if fold.record.config.team is not None:
        msg = f"session {fold.record.id!r} is a team conversation; only debates have a synthesis"
        raise SessionConflict(msg, hint="The team's own summary is in the result of the conversation.")
    if not fold.view().previous_responses:
        msg = f"session {fold.record.id!r} has no answers yet"
        raise SessionConflict(msg, hint="Resume the session first.")
    synthesis = fold.synthesis
    is_wanted = synthesis is not None and synthesis.readable and by in {None, synthesis.synthesizer_id}
    return synthesis if is_wanted else None


async def synthesize_stored(journal: Journal, writer: Writer, lease_ttl_s: float) -> SynthesisResult:
    """Write and store the synthesis of a session that is not running, under its lease.

    Raises:
        RoundtableError: The synthesis failed, or the lease was lost; the usage is stored in both cases.
    """
    errors: list[RoundtableError] = []
    event: SynthesisComplete | None = None
    async with anyio.create_task_group() as background:

        def give_up(error: RoundtableError) -> None:
            errors.append(error)
            background.cancel_scope.cancel()

        keeper = LeaseKeeper(journal, lease_ttl_s, give_up=give_up)
        background.start_soon(keeper.keep_lease)
        event = await synthesis_event(writer, journal.fold, journal.clock)
        try:
            # Inside the group: leaving the group is a cancellation point, where a paid synthesis could be lost.
            await journal.append(event)
        except RoundtableError as error:
            errors.append(error)
        background.cancel_scope.cancel()
    if errors:
        raise errors[0]
    assert event is not None  # noqa: S101  (only a lost lease ends it otherwise)
    if event.synthesis is None:
        assert event.error is not None  # noqa: S101  (an event holds one of the two)
        raise error_from_info(event.error)
    return event.synthesis
