"""A debate that runs by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from roundtable.errors import SessionError

if TYPE_CHECKING:
    from roundtable.api.stream import Prepared, Watch
    from roundtable.api.table import Roundtable
    from roundtable.result import DebateResult

__all__ = ["DebateHandle"]


class DebateHandle:
    """A running debate, made by `Roundtable.start`."""

    def __init__(self, table: Roundtable, prepared: Prepared) -> None:
        self._table = table
        self._prepared = prepared
        self._done = anyio.Event()
        self._result: DebateResult | None = None
        self._error: Exception | None = None

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self._prepared.session_id

    @property
    def done(self) -> bool:
        """Whether the debate is over."""
        return self._done.is_set()

    async def drive(self) -> None:
        """Run the debate; called once, by the table."""
        try:
            fold = await self._prepared.run(lambda _: None)
            self._result = self._prepared.to_result(fold)
        except Exception as error:  # noqa: BLE001  (raised by `result`, to whoever asks)
            self._error = error
        finally:
            self._done.set()

    def events(self, *, after: int = 0) -> Watch:
        """Follow the debate from the event after number `after`."""
        return self._table.watch(self.session_id, after=after)

    async def result(self) -> DebateResult:
        """Wait for the end and give the result.

        Raises:
            RoundtableError: What `Roundtable.debate` would have raised.
            SessionError: The table was left before the debate was over.
        """
        await self._done.wait()
        if self._error is not None:
            raise self._error
        if self._result is None:
            msg = f"the table was left before session {self.session_id!r} was over"
            raise SessionError(msg, hint="Resume the session.")
        return self._result

    async def pause(self) -> None:
        """Ask the debate to pause; `Roundtable.resume` goes on with it."""
        await self._table.pause(self.session_id)

    async def stop(self) -> None:
        """Ask the debate to stop for good."""
        await self._table.stop(self.session_id)
