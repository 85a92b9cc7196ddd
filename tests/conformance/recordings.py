"""The recorded exchanges with real providers, where they lie beside the checkout or where the environment says."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from roundtable.providers import BUILTIN_SPECS, Dialect, OpenAIChat

DATA = Path(os.environ.get("ROUNDTABLE_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data")
WIRE = DATA / "wire" / "dev.jsonl"
TOOLS = DATA.parent / "tools"
needs_recordings = pytest.mark.skipif(
    not WIRE.is_file(), reason="the recordings are not beside the checkout; set ROUNDTABLE_SHARED_DATA to their folder"
)

APIS = ("anthropic.messages", "openai.responses", "openai.chat", "google.generate_content", "perplexity.chat")
DIALECTS: dict[str, Dialect] = {
    "anthropic.messages": BUILTIN_SPECS["anthropic"].dialect,
    "openai.responses": BUILTIN_SPECS["openai"].dialect,
    # Of most of the vendors recorded nothing is promised but a finish reason.
    "openai.chat": OpenAIChat("compatible"),
    "google.generate_content": BUILTIN_SPECS["google"].dialect,
    "perplexity.chat": BUILTIN_SPECS["perplexity"].dialect,
}


@cache
def recordings() -> list[dict[str, Any]]:
    """Return all recordings."""
    with WIRE.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def of_api(api: str) -> list[dict[str, Any]]:
    """Return the recordings of one API."""
    return [record for record in recordings() if record["api"] == api]


def streams(api: str) -> list[dict[str, Any]]:
    """Return the streamed answers of one API."""
    wanted = ("sse", "json_array")
    return [one for one in of_api(api) if one["response"]["format"] in wanted and one["response"]["status"] == 200]


def headers_of(record: dict[str, Any]) -> dict[str, str]:
    """Return the headers of an answer, names in lower case."""
    return {name.lower(): value for name, value in record["response"]["headers"].items()}


def pieces(body: bytes, seed: str, largest: int = 300) -> Iterator[bytes]:
    """Cut a body at random, and through characters of several bytes on purpose."""
    chance = random.Random(seed)
    inside = [place for place, byte in enumerate(body) if byte & 0xC0 == 0x80 and chance.random() < 0.3]
    place = 0
    while place < len(body):
        end = min(len(body), place + chance.choice((1, 2, 7, 40, largest)))
        while inside and inside[0] <= place:
            inside.pop(0)
        if inside and inside[0] < end:
            end = inside[0]
        yield body[place:end]
        place = end
