"""Decoding of answers with bounded memory: what is too large, cut short or corrupt is found out."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

from roundtable.errors import AgentError, APINetworkError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundtable.http.messages import HttpLimits

__all__ = ["ACCEPT_ENCODING", "BodyDecoder"]

ACCEPT_ENCODING: Final = "gzip, identity"
"""Codings asked for: those that `BodyDecoder` knows."""

_GZIP: Final = zlib.MAX_WBITS | 16
_STEP: Final = 2**18


class BodyDecoder:
    """Undoes the content coding of one answer, piece by piece.

    `zlib` is asked for a bounded piece at a time, so that a small input can never fill the memory.

    Args:
        coding: Value of the `content-encoding` header.
        limits: How much is read.
        provider: Provider that answers, for messages.

    Raises:
        APINetworkError: The coding is not one that was asked for.
    """

    def __init__(self, coding: str, limits: HttpLimits, provider: str = "") -> None:
        coding = coding.strip().lower()
        if coding not in {"", "identity", "gzip", "x-gzip"}:
            raise APINetworkError(
                f"the answer has the coding {coding[:40]!r}, which was not asked for",
                provider=provider,
                retryable=False,
            )
        self._limits = limits
        self._provider = provider
        self._gzip = zlib.decompressobj(_GZIP) if coding.endswith("gzip") else None
        self._received = 0
        self._given = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Take the next bytes; give decoded pieces.

        Raises:
            AgentError: The answer is too large.
            APINetworkError: The bytes are corrupt.
        """
        self._received += len(chunk)
        if self._gzip is None:
            self._count(len(chunk))
            yield chunk
            return
        while chunk:
            if self._gzip.eof:
                self._gzip = zlib.decompressobj(_GZIP)
            try:
                piece = self._gzip.decompress(chunk, _STEP)
            except zlib.error as exc:
                raise APINetworkError("the compressed answer is corrupt", provider=self._provider, cause=exc) from exc
            chunk = self._gzip.unused_data if self._gzip.eof else self._gzip.unconsumed_tail
            if piece:
                self._count(len(piece))
                yield piece

    def finish(self) -> None:
        """Check that the answer was whole.

        Raises:
            APINetworkError: The compressed answer was cut short.
        """
        if self._gzip is not None and self._received and not self._gzip.eof:
            raise APINetworkError("the compressed answer was cut short", provider=self._provider)

    def _count(self, more: int) -> None:
        self._given += more
        limits = self._limits
        crowded = self._given > limits.ratio_from_bytes and self._given > limits.ratio * self._received
        if self._given > limits.body_bytes or crowded:
            raise AgentError(
                f"the answer is too large: more than {min(self._given, limits.body_bytes)} bytes",
                provider=self._provider,
                hint="Ask for a shorter answer with `max_tokens`; check that the base URL is a model's.",
            )
