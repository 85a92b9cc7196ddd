"""Recorded requests are built again from the library's types, and mean the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conformance.recordings import APIS, DIALECTS, needs_recordings, of_api
from conformance.request_reader import Inexpressible, expressed, normal

pytestmark = needs_recordings

CORE = {
    "anthropic.messages": ("system", "messages", "tools"),
    "openai.responses": ("instructions", "input", "tools"),
    "openai.chat": ("messages", "tools"),
    "google.generate_content": ("systemInstruction", "contents", "tools"),
    "perplexity.chat": ("messages",),
}
AT_LEAST = {"anthropic.messages": 150, "openai.responses": 110, "openai.chat": 240, "google.generate_content": 100}
"""How many of them can be expressed; the rest hold documents, tools of the server and the like."""


def core(api: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a conversation in a form to be compared."""
    fields = {name: body[name] for name in CORE[api] if body.get(name)}
    if isinstance(fields.get("input"), str):
        fields["input"] = [{"role": "user", "content": fields["input"]}]
    if api in {"openai.chat", "openai.responses"}:
        fields = json.loads(json.dumps(fields).replace('"strict": false', '"strict": null'))
    return normal(fields)


@pytest.mark.parametrize("api", APIS)
def test_a_request_equals_its_recording(api: str) -> None:
    wrong, done = {}, 0
    for record in of_api(api):
        recorded = (record["request"] or {}).get("json")
        if not recorded or record["response"]["status"] >= 400:
            continue
        try:
            request = expressed(api, recorded)
        except Inexpressible:
            continue
        done += 1
        built = DIALECTS[api].build_request(request, base_url="https://a.example/v1", stream=record["stream"])
        made = json.loads(built.body)
        if core(api, made) != core(api, recorded):
            wrong[record["id"]] = (core(api, made), core(api, recorded))
    assert wrong == {}
    assert done >= AT_LEAST.get(api, 5)
