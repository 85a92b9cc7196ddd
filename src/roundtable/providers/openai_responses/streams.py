"""A streamed answer of Responses, put together from its events.

See https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roundtable.errors import AgentError
from roundtable.providers.failures import error_for, read_refusal
from roundtable.providers.openai_responses.answers import ResponseDraft
from roundtable.providers.streaming import EventDecoder, ReadWhole
from roundtable.providers.wire import items_of, object_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundtable.http.sse import SseEvent
    from roundtable.types import ChatResponse, JsonObject

__all__ = ["ResponseDecoder"]

_REASONING: Final[Mapping[str, tuple[int, str]]] = {
    "response.reasoning_summary_text.delta": (0, "summary_index"),
    "response.reasoning_text.delta": (1, "content_index"),
}


class ResponseDecoder(EventDecoder[ResponseDraft]):
    """Decodes one streamed answer; it is whole with its `response.completed` or `response.incomplete`.

    The last event says the whole answer again: that is what counts. The deltas show what comes before it, and what
    only the last event says.
    """

    def __init__(self, provider: str, headers: Mapping[str, str], *, whole: ReadWhole) -> None:
        super().__init__(ResponseDraft(provider, headers), whole=whole)
        self._answer: ResponseDraft | None = None
        self._items: dict[int, JsonObject] = {}
        self._last = -1
        self._last_data = b""

    def is_whole(self) -> bool:
        """Tell whether the answer is complete."""
        return self.is_done

    def take_word(self, data: bytes) -> bool:
        """Pass over the terminator that some servers add."""
        return data == b"[DONE]"

    def finish(self) -> ChatResponse:
        """Give the whole answer after the last bytes.

        Raises:
            APINetworkError: The stream ended before its terminator.
            AgentError: There was nothing in it.
        """
        response = super().finish() if self._answer is None else None
        return response or (self._answer or self.draft).response()

    def take(self, event: SseEvent, fields: JsonObject) -> None:
        """Take one event.

        Raises:
            RoundtableError: The response failed, or events came out of order.
        """
        if self._is_repeated(event, fields):
            return
        kind = text_of(fields.get("type"))
        if kind in {"response.completed", "response.incomplete", "response.done"}:
            self._end(object_of(fields.get("response")))
        elif kind in {"response.failed", "response.cancelled"} or fields.get("error"):
            answer = object_of(fields.get("response")) or fields
            self.draft.take_usage(answer)
            with self.draft.charged():
                raise error_for(self.draft.provider, 200, self.draft.headers, read_refusal(answer))
        elif kind == "response.output_item.added":
            item = object_of(fields.get("item"))
            if item.get("type") == "function_call":
                self.draft.take_call(_number(fields, "output_index"), item)
        elif kind == "response.output_item.done":
            self._items[_number(fields, "output_index")] = object_of(fields.get("item"))
        elif kind == "response.output_text.annotation.added":
            self.draft.take_note(object_of(fields.get("annotation")))
        else:
            self._piece(kind, fields)

    def _piece(self, kind: str, fields: JsonObject) -> None:
        delta, index = text_of(fields.get("delta")), _number(fields, "output_index")
        if kind in {"response.output_text.delta", "response.refusal.delta"}:
            self.draft.add_text(delta)
        elif kind == "response.function_call_arguments.delta":
            self.draft.add_call(index, arguments=delta)
        elif kind in _REASONING:
            number, place = _REASONING[kind]
            self.draft.take_thought((index, number, _number(fields, place)), delta)

    def _end(self, answer: JsonObject) -> None:
        items = [object_of(item) for item in items_of(answer.get("output"))]
        self._answer = ResponseDraft(self.draft.provider, self.draft.headers)
        self._answer.take_answer(answer, items or [item for _, item in sorted(self._items.items())])
        self.draft.catch_up(self._answer)
        self.is_done = True

    def _is_repeated(self, event: SseEvent, fields: JsonObject) -> bool:
        """Use the numbers of the events: the same one again is passed over, an earlier one is refused."""
        number = fields.get("sequence_number")
        if not isinstance(number, int):
            return False
        if number == self._last and event.data == self._last_data:
            return True
        if number < self._last:
            raise AgentError("the events of the stream came out of order", provider=self.draft.provider, retryable=True)
        self._last, self._last_data = number, event.data
        return False


def _number(fields: JsonObject, name: str) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) else 0
