"""A server over agents that print wherever they can, as a child process of a test."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import anyio
from integration.mcp_kit import answer

from roundtable import Roundtable
from roundtable.agents import BaseAgent
from roundtable.mcp import McpServer
from roundtable.providers.scripted import ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.types import AgentConfig


def loud(_: object) -> Any:
    sys.stdout.write("noise of print\n")
    os.write(1, b"noise of a library in C\n")
    subprocess.run([sys.executable, "-c", "print('noise of a child')"], check=True)
    assert sys.stdin.read() == ""
    return answer("Tea")


def table(tenant: str) -> Roundtable:
    sys.stdout.write("noise of a factory\n")
    agent = BaseAgent(AgentConfig(id="ada", name="Ada", provider="scripted"), ScriptedModel(loud))
    return Roundtable([agent], storage=MemoryStorage(), tenant=tenant)


anyio.run(McpServer(table).start)
