"""Every error that the library raises; see `roundtable.errors`."""

from __future__ import annotations

import math
import traceback
from typing import TYPE_CHECKING, ClassVar, Protocol

from roundtable.core.base.outages import is_outage
from roundtable.core.base.text import cause_text, encodable, error_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic import JsonValue

    from roundtable.core.types.chat import Usage

__all__ = [
    "APIAuthError",
    "APINetworkError",
    "APIRateLimitError",
    "APITimeoutError",
    "AgentError",
    "BudgetExceeded",
    "CassetteMiss",
    "CircuitOpen",
    "ConfigurationError",
    "ContextTooLong",
    "LeaseLost",
    "ParseError",
    "PartialResult",
    "PluginError",
    "QuorumLost",
    "RoundtableError",
    "SessionBusy",
    "SessionConflict",
    "SessionError",
    "SessionNotFound",
    "StaleSequence",
    "StorageError",
    "error_kinds",
]


class PartialResult(Protocol):
    """The part of a `DebateResult` that errors promise; defined here so that errors don't import the results."""

    @property
    def session_id(self) -> str:
        """Session id."""

    @property
    def status(self) -> str:
        """State of the result, such as `partial`."""

    @property
    def answer(self) -> str | None:
        """The answer so far; `None` if there is none."""

    @property
    def rounds(self) -> Sequence[object]:
        """Rounds so far; each is a `RoundRecord`."""

    def to_markdown(self) -> str:
        """Render the result as Markdown."""


class RoundtableError(Exception):
    """Base of all errors of this library.

    Args:
        message: What happened and what to do; the default message of the class when left out.
        code: Stable machine-readable code; the default code of the class when left out.
        provider: Provider that failed.
        retryable: Whether the same call may succeed later; the default of the class when left out.
        cause: The wrapped error; also set as `__cause__`.
        hint: How to recover; the default hint of the class when left out.
        request_id: The provider's id of the failed call.
        retry_after_s: Seconds that the provider asked callers to wait.
        details: Facts that only this kind of error has, as JSON values without secrets.

    An error that ends a debate also has `session_id`, the id of the session, and `partial`, the result so far;
    `partial` is missing if the error came before any agent could be asked. `usage` of an agent's error is what the
    failed turn spent. `is_recorded` marks an error that a cassette replays.

    Example:
        >>> error = APIRateLimitError(provider="anthropic")
        >>> error.code, error.retryable, str(error)
        ('API_RATE_LIMIT', True, 'API rate limit exceeded')
    """

    default_message: ClassVar[str] = "AI Roundtable failed"
    default_code: ClassVar[str] = "ROUNDTABLE_ERROR"
    default_retryable: ClassVar[bool] = False
    default_hint: ClassVar[str | None] = None

    __cause__: BaseException | None

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        provider: str | None = None,
        retryable: bool | None = None,
        cause: BaseException | None = None,
        hint: str | None = None,
        request_id: str | None = None,
        retry_after_s: float | None = None,
        details: Mapping[str, JsonValue] | None = None,
    ) -> None:
        self.message: str = encodable(message or self.default_message)
        super().__init__(self.message)
        self.code: str = code or self.default_code
        self.provider = provider
        self.retryable: bool = self.default_retryable if retryable is None else retryable
        self.hint: str | None = hint or self.default_hint
        self.request_id = request_id
        self.retry_after_s: float | None = retry_after_s if math.isfinite(retry_after_s or 0) else None
        self.details: dict[str, JsonValue] | None = dict(details) if details else None
        self.usage: Usage | None = None
        self.session_id: str | None = None
        self.partial: PartialResult | None = None
        self.is_recorded: bool = False
        if cause is not None:
            self.__cause__ = cause

    if not TYPE_CHECKING:  # otherwise type checkers would accept every misspelt field

        def __getattr__(self, name: str) -> object:
            """Set the missing fields of an error whose class does not call `super().__init__()`."""
            if "is_recorded" in self.__dict__:
                raise AttributeError(name, name=name, obj=self)
            fields, message = dict(self.__dict__), " ".join(map(error_text, self.args))
            RoundtableError.__init__(self, message)
            self.__dict__ |= fields
            return getattr(self, name)

    @property
    def is_outage(self) -> bool:
        """Whether the provider is out or overloaded, so that the same call may succeed after a wait.

        This is so for rate limits, time-outs, server and network errors, and calls that an open circuit breaker
        refused. It is `False` if the request, its key or this one answer is bad.
        """
        return is_outage(self.code, retryable=self.retryable, details=self.details)

    def to_dict(self, *, debug: bool = False) -> dict[str, JsonValue]:
        """Return the error as JSON values, in camelCase, without empty fields.

        Args:
            debug: Whether to add the stack trace. Leave it off unless the reader is the developer.
        """
        facts: dict[str, JsonValue] = {
            "name": type(self).__name__,
            "message": self.message,
            "code": self.code,
            "provider": self.provider,
            "retryable": self.retryable,
            "cause": cause_text(self),
            "hint": self.hint,
            "requestId": self.request_id,
            "retryAfterS": self.retry_after_s,
            "details": None if self.details is None else dict(self.details),
            "stack": encodable("".join(traceback.format_exception(self))) if debug else None,
        }
        return {name: value for name, value in facts.items() if value is not None}

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle all fields; only the text of the wrapped error is pickled."""
        return (_rebuild, (type(self), self.args, dict(self.__dict__), cause_text(self)))


def _rebuild(
    kind: type[RoundtableError], args: tuple[str, ...], fields: dict[str, object], cause: str | None
) -> RoundtableError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    if cause is not None:
        error.__cause__ = RuntimeError(cause)
    return error


class APIRateLimitError(RoundtableError):
    """The provider refused the call because too many were made."""

    default_message = "API rate limit exceeded"
    default_code = "API_RATE_LIMIT"
    default_retryable = True
    default_hint: ClassVar[str | None] = "Wait and try again, or lower `concurrency`."


class APIAuthError(RoundtableError):
    """The provider refused the key, or the account lacks the permission."""

    default_message = "API authentication failed"
    default_code = "API_AUTH_FAILED"
    default_hint: ClassVar[str | None] = "Check the provider's API key and its permissions; a retry will not help."


class APINetworkError(RoundtableError):
    """The provider could not be reached, or its response is not an API response."""

    default_message = "Network error occurred"
    default_code = "API_NETWORK_ERROR"
    default_retryable = True
    default_hint: ClassVar[str | None] = "Check the network and the provider's base URL, then try again."


class CircuitOpen(APINetworkError):
    """The provider failed so often recently that the library stops calling it for a while. This call was not made."""

    default_message = "Circuit breaker open"
    default_retryable = False
    default_hint: ClassVar[str | None] = (
        "Wait as long as `retry_after_s` says, use another provider meanwhile, or close the breaker now with "
        "`reset_breakers()` of the table. `ProviderConfig.breaker` sets when it opens."
    )


class APITimeoutError(RoundtableError):
    """The provider did not answer within the deadline."""

    default_message = "API request timed out"
    default_code = "API_TIMEOUT"
    default_retryable = True
    default_hint: ClassVar[str | None] = "Try again, raise `timeout_s`, or ask for a shorter answer with `max_tokens`."


class AgentError(RoundtableError):
    """An agent could not give an answer."""

    default_message = "The agent failed to answer"
    default_code = "AGENT_ERROR"
    default_hint: ClassVar[str | None] = "Check the agent's provider, model and limits."


class ContextTooLong(AgentError):
    """The prompt does not fit the model's context window."""

    default_message = "The prompt is longer than the model's context window"
    default_hint: ClassVar[str | None] = (
        "Use fewer rounds or agents, a shorter topic, or a model with a larger context window."
    )


class ParseError(AgentError):
    """A model's text could not be parsed as the requested answer."""

    default_message = "The answer could not be read"
    default_code = "PARSE_ERROR"
    default_hint: ClassVar[str | None] = "Use a model that follows the answer format, or one with structured output."


class SessionError(RoundtableError):
    """A session does not exist, or its state does not allow the operation."""

    default_message = "The session does not allow this"
    default_code = "SESSION_ERROR"
    default_hint: ClassVar[str | None] = "List the sessions and check the state of this one."


class SessionNotFound(SessionError):
    """No session has this id, or it belongs to another tenant."""

    default_message = "There is no such session"
    default_hint: ClassVar[str | None] = "List the sessions, and check the storage and the tenant."


class SessionConflict(SessionError):
    """The state of the session, or its stored data, does not allow the operation."""

    default_message = "The state of the session does not allow this"
    default_hint: ClassVar[str | None] = "Check the current state of the session."


class StaleSequence(SessionConflict):
    """New events were not appended, because the event that they should follow is no longer the last one."""

    default_message = "The session has moved on"
    default_retryable = True
    default_hint: ClassVar[str | None] = "Read the events stored meanwhile, then append after them."


class SessionBusy(SessionError):
    """Another owner is running this session."""

    default_message = "The session is being run by another owner"
    default_retryable = True
    default_hint: ClassVar[str | None] = "Wait until its lease ends, or stop the session where it runs."


class LeaseLost(SessionError):
    """The lease (the right to write to the session) was never taken, or another owner took it over."""

    default_message = "The lease on the session is lost"
    default_hint: ClassVar[str | None] = "Stop working on this session, or take the lease again and reload it."


class StorageError(RoundtableError):
    """The storage could not read or write."""

    default_message = "The storage failed"
    default_code = "STORAGE_ERROR"
    default_hint: ClassVar[str | None] = "Check the path, its permissions and the free disk space."

    @property
    def is_damage(self) -> bool:
        """Whether stored data is damaged; other data may still be readable."""
        return (self.details or {}).get("reason") == "corrupt"

    @property
    def is_locked(self) -> bool:
        """Whether another process has locked the storage for a while; the call changed nothing and can be repeated."""
        return (self.details or {}).get("reason") == "locked"


class ConfigurationError(RoundtableError):
    """An argument or a setting is not valid; raised before any paid call."""

    default_message = "The configuration is not usable"
    default_code = "CONFIGURATION_ERROR"


class PluginError(RoundtableError):
    """A plugin could not be loaded or used.

    Args:
        message: What happened.
        plugin: Distribution or name of the plugin.
        stage: Where it failed, such as `"import"` or `"register"`.
        code: See `RoundtableError`.
        cause: The plugin's own error.
        hint: How to recover.
    """

    default_message = "A plugin failed"
    default_code = "PLUGIN_ERROR"

    def __init__(
        self,
        message: str | None = None,
        *,
        plugin: str | None = None,
        stage: str | None = None,
        code: str | None = None,
        cause: BaseException | None = None,
        hint: str | None = None,
    ) -> None:
        facts: dict[str, JsonValue] = {k: v for k, v in (("plugin", plugin), ("stage", stage)) if v is not None}
        super().__init__(message, code=code, cause=cause, hint=hint, details=facts)
        self.plugin = plugin
        self.stage = stage


class BudgetExceeded(RoundtableError):
    """The budget does not cover a call. Callers see this only if the run paid for nothing and stored no answer."""

    default_message = "The budget does not cover this debate"
    default_code = "BUDGET_EXCEEDED"
    default_hint: ClassVar[str | None] = "Raise the budget, or lower `max_tokens` of the agents; then resume."


class CassetteMiss(RoundtableError):
    """A cassette that only replays does not contain the call. This ends the run and isn't a failed turn.

    `details` name the most similar recorded call, and the first place where it differs from this call.
    """

    default_message = "The cassette does not contain this call"
    default_code = "CASSETTE_MISS"
    default_hint: ClassVar[str | None] = (
        "Open the cassette with mode='auto' to record this call, or mode='record' to record all."
    )


class QuorumLost(RoundtableError):
    """Too few agents answered to continue. The answers given are in `partial` and in the storage.

    Args:
        message: What happened.
        partial: The result so far.
        causes: Why agents failed: one error for each, in the order of the agents.
        code: See `RoundtableError`.
        cause: One of the agents' errors.
        hint: How to recover.
        details: Who failed and why, as JSON values.

    Example:
        >>> lost = QuorumLost(causes=[APIAuthError(provider="acme"), APIAuthError(provider="acme")])
        >>> all(isinstance(cause, APIAuthError) for cause in lost.causes)
        True
    """

    default_message = "Too few agents answered"
    default_code = "QUORUM_LOST"
    default_retryable = True
    default_hint: ClassVar[str | None] = "Fix the named causes, then resume the session; stored answers are kept."

    def __init__(
        self,
        message: str | None = None,
        *,
        partial: PartialResult | None = None,
        causes: Iterable[RoundtableError] = (),
        code: str | None = None,
        cause: BaseException | None = None,
        hint: str | None = None,
        details: Mapping[str, JsonValue] | None = None,
    ) -> None:
        super().__init__(message, code=code, cause=cause, hint=hint, details=details)
        self.partial = partial
        self.causes: tuple[RoundtableError, ...] = tuple(causes)

    @property
    def is_outage(self) -> bool:
        """Whether every agent failed because its provider is out or overloaded."""
        return bool(self.causes) and all(cause.is_outage for cause in self.causes)


def error_kinds() -> tuple[type[RoundtableError], ...]:
    """Return every error class of this module, base first, in definition order."""
    kinds: list[type[RoundtableError]] = [RoundtableError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    return tuple(kind for kind in kinds if kind.__module__ == __name__)
