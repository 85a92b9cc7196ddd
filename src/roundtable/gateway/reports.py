"""Reports of single calls of models to observers, such as traces and metrics."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

from roundtable._core.text import error_text
from roundtable.gateway.wrapping import endpoint_of
from roundtable.types import ModelCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundtable.errors import RoundtableError
    from roundtable.gateway.guarded import GuardedModel
    from roundtable.protocols import SleepingClock
    from roundtable.types import ChatRequest, ChatResponse

__all__ = ["CallReport"]

_log: Final = logging.getLogger("roundtable.gateway")


class CallReport:
    """The report of one try of a call; it is sent to the listeners of the gateway when the try is over."""

    def __init__(self, model: GuardedModel, request: ChatRequest, attempt: int) -> None:
        self._clock: SleepingClock = model.gateway.clock
        self._listeners: tuple[Callable[[ModelCall], None], ...] = model.gateway.call_listeners
        self._model = model
        self._request = request
        self._attempt = attempt
        self._started_at = self._clock.now()
        self._start = self._clock.monotonic()
        self._first_text_s: float | None = None

    @classmethod
    def begin(cls, model: GuardedModel, request: ChatRequest, attempt: int) -> Self | None:
        """Return the report of a try that begins now; `None` if nobody listens."""
        return cls(model, request, attempt) if model.gateway.call_listeners else None

    def has_text(self) -> None:
        """Note that the first piece of text has arrived."""
        self._first_text_s = self._clock.monotonic() - self._start

    def answered(self, response: ChatResponse) -> None:
        """Send the report of a try that brought an answer."""
        call = self._call(response.provider)
        self._send(
            replace(
                call,
                usage=response.usage,
                finish_reason=response.finish_reason,
                response_model=response.model,
                request_id=response.request_id,
            )
        )

    def failed(self, error: RoundtableError | None) -> None:
        """Send the report of a try that failed; without an error, it was given up."""
        call = self._call(None)
        if error is None:
            self._send(replace(call, error="cancelled"))
        else:
            self._send(replace(call, error=type(error).__name__, usage=error.usage, request_id=error.request_id))

    def _call(self, provider: str | None) -> ModelCall:
        request, model = self._request, self._model
        return ModelCall(
            provider=provider or model.provider,
            model=request.model or model.model,
            endpoint=endpoint_of(model),
            started_at=self._started_at,
            duration_s=max(0.0, self._clock.monotonic() - self._start),
            first_text_s=self._first_text_s,
            attempt=self._attempt,
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            metadata=dict(request.metadata),
        )

    def _send(self, call: ModelCall) -> None:
        for listener in self._listeners:
            try:
                listener(call)
            except Exception as error:  # noqa: BLE001  (observers may be third-party code)
                _log.warning("an observer failed on a call of a model: %s: %s", type(error).__name__, error_text(error))
