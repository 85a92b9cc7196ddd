"""Many debates at once: every question in every mode."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from roundtable.api.checks import check_list, check_whole
from roundtable.api.together import together
from roundtable.errors import ConfigurationError, RoundtableError
from roundtable.result import DebateResult
from roundtable.results import FailedDebate
from roundtable.stages import error_info

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.api.debates import Debates
    from roundtable.api.options import DebateOptions
    from roundtable.protocols import DebateModeStrategy

__all__ = ["ManyDebates", "OnError"]

OnError: TypeAlias = Literal["record", "raise"]
"""What becomes of a debate that fails: a line in the results, or the end of all."""

_MOST: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyDebates:
    """What a caller asks for in many debates; `Roundtable.debate_many` explains each."""

    topics: Sequence[str]
    modes: Sequence[str | DebateModeStrategy]
    concurrency: int
    on_error: OnError
    options: DebateOptions

    async def hold(self, debates: Debates) -> list[DebateResult | FailedDebate]:
        """Check all, then hold all, a few at a time; give what became of each, in order.

        Raises:
            ConfigurationError: Something asked for does not exist or does not fit; nothing was called.
            RoundtableError: With `on_error="raise"`, what the first debate that failed raised.
        """
        self._check(debates)
        asked = [(topic, mode) for topic in self.topics for mode in self.modes]
        return await together([partial(self._one, debates, *one) for one in asked], at_once=self.concurrency)

    async def _one(self, debates: Debates, topic: str, mode: str | DebateModeStrategy) -> DebateResult | FailedDebate:
        try:
            return await debates.debate(topic, **self._options(mode))
        except RoundtableError as error:
            if self.on_error == "raise":
                raise
            return _failed(topic, mode, error)

    def _options(self, mode: str | DebateModeStrategy) -> DebateOptions:
        return {**self.options, "mode": mode}

    def _check(self, debates: Debates) -> None:
        check_list("topics", self.topics, "a list of questions")
        check_list("modes", self.modes, "a list of modes")
        check_whole("concurrency", self.concurrency)
        if not 1 <= self.concurrency <= _MOST:
            raise ConfigurationError(f"concurrency must be 1 to {_MOST} debates at a time, not {self.concurrency}")
        if self.on_error not in ("record", "raise"):
            raise ConfigurationError(f"on_error must be 'record' or 'raise', not {self.on_error!r}")
        if "mode" in self.options:
            raise ConfigurationError("many debates take modes, a list", hint="Write modes=['delphi', 'adversarial'].")
        if not self.modes:
            raise ConfigurationError("modes is empty", hint="Leave it out for collaborative debates.")
        for mode in self.modes if self.topics else ():
            debates.check(self.topics[0], **self._options(mode))
        for topic in self.topics[1:]:
            debates.check(topic, **self._options(self.modes[0]))


def _failed(topic: str, mode: str | DebateModeStrategy, error: RoundtableError) -> FailedDebate:
    held = error.partial
    return FailedDebate(
        topic=topic,
        mode=mode if isinstance(mode, str) else mode.name,
        error=error_info(error),
        session_id=error.session_id,
        partial=held if isinstance(held, DebateResult) else None,
    )
