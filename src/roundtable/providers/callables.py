"""Any function as a model, so that agents of other libraries take part in debates."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, from_json, to_json

from roundtable.core.base.eventloop import PerLoop
from roundtable.core.base.functions import call_function
from roundtable.core.errors import AgentError, ConfigurationError
from roundtable.core.types.agents import ModelProfile
from roundtable.core.types.chat import ChatRequest, ChatResponse, Usage
from roundtable.parsing.json_in_text import find_document
from roundtable.providers.http_model import NonStreamingModel
from roundtable.providers.human import plain_text, reply_text, turn_of

if TYPE_CHECKING:
    from roundtable.core.types.base import JsonValue

__all__ = ["AskFunction", "CallableAnswer", "CallableModel", "CallableReply"]

CallableAnswer: TypeAlias = "str | Mapping[str, JsonValue] | BaseModel | ChatResponse | Any"
"""Answer of a function: a text, the fields of the answer as a mapping, a pydantic model or a dataclass, or a whole
`ChatResponse`.

A text is parsed like the text of a model if it is a JSON object, or contains a JSON object with fields of the answer.
Any other text, even a text with braces, is the position, vote or ranking itself."""

CallableReply: TypeAlias = "CallableAnswer | tuple[CallableAnswer, Usage]"
"""What a function returns: its answer, or a tuple of the answer and its usage."""

AskFunction: TypeAlias = Callable[[ChatRequest], "CallableReply | Awaitable[CallableReply]"]
"""A function that answers a request."""


_MOST_THREADS: Final = 100
"""The most threads of one function in each event loop; the limit to set is the gateway's `concurrency`."""


class CallableModel(NonStreamingModel):
    """A `ChatModel` that calls a function. `roundtable.agents.from_callable` makes an agent of such a function.

    The function gets a `ChatRequest`. Most functions need only two of its properties: `request.instructions` is the
    system message; `request.prompt` is the rest as one text, which asks for the answer as JSON.
    `request.response_schema` is the schema of that JSON, if there is one. Calls of the function are retried, limited
    and counted like the calls of any model.

    Args:
        function: Answers a request; a function that is not async runs in a thread.
        provider: Name of the provider in records and prices.
        model: Name of the model in records and prices.
        profile: What the library must know to prompt the model; by default, the model follows JSON Schemas and calls
            no tools.

    Raises:
        ConfigurationError: `function` cannot be called.

    Example:
        >>> import anyio
        >>> from roundtable.types import Message
        >>> model = CallableModel(lambda request: (request.prompt.upper(), Usage(calls=1, output_tokens=1)))
        >>> anyio.run(model.complete, ChatRequest(messages=(Message(role="user", content="tea?"),))).text
        'TEA?'
    """

    def __init__(
        self,
        function: AskFunction,
        *,
        provider: str = "callable",
        model: str = "function",
        profile: ModelProfile | None = None,
    ) -> None:
        if not callable(function):
            msg = f"the model must be a function that takes one request, not {function!r}"
            raise ConfigurationError(msg, hint="Write from_callable(my_function, id='ada').")
        self.provider = provider
        self.model = model
        self.profile: ModelProfile = profile or ModelProfile(structured_output=True, calls_tools=False)
        self._function = function
        # A limiter of its own: functions that take minutes must not use up the threads of storages and files.
        self._limiters: PerLoop[anyio.CapacityLimiter] = PerLoop(partial(anyio.CapacityLimiter, _MOST_THREADS))

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Call the function.

        Raises:
            AgentError: The function returned nothing, or something that is not an answer.
        """
        reply = await self._call(request)
        usage: Usage | None = None
        if isinstance(reply, tuple) and len(reply) == 2 and isinstance(reply[1], Usage):
            reply, usage = reply
        if isinstance(reply, ChatResponse):
            named = {"provider": self.provider, "model": reply.model or self.model}
            return reply.model_copy(update=named | {"usage": usage or reply.usage})
        text, usage = self._text(reply, request), usage or Usage(calls=1, unreported_calls=1)
        return ChatResponse(text=text, usage=usage, provider=self.provider, model=self.model)

    async def _call(self, request: ChatRequest) -> object:
        return await call_function(self._function, request, limiter=self._limiters.get())

    def _text(self, reply: object, request: ChatRequest) -> str:
        answer: object = reply
        if isinstance(reply, BaseModel) or (is_dataclass(reply) and not isinstance(reply, type)):
            try:
                answer = from_json(to_json(reply))
            except PydanticSerializationError as error:
                raise self._no_answer(reply) from error
        if not isinstance(answer, str | Mapping) or not answer:
            raise self._no_answer(reply)
        turn = turn_of(request)
        if not isinstance(answer, str):
            return reply_text(answer, turn, request)
        return answer if _holds_answer(answer, turn.fields) else plain_text(answer, turn, request)

    def _no_answer(self, reply: object) -> AgentError:
        kind = "nothing" if reply in (None, "") else f"an object of {type(reply).__name__}"
        msg = f"the function of {self.model!r} returned {kind}"
        return AgentError(msg, provider=self.provider, hint="Return a text, or the fields of the answer as a mapping.")

    async def aclose(self) -> None:
        """Do nothing; there is nothing to release."""


def _holds_answer(text: str, fields: Collection[str]) -> bool:
    """Check whether to parse a text as JSON: it contains an object with fields of the answer, or is an object."""
    if "{" not in text:
        return False
    if find_document(text, lambda document: not fields or not document.keys().isdisjoint(fields)) is not None:
        return True
    try:
        return isinstance(from_json(text), dict)
    except ValueError:
        return False
