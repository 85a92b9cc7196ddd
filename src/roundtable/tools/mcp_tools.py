"""Tools of MCP servers, which are started as a program or reached at an address."""

from __future__ import annotations

import math
import re
import shlex
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Self, TextIO, assert_never

import anyio
from pydantic_core import to_json

from roundtable.core.base.text import error_text
from roundtable.core.errors import APINetworkError, ConfigurationError, RoundtableError
from roundtable.core.prompts.fence import neutralise
from roundtable.core.types.chat import AgentTool, ToolResult
from roundtable.http import checked_url, masked_url
from roundtable.tools.definition import failed_result, run_in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
    from types import TracebackType

    from mcp import Client, types

    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = ["McpToolkit", "from_mcp"]

CONNECT_TIMEOUT_S: Final = 30.0
"""Maximum seconds for a server to start and list its tools."""
MOST_TOOLS: Final = 64
"""Maximum number of tools of one server."""
MOST_DESCRIPTION_CHARS: Final = 1_024
"""Maximum characters of a description."""
MOST_SCHEMA_BYTES: Final = 20_000
"""Maximum bytes of the schema of one tool."""
_MAX_SCHEMA_DEPTH: Final = 32
_VALUE_KEYWORDS: Final = frozenset({"const", "default", "enum", "examples", "pattern"})
_BY_NAME: Final = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords of JSON Schema whose keys are names, not keywords: a parameter may be called `pattern`."""
_HINT: Final = "Try the command or the address by itself; a server must write only MCP messages to its standard output."


class McpToolkit:
    """The tools of one MCP server, for `tools=[...]` of a table.

    The tools are listed before the first debate, and each call opens its own connection. Within `async with`, one
    connection serves all calls: this is faster, and works with servers that have state.

    Args:
        server: A command, or an http address.
        prefix: Text to add in front of the name of each tool.
        only: Names of the tools to offer, as the server lists them; if empty, `read_only` decides.
        read_only: Whether to offer only tools that the server marks as read-only; used only if `only` is empty.
        env: Environment variables for the command; it inherits only a few harmless variables from this process.
        headers: HTTP headers for the address, such as a key.
    """

    def __init__(
        self,
        server: str | Sequence[str],
        *,
        prefix: str = "",
        only: Collection[str] = (),
        read_only: bool = True,
        env: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        _check_extra()
        words: tuple[str, ...] = tuple(server)
        is_url = isinstance(server, str) and server.startswith(("http://", "https://"))
        if isinstance(server, str):
            words = (server,) if is_url else tuple(shlex.split(server))
        if not words:
            hint = 'For example: from_mcp("python server.py") or from_mcp("https://example.org/mcp").'
            raise ConfigurationError("from_mcp needs a command or an http address", hint=hint)
        if is_url:
            checked_url(words[0], what="the address of the MCP server", has_key=bool(headers))
        self._is_url, self._words = is_url, words
        self.name: str = masked_url(words[0]) if is_url else words[0]
        """Name of the server in messages."""
        self._prefix, self._only, self._read_only = prefix, frozenset(only), read_only
        self._env, self._headers = dict(env or {}), dict(headers or {})
        self._tools: dict[str, tuple[str, AgentTool]] | None = None
        self._connection: tuple[AsyncExitStack, Client] | None = None
        self._is_entered = False

    async def prepare(self) -> None:
        """Load the list of tools from the server; idempotent.

        Raises:
            ConfigurationError: The server lacks a tool that `only` names, or does not start.
            APINetworkError: The server cannot be reached.
        """
        if self._tools is None:
            with _log_file() as log:
                try:
                    with anyio.fail_after(CONNECT_TIMEOUT_S):
                        async with self._connect(log) as client:
                            self._tools = self._select_tools(await _all_tools(client))
                except Exception as error:
                    raise self._connection_error(error, log) from error

    async def __aenter__(self) -> Self:
        if self._is_entered:
            msg = f"the toolkit of {self.name} is connected already"
            raise ConfigurationError(msg, hint="Leave its `async with` block first, or make a second toolkit.")
        self._is_entered = True
        try:
            await self._open()
            await self.prepare()
        except BaseException:
            await self._disconnect()
            raise
        return self

    async def _open(self) -> None:
        """Connect, and stay connected."""
        log = _log_file()
        try:
            async with AsyncExitStack() as stack:
                limit = stack.enter_context(anyio.fail_after(CONNECT_TIMEOUT_S))
                client = await stack.enter_async_context(self._connect(log))
                if limit.cancel_called:  # the limit has just passed: it must not cancel the caller's block
                    await anyio.sleep_forever()
                # Scopes are nested, so the scope of the limit stays open as long as the connection.
                limit.deadline = math.inf
                stack.callback(log.close)
                self._connection = stack.pop_all(), client
        except BaseException as error:
            with log:
                if isinstance(error, Exception):
                    raise self._connection_error(error, log) from error
                raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._disconnect()

    def get_tools(self) -> tuple[AgentTool, ...]:
        """List the tools; none before `prepare`."""
        return tuple(tool for _, tool in (self._tools or {}).values())

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        """Call a tool; every error becomes a failed result."""
        listed = (self._tools or {}).get(name)
        if listed is None:
            return failed_result(f"Tool not found: {name[:80]!r}")
        outcome: list[ToolResult] = []
        try:
            async with AsyncExitStack() as stack:
                log = stack.enter_context(_log_file())
                client = await stack.enter_async_context(self._connect(log))
                outcome.append(await _call(client, listed[0], tool_input))
        except Exception as error:  # noqa: BLE001  (a third-party server may fail in any way)
            # The result counts even if closing the connection fails.
            return (
                outcome[0] if outcome else failed_result(f"the MCP server cannot be reached: {_describe_error(error)}")
            )
        return outcome[0]

    async def aclose(self) -> None:
        """Forget the list of tools; inside an open `async with` block, do nothing. Idempotent."""
        if self._connection is None:
            self._tools = None

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                await connection[0].aclose()
        finally:
            self._is_entered = False

    @asynccontextmanager
    async def _connect(self, log: TextIO) -> AsyncGenerator[Client]:
        if self._connection is not None:
            yield self._connection[1]
            return
        # The import takes a second or two.
        await run_in_thread(lambda: import_module("mcp"))
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        async with AsyncExitStack() as stack:
            if self._is_url:
                import httpx2

                # Proxies and netrc files of the environment are ignored, so that a key goes only to this address.
                http_client = httpx2.AsyncClient(headers=self._headers, trust_env=False, timeout=CONNECT_TIMEOUT_S)
                transport = streamable_http_client(
                    self._words[0], http_client=await stack.enter_async_context(http_client)
                )
            else:
                command, *arguments = self._words
                program = StdioServerParameters(command=command, args=arguments, env=self._env)
                # The standard error of the server must not appear on the user's screen.
                transport = stdio_client(program, errlog=log)
            yield await stack.enter_async_context(Client(transport))

    def _select_tools(self, listed: Sequence[types.Tool]) -> dict[str, tuple[str, AgentTool]]:
        """Return the tools to offer, by name; each entry also holds the name that the server uses for the tool."""
        offered: dict[str, tuple[str, AgentTool]] = {}
        for listed_tool in listed:
            if not self._offers(listed_tool):
                continue
            tool = _agent_tool(listed_tool, self._prefix)
            if tool.name in offered:
                first, second = offered[tool.name][0][:64], listed_tool.name[:64]
                msg = f"the tools {first!r} and {second!r} of {self.name} would both be named {tool.name!r}"
                raise ConfigurationError(msg, hint="List the tools to offer in `only`, and leave one of the two out.")
            offered[tool.name] = listed_tool.name, tool
        names = ", ".join(repr(listed_tool.name[:64]) for listed_tool in listed[:20])
        if missing := sorted(self._only - {name for name, _ in offered.values()}):
            msg = f"{self.name} offers no tool {missing[0]!r}; it has: {names or 'none'}"
            raise ConfigurationError(msg, hint="Name only tools of this list in `only`.")
        if listed and not offered:
            msg = f"{self.name} marks none of its tools as read-only: {names}"
            raise ConfigurationError(
                msg, hint="Name the tools to offer with `only`, or offer all with read_only=False."
            )
        return offered

    def _offers(self, tool: types.Tool) -> bool:
        if self._only:
            return tool.name in self._only
        return not self._read_only or (tool.annotations is not None and bool(tool.annotations.read_only_hint))

    def _connection_error(self, error: BaseException, log: TextIO) -> RoundtableError:
        cause = _first_error(error)
        if isinstance(cause, RoundtableError):
            return cause
        if self._is_url:
            return APINetworkError(
                f"the MCP server {self.name} cannot be reached: {_describe_error(cause)}", hint=_HINT
            )
        log.seek(0)
        output = neutralise(log.read()[-300:]).strip()
        msg = f"the MCP server {self.name!r} does not start: {_describe_error(cause)}"
        return ConfigurationError(msg, hint=f"Its last output: {output}" if output else _HINT)


def from_mcp(
    server: str | Sequence[str],
    *,
    prefix: str = "",
    only: Collection[str] = (),
    read_only: bool = True,
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> McpToolkit:
    """Offer agents the tools of an MCP server: `Roundtable(tools=[from_mcp("python server.py")])`.

    The descriptions and results of a server are untrusted text, and its tools can do anything: offer only tools that
    you trust.

    Args:
        server: A command, as one text or a list of words, or the http address of a server with Streamable HTTP.
        prefix: Text to add in front of the name of each tool, so that tools of two servers have different names.
        only: Names of the tools to offer, as the server lists them; if empty, `read_only` decides.
        read_only: Whether to offer only tools that the server marks as read-only; used only if `only` is empty.
        env: Environment variables for the command; it inherits only a few harmless variables from this process.
        headers: HTTP headers for the address, such as a key; they need https, or an address of this machine.

    Raises:
        ConfigurationError: The extra `mcp` is not installed, or `server` is not a command or an address.

    Example:
        >>> from_mcp("python -m my_server", prefix="files_").get_tools()  # loaded before the first debate
        ()
    """
    return McpToolkit(server, prefix=prefix, only=only, read_only=read_only, env=env, headers=headers)


def _log_file() -> TextIO:
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")


def _check_extra() -> None:
    if find_spec("mcp") is None:
        msg = "tools of MCP servers need the extra 'mcp'"
        raise ConfigurationError(msg, hint="Install it: pip install 'roundtable-sdk[mcp]'")


async def _all_tools(client: Client) -> list[types.Tool]:
    page = await client.list_tools()
    tools = list(page.tools)
    while page.next_cursor and len(tools) < MOST_TOOLS:
        page = await client.list_tools(cursor=page.next_cursor)
        tools += page.tools
    return tools[:MOST_TOOLS]


async def _call(client: Client, name: str, tool_input: JsonObject) -> ToolResult:
    try:
        result = await client.call_tool(name, dict(tool_input))
    except Exception as error:  # noqa: BLE001  (caught here: outside, the task group of the client would wrap it)
        return failed_result(_describe_error(error))
    texts = [_part_text(part) for part in result.content]
    if result.is_error:
        return failed_result("\n".join(texts) or "the tool failed")
    structured: JsonValue = result.structured_content
    return ToolResult(success=True, data="\n".join(texts) if structured is None else structured)


def _part_text(part: types.ContentBlock) -> str:
    """Return a part of a result as text, or a note for a part that is not text."""
    match part.type:
        case "text":
            return part.text
        case "resource":
            inner = part.resource
            return getattr(inner, "text", f"[{inner.uri}, {inner.mime_type or 'no text'}]")
        case "resource_link":
            return f"[{part.name}: {part.uri}]"
        case "image" | "audio":
            return f"[{part.type}, {part.mime_type}, left out]"
        case _:
            assert_never(part.type)


def _agent_tool(tool: types.Tool, prefix: str) -> AgentTool:
    """Return an MCP tool as an `AgentTool`, with a valid name, and with shortened and neutralised descriptions."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", prefix + tool.name)
    name = (name if re.match("[A-Za-z_]", name) else f"_{name}")[:64]
    try:
        schema = _clean_schema(tool.input_schema, _MAX_SCHEMA_DEPTH)
    except _TooDeepError:
        schema = None
    if not isinstance(schema, dict) or len(to_json(schema)) > MOST_SCHEMA_BYTES:
        schema = {"type": "object"}
    return AgentTool(name=name, description=_clean_text(tool.description or tool.title or ""), parameters=schema)


class _TooDeepError(ValueError):
    """A schema has more levels than providers accept."""


def _clean_schema(value: JsonValue, depth: int, name: str = "") -> JsonValue:
    """Return a schema with neutralised texts and shortened descriptions.

    Values and patterns are never changed, because the server accepts only the original. If one of them would have to be
    neutralised, it is left out.

    Args:
        value: The schema, or a part of it.
        depth: How many levels the schema may have.
        name: Name of the part in its parent.

    Raises:
        _TooDeepError: The schema has more levels.
    """
    if depth == 0:
        raise _TooDeepError
    if isinstance(value, str):
        return _clean_text(value) if name in {"description", "title"} else neutralise(value)
    if isinstance(value, list):
        return [_clean_schema(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {
            key: _clean_schema(item, depth - 1, key)
            for key, item in value.items()
            if name in _BY_NAME or key not in _VALUE_KEYWORDS or _is_plain(item)
        }
    return value


def _is_plain(value: JsonValue) -> bool:
    """Check whether no text in a value needs to be neutralised."""
    if isinstance(value, str):
        return neutralise(value) == value
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return not isinstance(value, dict) or all(map(_is_plain, value.values()))


def _clean_text(text: str) -> str:
    return neutralise(text)[:MOST_DESCRIPTION_CHARS]


def _first_error(error: BaseException) -> BaseException:
    """Return the first error of a group, also of nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _describe_error(error: BaseException) -> str:
    """Return the class and the message of an error; the message, perhaps a server's, is shortened and neutralised."""
    error = _first_error(error)
    message = neutralise(error_text(error))[:200]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
