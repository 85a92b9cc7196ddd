"""The examples of the tutorial for web developers: curl, JavaScript and React, out of the page, against a server.

`.ci/run` installs TypeScript, React and jsdom into the folder that `ROUNDTABLE_WEB_PACKAGES` names.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from integration.server_kit import served

from roundtable.auth import LocalUser
from roundtable.server import create_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).parents[2]
WEB = ROOT / "examples" / "web"
PAGE = ROOT / "docs" / "tutorial" / "web-app.md"
PACKAGES = Path(os.environ.get("ROUNDTABLE_WEB_PACKAGES") or "/nowhere")
HARNESS = Path(__file__).with_name("web_page.mjs")
KINDS = [
    "conversation_start",
    "initiator_start",
    "initiator_complete",
    "round_start",
    "agent_start",
    "agent_tool_call",
    "agent_tool_result",
    "agent_response_chunk",
    "agent_complete",
    "round_complete",
    "summarizer_start",
    "summarizer_chunk",
    "conversation_complete",
]

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]
needs_packages = pytest.mark.skipif(not PACKAGES.is_dir(), reason="ROUNDTABLE_WEB_PACKAGES names no folder of packages")


def block(title: str) -> str:
    """Return a code block of the page by its title, with what it includes."""
    found = re.search(rf'^```\w+ title="{re.escape(title)}"\n(.*?)^```$', PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None, f"the page has no block {title}"
    return re.sub(r'^--8<-- "(.+?)"$', lambda line: (ROOT / line[1]).read_text(), found[1], flags=re.MULTILINE)


@asynccontextmanager
async def crm(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """Serve the example."""
    monkeypatch.syspath_prepend(str(WEB.parent))
    from crm_server import make_table

    try:
        async with served(create_app(make_table(None, "memory://"), auth=LocalUser())) as url:
            yield url
    finally:
        for name in [name for name in sys.modules if name == "crm_server" or name.split(".")[0] == "crm"]:
            del sys.modules[name]


async def said(*words: str | Path) -> str:
    """Run a command and give what it prints."""
    done = await anyio.run_process([str(word) for word in words], check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()[-2000:] + done.stdout.decode()[-2000:]
    return done.stdout.decode()


def compiled(folder: Path, *, strict: bool = True) -> Path:
    """Translate the TypeScript of a folder."""
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node_modules").symlink_to(PACKAGES / "node_modules")
    judged = ["--strict", "--jsx", "react-jsx", "--types", "node"] if strict else ["--noCheck"]
    made = ["--target", "es2022", "--module", "nodenext", "--lib", "es2023,dom,dom.asynciterable"]
    files = sorted([*folder.glob("*.ts"), *folder.glob("*.tsx")])
    run = subprocess.run(
        ["node", PACKAGES / "node_modules" / "typescript" / "bin" / "tsc", *judged, *made, "--outDir", folder, *files],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
    )
    assert run.returncode == 0, run.stdout
    return folder


def in_order(found: list[str]) -> None:
    """Check that every kind that this conversation has was told, in order of first appearance."""
    assert list(dict.fromkeys(found)) == KINDS


@pytest.mark.curl
async def test_the_curl_example_gets_an_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with crm(monkeypatch) as url:
        script = tmp_path / "ask.sh"
        script.write_text(block("ask.sh").replace("http://127.0.0.1:8000", url))
        told = await said("bash", "-euo", "pipefail", script)
    blocks = told.split("\n\n")
    assert blocks.pop() == ""
    events: list[dict[str, Any]] = [json.loads(one.removeprefix("data: ")) for one in blocks]
    in_order([event["type"] for event in events])
    assert events[-1]["data"]["summary"].startswith("Call in this order: 1. ")
    assert [event["data"]["toolCall"]["name"] for event in events if event["type"] == "agent_tool_call"] == [
        "getSFDCData",
        "scoreProspects",
    ]


@pytest.mark.slow
@pytest.mark.node
@needs_packages
async def test_the_short_javascript_gets_the_conversation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "short.ts").write_text(f"{block('short.ts')}\nexport {{ startMultiAgentConversation }};\n")
    folder = compiled(tmp_path, strict=False)
    async with crm(monkeypatch) as url:
        heard = json.loads(await said("node", HARNESS, url, PACKAGES, folder, "short"))["told"]
    assert [heard[0], heard[-1]] == ["Conversation started:", "Final summary:"]
    assert "data-steward calling tool:" in heard
    assert "prospect-finder completed:" in heard


@pytest.mark.slow
@pytest.mark.node
@needs_packages
async def test_the_buffered_javascript_works_wherever_the_network_splits_the_stream(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "stream.ts").write_text(block("stream.ts"))
    (tmp_path / "types.ts").write_text((WEB / "types.ts").read_text())
    folder = compiled(tmp_path)
    async with crm(monkeypatch) as url:
        done = json.loads(await said("node", HARNESS, url, PACKAGES, folder, "stream"))
    in_order([event["type"] for event in done["told"]])
    assert done["refused"].startswith("MAX_ROUNDS_EXCEEDED: ")


@pytest.mark.slow
@pytest.mark.node
@needs_packages
async def test_the_react_hook_gives_events_and_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("types.ts", "stream.ts"):
        (tmp_path / name).write_text((WEB / name).read_text())
    (tmp_path / "useMultiAgentChat.tsx").write_text(block("useMultiAgentChat.tsx"))
    folder = compiled(tmp_path)
    async with crm(monkeypatch) as url:
        done = json.loads(await said("node", HARNESS, url, PACKAGES, folder, "react"))
    in_order(done["text"].split())
    assert done["error"].startswith("AGENT_NOT_FOUND: ")
    assert (done["wasActive"], done["isActive"]) == (True, False)
