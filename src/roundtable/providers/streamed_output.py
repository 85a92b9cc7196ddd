"""Collect what a stream of the Responses API says of the items of its output, and complete the last event with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from roundtable.providers.wire import items_of, joined_halves, object_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = ["PIECES", "PieceField", "StreamedItem", "StreamedOutput"]

_EMPTY: Final = " \t\r\n{}"


class PieceField(NamedTuple):
    """Where the pieces of an event belong."""

    kind: str
    """Type of the item."""
    name: str
    """Field of the item."""
    text: str
    """Field of the event `.done`, and of the part of the item, that holds the whole text."""
    position: str = ""
    """Field of the event that holds the position of the part; empty if the field of the item is a text."""
    part: str = ""
    """Type of the part."""


PIECES: Final[Mapping[str, PieceField]] = {
    "response.output_text": PieceField("message", "content", "text", "content_index", "output_text"),
    "response.refusal": PieceField("message", "content", "refusal", "content_index", "refusal"),
    "response.reasoning_summary_text": PieceField("reasoning", "summary", "text", "summary_index", "summary_text"),
    "response.reasoning_text": PieceField("reasoning", "content", "text", "content_index", "reasoning_text"),
    "response.function_call_arguments": PieceField("function_call", "arguments", "arguments"),
    "response.custom_tool_call_input": PieceField("custom_tool_call", "input", "input"),
}
"""Events that hold pieces of an item, without `.delta` and `.done`."""


@dataclass(slots=True)
class StreamedItem:
    """What a stream has said of one item."""

    kind: str
    """Type of the item."""
    number: int
    """Position in the output; different for each item."""
    index: int
    """Position that the server states; some servers state 0 for every item."""
    item_id: str = ""
    """Id of the item; empty until it is known."""
    item: JsonObject = field(default_factory=dict)
    """The item, as the latest event shows it as a whole."""
    pieces: dict[tuple[PieceField, int], list[str]] = field(default_factory=dict)
    """Texts of the item, in pieces."""

    def add(self, at: PieceField, position: int, piece: str) -> None:
        """Add a piece of a text."""
        self.pieces.setdefault((at, position), []).append(piece)

    def put(self, at: PieceField, position: int, text: str) -> None:
        """Replace the pieces of a text by the whole text, unless it is shorter."""
        if len(text) > sum(map(len, self.pieces.get((at, position), ()))):
            self.pieces[at, position] = [text]

    def whole(self) -> JsonObject:
        """Return the item, with all texts that the stream had."""
        item: JsonObject = {"type": self.kind}
        for (at, _), pieces in sorted(self.pieces.items(), key=lambda entry: entry[0][1]):
            text = joined_halves("".join(pieces))
            if at.position:
                item[at.name] = [*items_of(item.get(at.name)), {"type": at.part, at.text: text}]
            else:
                item[at.name] = text
        return _richer(self.item, item)


class StreamedOutput:
    """The items of one streamed answer."""

    def __init__(self) -> None:
        self._items: list[StreamedItem] = []

    def at(self, kind: str, index: int, item_id: str = "") -> StreamedItem:
        """Return the item of an event, and begin it if it is new.

        Args:
            kind: Type of the item.
            index: Position that the event states.
            item_id: Id that the event states; empty if it states none.
        """
        for item in reversed(self._items):
            same_id = item.item_id == item_id or not (item.item_id and item_id)
            if item.kind == kind and item.index == index and same_id:
                item.item_id = item.item_id or item_id
                return item
        taken = {item.number for item in self._items}
        new = StreamedItem(kind, index if index not in taken else max(taken) + 1, index, item_id)
        self._items.append(new)
        return new

    def completed(self, output: Sequence[JsonObject]) -> list[JsonObject]:
        """Return the output of the last event, with what only the stream had: whole items, and texts of items."""
        items = [*output]
        unmatched = [*range(len(items))]
        for streamed in sorted(self._items, key=lambda item: item.number):
            said = streamed.whole()
            match = _match(said, streamed.number, items, unmatched)
            if match is None:
                items.insert(streamed.number, said)
                place = min(streamed.number, len(items) - 1)
                unmatched = [index + 1 if index >= place else index for index in unmatched]
            else:
                items[match] = _richer(items[match], said)
                unmatched.remove(match)
        return items


def _match(said: JsonObject, number: int, items: Sequence[JsonObject], unmatched: Sequence[int]) -> int | None:
    """Return the position of a streamed item in the last event: by its id, its position, or its type."""
    for name in ("call_id", "id"):
        if key := text_of(said.get(name)):
            for index in unmatched:
                if items[index].get(name) == key:
                    return index
    same = [index for index in unmatched if items[index].get("type") == said.get("type")]
    return number if number in same else next(iter(same), None)


def _richer(item: JsonObject, other: JsonObject) -> JsonObject:
    """Return an item with the fields, and the longer forms of its texts, that another form of the item has."""
    result = {**other, **{name: value for name, value in item.items() if value not in (None, "", [], {})}}
    for name in ("arguments", "input"):
        if _is_blank(item.get(name)) and not _is_blank(other.get(name)):
            result[name] = other[name]
    for name in ("content", "summary"):
        text = _text(item.get(name))
        if len(_text(other.get(name))) > len(text) and _text(other.get(name)).startswith(text):
            result[name] = other[name]
    return {**item, **result}


def _is_blank(value: JsonValue) -> bool:
    return not (value.strip(_EMPTY) if isinstance(value, str) else value)


def _text(parts: JsonValue) -> str:
    texts = map(object_of, items_of(parts))
    return "".join(text_of(part.get("text")) + text_of(part.get("refusal")) for part in texts)
