"""Tools of MCP servers: programs that are started, or services at an address."""

from __future__ import annotations

import re
import shlex
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Self, TextIO

import anyio
from pydantic_core import to_json

from roundtable._foreign import error_text
from roundtable.errors import APINetworkError, ConfigurationError, RoundtableError
from roundtable.http import checked_url, shown_url
from roundtable.prompts import neutralise
from roundtable.tools.results import failed
from roundtable.tools.threads import run_in_thread
from roundtable.types import AgentTool, ToolResult

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
    from types import TracebackType

    from mcp import Client, types

    from roundtable.types import JsonObject, JsonValue

__all__ = ["McpToolkit", "from_mcp"]

CONNECT_TIMEOUT_S: Final = 30.0
"""Seconds a server has to start and to list its tools."""
MOST_TOOLS: Final = 64
"""Most tools of one server."""
MOST_DESCRIPTION_CHARS: Final = 1_024
"""Most letters of a description."""
MOST_SCHEMA_BYTES: Final = 20_000
"""Most bytes of the schema of one tool."""
_DEPTH: Final = 32
_HINT: Final = "Try the command or the address by itself; a server speaks MCP on its standard output, and nothing else."


class McpToolkit:
    """The tools of one MCP server, for `tools=[...]` of a table.

    The server is asked for its tools before the first debate, and each call opens a connection of its own. Within
    `async with` one connection serves all calls: quicker, and for servers that remember what was called before.

    Args:
        server: A command, or an http address.
        prefix: Put before the name of each tool.
        only: Names of the tools to offer, as the server has them, whatever they do; see `read_only` when empty.
        read_only: Where `only` is empty, offer only tools that the server says change nothing; all when off.
        env: Environment variables for the command; of those of this process it gets a few harmless ones alone.
        headers: Headers for the address, such as a key.
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
            raise ConfigurationError("from_mcp wants a command or an http address", hint=_HINT)
        if is_url:
            checked_url(words[0], what="the address of the MCP server", has_key=bool(headers))
        self._is_url, self._words = is_url, words
        self.name: str = shown_url(words[0]) if is_url else words[0]
        """The server, as messages name it."""
        self._prefix, self._only, self._read_only = prefix, frozenset(only), read_only
        self._env, self._headers = dict(env or {}), dict(headers or {})
        self._tools: dict[str, tuple[str, AgentTool]] | None = None
        self._kept: tuple[AsyncExitStack, Client] | None = None

    async def prepare(self) -> None:
        """Ask the server for its tools; idempotent.

        Raises:
            ConfigurationError: It has none of the tools named, or it does not start.
            APINetworkError: It cannot be reached.
        """
        if self._tools is None:
            with _log_file() as log:
                try:
                    with anyio.fail_after(CONNECT_TIMEOUT_S):
                        async with self._connected(log) as client:
                            self._tools = self._known(await _all_tools(client))
                except Exception as error:
                    raise self._unreachable(error, log) from error

    async def __aenter__(self) -> Self:
        stack = AsyncExitStack()
        log = stack.enter_context(_log_file())
        try:
            self._kept = stack, await stack.enter_async_context(self._connected(log))
        except Exception as error:
            failure = self._unreachable(error, log)
            await stack.aclose()
            raise failure from error
        try:
            await self.prepare()
        except BaseException:
            await self._release()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._release()

    def get_tools(self) -> tuple[AgentTool, ...]:
        """List the tools; none before `prepare`."""
        return tuple(tool for _, tool in (self._tools or {}).values())

    async def execute_tool(self, name: str, tool_input: JsonObject) -> ToolResult:
        """Call one; what goes wrong is told in the result."""
        found = (self._tools or {}).get(name)
        if found is None:
            return failed(f"Tool not found: {name[:80]!r}")
        outcome: list[ToolResult] = []
        try:
            async with AsyncExitStack() as stack:
                log = stack.enter_context(_log_file())
                client = await stack.enter_async_context(self._connected(log))
                outcome.append(await _called(client, found[0], tool_input))
        except Exception as error:  # noqa: BLE001  (whatever a foreign server makes of it)
            # A call that was answered stays so, however the server ends.
            return outcome[0] if outcome else failed(f"the MCP server cannot be reached: {_kind(error)}")
        return outcome[0]

    async def aclose(self) -> None:
        """Forget the tools; a connection that is kept ends with its block. Idempotent."""
        if self._kept is None:
            self._tools = None

    async def _release(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept[0].aclose()

    @asynccontextmanager
    async def _connected(self, log: TextIO) -> AsyncGenerator[Client]:
        if self._kept is not None:
            yield self._kept[1]
            return
        # It takes a second or two to load.
        await run_in_thread(lambda: import_module("mcp"))
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        async with AsyncExitStack() as stack:
            if self._is_url:
                import httpx2

                # Proxies and netrc files of the environment stay out of it: a key goes to the address alone.
                web = httpx2.AsyncClient(headers=self._headers, trust_env=False, timeout=CONNECT_TIMEOUT_S)
                transport = streamable_http_client(self._words[0], http_client=await stack.enter_async_context(web))
            else:
                command, *rest = self._words
                program = StdioServerParameters(command=command, args=rest, env=self._env)
                # What the server says on its standard error belongs on no screen of ours.
                transport = stdio_client(program, errlog=log)
            yield await stack.enter_async_context(Client(transport))

    def _known(self, listed: Sequence[types.Tool]) -> dict[str, tuple[str, AgentTool]]:
        known: dict[str, tuple[str, AgentTool]] = {}
        for one in listed:
            if not self._offers(one):
                continue
            tool = _as_ours(one, self._prefix)
            if tool.name in known:
                msg = f"two tools of {self.name} are named {tool.name!r}"
                raise ConfigurationError(msg, hint="Offer one of them with `only`.")
            known[tool.name] = one.name, tool
        if missing := sorted(self._only - {name for name, _ in known.values()}):
            there = ", ".join(repr(one.name[:64]) for one in listed[:20])
            msg = f"{self.name} offers no tool {missing[0]!r}; it has: {there or 'none'}"
            raise ConfigurationError(msg, hint="Correct `only`.")
        if listed and not known:
            there = ", ".join(repr(one.name[:64]) for one in listed[:20])
            msg = f"{self.name} says of none of its tools that it changes nothing: {there}"
            raise ConfigurationError(msg, hint="Name those to offer with `only`, or offer all with read_only=False.")
        return known

    def _offers(self, tool: types.Tool) -> bool:
        if self._only:
            return tool.name in self._only
        return not self._read_only or (tool.annotations is not None and bool(tool.annotations.read_only_hint))

    def _unreachable(self, error: BaseException, log: TextIO) -> RoundtableError:
        cause = _first(error)
        if isinstance(cause, RoundtableError):
            return cause
        if self._is_url:
            return APINetworkError(f"the MCP server {self.name} cannot be reached: {_kind(cause)}", hint=_HINT)
        log.seek(0)
        said = neutralise(log.read()[-300:]).strip()
        msg = f"the MCP server {self.name!r} does not start: {_kind(cause)}"
        return ConfigurationError(msg, hint=f"It said: {said}" if said else _HINT)


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

    A server's descriptions and results are a stranger's texts, and its tools do what they like: name those you trust.

    Args:
        server: A command, as one text or as its words, or the http address of a server that speaks Streamable HTTP.
        prefix: Put before the name of each tool, so that two servers do not clash.
        only: Names of the tools to offer, as the server has them, whatever they do; see `read_only` when empty.
        read_only: Where `only` is empty, offer only tools that the server says change nothing; all when off.
        env: Environment variables for the command; of those of this process it gets a few harmless ones alone.
        headers: Headers for the address, such as a key; https then, or this machine.

    Raises:
        ConfigurationError: The extra `mcp` is not installed, or `server` is neither.

    Example:
        >>> from_mcp("python -m my_server", prefix="files_").get_tools()  # asked for before the first debate
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


async def _called(client: Client, name: str, tool_input: JsonObject) -> ToolResult:
    try:
        result = await client.call_tool(name, dict(tool_input))
    except Exception as error:  # noqa: BLE001  (told here: outside, the task group of the client would wrap it)
        return failed(_kind(error))
    texts = [_said(part) for part in result.content]
    if result.is_error:
        return failed("\n".join(texts) or "the tool failed")
    structured: JsonValue = result.structured_content
    return ToolResult(success=True, data="\n".join(texts) if structured is None else structured)


def _said(part: types.ContentBlock) -> str:
    """Give a piece of a result as text; what is no text is named."""
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


def _as_ours(tool: types.Tool, prefix: str) -> AgentTool:
    """Give a server's tool as one of ours: a name every provider takes, and texts that keep to their place."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", prefix + tool.name)
    name = (name if re.match("[A-Za-z_]", name) else f"_{name}")[:64]
    schema = _tame(tool.input_schema, _DEPTH)
    if not isinstance(schema, dict) or len(to_json(schema)) > MOST_SCHEMA_BYTES:
        schema = {"type": "object"}
    return AgentTool(name=name, description=_short(tool.description or tool.title or ""), parameters=schema)


def _tame(value: JsonValue, depth: int) -> JsonValue:
    if depth == 0:
        return None
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, list):
        return [_tame(one, depth - 1) for one in value]
    if isinstance(value, dict):
        return {name: _tame(one, depth - 1) for name, one in value.items()}
    return value


def _short(text: str) -> str:
    return neutralise(text)[:MOST_DESCRIPTION_CHARS]


def _first(error: BaseException) -> BaseException:
    """Give the first error of a group, however deep."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _kind(error: BaseException) -> str:
    """Give an error's kind, with its text where that is short; a server may have written it."""
    error = _first(error)
    said = neutralise(error_text(error))[:200]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
