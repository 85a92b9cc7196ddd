"""Keeps the HTTP library from logging what a server said: it may repeat the key it was sent."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from contextvars import Token
    from types import TracebackType

__all__ = ["Quiet"]

_LOGGERS: Final = ("connection", "http11", "http2", "proxy", "socks")
_ours: ContextVar[bool] = ContextVar("roundtable_http_call", default=False)


class _NamesOnly(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if _ours.get():
            # "receive_response_headers.complete return_value=(...)": what happened stays, what was said goes.
            record.msg, record.args = str(record.msg).partition(" ")[0], ()
        return True


_NAMES_ONLY: Final = _NamesOnly()


class Quiet:
    """A block whose steps are logged by name alone; other users of the HTTP library are left as they are."""

    __slots__ = ("_token",)

    _token: Token[bool]

    @staticmethod
    def install() -> None:
        """Put the filter on the library's loggers; once is enough, more often does nothing."""
        for name in _LOGGERS:
            logging.getLogger(f"httpcore.{name}").addFilter(_NAMES_ONLY)

    def __enter__(self) -> Self:
        self._token = _ours.set(True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _ours.reset(self._token)
