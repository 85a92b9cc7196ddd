"""Every client's configuration on the page is read, and the command it names is started and lists its tools."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

PAGE = Path(__file__).parents[2] / "docs/how-to/serve-mcp.md"
BLOCK = re.compile(r'```json title="([^"]+)"\n(.*?)```', re.DOTALL)


def servers() -> dict[str, dict[str, Any]]:
    """Give what each configuration says of the server, by its title."""
    found = {}
    for title, text in BLOCK.findall(PAGE.read_text("utf-8")):
        config = json.loads(text)
        (servers,) = (config[key] for key in ("mcpServers", "servers") if key in config)
        found[title] = servers["roundtable"]
    return found


def test_every_client_has_a_configuration() -> None:
    titles = {"claude_desktop_config.json", ".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"}
    assert titles | {"a client of the service"} == servers().keys()


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("title", [title for title, one in servers().items() if "command" in one])
async def test_the_command_of_a_configuration_lists_its_tools(title: str, tmp_path: Path) -> None:
    config = servers()[title]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = shutil.which(config["command"], path=path)
    assert command is not None
    program = StdioServerParameters(
        command=command, args=config["args"], env={**os.environ, **config.get("env", {})}, cwd=tmp_path
    )
    async with Client(stdio_client(program)) as client:
        assert len((await client.list_tools()).tools) == 12
