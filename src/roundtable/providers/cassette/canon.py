"""The canonical form of a request: equal for calls that ask the same, whoever asks and when."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundtable._secrets import Scrubber
    from roundtable.providers.cassette.tape import Call
    from roundtable.types import ChatRequest, JsonObject, JsonValue

__all__ = ["canonical", "difference", "key_of", "nearest"]

_LEFT_OUT: Final = {"model", "metadata", "extra_headers"}
"""The model is matched by itself; who asks is no part of the question; headers may hold secrets."""
_MARKER: Final = re.compile(r"^(BEGIN|END) QUOTE [^\s()]+(?=$| \()", re.MULTILINE)
_ECHO: Final = re.compile(r"\b(BEGIN|END) QUOTE [0-9a-f]{16}\b")
_SAMPLE_CHARS: Final = 4000
_MOST_COMPARED: Final = 200
_SHOWN_CHARS: Final = 60


def canonical(request: ChatRequest, scrubber: Scrubber) -> JsonObject:
    r"""Give a request without what differs between equal calls, and without secrets.

    Kept are messages, tools, output schema, temperature, `max_tokens`, seed and whatever else is not at its default.
    Left out are the model, `metadata` and headers. The id of a fence, fresh in each request, becomes `fence`.

    Example:
        >>> from roundtable._secrets import Scrubber
        >>> from roundtable.types import ChatRequest, Message
        >>> quoted = "BEGIN QUOTE 81f0b2c4d6e8fa1c (question)\n| Tea?\nEND QUOTE 81f0b2c4d6e8fa1c"
        >>> asked = ChatRequest(model="m", messages=(Message(role="user", content=quoted),))
        >>> canonical(asked, Scrubber())["messages"][0]["content"]
        'BEGIN QUOTE fence (question)\n| Tea?\nEND QUOTE fence'
    """
    facts: JsonObject = request.model_dump(mode="json", exclude=_LEFT_OUT, exclude_defaults=True)
    facts["messages"] = _unfenced(facts.get("messages"))
    clean = scrubber.value(facts)
    return clean if isinstance(clean, dict) else {}


def _unfenced(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _ECHO.sub(r"\1 QUOTE fence", _MARKER.sub(r"\1 QUOTE fence", value))
    if isinstance(value, list):
        return [_unfenced(item) for item in value]
    if isinstance(value, dict):
        return {name: _unfenced(item) for name, item in value.items()}
    return value


def key_of(facts: JsonObject) -> str:
    """Give a short name of a canonical form; equal forms have equal names."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def nearest(asked: JsonObject, calls: Iterable[Call]) -> Call | None:
    """Give the recorded call whose request is most like one that is not recorded; of many the latest are compared."""
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(_sample(asked))
    best: tuple[float, Call] | None = None
    for call in list(calls)[-_MOST_COMPARED:]:
        matcher.set_seq1(_sample(call.request))
        if best is None or matcher.quick_ratio() > best[0]:
            ratio = matcher.quick_ratio()
            best = (ratio, call)
    return None if best is None else best[1]


def _sample(facts: JsonObject) -> str:
    return json.dumps(facts, ensure_ascii=False)[-_SAMPLE_CHARS:]


def difference(recorded: JsonValue, asked: JsonValue, path: str = "request") -> tuple[str, str, str] | None:
    """Give the first place in which two canonical forms differ, and what stands there in each.

    Example:
        >>> difference({"messages": [{"content": "Tea?"}]}, {"messages": [{"content": "Milk?"}]})
        ('request.messages[0].content', 'Tea?', 'Milk?')
    """
    if recorded == asked:
        return None
    if isinstance(recorded, dict) and isinstance(asked, dict):
        name = next(name for name in sorted({*recorded, *asked}) if _member(recorded, name) != _member(asked, name))
        if name in recorded and name in asked:
            return difference(recorded[name], asked[name], f"{path}.{name}")
        return f"{path}.{name}", *_around(*("".join(map(_text, _member(side, name))) for side in (recorded, asked)))
    if isinstance(recorded, list) and isinstance(asked, list):
        for place in range(max(len(recorded), len(asked))):
            one = recorded[place] if place < len(recorded) else None
            two = asked[place] if place < len(asked) else None
            if one != two:
                return difference(one, two, f"{path}[{place}]")
    return path, *_around(_text(recorded), _text(asked))


def _member(value: JsonObject, name: str) -> list[JsonValue]:
    """Give a member in a list, so that none is told from one that is null."""
    return [value[name]] if name in value else []


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _around(one: str, two: str) -> tuple[str, str]:
    """Cut two texts to where they begin to differ."""
    same = next((place for place, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]), None)
    start = max(0, (min(len(one), len(two)) if same is None else same) - _SHOWN_CHARS // 3)
    return _cut(one, start), _cut(two, start)


def _cut(text: str, start: int) -> str:
    end = start + _SHOWN_CHARS
    return f"{'…' if start else ''}{text[start:end]}{'…' if len(text) > end else ''}"
