"""Having a debate put together: once, stored as one event, and never at the cost of the debate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import anyio

from roundtable._foreign import error_text
from roundtable.engine.keeping import Keeper
from roundtable.errors import ConfigurationError, RoundtableError, SessionConflict
from roundtable.stages import error_from_info, error_info, is_fault
from roundtable.types import SynthesisComplete, Usage

if TYPE_CHECKING:
    from roundtable.agents.synthesis import Synthesized
    from roundtable.engine.journal import Journal
    from roundtable.protocols import Clock
    from roundtable.record import Fold
    from roundtable.types import DebateContext, SynthesisResult

__all__ = ["Writer", "stored_synthesis", "synthesis_event", "synthesize_stored"]


class Writer(Protocol):
    """Puts a debate together; `roundtable.agents.synthesis.Synthesizer` is one."""

    @property
    def id(self) -> str:
        """What `synthesizer_id` says."""

    async def write(self, view: DebateContext) -> Synthesized:
        """Put what was said together.

        Raises:
            RoundtableError: No synthesis came of it; `usage` says what was spent.
        """


class _Nobody:
    """Stands where no model is."""

    id = ""

    async def write(self, view: DebateContext) -> Synthesized:
        """Say so."""
        msg = f"session {view.session_id!r}: no model is there to put the debate together"
        raise ConfigurationError(msg, hint="Name one with seats={'synthesizer': 'provider:model'}.")


async def synthesis_event(writer: Writer | None, fold: Fold, clock: Clock) -> SynthesisComplete:
    """Have a debate put together; what goes wrong is said in the event, with what it took."""
    failure: RoundtableError
    try:
        made = await (writer or _Nobody()).write(fold.view())
    except RoundtableError as error:
        failure = error
    except BaseException as error:  # a model may be foreign code; its error must not lose the debate
        if not is_fault(error):
            raise
        failure = RoundtableError(
            f"the synthesizer raised {type(error).__name__}: {error_text(error)[:500]}", cause=error
        )
    else:
        return SynthesisComplete(
            session_id=fold.record.id, timestamp=clock.now(), synthesis=made.synthesis, usage=made.usage
        )
    spent = failure.usage if isinstance(failure.usage, Usage) else None
    return SynthesisComplete(session_id=fold.record.id, timestamp=clock.now(), error=error_info(failure), usage=spent)


def stored_synthesis(fold: Fold, by: str | None) -> SynthesisResult | None:
    """Give the synthesis that is stored, unless another one is asked for.

    Raises:
        SessionConflict: Nobody has answered yet.
    """
    if not fold.view().previous_responses:
        msg = f"session {fold.record.id!r} has no answers yet"
        raise SessionConflict(msg, hint="Resume the session first.")
    held = fold.synthesis
    return held if held is not None and by in {None, held.synthesizer_id} else None


async def synthesize_stored(journal: Journal, writer: Writer, lease_ttl_s: float) -> SynthesisResult:
    """Have a session put together that nobody runs, under its lease, and store what comes of it.

    Raises:
        RoundtableError: No synthesis came of it, or the lease was lost; what was spent is stored all the same.
    """
    lost: list[RoundtableError] = []
    made: SynthesisComplete | None = None
    async with anyio.create_task_group() as background:

        def give_up(error: RoundtableError) -> None:
            lost.append(error)
            background.cancel_scope.cancel()

        keeper = Keeper(journal, lease_ttl_s, give_up=give_up, stop=lambda: None)
        background.start_soon(keeper.keep_lease)
        made = await synthesis_event(writer, journal.fold, journal.clock)
        try:
            # In here: leaving the group is a place to be cancelled, and what was paid for would be lost.
            await journal.append(made)
        except RoundtableError as error:
            lost.append(error)
        background.cancel_scope.cancel()
    if lost:
        raise lost[0]
    assert made is not None  # noqa: S101  (only a lost lease ends it otherwise)
    if made.synthesis is None:
        assert made.error is not None  # noqa: S101  (an event holds one of the two)
        raise error_from_info(made.error)
    return made.synthesis
