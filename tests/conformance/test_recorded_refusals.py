"""Refusals that providers really sent are read as such."""

import json
from collections.abc import Iterator
from typing import Any

from conformance.recordings import needs_recordings, recordings

from roundtable.reading import ABSTAIN, Asked, read_answer
from roundtable.reading.abstentions import is_refusal

pytestmark = needs_recordings


def documents(record: dict[str, Any]) -> list[Any]:
    """Return the JSON documents of an answer, one or many."""
    response = record["response"]
    if response["format"] == "json":
        return [json.loads(response["body"])]
    lines = (line.removeprefix("data:").strip() for line in (response["body"] or "").splitlines())
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


def refusals(value: Any) -> Iterator[str]:
    """Yield the texts under the key `refusal`, in order."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "refusal" and isinstance(inner, str):
                yield inner
            else:
                yield from refusals(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from refusals(inner)


def recorded() -> list[str]:
    """Return the refusals of all recordings; those that came in pieces are put together."""
    texts: list[str] = []
    for record in recordings():
        if "refusal" not in record["features"]:
            continue
        parts = [list(refusals(document)) for document in documents(record)]
        whole = [text for found in parts for text in found if text.count(" ") > 3]
        texts.extend(whole or ["".join(text for found in parts for text in found)])
    return sorted({text for text in texts if text.strip()})


def test_recorded_refusals_are_abstentions() -> None:
    texts = recorded()
    assert len(texts) >= 5
    for text in texts:
        assert is_refusal(text), text
        assert read_answer(text, Asked("open")).value == ABSTAIN, text
