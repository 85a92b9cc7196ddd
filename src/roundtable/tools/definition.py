"""The definition of a tool: name, description, schema of the arguments, the turn of a call, and the result."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from anyio import CapacityLimiter, get_cancelled_exc_class
from anyio.lowlevel import RunVar
from pydantic_core import PydanticSerializationError, from_json, to_json

from roundtable.core.base.eventloop import ends_program, on_thread
from roundtable.core.base.functions import is_async
from roundtable.core.base.strict_json import is_too_deep
from roundtable.core.base.text import error_text
from roundtable.core.errors import ConfigurationError, RoundtableError
from roundtable.core.stages import is_foreign_cancellation
from roundtable.core.types.base import JsonObject
from roundtable.core.types.chat import AgentTool, ToolResult, Usage

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pydantic import ValidationError

    from roundtable.core.protocols import ChatModel, Tool
    from roundtable.core.types.answers import ContextRequest
    from roundtable.core.types.chat import ChatRequest, ChatResponse
    from roundtable.core.types.debate import DebateContext

__all__ = [
    "MOST_RESULT_BYTES",
    "MOST_THREADS",
    "TOOL_ATTEMPTS",
    "TOOL_BASE_DELAY_S",
    "TOOL_TIMEOUT_S",
    "AskingToolkit",
    "CallsModels",
    "ModelCall",
    "ToolContext",
    "ToolDefinition",
    "ToolTurn",
    "TurnTool",
    "check_tool_name",
    "failed_result",
    "invalid_tool_arguments",
    "is_external_interrupt",
    "is_transient_error",
    "run_in_thread",
    "to_result",
    "truncate_result",
]

T = TypeVar("T")

MOST_THREADS: Final = 40
"""The most plain functions that run at the same time in one event loop; functions that timed out count as well."""

_limiter: RunVar[CapacityLimiter] = RunVar("roundtable_tool_threads")

MOST_RESULT_BYTES: Final = 20_000
"""Maximum size, in bytes of JSON, of a result that a model sees."""
_MAX_ERROR_CHARS: Final = 500

TOOL_ATTEMPTS: Final = 3
"""Maximum number of attempts of a retryable tool, including the first one."""
TOOL_BASE_DELAY_S: Final = 0.5
"""Seconds before the second attempt; the delay doubles before each further attempt."""
TOOL_TIMEOUT_S: Final = 30.0
"""Seconds that one attempt may take."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_TRANSIENT_PHRASES: Final = ("ECONNRESET", "ETIMEDOUT", "fetch failed", "timed out")


async def run_in_thread(function: Callable[[], T]) -> T:
    """Run a function on a separate thread, as `on_thread` does, and wait for it. If all threads are busy, wait first.

    Raises:
        Exception: What the function raises.
        RuntimeError: The function raised `KeyboardInterrupt` or `SystemExit`; Ctrl-C never reaches such a thread.
    """
    limiter = _limiter.get(None)
    if limiter is None:
        limiter = CapacityLimiter(MOST_THREADS)
        _limiter.set(limiter)
    borrower = object()
    await limiter.acquire_on_behalf_of(borrower)
    return await on_thread(function, name="roundtable tool", ended=partial(limiter.release_on_behalf_of, borrower))


def to_result(value: object) -> ToolResult:
    """Return the `ToolResult` for any value that a tool returned.

    NaN and infinities become their names, because JSON cannot express them. Models, dataclasses and times become JSON.
    A value with more than 20 kB of JSON, or nested more than 64 levels deep, becomes the start of its JSON as text.

    Raises:
        ValueError: The value has no JSON form: bytes that are not UTF-8, a structure that contains itself, or an
            object of an unknown class.

    Example:
        >>> to_result({"share": float("nan")}).data
        {'share': 'NaN'}
    """
    if isinstance(value, ToolResult):
        return truncate_result(value)
    try:
        text = to_json(value, by_alias=True, inf_nan_mode="strings")
        fits = len(text) <= MOST_RESULT_BYTES and not is_too_deep(value)
        data = from_json(text) if fits else _cut(value, text)
        # Sets and objects became lists and dictionaries, so only their JSON shows how deep they are nested.
        return ToolResult(success=True, data=_cut(data, text) if is_too_deep(data) else data)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        msg = f"what the tool returned ({type(value).__name__}) does not fit into JSON: {error}"
        raise ValueError(msg) from error


def truncate_result(result: ToolResult) -> ToolResult:
    """Return a result whose data has at most 20 kB of JSON and 64 levels; other data becomes the start of its JSON."""
    text = to_json(result.data)
    if len(text) > MOST_RESULT_BYTES or is_too_deep(result.data):
        result = result.model_copy(update={"data": _cut(result.data, text)})
    if len(result.error or "") > _MAX_ERROR_CHARS:
        result = result.model_copy(update={"error": (result.error or "")[:_MAX_ERROR_CHARS]})
    return result


def _cut(data: object, text: bytes) -> str:
    """Return a text, or the JSON of other data as text, cut so that the JSON of the result is short enough."""
    text = data.encode() if isinstance(data, str) else text
    if len(to_json(whole := text.decode())) <= MOST_RESULT_BYTES + 2:
        return whole
    limit = MOST_RESULT_BYTES
    while len(to_json(start := text[:limit].decode(errors="ignore"))) > MOST_RESULT_BYTES + 2:
        limit = limit * MOST_RESULT_BYTES // len(to_json(start)) - 1
    return f"{start} … (cut)"


def invalid_tool_arguments(error: ValidationError) -> ToolResult:
    """Return the failed result for invalid arguments, with a message that helps the model to correct them."""
    faults = (f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_url=False))
    return failed_result(f"the arguments do not fit: {'; '.join(faults)}")


def failed_result(error: BaseException | str) -> ToolResult:
    """Return the result of a tool call that failed.

    Example:
        >>> failed_result(ValueError("no such city")).error
        'ValueError: no such city'
    """
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error_text(error)}"
    return ToolResult(success=False, error=text.encode("utf-8", "replace").decode()[:_MAX_ERROR_CHARS])


@dataclass(frozen=True)
class ToolDefinition:
    """The definition of a tool; `roundtable.tool` creates one from a function.

    Example:
        >>> import anyio
        >>> tool = ToolDefinition(
        ...     "shout", "Says it louder.", {"type": "object"}, lambda arguments: arguments["text"].upper()
        ... )
        >>> anyio.run(tool.run, {"text": "tea"}).data
        'TEA'
    """

    name: str
    """Name by which the model calls the tool: at most 64 letters, digits, `_` and `-`; it begins with a letter or
    `_`."""
    description: str
    """Text for the model: what the tool does, and when to use it."""
    parameters: JsonObject
    """JSON Schema of the arguments object."""
    execute: Callable[[JsonObject], Any] = field(repr=False)
    """Function that is called with the arguments object; a plain function runs in a thread, an `async` function in the
    event loop. It returns a value that JSON can express, or a `ToolResult`. If it raises an error, the model sees the
    message."""
    retryable: bool = False
    """Whether a call is tried again after a temporary fault; only for tools without side effects."""
    cached: bool = True
    """Whether equal calls within a round run only once and share the result, even if different agents make them."""
    timeout_s: float = TOOL_TIMEOUT_S
    """Seconds that one attempt may take."""

    def __post_init__(self) -> None:
        check_tool_name(self.name)
        if not self.timeout_s > 0:
            msg = f"timeout_s of tool {self.name!r} must be above 0, not {self.timeout_s}"
            raise ConfigurationError(msg)

    @property
    def definition(self) -> AgentTool:
        """Name, description and arguments, as a model sees them."""
        return AgentTool(name=self.name, description=self.description, parameters=self.parameters)

    async def run(self, tool_input: JsonObject) -> ToolResult:
        """Run the tool once; an error of the function is raised."""
        if is_async(self.execute):
            return to_result(await self.execute(tool_input))
        returned = await run_in_thread(lambda: _result_or_awaitable(self.execute(tool_input)))
        # A decorator may hide that a function is `async`.
        return returned if isinstance(returned, ToolResult) else to_result(await returned)


def _result_or_awaitable(returned: object) -> ToolResult | Awaitable[object]:
    return returned if isinstance(returned, Awaitable) else to_result(returned)


def check_tool_name(name: object) -> None:
    """Check that a tool name is valid for every provider.

    Raises:
        ConfigurationError: The name is not valid.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        msg = f"invalid tool name: {name!r}"
        raise ConfigurationError(
            msg, hint="Use letters, digits, '_' and '-', at most 64, beginning with a letter or '_'."
        )


def is_external_interrupt(error: BaseException) -> bool:
    """Check whether an error comes from outside of a tool or approver: a cancellation of the turn, or Ctrl-C.

    In the event loop of the main thread, a tool that raises `KeyboardInterrupt` looks like Ctrl-C, and the program must
    end. On other threads, such as those of plain functions, Ctrl-C never arrives.
    """
    if isinstance(error, Exception) or is_foreign_cancellation(error):
        return False
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return ends_program(error)
    return isinstance(error, get_cancelled_exc_class())


def is_transient_error(error: object) -> bool:
    """Check whether an error of a tool is temporary; `error` is the exception or its text.

    Example:
        >>> is_transient_error("read ECONNRESET"), is_transient_error(ValueError("no such city"))
        (True, False)
    """
    if isinstance(error, RoundtableError):
        return error.retryable
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    text = error_text(error)
    return any(phrase in text for phrase in _TRANSIENT_PHRASES)


@dataclass(slots=True)
class ToolTurn:
    """State of the tools during one turn of one agent; each turn has its own state, so debates never mix."""

    context: DebateContext
    """What the agent sees. Turns and names that are hidden from the agent are also hidden from its tools."""
    requests: list[ContextRequest] = field(default_factory=list)
    """Requests of the agent to the caller, for more information."""
    submitted: JsonObject | None = None
    """The answer that a tool submitted; it replaces the text of the model."""
    usage: list[Usage] = field(default_factory=list)
    """Usage of the models that the tools called; it is charged to the turn."""
    guard: Callable[[ChatModel], ChatModel] | None = field(default=None, repr=False)
    """Function that wraps a model with the limits, the budget and the cassette of the table."""
    dependencies: object = field(default=None, repr=False)
    """The caller's own object for tools, from `Roundtable(tool_dependencies=...)`."""

    async def ask(self, model: ChatModel, request: ChatRequest) -> ChatResponse:
        """Call a model for a tool; the call is limited by the budget and charged to the turn.

        Raises:
            RoundtableError: The call failed, or the budget does not cover it.
        """
        labels = {"session": self.context.session_id, "round": str(self.context.current_round), "agent": self.agent_id}
        request = request.model_copy(update={"metadata": {**labels, **request.metadata}})
        guarded = model if self.guard is None else self.guard(model)
        try:
            response = await guarded.complete(request)
        except RoundtableError as error:
            self.usage.append(error.usage or Usage())
            raise
        except BaseException:
            # The tool timed out: the call was made, but its usage is unknown.
            self.usage.append(Usage(calls=1, unreported_calls=1))
            raise
        self.usage.append(response.usage)
        return response

    @property
    def agent_id(self) -> str:
        """Id of the agent that calls; empty outside of a turn."""
        return self.context.turn.agent if self.context.turn else ""

    @property
    def is_last_round(self) -> bool:
        """Whether this is the last round."""
        return self.context.current_round >= self.context.total_rounds


D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class ToolContext(Generic[D]):
    """Information about a call, for a typed function. The library fills in a parameter of this type; no model sees it.

    The type argument, as in `ToolContext[Shop]`, states what the function needs from
    `Roundtable(tool_dependencies=...)`; with `ToolContext[None]`, it needs nothing. A table refuses tools whose needs
    its dependencies do not meet.

    Example:
        >>> from roundtable.tools import ToolContext, tool
        >>> class Shop:
        ...     prices = {"tea": 3.5}
        >>> @tool
        ... def price(item: str, context: ToolContext[Shop]) -> float:
        ...     return context.dependencies.prices[item]
        >>> list(price.parameters["properties"])
        ['item']
    """

    dependencies: D
    """The object from `Roundtable(tool_dependencies=...)`; the same for all calls."""
    turn: ToolTurn = field(repr=False)
    """The turn in which the agent calls the tool; `turn.ask` calls a model as part of this turn."""

    @property
    def session_id(self) -> str:
        """Id of the session."""
        return self.turn.context.session_id

    @property
    def tenant(self) -> str:
        """Tenant that owns the session, such as the user of a server."""
        return self.turn.context.tenant

    @property
    def agent_id(self) -> str:
        """Id of the agent that calls."""
        return self.turn.agent_id

    @property
    def round(self) -> int:
        """Current round, from 1."""
        return self.turn.context.current_round


@runtime_checkable
class TurnTool(Protocol):
    """Optional method of a `Tool`, for a separate instance in each turn.

    Set `cached = True` on the tool to share results of equal calls.
    """

    def for_turn(self, turn: ToolTurn) -> Tool | None:
        """Return the tool for one turn; `None` if the turn cannot use it."""


class ModelCall(NamedTuple):
    """A call of a model that a tool or an analyzer may make."""

    model: ChatModel
    """The model to call."""
    request: ChatRequest
    """The request; that of a tool is without the text that the agent adds to it."""


@runtime_checkable
class AskingToolkit(Protocol):
    """Optional method of an `AgentToolkit` whose tools call models; `estimate` and budgets in dollars need it.

    A toolkit without it counts as one whose tools call no model.
    """

    def asks(self, allow: Collection[str] | None = None) -> Sequence[Sequence[ModelCall]]:
        """Return, for each tool that calls models, the model calls that one call of the tool makes at most.

        Args:
            allow: Names of the tools to include; by default, all tools.
        """


@runtime_checkable
class CallsModels(Protocol):
    """Optional method of a `Tool` that calls models; `estimate` and budgets in dollars need it."""

    def asks(self) -> Sequence[ModelCall]:
        """Return the model calls that one call of the tool makes at most."""
