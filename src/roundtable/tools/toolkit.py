"""The toolkit: finds tools by name, checks arguments, binds tools to a turn, shares results within a round."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard

import anyio
from anyio import Event

from roundtable.core.base.strict_json import TOO_DEEP, is_too_deep
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.base import utc_now
from roundtable.tools.approval import refusal
from roundtable.tools.definition import (
    TOOL_ATTEMPTS,
    TOOL_BASE_DELAY_S,
    TOOL_TIMEOUT_S,
    AskingToolkit,
    CallsModels,
    ToolTurn,
    TurnTool,
    check_tool_name,
    failed_result,
    is_external_interrupt,
    is_transient_error,
    to_result,
)
from roundtable.tools.functions import FunctionTool
from roundtable.tools.standard import FactCheck, GetContext, PerplexitySearch, RequestContext, SearchWeb, SubmitResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection
    from datetime import datetime

    from roundtable.core.protocols import AgentToolkit, ChatModel, Tool
    from roundtable.core.types.base import JsonObject
    from roundtable.core.types.chat import AgentTool, ToolResult
    from roundtable.core.types.debate import DebateContext
    from roundtable.tools.approval import Approver, CallOrigin
    from roundtable.tools.definition import ModelCall
    from roundtable.tools.sources import PerplexitySearchProvider, SessionDataProvider, WebSearchProvider

__all__ = [
    "NAMES_WITHOUT_APPROVAL",
    "DefaultAgentToolkit",
    "ToolOutcome",
    "bound",
    "call_tool",
    "create_default_toolkit",
    "misfits",
]

_MAX_FAULTS: Final = 5
_MAX_DEPTH: Final = 32
_MAX_STEPS: Final = 20_000
"""Most parts of a schema that are applied to arguments; a part counts at each value to which it applies."""
_OPTIONS_PER_STEP: Final = 20
"""Number of options of an `enum`, or of required names, that count as one step."""

_MAX_SESSIONS: Final = 256
_WITHOUT_APPROVAL: Final = (GetContext, SubmitResponse, RequestContext)
NAMES_WITHOUT_APPROVAL: Final = frozenset({"get_context", "submit_response", "request_context"})
"""Names of the tools that need no approval, because they access only the debate and its caller."""


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPE_CHECKS: Final[dict[str, Callable[[object], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": _is_number,
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
}


def misfits(value: object, schema: Mapping[str, Any]) -> str:
    """Describe where a value does not match a schema, for the model; empty if it matches.

    Example:
        >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        >>> misfits({"n": 3}, schema), misfits({"n": "three"}, schema), misfits({}, schema)
        ('', 'n: must be integer', 'n: is missing')
    """
    faults: list[str] = []
    # A schema of a third party may be invalid, such as a length that is not a number, or may need endless steps; the
    # tool must check the rest.
    with contextlib.suppress(TypeError, ValueError, AttributeError, KeyError, ArithmeticError, RecursionError):
        faults.extend(itertools.islice(_faults(value, schema, "", _Check(schema), _MAX_DEPTH), _MAX_FAULTS))
    return "; ".join(faults)


@dataclass(slots=True)
class _Check:
    """A check of arguments: the whole schema, and the steps that are left."""

    root: Mapping[str, Any]
    steps: int = _MAX_STEPS

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise ValueError


def _faults(value: object, schema: object, path: str, check: _Check, depth: int) -> Iterator[str]:
    check.spend(1)
    if schema is False:
        yield _fault_at(path, "is not allowed")
    schema = _resolve(schema, check)
    if not isinstance(schema, Mapping) or depth == 0:
        return
    types = schema.get("type")
    if types is not None:
        allowed = [types] if isinstance(types, str) else list(types)
        if not any(name not in _TYPE_CHECKS or _TYPE_CHECKS[name](value) for name in allowed):
            yield _fault_at(path, f"must be {' or '.join(allowed)}")
            return
    check.spend(len(schema.get("enum", ())) // _OPTIONS_PER_STEP)
    if "enum" in schema and not any(_equal(value, option) for option in schema["enum"]):
        yield _fault_at(path, f"must be one of {', '.join(map(repr, schema['enum']))[:200]}")
    if "const" in schema and not _equal(value, schema["const"]):
        yield _fault_at(path, f"must be {schema['const']!r}")
    if isinstance(value, dict):
        yield from _object_faults(value, schema, path, check, depth)
    elif isinstance(value, list):
        yield from _array_faults(value, schema, path, check, depth)
    else:
        yield from _bound_faults(value, schema, path)
    yield from _choice_faults(value, schema, path, check, depth)


def _object_faults(
    value: dict[str, object], schema: Mapping[str, Any], path: str, check: _Check, depth: int
) -> Iterator[str]:
    properties = schema.get("properties", {})
    check.spend(len(schema.get("required", ())) // _OPTIONS_PER_STEP)
    for name in schema.get("required", ()):
        if name not in value:
            yield _fault_at(f"{path}.{name}", "is missing")
    additional = schema.get("additionalProperties", True)
    for name, inner in value.items():
        inner_path = f"{path}.{name[:80]}"
        if name in properties:
            yield from _faults(inner, properties[name], inner_path, check, depth - 1)
        elif "patternProperties" not in schema:
            yield from _faults(inner, additional, inner_path, check, depth - 1)


def _array_faults(
    value: list[object], schema: Mapping[str, Any], path: str, check: _Check, depth: int
) -> Iterator[str]:
    if len(value) < schema.get("minItems", 0):
        yield _fault_at(path, f"needs at least {schema['minItems']} items")
    if len(value) > schema.get("maxItems", len(value)):
        yield _fault_at(path, f"takes at most {schema['maxItems']} items")
    if "prefixItems" not in schema:
        for index, inner in enumerate(value):
            yield from _faults(inner, schema.get("items", True), f"{path}.{index}", check, depth - 1)


def _bound_faults(value: object, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            yield _fault_at(path, f"needs at least {schema['minLength']} characters")
        if len(value) > schema.get("maxLength", len(value)):
            yield _fault_at(path, f"takes at most {schema['maxLength']} characters")
    if _is_number(value):
        if value < schema.get("minimum", value):
            yield _fault_at(path, f"must be at least {schema['minimum']}")
        if value > schema.get("maximum", value):
            yield _fault_at(path, f"must be at most {schema['maximum']}")
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            yield _fault_at(path, f"must be above {schema['exclusiveMinimum']}")
        if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
            yield _fault_at(path, f"must be below {schema['exclusiveMaximum']}")


def _choice_faults(value: object, schema: Mapping[str, Any], path: str, check: _Check, depth: int) -> Iterator[str]:
    for inner in schema.get("allOf", ()):
        yield from _faults(value, inner, path, check, depth - 1)
    for keyword in ("anyOf", "oneOf"):
        branches: Sequence[object] = schema.get(keyword, ())
        faults = [next(_faults(value, branch, path, check, depth - 1), None) for branch in branches]
        if branches and None not in faults:
            yield max((fault for fault in faults if fault), key=len)


def _resolve(schema: object, check: _Check) -> object:
    """Resolve references within the schema; an unknown reference allows everything."""
    for _ in range(_MAX_DEPTH):
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            return schema
        check.spend(1)
        target: object = check.root
        for step in filter(None, str(schema["$ref"]).removeprefix("#").split("/")):
            target = target.get(step) if isinstance(target, Mapping) else None
        schema = target
    return None


def _equal(left: object, right: object) -> bool:
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _fault_at(path: str, fault: str) -> str:
    return f"{path.removeprefix('.') or 'the arguments'}: {fault}"


async def call_tool(
    tool: Tool, tool_input: JsonObject, *, sleep: Callable[[float], Awaitable[None]] = anyio.sleep
) -> ToolResult:
    """Call a tool; every error becomes a failed result.

    A `retryable` tool gets up to 3 attempts, 0.5 s and 1 s apart, if its error is temporary.

    Args:
        tool: The tool; its attributes `retryable` and `timeout_s` are used if it has them.
        tool_input: Arguments, already validated.
        sleep: Function that waits between attempts.
    """
    attempts = TOOL_ATTEMPTS if getattr(tool, "retryable", False) else 1
    for attempt in range(1, attempts + 1):
        result, is_temporary = await _attempt(tool, tool_input)
        if not is_temporary or attempt == attempts:
            return result
        await sleep(TOOL_BASE_DELAY_S * 2 ** (attempt - 1))
    raise AssertionError("a tool has at least one attempt")


async def _attempt(tool: Tool, tool_input: JsonObject) -> tuple[ToolResult, bool]:
    """Call the tool once; return the result, and whether its error is temporary."""
    limit = getattr(tool, "timeout_s", TOOL_TIMEOUT_S)
    try:
        with anyio.move_on_after(limit):
            result = to_result(await tool.run(tool_input))
            return result, not result.success and is_transient_error(result.error)
    except BaseException as error:  # a tool is third-party code; the model sees the error
        if is_external_interrupt(error):
            raise
        return failed_result(error), is_transient_error(error)
    return failed_result(f'Tool "{tool.definition.name}" timed out after {limit * 1000:.0f}ms'), True


class ToolOutcome(NamedTuple):
    """The result of a tool call, with its times."""

    result: ToolResult
    """The result of the tool."""
    cached: bool
    """Whether the result comes from another, equal call of the round."""
    started_at: datetime
    """When the call began."""
    duration_s: float
    """Seconds that the call took."""


class DefaultAgentToolkit:
    """Tools by name. One toolkit can serve many debates at the same time, because each turn has its own state.

    The toolkit has the standard tools that need no provider, and the standard tools whose providers are passed.

    Args:
        web_search_provider: Web search for `search_web` and `fact_check`; without it, there is no `search_web`.
        session_data_provider: Earlier statements for `fact_check`; without it, `fact_check` uses what the turn shows.
        perplexity_search_provider: Search for `perplexity_search`; without it, there is no `perplexity_search`.
        standard: Whether to register the standard tools; false for an empty toolkit.

    Example:
        >>> import anyio
        >>> toolkit = DefaultAgentToolkit()
        >>> [tool.name for tool in toolkit.get_tools()]
        ['get_context', 'submit_response', 'fact_check']
        >>> anyio.run(toolkit.execute_tool, "no_such_tool", {}).error
        'Tool not found: no_such_tool'
    """

    def __init__(
        self,
        web_search_provider: WebSearchProvider | None = None,
        session_data_provider: SessionDataProvider | None = None,
        perplexity_search_provider: PerplexitySearchProvider | None = None,
        *,
        standard: bool = True,
    ) -> None:
        self._tools: dict[str, Tool] = {}
        self._toolkits: list[AgentToolkit] = []
        self._shared = _SharedResults()
        self._turn: ToolTurn | None = None
        self._guard: Callable[[ChatModel], ChatModel] | None = None
        self._dependencies: object = None
        self._approve: Approver | None = None
        if not standard:
            return
        self.register_tool(GetContext())
        self.register_tool(SubmitResponse())
        if web_search_provider is not None:
            self.register_tool(SearchWeb(web_search_provider))
        self.register_tool(FactCheck(web_search_provider, session_data_provider))
        if perplexity_search_provider is not None:
            self.register_tool(PerplexitySearch(perplexity_search_provider))

    def set_context(self, context: DebateContext) -> None:
        """Set the debate that the tools see, for a toolkit that is used outside of a debate.

        In a debate, each turn has its own toolkit, from `for_turn`.
        """
        self._turn = ToolTurn(context, dependencies=self._dependencies)

    def register_tool(self, definition: Tool) -> None:
        """Add a tool, such as a `ToolDefinition`.

        Raises:
            ConfigurationError: The name of the tool is in use, or not valid for every provider.
        """
        name = definition.definition.name
        check_tool_name(name)
        if name in self._tools:
            msg = f"there are two tools named {name!r}"
            raise ConfigurationError(msg, hint="Rename one of them.")
        self._tools[name] = definition

    def include(self, toolkit: AgentToolkit) -> None:
        """Also offer the tools of another toolkit, as they are at each turn; on equal names, tools of this one win."""
        self._toolkits.append(toolkit)

    def over(self, guard: Callable[[ChatModel], ChatModel]) -> DefaultAgentToolkit:
        """Return a copy of this toolkit whose tools call models through `guard`."""
        guarded = copy.copy(self)
        guarded._guard = guard  # noqa: SLF001  (its own class)
        return guarded

    def with_dependencies(self, dependencies: object) -> DefaultAgentToolkit:
        """Return a copy of this toolkit for tools with a `ToolContext`; a toolkit that has dependencies keeps them.

        Args:
            dependencies: The caller's own object, `ToolContext.dependencies`.
        """
        if dependencies is None or self._dependencies is not None:
            return self
        toolkit = copy.copy(self)
        toolkit._dependencies = dependencies  # noqa: SLF001  (its own class)
        return toolkit

    def with_approval(self, approve: Approver | None) -> DefaultAgentToolkit:
        """Return a copy of this toolkit whose calls need approval; a toolkit that has an approver keeps this approver.

        `get_context`, `submit_response` and `request_context` need no approval, because they access only the debate.

        Args:
            approve: Function that decides about each call, after the arguments have been checked.
        """
        if approve is None or self._approve is not None:
            return self
        toolkit = copy.copy(self)
        toolkit._approve = approve  # noqa: SLF001  (its own class)
        return toolkit

    def check_dependencies(self, dependencies: object) -> None:
        """Check that tools with a `ToolContext` get what they need; a toolkit with its own dependencies uses its own.

        Args:
            dependencies: The dependencies of the table.

        Raises:
            ConfigurationError: The dependencies are missing, or of another type.
        """
        available = dependencies if self._dependencies is None else self._dependencies
        for each in self._all_tools().values():
            if isinstance(each, FunctionTool):
                each.check_dependencies(available)

    def asks(self, allow: Collection[str] | None = None) -> tuple[tuple[ModelCall, ...], ...]:
        """Return, for each tool that calls models, the model calls that one call of the tool makes at most.

        Args:
            allow: Names of the tools to include; by default, all tools.
        """
        tools = [tool for name, tool in self._tools.items() if allow is None or name in allow]
        asks_by_tool = [tool.asks() for tool in tools if isinstance(tool, CallsModels)]
        for included in self._toolkits:
            if isinstance(included, AskingToolkit) and not isinstance(included, DefaultAgentToolkit):
                asks_by_tool += included.asks(allow)
        guard = self._guard
        if guard is not None:
            asks_by_tool = [[ask._replace(model=guard(ask.model)) for ask in asks] for asks in asks_by_tool]
        toolkits = [toolkit for toolkit in self._toolkits if isinstance(toolkit, DefaultAgentToolkit)]
        standard = [toolkit if guard is None else toolkit.over(guard) for toolkit in toolkits]
        return (
            *(tuple(asks) for asks in asks_by_tool if asks),
            *(asks for toolkit in standard for asks in toolkit.asks(allow)),
        )

    def for_turn(self, context: DebateContext) -> DefaultAgentToolkit:
        """Return the toolkit for one turn: the same tools with separate state."""
        bound_toolkit = copy.copy(self)
        turn = ToolTurn(context, guard=self._guard, dependencies=self._dependencies)
        bound_toolkit._turn = turn  # noqa: SLF001  (its own class)
        return bound_toolkit

    @property
    def turn(self) -> ToolTurn | None:
        """The turn that the toolkit is bound to, with the state of its tools."""
        return self._turn

    def get_tools(self) -> tuple[AgentTool, ...]:
        """List the tools; the toolkit of a turn lists only the tools that the turn can use."""
        return tuple(tool.definition for tool in self._tools_of_turn().values())

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        """Run a tool. An unknown name, invalid arguments, an error or a timeout becomes a failed result."""
        return (await self.call(name, tool_input)).result

    async def call(self, name: str, tool_input: JsonObject, origin: CallOrigin | None = None) -> ToolOutcome:
        """Run a tool, and return the times of the call with its result.

        Args:
            name: Name of the tool.
            tool_input: Arguments of the call.
            origin: The model's call, and the listener that learns whether it waits for approval.
        """
        tool = self._tools_of_turn().get(name)
        if tool is None:
            return ToolOutcome(
                failed_result(f"Tool not found: {_printable(name)}"), cached=False, started_at=utc_now(), duration_s=0.0
            )
        refused = await self._refusal(tool, tool_input, origin)
        start_s, started_at, cached = time.monotonic(), utc_now(), False  # waiting for approval is not the tool's time
        if refused is not None:
            result = refused
        elif self._turn is not None and getattr(tool, "cached", False):
            context = self._turn.context
            round_key = f"{context.tenant}/{context.session_id}", context.current_round
            call_key = name, json.dumps(tool_input, sort_keys=True)
            result, cached = await self._shared.once(round_key, call_key, lambda: call_tool(tool, tool_input))
        else:
            result = await call_tool(tool, tool_input)
        return ToolOutcome(result, cached, started_at, time.monotonic() - start_s)

    async def _refusal(self, tool: Tool, tool_input: JsonObject, origin: CallOrigin | None) -> ToolResult | None:
        """Return a failed result if a tool must not be called, or `None`; each agent's call needs its own approval."""
        if is_too_deep(tool_input):
            return failed_result(f"the arguments are {TOO_DEEP}")
        if fault := misfits(tool_input, tool.definition.parameters):
            return failed_result(f"the arguments do not fit: {fault}")
        if self._approve is not None and not isinstance(tool, _WITHOUT_APPROVAL):
            return await refusal(self._approve, tool, tool_input, self._turn, origin)
        return None

    def _tools_of_turn(self) -> dict[str, Tool]:
        tools = self._all_tools()
        if self._turn is None:
            return tools
        bound_tools = {
            name: tool.for_turn(self._turn) if isinstance(tool, TurnTool) else tool for name, tool in tools.items()
        }
        return {name: tool for name, tool in bound_tools.items() if tool is not None}

    def _all_tools(self) -> dict[str, Tool]:
        """Return all tools, not bound to a turn. Tools of an included custom toolkit get a wrapper."""
        tools: dict[str, Tool] = {}
        for toolkit in self._toolkits:
            if isinstance(toolkit, DefaultAgentToolkit):
                tools.update(toolkit._all_tools())  # noqa: SLF001  (its own class)
            else:
                tools.update((offered.name, _CustomTool(offered, toolkit)) for offered in toolkit.get_tools())
        return {**self._tools, **{name: tool for name, tool in tools.items() if name not in self._tools}}


def create_default_toolkit(
    web_search_provider: WebSearchProvider | None = None,
    session_data_provider: SessionDataProvider | None = None,
    perplexity_search_provider: PerplexitySearchProvider | None = None,
) -> DefaultAgentToolkit:
    """Create a toolkit with the standard tools; see `DefaultAgentToolkit`."""
    return DefaultAgentToolkit(web_search_provider, session_data_provider, perplexity_search_provider)


def bound(toolkit: AgentToolkit, context: DebateContext) -> DefaultAgentToolkit:
    """Return the toolkit for one turn; tools of a custom toolkit get the same limits as the standard tools."""
    if isinstance(toolkit, DefaultAgentToolkit):
        return toolkit.for_turn(context)
    wrapper = DefaultAgentToolkit(standard=False)
    wrapper.include(toolkit)
    return wrapper.for_turn(context)


@dataclass(frozen=True, slots=True)
class _CustomTool:
    """A tool of a custom toolkit."""

    definition: AgentTool
    toolkit: AgentToolkit

    async def run(self, tool_input: JsonObject) -> ToolResult:
        """Call the tool through its toolkit."""
        return await self.toolkit.execute_tool(self.definition.name, tool_input)


class _PendingCall:
    """A running call whose result other agents may wait for."""

    def __init__(self) -> None:
        self.done = Event()
        self.result: ToolResult | None = None


class _SharedResults:
    """Results of the latest round of each debate, so that equal calls of two agents run once."""

    def __init__(self) -> None:
        self._rounds: OrderedDict[str, tuple[int, dict[tuple[str, str], _PendingCall]]] = OrderedDict()

    async def once(
        self, round_key: tuple[str, int], call_key: tuple[str, str], run: Callable[[], Awaitable[ToolResult]]
    ) -> tuple[ToolResult, bool]:
        """Return the result of a call, and whether the result comes from another call. Failures are not shared."""
        calls = self._calls_of_round(*round_key)
        while (pending := calls.get(call_key)) is not None:
            await pending.done.wait()
            if pending.result is not None:
                return pending.result, True
        pending = calls[call_key] = _PendingCall()
        try:
            pending.result = await run()
        finally:
            # If this call is cancelled, the next agent that waits for it makes the call itself.
            if pending.result is None or not pending.result.success:
                del calls[call_key]
            pending.done.set()
        return pending.result, False

    def _calls_of_round(self, session_id: str, number: int) -> dict[tuple[str, str], _PendingCall]:
        latest = self._rounds.pop(session_id, None)
        calls = latest[1] if latest is not None and latest[0] == number else {}
        self._rounds[session_id] = number, calls
        while len(self._rounds) > _MAX_SESSIONS:
            self._rounds.popitem(last=False)
        return calls


def _printable(name: str) -> str:
    """Return a name that a model invented, made safe for a message."""
    return "".join(char if char.isprintable() else "?" for char in name[:80])
