"""Every client's configuration on the page is read, and the command it names is started and lists its tools."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from integration.test_mcp_processes import listening
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

PAGE = (Path(__file__).parents[2] / "docs/how-to/serve-mcp.md").read_text("utf-8")
BLOCK = re.compile(r'```json title="([^"]+)"\n(.*?)```', re.DOTALL)
SERVICE = "a client of the service"
pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


def servers() -> dict[str, dict[str, Any]]:
    """Return what each configuration says of the server, by its title."""
    found = {}
    for title, text in BLOCK.findall(PAGE):
        config = json.loads(text)
        (servers,) = (config[key] for key in ("mcpServers", "servers") if key in config)
        found[title] = servers["roundtable"]
    (added,) = re.findall(r"`claude mcp add roundtable -- ([^`]+)`", PAGE)
    command, *words = shlex.split(added)
    found["claude mcp add"] = {"command": command, "args": words}
    return found


def program(name: str) -> str:
    """Find a command where the one that runs this is installed, or on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = shutil.which(name, path=path)
    assert command is not None
    return command


def test_every_client_has_a_configuration(anyio_backend: str) -> None:
    titles = {"claude_desktop_config.json", ".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", "claude mcp add"}
    assert titles | {SERVICE} == servers().keys()


@pytest.mark.slow
@pytest.mark.parametrize("title", [title for title in servers() if title != SERVICE])
async def test_the_command_of_a_configuration_lists_its_tools(title: str, tmp_path: Path) -> None:
    config = servers()[title]
    words = StdioServerParameters(
        command=program(config["command"]),
        args=config["args"],
        env={**os.environ, **config.get("env", {})},
        cwd=tmp_path,
    )
    async with Client(stdio_client(words)) as client:
        assert len((await client.list_tools()).tools) == 12


@pytest.mark.slow
async def test_a_client_lists_the_tools_of_the_service_with_a_token_created_as_documented(tmp_path: Path) -> None:
    make, serve = (shlex.split(line)[1:] for line in re.findall(r"^\$ (roundtable .+)$", PAGE, re.MULTILINE))
    command, config = program("roundtable"), servers()[SERVICE]
    made = subprocess.run(  # noqa: ASYNC221  (nothing else is to happen meanwhile)
        [command, *make], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    shown = config["headers"]["Authorization"].replace("rt_...", made.stdout.split()[0])
    with listening([command, *serve], cwd=tmp_path) as origin:
        url = httpx2.URL(config["url"]).copy_with(port=httpx2.URL(origin).port)
        async with (
            httpx2.AsyncClient(headers={"Authorization": shown}, timeout=60, trust_env=False, verify=False) as web,
            Client(streamable_http_client(str(url), http_client=web)) as client,
        ):
            assert len((await client.list_tools()).tools) == 12
